package hosttest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// turnFollow feeds a coordinator that has no host.
type turnFollow struct {
	testing.TB
	state core.TurnState
}

func newTurnFollow(t testing.TB) *turnFollow {
	return &turnFollow{t, core.TurnState{SessionID: turnSession}}
}

func (f *turnFollow) next(seen core.TurnSeen) core.TurnStep {
	f.Helper()
	step, err := f.state.Next(seen, turnMoment)
	turnMust(f, err)
	return step
}

// aborts aborts the turn of a run, of which the store hears nothing. Meanwhile
// something else may be seen.
func (f *turnFollow) aborts(runID string, meanwhile ...core.TurnSeen) core.TurnStep {
	f.Helper()
	note := turnAbort(core.TurnAgentCancel)
	note.RunID = runID
	f.next(core.TurnSeen{Kind: core.SeenAbort, Note: &note})
	f.next(core.TurnSeen{Kind: core.SeenRefused, Step: core.StepNote, Error: json.RawMessage(`{"code":"store_unavailable"}`)})
	for _, seen := range meanwhile {
		f.next(seen)
	}
	return f.next(core.TurnSeen{Kind: core.SeenDone, Step: core.StepAbort})
}

// turnQuietNotes are aborts that owe nothing, whether they are stored or not.
var turnQuietNotes = map[string]core.NoteTurnRequest{
	"user":    {RunID: "run", Kind: core.TurnUserCancel, NodeID: "node", AttemptID: "1"},
	"escape":  {RunID: "run", Kind: core.TurnEscape, NodeID: "node", AttemptID: "1"},
	"held":    {RunID: "run", Kind: core.TurnStepTimeout, NodeID: "node", AttemptID: "1", Held: true},
	"closing": {RunID: "run", Kind: core.TurnClaimLost, NodeID: "node", AttemptID: "1", Closing: true},
	"no step": {RunID: "run", Kind: core.TurnAgentCancel},
}

// Guard: turns_abort.go begin asks whether the event is quiet.
func TestTurnAnAbortThatOwesNothingIsReportedAsLost(t *testing.T) {
	for name, note := range turnQuietNotes {
		t.Run(name, func(t *testing.T) {
			w := turnAborting(t)
			w.fail(core.CodeStoreUnavailable, "all")
			w.must(w.host.Abort(note))
			w.must(w.host.RunEnded("run", false))
			turnEqual(t, "reports", len(w.host.Reported), 0)
			w.host.Store = w.store
			w.arrives()
			turnEqual(t, "lost turns in the feed", w.lostTurns(), 0)
		})
	}
}

// turnLaterStored is a run whose turn is reported as lost, and whose end a later try may
// store together with that turn.
func turnLaterStored(t *testing.T) *turnWorld {
	w := turnAborting(t)
	w.fail(core.CodeStoreUnavailable, "all")
	w.must(w.host.Abort(turnAbort(core.TurnStepTimeout)))
	w.must(w.host.EngineEnded(core.LaunchSeen{RunID: "run", Outcome: core.EngineFailed, Code: core.FailureTimedOut, TurnEvent: &core.TurnEvent{
		NodeID: "node", AttemptID: "1", AbortCause: core.CauseTimedOut,
	}}))
	w.must(w.host.RunEnded("run", false))
	turnEqual(t, "reports", strings.Join(w.host.Reported, " "), "run")
	return w
}

// Guard: turns_abort.go step asks for the intent before it records its loss.
func TestTurnAStoredTurnIsRecordedAsLost(t *testing.T) {
	w := turnLaterStored(t)
	w.host.Store = w.store
	w.must(w.host.Poll())
	w.arrives()
	w.messages(turnAbortID(core.CauseTimedOut), 1)
	turnEqual(t, "lost turns in the feed", w.lostTurns(), 0)
}

// The store cannot be asked for the turn. Guard: turns_abort.go ended settles what was
// lost.
func TestTurnAStoredTurnIsAskedForEver(t *testing.T) {
	w := turnLaterStored(t)
	f := w.fail(core.CodeStoreUnavailable, "getWorkflowTurnIntent")
	w.must(w.host.Poll())
	turnEqual(t, "state of the run", w.run("run").Status, core.Failed)
	turnEqual(t, "it was asked", turnTimes(f.tried, "getWorkflowTurnIntent"), 1)
	w.must(w.host.RunEnded("run", true))
	w.arrives()
	turnEqual(t, "it was asked", turnTimes(f.tried, "getWorkflowTurnIntent"), 1)
	turnEqual(t, "lost turns in the feed", w.lostTurns(), 0)
}

// Guard: turns_abort.go ended keeps the word (Lost), advance takes it.
func TestTurnAnEndToldDuringItsAbortIsForgotten(t *testing.T) {
	for stored, want := range map[bool]core.TurnStepKind{false: core.StepReport, true: core.StepWait} {
		f := newTurnFollow(t)
		step := f.aborts("run", core.TurnSeen{Kind: core.SeenEnded, RunID: "run", Stored: stored})
		turnEqual(t, fmt.Sprint("step, stored ", stored), step.Kind, want)
		turnEqual(t, "lost", step.GuaranteeLost, !stored)
		turnEqual(t, "entries", len(f.state.Abort.Entries) == 0, stored)
	}
}

// The loss of a second run is told while the report of the first is open. Guard:
// turns_abort.go answered takes the entry that was asked for.
func TestTurnTheReportOfOneLossIsTakenForAnother(t *testing.T) {
	f := newTurnFollow(t)
	f.aborts("a")
	f.aborts("b")
	reported := []string{}
	report := func(step core.TurnStep) {
		if step.Kind == core.StepReport {
			reported = append(reported, step.RunID)
		}
	}
	report(f.next(core.TurnSeen{Kind: core.SeenEnded, RunID: "b"}))
	report(f.next(core.TurnSeen{Kind: core.SeenEnded, RunID: "a"}))
	report(f.next(core.TurnSeen{Kind: core.SeenDone, Step: core.StepReport}))
	report(f.next(core.TurnSeen{Kind: core.SeenDone, Step: core.StepReport}))
	if !slices.Equal(reported, []string{"b", "a"}) {
		t.Errorf("have reports of %q, want one of each", reported)
	}
}

// Guard: turns_abort.go advance settles what is stored, and next forgets it.
func TestTurnStoredAbortsPileUp(t *testing.T) {
	f := newTurnFollow(t)
	answer := json.RawMessage(`{"outcome":"created","intent":{"intentId":"intent"}}`)
	for i := range 5 {
		note := turnAbort(core.TurnStepTimeout)
		note.AttemptID, note.Reason = fmt.Sprint(i), strings.Repeat("x", 8000)
		f.next(core.TurnSeen{Kind: core.SeenAbort, Note: &note})
		f.next(core.TurnSeen{Kind: core.SeenAnswered, Step: core.StepNote, Answer: answer})
		f.next(core.TurnSeen{Kind: core.SeenDone, Step: core.StepAbort})
		turnEqual(t, "entries", len(f.state.Abort.Entries), 0)
	}
}
