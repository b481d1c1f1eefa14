package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
)

func TestSmoke(t *testing.T) {
	ctx := context.Background()
	p := filepath.Join(t.TempDir(), "a b#c?d%41é", "store.sqlite")
	s, err := Open(ctx, p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{"newRunId", `{"workflowName":"x/y z"}`},
		{"reservePreparedRun", `{"runId":"r1","workflowName":"w","workflowSourceRef":"file:x","workflowSource":{"b":1,"a":2},"definitionDigest":"d","originSessionId":"s"}`},
		{"getRun", `{"sessionId":"s"}`},
		{"claimPreparedRun", `{"runId":"r1","runnerId":"me","sessionId":"s","claimToken":"t"}`},
		{"claimPreparedRun", `{"runId":"r1","runnerId":"me","sessionId":"s","claimToken":"t"}`},
		{"claimPreparedRun", `{"runId":"r1","runnerId":"me","sessionId":"s","claimToken":"t2"}`},
		{"reservePreparedRun", `{"runId":"r2","workflowName":"w","workflowSourceRef":"file:x","workflowSource":{"b":1,"a":2},"definitionDigest":"d","originSessionId":"s"}`},
		{"markPreparedRunRunning", `{"runId":"r1","claimToken":"t"}`},
		{"finishRunningRun", `{"runId":"r1","claimToken":"t","status":"done"}`},
		{"listRunEvents", `{"limit":10}`},
		{"claimNextRun", `{"runnerId":"x"}`},
		{"listRuns", `{"limit":10,"foo":1}`},
		{"listRuns", `{"limit":0}`},
		{"listRecoverableRuns", `{"limit":10}`},
	} {
		out, err := s.Call(ctx, c[0], []byte(c[1]))
		fmt.Println(c[0], string(out), err)
	}
	fmt.Println(s.Close())
}
