package hosttest_test

import (
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
)

// slowOwner is a process whose build lasts longer than its lease.
func slowOwner(w *launchWorld) *launchProcess {
	w.reserve("run")
	p := w.process("p")
	p.Engine.Slow = true
	p.sees(p.Settled)
	w.dies()
	return p
}

// slowOwnerSees are what a slow owner sees at last, and the code that is stored.
var slowOwnerSees = []struct {
	name string
	see  func(*launchProcess)
	code core.FailureCode
}{
	{"its failure", func(p *launchProcess) {
		p.Engine.Fails = &core.Finding{Code: core.FailureInputInvalid, Message: "no such field"}
		p.sees(p.built("run"))
	}, core.FailureInputInvalid},
	{"its end", func(p *launchProcess) { p.sees(p.built("run")) }, core.FailureActivationFailed},
	{"a poll", func(p *launchProcess) { p.sees(p.Poll) }, core.FailureActivationFailed},
}

// Guards: claim_lost of what is launching is its failure, not a lost claim
// (h.launching() in refused); claim_lost of DoFail goes to recovery (End.Late).
func TestLaunchTheFailureOfASlowOwnerIsLost(t *testing.T) {
	for _, c := range slowOwnerSees {
		for _, session := range []string{launchSession, ""} {
			t.Run(c.name+" "+session, func(t *testing.T) {
				w := newLaunchWorld(t, session)
				p := slowOwner(w)
				c.see(p)
				w.ends("run", core.Failed, c.code)
				launchEqual(t, "acted", w.engine.Acted["run"], 0)
				if session != "" {
					w.owes("run", core.CauseLaunchFailed)
					w.reserve("corrected")
				}
				launchEqual(t, "feed", w.feed("run"), "queued starting launch_failed")
			})
		}
	}
}

// A build that ended after its lease is ended before its session is free.
//
// Guard: Stop in fail.
func TestLaunchASlowEngineOutlivesItsFailure(t *testing.T) {
	w := newLaunchWorld(t, launchSession)
	p := slowOwner(w)
	p.sees(p.Poll)
	launchEqual(t, "stopped", p.Stopped["run"], core.StopFailed)
	w.before("p stop", "p failPreparedRun: claim_lost")
	w.before("p failPreparedRun: claim_lost", "p recoverExpiredStartingRun")
}

// launchTakenOver are what other processes may have made of a run whose owner is
// slow.
var launchTakenOver = map[string]func(*launchWorld){
	"queued again": func(w *launchWorld) { w.requeue() },
	"starting elsewhere": func(w *launchWorld) {
		q := w.process("q")
		q.Engine.Slow = true
		q.sees(q.SessionStart)
	},
	"running elsewhere": func(w *launchWorld) { q := w.process("q"); q.sees(q.SessionStart) },
	"done elsewhere": func(w *launchWorld) {
		q := w.process("q")
		q.sees(q.SessionStart, q.ended("run", core.EngineDone))
	},
	"failed elsewhere": func(w *launchWorld) {
		q := w.process("q")
		q.Engine.Fails = &core.Finding{Code: core.FailureWorkflowNotFound}
		q.sees(q.SessionStart)
	},
	"parked elsewhere": func(w *launchWorld) {
		q := w.process("q")
		q.sees(q.SessionStart, q.ended("run", core.EngineWaiting))
	},
	"cancelled": func(w *launchWorld) { w.must(w.cancel("run")) },
}

// requeue recovers the run as another host does, and claims nothing.
func (w *launchWorld) requeue() {
	w.Helper()
	w.call("recoverExpiredStartingRun", core.RecoverRequest{
		RunID: "run", SessionID: w.session.ID, ExpectedClaimToken: w.deadToken("run"), Finding: &core.Finding{Kind: core.FindingNone},
	})
}

// A slow owner that was replaced does nothing and says nothing, but ends its engine:
// a stale handler gets no ownership and performs no side effect.
//
// Guards: the dead token in startFailed (End.Late); gone; no bundle from an owner
// whose lease is over.
func TestLaunchAReplacedOwnerSpeaks(t *testing.T) {
	for name, takeOver := range launchTakenOver {
		for _, c := range slowOwnerSees {
			t.Run(name+", "+c.name, func(t *testing.T) {
				w := newLaunchWorld(t, launchSession)
				p := slowOwner(w)
				takeOver(w)
				before, acted, bundle := w.stored("run"), w.engine.Acted["run"], w.engine.Bundles["run"]
				p.Session.StartTurn() // in which nothing new starts
				c.see(p)
				p.sees(p.node("run"))
				launchEqual(t, "stored", w.stored("run"), before)
				launchEqual(t, "acted", w.engine.Acted["run"], acted)
				launchEqual(t, "bundle", w.engine.Bundles["run"], bundle)
				if c.name != "its failure" && p.Stopped["run"] == "" {
					t.Errorf("its engine was not stopped: %v", w.log)
				}
			})
		}
	}
}

// An owner that slept through its lease before its bundle was written, and comes
// back to a bundle of another runner, leaves that alone.
//
// Guard: the claim is looked at before the bundle is written.
func TestLaunchAStaleOwnerOverwritesTheBundle(t *testing.T) {
	w := newLaunchWorld(t, launchSession)
	p := slowOwner(w)
	q := w.process("q")
	q.sees(q.SessionStart, q.ended("run", core.EngineWaiting))
	p.sees(p.built("run"))
	launchEqual(t, "bundle", w.engine.Bundles["run"].Kind, core.FindingWaiting)
	launchEqual(t, "written", w.count("p writeBundle"), 0)
}

// A look at what is left of a run may outlast the new claim too: who was replaced
// meanwhile lets nothing act, and who was not goes on.
//
// Guards: the claim is looked at before a run that was taken over acts; phaseTaken in
// refused.
func TestLaunchAStaleRecoveryActs(t *testing.T) {
	for _, replaced := range []bool{true, false} {
		w := newLaunchWorld(t, launchSession)
		w.left("run", core.Running, core.Finding{Kind: core.FindingRunning})
		p, q := w.process("p"), w.process("q")
		p.at = func(point string) bool {
			if point == "inspect" && w.count("p inspect") == 1 {
				w.clock.Advance(time.Hour)
				if replaced {
					q.sees(q.SessionStart)
				}
			}
			return false
		}
		p.sees(p.SessionStart)
		p.polls(1)
		launchEqual(t, "acts of the first", w.count("p run") == 0, replaced)
		launchEqual(t, "acts", w.count("p run")+w.count("q run"), 1)
		w.actsOnce()
	}
}

// sleeper is a process whose run runs, after its lease.
func sleeper(w *launchWorld) *launchProcess {
	w.reserve("run")
	p := w.process("p")
	p.sees(p.Settled)
	w.clock.Advance(time.Hour)
	return p
}

// Guards: Regain where nobody replaced us (unreplaced); it goes before the end
// (choose); a lapsed lease is no lost claim.
func TestLaunchASleeperThatNobodyReplacedGivesUp(t *testing.T) {
	for name, wake := range map[string]func(*launchProcess) func() error{
		"poll": func(p *launchProcess) func() error { return p.Poll },
		"node": func(p *launchProcess) func() error { return p.node("run") },
		"done": func(p *launchProcess) func() error { return p.ended("run", core.EngineDone) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newLaunchWorld(t, launchSession)
			p := sleeper(w)
			p.sees(wake(p))
			launchEqual(t, "taken over", w.count("p takeOverExpiredRun"), 1)
			launchEqual(t, "stopped", p.Stopped["run"], "")
			p.polls(20)
			if name != "done" {
				launchEqual(t, "state", w.status("run"), core.Running)
				launchEqual(t, "feed", w.feed("run"), "queued starting running claim_transferred")
				p.sees(p.ended("run", core.EngineDone))
			}
			w.ends("run", core.Done, "")
			launchEqual(t, "acted", w.engine.Acted["run"], 1)
			launchEqual(t, "feed", w.feed("run"), "queued starting running claim_transferred done")
		})
	}
}

// It sleeps again and again, also in the middle of a renewal whose outcome it does
// not know.
//
// Guards: ExpiresAt after each op that tells it (hold); ExpiresAt == "" in unreplaced.
func TestLaunchASleeperGivesUpAtItsSecondSleep(t *testing.T) {
	for i, fault := range []launchFault{launchWorks, launchWorks, launchLost, launchHalfFails} {
		w := newLaunchWorld(t, launchSession)
		w.reserve("run")
		p := w.process("p")
		p.sees(p.Settled)
		for range 3 {
			p.fault = func(op string, _ []byte) launchFault {
				if op == "renewRunClaim" {
					return fault
				}
				return launchWorks
			}
			p.polls(4 + i) // the fourth renews
			p.fault = nil
			w.clock.Advance(time.Hour)
			p.sees(p.Poll)
		}
		launchEqual(t, "feed", w.feed("run"), "queued starting running claim_transferred claim_transferred claim_transferred")
		launchEqual(t, "stopped", p.Stopped["run"], "")
		launchEqual(t, "acted", w.engine.Acted["run"], 1)
	}
}

// A renewal whose outcome is open is no sign that nobody came.
//
// Guard: the row's runner in unreplaced.
func TestLaunchAnOpenRenewalHidesAnotherRunner(t *testing.T) {
	for _, fault := range []launchFault{launchLost, launchHalfFails} {
		w := newLaunchWorld(t, launchSession)
		w.reserve("run")
		p := w.process("p")
		p.sees(p.Settled)
		p.polls(3)
		p.fault = func(string, []byte) launchFault { return fault }
		p.polls(1)
		launchEqual(t, "renewals", w.count("renewRunClaim: store_unavailable"), 1)
		p.fault = nil
		w.clock.Advance(time.Hour)
		q := w.process("q")
		q.sees(q.SessionStart)
		w.dies()
		p.Session.StartTurn() // in which nothing new starts
		p.sees(p.Poll)
		launchEqual(t, "stopped", p.Stopped["run"], core.StopClaimLost)
		launchEqual(t, "taken over", w.count("p takeOverExpiredRun"), 0)
	}
}

// Guards: gone tells cancelled, ended and lost apart; the loss is recorded once
// (phaseLost); the row's runner in unreplaced, also where the new lease is over too.
func TestLaunchAReplacedSleeperGoesOn(t *testing.T) {
	for _, c := range []struct {
		name    string
		replace func(*launchWorld)
		why     core.StopReason
		lost    int
	}{
		{"running elsewhere", func(w *launchWorld) { q := w.process("q"); q.sees(q.SessionStart) }, core.StopClaimLost, 1},
		{"running elsewhere, expired", func(w *launchWorld) {
			q := w.process("q")
			q.sees(q.SessionStart)
			w.dies()
		}, core.StopClaimLost, 1},
		{"running in a namesake, expired", func(w *launchWorld) { // case 7
			q := w.process("p")
			q.sees(q.SessionStart)
			w.dies()
		}, core.StopClaimLost, 1},
		{"done elsewhere", func(w *launchWorld) {
			q := w.process("q")
			q.sees(q.SessionStart, q.ended("run", core.EngineDone))
		}, core.StopEnded, 0},
		{"failed elsewhere", func(w *launchWorld) {
			w.engine.Bundles["run"] = core.Finding{Kind: core.FindingUnreadable}
			q := w.process("q")
			q.sees(q.SessionStart)
		}, core.StopEnded, 0},
		{"parked elsewhere", func(w *launchWorld) {
			q := w.process("q")
			q.sees(q.SessionStart, q.ended("run", core.EngineWaiting))
		}, core.StopEnded, 0},
		{"cancelled", func(w *launchWorld) { w.must(w.cancel("run")) }, core.StopCancelled, 0},
	} {
		for _, wake := range []string{"poll", "node", "done", "failed", "waiting"} {
			t.Run(c.name+", "+wake, func(t *testing.T) {
				w := newLaunchWorld(t, launchSession)
				p := sleeper(w)
				c.replace(w)
				before, acted := w.run("run"), w.engine.Acted["run"]
				p.Session.StartTurn() // in which nothing new starts
				switch wake {
				case "poll":
					p.sees(p.Poll)
				case "node":
					p.sees(p.node("run"))
				default:
					p.sees(p.ended("run", core.EngineOutcome(wake)))
				}
				launchEqual(t, "stopped", p.Stopped["run"], c.why)
				launchEqual(t, "recorded", w.count("p recordRunEvent"), c.lost)
				launchEqual(t, "state", w.status("run"), before.Status)
				launchEqual(t, "changed", w.run("run").UpdatedAt, before.UpdatedAt)
				launchEqual(t, "acted", w.engine.Acted["run"], acted)
				p.sees(p.node("run"), p.ended("run", core.EngineDone))
				launchEqual(t, "changed later", w.run("run").UpdatedAt, before.UpdatedAt)
			})
		}
	}
}
