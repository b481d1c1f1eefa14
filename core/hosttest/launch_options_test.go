package hosttest_test

import (
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
)

// hostOf is a host in another language with options of its own.
func (w *launchWorld) hostOf(state core.LaunchState) *launchHost {
	h := newLaunchHost(w)
	state.RunnerID = "host"
	encoded, err := core.Encode(state)
	w.must(err)
	h.state = encoded
	return h
}

// follows does what the coordinator says of a thing seen; each finding is this one.
func (h *launchHost) follows(kind core.LaunchSeenKind, finding int) {
	h.Helper()
	seen, ok := core.LaunchSeen{Kind: kind, Idle: true}, true
	for range 60 {
		if !ok {
			return
		}
		h.must(h.next(seen))
		if h.step.Kind == core.DoRun {
			h.engine.Acted[h.step.RunID]++
		}
		seen, ok = h.honest(&launchBytes{[]byte{byte(finding)}})
	}
	h.Fatal("no end of steps")
}

// launchFound is a finding by its name.
func launchFound(name string) int {
	for i, f := range launchFindings {
		if f.name == name {
			return i
		}
	}
	return -1
}

// Guards: RunID in the list and the claim.
func TestLaunchOneRunTakesOthersToo(t *testing.T) {
	w := newLaunchWorld(t, "")
	for _, runID := range []string{"expired", "oldest", "run", "next"} {
		w.reserve(runID)
	}
	w.claim("gone")
	w.dies()
	h := w.hostOf(core.LaunchState{RunID: "run"})
	h.follows(core.LaunchSessionStart, launchFound("done"))
	h.follows(core.LaunchPoll, launchFound("done"))
	for runID, want := range map[string]core.Status{
		"expired": core.Starting, "oldest": core.Queued, "run": core.Running, "next": core.Queued,
	} {
		launchEqual(t, runID, w.status(runID), want)
	}
	launchEqual(t, "acted", w.engine.Acted["run"], 1)
}

// A run that is not the host's to take is left alone, and asked for once a thing seen.
//
// Guards: Blocked after a refused list or claim; Pass.Claimed.
func TestLaunchARunOfOthersIsTaken(t *testing.T) {
	for name, make := range map[string]func(w *launchWorld){
		"absent":    func(*launchWorld) {},
		"claimed":   func(w *launchWorld) { w.reserve("run"); w.claim("other") },
		"cancelled": func(w *launchWorld) { w.reserve("run"); w.must(w.cancel("run")) },
	} {
		w := newLaunchWorld(t, "")
		make(w)
		h := w.hostOf(core.LaunchState{RunID: "run"})
		h.follows(core.LaunchSessionStart, 0)
		h.follows(core.LaunchPoll, 0)
		launchEqual(t, "acts of a run that is "+name, len(w.engine.Acted), 0)
	}
	w := newLaunchWorld(t, launchSession)
	w.reserve("run")
	detached := w.hostOf(core.LaunchState{})
	detached.follows(core.LaunchPoll, 0)
	other := w.hostOf(core.LaunchState{SessionID: "other"})
	other.follows(core.LaunchPoll, 0)
	launchEqual(t, "state", w.status("run"), core.Queued)
}

// Guard: RecoverOnly in rest.
func TestLaunchARecoveryClaimsToo(t *testing.T) {
	w := newLaunchWorld(t, "")
	for _, runID := range []string{"expired", "queued"} {
		w.reserve(runID)
	}
	w.claim("gone")
	w.dies()
	h := w.hostOf(core.LaunchState{RecoverOnly: true})
	h.follows(core.LaunchSessionStart, launchFound("none"))
	h.follows(core.LaunchPoll, launchFound("none"))
	launchEqual(t, "expired", w.status("expired"), core.Queued)
	launchEqual(t, "queued", w.status("queued"), core.Queued)
}

// Each claim has the host's lease, and is renewed at a third of it.
//
// Guards: LeaseMS in the claim, the renewal, the take-over and the recovery.
func TestLaunchALeaseHasAnotherLength(t *testing.T) {
	const lease = 5 * time.Minute
	for _, left := range []core.Status{"", core.Starting, core.Running} {
		for _, runID := range []string{"", "run"} {
			w := newLaunchWorld(t, launchSession)
			w.reserve("run")
			(&launchLife{left: left}).begin(w)
			h := w.hostOf(core.LaunchState{SessionID: launchSession, RunID: runID, LeaseMS: lease.Milliseconds()})
			h.follows(core.LaunchSessionStart, launchFound("running"))
			launchEqual(t, "state", w.status("run"), core.Running)
			ends := func() string { return *w.run("run").ClaimExpiresAt }
			stamp := func() string { return w.clock.Now().Add(lease).Format("2006-01-02T15:04:05.000Z") }
			launchEqual(t, "end of the lease", ends(), stamp())
			first := ends()
			w.clock.Advance(lease/3 - time.Millisecond)
			h.follows(core.LaunchPoll, 0)
			launchEqual(t, "end of the lease, before a third", ends(), first)
			w.clock.Advance(time.Millisecond)
			h.follows(core.LaunchPoll, 0)
			launchEqual(t, "end of the renewed lease", ends(), stamp())
		}
	}
}

// A host may name the step in what it says of a build or a run.
//
// Guard: that a result of build or run is awaited by no step (Next).
func TestLaunchABuildIsItsStepsResult(t *testing.T) {
	w := newLaunchWorld(t, launchSession)
	w.reserve("run")
	h := newLaunchHost(w)
	for ok, seen := true, (core.LaunchSeen{Kind: core.LaunchPoll, Idle: true}); ok; {
		w.must(h.next(seen))
		step := h.step.Kind
		if seen, ok = h.honest(&launchBytes{}); step == core.DoBuild {
			seen.Step = step
		}
	}
	launchEqual(t, "step", h.step.Kind, core.DoRun)
	w.must(h.next(core.LaunchSeen{Kind: core.LaunchEnded, Step: core.DoRun, RunID: "run", Outcome: core.EngineDone}))
	launchEqual(t, "step", h.step.Kind, core.DoFinish)
}

// Messages that wait are no idle session, though no turn is active.
//
// Guard: PendingMessages.
func TestLaunchStartsBeforeAPendingMessage(t *testing.T) {
	w := newLaunchWorld(t, launchSession)
	w.reserve("run")
	h := newLaunchHost(w)
	for _, kind := range []core.LaunchSeenKind{core.LaunchSessionStart, core.LaunchSettled, core.LaunchPoll} {
		w.must(h.next(core.LaunchSeen{Kind: kind, Idle: true, PendingMessages: true}))
		launchEqual(t, "step after "+string(kind), h.step.Kind, core.DoWait)
	}
	w.must(h.next(core.LaunchSeen{Kind: core.LaunchPoll, Idle: true}))
	launchEqual(t, "step of an idle session", h.step.Kind, core.DoList)
}

// A run that was refused for good is looked at afresh: once its owner is gone, it is
// recovered.
//
// Guard: the token of a claim that was refused for good is spent (claimed).
func TestLaunchARefusedRunIsNeverRecovered(t *testing.T) {
	w := newLaunchWorld(t, "")
	w.reserve("run")
	w.ran("other")
	h := w.hostOf(core.LaunchState{RunID: "run"})
	h.follows(core.LaunchPoll, launchFound("running"))
	launchEqual(t, "acts while its owner lives", w.engine.Acted["run"], 0)
	w.dies()
	h.follows(core.LaunchPoll, launchFound("running"))
	launchEqual(t, "acts", w.engine.Acted["run"], 1)
}

// What is known of the turn is told with a failed build too, also where it comes late.
//
// Guards: TurnEvent in fail and in startFailed (end).
func TestLaunchAFailureForgetsItsTurn(t *testing.T) {
	for _, wait := range []time.Duration{0, core.DefaultLease} {
		w := newLaunchWorld(t, launchSession)
		w.reserve("run")
		h := newLaunchHost(w)
		for ok, seen := true, (core.LaunchSeen{Kind: core.LaunchPoll, Idle: true}); ok && h.step.Kind != core.DoBuild; {
			w.must(h.next(seen))
			if h.step.Kind != core.DoBuild {
				seen, ok = h.honest(&launchBytes{})
			}
		}
		w.clock.Advance(wait)
		seen, ok := core.LaunchSeen{
			Kind: core.LaunchBuildFailed, RunID: "run", Code: core.FailureInputInvalid, TurnEvent: &core.TurnEvent{PresentationExpected: true},
		}, true
		for ok {
			w.must(h.next(seen))
			seen, ok = h.honest(&launchBytes{})
		}
		w.ends("run", core.Failed, core.FailureInputInvalid)
		launchEqual(t, "presentation in the feed", w.payload("run")["presentationExpected"], any(true))
	}
}
