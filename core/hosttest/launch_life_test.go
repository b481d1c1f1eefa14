package hosttest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
)

// launchLife is a run from its queue to its end, in one process.
type launchLife struct {
	outcome core.EngineOutcome // "" is a build that fails
	slow    bool               // a build that lasts
	left    core.Status        // given, another process left it so, and its bundle can go on

	nodes   int  // that acted
	looking bool // a node is about to act
	told    bool // the end of the engine
}

var launchLives = map[string]launchLife{
	"done":       {outcome: core.EngineDone},
	"slow build": {outcome: core.EngineDone, slow: true},
	"failed":     {outcome: core.EngineFailed},
	"waiting":    {outcome: core.EngineWaiting},
	"paused":     {outcome: core.EnginePaused},
	"no build":   {},
	"starting":   {outcome: core.EngineDone, left: core.Starting},
	"running":    {outcome: core.EngineDone, left: core.Running},
}

// ending is the state of a run that came through its life.
func (l *launchLife) ending() core.Status {
	switch l.outcome {
	case core.EngineDone:
		return core.Done
	case core.EngineWaiting, core.EnginePaused:
		return core.Parked
	}
	return core.Failed
}

// begin leaves the run of a world as the life wants it.
func (l *launchLife) begin(w *launchWorld) {
	if l.left == "" {
		return
	}
	if l.left == core.Running {
		w.ran("gone")
	} else {
		w.claim("gone")
	}
	w.engine.Bundles[w.runID] = core.Finding{Kind: core.FindingRunning}
	w.dies()
}

// live takes a process through it, for as long as its engine is not stopped.
func (l *launchLife) live(p *launchProcess) {
	run := p.w.runID
	p.Engine.Slow = l.slow
	if l.outcome == "" {
		p.Engine.Fails = &core.Finding{Code: core.FailureWorkflowInvalid}
	}
	p.sees(p.Settled)
	for i := range 6 {
		p.w.clock.Advance(5 * time.Second)
		p.sees(p.Poll)
		if i%2 == 1 && l.slow && p.Stopped[run] == "" {
			p.sees(p.built(run))
		}
		if i != 3 {
			l.node(p)
		}
	}
	if l.acts(p) {
		l.told = true
		p.sees(p.ended(run, l.outcome))
	}
	p.polls(2)
	p.sees(p.Settled)
}

// acts says whether the engine of the process may act.
func (l *launchLife) acts(p *launchProcess) bool {
	return !p.gone && p.w.count(p.name+" run") > 0 && p.Stopped[p.w.runID] == ""
}

// node acts where a look at the claim allows it.
func (l *launchLife) node(p *launchProcess) {
	if !l.acts(p) {
		return
	}
	l.looking = true
	p.sees(p.node(p.w.runID))
	l.looking = false
	if l.acts(p) {
		l.nodes++
	}
}

// launchAtEachPoint lives each life once for each point of its launch, in a session of its
// own. try is told of the world and sets what meets the point; what it returns checks
// the world in the end.
func launchAtEachPoint(t *testing.T, try func(w *launchWorld, l *launchLife, p *launchProcess, meet func(func(point string) bool)) (check func())) {
	t.Helper()
	t.Parallel()
	all, n := newLaunchWorld(t, launchSession), 0
	for name, life := range launchLives {
		for at := 1; ; at++ {
			n++
			w, l := all.fresh(n), life
			l.begin(w)
			p, points, met := w.process("p"), 0, ""
			check := try(w, &l, p, func(do func(string) bool) {
				p.at = func(point string) bool {
					if !p.turns {
						points++
					}
					if p.turns || points != at {
						return false
					}
					met = point
					w.log = append(w.log, "@"+point)
					return do(point)
				}
			})
			l.live(p)
			if points < at {
				break
			}
			if check(); t.Failed() {
				t.Fatalf("%s at point %d, %q:\n%s", name, at, met, strings.Join(w.log, "\n"))
			}
		}
	}
}
