package hosttest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// launchFinding is what is left of an expired run, and what becomes of it.
type launchFinding struct {
	name    string
	finding core.Finding
	// Of a starting run, and of a running one.
	starting, running launchEnding
}

type launchEnding struct {
	status core.Status
	code   core.FailureCode
	feed   string // after "queued starting", and "queued starting running"
	owes   core.Cause
	acts   int // of the process that recovers
}

const (
	launchTaken = " claim_transferred"
	launchKind  = core.FindingTerminal
)

var (
	launchLeftover = launchEnding{core.Failed, core.FailureInterrupted, launchTaken + " failed", core.CauseFailed, 0}
	launchFindings = []launchFinding{
		{
			"startFailed", core.Finding{Kind: core.FindingStartFailed, Code: core.FailureInputInvalid, Message: "no such field"},
			launchEnding{core.Failed, core.FailureInputInvalid, " launch_failed", core.CauseLaunchFailed, 0}, launchLeftover,
		},
		{
			"unreadable", core.Finding{Kind: core.FindingUnreadable},
			launchEnding{core.Failed, core.FailureActivationFailed, " launch_failed", core.CauseLaunchFailed, 0}, launchLeftover,
		},
		{
			"sourceChanged", core.Finding{Kind: core.FindingSourceChanged},
			launchEnding{core.Failed, core.FailureSourceChanged, " launch_failed", core.CauseLaunchFailed, 0}, launchLeftover,
		},
		{
			"done", core.Finding{Kind: launchKind, Status: core.Done},
			launchEnding{core.Done, "", " running done", "", 0}, launchEnding{core.Done, "", launchTaken + " done", "", 0},
		},
		{
			"failed", core.Finding{Kind: launchKind, Status: core.Failed},
			launchEnding{core.Failed, core.FailureRunFailed, " running failed", core.CauseFailed, 0},
			launchEnding{core.Failed, core.FailureRunFailed, launchTaken + " failed", core.CauseFailed, 0},
		},
		{
			"timed out", core.Finding{Kind: launchKind, Status: core.Failed, Code: core.FailureTimedOut, Message: "after a minute"},
			launchEnding{core.Failed, core.FailureTimedOut, " running failed", core.CauseTimedOut, 0},
			launchEnding{core.Failed, core.FailureTimedOut, launchTaken + " failed", core.CauseTimedOut, 0},
		},
		{
			"cancelled", core.Finding{Kind: launchKind, Status: core.Cancelled, Origin: core.OriginAgent},
			launchEnding{core.Cancelled, "", " running cancelled", "", 0},
			launchEnding{core.Cancelled, "", launchTaken + " cancelled", "", 0},
		},
		{
			"waiting", core.Finding{Kind: core.FindingWaiting},
			launchEnding{core.Parked, "", " running parked", "", 0}, launchEnding{core.Parked, "", launchTaken + " parked", "", 0},
		},
		{
			"running", core.Finding{Kind: core.FindingRunning},
			launchEnding{core.Running, "", " running" + launchTaken, "", 1}, launchEnding{core.Running, "", launchTaken, "", 1},
		},
		{
			// Queued again, and started in the same pass. What ran is not started again.
			"none", core.Finding{Kind: core.FindingNone},
			launchEnding{core.Running, "", " requeued starting running", "", 1}, launchLeftover,
		},
	}
)

// left leaves a run of this state whose owner is gone, and this finding.
func (w *launchWorld) left(runID string, status core.Status, finding core.Finding) {
	w.Helper()
	w.reserve(runID)
	p := w.process("gone")
	p.Engine.Slow = status == core.Starting
	p.sees(p.Settled)
	launchEqual(w, "state of the run that was left", w.status(runID), status)
	w.dies()
	w.engine.Bundles[runID] = finding
	if finding.Kind == core.FindingNone {
		delete(w.engine.Bundles, runID)
	}
}

func (e launchEnding) check(w *launchWorld, runID, feed string, acted int) {
	w.Helper()
	if e.status == core.Cancelled {
		launchEqual(w, "whose cancel it was", w.payload(runID)["origin"], any("agent"))
	}
	w.ends(runID, e.status, e.code)
	launchEqual(w, "feed", w.feed(runID), feed+e.feed)
	launchEqual(w, "acted", w.engine.Acted[runID], acted+e.acts)
}

// Guards: each case of inspected and of the recovery's request (recover); the phase
// of a run on the list (Starting).
func TestLaunchAFindingHasAnotherEnd(t *testing.T) {
	for _, f := range launchFindings {
		for _, session := range []string{launchSession, ""} {
			t.Run("starting "+f.name+" "+session, func(t *testing.T) {
				w := newLaunchWorld(t, session)
				w.left("run", core.Starting, f.finding)
				p := w.process("p")
				p.sees(p.SessionStart)
				f.starting.check(w, "run", "queued starting", 0)
				if session != "" {
					w.owes("run", f.starting.owes)
				}
			})
			t.Run("running "+f.name+" "+session, func(t *testing.T) {
				w := newLaunchWorld(t, session)
				w.left("run", core.Running, f.finding)
				p := w.process("p")
				p.sees(p.SessionStart)
				f.running.check(w, "run", "queued starting running", 1)
				w.before("p takeOverExpiredRun", "p inspect")
				if session != "" {
					w.owes("run", f.running.owes)
				}
			})
		}
	}
}

// Guard: InputHider where an end is taken (absorb).
func TestLaunchAnEndQuotesItsInput(t *testing.T) {
	w := newLaunchWorld(t, launchSession)
	w.reserve("run")
	p := w.process("p")
	p.sees(p.Settled)
	seen := core.LaunchSeen{
		RunID: "run", Outcome: core.EngineFailed, Code: core.FailureRunFailed, Input: []byte(`{"key":"marker-of-private-input"}`),
		Message: "no entry for marker-of-private-input",
	}
	p.sees(func() error { return p.EngineEnded(seen) })
	if message := *w.run("run").ErrorMessage; strings.Contains(message, "marker") || !strings.Contains(message, "no entry for [input]") {
		t.Error(message)
	}
}

// Guard: what each finding says (interruption).
func TestLaunchWhyARunCannotGoOnIsNotTold(t *testing.T) {
	for kind, words := range map[core.FindingKind]string{
		core.FindingSourceChanged: "source has changed", core.FindingUnreadable: "cannot be read", core.FindingNone: "no bundle",
	} {
		w := newLaunchWorld(t, launchSession)
		w.left("run", core.Running, core.Finding{Kind: kind})
		p := w.process("p")
		p.sees(p.SessionStart)
		if message := *w.run("run").ErrorMessage; !strings.Contains(message, words) {
			t.Errorf("%s: %s", kind, message)
		}
	}
}

// A recovered run is held as any other: renewed, ended and stopped.
//
// Guards: the claim of the answer (hold), phaseRunning.
func TestLaunchARecoveredRunIsNotHeld(t *testing.T) {
	for _, status := range []core.Status{core.Starting, core.Running} {
		t.Run(string(status), func(t *testing.T) {
			w := newLaunchWorld(t, launchSession)
			w.left("run", status, core.Finding{Kind: core.FindingRunning})
			p := w.process("p")
			p.sees(p.SessionStart)
			p.polls(30)
			launchEqual(t, "runner", *w.run("run").RunnerID, "p")
			launchEqual(t, "claims", w.count("p recoverExpiredStartingRun")+w.count("p takeOverExpiredRun"), 1)
			p.sees(p.ended("run", core.EngineDone))
			w.ends("run", core.Done, "")
		})
	}
}

// A launch whose bundle is gone goes back to the queue only where it never ran.
//
// Guard: the feed in the op; here, that `none` goes to the op.
func TestLaunchAResumeWithoutABundleStartsAgain(t *testing.T) {
	w := newLaunchWorld(t, launchSession)
	w.reserve("run")
	p := w.process("p")
	p.sees(p.Settled, p.ended("run", core.EngineWaiting))
	w.call("resumeParkedRun", core.ClaimRequest{RunID: "run", SessionID: launchSession, RunnerID: "gone"})
	w.dies()
	delete(w.engine.Bundles, "run")
	p.sees(p.Poll)
	w.ends("run", core.Failed, core.FailureActivationFailed)
	launchEqual(t, "acted", w.engine.Acted["run"], 1)
	w.owes("run", core.CauseLaunchFailed)
}

// launchRaces are what another process may do between the look at an expired run
// and its recovery.
var launchRaces = map[string]func(w *launchWorld, runID string){
	"cancelled": func(w *launchWorld, runID string) { w.must(w.cancel(runID)) },
	"recovered": func(w *launchWorld, runID string) {
		w.call("recoverExpiredStartingRun", core.RecoverRequest{
			RunID: runID, ExpectedClaimToken: w.deadToken(runID), Finding: &core.Finding{Kind: core.FindingWaiting},
		})
	},
	"claimed": func(w *launchWorld, runID string) {
		w.call("recoverExpiredStartingRun", core.RecoverRequest{
			RunID: runID, ExpectedClaimToken: w.deadToken(runID), Finding: &core.Finding{Kind: core.FindingNone},
		})
		w.call("claimPreparedRun", core.ClaimRequest{RunID: runID, RunnerID: "faster"})
	},
}

// One run that cannot be recovered does not stop the others.
//
// Guards: the hold is let go after a refused recovery (DoRecover in refused), and
// its token with it.
func TestLaunchOneLostRaceStopsTheOthers(t *testing.T) {
	for name, race := range launchRaces {
		for lost := range 5 {
			t.Run(fmt.Sprint(name, " ", lost), func(t *testing.T) {
				w := newLaunchWorld(t, "") // a detached host with several
				for i := range 5 {
					w.reserve(fmt.Sprint("run-", i))
					w.claim("gone")
					w.engine.Bundles[fmt.Sprint("run-", i)] = core.Finding{Kind: core.FindingTerminal, Status: core.Done}
				}
				w.engine.Bundles[fmt.Sprint("run-", lost)] = core.Finding{Kind: core.FindingRunning} // which asks for a claim
				w.reserve("queued")
				w.dies()
				p, looks := w.process("p"), 0
				p.at = func(point string) bool {
					if point == "after inspect" {
						if looks == lost {
							race(w, fmt.Sprint("run-", lost))
						}
						looks++
					}
					return false
				}
				p.sees(p.SessionStart)
				launchEqual(t, "looks", looks, 5)
				for i := range 5 {
					if have := w.status(fmt.Sprint("run-", i)); (have == core.Done) != (i != lost) {
						t.Errorf("run-%d is %s", i, have)
					}
				}
				w.nothingLost()
			})
		}
	}
}

// The same for runs that are taken over.
//
// Guards: phaseOrphan, phaseTaken and phaseResume in refused.
func TestLaunchOneLostTakeOverStopsTheOthers(t *testing.T) {
	for _, point := range []string{"takeOver", "after takeOver", "after inspect", "finish", "verify"} {
		for lost := range 3 {
			t.Run(fmt.Sprint(point, " ", lost), func(t *testing.T) {
				w := newLaunchWorld(t, "")
				for i := range 3 {
					w.reserve(fmt.Sprint("run-", i))
					w.ran("gone")
					w.engine.Bundles[fmt.Sprint("run-", i)] = core.Finding{Kind: core.FindingTerminal, Status: core.Done}
				}
				if point == "verify" {
					w.engine.Bundles[fmt.Sprint("run-", lost)] = core.Finding{Kind: core.FindingRunning}
				}
				w.reserve("queued")
				w.dies()
				p, n := w.process("p"), 0
				p.at = func(have string) bool {
					if have == point {
						if n == lost && point != "verify" || n == 0 && point == "verify" {
							w.must(w.cancel(fmt.Sprint("run-", lost)))
						}
						n++
					}
					return false
				}
				p.sees(p.SessionStart)
				for i := range 3 {
					want := core.Done
					if i == lost {
						want = core.Cancelled
					}
					launchEqual(t, fmt.Sprint("run-", i), w.status(fmt.Sprint("run-", i)), want)
				}
				for i := range 3 {
					launchEqual(t, "acted", w.engine.Acted[fmt.Sprint("run-", i)], 0)
				}
				w.nothingLost()
			})
		}
	}
}

// nothingLost checks that a lost race left no trace: no engine was stopped that was
// never there, and no loss recorded. Afterwards the queue went on.
func (w *launchWorld) nothingLost() {
	w.Helper()
	launchEqual(w, "stops", w.count("stop"), 0)
	launchEqual(w, "losses", w.count("recordRunEvent"), 0)
	launchEqual(w, "state of the queued", w.status("queued"), core.Running)
}

// What has expired goes before what is queued, also after a recovery.
//
// Guard: the token of a recovery is spent (DoRecover in done).
func TestLaunchTheQueueGoesBeforeARecovery(t *testing.T) {
	w := newLaunchWorld(t, "")
	for _, runID := range []string{"first", "second"} {
		w.reserve(runID)
		w.claim("gone")
		w.engine.Bundles[runID] = core.Finding{Kind: core.FindingRunning}
	}
	w.dies()
	w.reserve("queued")
	p := w.process("p")
	for _, runID := range []string{"first", "second", "queued"} {
		p.polls(1)
		launchEqual(t, "acts of the "+runID, w.engine.Acted[runID], 1)
		p.sees(p.ended(runID, core.EngineDone))
	}
}

// More runs than a list holds, of each state and finding.
//
// Guards: Full and Settled in rest; what settles a run of the list (DoRecover, and the
// ends of what was taken over, in done).
func TestLaunchAListIsTheEnd(t *testing.T) {
	for status, want := range map[core.Status]string{
		core.Starting: "map[cancelled:24 done:24 failed:24 parked:24 queued:23 starting:1]",
		core.Running:  "map[cancelled:24 done:24 failed:48 parked:24]",
	} {
		w := newLaunchWorld(t, "")
		w.leftSeveral(120, func(int) bool { return status == core.Running })
		launchEqual(t, "states of what was "+string(status), w.states(120), want)
	}
	w := newLaunchWorld(t, "")
	w.leftSeveral(250, func(i int) bool { return i%3 == 0 })
	// Of the 50 without a bundle 17 ran: interrupted. One of the others is claimed.
	launchEqual(t, "states", w.states(250), "map[cancelled:50 done:50 failed:67 parked:50 queued:32 starting:1]")
}

// leftSeveral leaves runs whose owner is gone, with each end in turn, and recovers
// them.
func (w *launchWorld) leftSeveral(n int, ran func(i int) bool) {
	w.Helper()
	ends := map[int]core.Finding{
		0: {Kind: core.FindingTerminal, Status: core.Done}, 1: {Kind: core.FindingWaiting}, 2: {Kind: core.FindingUnreadable},
		3: {Kind: core.FindingTerminal, Status: core.Cancelled}, 4: {Kind: core.FindingNone},
	}
	for i := range n {
		w.reserve(fmt.Sprint("run-", i))
		if ran(i) {
			w.ran("gone")
		} else {
			w.claim("gone")
		}
		w.engine.Bundles[fmt.Sprint("run-", i)] = ends[i%len(ends)]
	}
	w.dies()
	p := w.process("p")
	p.most, p.Engine.Slow = 10*n, true
	p.sees(p.SessionStart)
}

// states counts the runs by their state.
func (w *launchWorld) states(n int) string {
	have := map[core.Status]int{}
	for i := range n {
		have[w.status(fmt.Sprint("run-", i))]++
	}
	return fmt.Sprint(have)
}
