package core_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// Facts of another host that are mistyped in one field are read in the others, and
// what is stored of them again is sound.
func TestMistypedFactOfAnotherHostIsStoredAgain(t *testing.T) {
	for _, facts := range []string{`{"nodeId":[],"attemptId":{}}`, `{"nodeId":7,"attemptId":"a\nb"}`, `{"nodeId":"","attemptId":""}`} {
		f := turnRun(t, "done")
		f.plantTurn(object{"fallback_facts_json": facts, "node_id": "step", "attempt_id": "1"})
		text := core.FallbackMessage(decode[core.Intent](t, f.answer("getWorkflowTurnIntent", object{"intentId": "intent"}))).Content
		if !strings.Contains(text, "node step") {
			t.Errorf("%s: the message lacks the node: %s", facts, text)
		}
		f.ok("noteTurnEvent", object{"runId": "run", "kind": "endedQuietly"})
		f.wants(facts, f.storedFacts(f.onlyIntent()), object{"nodeId": "step"})
		f.sound(facts)
	}
}

// sound asks that the stored facts of the one intent are facts.
func (f *fixture) sound(what string) {
	f.Helper()
	row := f.onlyIntent()
	if n := len(row.text("fallback_facts_json")); n > 64<<10 {
		f.Errorf("%.40s: the facts have %d bytes", what, n)
	}
	request := object{"intentId": row["intent_id"], "fallbackFacts": map[string]any(f.storedFacts(row))}
	if _, err := f.call(eligibly, request); err != nil {
		f.Errorf("%.40s: what was stored is no sound facts: %v", what, err)
	}
}

// The facts stay within 64 KiB, and their names within 512 units, whatever another
// host stored as a name.
func TestLongNameOfAnotherHostBreaksTheBoundOfFacts(t *testing.T) {
	long := strings.Repeat("n", 100_000)
	for name, row := range map[string]object{
		"node": {"node_id": long}, "attempt": {"attempt_id": long},
		"node of the facts": {"fallback_facts_json": string(compact(t, turnFacts(object{"nodeId": long})))},
		"line":              {"node_id": "two\nlines"},
	} {
		f := turnRun(t, "done")
		f.plantTurn(row)
		f.ok("noteTurnEvent", object{"runId": "run", "kind": "endedQuietly"})
		f.sound(name)
	}
}

// A row without a name stops nobody, though its claim is the caller's own.
func TestNamelessRowStopsItsSession(t *testing.T) {
	for _, id := range []any{nil, "", []byte("blob")} {
		f := open(t)
		own := object{"delivery_claim_token": "t", "delivery_claim_expires_at": epoch.Add(lease).UnixMilli()}
		f.plantTurn(own.with(object{"intent_id": id, "eligible_at": stamp(0)}))
		f.oweOf("sound", "own", true)
		equal(t, "fallback", turnIDs(f.list(forFallback, claimDue("t", 10))), "i-sound")

		f.plantReport(own.with(object{"notification_id": id}))
		f.reported(2, nil)
		equal(t, "reports", f.news("t", 10), "2")
	}
}

// One row that is odd in what it counts does not stop the reports of its session.
func TestOddIndexStopsTheReports(t *testing.T) {
	for _, index := range []any{"abc", 1.5} {
		f := open(t)
		f.plantReport(object{"notification_index": index})
		f.reported(2, nil)
		if _, err := f.call(listNewsOp, object{"runId": "run", "limit": 10}); err != nil {
			t.Errorf("%v: list: %v", index, err)
		}
		if _, err := f.call(claimNews, claimDue("t", 10)); err != nil {
			t.Errorf("%v: claim: %v", index, err)
		}
	}
}

// A repeat with a lower limit returns the longest eligible by instant, too.
func TestRepeatedClaimComparesTimesAsText(t *testing.T) {
	f := open(t)
	f.plantTurn(object{"intent_id": "late", "run_id": "r1", "eligible_at": "2026-08-21T08:17:31.500Z"})
	f.plantTurn(object{"intent_id": "early", "run_id": "r2", "eligible_at": "2026-08-21T08:17:31Z"})
	equal(t, "both", f.due("t", 2), "early late")
	equal(t, "one of both", f.due("t", 1), "early")
}

// An event that stranded nothing leaves the pending turn of another one alone: a
// handoff stays one, and stays ineligible.
func TestEventThatStrandedNothingChangesAHandoff(t *testing.T) {
	for _, abort := range aborts {
		for _, given := range []object{noStep, atLaunch.with(object{"attemptId": nil})} {
			f := turnRun(t, "running")
			before := f.oweFirst()
			f.at(time1)
			f.ok("noteTurnEvent", noteOf(abort.kind, given))
			equal(t, fmt.Sprint(abort.kind, given), fmt.Sprint(f.onlyIntent()), fmt.Sprint(before))
		}
	}
}

// A failed launch always owes its turn, also that of a resume whose step before was
// aborted and its turn delivered; and so does a crash before the first prompt.
func TestDeliveredAbortSwallowsALaterLaunchFailure(t *testing.T) {
	for kind, made := range map[string]turnSource{"launchFailed": ofLaunch, "crashedBeforePrompt": ofCrash} {
		f := turnRun(t, "running")
		f.ok("noteTurnEvent", noteOf("stepTimeout", nil))
		f.ok(forRun, claimFor("run", "t"))
		f.ok(resolveOp, resolveTurn(ofTimeout.intentID(), "t", "workflowPrompt"))
		f.exec("UPDATE workflow_run_queue SET status = 'failed' WHERE run_id = 'run'")
		equal(t, kind, f.ok("noteTurnEvent", noteOf(kind, nil)).text("outcome"), "created")
		f.wants(kind, f.intent(made.intentID()), object{"eligible_at": stamp(0)})
	}
	f := turnRun(t, "running")
	f.ok("noteTurnEvent", noteOf("stepTimeout", nil))
	f.ok(forRun, claimFor("run", "t"))
	f.ok(resolveOp, resolveTurn(ofTimeout.intentID(), "t", "workflowPrompt"))
	f.ok("parkRunningRun", held("run", "tok"))
	f.ok("resumeParkedRun", claim("run", "own", "tok2"))
	f.ok("failPreparedRun", failLaunch(atStep).with(object{"claimToken": "tok2"}))
	equal(t, "turns", len(f.intents()), 2)
}

// A run fails once. Its turn was delivered; told again in other words it owes none.
func TestFailureToldInOtherWordsOwesASecondTurn(t *testing.T) {
	kinds := []string{"failed", "timedOutTerminal", "crashedBeforePrompt", "launchFailed"}
	for _, c := range endPolicy {
		if c.to != "failed" {
			continue
		}
		for _, kind := range kinds {
			f := c.planted(t, "own")
			c.ends(f, c.alone, nil)
			f.due("t", 1)
			f.ok(resolveOp, resolveTurn(c.alone.made.intentID(), "t", "fallback"))
			_, _ = f.call("noteTurnEvent", noteOf(kind, nil)) // or it is refused
			if n := len(f.intents()); n != 1 {
				t.Errorf("%v, then %s: have %d turns", c, kind, n)
			}
		}
	}
}

// So it is where no feed tells of it.
func TestFailureWithoutAFeedOwesASecondTurn(t *testing.T) {
	kinds := map[string]turnSource{"failed": ofFailure, "timedOutTerminal": ofTerminal, "crashedBeforePrompt": ofCrash, "launchFailed": ofLaunch}
	for first, made := range kinds {
		for second := range kinds {
			f := turnRun(t, "failed")
			f.ok("noteTurnEvent", noteOf(first, nil))
			f.due("t", 1)
			f.ok(resolveOp, resolveTurn(made.intentID(), "t", "fallback"))
			equal(t, first+", then "+second, f.ok("noteTurnEvent", noteOf(second, nil)).text("outcome"), "known")
			f.onlyIntent()
		}
	}
}

// What a failure owed was paid by the turn that it joined: once that was delivered,
// being told of the failure by itself owes no second one.
func TestFailureThatJoinedATurnIsToldAgain(t *testing.T) {
	for _, c := range endPolicy {
		if c.to != "failed" {
			continue
		}
		for _, kind := range []string{"failed", "timedOutTerminal", "crashedBeforePrompt", "launchFailed"} {
			f := c.planted(t, "own")
			c.ends(f, c.beside, f.oweFirst())
			f.due("t", 1)
			f.ok(resolveOp, resolveTurn(firstTurn.intentID(), "t", "fallback"))
			_, _ = f.call("noteTurnEvent", noteOf(kind, nil)) // or it is refused
			if n := len(f.intents()); n != 1 {
				t.Errorf("%v, then %s: have %d turns", c, kind, n)
			}
		}
	}
}

// Another host's feed says that a run failed; whether that host stored what it owed
// is not known. Terminal handling that is told of it stores it.
func TestFeedOfAnotherHostIsTakenForAPaidTurn(t *testing.T) {
	for kind, event := range map[string]string{"failed": "failed", "launchFailed": "launch_failed"} {
		f := turnRun(t, "failed")
		f.insert("run_events", object{"recorded_at": stamp(0), "run_id": "run", "workflow_ref": "flow", "type": event, "payload_json": `{"errorCode":"boom"}`})
		equal(t, kind, f.ok("noteTurnEvent", noteOf(kind, nil)).text("outcome"), "created")
	}
}
