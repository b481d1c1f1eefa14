package core_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// noteCase is one row of the policy: an event of a run in a state, and what it does
// where no turn is pending, and where one is.
type noteCase struct {
	kind, state string
	given       object
	alone       turnEffect
	beside      turnEffect
}

var (
	heldNow       = object{"held": true}
	closingNow    = object{"closing": true}
	noStep        = object{"nodeId": nil, "attemptId": nil} // no step is active
	expectsPrompt = object{"recoveryExpected": true}
	handsOff      = object{"handoff": true}
	byAgent       = object{"origin": "agent"}
	byUser        = object{"origin": "user"}
)

var notePolicy = []noteCase{
	// Interruptions make an ineligible turn for the active step.
	{"agentCancel", "running", nil, creates(ofAgent, false, "interrupted"), joins(false, "interrupted")},
	{"agentCancel", "running", byAgent, creates(ofAgent, false, "interrupted"), joins(false, "interrupted")},
	{"agentCancel", "running", expectsPrompt, creates(ofAgent, false, "interrupted"), joins(false, "interrupted")},
	{"agentCancel", "running", handsOff, creates(ofAgent, false, "interrupted"), joins(false, "interrupted")},
	{"stepTimeout", "running", handsOff.with(expectsPrompt), creates(ofTimeout, false, "interrupted"), joins(false, "interrupted")},
	{"stepTimeout", "running", expectsPrompt, creates(ofTimeout, false, "interrupted"), joins(false, "interrupted")},
	{"stepTimeout", "running", nil, creates(ofTimeout, true, "interrupted"), joins(true, "interrupted")},
	{"controllerInterrupt", "running", nil, creates(ofController, false, "interrupted"), joins(false, "interrupted")},
	{"controllerInterrupt", "running", expectsPrompt, creates(ofController, false, "interrupted"), joins(false, "interrupted")},
	{"controllerInterrupt", "running", handsOff, creates(ofController, true, "interrupted").handedOff(), joins(true, "interrupted").handedOff()},
	{"controllerInterrupt", "running", handsOff.with(expectsPrompt), creates(ofController, false, "interrupted").handedOff(), joins(false, "interrupted").handedOff()},
	{"claimLost", "running", nil, creates(ofClaimLoss, false, "handedOff"), joins(false, "handedOff")},
	{"claimLost", "running", byAgent, creates(ofClaimLoss, false, "handedOff"), joins(false, "handedOff")},
	{"claimLost", "running", handsOff, creates(ofClaimLoss, false, "handedOff"), joins(false, "handedOff")},

	// Failures are eligible at once, whoever holds the session.
	{"failed", "failed", nil, creates(ofFailure, true, "failed"), joins(true, "failed")},
	{"failed", "failed", noStep, creates(ofFailure, true, "failed"), joins(true, "failed")},
	{"failed", "failed", heldNow, creates(ofFailure, true, "failed"), joins(true, "failed")},
	{"failed", "failed", closingNow, creates(ofFailure, true, "failed"), joins(true, "failed")},
	{"failed", "failed", expectsPrompt, creates(ofFailure, true, "failed"), joins(true, "failed")},
	{"timedOutTerminal", "failed", nil, creates(ofTerminal, true, "timed_out"), joins(true, "timed_out")},
	{"timedOutTerminal", "failed", heldNow.with(closingNow), creates(ofTerminal, true, "timed_out"), joins(true, "timed_out")},
	{"failed", "failed", handsOff.with(byUser), creates(ofFailure, true, "failed"), joins(true, "failed")},
	{"timedOutTerminal", "failed", expectsPrompt, creates(ofTerminal, true, "timed_out"), joins(true, "timed_out")},
	{"crashedBeforePrompt", "failed", nil, creates(ofCrash, true, "failed"), joins(true, "failed")},
	{"crashedBeforePrompt", "failed", noStep, creates(ofCrash, true, "failed"), joins(true, "failed")},
	{"crashedBeforePrompt", "failed", heldNow.with(closingNow), creates(ofCrash, true, "failed"), joins(true, "failed")},
	{"crashedBeforePrompt", "failed", expectsPrompt, creates(ofCrash, true, "failed"), joins(true, "failed")},
	{"launchFailed", "failed", expectsPrompt, creates(ofLaunch, true, "failedToStart"), joins(true, "failedToStart")},
	{"launchFailed", "failed", nil, creates(ofLaunch, true, "failedToStart"), joins(true, "failedToStart")},
	{"launchFailed", "failed", noStep, creates(ofLaunch, true, "failedToStart"), joins(true, "failedToStart")},
	{"launchFailed", "failed", heldNow.with(closingNow), creates(ofLaunch, true, "failedToStart"), joins(true, "failedToStart")},

	// A cancellation lets the turn go where the agent asked for it.
	{"cancelledTerminal", "cancelled", byAgent, creates(ofAgent, true, "cancelled"), joins(true, "cancelled")},
	{"cancelledTerminal", "cancelled", byAgent.with(noStep), noTurn, joins(true, "cancelled")},
	{"cancelledTerminal", "cancelled", byAgent.with(atLaunch), noTurn, joins(true, "cancelled")},
	{"cancelledTerminal", "cancelled", byAgent.with(heldNow), noTurn, joins(true, "cancelled")},
	{"cancelledTerminal", "cancelled", byAgent.with(closingNow), noTurn, joins(true, "cancelled")},
	{"cancelledTerminal", "cancelled", byUser, noTurn, joins(false, "cancelled")},
	{"cancelledTerminal", "cancelled", nil, noTurn, joins(false, "cancelled")},

	// An end with a result makes none.
	{"presentationDue", "done", handsOff.with(byAgent), noTurn, joins(false, "completed")},
	{"presentationDue", "done", nil, noTurn, joins(false, "completed")},
	{"presentationDue", "parked", nil, noTurn, joins(false, "waiting")},
	{"endedQuietly", "done", byAgent, noTurn, joins(true, "completed")},
	{"endedQuietly", "done", nil, noTurn, joins(true, "completed")},
	{"endedQuietly", "parked", expectsPrompt.with(byUser), noTurn, joins(true, "waiting")},
	{"endedQuietly", "parked", nil, noTurn, joins(true, "waiting")},
	{"endedQuietly", "done", heldNow.with(closingNow), noTurn, joins(true, "completed")},

	// What the user or the closing session does starts nothing.
	{"userCancel", "cancelled", nil, noTurn, noTurn},
	{"userCancel", "running", nil, noTurn, noTurn},
	{"pause", "parked", nil, noTurn, noTurn},
	{"pause", "running", nil, noTurn, noTurn},
	{"escape", "running", nil, noTurn, noTurn},
	{"shutdown", "running", nil, noTurn, noTurn},
	{"shutdown", "starting", nil, noTurn, noTurn},
}

func TestEventDoesNotAsThePolicyHasIt(t *testing.T) {
	kinds := map[string]bool{}
	for _, c := range notePolicy {
		kinds[c.kind] = true
		what := fmt.Sprint(c.kind, " of a ", c.state, " run with ", c.given)
		t.Run(what, func(t *testing.T) {
			f := turnRun(t, c.state)
			f.at(time1)
			f.notes(what, noteOf(c.kind, c.given).with(object{"reason": "why"}), c.alone, nil)

			f = turnRun(t, c.state)
			before := f.oweFirst()
			f.at(time1)
			f.notes(what+", beside a pending one", noteOf(c.kind, c.given).with(object{"reason": "why"}), c.beside, before)
		})
	}
	for _, kind := range core.TurnKinds {
		if !kinds[string(kind)] {
			t.Errorf("the policy of the test lacks %s", kind)
		}
	}
	equal(t, "kinds", len(kinds), 15)
}

// notes tells of an event, and compares its effect.
func (f *fixture) notes(what string, request object, e turnEffect, before object) {
	f.Helper()
	note := f.ok("noteTurnEvent", request)
	equal(f, what, note.text("outcome"), e.outcome)
	row := f.stands(what, e, before, stamp(time1))
	if e.outcome == "none" {
		if note["intent"] != nil {
			f.Errorf("%s answers %v", what, note)
		}
		return
	}
	intent := object(note["intent"].(map[string]any))
	f.wants(what, intent, object{"intentId": row["intent_id"], "eligibleAt": row["eligible_at"], "fallbackFacts": map[string]any(f.storedFacts(row))})
	if _, told := intent["claimToken"]; told {
		f.Errorf("%s tells a token", what)
	}
	node, attempt := request["nodeId"], request["attemptId"]
	if node == nil {
		node, attempt = row["node_id"], row["attempt_id"]
	}
	f.wants(what, f.storedFacts(row), object{"reason": "why", "nodeId": node, "attemptId": attempt})
}

// The abort of a hold or of a closing session, and a cancel from an ordinary turn,
// strand nothing.
func TestAbortThatStrandsNothingOwesATurn(t *testing.T) {
	for _, abort := range aborts {
		for _, given := range []object{heldNow, closingNow, noStep, {"nodeId": nil}, {"nodeId": "$launch"}, heldNow.with(handsOff)} {
			f := turnRun(t, "running")
			f.notes(abort.kind, noteOf(abort.kind, given), noTurn, nil)
		}
	}
}

// A run that is not running was told of, or has no step.
func TestAbortOfARunThatIsNotRunningOwesATurn(t *testing.T) {
	for _, abort := range aborts {
		for _, state := range gridStates {
			if state != "running" {
				f := turnRun(t, state)
				f.notes(abort.kind+" "+state, noteOf(abort.kind, nil), noTurn, nil)
			}
		}
	}
}

// An outcome is told once it is durable.
func TestOutcomeIsToldTooEarly(t *testing.T) {
	states := map[string][]string{
		"failed": {"failed"}, "timedOutTerminal": {"failed"}, "crashedBeforePrompt": {"failed"}, "launchFailed": {"failed"},
		"cancelledTerminal": {"cancelled"}, "presentationDue": {"done", "parked"}, "endedQuietly": {"done", "parked"},
	}
	for kind, of := range states {
		for _, state := range gridStates {
			f := turnRun(t, state)
			if slices.Contains(of, state) {
				f.ok("noteTurnEvent", noteOf(kind, nil))
				continue
			}
			err := f.fails("noteTurnEvent", noteOf(kind, nil), core.CodeInvalidTransition)
			equal(t, "status", err.Details["status"], any(state))
		}
	}
}

// How a run failed is durable, too: what it did not die of is refused. Of a code of
// another host nothing is known.
func TestFailureIsToldThatTheRunDidNotHave(t *testing.T) {
	for code, told := range map[any]string{
		"input_invalid": "launchFailed", "source_changed": "launchFailed", "run_failed": "failed crashedBeforePrompt",
		"interrupted": "failed crashedBeforePrompt", "boom": "failed timedOutTerminal crashedBeforePrompt launchFailed",
		nil: "failed timedOutTerminal crashedBeforePrompt launchFailed",
	} {
		for _, kind := range []string{"failed", "timedOutTerminal", "crashedBeforePrompt", "launchFailed"} {
			f := turnRun(t, "failed")
			f.exec("UPDATE workflow_run_queue SET error_code = ?", code)
			if slices.Contains(strings.Fields(told), kind) {
				equal(t, fmt.Sprint(code, " ", kind), f.ok("noteTurnEvent", noteOf(kind, nil)).text("outcome"), "created")
				continue
			}
			err := f.fails("noteTurnEvent", noteOf(kind, nil), core.CodeInvalidTransition)
			f.wants(kind, object(err.Details), object{"runId": "run", "status": "failed", "errorCode": code})
		}
	}
	f := turnRun(t, "failed")
	f.exec("UPDATE workflow_run_queue SET error_code = 'timed_out'")
	f.fails("noteTurnEvent", noteOf("launchFailed", nil), core.CodeInvalidTransition)
	equal(t, "timed out", f.ok("noteTurnEvent", noteOf("timedOutTerminal", nil)).text("outcome"), "created")
}

// Whose act a cancellation was is told by its event, where there is one.
func TestFeedIsNotAskedWhoCancelled(t *testing.T) {
	for event, agents := range map[string]bool{`{"origin":"agent"}`: true, `{"origin":"user"}`: false, `{}`: false} {
		for _, told := range []object{nil, byAgent, byUser} {
			f := turnRun(t, "cancelled")
			f.insert("run_events", object{"recorded_at": stamp(0), "run_id": "run", "workflow_ref": "flow", "type": "cancelled", "payload_json": event})
			f.insert("run_events", object{"recorded_at": stamp(0), "run_id": "run2", "workflow_ref": "flow", "type": "cancelled", "payload_json": `{"origin":"agent"}`})
			e := noTurn
			if agents {
				e = creates(ofAgent, true, "cancelled")
			}
			f.at(time1)
			f.notes(event, noteOf("cancelledTerminal", told).with(object{"reason": "why"}), e, nil)
		}
	}
}

func TestEventOfARunOfNobodyOwesATurn(t *testing.T) {
	for _, c := range notePolicy {
		f := openTurns(t)
		f.plant(object{"run_id": "run", "status": c.state})
		f.notes(c.kind, noteOf(c.kind, c.given), noTurn, nil)
		f.fails("noteTurnEvent", noteOf(c.kind, c.given).with(object{"sessionId": "own"}), core.CodeNotOwner)
		f.fails("noteTurnEvent", noteOf(c.kind, c.given).with(object{"runId": "none"}), core.CodeNotFound)
	}
	f := turnRun(t, "running")
	f.fails("noteTurnEvent", noteOf("agentCancel", object{"sessionId": "other"}), core.CodeNotOwner)
	f.ok("noteTurnEvent", noteOf("agentCancel", object{"sessionId": "own"}))
}

// A host may name the source and what it saw.
func TestSourceOrStateOfTheHostIsLeftOut(t *testing.T) {
	for kind, state := range map[string]string{"claimLost": "running", "failed": "failed", "launchFailed": "failed"} {
		f := turnRun(t, state)
		f.ok("noteTurnEvent", noteOf(kind, object{"source": "of-the-host", "observedState": "as seen"}))
		row := f.onlyIntent()
		made := map[string]turnSource{"claimLost": ofClaimLoss, "failed": ofFailure, "launchFailed": ofLaunch}[kind]
		made.source = "of-the-host"
		f.wants(kind, row, object{"intent_id": made.intentID(), "source_event_id": made.eventID()})
		f.wants(kind, f.storedFacts(row), object{"observedState": "as seen"})
		f.at(time1)
		f.ok("noteTurnEvent", noteOf(kind, object{"observedState": "seen again"}))
		f.wants(kind, f.storedFacts(f.onlyIntent()), object{"observedState": "seen again"})
	}
}

// A step without an attempt is one, too.
func TestAttemptThatIsNotKnownStopsATurn(t *testing.T) {
	for _, abort := range aborts {
		f := turnRun(t, "running")
		f.ok("noteTurnEvent", noteOf(abort.kind, object{"attemptId": nil}))
		made := abort.source
		made.attempt = ""
		row := f.onlyIntent()
		f.wants(abort.kind, row, object{"intent_id": made.intentID(), "attempt_id": nil, "node_id": "step"})
		f.wants(abort.kind, f.storedFacts(row), object{"nodeId": "step", "attemptId": nil, "reason": nil})
	}
}

// Case 20, by the policy. The same event is handled again, by another process or
// after a restart, with another text: one row, the same id, the text moves on.
// Red where owe would not look for the pending turn, or known not for a resolved one.
func TestPolicyCase20HandledAgain(t *testing.T) {
	for _, c := range notePolicy {
		if c.alone.outcome != "created" {
			continue
		}
		f := turnRun(t, c.state)
		request := noteOf(c.kind, c.given)
		f.ok("noteTurnEvent", request.with(object{"reason": "one"}))
		id, requested := f.onlyIntent()["intent_id"], f.onlyIntent()["requested_at"]
		f.at(time1)
		note := f.ok("noteTurnEvent", request.with(object{"reason": "two"}))
		equal(t, c.kind, note.text("outcome"), "joined")
		f.wants(c.kind, f.onlyIntent(), object{"intent_id": id, "requested_at": requested})
		f.wants(c.kind, f.storedFacts(f.onlyIntent()), object{"reason": "two"})

		f.ok(forRun, claimFor("run", "t"))
		f.ok(resolveOp, resolveTurn(id.(string), "t", "fallback"))
		resolved := f.onlyIntent()
		note = f.ok("noteTurnEvent", request.with(object{"reason": "three"}))
		equal(t, c.kind+" again", note.text("outcome"), "known")
		f.wants(c.kind, object(note["intent"].(map[string]any)), object{"intentId": id, "resolution": "fallback"})
		equal(t, c.kind, fmt.Sprint(f.onlyIntent()), fmt.Sprint(resolved))
	}
}
