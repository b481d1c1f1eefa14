package core_test

import (
	"fmt"
	"testing"
)

// noteOf tells of an event of the run "run", whose step "step" is in its first
// attempt.
func noteOf(kind string, more object) object {
	return object{"runId": "run", "kind": kind, "nodeId": "step", "attemptId": "1"}.with(more)
}

// The turns of the policy, by what made them.
var (
	ofAgent      = turnSource{"own", "run", "agent-step-abort", "step", "1", "agentCancelled"}
	ofTimeout    = turnSource{"own", "run", "agent-step-abort", "step", "1", "timedOut"}
	ofController = turnSource{"own", "run", "agent-step-abort", "step", "1", "controllerInterrupted"}
	ofClaimLoss  = turnSource{"own", "run", "agent-step-abort", "step", "1", "claimLost"}
	ofFailure    = turnSource{"own", "run", "terminal", "$terminal", "", "failed"}
	ofTerminal   = turnSource{"own", "run", "terminal", "$terminal", "", "timedOut"}
	ofCrash      = turnSource{"own", "run", "queued-launch", "$launch", "", "failed"}
	ofLaunch     = turnSource{"own", "run", "queued-launch", "$launch", "", "launchFailed"}
	ofNothing    = turnSource{}
)

// aborts are the kinds that stop a step, and the turn that each makes.
var aborts = []struct {
	kind, cause string
	source      turnSource
}{
	{"agentCancel", "agentCancelled", ofAgent},
	{"stepTimeout", "timedOut", ofTimeout},
	{"controllerInterrupt", "controllerInterrupted", ofController},
	{"claimLost", "claimLost", ofClaimLoss},
}

// turnEffect is what an event does to the owed turn of its run.
type turnEffect struct {
	outcome  string // created, joined, known or none
	made     turnSource
	eligible bool
	observed string
	handoff  bool
}

// Shorthands of the policy's table.
func creates(source turnSource, eligible bool, observed string) turnEffect {
	return turnEffect{"created", source, eligible, observed, source == ofClaimLoss}
}

func joins(eligible bool, observed string) turnEffect {
	return turnEffect{"joined", ofNothing, eligible, observed, observed == "handedOff"}
}

func (e turnEffect) handedOff() turnEffect {
	e.handoff = true
	return e
}

var noTurn = turnEffect{outcome: "none"}

// turnRun plants the run "run" of the session "own" in a state.
func turnRun(t testing.TB, state string) *fixture {
	t.Helper()
	f := openTurns(t)
	f.plant(object{"run_id": "run", "status": state, "origin_session_id": "own", "claim_token": "tok", "claim_expires_at": epoch.Add(lease).UnixMilli()})
	return f
}

// firstTurn is a pending turn that an event before made, of another attempt.
var firstTurn = turnSource{"own", "run", "agent-step-abort", "first", "0", "claimLost"}

func (f *fixture) oweFirst() object {
	f.Helper()
	f.owe(object{
		"source": firstTurn.source, "nodeId": firstTurn.node, "attemptId": firstTurn.attempt, "cause": firstTurn.cause,
		"fallbackFacts": turnFacts(object{"cause": "claimLost", "observedState": "handedOff", "handoff": true, "reason": "before", "nodeId": "first", "attemptId": "0"}),
	})
	return f.onlyIntent()
}

// stands compares what is stored with an effect at a time; before is the turn that
// was pending, nil where none was.
func (f *fixture) stands(what string, e turnEffect, before object, at string) object {
	f.Helper()
	if before == nil && e.outcome == "none" {
		f.noIntent()
		return nil
	}
	row := f.onlyIntent()
	if e.outcome == "none" {
		if fmt.Sprint(row) != fmt.Sprint(before) {
			f.Errorf("%s: the pending turn changed to %v", what, row)
		}
		return row
	}
	made, eligibleAt := e.made, any(nil)
	if e.eligible {
		eligibleAt = at
	}
	if before != nil {
		made = firstTurn
		f.wants(what, row, before.with(object{"eligible_at": eligibleAt, "fallback_facts_json": row["fallback_facts_json"]}))
	}
	f.wants(what, row, object{
		"intent_id": made.intentID(), "source_event_id": made.eventID(), "run_id": "run", "workflow_ref": "flow", "target_session_id": "own",
		"cause": made.cause, "node_id": orNil(made.node), "attempt_id": orNil(made.attempt), "eligible_at": eligibleAt,
		"resolved_at": nil, "resolution": nil, "delivery_claim_token": nil,
	})
	if before == nil {
		f.wants(what, row, object{"requested_at": at})
	}
	f.wants(what, f.storedFacts(row), object{
		"schema": "pi-workflows.deferred-turn-facts.v1", "workflowName": "flow", "runId": "run", "cause": made.cause,
		"observedState": e.observed, "handoff": e.handoff,
	})
	return row
}

func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}
