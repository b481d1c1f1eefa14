package hosttest_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/hosttest"
)

// Guard: turns_next.go lost: what was sent is sent again only after a settle of a
// turn that began later, or a lease of idle.
func TestTurnASwallowedSendErrorLosesTheMessage(t *testing.T) {
	again := map[string]func(w *turnWorld){
		"after a settle that began after the send": func(w *turnWorld) {
			w.session.StartTurn()
			w.must(w.host.Activity())
			w.sends(1)
			w.must(w.host.Settled())
		},
		"after one lease of idle": func(w *turnWorld) {
			w.must(w.host.Poll())
			for range turnLease/turnInterval - 1 {
				w.tick()
				w.sends(1)
			}
			w.tick()
		},
		"after one lease of idle that nothing interrupts": func(w *turnWorld) {
			for range turnLease/turnInterval - 1 {
				w.tick()
			}
			w.session.Question = true
			w.must(w.host.Poll())
			w.session.Question = false
			for range turnLease / turnInterval {
				w.tick()
				w.sends(1)
			}
			w.tick()
		},
	}
	for name, waits := range again {
		t.Run(name, func(t *testing.T) {
			w := newTurnWorld(t)
			w.session.StartTurn()
			intent := w.owe("run", true)
			w.session.Appending = hosttest.AppendNever
			w.must(w.host.Settled())
			w.session.Appending = hosttest.AppendNow
			w.must(w.host.Settled()) // told twice
			w.sends(1)
			w.held(intent)
			waits(w)
			w.sends(2)
			w.arrives()
			w.sends(2)
			w.messages(intent, 1)
			w.resolved(intent, core.ByFallback)
		})
	}
}

// Guard: turns_next.go maySend asks for an idle session.
func TestTurnAFollowUpIsSentBeforeItsTurnSettles(t *testing.T) {
	w := newTurnWorld(t)
	w.session.StartTurn()
	intent := w.owe("run", true)
	for _, point := range slices.Concat(w.points(w.host.Activity), w.points(w.host.Poll)) {
		if point == "claim" || point == "send" {
			t.Errorf("the step %s within a turn", point)
		}
	}
	w.sends(0)
	w.free(intent)
	w.must(w.host.Settled())
	w.sends(1)
	sent := w.entry(0)
	turnEqual(t, "type", sent.CustomType, "pi-workflows-deferred-turn")
	turnEqual(t, "deliverAs", sent.DeliverAs, "followUp")
	turnEqual(t, "triggerTurn", sent.TriggerTurn, true)
	turnEqual(t, "intent", sent.TurnIntentID, intent)
}

// A low-level run that ends may leave the session idle before its turn has settled.
// Guard: turns_next.go choose starts a fallback at a settle, a session's start and a
// poll alone.
func TestTurnAFollowUpIsSentAtTheEndOfALowLevelRun(t *testing.T) {
	w := newTurnWorld(t)
	w.session.StartTurn()
	intent := w.owe("run", true)
	w.session.Settle()
	w.must(w.host.Activity())
	w.sends(0)
	w.free(intent)
	w.must(w.host.Settled())
	w.sends(1)
}

// Guard: turns_next.go begin: a poll and the start of a session sweep, and claim.
func TestTurnNobodyTurnsUpForAFailureInAnIdleSession(t *testing.T) {
	fails := map[string]func(w *turnWorld){
		"by its engine": func(w *turnWorld) {
			w.must(w.host.EngineEnded(core.LaunchSeen{RunID: "run", Outcome: core.EngineFailed, Code: core.FailureRunFailed}))
		},
		"before its turn was owed": func(w *turnWorld) { // it is pending, and nobody says that it may go
			w.must(w.host.EngineEnded(core.LaunchSeen{RunID: "run", Outcome: core.EngineDone}))
			w.owe("run", false)
		},
	}
	turnsUp := map[string]func(w *turnWorld){
		"the next poll": (*turnWorld).tick,
		"the next start of the session": func(w *turnWorld) {
			w.restart()
			w.must(w.host.SessionStart())
		},
	}
	for how, fail := range fails {
		for when, passes := range turnsUp {
			t.Run(how+", until "+when, func(t *testing.T) {
				w := newTurnWorld(t)
				w.running("run")
				fail(w)
				w.sends(0)
				intent := w.theOwed("run").IntentID
				passes(w)
				w.sends(1)
				w.arrives()
				w.sends(1)
				w.messages(intent, 1)
				w.resolved(intent, core.ByFallback)
			})
		}
	}
}

// turnBusy are the ways in which a session is not idle.
var turnBusy = map[string]func(*hosttest.Session){
	"the model streams":        (*hosttest.Session).StartTurn,
	"a tool result is pending": func(s *hosttest.Session) { s.Pending = true },
	"a question is open":       func(s *hosttest.Session) { s.Question = true },
}

// Guard: turns_next.go deliver releases what was not sent, and the host looks again
// right before it sends.
func TestTurnACompletionAbortsTheTurnOfTheUser(t *testing.T) {
	for name, busy := range turnBusy {
		// The session becomes busy before the pass, or at one of its steps, and may be
		// heard of at once.
		for _, at := range []string{"", "sweep", "claim", "look", "send"} {
			for _, told := range []bool{false, true} {
				t.Run(fmt.Sprint(name, " ", at, told), func(t *testing.T) {
					w := newTurnWorld(t)
					intent := w.owe("run", true)
					if at == "" {
						busy(w.session)
					}
					w.at = w.within(at, func() {
						busy(w.session)
						if told {
							w.must(w.host.Activity())
						}
					})
					w.must(w.host.Poll())
					w.sends(0)
					w.free(intent)
					w.must(w.host.Activity())
					w.must(w.host.RunEnded("run", true))
					w.must(w.host.Poll())
					w.sends(0)
					w.free(intent)
					w.session.Pending, w.session.Question = false, false
					w.must(w.host.Settled())
					w.sends(1)
				})
			}
		}
	}
}

// Guard: workflow_turn_intents.sql IntentMakeEligible asks that the intent is pending.
func TestTurnToldTwiceByAPresentationAndAFallback(t *testing.T) {
	w := newTurnWorld(t)
	intent := w.owe("run", false)
	w.must(w.host.Present("run", "result"))
	w.tick()
	w.resolved(intent, core.ByPresentation)
	before := *w.intent(intent).ResolvedAt

	turnRefused(t, "eligible", w.makeEligible(intent), core.CodeIntentResolved)
	other := w.beside(w.store)
	for range 3 {
		w.tick()
		other.tick()
	}
	w.sends(1)
	other.sends(0)
	w.messages(intent, 1)
	w.resolved(intent, core.ByPresentation)
	turnEqual(t, "resolved at", *w.intent(intent).ResolvedAt, before)
}

// Guard: workflow_turn_intents.sql IntentClaimEligible asks that the claim of the
// presentation is over.
func TestTurnToldTwiceWhileThePresentationIsOnItsWay(t *testing.T) {
	w := newTurnWorld(t)
	intent := w.owe("run", false)
	w.session.Appending = hosttest.AppendLate
	w.must(w.host.Present("run", "result"))
	w.sends(1)
	w.must(w.makeEligible(intent))
	other := w.beside(w.store)
	for range 3 {
		w.clock.Advance(turnInterval)
		w.must(w.host.Poll())
		other.tick()
	}
	w.arrives()
	other.arrives()
	w.sends(1)
	other.sends(0)
	w.messages(intent, 1)
	w.resolved(intent, core.ByPresentation)
}

// Guard: workflow_turn_intents.sql IntentClaimForRun asks that the claim of the fallback
// is over.
func TestTurnToldTwiceWhileTheFallbackIsOnItsWay(t *testing.T) {
	w := newTurnWorld(t)
	intent := w.owe("run", true)
	w.session.Appending = hosttest.AppendLate
	w.must(w.host.Poll())
	w.sends(1)
	other := w.beside(w.store)
	other.must(other.host.Prompt("run", "prompt"))
	other.tick()
	other.sends(0)
	w.tick()
	w.resolved(intent, core.ByFallback)
	other.tick()
	other.sends(1)
	w.messages(intent, 1)
	turnEqual(t, "intent of the prompt", w.entry(1).TurnIntentID, "")
}

// Guard: turns_next.go deliver looks before it sends, and session.go Find looks at all
// entries.
func TestTurnACompactionLosesTheMark(t *testing.T) {
	w := newTurnWorld(t)
	intent := w.owe("run", true)
	w.at = turnStopAt("after send")
	w.stops(w.host.Poll())
	w.session.Compact()
	w.restart()
	turnEqual(t, "entries that the model sees", len(w.session.Branch.Context()), 0)
	w.must(w.host.SessionStart())
	w.arrives()
	w.sends(0)
	w.messages(intent, 1)
	w.resolved(intent, core.ByFallback)
}

// Guard: workflow_turn_intents.sql IntentClaimEligible asks for the target session.
func TestTurnAForkTakesTheTurnOfItsSession(t *testing.T) {
	w := newTurnWorld(t)
	intent := w.owe("run", true)
	w.at = turnStopAt("after send")
	w.stops(w.host.Poll())

	fork := turnWorldOf(t, w.clock, w.store, "fork")
	fork.session = w.session.Fork("fork")
	fork.restart()
	fork.must(fork.host.SessionStart())
	fork.arrives()
	fork.sends(0)
	turnEqual(t, "resolved by the fork", w.intent(intent).Resolution != nil, false)

	w.restart()
	w.must(w.host.SessionStart())
	w.sends(0)
	w.resolved(intent, core.ByFallback)
}
