package core_test

import (
	"fmt"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// aftermath is a way in which the end of a run is told, after an abort.
type aftermath struct {
	name     string
	state    string // of the run when it is told; "" is told by the op that ends it
	op       string
	request  object
	observed string
}

// aftermaths tell of the end of the run "run"; event is what is known of its step.
func aftermaths(event object) []aftermath {
	note := func(kind string, more object) object {
		return object{"runId": "run", "kind": kind}.with(event).with(more)
	}
	return []aftermath{
		{"failed", "failed", "noteTurnEvent", note("failed", nil), "failed"},
		{"timedOutTerminal", "failed", "noteTurnEvent", note("timedOutTerminal", nil), "timed_out"},
		{"cancelledTerminal", "cancelled", "noteTurnEvent", note("cancelledTerminal", byAgent), "cancelled"},
		{"finish", "", "finishRunningRun", failRun("run_failed", event), "failed"},
		{"finish by timeout", "", "finishRunningRun", failRun("timed_out", event), "timed_out"},
		{"cancel", "", "cancelPreparedRun", cancelRun("agent", event), "cancelled"},
	}
}

// tells brings the run into the state and tells of its end.
func (f *fixture) tells(a aftermath) object {
	f.Helper()
	if a.state != "" {
		f.exec("UPDATE workflow_run_queue SET status = ? WHERE run_id = 'run'", a.state)
	}
	return f.ok(a.op, a.request)
}

// The end of a run whose step was aborted moves the abort's turn on.
func TestTerminalHandlingMakesASecondTurn(t *testing.T) {
	for _, abort := range aborts {
		for _, after := range aftermaths(atStep) {
			what := abort.kind + ", then " + after.name
			f := turnRun(t, "running")
			f.ok("noteTurnEvent", noteOf(abort.kind, object{"recoveryExpected": true}))
			first := f.onlyIntent()
			f.at(time1)
			f.tells(after)
			f.wants(what, f.onlyIntent(), first.with(object{"eligible_at": stamp(time1), "fallback_facts_json": f.onlyIntent()["fallback_facts_json"]}))
			f.wants(what, f.storedFacts(f.onlyIntent()), object{"cause": abort.cause, "observedState": after.observed, "handoff": false, "nodeId": "step"})
		}
	}
}

// Its turn was delivered already: the same interruption owes no second one.
func TestDeliveredAbortIsToldAgain(t *testing.T) {
	for _, abort := range aborts {
		for _, event := range []object{atStep, atStep.with(object{"abortCause": abort.cause}), atStep.with(object{"abortCause": "timedOut"})} {
			for _, after := range aftermaths(event) {
				what := fmt.Sprint(abort.kind, ", then ", after.name, " with ", event)
				f := turnRun(t, "running")
				f.ok("noteTurnEvent", noteOf(abort.kind, nil))
				f.ok(forRun, claimFor("run", "t"))
				f.ok(resolveOp, resolveTurn(abort.source.intentID(), "t", "workflowPrompt"))
				delivered := f.onlyIntent()
				f.at(time1)
				if answer := f.tells(after); after.op == "noteTurnEvent" {
					f.wants(what, answer, object{"outcome": "known"})
					f.wants(what, object(answer["intent"].(map[string]any)), object{"intentId": abort.source.intentID(), "resolution": "workflowPrompt"})
				}
				equal(t, what, fmt.Sprint(f.onlyIntent()), fmt.Sprint(delivered))
			}
		}
	}
}

// Another attempt, or another step, is another interruption.
func TestLaterInterruptionIsTakenForTheFirst(t *testing.T) {
	for _, abort := range aborts {
		for _, event := range []object{{"nodeId": "step", "attemptId": "2"}, {"nodeId": "step2", "attemptId": "1"}, {"nodeId": "step"}} {
			for _, after := range aftermaths(event) {
				f := turnRun(t, "running")
				f.ok("noteTurnEvent", noteOf(abort.kind, nil))
				f.ok(forRun, claimFor("run", "t"))
				f.ok(resolveOp, resolveTurn(abort.source.intentID(), "t", "workflowPrompt"))
				f.at(time1)
				f.tells(after)
				rows := f.intents()
				if len(rows) != 2 || rows[1]["eligible_at"] != stamp(time1) || rows[1]["resolved_at"] != nil {
					t.Errorf("%s, then %s of %v: have %v", abort.kind, after.name, event, rows)
				}
			}
		}
		// Each kind of interruption of one attempt is its own event.
		f := turnRun(t, "running")
		for i, other := range aborts {
			f.ok("noteTurnEvent", noteOf(other.kind, nil))
			f.ok(forRun, claimFor("run", "t"))
			f.ok(resolveOp, resolveTurn(other.source.intentID(), "t", "workflowPrompt"))
			equal(t, "turns", len(f.intents()), i+1)
		}
	}
}

// The abort's store failed: the end of the run stores the abort's own turn.
func TestAbortThatWasNotStoredIsLost(t *testing.T) {
	for _, abort := range aborts {
		for _, after := range aftermaths(atStep.with(object{"abortCause": abort.cause})) {
			what := abort.kind + " told by " + after.name
			f := turnRun(t, "running")
			f.at(time1)
			f.tells(after)
			f.stands(what, turnEffect{"created", abort.source, true, after.observed, false}, nil, stamp(time1))
			// The abort's retry meets it, and a second end of it too.
			f.exec("UPDATE workflow_run_queue SET status = 'running' WHERE run_id = 'run'")
			note := f.ok("noteTurnEvent", noteOf(abort.kind, nil))
			equal(t, what, note.text("outcome"), "joined")
			f.wants(what, f.onlyIntent(), object{"intent_id": abort.source.intentID(), "eligible_at": stamp(time1)})
		}
	}
}

// Which step was aborted is not known, or the run never got to one: the turn is that
// of the end.
func TestAbortCauseWithoutAStep(t *testing.T) {
	cause := object{"abortCause": "claimLost"}
	f := turnRun(t, "running")
	f.ok("finishRunningRun", failRun("run_failed", cause))
	f.wants("finish", f.onlyIntent(), object{"intent_id": ofFailure.intentID(), "cause": "failed"})

	f = turnRun(t, "running")
	f.ok("finishRunningRun", failRun("run_failed", atLaunch.with(cause)))
	f.wants("crash", f.onlyIntent(), object{"intent_id": ofCrash.intentID(), "cause": "failed", "node_id": "$launch", "attempt_id": nil})

	f = turnRun(t, "starting")
	f.ok("failPreparedRun", failLaunch(atStep.with(cause)))
	f.wants("launch", f.onlyIntent(), object{"intent_id": ofLaunch.intentID(), "cause": "launchFailed", "node_id": "$launch", "attempt_id": nil})

	for _, bad := range []any{"failed", "launchFailed", "agentCancel", "", 1} {
		f.refusesFact("finishRunningRun", failRun("run_failed", object{"abortCause": bad}), "turnEvent.abortCause")
	}
}

// A second claim loss of one attempt is the same event.
func TestSecondClaimLossOwesASecondTurn(t *testing.T) {
	f := turnRun(t, "running")
	f.ok("noteTurnEvent", noteOf("claimLost", nil))
	equal(t, "pending", f.ok("noteTurnEvent", noteOf("claimLost", object{"reason": "again"})).text("outcome"), "joined")
	f.ok(forRun, claimFor("run", "t"))
	f.ok(resolveOp, resolveTurn(ofClaimLoss.intentID(), "t", "workflowPrompt"))
	equal(t, "delivered", f.ok("noteTurnEvent", noteOf("claimLost", object{"reason": "again"})).text("outcome"), "known")
	f.onlyIntent()
	equal(t, "next attempt", f.ok("noteTurnEvent", noteOf("claimLost", object{"attemptId": "2"})).text("outcome"), "created")
}

// The new owner's prompt resolves the turn of a claim that was transferred; a
// terminal outcome proven later makes it eligible.
func TestTransferredClaimLosesItsTurn(t *testing.T) {
	for _, prompted := range []bool{true, false} {
		f := turnRun(t, "running")
		f.ok("noteTurnEvent", noteOf("claimLost", nil))
		f.at(lease)
		f.ok("takeOverExpiredRun", claim("run", "own", "next"))
		f.fails("finishRunningRun", failRun("run_failed", atStep), core.CodeClaimLost)
		equal(t, "no fallback", f.due("t", 1), "")
		if prompted {
			equal(t, "claimed", f.ok(forRun, claimFor("run", "new")).text("intentId"), ofClaimLoss.intentID())
			f.ok(resolveOp, resolveTurn(ofClaimLoss.intentID(), "new", "workflowPrompt"))
			continue
		}
		f.ok("finishRunningRun", failRun("run_failed", object{"nodeId": "later", "attemptId": "1"}).with(object{"claimToken": "next"}))
		f.wants("turn", f.onlyIntent(), object{"intent_id": ofClaimLoss.intentID(), "eligible_at": stamp(lease)})
		f.wants("facts", f.storedFacts(f.onlyIntent()), object{"observedState": "failed", "handoff": false, "nodeId": "later", "cause": "claimLost"})
		equal(t, "fallback", f.due("t", 1), ofClaimLoss.intentID())
	}
}
