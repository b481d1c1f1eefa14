package hosttest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
)

// launchOrders are session start, settle and poll in all six orders, each doubled
// in two ways.
func launchOrders() (orders []string) {
	for _, order := range []string{"123", "132", "213", "231", "312", "321"} {
		doubled := ""
		for _, event := range order {
			doubled += string(event) + string(event)
		}
		orders = append(orders, doubled, order+order)
	}
	return orders
}

func (p *launchProcess) see(order string) {
	p.w.Helper()
	for _, event := range order {
		p.sees(map[rune]func() error{'1': p.SessionStart, '2': p.Settled, '3': p.Poll, '4': p.built("other")}[event])
	}
}

// activatedOnce checks that one activation happened, and no recovery.
func (w *launchWorld) activatedOnce(runID string) {
	w.Helper()
	launchEqual(w, "feed", w.feed(runID), "queued starting running")
	launchEqual(w, "acted", w.engine.Acted[runID], 1)
	for _, what := range []string{"build", "writeBundle", "markPreparedRunRunning", "run"} {
		launchEqual(w, what, w.count(what), 1)
	}
	for _, what := range []string{"inspect", "stop", "recoverExpiredStartingRun", "takeOverExpiredRun"} {
		launchEqual(w, what, w.count(what), 0)
	}
}

// Guards: the phase that `built` is taken in (h.Phase == phaseBuild); that a hold
// rules out other work (h == nil).
func TestLaunchEventsInAnyOrderStartARunTwice(t *testing.T) {
	for _, order := range launchOrders() {
		t.Run(order, func(t *testing.T) {
			w := newLaunchWorld(t, launchSession)
			w.reserve("run")
			p := w.process("p")
			p.Engine.Slow = true
			p.see(order)
			launchEqual(t, "acts while it builds", w.engine.Acted["run"], 0)
			p.sees(p.built("run"), p.built("run"))
			p.see(order)
			p.sees(p.built("run"))
			w.activatedOnce("run")
		})
	}
}

// Events come while a step is being done, at each point of an activation, or a late
// word about another run.
//
// Guards: no step while one is awaited (s.Asked != ""); a late word begins no pass
// (ofEngine in absorb).
func TestLaunchEventsWithinAStepStartARunTwice(t *testing.T) {
	all, n := newLaunchWorld(t, launchSession), 0
	for _, order := range append(launchOrders(), "4") {
		for at := 1; ; at++ {
			n++
			w := all.fresh(n)
			p := w.process("p")
			points := 0
			p.at = func(point string) bool {
				if points++; points == at && point != "run" && point != "build" { // whose result is not awaited
					p.see(order)
				}
				return false
			}
			p.sees(p.Settled)
			w.activatedOnce(w.runID)
			if t.Failed() {
				t.Fatalf("%s at point %d:\n%s", order, at, strings.Join(w.log, "\n"))
			}
			if points < at {
				break
			}
		}
	}
}

// Guards: the list of expired runs and the claim take no live lease (the queries);
// that null is no run (run == nil).
func TestLaunchTwoHostsOfASessionStartARunTwice(t *testing.T) {
	for _, order := range launchOrders() {
		t.Run(order, func(t *testing.T) {
			w := newLaunchWorld(t, launchSession)
			w.reserve("run")
			p, q := w.process("p"), w.process("q")
			p.Engine.Slow = true
			for _, event := range order {
				p.see(string(event))
				q.see(string(event))
			}
			launchEqual(t, "acts while it builds", w.engine.Acted["run"], 0)
			p.sees(p.built("run"))
			for _, event := range order {
				q.see(string(event))
				p.see(string(event))
			}
			w.activatedOnce("run")
			launchEqual(t, "by the other one", w.count("q build"), 0)
		})
	}
}

// The last millisecond of a lease is live. The owner's renewals keep it so.
//
// Guards: the list's `<=`; renewal (the DoRenew case of look).
func TestLaunchALiveLeaseIsRecovered(t *testing.T) {
	w := newLaunchWorld(t, launchSession)
	w.reserve("run")
	p, q := w.process("p"), w.process("q")
	p.Engine.Slow = true
	p.sees(p.Settled)
	for range 5 {
		w.clock.Advance(core.DefaultLease - time.Millisecond)
		q.see("123123")
		p.sees(p.Poll)
	}
	launchEqual(t, "feed", w.feed("run"), "queued starting")
	launchEqual(t, "looked into", w.count("q inspect"), 0)
	w.clock.Advance(core.DefaultLease)
	q.see("3")
	launchEqual(t, "feed after its end", w.feed("run"), "queued starting requeued starting running")
	launchEqual(t, "acts", fmt.Sprint(w.engine.Acted), "map[run:1]")
}

// Guard: a start needs a boundary without a turn (MayStart).
func TestLaunchStartsWhileATurnIsActive(t *testing.T) {
	busy := map[string]func(*launchProcess, bool){
		"turn": func(p *launchProcess, on bool) {
			if p.Session.Settle(); on {
				p.Session.StartTurn()
			}
		},
		"question": func(p *launchProcess, on bool) { p.Session.Question = on },
		"pending":  func(p *launchProcess, on bool) { p.Session.Pending = on },
	}
	for name, be := range busy {
		t.Run(name, func(t *testing.T) {
			w := newLaunchWorld(t, launchSession)
			w.reserve("run")
			p := w.process("p")
			be(p, true)
			p.sees(p.SessionStart, p.Poll, p.node("run"), p.SessionStart, p.Poll)
			launchEqual(t, "done", len(w.log), 0)
			be(p, false)
			p.sees(p.Settled)
			w.activatedOnce("run")
		})
	}
}

// What is no boundary starts nothing, though no turn is active.
//
// Guard: boundary in absorb.
func TestLaunchStartsAtNoBoundary(t *testing.T) {
	w := newLaunchWorld(t, launchSession)
	w.reserve("run")
	p := w.process("p")
	p.sees(p.node("run"), p.built("run"), p.ended("other", core.EngineDone), p.Shutdown, p.Settled, p.Poll, p.SessionStart)
	launchEqual(t, "done", len(w.log), 0)
	launchEqual(t, "feed", w.feed("run"), "queued")
}

// Expired work waits for an idle session as queued work does.
//
// Guard: MayStart.
func TestLaunchRecoversWhileATurnIsActive(t *testing.T) {
	w := newLaunchWorld(t, launchSession)
	w.reserve("run")
	p := w.process("p")
	p.sees(p.Settled)
	w.dies()
	q := w.process("q")
	q.Session.StartTurn()
	q.sees(q.SessionStart, q.Poll)
	launchEqual(t, "acted", w.engine.Acted["run"], 1)
	q.sees(q.Settled)
	launchEqual(t, "feed", w.feed("run"), "queued starting running claim_transferred")
	launchEqual(t, "acted", w.engine.Acted["run"], 2)
}

// A recovery that the store did not answer is tried again where no turn is active.
//
// Guard: MayStart for what is not ours yet (phaseExpired, phaseOrphan).
func TestLaunchARetriedRecoveryActsInATurn(t *testing.T) {
	for _, status := range []core.Status{core.Starting, core.Running} {
		for _, fault := range []launchFault{launchLost, launchHalfFails} {
			w := newLaunchWorld(t, launchSession)
			w.left("run", status, core.Finding{Kind: core.FindingRunning})
			before := w.engine.Acted["run"]
			p := w.process("p")
			p.fault = func(op string, _ []byte) launchFault {
				if op == "recoverExpiredStartingRun" || op == "takeOverExpiredRun" {
					return fault
				}
				return launchWorks
			}
			p.sees(p.SessionStart)
			p.fault = nil
			p.Session.StartTurn()
			p.polls(2)
			launchEqual(t, "acts in a turn, after it was "+string(status), w.engine.Acted["run"]-before, 0)
			p.sees(p.Settled)
			launchEqual(t, "acts", w.engine.Acted["run"]-before, 1)
		}
	}
}
