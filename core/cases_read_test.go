package core_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
)

// Other hosts write times otherwise. Each pair is the older and the newer one,
// and in each the older is the greater text.
func TestCase18TextTimesInTwoFormats(t *testing.T) {
	for _, pair := range [][2]string{
		{"2026-08-21T08:00:00Z", "2026-08-21T08:00:00.500Z"},
		{"2026-08-21T09:00:00+02:00", "2026-08-21T08:00:00.000Z"},
		{"2026-08-21T08:00:00.000Z", "2026-08-21T07:00:00.000-02:00"},
		{"2026-08-21T08:00:00.5Z", "2026-08-21T08:00:00.501+00:00"},
		{"yesterday", "2026-08-21T08:00:00.000Z"},
		{"now", "2026-08-21T08:00:00.000Z"},       // what is no time is no time of today
		{"3000000.5", "2026-08-21T08:00:00.000Z"}, // nor a Julian day
	} {
		for _, state := range []string{"parked", "done", "failed", "cancelled"} {
			for _, order := range [][2]int{{0, 1}, {1, 0}} {
				t.Run(fmt.Sprintf("%s %v %d first", state, pair, order[0]), func(t *testing.T) {
					f := open(t)
					for _, i := range order {
						row := object{"run_id": []string{"older", "newer"}[i], "origin_session_id": "session", "status": state, "updated_at": pair[i]}
						if state != "parked" {
							row["finished_at"] = pair[i]
						}
						f.plant(row)
					}
					equal(t, "shown", f.ok("getRun", object{"sessionId": "session"}).text("runId"), "newer")
				})
			}
		}
	}
}

func TestCase18TimesComeOutInOneFormat(t *testing.T) {
	for stored, want := range map[string]string{
		"2026-08-21T08:00:00Z":         "2026-08-21T08:00:00.000Z",
		"2026-08-21T10:00:00.25+02:00": "2026-08-21T08:00:00.250Z",
		"2026-08-21T08:00:00.123456Z":  "2026-08-21T08:00:00.123Z",
		"yesterday":                    "yesterday",
		"2026-08-21T08:00:00.000Z":     "2026-08-21T08:00:00.000Z",
	} {
		f := open(t)
		f.plant(object{"run_id": "run", "status": "queued", "created_at": stored, "updated_at": stored})
		run := f.ok("getRun", object{"runId": "run"})
		equal(t, "createdAt", run.text("createdAt"), want)
		equal(t, "updatedAt", run.text("updatedAt"), want)
	}
}

func TestCase18AgeIsBetweenInstants(t *testing.T) {
	for stored, want := range map[string]string{
		"2026-08-21T08:16:01Z":      ", waiting for 1m30s.",
		"2026-08-21T10:16:01+02:00": ", waiting for 1m30s.",
		stamp(-90 * time.Second):    ", waiting for 1m30s.",
		"yesterday":                 " (run run). ",
		stamp(time.Hour):            " (run run). ", // a clock that runs ahead
	} {
		f := open(t)
		f.plant(object{"run_id": "run", "status": "queued", "created_at": stored})
		if line := f.ok("getRun", object{"runId": "run"}).text("line"); !strings.Contains(line, want) {
			t.Errorf("created at %s: %q does not have %q", stored, line, want)
		}
	}
}

func TestCase18NowInAnotherFormatIsRefused(t *testing.T) {
	f := open(t)
	for _, now := range []any{"2026-08-21T08:17:31Z", "2026-08-21T10:17:31.000+02:00", "2026-08-21 08:17:31.000Z", "2026-08-21T08:17:31.0000Z", "now", "", 0} {
		e := f.fails("listRuns", object{"limit": 1, "now": now}, core.CodeBadRequest)
		equal(t, "field", e.Details["field"], any("now"))
	}
	f.ok("reservePreparedRun", start("run", "").with(object{"now": stamp(time.Minute)}))
	equal(t, "created", f.row("run").text("created_at"), stamp(time.Minute))
}

// Nobody may revive a dead claim by telling the store what time it is.
func TestNowIsRefusedWithoutATestClock(t *testing.T) {
	f := open(t, func(c *core.Config) { c.TestClock = false })
	e := f.fails("listRuns", object{"limit": 1, "now": stamp(0)}, core.CodeBadRequest)
	equal(t, "field", e.Details["field"], any("now"))
}

func TestCase19EmptyStoreFirstLook(t *testing.T) {
	looks := map[string][]struct {
		request object
		answer  string // or an error's code
	}{
		"newRunId":               {{object{"workflowName": "flow"}, `{"runId":"20260821T081731Z-flow-abababab"}`}},
		"findSessionReservation": {{object{"sessionId": "session"}, "null"}},
		"listRecoverableRuns":    {{object{"limit": 100}, "[]"}, {object{"limit": 100, "sessionId": "session"}, "[]"}},
		"getRun":                 {{object{"sessionId": "session"}, "null"}, {object{"runId": "run"}, "not_found"}},
		"listRuns": {{object{"limit": 100}, "[]"}, {object{"limit": 100, "sessionId": "s", "status": "done"}, "[]"},
			{object{"limit": 100, "beforeRunId": "run"}, "not_found"}},
		"listRunEvents":  {{object{"limit": 100}, "[]"}, {object{"limit": 100, "runId": "run", "afterSeq": 7}, "[]"}},
		"verifyRunClaim": {{held("run", "tok"), "not_found"}},
		"claimNextRun":   {{object{"runnerId": "runner"}, "null"}, {object{"runnerId": "runner", "sessionId": "session"}, "null"}},

		"getWorkflowTurnIntent":         {{object{"intentId": "intent"}, "not_found"}},
		"findPendingWorkflowTurnIntent": {{object{"runId": "run", "sessionId": "session"}, "null"}},
		"listWorkflowTurnIntents": {{object{"limit": 100}, "[]"}, {object{"limit": 100, "sessionId": "s", "runId": "run", "state": "eligible"}, "[]"},
			{object{"limit": 100, "afterIntentId": "intent"}, "not_found"}},
		"listWorkflowNotifications":                  {{object{"limit": 100, "runId": "run"}, "[]"}, {object{"limit": 100, "runId": "run", "skip": 7}, "[]"}},
		"sweepTurnIntents":                           {{object{"limit": 100}, "[]"}, {object{"limit": 100, "sessionId": "session"}, "[]"}},
		"claimWorkflowTurnIntentForRun":              {{object{"runId": "run", "sessionId": "session"}, "null"}},
		"claimEligibleWorkflowTurnIntentsForSession": {{object{"limit": 100, "sessionId": "session"}, "[]"}},
		"claimPendingWorkflowNotifications":          {{object{"limit": 100, "sessionId": "session"}, "[]"}},
		"nextLaunchStep": {{object{"state": object{"runnerId": "runner"}, "seen": object{"kind": "poll", "idle": true}},
			`{"kind":"list","op":"listRecoverableRuns","request":{"limit":100}}`}},
		"nextTurnStep": {{object{"state": object{"sessionId": "session"}, "seen": object{"kind": "poll", "idle": true}},
			`{"kind":"sweep","op":"sweepTurnIntents","request":{"limit":100,"sessionId":"session"}}`}},
	}
	for _, op := range core.Ops {
		if op.ReadOnly && looks[op.Name] == nil {
			t.Errorf("%s is not looked at", op.Name)
		}
		for _, look := range looks[op.Name] {
			f := open(t)
			before := fmt.Sprint(f.dump())
			answer, err := f.call(op.Name, look.request)
			if err != nil {
				answer = []byte(core.CodeOf(err))
			}
			if _, step, ok := strings.Cut(string(answer), `"step":`); ok { // its state is for a coordinator to read
				answer = []byte(strings.TrimSuffix(step, "}"))
			}
			equal(t, op.Name, string(answer), look.answer)
			equal(t, op.Name+" leaves", fmt.Sprint(f.dump()), before)
		}
	}
}

func TestEveryMoveOfNoRunIsNotFound(t *testing.T) {
	f := open(t)
	for op, more := range tokenOps {
		f.fails(op, held("run", "tok").with(more), core.CodeNotFound)
	}
	for _, op := range []string{"claimPreparedRun", "resumeParkedRun", "takeOverExpiredRun"} {
		f.fails(op, claim("run", "session", "tok"), core.CodeNotFound)
	}
	f.fails("recoverExpiredStartingRun", recovery("run", "session", object{"kind": "none"}), core.CodeNotFound)
	f.fails("recordRunEvent", object{"runId": "run", "type": "claim_lost"}, core.CodeNotFound)
	for _, kind := range core.TurnKinds {
		f.fails("noteTurnEvent", object{"runId": "run", "kind": kind, "nodeId": "node"}, core.CodeNotFound)
	}
}

func TestEveryMoveOfNoTurnIsNotFound(t *testing.T) {
	f := open(t)
	for _, op := range []string{"makeWorkflowTurnIntentEligible", "renewWorkflowTurnIntentClaim", "releaseWorkflowTurnIntentClaim",
		"resolveWorkflowTurnIntent", "markWorkflowNotificationDelivered"} {
		e := f.fails(op, sound[op], core.CodeNotFound)
		for _, id := range []string{"intentId", "notificationId"} {
			equal(t, op, e.Details[id], sound[op][id])
		}
	}
}

func TestRunsAreListedPageByPage(t *testing.T) {
	f := open(t)
	var want []string
	for i := range 7 {
		id := fmt.Sprintf("run-%d", i)
		// The later a run was stored, the older it says it is.
		f.plant(object{"run_id": id, "status": "queued", "created_at": stamp(-time.Duration(i) * time.Hour)})
		want = append([]string{id}, want...)
	}
	f.plant(object{"run_id": "other", "status": "done", "origin_session_id": "session"})
	var have []string
	request := object{"limit": 3, "status": "queued"}
	for page := f.list("listRuns", request); len(page) > 0 && len(have) < 10; page = f.list("listRuns", request) {
		for _, run := range page {
			have = append(have, run.text("runId"))
		}
		request["beforeRunId"] = have[len(have)-1]
	}
	equal(t, "pages", strings.Join(have, " "), strings.Join(want, " "))
	equal(t, "of a session", ids(f.list("listRuns", object{"limit": 3, "sessionId": "session"})), "other")
	equal(t, "newest first", ids(f.list("listRuns", object{"limit": 2})), "other run-6")
}

func TestLimitsOfLists(t *testing.T) {
	f := open(t)
	lists := 0
	for _, op := range core.Ops {
		if _, has := op.Request.FieldByName("Limit"); !has {
			continue
		}
		lists++
		for _, limit := range []any{0, 101, -1, 1.5, "1", nil} {
			e := f.fails(op.Name, sound[op.Name].with(object{"limit": limit}), core.CodeBadRequest)
			equal(t, op.Name, e.Details["field"], any("limit"))
		}
		for _, limit := range []int{1, 100} {
			request := object{"limit": limit}
			for _, needed := range []string{"sessionId", "runId"} {
				if field, ok := fieldsOf(op.Request, "")[needed]; ok && !strings.Contains(field.Tag.Get("json"), ",omitempty") {
					request[needed] = "any"
				}
			}
			f.list(op.Name, request)
		}
	}
	equal(t, "lists", lists, 8)
}

// The line is what a model reads while it waits for its own launch.
func TestCase25StatusSaysThatTheRunStartsWhenTheTurnEnds(t *testing.T) {
	f := open(t)
	f.queued("run", "session")
	for _, part := range []string{"is queued", "run run", "when the current turn ends", "do not wait or poll"} {
		if line := f.ok("getRun", object{"sessionId": "session"}).text("line"); !strings.Contains(line, part) {
			t.Errorf("%q does not say %q", line, part)
		}
	}
	equal(t, "status", f.row("run").text("status"), "queued")
}

// A session shows its live run, else its newest parked, else its last finished.
func TestSessionShowsItsLiveRunFirst(t *testing.T) {
	f := open(t)
	for i, want := range []string{"done", "parked", "queued"} {
		row := object{"run_id": want, "status": want, "origin_session_id": "session", "updated_at": stamp(-time.Duration(i) * time.Hour)}
		if want == "done" {
			row["finished_at"] = stamp(0)
		}
		f.plant(row)
		equal(t, "shown", f.ok("getRun", object{"sessionId": "session"}).text("runId"), want)
	}
}

func TestNextOwnerlessRun(t *testing.T) {
	plant := func(f *fixture, n int, affinity ...int) {
		for i := range n {
			row := object{"run_id": fmt.Sprintf("run-%d", i), "status": "queued", "affinity_runner_id": "other",
				"created_at": stamp(-time.Duration(i) * time.Hour)} // by time text the last would be the oldest
			for _, own := range affinity {
				if own == i {
					row["affinity_runner_id"] = "runner"
				}
			}
			f.plant(row)
		}
	}
	for name, c := range map[string]struct {
		runs int
		own  []int
		want string
	}{
		"oldest by insertion":       {5, nil, "run-0"},
		"its own":                   {5, []int{3, 4}, "run-3"},
		"the hundredth is its own":  {101, []int{99}, "run-99"},
		"the next one is too young": {101, []int{100}, "run-0"},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			f.plant(object{"run_id": "owned", "status": "queued", "origin_session_id": "session", "affinity_runner_id": "runner"})
			plant(f, c.runs, c.own...)
			equal(t, "claimed", f.ok("claimNextRun", object{"runnerId": "runner"}).text("runId"), c.want)
		})
	}
}
