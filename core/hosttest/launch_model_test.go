package hosttest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
)

// launchBytes are choices, from a fuzzer or from random numbers; at their end all are
// 0.
type launchBytes struct{ rest []byte }

func (b *launchBytes) below(n int) int {
	if len(b.rest) == 0 {
		return 0
	}
	choice := int(b.rest[0]) % n
	b.rest = b.rest[1:]
	return choice
}

func launchRandom(seed uint64, n int) *launchBytes {
	r := rand.New(rand.NewPCG(seed, 1))
	rest := make([]byte, n)
	for i := range rest {
		rest[i] = byte(r.Uint32())
	}
	return &launchBytes{rest}
}

// launchModel is some processes, to which anything happens that can happen to hosts
// that do what they are told.
type launchModel struct {
	*launchWorld
	launchBytes
	processes []*launchProcess
	runs      []string
	made      int // processes
	// cancelled is the process in whose step a run was cancelled, and when: it sees
	// that at its next look.
	cancelled string
}

func newLaunchModel(w *launchWorld, choices *launchBytes) *launchModel {
	m := &launchModel{launchWorld: w, launchBytes: *choices}
	m.start(0)
	m.start(1)
	return m
}

// start puts a new process in the place of one that is gone.
func (m *launchModel) start(i int) *launchProcess {
	m.made++
	p := m.process(fmt.Sprint("p", m.made))
	if i == len(m.processes) {
		m.processes = append(m.processes, p)
	}
	m.processes[i] = p
	p.at = func(point string) bool {
		m.check(p, point)
		return false
	}
	return p
}

// check looks at the store at the moment of an effect.
func (m *launchModel) check(p *launchProcess, point string) {
	want := map[string]core.Status{"build": core.Starting, "run": core.Running}[point]
	if want == "" && point != "between" {
		return
	}
	live := m.claims(p.name)
	if len(live) > 1 {
		m.Errorf("%s has %d claims", p.name, len(live))
	}
	excused := m.cancelled == fmt.Sprint(p.name, p.things)
	if want != "" && !excused && (len(live) != 1 || live[0] != want) {
		m.Errorf("%s: %s while its claims are %v", p.name, point, live)
	}
}

// claims are the states of the runs that a process has a live claim of.
func (m *launchModel) claims(runner string) (live []core.Status) {
	now := m.clock.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	for _, runID := range m.runs {
		run := m.run(runID)
		if run.RunnerID != nil && *run.RunnerID == runner && *run.ClaimExpiresAt > now {
			live = append(live, run.Status)
		}
	}
	return live
}

// anyRun is one of the runs, or of none.
func (m *launchModel) anyRun() string {
	if len(m.runs) == 0 {
		return "none"
	}
	return m.runs[max(0, len(m.runs)-1-m.below(3))]
}

func (m *launchModel) queue() {
	runID := fmt.Sprintf("%s-%d", m.runID, len(m.runs))
	digest := launchDigest
	if m.below(6) == 1 {
		digest = "another"
	}
	_, err := m.store.ReservePreparedRun(context.Background(), core.ReserveRequest{
		RunID: runID, WorkflowName: "flow", WorkflowSourceRef: "file:flow", WorkflowSource: []byte(`{}`), DefinitionDigest: digest,
		OriginSessionID: m.session.ID,
	})
	if err == nil {
		m.runs = append(m.runs, runID)
	} else if core.CodeOf(err) != core.CodeSessionReserved {
		m.Fatal(err)
	}
}

// breaks lets one of the next calls of a process fail, or some.
func (m *launchModel) breaks(p *launchProcess) {
	at, fault, calls := 1+m.below(4), launchFault(1+m.below(2)), 0
	times := pick(&m.launchBytes, []int{1, 1, 30})
	p.fault = func(op string, _ []byte) launchFault {
		if calls++; calls >= at && calls < at+times {
			return fault
		}
		return launchWorks
	}
}

// meets lets something happen while a process does one of its next steps.
func (m *launchModel) meets(p *launchProcess) {
	at, what, points := 1+m.below(6), m.below(4), 0
	p.at = func(point string) bool {
		m.check(p, point)
		if points++; points != at || point == "run" || point == "build" { // whose result is not awaited
			return false
		}
		switch what {
		case 0:
			m.must(p.Poll())
		case 1:
			m.must(p.Shutdown())
			p.gone = true
		case 2:
			_ = m.cancel(m.anyRun())
			m.cancelled = fmt.Sprint(p.name, p.things)
		case 3:
			p.gone = true
			return true
		}
		return false
	}
}

var launchTimes = []time.Duration{0, time.Millisecond, launchInterval, 11 * time.Second, core.DefaultLease - time.Millisecond, core.DefaultLease, time.Hour}

var launchOutcomes = []core.EngineOutcome{core.EngineDone, core.EngineFailed, core.EngineWaiting, core.EnginePaused}

// act is one thing that happens.
func (m *launchModel) act() {
	i := m.below(len(m.processes))
	p, runID := m.processes[i], m.anyRun()
	what := m.below(20)
	m.log = append(m.log, fmt.Sprintf("#%d:%s", what, p.name))
	switch what {
	case 0, 1:
		m.queue()
	case 2:
		p.sees(p.SessionStart)
	case 3, 4:
		p.sees(p.Settled)
	case 5, 6, 7:
		p.sees(p.Poll)
	case 8:
		p.sees(p.node(runID))
	case 9, 10:
		p.Engine.Fails = nil
		if m.below(4) == 1 {
			p.Engine.Fails = &core.Finding{Code: core.FailureInputInvalid}
		}
		p.sees(p.built(runID))
		p.Engine.Fails = nil
	case 11, 12:
		if p.Engine.Acting[runID] {
			p.sees(p.ended(runID, launchOutcomes[m.below(4)]))
		}
	case 13:
		p.sees(p.Shutdown)
		m.start(i)
	case 14:
		m.start(i) // the old one was killed
	case 15:
		m.clock.Advance(launchTimes[m.below(len(launchTimes))])
	case 16:
		_ = m.cancel(runID) // or it has ended
	case 17:
		p.Session.StartTurn()
	case 18:
		m.breaks(p)
	case 19:
		m.meets(p)
	}
	if m.below(3) == 1 {
		p.Engine.Slow = !p.Engine.Slow
	}
	m.clock.Advance(time.Duration(m.below(3)) * time.Second)
}

// settle lets everything come to its end: by the processes that are there, or by new
// ones after they were killed. Nothing may be left over.
func (m *launchModel) settle(killed bool) {
	m.log = append(m.log, fmt.Sprint("#settle:", killed))
	for i, p := range m.processes {
		if p.fault = nil; killed || p.gone {
			p = m.start(i)
		}
		p.at = func(point string) bool { m.check(p, point); return false }
	}
	for range 2*len(m.runs) + 6 {
		if m.left() == 0 {
			break
		}
		m.clock.Advance(core.DefaultLease)
		for i, p := range m.processes {
			if p.gone {
				p = m.start(i)
			}
			p.Engine.Slow = false
			p.sees(p.Settled)
			for _, runID := range m.runs {
				p.sees(p.built(runID))
				if p.Engine.Acting[runID] {
					p.sees(p.ended(runID, core.EngineDone))
				}
			}
		}
	}
	if n := m.left(); n > 0 {
		m.Errorf("%d runs stay as they are", n)
	}
	for _, runID := range m.runs {
		if strings.HasSuffix(m.feed(runID), "launch_failed") && m.session.ID != "" {
			m.owes(runID, core.CauseLaunchFailed)
		}
	}
	m.actsOnce()
}

// left counts the runs that have not ended and do not wait.
func (m *launchModel) left() (n int) {
	for _, runID := range m.runs {
		if status := m.status(runID); !status.Terminal() && status != core.Parked {
			n++
		}
	}
	return n
}

// Whatever happens to hosts that do what they are told: no request is a bad one, a
// process has one claim at most, it builds and runs what it holds, it acts once for
// each release, and in the end no run is left over.
//
// Guards: nearly all.
func TestLaunchSomethingCanHappen(t *testing.T) {
	for _, session := range []string{launchSession, ""} {
		t.Run(session, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(60) {
				w := newLaunchWorld(t, session)
				m := newLaunchModel(w, launchRandom(seed, 400))
				for range 60 {
					m.act()
				}
				if m.settle(seed%2 == 0); t.Failed() {
					t.Fatalf("seed %d:\n%s", seed, strings.Join(w.log, "\n"))
				}
			}
		})
	}
}
