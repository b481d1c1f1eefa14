package core_test

import (
	"fmt"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// pairOf is an event as a pair tells it: the case of the policy that does most.
func pairOf(kind string) noteCase {
	var found noteCase
	for _, c := range notePolicy {
		if c.kind != kind {
			continue
		}
		if found.kind == "" || c.alone.outcome == "created" && found.alone.outcome != "created" {
			found = c
		}
	}
	return found
}

// noteAt puts the run into the state of a case and tells of its event.
func (f *fixture) noteAt(c noteCase, reason string) object {
	f.Helper()
	f.exec("UPDATE workflow_run_queue SET status = ? WHERE run_id = 'run'", c.state)
	return f.ok("noteTurnEvent", noteOf(c.kind, c.given).with(object{"reason": reason}))
}

// Every event after every other one of the same run: at most one turn is pending, the
// first cause and identity stand, facts and eligibility move on.
func TestSecondEventOfARunMakesASecondPendingTurn(t *testing.T) {
	for _, first := range core.TurnKinds {
		for _, second := range core.TurnKinds {
			a, b := pairOf(string(first)), pairOf(string(second))
			what := fmt.Sprint(first, ", then ", second)
			f := turnRun(t, a.state)
			f.noteAt(a, "one")
			if a.alone.outcome != "created" {
				f.noIntent()
				f.at(time1)
				f.noteAt(b, "two")
				f.stands(what, b.alone, nil, stamp(time1))
				continue
			}
			before := f.onlyIntent()
			f.at(time1)
			note := f.noteAt(b, "two")
			row := f.onlyIntent()
			if b.beside.outcome == "none" {
				equal(t, what, note.text("outcome"), "none")
				equal(t, what, fmt.Sprint(row), fmt.Sprint(before))
				continue
			}
			equal(t, what, note.text("outcome"), "joined")
			eligibleAt := before["eligible_at"]
			if eligibleAt == nil && b.beside.eligible {
				eligibleAt = stamp(time1)
			}
			f.wants(what, row, before.with(object{"eligible_at": eligibleAt, "fallback_facts_json": row["fallback_facts_json"]}))
			f.wants(what, f.storedFacts(row), object{
				"cause": a.alone.made.cause, "observedState": b.beside.observed, "reason": "two", "handoff": b.beside.handoff,
			})
		}
	}
}

// The intents of one run: every pair of causes, stored by hand.
func TestSecondCauseOfARunIsPendingBesideTheFirst(t *testing.T) {
	for _, first := range core.Causes {
		for _, second := range core.Causes {
			f := open(t)
			id := f.owe(object{"cause": string(first)})
			request := owed(object{"cause": string(second), "nodeId": "step"})
			err := f.fails(ensure, request, core.CodeIntentPending)
			f.wants(string(first), object(err.Details), object{"intentId": id, "cause": string(first)})
			f.ok(forRun, claimFor("run", "t"))
			f.ok(resolveOp, resolveTurn(id, "t", "fallback"))
			f.ok(ensure, request)
			equal(t, "intents", len(f.intents()), 2)
		}
	}
}

// What an event does not say of the turn stands.
func TestJoinedTurnForgetsItsStep(t *testing.T) {
	f := turnRun(t, "running")
	f.oweFirst()
	f.noteAt(noteCase{kind: "claimLost", state: "running", given: noStep.with(object{"nodeId": nil})}, "")
	f.wants("facts", f.storedFacts(f.onlyIntent()), object{"nodeId": "first", "attemptId": "0"})
	f.noteAt(noteCase{kind: "failed", state: "failed", given: object{"attemptId": nil}}, "why")
	f.wants("facts", f.storedFacts(f.onlyIntent()), object{"nodeId": "step", "attemptId": nil, "reason": "why"})
	f.wants("identity", f.onlyIntent(), object{"node_id": "first", "attempt_id": "0"})
}

// A claim that delivers while the run ends goes on.
func TestEndTakesTheClaimOfADelivery(t *testing.T) {
	f := turnRun(t, "running")
	f.oweFirst()
	f.ok(forRun, claimFor("run", "t"))
	f.at(time1)
	f.ok("finishRunningRun", failRun("run_failed", atStep))
	f.wants("row", f.onlyIntent(), object{"delivery_claim_token": "t", "delivery_claim_expires_at": millis(lease), "eligible_at": stamp(time1)})
	f.ok(resolveOp, resolveTurn(firstTurn.intentID(), "t", "workflowPrompt"))
}

// Turns of other runs and sessions are not this run's.
func TestEventJoinsTheTurnOfAnother(t *testing.T) {
	f := turnRun(t, "running")
	f.owe(object{"runId": "run2"})
	f.owe(object{"targetSessionId": "other"})
	before := f.intents()
	f.ok("noteTurnEvent", noteOf("agentCancel", nil))
	f.ok("cancelPreparedRun", cancelRun("agent", atStep))
	after := f.intents()
	equal(t, "turns", len(after), 3)
	equal(t, "others", fmt.Sprint(after[:2]), fmt.Sprint(before))
	f.wants("own", after[2], object{"intent_id": ofAgent.intentID(), "eligible_at": stamp(0)})
}
