package hosttest_test

import (
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// The store does not answer one process, while another one takes its run over: two
// engines would act. Guard: EndMS in refused: what cannot be looked at to the end of its
// lease is stopped.
func TestLaunchAnEngineOutlivesALeaseThatCannotBeLookedAt(t *testing.T) {
	for name, see := range map[string]func(*launchProcess) func() error{
		"poll": func(p *launchProcess) func() error { return p.Poll },
		"node": func(p *launchProcess) func() error { return p.node("run") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newLaunchWorld(t, launchSession)
			w.reserve("run")
			p, q := w.process("p"), w.process("q")
			p.sees(p.Settled)
			p.fault = func(string, []byte) launchFault { return launchLost }
			for end := w.clock.Now().Add(core.DefaultLease); w.clock.Now().Before(end); {
				launchEqual(t, "its engine acts within its lease", p.Engine.Acting["run"], true)
				w.clock.Advance(launchInterval)
				p.sees(see(p))
			}
			launchEqual(t, "stopped", p.Stopped["run"], core.StopClaimLost)
			q.sees(q.Poll)
			launchEqual(t, "the other engine acts", q.Engine.Acting["run"], true)
			launchEqual(t, "its engine acts", p.Engine.Acting["run"], false)
			p.fault = nil
			p.Session.StartTurn() // in which nothing new starts
			p.polls(3)
			launchEqual(t, "its engine acts again", p.Engine.Acting["run"], false)
			launchEqual(t, "state", w.status("run"), core.Running)
		})
	}
}
