package hosttest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/hosttest"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

// turnDelivery is a turn that is owed, and how its message goes.
type turnDelivery struct {
	path core.Resolution
	// once says that the natural message is posted by the first process alone; those
	// that follow find the turn eligible.
	once      bool
	appending hosttest.Appending // but for the last process
}

func (d turnDelivery) String() string {
	return fmt.Sprint(d.path, " ", d.appending, map[bool]string{true: " once"}[d.once])
}

func turnDeliveries() (all []turnDelivery) {
	for _, appending := range []hosttest.Appending{hosttest.AppendNow, hosttest.AppendLate, hosttest.AppendNever} {
		for _, path := range []core.Resolution{core.ByWorkflowPrompt, core.ByFallback} {
			all = append(all, turnDelivery{path, false, appending})
		}
		all = append(all, turnDelivery{core.ByWorkflowPrompt, true, appending})
	}
	return append(all, turnDelivery{core.ByPresentation, false, hosttest.AppendNow})
}

// turnScript is what a process of a delivery sees: the start of the session, its
// message, and some passes.
type turnScript struct {
	turnDelivery
	runID  string
	first  bool // process
	passes int
	every  time.Duration
}

func (s turnScript) play(h *hosttest.Host, done func() bool) error {
	if err := h.SessionStart(); err != nil {
		return err
	}
	post := turnPosts["prompt"]
	if s.path == core.ByPresentation {
		post = turnPosts["presentation"]
	}
	if s.path != core.ByFallback && (s.first || !s.once) {
		if err := h.Post(s.runID, "message", post.path, post.entry); err != nil {
			return err
		}
	}
	for range s.passes {
		if done() {
			return nil
		}
		h.Clock.Advance(s.every)
		if err := turnTick(h); err != nil {
			return err
		}
	}
	return nil
}

// turnCounter stops a process at its nth point of a delivery. A point after a step is
// the one before the next, but for a send, whose message may show in between; and
// what the launch coordinator does is no point.
type turnCounter struct {
	stopAt, points int
	launching      bool
}

func (c *turnCounter) at(point string) bool {
	if was := c.launching; was || point == "list" {
		c.launching = point != "after claim" // of a run
		return false
	}
	if point != "after send" && len(point) > 6 && point[:6] == "after " {
		return false
	}
	c.points++
	return c.points == c.stopAt
}

// Guards: turns_next.go deliver looks before it sends; turns_result.go looked takes the
// type of what is found.
func TestTurnTwoCrashesTellTwiceOrNever(t *testing.T) {
	clock := hosttest.NewClock(turnEpoch)
	dir := t.TempDir()
	stores := []*sqlite.Store{turnFile(t, dir, clock.Now), turnFile(t, dir, clock.Now)}
	cells := 0
	for _, d := range turnDeliveries() {
		t.Run(d.String(), func(t *testing.T) {
			firsts, seconds := 0, 0
			for i := 1; i == 1 || i <= firsts+1; i++ {
				points := 0
				for j := 1; j == 1 || j <= points+1; j++ {
					cells++
					cell := turnCell{turnDelivery: d, i: i, j: j, w: turnWorldOf(t, clock, nil, fmt.Sprint("session-", cells))}
					first, second := cell.play(stores)
					firsts, points = max(firsts, first), max(points, second)
					if t.Failed() {
						t.Fatalf("stopped at %d, then at %d", i, j)
					}
				}
				seconds += points
			}
			t.Logf("%d points of the first process, %d of the second after each of those", firsts, seconds)
		})
	}
	t.Logf("%d pairs of points", cells)
}

// turnCell stops a first process at its ith point and a second at its jth.
type turnCell struct {
	turnDelivery
	i, j int
	w    *turnWorld
}

// play returns how many points each process had.
func (c turnCell) play(stores []*sqlite.Store) (firsts, seconds int) {
	w, runID := c.w, "run-"+c.w.session.ID
	w.Helper()
	w.store = stores[0]
	intent := w.owe(runID, c.path == core.ByFallback)
	process := func(store *sqlite.Store, s turnScript, stopAt int, appending hosttest.Appending) int {
		w.store = store
		w.restart()
		w.steps = 0
		counter := &turnCounter{stopAt: stopAt}
		w.at = counter.at
		w.session.Appending = appending
		err := s.play(w.host, func() bool { return w.intent(intent).Resolution != nil && w.session.Idle() })
		if stopAt > 0 && stopAt <= counter.points {
			w.stops(err)
		} else {
			w.must(err)
		}
		if n := w.session.Messages(intent); n > 1 {
			w.Errorf("%d messages name the intent", n)
		}
		return counter.points
	}
	script := turnScript{turnDelivery: c.turnDelivery, runID: runID, first: true, passes: 2, every: turnInterval}
	if c.appending == hosttest.AppendNever {
		script.passes, script.every = 3, turnLease/2 // it sends again
	}
	firsts = process(stores[0], script, c.i, c.appending)
	if c.once && w.intent(intent).Resolution == nil {
		w.must(w.makeEligible(intent))
	}
	script.first, script.passes, script.every = false, 3, turnLease/2
	seconds = process(stores[1], script, c.j, c.appending)

	// The last process finds an idle session, and has a lease and a poll for it.
	restarted := w.clock.Now()
	script.passes, script.every = 3, (turnLease+turnInterval)/3
	shown := func() bool { return w.session.Messages(intent) == 1 }
	process(stores[0], script, 0, hosttest.AppendNow)
	if took := w.clock.Now().Sub(restarted); !shown() || took > turnLease+turnInterval {
		w.Errorf("%d messages name the intent after %v", w.session.Messages(intent), took)
		return firsts, seconds
	}
	w.tick()
	found, err := w.session.Find(intent)
	w.must(err)
	for _, m := range core.MessageTypes {
		if m.CustomType == found {
			w.resolved(intent, m.Resolution)
		}
	}
	if !c.once {
		w.resolved(intent, c.path)
	}
	return firsts, seconds
}
