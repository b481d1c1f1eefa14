package core_test

import (
	"slices"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
)

// tokenOps are the ops that a token gives a right to, and what they ask for
// beside run and token. cancelPreparedRun takes one, though it needs none.
var tokenOps = map[string]object{
	"markPreparedRunRunning": {},
	"failPreparedRun":        {"errorCode": "activation_failed"},
	"parkRunningRun":         {},
	"finishRunningRun":       {"status": "done"},
	"renewRunClaim":          {},
	"verifyRunClaim":         {},
	"releaseRunClaim":        {},
	"cancelPreparedRun":      {},
}

// arrowless are the token ops without an arrow from a state.
var arrowless = map[string][]string{
	"starting": {"finishRunningRun"},
	"running":  {"markPreparedRunRunning", "failPreparedRun"},
}

// refused asks for every token op with a token that is not live.
func (f *fixture) refused(runID, token, state string) {
	f.Helper()
	for op, more := range tokenOps {
		want := core.CodeClaimLost
		if slices.Contains(arrowless[state], op) {
			want = core.CodeInvalidTransition
		}
		f.fails(op, held(runID, token).with(more), want)
	}
}

// A runner's lease lapses and the same runner claims again. Its first self,
// waking up, has the runner's name but not its claim.
func TestCase07StaleWorkerSameName(t *testing.T) {
	t.Run("starting", func(t *testing.T) {
		f := open(t)
		f.queued("run", "session")
		f.ok("claimPreparedRun", claim("run", "session", "tok1"))
		f.at(lease)
		f.ok("recoverExpiredStartingRun", recovery("run", "session", object{"kind": "none"}).with(object{"expectedClaimToken": "tok1"}))
		f.ok("claimPreparedRun", claim("run", "session", "tok2"))

		f.refused("run", "tok1", "starting")
		f.fails("claimPreparedRun", claim("run", "session", "tok1"), core.CodeInvalidTransition)
		f.fails("recoverExpiredStartingRun", recovery("run", "session", object{"kind": "startFailed", "code": "activation_failed"}).
			with(object{"expectedClaimToken": "tok1"}), core.CodeClaimLost)
		f.at(2 * lease)
		f.fails("recoverExpiredStartingRun", recovery("run", "session", object{"kind": "none"}).
			with(object{"expectedClaimToken": "tok1"}), core.CodeClaimLost)
		f.at(2*lease - 1)
		f.ok("markPreparedRunRunning", held("run", "tok2"))
	})
	t.Run("running", func(t *testing.T) {
		f := open(t)
		f.running("run", "session")
		f.at(lease)
		f.ok("takeOverExpiredRun", claim("run", "session", "tok2"))

		f.refused("run", "tok", "running")
		f.fails("takeOverExpiredRun", claim("run", "session", "tok"), core.CodeClaimLive)
		f.ok("finishRunningRun", held("run", "tok2").with(object{"status": "done"}))
	})
}

// A lease is over at its expiry, not after it, and whether or not somebody else
// has claimed.
func TestCase08LateByAMillisecond(t *testing.T) {
	for _, late := range []time.Duration{0, time.Second} {
		for _, state := range []string{"starting", "running"} {
			t.Run(state+" "+late.String(), func(t *testing.T) {
				f := open(t)
				f.starting("run", "session")
				if state == "running" {
					f.ok("markPreparedRunRunning", held("run", "tok"))
				}
				f.at(lease + late)
				f.refused("run", "tok", state)
			})
		}
	}
}

func TestCase08InTimeByAMillisecond(t *testing.T) {
	last := lease - time.Millisecond
	for op, more := range tokenOps {
		t.Run(op, func(t *testing.T) {
			f := open(t)
			f.starting("run", "session")
			if op == "finishRunningRun" || op == "parkRunningRun" {
				f.ok("markPreparedRunRunning", held("run", "tok"))
			}
			f.at(last)
			f.ok(op, held("run", "tok").with(more))
		})
	}
}

// An owner that builds for longer than its lease must not run a node, but its
// failure is not lost while nobody replaced it.
func TestSlowOwnerFailsButDoesNotRun(t *testing.T) {
	f := open(t)
	f.starting("run", "session")
	f.at(2 * lease)
	f.fails("markPreparedRunRunning", held("run", "tok"), core.CodeClaimLost)
	f.fails("failPreparedRun", held("run", "tok").with(object{"errorCode": "workflow_invalid"}), core.CodeClaimLost)

	run := f.ok("recoverExpiredStartingRun", recovery("run", "session", object{"kind": "startFailed", "code": "workflow_invalid"}))
	equal(t, "status", run.text("status"), "failed")
	equal(t, "errorCode", run.text("errorCode"), "workflow_invalid")
	equal(t, "feed", f.feed("run"), "queued starting launch_failed")
	f.ok("reservePreparedRun", start("next", "session"))
}

func TestRenewNeverShortensALease(t *testing.T) {
	f := open(t)
	f.running("run", "session")
	expiry := func() string { return f.ok("getRun", object{"runId": "run"}).text("claimExpiresAt") }
	for _, step := range []struct {
		at     time.Duration
		lease  int
		expiry time.Duration
	}{
		{time.Second, 1, lease},                     // a shorter lease
		{-time.Hour, leaseMS, lease},                // a clock that was set back
		{time.Second, leaseMS, lease + time.Second}, // a longer one
	} {
		f.at(step.at)
		f.ok("renewRunClaim", held("run", "tok").with(object{"leaseMs": step.lease}))
		equal(t, "expiry", expiry(), stamp(step.expiry))
	}
	f.ok("renewRunClaim", held("run", "tok")) // the default is 30 s
	equal(t, "expiry", expiry(), stamp(time.Second+30*time.Second))
}

// Cancel is the user's: it needs no lease, so no clock can be in its way.
func TestCancelWorksWithTheClockSetBack(t *testing.T) {
	for _, state := range []string{"queued", "starting", "running", "parked"} {
		f := open(t)
		map[string]func(string, string){"queued": f.queued, "starting": f.starting, "running": f.running, "parked": f.parked}[state]("run", "session")
		f.at(-24 * time.Hour)
		run := f.ok("cancelPreparedRun", object{"runId": "run", "sessionId": "session", "origin": "agent"})
		equal(t, "status", run.text("status"), "cancelled")
		equal(t, "finishedAt", run.text("finishedAt"), stamp(-24*time.Hour))
		equal(t, "origin", f.payload("run").text("origin"), "agent")
		f.ok("reservePreparedRun", start("next", "session"))
	}
}

// The loser of a race is told the state that won.
func TestLoserOfACancelIsToldTheState(t *testing.T) {
	f := open(t)
	f.running("run", "session")
	f.ok("finishRunningRun", held("run", "tok").with(object{"status": "failed", "errorCode": "timed_out"}))
	e := f.fails("cancelPreparedRun", object{"runId": "run"}, core.CodeInvalidTransition)
	equal(t, "status", e.Details["status"], any("failed"))

	f.running("other", "session")
	f.ok("cancelPreparedRun", object{"runId": "other"})
	e = f.fails("finishRunningRun", held("other", "tok").with(object{"status": "done"}), core.CodeInvalidTransition)
	equal(t, "status", e.Details["status"], any("cancelled"))
}

func TestClaimIsRepeatedSafely(t *testing.T) {
	f := open(t)
	f.queued("run", "session")
	for _, op := range []string{"claimPreparedRun", "claimNextRun"} {
		request := claim("run", "session", "tok")
		if op == "claimNextRun" {
			delete(request, "runId")
		}
		for range 2 {
			run := f.ok(op, request)
			equal(t, op+" token", run.text("claimToken"), "tok")
			equal(t, op+" expiry", run.text("claimExpiresAt"), stamp(lease))
			if run["input"] == nil {
				t.Errorf("%s, repeated, has no input", op)
			}
		}
	}
	equal(t, "feed", f.feed("run"), "queued starting")
}

// A release lets the next process go on at once.
func TestReleasedClaimIsRecoveredAtOnce(t *testing.T) {
	f := open(t)
	f.starting("run", "session")
	f.at(time.Second)
	f.ok("releaseRunClaim", held("run", "tok"))
	runs := f.list("listRecoverableRuns", object{"sessionId": "session", "limit": 10})
	if len(runs) != 1 || runs[0].text("claimToken") != "tok" {
		t.Fatalf("have %v", runs)
	}
	f.ok("recoverExpiredStartingRun", recovery("run", "session", object{"kind": "none"}))
	equal(t, "status", f.row("run").text("status"), "queued")
}

// With a right token and another digest nothing changes; the host then fails the
// run. A digest comes before a lost claim.
func TestSourceChangedLeavesTheRun(t *testing.T) {
	f := open(t)
	f.starting("run", "session")
	other := held("run", "tok").with(object{"definitionDigest": "digest-2"})
	e := f.fails("markPreparedRunRunning", other, core.CodeSourceChanged)
	equal(t, "run", e.Details["runId"], any("run"))
	f.fails("markPreparedRunRunning", other.with(object{"claimToken": "lost"}), core.CodeSourceChanged)
	f.ok("failPreparedRun", held("run", "tok").with(object{"errorCode": "source_changed"}))
}

func TestDigestThatMatches(t *testing.T) {
	for stored, given := range map[string]string{"digest-1": "digest-1", "unavailable": "digest-2", "digest-3": ""} {
		f := open(t)
		f.ok("reservePreparedRun", start("run", "").with(object{"definitionDigest": stored}))
		f.ok("claimPreparedRun", claim("run", "", "tok"))
		request := held("run", "tok")
		if given != "" {
			request["definitionDigest"] = given
		}
		equal(t, stored, f.ok("markPreparedRunRunning", request).text("status"), "running")
	}
}
