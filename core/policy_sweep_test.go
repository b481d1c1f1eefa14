package core_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// sweptRun is a run that ended with a pending turn, and what a sweep makes of it.
type sweptRun struct {
	status, code string
	event        string // payload of its last event; "" is none
	eligible     bool
	observed     string
}

var sweptRuns = map[string]sweptRun{
	"failed":          {"failed", "run_failed", `{}`, true, "failed"},
	"interrupted":     {"failed", "interrupted", ``, true, "failed"},
	"another code":    {"failed", "boom", ``, true, "failed"},
	"no code":         {"failed", "", ``, true, "failed"},
	"timed out":       {"failed", "timed_out", ``, true, "timed_out"},
	"launch failed":   {"failed", "source_changed", ``, true, "failedToStart"},
	"activation":      {"failed", "activation_failed", `{}`, true, "failedToStart"},
	"agent":           {"cancelled", "", `{"from":"running","origin":"agent"}`, true, "cancelled"},
	"user":            {"cancelled", "", `{"from":"running","origin":"user"}`, false, ""},
	"nobody":          {"cancelled", "", `{"from":"running"}`, false, ""},
	"no feed":         {"cancelled", "", ``, false, ""},
	"a user's agent":  {"cancelled", "", `{"note":"\"origin\":\"agent\"","origin":"user"}`, false, ""},
	"done":            {"done", "", `{"from":"running"}`, true, "completed"},
	"done, no feed":   {"done", "", ``, true, "completed"},
	"presented":       {"done", "", `{"from":"running","presentationExpected":true}`, false, ""},
	"not presented":   {"done", "", `{"from":"running","presentationExpected":false}`, true, "completed"},
	"queued":          {"queued", "", ``, false, ""},
	"starting":        {"starting", "", `{}`, false, ""},
	"running":         {"running", "", `{}`, false, ""},
	"parked":          {"parked", "", `{"from":"running"}`, false, ""},
	"parked by agent": {"parked", "", `{"origin":"agent"}`, false, ""},
}

// plantSwept stores a run that ended with a turn that was not settled.
func (f *fixture) plantSwept(id, session string, r sweptRun) {
	f.Helper()
	f.plant(object{"run_id": id, "status": r.status, "error_code": orNil(r.code), "error_message": "It ended."})
	if r.event != "" {
		f.insert("run_events", object{"recorded_at": stamp(0), "run_id": id, "workflow_ref": "flow", "type": r.status, "payload_json": r.event})
	}
	f.plantTurn(object{
		"intent_id": "i-" + id, "run_id": id, "target_session_id": session, "cause": "claimLost",
		"fallback_facts_json": string(compact(f, turnFacts(object{"runId": id, "cause": "claimLost", "observedState": "handedOff", "handoff": true, "reason": "before"}))),
	})
}

func TestSweepSettlesOtherThanThePolicy(t *testing.T) {
	for name, r := range sweptRuns {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			f.plantSwept("run", "own", r)
			before := f.onlyIntent()
			f.at(time1)
			swept := f.list("sweepTurnIntents", object{"limit": 10})
			row := f.onlyIntent()
			if !r.eligible {
				equal(t, "swept", turnIDs(swept), "")
				equal(t, "row", fmt.Sprint(row), fmt.Sprint(before))
				return
			}
			equal(t, "swept", turnIDs(swept), "i-run")
			f.wants("row", row, before.with(object{"eligible_at": stamp(time1), "fallback_facts_json": row["fallback_facts_json"]}))
			f.wants("answer", swept[0], object{"eligibleAt": stamp(time1), "fallbackFacts": map[string]any(f.storedFacts(row))})
			f.wants("facts", f.storedFacts(row), object{"observedState": r.observed, "handoff": false, "cause": "claimLost", "reason": "It ended."})
			equal(t, "again", turnIDs(f.list("sweepTurnIntents", object{"limit": 10})), "")
			equal(t, "due", f.due("t", 1), "i-run")
		})
	}
}

// The feed that counts is the run's own, and its event of that kind.
func TestSweepReadsTheFeedOfAnother(t *testing.T) {
	record := func(f *fixture, run, kind, payload string) {
		f.insert("run_events", object{"recorded_at": stamp(0), "run_id": run, "workflow_ref": "flow", "type": kind, "payload_json": payload})
	}
	f := open(t)
	f.plantSwept("cancelled", "own", sweptRuns["nobody"])
	record(f, "other", "cancelled", `{"origin":"agent"}`)
	record(f, "cancelled", "claim_lost", `{"origin":"agent"}`)
	equal(t, "swept", turnIDs(f.list("sweepTurnIntents", object{"limit": 10})), "")
	f.plantSwept("goes on", "own", sweptRuns["running"])
	record(f, "goes on", "cancelled", `{"origin":"agent"}`)
	equal(t, "swept", turnIDs(f.list("sweepTurnIntents", object{"limit": 10})), "")
	f.plantSwept("done", "own", sweptRuns["done"])
	record(f, "other", "done", `{"presentationExpected":true}`)
	record(f, "done", "parked", `{"presentationExpected":true}`)
	equal(t, "swept", turnIDs(f.list("sweepTurnIntents", object{"limit": 10})), "i-done")
}

// A sweep makes no turn, and touches none that is eligible or delivered.
func TestSweepMakesATurn(t *testing.T) {
	f := open(t)
	for i, status := range gridStates {
		f.plant(object{"run_id": fmt.Sprint("r", i), "status": status, "origin_session_id": fmt.Sprint("s", i), "error_code": "run_failed"})
	}
	f.plant(object{"run_id": "due", "status": "failed"})
	f.oweOf("due", "own", true)
	f.plant(object{"run_id": "told", "status": "failed"})
	f.oweOf("told", "own", false)
	f.ok(forRun, claimFor("told", "t"))
	f.ok(resolveOp, resolveTurn("i-told", "t", "presentation"))
	f.oweOf("gone", "own", false) // its run is not stored
	before := strings.Join(f.dump(), "\n")
	f.at(time1)
	equal(t, "swept", string(f.answer("sweepTurnIntents", object{"limit": 100})), "[]")
	equal(t, "store", strings.Join(f.dump(), "\n"), before)
}

// A sweep is of one session where one is given, bounded, and oldest first.
func TestSweepHasNoBounds(t *testing.T) {
	f := open(t)
	for i, session := range []string{"own", "other", "own", "own", "other"} {
		f.plantSwept(fmt.Sprint("r", 5-i), session, sweptRuns["failed"])
	}
	sweep := func(request object) string { return turnIDs(f.list("sweepTurnIntents", request)) }
	equal(t, "of nobody", sweep(object{"limit": 100, "sessionId": "nobody"}), "")
	equal(t, "one of a session", sweep(object{"limit": 1, "sessionId": "other"}), "i-r4")
	equal(t, "two", sweep(object{"limit": 2}), "i-r5 i-r3")
	equal(t, "the rest of a session", sweep(object{"limit": 100, "sessionId": "own"}), "i-r2")
	equal(t, "the rest", sweep(object{"limit": 100}), "i-r1")
	equal(t, "nothing", sweep(object{"limit": 100}), "")
}

// A sweep is one commit.
func TestSweepStopsHalfway(t *testing.T) {
	f := open(t)
	for i := range 3 {
		f.plantSwept(fmt.Sprint("r", i), "own", sweptRuns["failed"])
	}
	f.exec("CREATE TRIGGER refuse BEFORE UPDATE ON workflow_turn_intents WHEN old.run_id = 'r2' BEGIN SELECT RAISE(ABORT, 'refused'); END")
	f.fails("sweepTurnIntents", object{"limit": 100}, core.CodeStoreUnavailable)
}

// What our own ops leave in the feed is what a sweep reads.
func TestSweepDoesNotReadOurFeed(t *testing.T) {
	for _, c := range []struct {
		request object
		op      string
		swept   string
	}{
		{cancelRun("agent", nil), "cancelPreparedRun", "i"},
		{cancelRun("user", nil), "cancelPreparedRun", ""},
		{cancelRun(nil, nil), "cancelPreparedRun", ""},
		{finishRun(nil), "finishRunningRun", "i"},
		{finishRun(awaited), "finishRunningRun", ""},
		{failRun("run_failed", nil), "finishRunningRun", "i"},
	} {
		f := openTurns(t)
		f.plant(object{"run_id": "run", "status": "running", "claim_token": "tok", "claim_expires_at": epoch.Add(lease).UnixMilli()})
		f.ok(c.op, c.request)
		f.owe(object{"intentId": "i"}) // stored late, by a host that was slower
		equal(t, fmt.Sprint(c.request), turnIDs(f.list("sweepTurnIntents", object{"limit": 1})), c.swept)
	}
}
