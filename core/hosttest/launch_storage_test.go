package hosttest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
)

// launchBroken fails one call, and its repeats, for some things seen; it checks that
// each thing brings one try, and that the first repeat is the same call.
type launchBroken struct {
	p       *launchProcess
	at      int // the call that fails first
	fault   launchFault
	times   int
	calls   int
	op      string
	request string
	tried   int // the thing seen at the last try
	open    bool
}

// What is repeated with other words was not repeated.
var launchRepeats = "claimNextRun claimPreparedRun takeOverExpiredRun recoverExpiredStartingRun markPreparedRunRunning failPreparedRun finishRunningRun parkRunningRun"

func (b *launchBroken) take(op string, request []byte) launchFault {
	if !launchIsOp(op) {
		return launchWorks
	}
	if b.calls++; b.calls == b.at {
		b.op, b.request, b.tried, b.open = op, string(request), b.p.things, true
		b.times--
		return b.fault
	}
	if !b.open || op != b.op {
		return launchWorks
	}
	if b.tried == b.p.things {
		b.p.w.Errorf("%s was tried again at once", op)
	}
	if strings.Contains(launchRepeats, op) && string(request) != b.request {
		b.p.w.Errorf("repeated otherwise: %s, %s", request, b.request)
	}
	b.tried = b.p.things
	b.open = b.times > 0
	if b.times--; b.open {
		return b.fault
	}
	return launchWorks
}

// Each call of each life fails once, or three times, before it happened or after:
// the life ends as without it, and nothing is done twice.
//
// Guards: Blocked after store_unavailable (each refusal); the kept token
// (claimToken); repeats of the ops; Hold kept after a retry of release and record.
func TestLaunchAStorageErrorChangesALife(t *testing.T) {
	t.Parallel()
	all, n := newLaunchWorld(t, launchSession), 0
	for name, life := range launchLives {
		n++
		w, l := all.fresh(n), life
		l.begin(w)
		l.live(w.process("p"))
		feed, acted := w.feed(w.runID), w.engine.Acted[w.runID]
		launchEqual(t, name, w.status(w.runID), l.ending())
		for _, fault := range []launchFault{launchLost, launchHalfFails} {
			for _, times := range []int{1, 3} {
				for at := 1; ; at++ {
					n++
					w, l := all.fresh(n), life
					l.begin(w)
					p := w.process("p")
					b := &launchBroken{p: p, at: at, fault: fault, times: times}
					p.fault = b.take
					l.live(p)
					if b.calls < at {
						break
					}
					launchEqual(t, "state", w.status(w.runID), l.ending())
					launchEqual(t, "feed", w.feed(w.runID), feed)
					launchEqual(t, "acted", w.engine.Acted[w.runID], acted)
					w.reserve(w.runID + "-next")
					p.fault, p.Engine.Fails, p.Engine.Slow = nil, nil, false
					p.sees(p.Settled)
					launchEqual(t, "state of the next", w.status(w.runID+"-next"), core.Running)
					if t.Failed() {
						t.Fatalf("%s: call %d, %s, fails %d times, %v:\n%s", name, at, b.op, times, fault, strings.Join(w.log, "\n"))
					}
				}
			}
		}
	}
}

// While the store is away, each thing seen brings one call, and none is repeated.
//
// Guard: Blocked.
func TestLaunchAnOutageIsATightLoop(t *testing.T) {
	all, n := newLaunchWorld(t, launchSession), 0
	for name, life := range launchLives {
		for stop := range 12 {
			n++
			w, l := all.fresh(n), life
			l.begin(w)
			p := w.process("p")
			calls := 0
			p.fault = func(op string, _ []byte) launchFault {
				if calls++; launchIsOp(op) && calls > stop {
					return launchLost
				}
				return launchWorks
			}
			l.live(p)
			tries := w.count("listRecoverableRuns: store_unavailable")
			for _, op := range strings.Fields(launchRepeats + " renewRunClaim verifyRunClaim releaseRunClaim recordRunEvent") {
				tries += w.count(op + ": store_unavailable")
			}
			if tries > p.things {
				t.Fatalf("%s, away after %d calls: %d tries for %d things:\n%s", name, stop, tries, p.things, strings.Join(w.log, "\n"))
			}
		}
	}
}

// The loss of a claim is recorded, also where the store does not answer at first.
//
// Guards: phaseLost is kept until it was recorded (DoRecord); Blocked.
func TestLaunchALossIsNotRecorded(t *testing.T) {
	w := newLaunchWorld(t, launchSession)
	p := sleeper(w)
	q := w.process("q")
	q.sees(q.SessionStart)
	p.fault = func(op string, _ []byte) launchFault {
		if op == "recordRunEvent" {
			return launchLost
		}
		return launchWorks
	}
	p.polls(2)
	launchEqual(t, "tries", w.count("recordRunEvent: store_unavailable"), 2)
	launchEqual(t, "stops", w.count("p stop"), 1)
	p.fault = nil
	p.polls(2)
	launchEqual(t, "feed", w.feed("run"), "queued starting running claim_transferred claim_lost")
}

// The claim is given back at the next thing seen, where the store did not answer.
//
// Guards: phaseRelease is kept until it was released.
func TestLaunchARefusedReleaseIsForgotten(t *testing.T) {
	for _, fault := range []launchFault{launchLost, launchHalfFails} {
		w := newLaunchWorld(t, launchSession)
		w.reserve("run")
		p := w.process("p")
		p.sees(p.Settled)
		p.fault = func(op string, _ []byte) launchFault {
			if op == "releaseRunClaim" {
				return fault
			}
			return launchWorks
		}
		p.sees(p.Shutdown)
		p.fault = nil
		p.sees(p.Poll)
		q := w.process("q")
		q.sees(q.SessionStart)
		launchEqual(t, "acted", w.count("q run"), 1)
		launchEqual(t, "stops", w.count("p stop"), 1)
	}
}

// An open claim is asked for again before other work is begun, and its token is of
// one run only.
//
// Guard: an open claim (Token) goes before the list of expired runs.
func TestLaunchTheTokenOfAnOpenClaimTakesAnotherRun(t *testing.T) {
	w := newLaunchWorld(t, "") // a detached host may have several
	w.reserve("claimed")
	p := w.process("p")
	p.fault = func(op string, _ []byte) launchFault {
		if op == "claimNextRun" {
			return launchHalfFails
		}
		return launchWorks
	}
	p.sees(p.Poll)
	p.fault = nil
	launchEqual(t, "state", w.status("claimed"), core.Starting)
	w.reserve("left") // and its owner is gone at once
	left := w.ran("gone")
	w.call("releaseRunClaim", core.HoldRequest{RunID: "left", ClaimToken: left.ClaimToken})
	w.engine.Bundles["left"] = core.Finding{Kind: core.FindingRunning}
	p.polls(1)
	launchEqual(t, "acts of the claimed", w.engine.Acted["claimed"], 1)
	p.sees(p.ended("claimed", core.EngineDone))
	p.polls(1)
	launchEqual(t, "acts of the other", w.engine.Acted["left"], 1)
	p.polls(20)
	for _, runID := range []string{"claimed", "left"} {
		launchEqual(t, "starts of "+runID, strings.Count(w.feed(runID), "starting"), 1)
	}
}

// A claim whose outcome is open is asked for again where no turn is active.
//
// Guard: MayStart for an open claim (rest).
func TestLaunchAnOpenClaimStartsInATurn(t *testing.T) {
	for _, fault := range []launchFault{launchLost, launchHalfFails} {
		w := newLaunchWorld(t, launchSession)
		w.reserve("run")
		p := w.process("p")
		p.fault = func(op string, _ []byte) launchFault {
			if op == "claimNextRun" {
				return fault
			}
			return launchWorks
		}
		p.sees(p.Settled, p.Poll)
		launchEqual(t, "open claims", w.count("claimNextRun: store_unavailable"), 2)
		p.fault = nil
		p.Session.StartTurn()
		p.polls(3)
		launchEqual(t, "builds in the turn", w.count("build"), 0)
		p.sees(p.Settled)
		launchEqual(t, "acted", w.engine.Acted["run"], 1)
	}
}

// While the store is away nobody can say whether the run is still ours: it acts until
// its lease is over, and no longer. What had ended by then is stored later.
//
// Guards: EndMS in refused, after each op that tells the end of the lease; h.End there.
func TestLaunchAnOutageLetsAStaleRunAct(t *testing.T) {
	away := func(string, []byte) launchFault { return launchLost }
	for name, ended := range map[string]bool{"acts": false, "ended": true} {
		for _, polls := range []int{0, 5, 15} { // in which it is renewed
			w := newLaunchWorld(t, launchSession)
			w.reserve("run")
			p := w.process("p")
			p.sees(p.Settled)
			p.polls(polls)
			if p.fault = away; ended {
				p.sees(p.ended("run", core.EngineDone))
			}
			ends, err := time.Parse(time.RFC3339, *w.run("run").ClaimExpiresAt)
			w.must(err)
			w.clock.Advance(ends.Sub(w.clock.Now()) - time.Millisecond)
			p.sees(p.Poll, p.node("run"))
			launchEqual(t, name+": stopped within its lease", p.Stopped["run"], "")
			w.clock.Advance(time.Millisecond)
			p.sees(p.Poll)
			if !ended {
				launchEqual(t, "stopped after its lease", p.Stopped["run"], core.StopClaimLost)
			}
			p.fault = nil
			if p.polls(2); ended {
				w.ends("run", core.Done, "")
				launchEqual(t, "acted", w.engine.Acted["run"], 1)
				launchEqual(t, "stopped, though it has ended", p.Stopped["run"], "")
				launchEqual(t, "feed", w.feed("run"), "queued starting running claim_transferred done")
				continue
			}
			launchEqual(t, "acts again", p.Engine.Acting["run"], true)
			launchEqual(t, "state", w.status("run"), core.Running)
		}
	}
}

// A sleeper whose take-over has an open outcome holds the run again a poll later, and
// its token is of no other run. Where the store does not answer by then, its engine is
// stopped: it has no lease, and another runner may have come.
//
// Guards: the token and Regain are kept until the take-over was answered; EndMS of a
// lease that lapsed (refused).
func TestLaunchAnOpenTakeOverIsDropped(t *testing.T) {
	for n := range 6 {
		fault, polls := launchFault(1+n%2), n/2 // after the first
		w := newLaunchWorld(t, "")
		p := sleeper(w)
		w.reserve("queued")
		p.fault = func(op string, _ []byte) launchFault {
			if op == "takeOverExpiredRun" {
				return fault
			}
			return launchWorks
		}
		p.sees(p.Poll)
		p.polls(polls)
		p.fault = nil
		if polls > 0 {
			launchEqual(t, "stopped", p.Stopped["run"], core.StopClaimLost)
			launchEqual(t, "acting", p.Engine.Acting["run"], false)
			continue
		}
		p.polls(1)
		launchEqual(t, "state", w.status("run"), core.Running)
		launchEqual(t, "acting", p.Engine.Acting["run"], true)
		launchEqual(t, "state of the queued", w.status("queued"), core.Queued)
		p.sees(p.ended("run", core.EngineDone))
		w.ends("run", core.Done, "")
	}
}

// A store that was closed, or is another one, ends the activation and not the
// process.
//
// Guard: what is refused for good is let go (gone).
func TestLaunchAnotherStoreIsAskedForEver(t *testing.T) {
	w := newLaunchWorld(t, launchSession)
	w.reserve("run")
	p := w.process("p")
	p.sees(p.Settled)
	other := newLaunchWorld(t, launchSession)
	p.Host.Store = launchElsewhere{other, p}
	p.polls(3)
	if p.Stopped["run"] == "" {
		t.Error("the engine of a run that is not in the store goes on")
	}
	other.reserve("next")
	p.polls(1)
	launchEqual(t, "state of the next", fmt.Sprint(other.status("next")), string(core.Running))
}

// launchElsewhere is another world's store.
type launchElsewhere struct {
	w *launchWorld
	p *launchProcess
}

func (e launchElsewhere) Call(ctx context.Context, op string, request []byte) ([]byte, error) {
	answer, err := e.w.store.Call(ctx, op, request)
	e.p.note(op, err)
	return answer, err
}

// The take-over of an engine that was stopped meanwhile comes again at the next poll:
// it may have happened, and nobody else would look before its lease is over. Its token
// takes no other run, and what has expired goes before what is queued.
//
// Guard: the hold outlives the stop while its take-over is open (stopped).
func TestLaunchAStoppedTakeOverIsForgotten(t *testing.T) {
	for _, fault := range []launchFault{launchLost, launchHalfFails} {
		for _, session := range []string{launchSession, ""} {
			w := newLaunchWorld(t, session)
			p := sleeper(w)
			if session == "" {
				w.reserve("queued")
			}
			p.fault = func(op string, _ []byte) launchFault {
				if op == "takeOverExpiredRun" {
					return fault
				}
				return launchWorks
			}
			p.sees(p.Poll)
			p.polls(2)
			p.fault = nil
			p.polls(1)
			launchEqual(t, "acting", p.Engine.Acting["run"], true)
			if session == "" {
				launchEqual(t, "state of the queued", w.status("queued"), core.Queued)
			}
			p.sees(p.ended("run", core.EngineDone))
			w.ends("run", core.Done, "")
		}
	}
}
