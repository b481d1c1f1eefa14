package hosttest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/hosttest"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

// turnRacer is a live process that takes a step whenever the scheduler says so, and
// never beside another.
type turnRacer struct {
	race    *turnRace
	host    *hosttest.Host
	store   *sqlite.Store
	resume  chan bool     // true stops the process at its point
	at      chan string   // the point that it has come to, "" where its event is over
	point   string        // where it stands
	stood   time.Duration // for how long it has stood between verify and send
	flushed time.Duration // for how long the session has not shown what it accepted
}

// turnRace is two processes of one session that live at once.
type turnRace struct {
	*turnWorld
	random *rand.Rand
	racers [2]*turnRacer
	runID  string
	posted int
	points int
}

func (r *turnRace) start(i int, store *sqlite.Store) {
	racer := &turnRacer{race: r, store: store, resume: make(chan bool), at: make(chan string)}
	r.name = fmt.Sprint("racer-", i)
	r.store = store
	r.restart()
	racer.host = r.host
	racer.host.Stop = func(point string) bool {
		racer.at <- point
		return <-racer.resume
	}
	r.racers[i] = racer
}

// step takes the ith process on to its next point, or ends it there.
func (r *turnRace) step(i int) {
	racer := r.racers[i]
	stop := r.random.IntN(40) == 0
	if racer.point == "" {
		event := racer.event()
		go func() {
			_ = event()
			racer.at <- ""
		}()
	} else {
		racer.resume <- stop
	}
	was := racer.point
	racer.point = <-racer.at
	racer.stood = 0
	r.points++
	if stop && was != "" {
		for racer.point != "" { // it does nothing more
			racer.resume <- true
			racer.point = <-racer.at
		}
		r.start(i, racer.store)
	}
}

// event is the next thing that a process sees. What its session accepted shows before
// another turn begins or ends.
func (p *turnRacer) event() func() error {
	h, random := p.host, p.race.random
	h.Session.Appending = []hosttest.Appending{hosttest.AppendNow, hosttest.AppendLate, hosttest.AppendNever}[random.IntN(3)]
	what := random.IntN(8)
	if p.flushed > turnLease/3 {
		what = 0
	}
	switch what {
	case 0, 1, 2:
		p.flushed = 0
		return func() error { return turnTick(h) }
	case 3:
		return h.Activity
	case 4:
		return h.SessionStart
	case 5:
		p.flushed = 0
		return func() error {
			if err := h.Session.Flush(); err != nil {
				return err
			}
			h.Session.StartTurn()
			return h.Activity()
		}
	case 6:
		p.race.posted++
		id := fmt.Sprint("message-", p.race.posted)
		return func() error { return h.Prompt(p.race.runID, id) }
	}
	return h.Poll
}

// pass lets time pass, but for a process that stands between verify and send for less
// than its lease, and for one that has not been looked at for long.
func (r *turnRace) pass() {
	d := time.Duration(r.random.Int64N(int64(turnInterval)))
	for _, p := range r.racers {
		if p.point == "verified" && p.stood+d >= turnLease || p.flushed+d > turnLease/2 {
			return
		}
	}
	for _, p := range r.racers {
		p.stood += d
		p.flushed += d
	}
	r.clock.Advance(d)
}

// Guards: IntentClaimEligible and IntentClaimForRun ask that no claim is live;
// turns_next.go send verifies the claim, deliver renews it and looks before it sends.
func TestTurnTwoLiveProcessesTellTwice(t *testing.T) {
	clock := hosttest.NewClock(turnEpoch)
	dir := t.TempDir()
	stores := []*sqlite.Store{turnFile(t, dir, clock.Now), turnFile(t, dir, clock.Now)}
	points, sends := 0, 0
	for seed := range uint64(60) {
		r := &turnRace{
			turnWorld: turnWorldOf(t, clock, stores[0], fmt.Sprint("session-", seed)),
			random:    rand.New(rand.NewPCG(seed, 7)), runID: fmt.Sprint("run-", seed),
		}
		intent := r.owe(r.runID, seed%3 != 0)
		for i := range r.racers {
			r.start(i, stores[i])
		}
		for range 200 {
			r.step(r.random.IntN(2))
			r.pass()
			if n := r.session.Messages(intent); n > 1 {
				t.Fatalf("seed %d: %d messages name the intent", seed, n)
			}
		}
		for _, p := range r.racers {
			for p.point != "" {
				p.resume <- true
				p.point = <-p.at
			}
		}
		points += r.points
		if r.intent(intent).Resolution == nil {
			r.must(r.makeEligible(intent))
		}
		r.store = stores[0]
		r.restart()
		r.steps = 0
		r.must(r.host.SessionStart())
		r.arrives()
		r.tick()
		if t.Failed() || r.session.Messages(intent) != 1 {
			t.Fatalf("seed %d: %d messages name the intent", seed, r.session.Messages(intent))
		}
		found, err := r.session.Find(intent)
		turnMust(t, err)
		r.resolved(intent, map[string]core.Resolution{core.TypeAgentStep: core.ByWorkflowPrompt, core.TypeDeferredTurn: core.ByFallback}[found])
		sends += r.session.Sends()
	}
	t.Logf("%d points, %d sends after them", points, sends)
}
