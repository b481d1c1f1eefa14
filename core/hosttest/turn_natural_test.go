package hosttest_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/hosttest"
)

// Guard: turns_next.go natural asks whether a turn is owed before it waits.
func TestTurnAMessageThatOwesNothingIsHeldBack(t *testing.T) {
	settings := map[string]func(w *turnWorld){
		"idle":          func(w *turnWorld) {},
		"in a turn":     func(w *turnWorld) { w.session.StartTurn() },
		"held":          func(w *turnWorld) { w.session.Held = true },
		"at a question": func(w *turnWorld) { w.session.Question = true },
		"while another run's turn is owed": func(w *turnWorld) {
			w.session.StartTurn()
			w.owe("other", true)
		},
	}
	for name, set := range settings {
		t.Run(name, func(t *testing.T) {
			w := newTurnWorld(t)
			set(w)
			for what, post := range turnPosts {
				before := w.session.Sends()
				w.must(w.host.Post("run", what, post.path, post.entry))
				w.sends(before + 1)
				turnEqual(t, "message", w.entry(before), post.entry)
			}
		})
	}
}

// Guard: turns_next.go choose and waiting let a message wait for its own run alone.
func TestTurnAMessageThatOwesNothingWaitsForTheTurnOfAnotherRun(t *testing.T) {
	before := map[string]func(w *turnWorld){
		"that waits for an idle session": func(w *turnWorld) {
			w.session.StartTurn()
			w.owe("other", false)
			w.must(w.host.Prompt("other", "first"))
			w.sends(0)
		},
		"that the session has not shown": func(w *turnWorld) {
			w.owe("other", true)
			w.session.Appending = hosttest.AppendNever
			w.must(w.host.Poll())
			w.session.Appending = hosttest.AppendNow
			w.sends(1)
		},
	}
	for name, set := range before {
		t.Run(name, func(t *testing.T) {
			w := newTurnWorld(t)
			set(w)
			sent := w.session.Sends()
			post := turnPosts["prompt"]
			w.must(w.host.Post("run", "prompt", post.path, post.entry))
			w.sends(sent + 1)
			turnEqual(t, "message", w.entry(0), post.entry)
		})
	}
}

// The lease of a delivered prompt lapses while the machine sleeps, before the session
// was looked at. Guard: turns_result.go isShown tells the message that was found from
// others of its run.
func TestTurnASecondPromptIsTakenForTheFirst(t *testing.T) {
	w := newTurnWorld(t)
	intent := w.owe("run", false)
	w.must(w.host.Prompt("run", "first"))
	w.clock.Advance(turnLease)
	w.must(w.host.Activity())
	w.must(w.host.Settled())
	w.must(w.host.Prompt("run", "second"))
	w.arrives()
	w.messages(intent, 1)
	w.resolved(intent, core.ByWorkflowPrompt)
	have := w.entries()
	if len(have) != 2 || have[1].Content != "second" || have[1].TurnIntentID != "" {
		t.Errorf("have %+v, want both prompts, the second as it is", have)
	}
}

// Guard: turns_next.go choose asks whether a turn is being aborted.
func TestTurnAMessageGoesIntoAnAbortingTurn(t *testing.T) {
	for name, owed := range map[string]bool{"owed": true, "not owed": false} {
		for _, at := range []string{"note", "after note", "abort", "after abort", ""} {
			if !owed && strings.HasSuffix(at, "note") {
				continue // what owes nothing is not noted
			}
			t.Run(name+" "+at, func(t *testing.T) {
				w := newTurnWorld(t)
				w.running("run")
				w.owe("other", true)
				w.session.StartTurn()
				prompt := func() { w.must(w.host.Prompt("run", "prompt")) }
				w.at = func(point string) bool {
					if point == at {
						prompt()
						w.session.Question = false
					}
					return false
				}
				note := core.NoteTurnRequest{RunID: "run", Kind: core.TurnStepTimeout, NodeID: "node", AttemptID: "1", RecoveryExpected: true}
				note.Held = !owed
				w.must(w.host.Abort(note))
				if at == "" {
					prompt()
				}
				w.must(w.host.Activity())
				turnEqual(t, "turns owed", len(w.owed("run")) == 1, owed)
				w.sends(0)
				w.must(w.host.Settled())
				w.sends(1)
				turnEqual(t, "message", w.entry(0).Content, "prompt")
				turnEqual(t, "names an intent", w.entry(0).TurnIntentID != "", owed)
			})
		}
	}
}

// The turn has settled when its abort is noted, so that no other settle will come.
// Guard: turns_next.go: a session that a poll finds idle has no turn that is aborted.
func TestTurnAnAbortOfASettledTurnHoldsAllMessagesBack(t *testing.T) {
	w := newTurnWorld(t)
	w.running("run")
	w.session.StartTurn()
	w.must(w.host.Settled())
	w.must(w.host.Abort(core.NoteTurnRequest{RunID: "run", Kind: core.TurnStepTimeout, NodeID: "node", AttemptID: "1"}))
	w.session.Settle() // which the session does without a word
	w.arrives()
	w.messages(w.theOwed("run").IntentID, 1)
}

// Guard: turns_next.go mayClaim, and limit 1 of its claim; workflow_turn_intents.sql
// orders by eligibility.
func TestTurnTwoMessagesGoAtOneIdleBoundary(t *testing.T) {
	for _, appending := range []hosttest.Appending{hosttest.AppendNow, hosttest.AppendLate} {
		t.Run(string(appending), func(t *testing.T) {
			w := newTurnWorld(t)
			var oldest []string
			for _, runID := range []string{"b", "c", "a"} {
				oldest = append(oldest, w.owe(runID, true))
				w.clock.Advance(turnInterval / 3)
			}
			w.session.Appending = appending
			for i, intent := range oldest {
				w.must(w.host.Poll())
				w.must(w.host.Activity())
				w.must(w.host.Poll())
				w.sends(i + 1)
				w.must(w.session.Flush())
				w.messages(intent, 1)
				w.must(w.host.Activity())
				w.sends(i + 1)
				w.session.Settle()
			}
		})
	}
}

// Guard: turns_result.go sentAsItIs: a natural message uses the boundary up too.
func TestTurnAFallbackFollowsAMessageAtTheSameIdleBoundary(t *testing.T) {
	w := newTurnWorld(t)
	intent := w.owe("other", true)
	w.session.Appending = hosttest.AppendLate
	w.must(w.host.Prompt("run", "prompt"))
	w.must(w.host.Poll())
	w.sends(1)
	w.free(intent)
	w.must(w.session.Flush())
	w.must(w.host.Activity())
	w.must(w.host.Settled())
	w.sends(2)
}

// A message within a turn starts none. Guard: turns_result.go sentAsItIs: it uses no
// boundary up.
func TestTurnAMessageWithinATurnUsesTheNextIdleBoundary(t *testing.T) {
	for _, appending := range []hosttest.Appending{hosttest.AppendNow, hosttest.AppendLate} {
		t.Run(string(appending), func(t *testing.T) {
			w := newTurnWorld(t)
			w.session.StartTurn()
			w.session.Appending = appending
			w.must(w.host.Prompt("run", "prompt"))
			w.sends(1)
			intent := w.owe("other", true)
			w.must(w.session.Flush())
			w.must(w.host.Settled())
			w.tick()
			w.messages(intent, 1)
		})
	}
}

// Guard: turns_result.go sent, turns_next.go deliver: what failed is released; drop gives
// its natural message back.
func TestTurnAFailedSendKeepsItsClaim(t *testing.T) {
	wants := map[core.Resolution]func(w *turnWorld) error{
		core.ByFallback:       func(w *turnWorld) error { return w.host.Poll() },
		core.ByWorkflowPrompt: func(w *turnWorld) error { return w.host.Prompt("run", "prompt") },
	}
	for path, want := range wants {
		t.Run(string(path), func(t *testing.T) {
			w := newTurnWorld(t)
			intent := w.owe("run", true)
			w.session.SendError = errors.New("no")
			w.must(want(w))
			w.free(intent)
			w.tick()
			w.sends(0)
			w.free(intent)
			w.session.SendError = nil
			w.tick()
			w.sends(1)
			w.messages(intent, 1)
			w.tick()
			w.resolved(intent, path)
		})
	}
}
