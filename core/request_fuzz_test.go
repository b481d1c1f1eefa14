package core_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// FuzzCall sends any text to any op: it must answer JSON, or an error of the table
// that changed nothing. Op counts through the op table; one past it is unknown.
func FuzzCall(f *testing.F) {
	for i, op := range core.Ops {
		text, err := json.Marshal(sound[op.Name])
		must(f, err)
		f.Add(byte(i), string(text))
		f.Add(byte(i), `{"runId":"running","claimToken":"right","now":"`+stamp(lease)+`"}`)
		f.Add(byte(i), `{"runId":"starting","claimToken":"right","sessionId":"session-starting","runnerId":"r"}`)
	}
	for _, finding := range gridOps {
		if finding.op == "recoverExpiredStartingRun" {
			text, err := json.Marshal(finding.request.with(object{"runId": "starting", "sessionId": "session-starting", "expectedClaimToken": "right", "now": stamp(lease)}))
			must(f, err)
			f.Add(byte(slices.IndexFunc(core.Ops, func(op core.Op) bool { return op.Name == finding.op })), string(text))
		}
	}
	f.Add(byte(len(core.Ops)), `{}`)
	f.Add(byte(1), "{\"runId\":\"\\ud800\",\"a\":\"\xff\"}")

	s := open(f)
	f.Fuzz(func(t *testing.T, op byte, request string) {
		s.TB = t
		s.exec("DELETE FROM workflow_run_queue")
		s.exec("DELETE FROM run_events")
		for _, state := range gridStates {
			row := cell{state: state, claim: "live", run: "owned"}.planted()
			s.insert("workflow_run_queue", row.with(object{"run_id": state, "origin_session_id": "session-" + state, "parent_run_id": nil}))
		}
		name := "unknown"
		if i := int(op) % (len(core.Ops) + 1); i < len(core.Ops) {
			name = core.Ops[i].Name
		}
		before := s.dump()
		answer, err := s.call(name, request)
		if err == nil {
			if !json.Valid(answer) {
				t.Errorf("%s %q answered %q", name, request, answer)
			}
			return
		}
		own, ok := err.(*core.Error)
		if !ok || !slices.ContainsFunc(core.Codes, func(info core.CodeInfo) bool { return info.Code == own.Code }) {
			t.Fatalf("%s %q: unknown error %v", name, request, err)
		}
		if own.Code == core.CodeStoreUnavailable {
			t.Errorf("%s %q reached SQLite: %v", name, request, own.Unwrap())
		}
		if after := s.dump(); !slices.Equal(before, after) {
			t.Errorf("%s %q: %v changed the store:\n%s", name, request, err, changes(before, after))
		}
	})
}
