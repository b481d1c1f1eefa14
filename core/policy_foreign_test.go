package core_test

import (
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// A run of another host has a name that is no text. Guard: workflow_turn_intents.sql
// IntentListUnsettled leaves it out.
func TestSweepStopsAtARunWithoutAName(t *testing.T) {
	f := open(t)
	f.plant(object{"run_id": []byte("odd"), "status": "failed"})
	f.plantTurn(object{"intent_id": "odd", "run_id": []byte("odd")})
	f.plantSwept("run", "own", sweptRuns["failed"])
	equal(t, "swept", turnIDs(f.list("sweepTurnIntents", object{"limit": 10})), "i-run")
}

// A row of another host is pending for the run, and has no name. Guard: obligation.go owe
// records that no turn could be stored.
func TestRowOfAnotherHostHoldsTheEndOfARunBack(t *testing.T) {
	for name, row := range map[string]object{
		"pending, null":       {"intent_id": nil},
		"pending, empty":      {"intent_id": ""},
		"pending, of no text": {"intent_id": []byte{1}},
	} {
		t.Run(name, func(t *testing.T) {
			f := turnRun(t, "running")
			f.plantTurn(row)
			before := f.quoted()
			f.ok("finishRunningRun", failRun("run_failed", nil))
			equal(t, "state", f.row("run").text("status"), "failed")
			equal(t, "row", f.quoted(), before)
			if feed := f.feed("run"); !strings.Contains(feed, "turn_intent_failed") {
				t.Errorf("the feed is %s", feed)
			}
		})
	}
}

// A row of another host has the very id of the turn that is owed. Guard: obligation.go
// known compares run and session.
func TestIDThatAnotherHostTookIsTakenForATurn(t *testing.T) {
	f := turnRun(t, "running")
	f.plantTurn(object{
		"intent_id": core.TurnSource{SessionID: "own", RunID: "run", Source: "terminal", NodeID: "$terminal", Cause: "failed"}.IntentID(),
		"run_id":    "other", "resolved_at": stamp(0), "resolution": "fallback", "resolution_message_id": "m",
	})
	f.ok("finishRunningRun", failRun("run_failed", nil))
	equal(t, "state", f.row("run").text("status"), "failed")
	if feed := f.feed("run"); !strings.Contains(feed, "turn_intent_failed") {
		t.Errorf("the feed is %s", feed)
	}
}

// The user was faster, as the feed says, and another host tells of the agent's
// cancellation. Guard: obligation.go note takes the origin of the feed.
func TestCancellationOfTheUserBecomesTheAgents(t *testing.T) {
	told := noteOf("cancelledTerminal", byAgent)
	for name, event := range map[string]object{"alone": nil, "after an abort": {"abortCause": "agentCancelled"}} {
		f := turnRun(t, "running")
		f.ok("cancelPreparedRun", cancelRun("user", nil))
		equal(t, name, f.ok("noteTurnEvent", told.with(event)).text("outcome"), "none")
		f.noIntent()
	}

	f := turnRun(t, "running")
	f.ok("noteTurnEvent", noteOf("agentCancel", nil))
	f.ok("cancelPreparedRun", cancelRun("user", nil))
	f.ok("noteTurnEvent", told.with(object{"abortCause": "agentCancelled"}))
	f.list("sweepTurnIntents", object{"limit": 10})
	f.wants("the turn of the abort", f.onlyIntent(), object{"eligible_at": nil})
}

// Guard: obligation.go note takes the input of a run out of a reason.
func TestInputOfARunLeavesInAReason(t *testing.T) {
	for _, kind := range []string{"stepTimeout", "failed"} {
		f := turnRun(t, map[string]string{"stepTimeout": "running", "failed": "failed"}[kind])
		f.exec(`UPDATE workflow_run_queue SET input_json = '{"key":"words of the user"}'`)
		f.ok("noteTurnEvent", noteOf(kind, object{"reason": "cannot use words of the user here"}))
		f.wants(kind, f.storedFacts(f.onlyIntent()), object{"reason": "cannot use [input] here"})
	}
}
