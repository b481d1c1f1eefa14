package core_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
)

// endCase is an op that ends a run of a state, or sets it aside, and what it does to
// the owed turn.
type endCase struct {
	op, from string
	request  object
	to       string
	alone    turnEffect
	beside   turnEffect
}

var (
	atStep   = object{"nodeId": "step", "attemptId": "1"}
	atLaunch = object{"nodeId": "$launch"}
	awaited  = atStep.with(object{"presentationExpected": true})
	quietly  = object{"held": true, "closing": true}
)

func failLaunch(event object) object {
	return held("run", "tok").with(object{"errorCode": "input_invalid", "errorMessage": "why", "turnEvent": event})
}

func failRun(code string, event object) object {
	return held("run", "tok").with(object{"status": "failed", "errorCode": code, "errorMessage": "why", "turnEvent": event})
}

func finishRun(event object) object {
	return held("run", "tok").with(object{"status": "done", "turnEvent": event})
}

func cancelRun(origin any, event object) object {
	return object{"runId": "run", "origin": origin, "turnEvent": event}
}

func parkRun(paused bool, event object) object {
	return held("run", "tok").with(object{"paused": paused, "turnEvent": event})
}

func recoverRun(finding, event object) object {
	return recovery("run", "own", finding).with(object{"turnEvent": event})
}

var launchFails, runFails, runTimesOut, crashes = creates(ofLaunch, true, "failedToStart"), creates(ofFailure, true, "failed"),
	creates(ofTerminal, true, "timed_out"), creates(ofCrash, true, "failed")

var endPolicy = []endCase{
	{"failPreparedRun", "starting", failLaunch(nil), "failed", launchFails, joins(true, "failedToStart")},
	{"failPreparedRun", "starting", failLaunch(quietly), "failed", launchFails, joins(true, "failedToStart")},
	{"failPreparedRun", "starting", failLaunch(atStep), "failed", launchFails, joins(true, "failedToStart")},
	{"failPreparedRun", "starting", failLaunch(atLaunch), "failed", launchFails, joins(true, "failedToStart")},

	{"finishRunningRun", "running", failRun("run_failed", nil), "failed", runFails, joins(true, "failed")},
	{"finishRunningRun", "running", failRun("interrupted", atStep), "failed", runFails, joins(true, "failed")},
	{"finishRunningRun", "running", failRun("run_failed", atStep.with(quietly)), "failed", runFails, joins(true, "failed")},
	{"finishRunningRun", "running", failRun("run_failed", awaited.with(expectsPrompt)), "failed", runFails, joins(true, "failed")},
	{"finishRunningRun", "running", failRun("timed_out", atStep), "failed", runTimesOut, joins(true, "timed_out")},
	{"finishRunningRun", "running", failRun("run_failed", atLaunch), "failed", crashes, joins(true, "failed")},
	{"finishRunningRun", "running", failRun("timed_out", atLaunch.with(quietly)), "failed", crashes, joins(true, "failed")},
	{"finishRunningRun", "running", finishRun(nil), "done", noTurn, joins(true, "completed")},
	{"finishRunningRun", "running", finishRun(atLaunch), "done", noTurn, joins(true, "completed")},
	{"finishRunningRun", "running", finishRun(awaited), "done", noTurn, joins(false, "completed")},

	{"cancelPreparedRun", "running", cancelRun("agent", atStep), "cancelled", creates(ofAgent, true, "cancelled"), joins(true, "cancelled")},
	{"cancelPreparedRun", "running", cancelRun("agent", nil), "cancelled", noTurn, joins(true, "cancelled")},
	{"cancelPreparedRun", "running", cancelRun("agent", atLaunch), "cancelled", noTurn, joins(true, "cancelled")},
	{"cancelPreparedRun", "running", cancelRun("agent", atStep.with(heldNow)), "cancelled", noTurn, joins(true, "cancelled")},
	{"cancelPreparedRun", "running", cancelRun("agent", atStep.with(closingNow)), "cancelled", noTurn, joins(true, "cancelled")},
	{"cancelPreparedRun", "running", cancelRun("user", atStep), "cancelled", noTurn, joins(false, "cancelled")},
	{"cancelPreparedRun", "running", cancelRun("user", atStep.with(object{"abortCause": "agentCancelled"})), "cancelled", noTurn, joins(false, "cancelled")},
	{"cancelPreparedRun", "running", cancelRun(nil, atStep), "cancelled", noTurn, joins(false, "cancelled")},
	{"cancelPreparedRun", "queued", cancelRun("agent", nil), "cancelled", noTurn, joins(true, "cancelled")},
	{"cancelPreparedRun", "starting", cancelRun("user", nil), "cancelled", noTurn, joins(false, "cancelled")},
	{"cancelPreparedRun", "parked", cancelRun("user", nil), "cancelled", noTurn, joins(false, "cancelled")},

	{"parkRunningRun", "running", parkRun(false, nil), "parked", noTurn, joins(true, "waiting")},
	{"parkRunningRun", "running", parkRun(false, awaited), "parked", noTurn, joins(false, "waiting")},
	{"parkRunningRun", "running", parkRun(true, nil), "parked", noTurn, noTurn},
	{"parkRunningRun", "running", parkRun(true, awaited), "parked", noTurn, noTurn},
	{"parkRunningRun", "starting", parkRun(false, nil), "parked", noTurn, joins(true, "waiting")},
	{"parkRunningRun", "starting", parkRun(true, nil), "parked", noTurn, noTurn},

	{"recover startFailed", "lapsed", recoverRun(object{"kind": "startFailed", "code": "workflow_invalid", "message": "why"}, nil), "failed", launchFails, joins(true, "failedToStart")},
	{"recover startFailed", "starting", recoverRun(object{"kind": "startFailed", "code": "workflow_invalid", "message": "why"}, quietly), "failed", launchFails, joins(true, "failedToStart")},
	{"recover unreadable", "lapsed", recoverRun(object{"kind": "unreadable"}, nil), "failed", launchFails, joins(true, "failedToStart")},
	{"recover sourceChanged", "lapsed", recoverRun(object{"kind": "sourceChanged"}, nil), "failed", launchFails, joins(true, "failedToStart")},
	{"recover terminal", "lapsed", recoverRun(object{"kind": "terminal", "status": "failed", "message": "why"}, nil), "failed", runFails, joins(true, "failed")},
	{"recover terminal", "lapsed", recoverRun(object{"kind": "terminal", "status": "failed", "code": "interrupted"}, atStep), "failed", runFails, joins(true, "failed")},
	{"recover terminal", "lapsed", recoverRun(object{"kind": "terminal", "status": "failed", "code": "timed_out"}, nil), "failed", runTimesOut, joins(true, "timed_out")},
	{"recover terminal", "lapsed", recoverRun(object{"kind": "terminal", "status": "failed"}, atLaunch), "failed", crashes, joins(true, "failed")},
	{"recover terminal", "lapsed", recoverRun(object{"kind": "terminal", "status": "done"}, nil), "done", noTurn, joins(true, "completed")},
	{"recover terminal", "lapsed", recoverRun(object{"kind": "terminal", "status": "done"}, awaited), "done", noTurn, joins(false, "completed")},
	{"recover terminal", "lapsed", recoverRun(object{"kind": "terminal", "status": "cancelled"}, atStep), "cancelled", noTurn, joins(false, "cancelled")},
	{"recover waiting", "lapsed", recoverRun(object{"kind": "waiting"}, nil), "parked", noTurn, joins(true, "waiting")},
	{"recover waiting", "lapsed", recoverRun(object{"kind": "waiting"}, awaited), "parked", noTurn, joins(false, "waiting")},
	{"recover running", "lapsed", recoverRun(object{"kind": "running", "runnerId": "me"}, nil), "running", noTurn, noTurn},
	{"recover none", "lapsed", recoverRun(object{"kind": "none"}, nil), "queued", noTurn, noTurn},
	{"recover none", "ran", recoverRun(object{"kind": "none"}, nil), "failed", launchFails, joins(true, "failedToStart")},
	{"recover none", "three starts", recoverRun(object{"kind": "none"}, quietly), "failed", launchFails, joins(true, "failedToStart")},
}

// name is that of the op itself.
func (c endCase) name() string {
	if strings.HasPrefix(c.op, "recover") {
		return "recoverExpiredStartingRun"
	}
	return c.op
}

func (c endCase) String() string {
	return fmt.Sprint(c.op, " of a ", c.from, " run with ", c.request)
}

// planted is a store with the run before its end, of a session or of nobody.
func (c endCase) planted(t testing.TB, session any) *fixture {
	t.Helper()
	f := openTurns(t)
	state, end := c.from, millis(lease)
	feed := map[string]string{"ran": "starting running", "three starts": "starting starting starting", "starting": "starting", "lapsed": "starting"}[c.from]
	if state != "starting" && feed != "" {
		state, end = "starting", millis(time1)
	}
	f.plant(object{"run_id": "run", "status": state, "origin_session_id": session, "claim_token": "tok", "claim_expires_at": end})
	for kind := range strings.FieldsSeq(feed) {
		f.insert("run_events", object{"recorded_at": stamp(0), "run_id": "run", "workflow_ref": "flow", "type": kind, "payload_json": "{}"})
	}
	return f
}

// ends runs the op and compares its effect; it returns the run.
func (c endCase) ends(f *fixture, e turnEffect, before object) object {
	f.Helper()
	f.at(time1)
	run := f.ok(c.name(), c.request)
	equal(f, c.String(), run.text("status"), c.to)
	row := f.stands(c.String(), e, before, stamp(time1))
	if e.outcome != "none" && run["errorMessage"] != nil {
		f.wants(c.String(), f.storedFacts(row), object{"reason": run["errorMessage"]})
	}
	return run
}

func TestEndDoesNotAsThePolicyHasIt(t *testing.T) {
	for _, c := range endPolicy {
		t.Run(c.String(), func(t *testing.T) {
			f := c.planted(t, "own")
			c.ends(f, c.alone, nil)

			f = c.planted(t, "own")
			c.ends(f, c.beside, f.oweFirst())

			f = c.planted(t, nil)
			if c.name() == "recoverExpiredStartingRun" {
				c.request = c.request.without("sessionId")
			}
			c.ends(f, noTurn, nil)
		})
	}
}

// A failed launch is three rows in one commit: the run, its event and the turn.
func TestFailedLaunchIsNotThreeRows(t *testing.T) {
	for _, c := range endPolicy {
		if c.alone.made != ofLaunch {
			continue
		}
		f := c.planted(t, "own")
		before := f.dump()
		run := c.ends(f, c.alone, nil)
		changed := strings.Split(strings.TrimSpace(changes(before, f.dump())), "\n")
		if len(changed) != 4 || !strings.HasSuffix(f.feed("run"), "launch_failed") {
			t.Errorf("%v changed\n%s", c, strings.Join(changed, "\n"))
		}
		f.wants("at one instant", f.onlyIntent(), object{"requested_at": run["finishedAt"], "eligible_at": run["finishedAt"]})
		equal(t, "due at once", f.due("t", 1), ofLaunch.intentID())
	}
}

// The turn is written in the transaction that ends the run: where it cannot be
// stored, the run has not ended.
func TestRunEndsWithoutItsTurn(t *testing.T) {
	for _, c := range endPolicy {
		f := c.planted(t, "own")
		f.exec("CREATE TRIGGER refuse_new BEFORE INSERT ON workflow_turn_intents BEGIN SELECT RAISE(ABORT, 'refused'); END")
		f.at(time1)
		if c.alone.outcome == "created" {
			f.fails(c.name(), c.request, core.CodeStoreUnavailable)
		} else {
			equal(t, c.String(), f.ok(c.name(), c.request).text("status"), c.to)
		}

		f = c.planted(t, "own")
		f.oweFirst()
		f.exec("CREATE TRIGGER refuse_change BEFORE UPDATE ON workflow_turn_intents BEGIN SELECT RAISE(ABORT, 'refused'); END")
		f.at(time1)
		if c.beside.outcome == "joined" {
			f.fails(c.name(), c.request, core.CodeStoreUnavailable)
		} else {
			equal(t, c.String(), f.ok(c.name(), c.request).text("status"), c.to)
		}
	}
}

// A store that cannot take the turn of an abort takes it when the run ends.
func TestRefusedEndIsLost(t *testing.T) {
	f := turnRun(t, "running")
	f.exec("CREATE TRIGGER refuse BEFORE INSERT ON workflow_turn_intents BEGIN SELECT RAISE(ABORT, 'refused'); END")
	f.fails("noteTurnEvent", noteOf("stepTimeout", nil), core.CodeStoreUnavailable)
	f.fails("finishRunningRun", failRun("timed_out", atStep), core.CodeStoreUnavailable)
	f.exec("DROP TRIGGER refuse")
	f.ok("finishRunningRun", failRun("timed_out", atStep.with(object{"abortCause": "timedOut"})))
	f.wants("turn", f.onlyIntent(), object{"intent_id": ofTimeout.intentID(), "eligible_at": stamp(0)})
}

// An op that is refused owes nothing.
func TestRefusedEndOwesATurn(t *testing.T) {
	for _, c := range endPolicy {
		f := c.planted(t, "own")
		before := f.oweFirst()
		f.at(time1)
		request := c.request.with(nil)
		switch {
		case c.name() == "recoverExpiredStartingRun":
			request["expectedClaimToken"] = "stale"
		default:
			request["claimToken"] = "stale"
		}
		f.fails(c.name(), request, core.CodeClaimLost)
		equal(t, c.String(), fmt.Sprint(f.onlyIntent()), fmt.Sprint(before))
	}
}

// Time alone proves nothing: a lease that is over makes no turn eligible.
func TestTimeMakesATurnEligible(t *testing.T) {
	f := turnRun(t, "running")
	before := f.oweFirst()
	f.at(1000 * time.Hour)
	f.ok("takeOverExpiredRun", claim("run", "own", "next"))
	f.list("sweepTurnIntents", object{"limit": 100})
	equal(t, "due", f.due("t", 1), "")
	equal(t, "turn", fmt.Sprint(f.onlyIntent()), fmt.Sprint(before))
}
