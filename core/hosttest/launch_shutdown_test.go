package hosttest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// At each point of a run's life its process shuts down, and the next one starts at
// that very instant: case 22. What was told before is stored; all else goes on.
//
// Guards: Closed before any further step (choose, and where an answer brings a build
// or a run); Stop before the release; End before Closed; phaseRelease.
func TestLaunchARestartWaitsForTheLease(t *testing.T) {
	launchAtEachPoint(t, func(w *launchWorld, l *launchLife, p *launchProcess, meet func(func(string) bool)) func() {
		met := ""
		meet(func(point string) bool {
			met = point
			if point == "build" || point == "run" { // it comes after these
				return false
			}
			w.must(p.Shutdown())
			p.gone = true
			return false
		})
		return func() {
			if met == "build" || met == "run" {
				return
			}
			checkShutdown(w, p, met)
			ended := w.status(w.runID)
			q := w.process("q")
			q.sees(q.SessionStart)
			if l.told || ended.Terminal() { // a launch that failed
				launchEqual(w, "state", w.status(w.runID), l.ending())
				launchEqual(w, "acted again", w.count("q run"), 0)
				return
			}
			run := w.run(w.runID)
			if run.Status != core.Running || *run.RunnerID != "q" || w.count("q run") != 1 {
				w.Errorf("the next process does not go on: %s", run.Status)
			}
		}
	})
}

// checkShutdown checks what a process did since.
func checkShutdown(w *launchWorld, p *launchProcess, met string) {
	w.Helper()
	mark := slices.Index(w.log, "@"+met)
	for _, what := range []string{"p build", "p writeBundle", "p run"} {
		if slices.Contains(w.log[mark:], what) {
			w.Errorf("%s after the shutdown", what)
		}
	}
	released := slices.Index(w.log, "p releaseRunClaim")
	if released >= 0 && slices.Contains(w.log, "p build") || slices.Contains(w.log, "p run") && released >= 0 {
		if !slices.Contains(w.log[:released], "p stop") {
			w.Errorf("released before the engine was stopped")
		}
	}
	if status := w.status(w.runID); status == core.Parked && !strings.Contains(strings.Join(w.log[:mark], " "), "parkRunningRun") && met != "park" && met != "after park" {
		w.Errorf("parked by the shutdown")
	}
}

// After its shutdown a process starts nothing.
//
// Guard: Closed in rest.
func TestLaunchAClosedProcessStartsARun(t *testing.T) {
	w := newLaunchWorld(t, launchSession)
	w.reserve("run")
	p := w.process("p")
	p.sees(p.Settled, p.Shutdown, p.Shutdown)
	launchEqual(t, "released", w.count("releaseRunClaim"), 1)
	launchEqual(t, "state", w.status("run"), core.Running)
	launchEqual(t, "stopped", p.Stopped["run"], core.StopShutdown)
	done := len(w.log)
	p.sees(p.Settled, p.SessionStart, p.Poll, p.node("run"), p.ended("run", core.EngineDone))
	launchEqual(t, "done after its shutdown", len(w.log), done)
}

// An engine whose end is known by the shutdown, and could not be stored before.
//
// Guard: End before Closed (choose).
func TestLaunchAShutdownLosesAnEnd(t *testing.T) {
	for outcome, want := range map[core.EngineOutcome]core.Status{
		core.EngineDone: core.Done, core.EngineFailed: core.Failed, core.EngineWaiting: core.Parked,
	} {
		w := newLaunchWorld(t, launchSession)
		w.reserve("run")
		p := w.process("p")
		p.sees(p.Settled)
		p.fault = func(string, []byte) launchFault { return launchLost }
		p.sees(p.ended("run", outcome))
		launchEqual(t, "state", w.status("run"), core.Running)
		p.fault = nil
		p.sees(p.Shutdown)
		launchEqual(t, "state", w.status("run"), want)
	}
}

// The same of a build that failed.
//
// Guard: End before Closed (choose).
func TestLaunchAShutdownLosesAFailure(t *testing.T) {
	w := newLaunchWorld(t, launchSession)
	w.reserve("run")
	p := w.process("p")
	p.Engine.Slow = true
	p.sees(p.Settled)
	p.fault = func(string, []byte) launchFault { return launchLost }
	p.Engine.Fails = &core.Finding{Code: core.FailureInputInvalid}
	p.sees(p.built("run"))
	p.fault = nil
	p.sees(p.Shutdown)
	w.ends("run", core.Failed, core.FailureInputInvalid)
}

// A claim whose outcome is open when the process shuts down is given back too: the
// next process does not wait for it.
//
// Guard: the token of an open claim (Token) is released with the rest.
func TestLaunchAnOpenClaimOutlivesTheShutdown(t *testing.T) {
	for op, left := range map[string]core.Status{
		"claimNextRun": "", "recoverExpiredStartingRun": core.Starting, "takeOverExpiredRun": core.Running,
	} {
		t.Run(op, func(t *testing.T) {
			w := newLaunchWorld(t, launchSession)
			w.reserve("run")
			(&launchLife{left: left}).begin(w)
			p := w.process("p")
			p.fault = func(have string, _ []byte) launchFault {
				if have == op {
					return launchHalfFails
				}
				return launchWorks
			}
			p.sees(p.SessionStart)
			p.fault = nil
			p.sees(p.Shutdown)
			q := w.process("q")
			q.sees(q.SessionStart)
			launchEqual(t, "acted", w.count("q run"), 1)
		})
	}
}
