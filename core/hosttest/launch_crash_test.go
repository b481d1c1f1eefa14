package hosttest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// launchReleases are the ops after which an engine may act.
var launchReleases = []string{"markPreparedRunRunning", "takeOverExpiredRun", "recoverExpiredStartingRun"}

// actsOnce checks that each act of each process has a release of its own.
func (w *launchWorld) actsOnce() {
	w.Helper()
	released := map[string]bool{}
	for _, entry := range w.log {
		process, what, _ := strings.Cut(entry, " ")
		if slices.Contains(launchReleases, what) {
			released[process] = true
		}
		if what == "run" && !released[process] {
			w.Errorf("%s acts without a release", process)
		}
		if what == "run" {
			released[process] = false
		}
	}
}

// goesOn checks that a process brought the run to its end, or holds it and acts,
// and that the session can start again once it ended.
func (w *launchWorld) goesOn(q *launchProcess, told bool, ending core.Status) {
	w.Helper()
	w.actsOnce()
	run := w.run(w.runID)
	switch {
	case told:
		launchEqual(w, "state of what has ended", run.Status, ending)
	case run.Status == core.Running && *run.RunnerID == q.name:
		launchEqual(w, "acts of the next process", w.count(q.name+" run"), 1)
		q.sees(q.ended(w.runID, core.EngineDone))
		launchEqual(w, "state", w.status(w.runID), core.Done)
	case !run.Status.Terminal():
		w.Errorf("after the crash the run is %s, and nobody has it", run.Status)
	}
	w.reserve(w.runID + "-next")
	q.sees(q.Settled)
	launchEqual(w, "state of the next", w.status(w.runID+"-next"), core.Running)
}

// At each point of a run's life its process is killed, and restarted: within a lease
// and a poll the session can start again. Case 11.
//
// Guards: each phase of what is recovered (rest); the requeued is claimed in the same
// pass.
func TestLaunchAKilledProcessLeavesARunStuck(t *testing.T) {
	launchAtEachPoint(t, func(w *launchWorld, l *launchLife, p *launchProcess, meet func(func(string) bool)) func() {
		meet(func(string) bool {
			p.gone = true
			return true
		})
		return func() {
			told := l.told
			q := w.process("q")
			q.sees(q.SessionStart) // at once, where its lease lives
			w.dies()
			q.polls(1)
			w.goesOn(q, told, l.ending())
		}
	})
}

// The same of the process that recovers, at each point, for each finding.
//
// Guards: as above, and the repeated walk of a recovery.
func TestLaunchAKilledRecoveryLeavesARunStuck(t *testing.T) {
	all, n := newLaunchWorld(t, launchSession), 0
	for _, f := range launchFindings {
		for _, status := range []core.Status{core.Starting, core.Running} {
			for at := 1; ; at++ {
				n++
				w := all.fresh(n)
				p := w.process("gone")
				p.Engine.Slow = status == core.Starting
				p.sees(p.Settled)
				w.dies()
				if w.engine.Bundles[w.runID] = f.finding; f.name == "none" {
					delete(w.engine.Bundles, w.runID)
				}
				q, points := w.process("q"), 0
				q.at = func(string) bool {
					if !q.turns {
						points++
					}
					return !q.turns && points == at
				}
				q.sees(q.SessionStart)
				if points < at {
					break
				}
				w.dies()
				r := w.process("r")
				r.sees(r.SessionStart)
				ends := f.starting
				if status == core.Running {
					ends = f.running
				}
				w.goesOn(r, ends.status != core.Running, ends.status)
				if t.Failed() {
					t.Fatalf("%s %s, killed at point %d:\n%s", status, f.name, at, strings.Join(w.log, "\n"))
				}
			}
		}
	}
}

// A build that kills its process: case 21. Three starts, and the launch has failed.
//
// Guards: the count of starts in the op; here, that `none` goes to it, once a pass.
func TestLaunchACrashLoopHasNoEnd(t *testing.T) {
	for _, point := range []string{"after claim", "build", "after build", "writeBundle"} {
		t.Run(point, func(t *testing.T) {
			w := newLaunchWorld(t, launchSession)
			w.reserve("run")
			for i := range 3 {
				p := w.process(fmt.Sprint("p", i))
				p.at = func(have string) bool { return have == point }
				p.sees(p.SessionStart)
				launchEqual(t, "state", w.status("run"), core.Starting)
				w.dies()
			}
			p := w.process("p")
			p.sees(p.SessionStart, p.Poll, p.Settled)
			w.ends("run", core.Failed, core.FailureActivationFailed)
			launchEqual(t, "feed", w.feed("run"), "queued starting requeued starting requeued starting launch_failed")
			launchEqual(t, "builds of the last process", w.count("p build"), 0)
			launchEqual(t, "acted", w.engine.Acted["run"], 0)
			w.owes("run", core.CauseLaunchFailed)
			launchEqual(t, "told", len(launchEntries(p)), 1)
			w.reserve("corrected")
			p.sees(p.Settled)
			launchEqual(t, "state of the corrected", w.status("corrected"), core.Running)
		})
	}
}

// A shutdown is no crash, but a start that never ran is a start.
//
// Guard: as above.
func TestLaunchShutdownsAreAnEndlessLoop(t *testing.T) {
	w := newLaunchWorld(t, launchSession)
	w.reserve("run")
	for i := range 5 {
		p := w.process(fmt.Sprint("p", i))
		p.Engine.Slow = true
		p.sees(p.SessionStart, p.Shutdown)
	}
	w.ends("run", core.Failed, core.FailureActivationFailed)
	launchEqual(t, "builds", w.count("build"), 3)
	w.owes("run", core.CauseLaunchFailed)
}
