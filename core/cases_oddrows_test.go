package core_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/strictjson"
	"github.com/pi-workflows/wfcore/db"
)

// What another host may have stored as the end of a lease, and is none.
var oddLeases = map[string]any{
	"null": nil, "text": "2026-08-20T00:00:00.000Z", "late text": "9999-12-31T00:00:00.000Z", "blob": []byte{0xff, 0x00}, "real": 1.5, "negative": -1,
}

// One odd row of another host must not stop the lists, its session or its own
// recovery; and a lease that is none must not live for ever.
func TestOddLeasesOfOtherHosts(t *testing.T) {
	for name, lease := range oddLeases {
		for _, session := range []string{"s", ""} {
			for _, status := range []string{"starting", "running"} {
				t.Run(fmt.Sprint(name, " ", session, " ", status), func(t *testing.T) {
					f := open(t)
					row := object{"run_id": "run:1/odd id", "status": status, "claim_token": "to\nken", "claim_expires_at": lease}
					owner := object{}
					if session != "" {
						row["origin_session_id"] = session
						owner["sessionId"] = session
					}
					f.plant(row)
					f.list("listRuns", object{"limit": 10})
					f.ok("getRun", object{"runId": "run:1/odd id"})
					work := f.list("listRecoverableRuns", owner.with(object{"limit": 10}))
					if len(work) != 1 {
						t.Fatalf("have %v", work)
					}
					if status == "running" {
						f.ok("takeOverExpiredRun", owner.with(object{"runId": "run:1/odd id", "runnerId": "me"}))
						return
					}
					f.ok("recoverExpiredStartingRun", owner.with(object{
						"runId": "run:1/odd id", "expectedClaimToken": work[0]["claimToken"], "finding": object{"kind": "none"},
					}))
				})
			}
		}
	}
}

// Cancel always works, also on what no other op can use.
func TestOddRowsCanBeCancelled(t *testing.T) {
	for _, lease := range oddLeases {
		f := open(t)
		f.plant(object{"run_id": "run:1/x", "status": "starting", "claim_token": "t", "claim_expires_at": lease, "origin_session_id": "s"})
		f.ok("cancelPreparedRun", object{"runId": "run:1/x"})
		f.ok("reservePreparedRun", start("next", "s"))
	}
}

// SQLite lets a text key be NULL. Such a row has no name; it is left out of lists,
// and what it holds is refused with a reason.
func TestRowWithoutAnID(t *testing.T) {
	f := open(t)
	for i, status := range []string{"queued", "starting", "parked", "done"} {
		id := []any{nil, []byte{0xff, 0x61}, []byte("blob"), nil}[i]
		f.plant(object{"run_id": id, "status": status, "origin_session_id": fmt.Sprint("s", i)})
		f.plant(object{"run_id": nil, "status": status})
		equal(t, "runs", len(f.list("listRuns", object{"limit": 10})), 0)
		equal(t, "of the session", len(f.list("listRecoverableRuns", object{"sessionId": fmt.Sprint("s", i), "limit": 10})), 0)
		equal(t, "status", string(f.answer("getRun", object{"sessionId": fmt.Sprint("s", i)})), "null")
	}
	equal(t, "ownerless", len(f.list("listRecoverableRuns", object{"limit": 10})), 0)
	equal(t, "next", string(f.answer("claimNextRun", object{"runnerId": "me"})), "null")
	f = open(t)
	f.plant(object{"run_id": nil, "status": "queued", "origin_session_id": "s0"})
	f.fails("reservePreparedRun", start("next", "s0"), core.CodeSessionReserved)
}

// The statements guard the state by themselves; core's own check comes after.
func TestStatementsGuardTheState(t *testing.T) {
	now, end := epoch.UnixMilli(), epoch.Add(time.Hour).UnixMilli()
	for _, status := range gridStates {
		f := open(t)
		f.plant(object{"run_id": "run", "status": status, "claim_token": "tok", "claim_expires_at": end})
		q := db.New(f.conn)
		refused := func(name string, err error, takes ...string) {
			if !slices.Contains(takes, status) && !errors.Is(err, sql.ErrNoRows) {
				t.Errorf("%s took a %s run: %v", name, status, err)
			}
		}
		_, err := q.RunFinishDone(t.Context(), db.RunFinishDoneParams{RunID: "run", ClaimToken: "tok", NowMS: now, Now: stamp(0)})
		refused("RunFinishDone", err, "running")
		_, err = q.RunFinishFailed(t.Context(), db.RunFinishFailedParams{RunID: "run", ClaimToken: "tok", NowMS: now, Now: stamp(0)})
		refused("RunFinishFailed", err, "running")
		f = open(t)
		f.plant(object{"run_id": "run", "status": status, "claim_token": "tok", "claim_expires_at": end})
		_, err = db.New(f.conn).RunPark(t.Context(), db.RunParkParams{RunID: "run", ClaimToken: "tok", NowMS: now, Now: stamp(0)})
		refused("RunPark", err, "running")
		f = open(t)
		f.plant(object{"run_id": "run", "status": status, "claim_token": "tok", "claim_expires_at": 1})
		_, err = db.New(f.conn).RunRequeueExpired(t.Context(), db.RunRequeueExpiredParams{RunID: "run", ExpectedClaimToken: "tok", NowMS: now, Now: stamp(0)})
		refused("RunRequeueExpired", err, "starting")
		f = open(t)
		f.plant(object{"run_id": "run", "status": status})
		_, err = db.New(f.conn).RunCancel(t.Context(), db.RunCancelParams{RunID: "run", NowMS: now, Now: stamp(0)})
		refused("RunCancel", err, "queued", "starting", "running", "parked")
	}
}

// The engine gets its input as one line, however another host wrote it.
func TestForeignInputIsOneLine(t *testing.T) {
	f := open(t)
	f.plant(object{"run_id": "run", "status": "queued", "input_json": "{\n  \"a\": 1\n}"})
	if answer := string(f.answer("claimNextRun", object{"runnerId": "me"})); !strings.Contains(answer, `"input":{"a":1}`) {
		t.Errorf("have %s", answer)
	}
}

// A payload of another host may hold anything.
func TestForeignPayloadsAreMadeSafe(t *testing.T) {
	f := open(t)
	for _, payload := range []string{
		`{"header":"Authorization: Bearer abcdef1234567890","token":"hunter2hunter2"}`,
		`{"nested":{"token":"hunter2hunter2"}}`, `not json: token=hunter2hunter2`, `["token=hunter2hunter2"]`, ``,
	} {
		f.insert("run_events", object{"recorded_at": stamp(0), "run_id": "run", "workflow_ref": "flow", "type": "note", "payload_json": payload})
	}
	answer := string(f.answer("listRunEvents", object{"limit": 10}))
	if strings.Contains(answer, "hunter2") || strings.Contains(answer, "abcdef12") {
		t.Errorf("have %s", answer)
	}
	equal(t, "events", len(f.list("listRunEvents", object{"limit": 10})), 5)
}

// The first claim is when a run started, also where it was queued again.
func TestStartedAtIsThatOfTheFirstClaim(t *testing.T) {
	f := open(t)
	f.queued("run", "s")
	f.at(time.Minute)
	f.ok("claimPreparedRun", claim("run", "s", "tok"))
	f.at(time.Hour)
	f.ok("recoverExpiredStartingRun", recovery("run", "s", object{"kind": "none"}).with(object{"expectedClaimToken": "tok"}))
	f.ok("claimPreparedRun", claim("run", "s", "tok2"))
	equal(t, "started_at", f.row("run")["started_at"], any(stamp(time.Minute)))
}

// Of two that ended at the same instant the newer row is shown.
func TestSessionShowsTheNewerOfTwoAtOneInstant(t *testing.T) {
	for _, status := range []string{"parked", "done"} {
		f := open(t)
		f.plant(object{"run_id": "older", "status": status, "origin_session_id": "s", "finished_at": stamp(0)})
		f.plant(object{"run_id": "newer", "status": status, "origin_session_id": "s", "finished_at": stamp(0)})
		equal(t, status, f.ok("getRun", object{"sessionId": "s"}).text("runId"), "newer")
	}
}

// Names and texts of a request may be private, and are bounded in an error.
func TestErrorsDoNotEchoTheRequest(t *testing.T) {
	f := open(t)
	long := strings.Repeat("x", 1<<20)
	for _, c := range []struct{ op, request string }{
		{"reservePreparedRun", `{"input":{"sk-live-abcdef1234567890abcdef":1,"sk-live-abcdef1234567890abcdef":2}}`},
		{"getRun", `{"password=hunter2hunter2":1}`},
		{"getRun", `{"` + long + `":1}`},
		{"Bearer sk-live-abcdef1234567890abcdef", `{}`},
		{long, `{}`},
	} {
		_, err := f.store.Call(f.Context(), c.op, []byte(c.request))
		text := fmt.Sprintf("%v %v", err, err.(*core.Error).Details)
		if len(text) > 1000 || strings.Contains(text, "abcdef12") || strings.Contains(text, "hunter2") {
			t.Errorf("%.60s: %.300s", c.op, text)
		}
	}
}

// A run that is named says why it is not for the caller to recover.
func TestRecoverableRunByID(t *testing.T) {
	f := open(t)
	f.starting("run", "s")
	ask := func(session string) object { return object{"sessionId": session, "runId": "run", "limit": 1} }
	equal(t, "live", len(f.list("listRecoverableRuns", ask("s"))), 0)
	f.fails("listRecoverableRuns", ask("other"), core.CodeNotOwner)
	f.fails("listRecoverableRuns", object{"runId": "absent", "limit": 1}, core.CodeNotFound)
	f.at(time.Hour)
	equal(t, "expired", f.list("listRecoverableRuns", ask("s"))[0].text("claimToken"), "tok")
}

// JSON of another host may be none, or not strict: every answer is.
func TestForeignJSONIsAnsweredStrictly(t *testing.T) {
	for _, stored := range []any{[]byte("{\"a\":\"\xff\"}"), "{\"a\":\"\\ud800\"}", "{\"a\":1,\"a\":2}", "1e999", "not json", ""} {
		f := open(t)
		f.plant(object{"run_id": "run", "status": "queued", "input_json": stored, "launch_options_json": stored, "workflow_source_json": stored})
		for _, op := range []string{"getRun", "claimPreparedRun"} {
			request := object{"runId": "run"}
			if op == "claimPreparedRun" {
				request["runnerId"] = "me"
			}
			if err := strictjson.Check(f.answer(op, request)); err != nil {
				t.Errorf("%s of %q: %v", op, stored, err)
			}
		}
	}
}

// Another run in the same state, of the same owner, with the same dead token, is
// not the one that was named.
func TestMovesTouchTheNamedRunAlone(t *testing.T) {
	dead := object{"claim_token": "tok", "claim_expires_at": 1}
	found := func(finding object) object {
		return object{"runId": "named", "expectedClaimToken": "tok", "finding": finding}
	}
	for name, c := range map[string]struct {
		status, op string
		request    object
	}{
		"take over":     {"running", "takeOverExpiredRun", object{"runId": "named", "runnerId": "me"}},
		"resume":        {"parked", "resumeParkedRun", object{"runId": "named", "runnerId": "me"}},
		"start failed":  {"starting", "recoverExpiredStartingRun", found(object{"kind": "startFailed", "code": "input_invalid"})},
		"unreadable":    {"starting", "recoverExpiredStartingRun", found(object{"kind": "unreadable"})},
		"running":       {"starting", "recoverExpiredStartingRun", found(object{"kind": "running", "runnerId": "me"})},
		"requeue":       {"starting", "recoverExpiredStartingRun", found(object{"kind": "none"})},
		"waiting":       {"starting", "recoverExpiredStartingRun", found(object{"kind": "waiting"})},
		"claim":         {"queued", "claimPreparedRun", object{"runId": "named", "runnerId": "me"}},
		"cancel parked": {"parked", "cancelPreparedRun", object{"runId": "named"}},
	} {
		f := open(t)
		for _, id := range []string{"before", "named", "after"} {
			f.plant(dead.with(object{"run_id": id, "status": c.status}))
		}
		others := fmt.Sprint(f.row("before"), f.row("after"))
		f.ok(c.op, c.request)
		if now := fmt.Sprint(f.row("before"), f.row("after")); now != others {
			t.Errorf("%s: another run changed:\n%s\n%s", name, others, now)
		}
	}
}

// A run that another host parked without saying when it started, started now.
func TestResumeSetsStartedAtOnce(t *testing.T) {
	for _, was := range []any{nil, stamp(-time.Hour)} {
		f := open(t)
		f.plant(object{"run_id": "run", "status": "parked", "started_at": was})
		f.ok("resumeParkedRun", claim("run", "", "tok"))
		want := was
		if was == nil {
			want = any(stamp(0))
		}
		equal(t, "started_at", f.row("run")["started_at"], want)
	}
}

// A lease that is a text lives or not by the integer that it begins with, in SQL and
// beside it.
func TestTextLeaseIsReadInTwoWays(t *testing.T) {
	for text, live := range map[string]bool{
		"1787300399999x": true, " 1787300399999 ms": true, "99999999999999999999": true, "1x": false, "-5": false, "x1787300399999": false, "": false,
	} {
		f := open(t)
		f.starting("run", "s")
		f.exec("UPDATE workflow_run_queue SET claim_expires_at = ? || '' WHERE run_id = 'run'", text)
		recovery := recovery("run", "s", object{"kind": "none"}).with(object{"expectedClaimToken": "tok"})
		if live {
			f.fails("recoverExpiredStartingRun", recovery, core.CodeClaimLive)
			f.ok("renewRunClaim", held("run", "tok"))
			continue
		}
		f.fails("renewRunClaim", held("run", "tok"), core.CodeClaimLost)
		equal(t, "status", f.ok("recoverExpiredStartingRun", recovery).text("status"), "queued")
	}
}
