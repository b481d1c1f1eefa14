package core_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
)

// The runs of a file that another host wrote.
const (
	foreignQueued   = "20260804T000000Z-autoimplement-0001"
	foreignStarting = "20260804T000001Z-autoimplement-0002"
	foreignRunning  = "20260804T000003Z-autoimplement-0003"
	foreignParked   = "20260804T000006Z-autoimplement-0004"
	foreignFailed   = "20260804T000014Z-autoimplement-0006"
	foreignInput    = "ship it" // in the private input of all that have not ended
)

// openForeign is a store with those runs.
func openForeign(t testing.TB) *fixture {
	t.Helper()
	f := open(t)
	f.exec("ATTACH 'file:layout/testdata/fixtures/v1-populated.sqlite?immutable=1' AS foreign_host")
	for _, table := range []string{"workflow_run_queue", "run_events", "workflow_turn_intents", "workflow_notifications"} {
		f.exec(fmt.Sprintf("INSERT INTO main.%s SELECT * FROM foreign_host.%s ORDER BY rowid", table, table))
	}
	f.exec("DETACH foreign_host")
	if n := len(f.rows("workflow_run_queue")); n != 9 {
		t.Fatalf("the file has %d runs", n)
	}
	return f
}

func TestForeignRunsAreReadAndKept(t *testing.T) {
	f := openForeign(t)
	before := strings.Join(f.dump(), "\n")
	for _, row := range f.rows("workflow_run_queue") {
		id := row.text("run_id")
		run := f.ok("getRun", object{"runId": id})
		equal(t, id, run["status"], row["status"])
		if !strings.Contains(run.text("line"), id) {
			t.Errorf("%q does not name %s", run.text("line"), id)
		}
		f.list("listRunEvents", object{"runId": id, "limit": 100})
		if session := row.text("origin_session_id"); session != "" {
			equal(t, "run of "+session, f.ok("getRun", object{"sessionId": session}).text("runId"), id)
			f.ok("findSessionReservation", object{"sessionId": session})
			f.list("listRecoverableRuns", object{"sessionId": session, "limit": 100})
		}
	}
	equal(t, "runs", len(f.list("listRuns", object{"limit": 100})), 9)
	f.list("listRecoverableRuns", object{"limit": 100})
	if after := strings.Join(f.dump(), "\n"); after != before {
		t.Error("reading changed the store")
	}
}

func TestForeignInputIsToldToNoReader(t *testing.T) {
	f := openForeign(t)
	for _, op := range []string{"getRun", "findSessionReservation", "listRecoverableRuns", "listRuns"} {
		for _, session := range []string{"session-queued", "session-starting", "session-running", "session-parked"} {
			request := object{"sessionId": session}
			if strings.HasPrefix(op, "list") {
				request["limit"] = 100
			}
			if answer := string(f.answer(op, request)); strings.Contains(answer, foreignInput) {
				t.Errorf("%s tells the input: %s", op, answer)
			}
		}
	}
}

// A running run of another host still has its input, and no feed. Whatever ends
// or parks it clears the input.
func TestForeignRunningRunLosesItsInput(t *testing.T) {
	session := "session-running"
	for name, end := range map[string]func(*fixture) object{
		"parked": func(f *fixture) object { return f.ok("parkRunningRun", held(foreignRunning, "tok")) },
		"done": func(f *fixture) object {
			return f.ok("finishRunningRun", held(foreignRunning, "tok").with(object{"status": "done"}))
		},
		"failed": func(f *fixture) object {
			return f.ok("finishRunningRun", held(foreignRunning, "tok").with(object{"status": "failed", "errorCode": "timed_out"}))
		},
		"cancelled": func(f *fixture) object {
			return f.ok("cancelPreparedRun", object{"runId": foreignRunning, "sessionId": session})
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := openForeign(t)
			f.ok("takeOverExpiredRun", claim(foreignRunning, session, "tok"))
			if !strings.Contains(f.row(foreignRunning).text("input_json"), foreignInput) {
				t.Error("a take-over changed the input")
			}
			equal(t, "status", end(f).text("status"), name)
			equal(t, "input", f.row(foreignRunning).text("input_json"), "null")
			equal(t, "feed", f.feed(foreignRunning), "claim_transferred "+name)
		})
	}
}

// The lease of another host's claim counts, whatever that host checks itself.
func TestForeignClaimIsNotTrusted(t *testing.T) {
	f := openForeign(t)
	f.fails("finishRunningRun", held(foreignRunning, "token-3").with(object{"status": "done"}), core.CodeClaimLost)
	f.fails("markPreparedRunRunning", held(foreignStarting, "token-2"), core.CodeClaimLost)
	f.fails("takeOverExpiredRun", claim(foreignRunning, "session-starting", "tok"), core.CodeNotOwner)

	seen := f.list("listRecoverableRuns", object{"sessionId": "session-starting", "limit": 10})
	equal(t, "token to recover with", seen[0].text("claimToken"), "token-2")
	run := f.ok("recoverExpiredStartingRun", recovery(foreignStarting, "session-starting", object{"kind": "none"}).with(object{"expectedClaimToken": "token-2"}))
	equal(t, "status", run.text("status"), "queued")
	equal(t, "feed", f.feed(foreignStarting), "requeued")
}

func TestForeignLaunchRunsHere(t *testing.T) {
	f := openForeign(t)
	run := f.ok("claimPreparedRun", claim(foreignQueued, "session-queued", "tok"))
	equal(t, "input", fmt.Sprint(run["input"].(map[string]any)["task"]), foreignInput)
	f.ok("markPreparedRunRunning", held(foreignQueued, "tok"))
	equal(t, "input", f.row(foreignQueued).text("input_json"), "null")
}

func TestForeignParkedRunIsResumed(t *testing.T) {
	f := openForeign(t)
	f.ok("resumeParkedRun", claim(foreignParked, "session-parked", "tok"))
	f.at(lease)
	// Its feed shows no run, but a resume: it ran on the other host.
	run := f.ok("recoverExpiredStartingRun", recovery(foreignParked, "session-parked", object{"kind": "none"}))
	equal(t, "status", run.text("status"), "failed")
	equal(t, "input", f.row(foreignParked).text("input_json"), "null")
	equal(t, "feed", f.feed(foreignParked), "starting launch_failed")
}

// What another host stored as JSON and is none is still shown.
func TestForeignTextThatIsNoJSON(t *testing.T) {
	f := open(t)
	f.plant(object{"run_id": "run", "status": "failed", "workflow_source_json": "{broken", "launch_options_json": "",
		"error_code": "another", "error_message": "two\nlines", "finished_at": "never"})
	f.insert("run_events", object{"run_id": "run", "workflow_ref": "flow", "type": "odd", "recorded_at": "once", "payload_json": "]"})
	run := f.ok("getRun", object{"runId": "run"})
	equal(t, "source", run["workflowSource"], any("{broken"))
	equal(t, "options", run["launchOptions"], any(""))
	equal(t, "payload", f.list("listRunEvents", object{"limit": 1})[0]["payload"], any("]"))
	if message := run.text("errorMessage"); strings.Contains(message, "\n") || message == "" {
		t.Errorf("the message is not one line: %q", message)
	}
}

// State events are their transitions' alone, so that the feed agrees with the
// queue.
func TestHostRecordsItsOwnEventsOnly(t *testing.T) {
	f := open(t)
	f.queued("run", "session")
	for _, kind := range []string{"queued", "starting", "running", "parked", "done", "failed", "launch_failed", "cancelled", "requeued",
		"claim_transferred", "other", ""} {
		e := f.fails("recordRunEvent", object{"runId": "run", "type": kind}, core.CodeBadRequest)
		equal(t, "field", e.Details["field"], any("type"))
	}
	f.ok("recordRunEvent", object{"runId": "run", "type": "claim_lost"})
	f.ok("recordRunEvent", object{"runId": "run", "type": "turn_intent_failed", "runnerId": "runner"})
	equal(t, "feed", f.feed("run"), "queued claim_lost turn_intent_failed")
}

func TestHostEventIsStoredSafe(t *testing.T) {
	f := open(t)
	f.queued("run", "session")
	f.ok("recordRunEvent", object{"runId": "run", "type": "claim_lost", "payload": object{
		"lines": "one\ntwo\x00\x1b[31m", "header": "Authorization: Bearer abcdefghijklmnopqrstuvwxyz012345",
		"apiKey": "hunter2-hunter2-hunter2", "n": 7, "b": true, "nothing": nil,
	}})
	payload := f.payload("run")
	equal(t, "number", payload["n"], any(7.0))
	equal(t, "truth", payload["b"], any(true))
	stored := f.rows("run_events")[1].text("payload_json")
	for _, secret := range []string{`\n`, `\u0000`, `\u001b`, "abcdefgh", "hunter2-"} {
		if strings.Contains(stored, secret) {
			t.Errorf("%s has %q", stored, secret)
		}
	}
	for _, payload := range []any{object{"deep": object{}}, object{"deep": []int{1}}, "text", []int{1}} {
		e := f.fails("recordRunEvent", object{"runId": "run", "type": "claim_lost", "payload": payload}, core.CodeBadRequest)
		equal(t, "field", e.Details["field"], any("payload"))
	}
}

func TestFailureIsStoredSafe(t *testing.T) {
	f := open(t)
	f.starting("run", "session")
	run := f.ok("failPreparedRun", held("run", "tok").with(object{"errorCode": "workflow_invalid",
		"errorMessage": "cannot fetch https://user:hunter2hunter2@host/flow\n    at build (flow.js:1:2)\n" + strings.Repeat("é", 4000)}))
	message := run.text("errorMessage")
	if n := len(message); n < 1 || n > 2048 {
		t.Errorf("the message has %d bytes", n)
	}
	if strings.Contains(message, "\n") || strings.Contains(message, "hunter2") || strings.ContainsRune(message, '\uFFFD') {
		t.Errorf("the message is not safe: %q", message)
	}
	equal(t, "row", f.row("run").text("error_message"), message)
	equal(t, "event", f.payload("run").text("errorMessage"), message)
	if !strings.Contains(message, "workflow definition is not valid") {
		t.Errorf("%q does not name the check", message)
	}
	equal(t, "failed runs of the file", len(openForeign(t).list("listRunEvents", object{"runId": foreignFailed, "limit": 10})), 4)
}

// Another host's run has no feed of ours. One that it parked, and that was resumed
// here, ran: its parent's slot is not given back.
func TestForeignRunThatWasResumedKeepsTheParent(t *testing.T) {
	for name, end := range map[string]func(*fixture){
		"failed": func(f *fixture) {
			f.ok("failPreparedRun", held("run", "tok").with(object{"errorCode": "input_invalid"}))
		},
		"cancelled": func(f *fixture) { f.ok("cancelPreparedRun", object{"runId": "run"}) },
		"start failed": func(f *fixture) {
			f.at(time.Hour)
			f.ok("recoverExpiredStartingRun", recovery("run", "s", object{"kind": "startFailed", "code": "input_invalid"}).with(object{"expectedClaimToken": "tok"}))
		},
		"unreadable": func(f *fixture) {
			f.at(time.Hour)
			f.ok("recoverExpiredStartingRun", recovery("run", "s", object{"kind": "unreadable"}).with(object{"expectedClaimToken": "tok"}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			f.plant(object{"run_id": "run", "status": "parked", "origin_session_id": "s", "parent_run_id": "parent"})
			f.ok("resumeParkedRun", claim("run", "s", "tok"))
			end(f)
			equal(t, "parent", f.row("run")["parent_run_id"], any("parent"))
		})
	}
}
