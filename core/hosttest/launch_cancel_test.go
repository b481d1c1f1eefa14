package hosttest_test

import (
	"context"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// At each point of a run's life it is cancelled: one wins.
//
// Guards: the refusal of mark-running stops the engine (gone), as do a poll's and a
// node's look; the end that lost a race is dropped (h.End = nil in gone), and does
// not count as a lost claim.
func TestLaunchARunActsAfterItsCancel(t *testing.T) {
	launchAtEachPoint(t, func(w *launchWorld, l *launchLife, p *launchProcess, meet func(func(string) bool)) func() {
		nodes := 0
		var was core.Status
		var refused error
		meet(func(point string) bool {
			was, nodes = w.status(w.runID), l.nodes
			refused = w.cancel(w.runID)
			if l.looking && (point == "after verify" || point == "after renew" || point == "between") {
				nodes++ // it has looked
			}
			return false
		})
		return func() {
			w.log = append(w.log, "cancelled when it was "+string(was))
			checkCancelled(w, p, was, refused)
			launchEqual(w, "nodes after the cancel", l.nodes-nodes, 0)
		}
	})
}

func checkCancelled(w *launchWorld, p *launchProcess, was core.Status, refused error) {
	w.Helper()
	launchEqual(w, "claims lost", w.count("recordRunEvent"), 0)
	switch was {
	case core.Done, core.Failed:
		launchEqual(w, "refusal", core.CodeOf(refused), core.CodeInvalidTransition)
		launchEqual(w, "state", w.status(w.runID), was)
		return
	case core.Queued, core.Starting:
		launchEqual(w, "acted", w.engine.Acted[w.runID], 0)
	}
	w.must(refused)
	launchEqual(w, "state", w.status(w.runID), core.Cancelled)
	w.owes(w.runID, "")
	if w.engine.Acted[w.runID] > 0 && was == core.Running && p.Stopped[w.runID] != core.StopCancelled {
		w.Errorf("stopped: have %q, want %q", p.Stopped[w.runID], core.StopCancelled)
	}
	w.reserve(w.runID + "-next") // the session is free
}

// A cancel that comes after the release, and before the first node, is seen there.
//
// Guards: LaunchNode looks (Pass.Look).
func TestLaunchTheFirstNodeActsAfterACancel(t *testing.T) {
	for _, see := range []string{"node", "poll"} {
		w := newLaunchWorld(t, launchSession)
		w.reserve("run")
		p := w.process("p")
		p.sees(p.Settled)
		w.must(w.cancel("run"))
		if see == "poll" {
			p.sees(p.Poll)
		} else {
			p.sees(p.node("run"))
		}
		launchEqual(t, "stopped by a "+see, p.Stopped["run"], core.StopCancelled)
	}
}

// A cancelled build that ends later is nothing.
//
// Guards: a poll looks while the engine builds; the hold is let go (stopped).
func TestLaunchACancelledBuildGoesOn(t *testing.T) {
	w := newLaunchWorld(t, launchSession)
	w.reserve("run")
	p := w.process("p")
	p.Engine.Slow = true
	p.sees(p.Settled)
	w.must(w.cancel("run"))
	p.polls(1)
	launchEqual(t, "stopped", p.Stopped["run"], core.StopCancelled)
	w.reserve("next")
	p.sees(p.built("run"), p.Poll, p.built("run"))
	launchEqual(t, "state of the next", w.status("next"), core.Starting)
	p.sees(p.built("next"))
	launchEqual(t, "state of the next", w.status("next"), core.Running)
	launchEqual(t, "acted", w.engine.Acted["run"], 0)
}

// The user's cancel needs no token, and the one of an agent's step keeps its word.
//
// Guard: none here: this is the op's.
func TestLaunchACancelLosesItsOrigin(t *testing.T) {
	w := newLaunchWorld(t, launchSession)
	w.reserve("run")
	p := w.process("p")
	p.sees(p.Settled)
	_, err := w.store.CancelPreparedRun(context.Background(), core.CancelRequest{
		RunID: "run", SessionID: launchSession, Origin: core.OriginAgent, TurnEvent: &core.TurnEvent{NodeID: "ask", AttemptID: "1", AbortCause: core.CauseAgentCancelled},
	})
	w.must(err)
	w.owes("run", core.CauseAgentCancelled)
	p.sees(p.Poll)
	launchEqual(t, "stopped", p.Stopped["run"], core.StopCancelled)
	launchEqual(t, "told", len(launchEntries(p)), 1)
}
