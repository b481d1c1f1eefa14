package hosttest_test

import (
	"context"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// turnEvents are what a host tells of a session.
var turnEvents = map[string]func(w *turnWorld) error{
	"start":    func(w *turnWorld) error { return w.host.SessionStart() },
	"settle":   func(w *turnWorld) error { return w.host.Settled() },
	"poll":     func(w *turnWorld) error { return w.host.Poll() },
	"activity": func(w *turnWorld) error { return w.host.Activity() },
	"ended":    func(w *turnWorld) error { return w.host.RunEnded("run", true) },
	"prompt":   func(w *turnWorld) error { return w.host.Prompt("run", "prompt") },
	"present":  func(w *turnWorld) error { return w.host.Present("run", "result") },
}

// turnStops are why no message may go.
var turnStops = map[string]func(w *turnWorld){
	"held":               func(w *turnWorld) { w.session.Held = true },
	"at a question":      func(w *turnWorld) { w.session.Question = true },
	"with messages left": func(w *turnWorld) { w.session.Pending = true },
	"closed":             func(w *turnWorld) { w.must(w.host.Shutdown()) },
}

// Guard: turns_next.go maySend asks whether it is held, choose whether it is closed.
func TestTurnAMessageGoesWhereNoneMay(t *testing.T) {
	for stop, stops := range turnStops {
		for name, event := range turnEvents {
			t.Run(stop+"/"+name, func(t *testing.T) {
				w := newTurnWorld(t)
				intent := w.owe("run", true)
				stops(w)
				for range 2 {
					w.must(event(w))
					w.must(w.host.Poll())
					w.sends(0)
					w.free(intent)
				}
				if stop == "closed" { // also what owes nothing would start a turn
					w.must(w.host.Prompt("another", "plain"))
					w.sends(0)
				}
			})
		}
	}
}

// Guard: turns_next.go absorb takes how the session stands from results too, and deliver
// releases at the end.
func TestTurnAMessageGoesWhereNoneMayAnyMore(t *testing.T) {
	for stop, stops := range turnStops {
		for _, at := range []string{"sweep", "claim", "after claim", "look", "after look"} {
			t.Run(stop+"/"+at, func(t *testing.T) {
				w := newTurnWorld(t)
				intent := w.owe("run", true)
				w.at = w.within(at, func() { stops(w) })
				w.must(w.host.Poll())
				w.sends(0)
				w.free(intent)
			})
		}
	}
}

// Guard: policy.go has no intent for what the user or the closing session did;
// workflow_turn_intents.sql IntentListUnsettled asks for a cancellation of the agent.
func TestTurnTheUserIsAnsweredByATurn(t *testing.T) {
	acts := map[core.TurnKind]func(w *turnWorld){
		core.TurnUserCancel: func(w *turnWorld) {
			_, err := w.store.CancelPreparedRun(context.Background(), core.CancelRequest{
				RunID: "run", Origin: core.OriginUser, TurnEvent: &core.TurnEvent{NodeID: "node", AttemptID: "1"},
			})
			w.must(err)
			w.must(w.host.RunEnded("run", true))
		},
		core.TurnPause: func(w *turnWorld) {
			w.must(w.host.EngineEnded(core.LaunchSeen{RunID: "run", Outcome: core.EnginePaused, TurnEvent: &core.TurnEvent{NodeID: "node", AttemptID: "1"}}))
		},
		core.TurnEscape:   func(w *turnWorld) { w.session.Held = true },
		core.TurnShutdown: func(w *turnWorld) { w.must(w.host.Shutdown()) },
	}
	for kind, act := range acts {
		for name, owed := range map[string]bool{"a turn is owed, and not eligible": true, "none is owed": false} {
			t.Run(string(kind)+"/"+name, func(t *testing.T) {
				w := newTurnWorld(t)
				w.running("run")
				w.session.StartTurn()
				if owed {
					w.must(w.host.Abort(core.NoteTurnRequest{RunID: "run", Kind: core.TurnStepTimeout, NodeID: "node", AttemptID: "1", RecoveryExpected: true}))
				}
				w.must(w.host.Abort(core.NoteTurnRequest{RunID: "run", Kind: kind, NodeID: "node", AttemptID: "2"}))
				act(w)
				for range 3 {
					w.must(w.host.Settled())
					w.arrives()
				}
				w.sends(0)
				wantTurnQuiet(w, owed)

				w.restart()
				w.session.Held = kind == core.TurnEscape
				w.must(w.host.SessionStart())
				w.arrives()
				w.sends(0)
				wantTurnQuiet(w, owed)
			})
		}
	}
}

// wantTurnQuiet: what was owed before is still owed, and nothing more.
func wantTurnQuiet(w *turnWorld, owed bool) {
	w.Helper()
	if !owed {
		turnEqual(w, "turns owed", len(w.owed("run")), 0)
		return
	}
	i := w.theOwed("run")
	turnEqual(w, "eligible", i.EligibleAt != nil, false)
	turnEqual(w, "resolved", i.Resolution != nil, false)
	turnEqual(w, "claimed", i.DeliveryClaimExpiresAt != nil, false)
}
