package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pi-workflows/wfcore/core"
)

// What all launches have in common.
const (
	workflow       = "bench"
	workflowRef    = "builtin:bench"
	workflowSource = `{"id":"bench","revision":"r1"}`
	digest         = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	runner         = "runner-1"
	leaseMS        = 30_000
	claimAtMost    = 10 // turns at once
)

// input is JSON of 256 bytes.
var input = `{"files":["a.go","b.go"],"task":"` + strings.Repeat("x", 256-35) + `"}`

// subject is what one cycle is about. It is made before the clock starts, so that
// neither side pays for it.
type subject struct {
	runID, session, token               string
	sourceEvent, intent, message, facts string
}

func newSubject(session string, n int) subject {
	s := subject{session: session}
	s.runID = fmt.Sprintf("20260821T081731Z-%s-%08d", session, n)
	s.token = fmt.Sprintf("token-%s-%026d", session, n)
	source := core.TurnSource{SessionID: session, RunID: s.runID, Source: core.SourceTerminal, NodeID: core.NodeTerminal, Cause: core.CauseFailed}
	s.sourceEvent, s.intent = source.SourceEventID(), source.IntentID()
	s.message = core.MessageID(s.intent, core.ByFallback)
	s.facts = fmt.Sprintf(`{"attemptId":null,"cause":"failed","handoff":false,"nodeId":null,"observedState":"failed",`+
		`"reason":"The build step ended with exit status 1.","runId":%q,"schema":%q,"workflowName":%q}`, s.runID, core.FactsSchema, workflow)
	return s
}

// cycle is a way through the store: as the core goes it, operation by operation, and as
// its statements run raw.
type cycle struct {
	name string
	core func(context.Context, *core.Store, subject) []func() error
	raw  func(context.Context, *raw, subject) error
	// ended counts what the cycle left behind.
	ended string
}

var (
	launch = cycle{"launch", launchCore, launchRaw, "SELECT count(*) FROM workflow_run_queue WHERE status = 'done'"}
	turn   = cycle{"owed turn", turnCore, turnRaw, "SELECT count(*) FROM workflow_turn_intents WHERE resolution = 'fallback'"}
)

// launchCore is the life of a run that nothing disturbs.
func launchCore(ctx context.Context, store *core.Store, s subject) []func() error {
	return []func() error{
		func() error {
			_, err := store.ReservePreparedRun(ctx, core.ReserveRequest{
				RunID: s.runID, WorkflowName: workflow, WorkflowSourceRef: workflowRef, WorkflowSource: json.RawMessage(workflowSource),
				DefinitionDigest: digest, Input: json.RawMessage(input), OriginSessionID: s.session,
			})
			return err
		},
		func() error {
			_, err := store.ClaimPreparedRun(ctx, core.ClaimRequest{RunID: s.runID, SessionID: s.session, RunnerID: runner, ClaimToken: s.token})
			return err
		},
		func() error {
			_, err := store.MarkPreparedRunRunning(ctx, core.MarkRunningRequest{RunID: s.runID, ClaimToken: s.token, DefinitionDigest: digest})
			return err
		},
		func() error {
			_, err := store.FinishRunningRun(ctx, core.FinishRequest{RunID: s.runID, ClaimToken: s.token, Status: core.Done})
			return err
		},
	}
}

// turnCore is the life of a turn that is owed, and delivered as a fallback.
func turnCore(ctx context.Context, store *core.Store, s subject) []func() error {
	return []func() error{
		func() error {
			_, err := store.EnsureWorkflowTurnIntent(ctx, core.EnsureIntentRequest{
				RunID: s.runID, WorkflowRef: workflow, TargetSessionID: s.session, Cause: core.CauseFailed, Source: core.SourceTerminal,
				NodeID: core.NodeTerminal, FallbackFacts: json.RawMessage(s.facts), Eligible: true,
			})
			return err
		},
		func() error {
			_, err := store.ClaimEligibleWorkflowTurnIntentsForSession(ctx, core.ClaimEligibleRequest{SessionID: s.session, ClaimToken: s.token, Limit: claimAtMost})
			return err
		},
		func() error {
			_, err := store.RenewWorkflowTurnIntentClaim(ctx, core.RenewIntentRequest{IntentID: s.intent, ClaimToken: s.token})
			return err
		},
		func() error {
			_, err := store.ResolveWorkflowTurnIntent(ctx, core.ResolveIntentRequest{IntentID: s.intent, ClaimToken: s.token, Resolution: core.ByFallback})
			return err
		},
	}
}

// inOrder runs the operations of a cycle.
func inOrder(operations []func() error) error {
	for _, operation := range operations {
		if err := operation(); err != nil {
			return err
		}
	}
	return nil
}
