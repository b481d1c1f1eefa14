package core_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// holds looks for the facts of the run that is in the way.
func holds(t *testing.T, e *core.Error, runID, status string) {
	t.Helper()
	for key, want := range map[string]string{"runId": runID, "workflowName": "flow", "status": status} {
		equal(t, key, e.Details[key], any(want))
		if !strings.Contains(e.Message, want) {
			t.Errorf("%q does not name %s %s", e.Message, key, want)
		}
	}
}

// The error of a second start is for a model to act on, not SQLite's.
func TestCase15ReservedSessionAnswersWithAColumnName(t *testing.T) {
	for _, state := range []string{"queued", "starting", "running"} {
		f := open(t)
		map[string]func(string, string){"queued": f.queued, "starting": f.starting, "running": f.running}[state]("first", "session")
		e := f.fails("reservePreparedRun", start("second", "session"), core.CodeSessionReserved)
		holds(t, e, "first", state)
		if !strings.Contains(e.Message, "cancel") {
			t.Errorf("%q does not say what to do", e.Message)
		}
		for _, raw := range []string{"UNIQUE", "origin_session_id", "workflow_run_queue", "sqlite"} {
			if strings.Contains(e.Message, raw) {
				t.Errorf("%q has SQLite's word %s", e.Message, raw)
			}
		}
	}
}

func TestSessionsAreIndependent(t *testing.T) {
	f := open(t)
	f.running("a", "session-a")
	f.running("b", "session-b")
	f.queued("none-1", "")
	f.queued("none-2", "") // ownerless runs have no reservation
	f.fails("reservePreparedRun", start("a2", "session-a"), core.CodeSessionReserved)
	f.ok("finishRunningRun", held("a", "tok").with(object{"status": "done"}))
	f.queued("a2", "session-a")
	equal(t, "other session", f.row("b").text("status"), "running")
	equal(t, "reservation", f.ok("findSessionReservation", object{"sessionId": "session-a"}).text("runId"), "a2")
}

func TestEveryEndGivesTheSessionBack(t *testing.T) {
	for name, end := range map[string]func(*fixture){
		"failed launch": func(f *fixture) {
			f.starting("run", "s")
			f.ok("failPreparedRun", held("run", "tok").with(object{"errorCode": "input_invalid"}))
		},
		"cancelled launch": func(f *fixture) { f.queued("run", "s"); f.ok("cancelPreparedRun", object{"runId": "run"}) },
		"done": func(f *fixture) {
			f.running("run", "s")
			f.ok("finishRunningRun", held("run", "tok").with(object{"status": "done"}))
		},
		"parked": func(f *fixture) { f.parked("run", "s") },
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			end(f)
			if run := f.ok("findSessionReservation", object{"sessionId": "s"}); run != nil {
				t.Errorf("the session is held by %v", run)
			}
			f.queued("next", "s")
		})
	}
}

func TestResumeMeetsANewerReservation(t *testing.T) {
	f := open(t)
	f.parked("old", "session")
	f.queued("new", "session")
	holds(t, f.fails("resumeParkedRun", claim("old", "session", "tok2"), core.CodeSessionReserved), "new", "queued")
	f.fails("resumeParkedRun", claim("old", "elsewhere", "tok2"), core.CodeNotOwner)
	f.ok("cancelPreparedRun", object{"runId": "new"})
	equal(t, "status", f.ok("resumeParkedRun", claim("old", "session", "tok2")).text("status"), "starting")
	equal(t, "feed", f.feed("old"), "queued starting running parked starting")
}

func continuation(runID, session string) object {
	return start(runID, session).with(object{"parentRunId": "parent"})
}

func TestSecondContinuationOfAParent(t *testing.T) {
	f := open(t)
	f.ok("reservePreparedRun", continuation("first", "session-a"))
	holds(t, f.fails("reservePreparedRun", continuation("second", "session-b"), core.CodeParentReserved), "first", "queued")
}

// A launch that did not run gives its parent's slot back; its event still says
// whose it was.
func TestLaunchThatNeverRanGivesTheParentBack(t *testing.T) {
	recovered := func(finding object) func(*fixture) {
		return func(f *fixture) {
			f.ok("claimPreparedRun", claim("first", "s", "tok"))
			f.at(lease)
			f.ok("recoverExpiredStartingRun", recovery("first", "s", finding))
		}
	}
	for name, end := range map[string]func(*fixture){
		"cancelled queued": func(f *fixture) { f.ok("cancelPreparedRun", object{"runId": "first"}) },
		"cancelled starting": func(f *fixture) {
			f.ok("claimPreparedRun", claim("first", "s", "tok"))
			f.ok("cancelPreparedRun", object{"runId": "first"})
		},
		"failed": func(f *fixture) {
			f.ok("claimPreparedRun", claim("first", "s", "tok"))
			f.ok("failPreparedRun", held("first", "tok").with(object{"errorCode": "input_invalid"}))
		},
		"startFailed":   recovered(object{"kind": "startFailed", "code": "input_invalid"}),
		"unreadable":    recovered(object{"kind": "unreadable"}),
		"sourceChanged": recovered(object{"kind": "sourceChanged"}),
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			f.ok("reservePreparedRun", continuation("first", "s"))
			end(f)
			equal(t, "parent", f.row("first")["parent_run_id"], nil)
			equal(t, "parent in the feed", f.payload("first").text("parentRunId"), "parent")
			f.ok("reservePreparedRun", continuation("second", "s"))
		})
	}
}

func TestLaunchThatRanKeepsTheParent(t *testing.T) {
	for name, end := range map[string]func(*fixture){
		"done": func(f *fixture) { f.ok("finishRunningRun", held("first", "tok").with(object{"status": "done"})) },
		"failed": func(f *fixture) {
			f.ok("finishRunningRun", held("first", "tok").with(object{"status": "failed", "errorCode": "run_failed"}))
		},
		"cancelled": func(f *fixture) { f.ok("cancelPreparedRun", object{"runId": "first"}) },
		"cancelled parked": func(f *fixture) {
			f.ok("parkRunningRun", held("first", "tok"))
			f.ok("cancelPreparedRun", object{"runId": "first"})
		},
		"failed after a resume": func(f *fixture) {
			f.ok("parkRunningRun", held("first", "tok"))
			f.ok("resumeParkedRun", claim("first", "s", "tok2"))
			f.ok("failPreparedRun", held("first", "tok2").with(object{"errorCode": "input_invalid"}))
		},
		"cancelled after a resume": func(f *fixture) {
			f.ok("parkRunningRun", held("first", "tok"))
			f.ok("resumeParkedRun", claim("first", "s", "tok2"))
			f.ok("cancelPreparedRun", object{"runId": "first"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			f.ok("reservePreparedRun", continuation("first", "s"))
			f.ok("claimPreparedRun", claim("first", "s", "tok"))
			f.ok("markPreparedRunRunning", held("first", "tok"))
			end(f)
			equal(t, "parent", f.row("first")["parent_run_id"], any("parent"))
			f.fails("reservePreparedRun", continuation("second", "s"), core.CodeParentReserved)
		})
	}
}

// full is a reservation with every fact.
func full() object {
	return continuation("run", "session").with(object{"affinityRunnerId": "home"})
}

var otherFacts = object{
	"workflowName": "other", "workflowSourceRef": "file:other", "workflowSource": object{"id": "other"},
	"definitionDigest": "digest-2", "input": object{"secret": "other"}, "launchOptions": object{},
	"affinityRunnerId": "away", "originSessionId": "elsewhere", "parentRunId": "other",
}

func TestReservationIsRepeatedWithEqualFacts(t *testing.T) {
	for _, state := range []string{"queued", "starting", "running", "cancelled"} {
		f := open(t)
		first := f.ok("reservePreparedRun", full())
		equal(t, "text", first.text("text"), "Workflow flow queued (run run).")
		switch state {
		case "starting", "running":
			f.ok("claimPreparedRun", claim("run", "session", "tok"))
		case "cancelled":
			f.ok("cancelPreparedRun", object{"runId": "run"})
		}
		if state == "running" {
			f.ok("markPreparedRunRunning", held("run", "tok"))
		}
		before := f.dump()
		f.at(lease / 2)
		again := f.ok("reservePreparedRun", full())
		equal(t, "queued", again["result"].(map[string]any)["queued"], any(state == "queued"))
		equal(t, "status", again["run"].(map[string]any)["status"], any(state))
		if after := f.dump(); !slices.Equal(before, after) {
			t.Errorf("a repeat wrote:\n%s", changes(before, after))
		}
	}
}

func TestReservationWithOtherFactsIsAConflict(t *testing.T) {
	for _, state := range []string{"queued", "starting"} {
		for field, value := range otherFacts {
			t.Run(state+" "+field, func(t *testing.T) {
				f := open(t)
				f.ok("reservePreparedRun", full())
				if state == "starting" {
					f.ok("claimPreparedRun", claim("run", "session", "tok"))
				}
				for _, request := range []object{full().with(object{field: value}), full().with(object{field: nil})} {
					if slices.Contains([]string{"workflowName", "workflowSourceRef", "workflowSource", "definitionDigest"}, field) && request[field] == nil {
						continue // missing is another error
					}
					e := f.fails("reservePreparedRun", request, core.CodeRunConflict)
					equal(t, "fields", fmt.Sprint(e.Details["fields"]), fmt.Sprint([]string{field}))
					equal(t, "status", e.Details["status"], any(state))
					if text, _ := json.Marshal(e); strings.Contains(string(text), "marker-of-private-input") {
						t.Errorf("the conflict tells the input: %s", text)
					}
				}
			})
		}
	}
}

func TestReservationDoesNotMindTheOrderOfKeys(t *testing.T) {
	f := open(t)
	const facts = `{"runId":"run","workflowName":"flow","workflowSourceRef":"file:flow","definitionDigest":"d",`
	f.ok("reservePreparedRun", facts+`"workflowSource":{"a":1,"b":[1.0,"\u00e9"]},"input":{"x":{"p":1,"q":2},"y":1e2},"launchOptions":{"m":1,"n":2}}`)
	f.ok("reservePreparedRun", facts+`"launchOptions":{"n":2,"m":1},"input": {"y":100,"x":{"q":2,"p":1.0}},"workflowSource":{"b":[1,"é"],"a":1}}`)
	equal(t, "input", f.row("run").text("input_json"), `{"x":{"p":1,"q":2},"y":100}`)
	equal(t, "source", f.row("run").text("workflow_source_json"), `{"a":1,"b":[1,"é"]}`)
}
