package hosttest_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/hosttest"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

// A scripted host: a launch fails, the process is stopped between the send and the
// confirmation, and the next process finds the message and sends nothing.
func Example() {
	ctx := context.Background()
	clock := hosttest.NewClock(time.Date(2026, 8, 21, 8, 17, 31, 0, time.UTC))
	store, err := sqlite.OpenMemory(ctx, sqlite.Options{Now: clock.Now})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	session, engine := hosttest.NewSession("session-1"), hosttest.NewEngine("sha256:1234")
	host := hosttest.NewHost("process-1", store, clock, session, engine)

	session.StartTurn() // in which the model starts a workflow
	_, err = store.ReservePreparedRun(ctx, core.ReserveRequest{
		RunID: "greet-1", WorkflowName: "greet", WorkflowSourceRef: "builtin:greet", WorkflowSource: []byte(`{}`),
		DefinitionDigest: "sha256:1234", OriginSessionID: "session-1",
	})
	if err != nil {
		log.Fatal(err)
	}
	engine.Digest = "sha256:5678" // the source changes before the turn ends
	host.Stop = func(point string) bool { return point == "after send" }
	fmt.Println(host.Settled())

	session = session.Restart()
	host = hosttest.NewHost("process-2", store, clock, session, engine.Restart())
	clock.Advance(core.DefaultLease) // the first process's claim is over
	if err := host.SessionStart(); err != nil {
		log.Fatal(err)
	}
	entries, _ := session.Branch.Entries()
	for _, e := range entries {
		fmt.Println(e.Content)
	}
	intents, err := store.ListWorkflowTurnIntents(ctx, core.ListIntentsRequest{RunID: "greet-1", Limit: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("resolved by", *intents[0].Resolution, "sent again:", session.Sends())
	// Output:
	// the process was stopped
	// Workflow greet failed to start (run greet-1): The workflow source changed after the launch was queued; start again from the current source.
	// Inspect the error and call workflow start again only after you correct the cause.
	// resolved by fallback sent again: 0
}
