package sqlite_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

// clock is a time that the example moves.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newStore(c *clock) *sqlite.Store {
	store, err := sqlite.OpenMemory(context.Background(), sqlite.Options{Now: c.now})
	if err != nil {
		log.Fatal(err)
	}
	return store
}

func greet(runID string) core.ReserveRequest {
	return core.ReserveRequest{
		RunID:             runID,
		WorkflowName:      "greet",
		WorkflowSourceRef: "builtin:greet",
		WorkflowSource:    []byte(`{"id":"greet","revision":"r1"}`),
		DefinitionDigest:  "sha256:1234",
		Input:             []byte(`{"who":"world"}`),
		OriginSessionID:   "session-1",
	}
}

// A launch whose source changed fails before its first step, and frees its session.
func Example() {
	ctx := context.Background()
	c := &clock{time.Date(2026, 8, 21, 8, 17, 31, 0, time.UTC)}
	store := newStore(c)
	defer store.Close()

	// The start tool, in the model's turn.
	start, err := store.ReservePreparedRun(ctx, greet("greet-1"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(start.Text)

	// A second start, in the same turn.
	_, err = store.ReservePreparedRun(ctx, greet("greet-2"))
	fmt.Println(core.CodeOf(err))

	// After the turn: claim, build, and the final fence with the digest of what was
	// built.
	run, err := store.ClaimPreparedRun(ctx, core.ClaimRequest{RunID: "greet-1", SessionID: "session-1", RunnerID: "runner-1"})
	if err != nil {
		log.Fatal(err)
	}
	_, err = store.MarkPreparedRunRunning(ctx, core.MarkRunningRequest{
		RunID: run.RunID, ClaimToken: run.ClaimToken, DefinitionDigest: "sha256:5678",
	})
	if core.CodeOf(err) == core.CodeSourceChanged {
		_, err = store.FailPreparedRun(ctx, core.FailRequest{
			RunID: run.RunID, ClaimToken: run.ClaimToken, ErrorCode: core.FailureSourceChanged,
		})
	}
	if err != nil {
		log.Fatal(err)
	}
	status, err := store.GetRun(ctx, core.GetRunRequest{RunID: "greet-1"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(status.Line)

	// The session is free for a corrected start.
	start, err = store.ReservePreparedRun(ctx, greet("greet-2"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(start.Text)
	// Output:
	// Workflow greet queued (run greet-1).
	// session_reserved
	// Workflow greet failed to start (run greet-1): The workflow source changed after the launch was queued; start again from the current source.
	// Workflow greet queued (run greet-2).
}

// A process dies while it builds a run. The next one of the session finds no run
// bundle, and queues the launch again.
func Example_recovery() {
	ctx := context.Background()
	c := &clock{time.Date(2026, 8, 21, 8, 17, 31, 0, time.UTC)}
	store := newStore(c)
	defer store.Close()
	if _, err := store.ReservePreparedRun(ctx, greet("greet-1")); err != nil {
		log.Fatal(err)
	}
	if _, err := store.ClaimNextRun(ctx, core.ClaimNextRequest{SessionID: "session-1", RunnerID: "dies"}); err != nil {
		log.Fatal(err)
	}

	// Another process, once the lease of 30 s is over.
	c.at = c.at.Add(core.DefaultLease)
	work, err := store.ListRecoverableRuns(ctx, core.RecoverableRequest{SessionID: "session-1", Limit: 10})
	if err != nil {
		log.Fatal(err)
	}
	for _, run := range work {
		fmt.Println("found", run.RunID, run.Status)
		if run.Status != core.Starting {
			continue
		}
		run, err = store.RecoverExpiredStartingRun(ctx, core.RecoverRequest{
			RunID: run.RunID, SessionID: "session-1", ExpectedClaimToken: run.ClaimToken,
			Finding: &core.Finding{Kind: core.FindingNone},
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("recovered to", run.Status)
	}
	run, err := store.ClaimNextRun(ctx, core.ClaimNextRequest{SessionID: "session-1", RunnerID: "goes on"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("claimed again with input", string(run.Input))
	// Output:
	// found greet-1 starting
	// recovered to queued
	// claimed again with input {"who":"world"}
}
