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
	race   *turnRace
	host   *hosttest.Host
	store  *sqlite.Store
	resume chan bool     // true stops the process at its point
	at     chan string   // the point that it has come to, "" where its event is over
	point  string        // where it stands
	stood  time.Duration // for how long it has stood there
	late   bool          // its session has accepted what it does not show yet
	waited time.Duration // for how long
	asleep int           // for how many rounds it is held up
}

// turnRace is two processes of one session that live at once.
type turnRace struct {
	*turnWorld
	random *rand.Rand
	racers [2]*turnRacer
	runs   []string
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
	if racer.point == "after send" && racer.host.Session.Appending == hosttest.AppendLate {
		racer.late, racer.waited = true, 0
	}
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
	if p.late && p.waited > turnLease/3 {
		what = 0
	}
	switch what {
	case 0, 1, 2:
		p.late = false
		return func() error { return turnTick(h) }
	case 3:
		return h.Activity
	case 4:
		return h.SessionStart
	case 5:
		p.late = false
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
		return func() error { return h.Prompt(p.race.runs[random.IntN(len(p.race.runs))], id) }
	}
	return h.Poll
}

// round takes one of the processes a step on, and lets time pass. A process may be held
// up at any point for longer than its lease, but not between verify and send, nor while
// its session has something to show.
func (r *turnRace) round() {
	i := r.random.IntN(2)
	if p := r.racers[i]; p.asleep > 0 {
		p.asleep--
		i = 1 - i
	} else if r.random.IntN(25) == 0 {
		p.asleep = 30
	}
	r.step(i)
	d := time.Duration(r.random.Int64N(int64(turnInterval)))
	for i, p := range r.racers {
		for p.point == "verified" && p.stood+d >= turnLease || p.late && p.waited+d > turnLease/2 {
			p.asleep = 0
			r.step(i)
			p = r.racers[i]
		}
	}
	for _, p := range r.racers {
		p.stood += d
		p.waited += d
	}
	r.clock.Advance(d)
}

// Guards: workflow_turn_intents.sql, IntentClaimEligible and IntentClaimForRun ask that
// no claim is live; turns_next.go deliver looks before it sends; host.go send verifies
// the claim.
func TestTurnTwoLiveProcessesTellTwice(t *testing.T) {
	clock := hosttest.NewClock(turnEpoch)
	dir := t.TempDir()
	stores := []*sqlite.Store{turnFile(t, dir, clock.Now), turnFile(t, dir, clock.Now)}
	points, sends := 0, 0
	for seed := range uint64(150) {
		r := &turnRace{
			turnWorld: turnWorldOf(t, clock, stores[0], fmt.Sprint("session-", seed)), random: rand.New(rand.NewPCG(seed, 7)),
		}
		var intents []string
		for i := range 4 {
			runID := fmt.Sprint("run-", seed, "-", i)
			r.runs, intents = append(r.runs, runID), append(intents, r.owe(runID, i%2 == 0))
		}
		for i := range r.racers {
			r.start(i, stores[i])
		}
		for range 120 {
			r.round()
			for _, intent := range intents {
				if n := r.session.Messages(intent); n > 1 {
					t.Fatalf("seed %d: %d messages name the intent", seed, n)
				}
			}
		}
		for _, p := range r.racers {
			for p.point != "" {
				p.resume <- true
				p.point = <-p.at
			}
			sends += p.host.Session.Sends()
		}
		points += r.points
		r.arrive(stores[0], intents)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d points, %d sends", points, sends)
}

// arrive lets one more process deliver what is left.
func (r *turnRace) arrive(store *sqlite.Store, intents []string) {
	r.Helper()
	for _, intent := range intents {
		if r.intent(intent).Resolution == nil {
			r.must(r.makeEligible(intent))
		}
	}
	r.store = store
	r.restart()
	r.steps = 0
	r.must(r.host.SessionStart())
	r.arrives()
	for range 2 * len(intents) { // one each idle boundary
		r.tick()
	}
	for _, intent := range intents {
		r.messages(intent, 1)
		found, err := r.session.Find(intent)
		r.must(err)
		r.resolved(intent, map[string]core.Resolution{core.TypeAgentStep: core.ByWorkflowPrompt, core.TypeDeferredTurn: core.ByFallback}[found])
	}
}
