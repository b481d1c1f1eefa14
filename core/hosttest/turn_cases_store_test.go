package hosttest_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/hosttest"
)

// Guard: turns_next.go deliver looks before it sends.
func TestTurnAStoreThatIsClosedAtTheDeliveryTellsTwice(t *testing.T) {
	for name, same := range map[string]bool{"the process goes on with another store": true, "the next process": false} {
		t.Run(name, func(t *testing.T) {
			dir, clock := t.TempDir(), hosttest.NewClock(turnEpoch)
			w := turnWorldOf(t, clock, turnFile(t, dir, clock.Now), turnSession)
			intent := w.owe("run", true)
			w.at = func(point string) bool {
				if point == "after send" {
					w.must(w.store.Close())
				}
				return false
			}
			w.must(w.host.Poll())
			w.tick()
			w.tick()
			w.sends(1)

			w.store = turnFile(t, dir, clock.Now)
			w.host.Store = w.store
			sends := 1
			if !same {
				w.restart()
				w.must(w.host.SessionStart())
				sends = 0
			}
			w.arrives()
			w.sends(sends)
			w.messages(intent, 1)
			w.resolved(intent, core.ByFallback)
		})
	}
}

// Guard: obligation.go known looks the identity of the source event up before a row is
// made.
func TestTurnASourceEventThatIsHandledAgainOwesAgain(t *testing.T) {
	dir, clock := t.TempDir(), hosttest.NewClock(turnEpoch)
	w := turnWorldOf(t, clock, turnFile(t, dir, clock.Now), turnSession)
	other := turnFile(t, dir, clock.Now)
	w.running("run")
	w.session.StartTurn()
	note := core.NoteTurnRequest{RunID: "run", SessionID: turnSession, Kind: core.TurnAgentCancel, NodeID: "node", AttemptID: "1", Reason: "first"}
	w.must(w.host.Abort(note))
	intent := w.theOwed("run").IntentID

	handledAgain := func(reason string, outcome core.NoteOutcome) {
		t.Helper()
		note.Reason = reason
		again, err := other.NoteTurnEvent(context.Background(), note)
		w.must(err)
		turnEqual(t, "what became of "+reason, again.Outcome, outcome)
		turnEqual(t, "intent of "+reason, again.Intent.IntentID, intent)
		w.theOwed("run")
	}
	handledAgain("second", core.NoteJoined)
	w.restart()
	w.session.StartTurn()
	note.Reason = "third"
	w.must(w.host.Abort(note))
	handledAgain("fourth", core.NoteJoined)
	w.must(w.host.Settled())
	w.must(w.host.Prompt("run", "prompt"))
	w.tick()
	w.messages(intent, 1)
	w.resolved(intent, core.ByWorkflowPrompt)

	// Its turn was delivered, and the run goes on.
	handledAgain("fifth", core.NoteKnown)
	w.restart()
	w.session.StartTurn()
	w.must(w.host.Abort(note))
	w.must(w.host.Settled())
	_, err := w.store.CancelPreparedRun(context.Background(), core.CancelRequest{
		RunID: "run", Origin: core.OriginAgent, TurnEvent: &core.TurnEvent{NodeID: "node", AttemptID: "1", AbortCause: core.CauseAgentCancelled},
	})
	w.must(err)
	w.must(w.host.RunEnded("run", true))
	w.arrives()
	w.sends(0)
	w.messages(intent, 1)
	turnEqual(t, "intent at the end", w.theOwed("run").IntentID, intent)
}

// Guard: intent.go conflict compares every immutable field.
func TestTurnAnotherSourceEventTakesAnIdentity(t *testing.T) {
	dir, clock := t.TempDir(), hosttest.NewClock(turnEpoch)
	w := turnWorldOf(t, clock, turnFile(t, dir, clock.Now), turnSession)
	other := turnFile(t, dir, clock.Now)
	intent := w.owe("run", false)
	before := w.intent(intent)

	same := turnOwed(turnSession, "run")
	same.FallbackFacts = []byte(`{"schema":"` + core.FactsSchema + `","workflowName":"greet","runId":"run","observedState":"interrupted",` +
		`"cause":"failed","nodeId":null,"attemptId":"2","reason":"other words","handoff":true}`)
	same.Eligible = true
	have, err := other.EnsureWorkflowTurnIntent(context.Background(), same)
	w.must(err)
	turnEqual(t, "id", have.IntentID, intent)
	turnEqual(t, "facts", string(have.FallbackFacts), string(before.FallbackFacts))
	turnEqual(t, "eligible", have.EligibleAt != nil, false)

	change := map[string]func(*core.EnsureIntentRequest){
		"sourceEventId": func(r *core.EnsureIntentRequest) { r.SourceEventID = "turn-source:other" },
		"targetSessionId": func(r *core.EnsureIntentRequest) {
			r.SourceEventID, r.TargetSessionID = before.SourceEventID, "other"
		},
		"runId": func(r *core.EnsureIntentRequest) {
			*r = turnOwed(turnSession, "other")
			r.SourceEventID = before.SourceEventID
		},
		"nodeId":    func(r *core.EnsureIntentRequest) { r.SourceEventID, r.NodeID = before.SourceEventID, "other" },
		"attemptId": func(r *core.EnsureIntentRequest) { r.SourceEventID, r.AttemptID = before.SourceEventID, "1" },
		"workflowRef": func(r *core.EnsureIntentRequest) {
			r.WorkflowRef = "other"
			r.FallbackFacts = bytes.Replace(r.FallbackFacts, []byte(`"greet"`), []byte(`"other"`), 1)
		},
		"cause": func(r *core.EnsureIntentRequest) {
			r.SourceEventID, r.Cause = before.SourceEventID, core.CauseTimedOut
			r.FallbackFacts = bytes.Replace(r.FallbackFacts, []byte(`"cause":"failed"`), []byte(`"cause":"timedOut"`), 1)
		},
	}
	for field, set := range change {
		request := turnOwed(turnSession, "run")
		set(&request)
		request.IntentID = intent
		_, err := other.EnsureWorkflowTurnIntent(context.Background(), request)
		turnRefused(t, field, err, core.CodeIntentConflict)
	}
	intents, err := w.store.ListWorkflowTurnIntents(context.Background(), core.ListIntentsRequest{Limit: core.MaxList})
	w.must(err)
	turnEqual(t, "intents", len(intents), 1)
	turnEqual(t, "stored", string(w.intent(intent).FallbackFacts), string(before.FallbackFacts))
}

// Guard: workflow_turn_intents.sql IntentClaimEligible orders by instant, not by text.
func TestTurnTimesInTwoFormatsAreComparedAsText(t *testing.T) {
	dir, clock := t.TempDir(), hosttest.NewClock(turnEpoch)
	w := turnWorldOf(t, clock, turnFile(t, dir, clock.Now), turnSession)
	// The oldest first; as texts they are in another order.
	times := []string{"2026-08-21T09:30:00+02:00", "2026-08-21T07:30:00.001Z", "2026-08-21T07:30:01Z", "2026-08-21T02:31:00.5-05:00"}
	other := turnPlain(t, dir)
	var want []string
	for i, at := range times {
		intent := w.owe(string(rune('d'-i)), true)
		_, err := other.ExecContext(context.Background(), "UPDATE workflow_turn_intents SET eligible_at = ? WHERE intent_id = ?", at, intent)
		w.must(err)
		want = append(want, intent)
	}
	w.must(w.host.SessionStart())
	for range 2 * len(times) {
		w.tick()
	}
	var have []string
	for _, e := range w.entries() {
		have = append(have, e.TurnIntentID)
	}
	if !slices.Equal(have, want) {
		t.Errorf("have the order %q, want %q", have, want)
	}
}
