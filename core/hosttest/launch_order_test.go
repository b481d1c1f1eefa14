package hosttest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
)

// Guards: each step of goOn, in its order.
func TestLaunchActsOutOfOrder(t *testing.T) {
	w := newLaunchWorld(t, launchSession)
	w.reserve("run")
	p := w.process("p")
	states := map[string]core.Status{}
	p.at = func(point string) bool {
		if _, seen := states[point]; !seen {
			states[point] = w.status("run")
		}
		return false
	}
	p.sees(p.Settled)
	looks := func(entry string) bool { return entry == "p verifyRunClaim" || entry == "p renewRunClaim" }
	launchEqual(t, "log but for looks at the claim", strings.Join(slices.DeleteFunc(w.log, looks), ", "),
		"p listRecoverableRuns, p claimNextRun, p build, p writeBundle, p markPreparedRunRunning, p run")
	for point, want := range map[string]core.Status{
		"claim": core.Queued, "build": core.Starting, "writeBundle": core.Starting, "markRunning": core.Starting, "run": core.Running,
	} {
		launchEqual(t, "state at "+point, states[point], want)
	}
}

// Neither a bundle that cannot be written nor a fence that cannot be passed lets a
// node act.
//
// Guards: the result of writeBundle (seen.Kind == LaunchBuildFailed); Blocked after
// a refusal; run only in the answer of mark-running.
func TestLaunchActsBeforeTheFence(t *testing.T) {
	w := newLaunchWorld(t, launchSession)
	w.reserve("run")
	p := w.process("p")
	p.fault = func(op string, _ []byte) launchFault {
		if op == "markPreparedRunRunning" {
			return launchLost
		}
		return launchWorks
	}
	p.sees(p.Settled, p.node("run"), p.Poll, p.Settled)
	launchEqual(t, "acted", w.engine.Acted["run"], 0)
	launchEqual(t, "state", w.status("run"), core.Starting)
	p.fault = nil
	p.sees(p.Poll)
	launchEqual(t, "acted", w.engine.Acted["run"], 1)
}

// Guards: renewal (the DoRenew case of look), at a third of the lease.
func TestLaunchASlowBuildLosesItsLease(t *testing.T) {
	w := newLaunchWorld(t, launchSession)
	w.reserve("run")
	p := w.process("p")
	p.Engine.Slow = true
	p.sees(p.Settled)
	p.polls(40)
	launchEqual(t, "state", w.status("run"), core.Starting)
	// A host renews every 10 s: at the first poll after them.
	launchEqual(t, "renewals", w.count("renewRunClaim"), 10)
	launchEqual(t, "lost", w.count("verifyRunClaim: claim_lost"), 0)
	p.sees(p.built("run"))
	launchEqual(t, "state", w.status("run"), core.Running)
	launchEqual(t, "acted", w.engine.Acted["run"], 1)
	p.polls(40)
	launchEqual(t, "renewals while it runs", w.count("renewRunClaim"), 20)
	launchEqual(t, "stopped", p.Stopped["run"], "")
}

// One thing that is seen looks at the claim once.
//
// Guard: Pass.Look, which a look uses up.
func TestLaunchOnePollLooksAtTheClaimWithoutEnd(t *testing.T) {
	w := newLaunchWorld(t, launchSession)
	w.reserve("run")
	p := w.process("p")
	p.Engine.Slow = true
	p.sees(p.Settled)
	looks := func(see func() error) int {
		w.log = nil
		w.clock.Advance(4 * time.Second)
		p.sees(see)
		return w.count("verifyRunClaim") + w.count("renewRunClaim")
	}
	for range 4 {
		launchEqual(t, "looks of a poll while it builds", looks(p.Poll), 1)
	}
	p.sees(p.built("run"))
	for range 4 {
		launchEqual(t, "looks of a poll while it runs", looks(p.Poll), 1)
		launchEqual(t, "looks of a node", looks(p.node("run")), 1)
		launchEqual(t, "looks of a settle", looks(p.Settled), 0)
	}
}

// Guards: `source_changed` fails the run, after the engine has ended (Stop before
// End in choose), and in the same pass.
func TestLaunchRunsAChangedSource(t *testing.T) {
	w := newLaunchWorld(t, launchSession)
	w.reserve("run")
	p := w.process("p")
	p.Engine.Digest = "another"
	p.sees(p.Settled)
	w.ends("run", core.Failed, core.FailureSourceChanged)
	launchEqual(t, "acted", w.engine.Acted["run"], 0)
	launchEqual(t, "stopped", p.Stopped["run"], core.StopFailed)
	w.before("p stop", "p failPreparedRun")
	w.owes("run", core.CauseLaunchFailed)
	w.reserve("corrected") // the session is free
}

// Guard: none here: a digest that is stored as unavailable matches any (the op).
func TestLaunchRefusesAnUnknownSource(t *testing.T) {
	w := newLaunchWorld(t, launchSession)
	w.reserveDigest("run", "unavailable")
	p := w.process("p")
	p.sees(p.Settled)
	w.activatedOnce("run")
}

// Guards: buildFailed keeps a code of a launch, and makes activation_failed of any
// other; DoFail for what is launching.
func TestLaunchABuildFailureIsLost(t *testing.T) {
	for _, code := range append(slices.Concat(core.LaunchFailures, core.RunFailures), "") {
		want := code
		if !slices.Contains(core.LaunchFailures, code) {
			want = core.FailureActivationFailed
		}
		for _, where := range []string{"build", "slow build", "bundle"} {
			t.Run(where+" "+string(code), func(t *testing.T) {
				w := newLaunchWorld(t, launchSession)
				w.reserve("run")
				p := w.process("p")
				failure := &core.Finding{Code: code, Message: "no such step"}
				switch where {
				case "bundle":
					p.Engine.WriteFails = failure
				case "build":
					p.Engine.Fails = failure
				default:
					p.Engine.Slow = true
				}
				p.sees(p.Settled)
				if where == "slow build" {
					p.polls(12)
					p.Engine.Fails = failure
					p.sees(p.built("run"))
				}
				w.ends("run", core.Failed, want)
				if message := *w.run("run").ErrorMessage; !strings.Contains(message, "no such step") {
					t.Errorf("the reason is lost: %s", message)
				}
				launchEqual(t, "acted", w.engine.Acted["run"], 0)
				launchEqual(t, "released", w.count("markPreparedRunRunning"), 0)
				w.owes("run", core.CauseLaunchFailed)
				p.sees(p.Poll)
				launchEqual(t, "told", len(launchEntries(p)), 1)
				w.reserve("corrected")
			})
		}
	}
}

func launchEntries(p *launchProcess) []string {
	entries, err := p.Session.Branch.Entries()
	p.w.must(err)
	var contents []string
	for _, e := range entries {
		contents = append(contents, e.Content)
	}
	return contents
}

// A corrected launch that fails again frees its session again, and tells it again.
//
// Guard: the hold is let go after the failure (done).
func TestLaunchOneFailureIsTheLast(t *testing.T) {
	w := newLaunchWorld(t, launchSession)
	p := w.process("p")
	p.Engine.Fails = &core.Finding{Code: core.FailureWorkflowInvalid}
	for i, runID := range []string{"run-1", "run-2", "run-3"} {
		w.reserve(runID) // in the turn that the last failure started
		p.sees(p.Settled)
		w.ends(runID, core.Failed, core.FailureWorkflowInvalid)
		launchEqual(t, "told", len(launchEntries(p)), i+1)
	}
	p.Engine.Fails = nil
	w.reserve("run-4")
	p.sees(p.Settled)
	launchEqual(t, "state", w.status("run-4"), core.Running)
}

// How a run that ran has ended is stored as it was told, and the session is free.
//
// Guards: each case of end; RunFailures.
func TestLaunchAnEndIsLost(t *testing.T) {
	for _, c := range []struct {
		name   string
		seen   core.LaunchSeen
		status core.Status
		code   core.FailureCode
		owes   core.Cause
	}{
		{"done", core.LaunchSeen{Outcome: core.EngineDone}, core.Done, "", ""},
		{"failed", core.LaunchSeen{Outcome: core.EngineFailed, Code: core.FailureRunFailed}, core.Failed, core.FailureRunFailed, core.CauseFailed},
		{"no code", core.LaunchSeen{Outcome: core.EngineFailed}, core.Failed, core.FailureRunFailed, core.CauseFailed},
		{"a launch's code", core.LaunchSeen{Outcome: core.EngineFailed, Code: core.FailureInputInvalid}, core.Failed, core.FailureRunFailed, core.CauseFailed},
		{"timed out", core.LaunchSeen{Outcome: core.EngineFailed, Code: core.FailureTimedOut}, core.Failed, core.FailureTimedOut, core.CauseTimedOut},
		{"interrupted", core.LaunchSeen{Outcome: core.EngineFailed, Code: core.FailureInterrupted}, core.Failed, core.FailureInterrupted, core.CauseFailed},
		{"waiting", core.LaunchSeen{Outcome: core.EngineWaiting}, core.Parked, "", ""},
		{"paused", core.LaunchSeen{Outcome: core.EnginePaused}, core.Parked, "", ""},
		{"presented", core.LaunchSeen{Outcome: core.EngineDone, TurnEvent: &core.TurnEvent{PresentationExpected: true}}, core.Done, "", ""},
		{"presents", core.LaunchSeen{Outcome: core.EngineWaiting, TurnEvent: &core.TurnEvent{PresentationExpected: true}}, core.Parked, "", ""},
		{
			"before its first prompt",
			core.LaunchSeen{Outcome: core.EngineFailed, TurnEvent: &core.TurnEvent{NodeID: core.NodeLaunch}},
			core.Failed, core.FailureRunFailed, core.CauseFailed,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newLaunchWorld(t, launchSession)
			w.reserve("run")
			p := w.process("p")
			c.seen.RunID = "run"
			end := func() error { return p.EngineEnded(c.seen) }
			p.sees(p.Settled, end, end, p.Poll)
			w.ends("run", c.status, c.code)
			w.owes("run", c.owes)
			if event := c.seen.TurnEvent; event != nil && event.NodeID != "" {
				launchEqual(t, "node of the turn that is owed", *w.intents("run")[0].NodeID, event.NodeID)
			}
			if event := c.seen.TurnEvent; event != nil && event.PresentationExpected {
				launchEqual(t, "presentation in the feed", w.payload("run")["presentationExpected"], any(true))
			}
			launchEqual(t, "stored", w.count("finishRunningRun")+w.count("parkRunningRun"), 1)
			launchEqual(t, "stopped", p.Stopped["run"], "")
			w.reserve("next")
		})
	}
}

// What an engine says twice, too early or too late is nothing: the first word about
// a run's end stands.
//
// Guards: the phases in absorb, and that an end is not replaced (h.End != nil).
func TestLaunchALateWordChangesAnEnd(t *testing.T) {
	w := newLaunchWorld(t, launchSession)
	w.reserve("run")
	p := w.process("p")
	p.Engine.Slow = true
	fails := func() error {
		p.Engine.Fails = &core.Finding{Code: core.FailureInputInvalid}
		defer func() { p.Engine.Fails = nil }()
		return p.Built("run")
	}
	p.sees(p.Settled, p.ended("run", core.EngineDone))
	launchEqual(t, "state after an end before the build", w.status("run"), core.Starting)
	p.sees(p.built("run"), fails)
	launchEqual(t, "state after a failed build of what runs", w.status("run"), core.Running)
	p.fault = func(string, []byte) launchFault { return launchLost }
	p.sees(p.ended("run", core.EngineDone))
	p.fault = nil
	p.sees(p.ended("run", core.EngineFailed), p.Poll)
	w.ends("run", core.Done, "")
	launchEqual(t, "stopped", p.Stopped["run"], "")
}

// The same of an engine that is being stopped.
//
// Guard: h.Stop in absorb.
func TestLaunchAStoppedEngineEnds(t *testing.T) {
	w := newLaunchWorld(t, launchSession)
	w.reserve("run")
	p := w.process("p")
	p.at = func(point string) bool {
		if point == "stop" {
			w.must(p.EngineEnded(core.LaunchSeen{RunID: "run", Outcome: core.EngineFailed}))
		}
		return false
	}
	p.sees(p.Settled)
	w.must(w.cancel("run"))
	p.sees(p.Poll, p.Poll)
	launchEqual(t, "feed", w.feed("run"), "queued starting running cancelled")
	launchEqual(t, "ended", w.count("finishRunningRun")+w.count("finishRunningRun: invalid_transition"), 0)
}
