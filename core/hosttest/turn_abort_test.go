package hosttest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/hosttest"
)

// turnFaults is a store that does not answer some operations.
type turnFaults struct {
	hosttest.Caller
	fails map[string]core.Code
	tried []string
}

func (f *turnFaults) Call(ctx context.Context, op string, request []byte) ([]byte, error) {
	f.tried = append(f.tried, op)
	for _, name := range []string{op, "all"} {
		if code, fails := f.fails[name]; fails {
			return nil, core.NewError(code, nil, "a fault of the test")
		}
	}
	return f.Caller.Call(ctx, op, request)
}

// fail makes operations fail, "all" being all of them.
func (w *turnWorld) fail(code core.Code, ops ...string) *turnFaults {
	f := &turnFaults{Caller: w.store, fails: map[string]core.Code{}}
	for _, op := range ops {
		f.fails[op] = code
	}
	w.host.Store = f
	return f
}

// aborting is a run whose active step is about to be aborted.
func turnAborting(t *testing.T) *turnWorld {
	w := newTurnWorld(t)
	w.running("run")
	w.session.StartTurn()
	return w
}

// turnAborts are the interruptions, and the cause of each.
var turnAborts = map[core.TurnKind]core.Cause{
	core.TurnAgentCancel:         core.CauseAgentCancelled,
	core.TurnStepTimeout:         core.CauseTimedOut,
	core.TurnControllerInterrupt: core.CauseControllerInterrupted,
	core.TurnClaimLost:           core.CauseClaimLost,
}

func turnAbort(kind core.TurnKind) core.NoteTurnRequest {
	return core.NoteTurnRequest{RunID: "run", Kind: kind, NodeID: "node", AttemptID: "1", RecoveryExpected: true}
}

// abortID is the identity of the turn that an abort owes.
func turnAbortID(cause core.Cause) string {
	return core.TurnSource{
		SessionID: turnSession, RunID: "run", Source: core.SourceAgentStepAbort, NodeID: "node", AttemptID: "1", Cause: cause,
	}.IntentID()
}

// points are the points of what a host does.
func (w *turnWorld) points(do func() error) (points []string) {
	w.Helper()
	w.at = func(point string) bool {
		points = append(points, point)
		return false
	}
	w.must(do())
	w.at = nil
	return points
}

var turnAbortPoints = []string{"note", "after note", "abort", "after abort"}

// Guard: turns_abort.go step: abortBegun notes, abortNoted aborts, whatever the note
// answered.
func TestTurnAnAbortComesBeforeItsNoteOrNotAtAll(t *testing.T) {
	for kind, cause := range turnAborts {
		for _, code := range []core.Code{"", core.CodeStoreUnavailable, core.CodeStoreClosed, core.CodeNotOwner, core.CodeLayoutIncompatible} {
			t.Run(fmt.Sprint(kind, code), func(t *testing.T) {
				w := turnAborting(t)
				if code != "" {
					w.fail(code, "all")
				}
				points := w.points(func() error { return w.host.Abort(turnAbort(kind)) })
				if !slices.Equal(points[:min(len(points), 4)], turnAbortPoints) {
					t.Errorf("have the steps %q", points)
				}
				if code != "" {
					turnEqual(t, "turns owed", len(w.owed("run")), 0)
					return
				}
				i := w.theOwed("run")
				turnEqual(t, "intent", i.IntentID, turnAbortID(cause))
				turnEqual(t, "cause", i.Cause, cause)
				turnEqual(t, "eligible", i.EligibleAt != nil, false)
			})
		}
	}
}

// Guard: turns_next.go Next lets the steps of an abort go before all others, also
// before the result of one.
func TestTurnAnAbortWaitsForADelivery(t *testing.T) {
	for _, at := range []string{"sweep", "after sweep", "claim", "after claim", "look", "after look", "send", "verified", "after send", "resolve", "after resolve"} {
		t.Run(at, func(t *testing.T) {
			w := turnAborting(t)
			w.owe("other", true)
			w.session.Settle()
			var points []string
			w.at = w.within(at, func() {
				before := w.at
				points = w.points(func() error { return w.host.Abort(turnAbort(core.TurnStepTimeout)) })
				w.at = before
			})
			w.must(w.host.Poll())
			w.must(w.host.Poll())
			if !slices.Equal(points, turnAbortPoints) {
				t.Errorf("have the steps %q", points)
			}
		})
	}
}

// turnOutcomes are the ends of a run that was aborted, by the cause of the abort.
var turnOutcomes = map[string]struct {
	end    func(w *turnWorld, e core.TurnEvent) error
	causes []core.Cause
}{
	"failed": {func(w *turnWorld, e core.TurnEvent) error {
		return w.host.EngineEnded(core.LaunchSeen{RunID: "run", Outcome: core.EngineFailed, Code: core.FailureRunFailed, TurnEvent: &e})
	}, []core.Cause{core.CauseAgentCancelled, core.CauseTimedOut, core.CauseControllerInterrupted, core.CauseClaimLost}},
	"timed out": {func(w *turnWorld, e core.TurnEvent) error {
		return w.host.EngineEnded(core.LaunchSeen{RunID: "run", Outcome: core.EngineFailed, Code: core.FailureTimedOut, TurnEvent: &e})
	}, []core.Cause{core.CauseTimedOut}},
	"cancelled by the agent": {func(w *turnWorld, e core.TurnEvent) error {
		_, err := w.store.CancelPreparedRun(context.Background(), core.CancelRequest{RunID: "run", Origin: core.OriginAgent, TurnEvent: &e})
		return err
	}, []core.Cause{core.CauseAgentCancelled}},
}

// Guard: policy.go sourceOf gives the outcome of an abort the abort's identity.
func TestTurnATurnThatCouldNotBeStoredIsOwedTwiceOrNotAtAll(t *testing.T) {
	for name, outcome := range turnOutcomes {
		for kind, cause := range turnAborts {
			if !slices.Contains(outcome.causes, cause) {
				continue
			}
			for when, fails := range map[string]bool{"the note failed": true, "the note was stored": false} {
				t.Run(strings.Join([]string{name, string(kind), when}, "/"), func(t *testing.T) {
					w := turnAborting(t)
					if fails {
						w.fail(core.CodeStoreUnavailable, "noteTurnEvent")
					}
					w.must(w.host.Abort(turnAbort(kind)))
					turnEqual(t, "stored before the abort", len(w.owed("run")) == 1, !fails)
					w.must(outcome.end(w, core.TurnEvent{NodeID: "node", AttemptID: "1", AbortCause: cause}))
					w.must(w.host.RunEnded("run", true))
					i := w.theOwed("run")
					turnEqual(t, "intent", i.IntentID, turnAbortID(cause))
					turnEqual(t, "cause", i.Cause, cause)
					w.sends(0)
					w.must(w.host.Settled())
					w.arrives()
					w.sends(1)
					w.messages(i.IntentID, 1)
					w.resolved(i.IntentID, core.ByFallback)
					turnEqual(t, "runs that were reported", len(w.host.Reported), 0)
					turnEqual(t, "events of a lost turn", w.lostTurns(), 0)
				})
			}
		}
	}
}

// lostTurns counts the events that say that a turn was lost.
func (w *turnWorld) lostTurns() (n int) {
	w.Helper()
	events, err := w.store.ListRunEvents(context.Background(), core.ListEventsRequest{RunID: "run", Limit: core.MaxList})
	w.must(err)
	for _, e := range events {
		if e.Type == string(core.EventTurnIntentFailed) {
			n++
		}
	}
	return n
}

// Guard: turns_abort.go ended: neither the abort nor the outcome was stored; abortTold
// records until the store answers, and a new pass tries again.
func TestTurnALostTurnIsNotReported(t *testing.T) {
	for _, passes := range []int{0, 1, 5} {
		t.Run(fmt.Sprint("the store answers after ", passes), func(t *testing.T) {
			w := turnAborting(t)
			f := w.fail(core.CodeStoreUnavailable, "all")
			w.must(w.host.Abort(turnAbort(core.TurnAgentCancel)))
			turnEqual(t, "runs that were reported", len(w.host.Reported), 0)
			w.must(w.host.RunEnded("run", false))
			turnEqual(t, "runs that were reported", strings.Join(w.host.Reported, " "), "run")
			w.must(w.host.Settled())
			for range passes {
				before := len(f.tried)
				w.clock.Advance(turnInterval)
				w.must(w.host.Poll())
				if n := turnTimes(f.tried[before:], "recordRunEvent"); n > 1 {
					t.Errorf("one pass tried %d times", n)
				}
			}
			turnEqual(t, "events of a lost turn", w.lostTurns(), 0)
			f.fails = nil
			for range 5 {
				w.tick()
			}
			turnEqual(t, "events of a lost turn", w.lostTurns(), 1)
			turnEqual(t, "runs that were reported", strings.Join(w.host.Reported, " "), "run")
		})
	}
}

func turnTimes(all []string, what string) (n int) {
	for _, one := range all {
		if one == what {
			n++
		}
	}
	return n
}

// The outcome may be told while the turn is being aborted. Guard: turns_abort.go ended
// keeps what it is told of an abort that is not done.
func TestTurnALostTurnIsToldBeforeItsAbortIsDone(t *testing.T) {
	for _, at := range turnAbortPoints {
		t.Run(at, func(t *testing.T) {
			w := turnAborting(t)
			w.fail(core.CodeStoreUnavailable, "all")
			w.at = func(point string) bool {
				if point == at {
					w.at = nil
					w.must(w.host.RunEnded("run", false))
				}
				return false
			}
			w.must(w.host.Abort(turnAbort(core.TurnAgentCancel)))
			w.must(w.host.Settled())
			turnEqual(t, "runs that were reported", strings.Join(w.host.Reported, " "), "run")
			w.host.Store = w.store
			w.tick()
			turnEqual(t, "events of a lost turn", w.lostTurns(), 1)
		})
	}
}

// Guard: turns_abort.go next lets a note and its abort go before what is to be
// recorded of another, and answered takes each entry on.
func TestTurnALostTurnHoldsTheNextAbortBack(t *testing.T) {
	w := turnAborting(t)
	w.fail(core.CodeStoreUnavailable, "all")
	for _, attempt := range []string{"1", "2", "3"} {
		note := turnAbort(core.TurnStepTimeout)
		note.AttemptID = attempt
		points := w.points(func() error { return w.host.Abort(note) })
		if !slices.Equal(points[:min(len(points), 4)], turnAbortPoints) {
			t.Errorf("abort %s: have the steps %q", attempt, points)
		}
		w.must(w.host.RunEnded("run", false))
	}
	turnEqual(t, "runs that were reported", strings.Join(w.host.Reported, " "), "run run run")
	w.host.Store = w.store
	w.must(w.host.Settled())
	w.must(w.host.Poll())
	turnEqual(t, "events of a lost turn", w.lostTurns(), 3)
}

// Guard: turns_abort.go ended asks whether the abort was stored.
func TestTurnAStoredTurnIsReportedAsLost(t *testing.T) {
	w := turnAborting(t)
	w.must(w.host.Abort(turnAbort(core.TurnAgentCancel)))
	f := w.fail(core.CodeStoreUnavailable, "all")
	w.must(w.host.RunEnded("run", false))
	w.must(w.host.Settled())
	f.fails = nil
	w.tick()
	turnEqual(t, "runs that were reported", len(w.host.Reported), 0)
	turnEqual(t, "events of a lost turn", w.lostTurns(), 0)
	w.theOwed("run")
}
