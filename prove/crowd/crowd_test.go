package crowd

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
	"github.com/pi-workflows/wfcore/prove"
	"github.com/pi-workflows/wfcore/prove/invariant"
	"github.com/pi-workflows/wfcore/prove/scenario"
)

// Of the ten processes eight are ours, and take this many runs through, and two are other
// hosts, which have this many.
const (
	ours, cycles      = 8, 50
	others, otherRuns = 2, 20
)

// ahead is how many runs a process knows of that is going to be killed, so that it has
// always something to do, and is not far from where it is killed.
const ahead = 3

// crowd is a store, the processes on it, and who looks at it meanwhile.
type crowd struct {
	t        *testing.T
	path     string
	children []*child
	eyes     *sql.DB
	watch    invariant.Watch
	// said is how often the children said each word, by the child and in all.
	said map[string]int
	by   map[int]map[string]int
}

func newCrowd(t *testing.T) *crowd {
	c := &crowd{t: t, path: filepath.Join(prove.Dir(t), "store"), said: map[string]int{}, by: map[int]map[string]int{}}
	s, err := sqlite.Open(ctx, c.path, patient(0))
	must(t, err)
	must(t, s.Close())
	c.eyes, err = plain(c.path, "ro")
	must(t, err)
	t.Cleanup(func() { c.eyes.Close() })
	return c
}

func (c *crowd) start(job string, args ...any) *child {
	c.t.Helper()
	started := start(c.t, job, append([]any{c.path}, args...)...)
	c.children = append(c.children, started)
	return started
}

// work starts a process that takes some runs through.
func (c *crowd) work(i int, session string, runs int) *child {
	c.t.Helper()
	started := c.start("work", fmt.Sprint("process-", i), session)
	started.tell(c.t, strings.TrimSuffix(strings.Repeat("one\n", runs), "\n"))
	return started
}

// run hears the children until all have ended, looks at the store now and then, and tells
// the ith child's nth line, by its first word, to see.
func (c *crowd) run(see func(i, n int, word string)) {
	c.t.Helper()
	type line struct {
		i    int
		text string
	}
	lines := make(chan line)
	var group sync.WaitGroup
	for i, child := range c.children {
		c.by[i] = map[string]int{}
		group.Go(func() {
			for child.out.Scan() {
				lines <- line{i, child.out.Text()}
			}
		})
	}
	go func() { group.Wait(); close(lines) }()
	heard, all := map[int]int{}, 0
	for l := range lines {
		word, runID, _ := strings.Cut(l.text, " ")
		if word == "acknowledged" {
			c.watch.Acknowledged = append(c.watch.Acknowledged, runID)
		}
		c.said[word]++
		c.by[l.i][word]++
		heard[l.i]++
		see(l.i, heard[l.i], word)
		if all++; all%100 == 0 {
			c.look()
		}
	}
}

// look checks what stands at one instant, while the others write.
func (c *crowd) look() invariant.Look {
	c.t.Helper()
	tx, err := c.eyes.BeginTx(ctx, nil)
	must(c.t, err)
	defer tx.Rollback()
	look, err := invariant.Read(ctx, tx)
	must(c.t, err)
	look.Foreign = scenario.Foreign
	c.none(c.watch.Look(look))
	return look
}

// sound looks for the last time.
func (c *crowd) sound() invariant.Look {
	c.t.Helper()
	wrong, err := invariant.Sound(ctx, c.eyes)
	must(c.t, err)
	c.none(wrong)
	return c.look()
}

func (c *crowd) none(wrong []string) {
	c.t.Helper()
	for _, w := range wrong {
		c.t.Error(w)
	}
}

// TestTenProcesses: each start that is acknowledged is one run, each run is done once, and
// nobody ever hears of a lock. Two sessions belong to two processes each: a session has one
// live run at any look, and who comes second is told so, and nothing else.
func TestTenProcesses(t *testing.T) {
	c := newCrowd(t)
	for i, session := range []string{"a", "a", "b", "b", "c", "d", "e", "f"} {
		must(t, c.work(i, session, cycles).in.Close())
	}
	for i := range others {
		c.start("live", fmt.Sprint("host-", i), otherRuns)
	}
	c.run(func(int, int, string) {})
	for _, child := range c.children {
		must(t, child.Wait())
	}
	look := c.sound()
	done, theirs := 0, 0
	for _, run := range look.Runs {
		switch foreign := scenario.Foreign(run["run_id"]); {
		case !foreign && run["status"] == string(core.Done) && len(look.Feed(run["run_id"])) == 4:
			done++
		case foreign && run["status"] == string(core.Failed):
			theirs++
		default:
			t.Errorf("run %s is %s, with the feed %v", run["run_id"], run["status"], look.Feed(run["run_id"]))
		}
	}
	t.Logf("the processes said %v", c.said)
	if want := ours * cycles; c.said["acknowledged"] != want || done != want {
		t.Errorf("%d acknowledged and %d done, want %d", c.said["acknowledged"], done, want)
	}
	if want := others * otherRuns; theirs != want || len(look.Intents) != want {
		t.Errorf("%d runs and %d intents of other hosts, want %d", theirs, len(look.Intents), want)
	}
}

// TestKilledInACrowd kills half of the processes while they work: the others finish all of
// theirs, and what the dead ones left a later process brings to its end.
func TestKilledInACrowd(t *testing.T) {
	c, r := newCrowd(t), prove.Rand(t)
	killedAt := map[int]int{}
	for i := range ours {
		if i%2 == 0 {
			c.work(i, fmt.Sprint("session-", i), ahead)
			killedAt[i] = 1 + r.IntN(2*cycles)
		} else {
			must(t, c.work(i, fmt.Sprint("session-", i), cycles).in.Close())
		}
	}
	c.start("live", "host", otherRuns)
	c.run(func(i, n int, word string) {
		switch at, mortal := killedAt[i]; {
		case mortal && at == n:
			must(t, c.children[i].Process.Kill())
		case mortal && at > n && word == "done":
			c.children[i].tell(t, "one")
		}
	})
	for i, child := range c.children {
		err := child.Wait()
		if _, killed := killedAt[i]; killed != (err != nil) {
			t.Errorf("child %d ended with %v", i, err)
		}
	}
	c.sound()
	s, err := sqlite.Open(ctx, c.path, patient(time.Hour))
	must(t, err)
	recovered := 0
	for i := range ours {
		n, err := recoverAll(s, fmt.Sprint("session-", i))
		must(t, err)
		recovered += n
		if _, killed := killedAt[i]; n > 0 && !killed {
			t.Errorf("child %d was not killed, and left something", i)
		}
		must(t, reserve(s, request(fmt.Sprint("next-", i), fmt.Sprint("session-", i))))
		must(t, cycle(s, fmt.Sprint("next-", i), fmt.Sprint("session-", i), func(string) {}))
	}
	must(t, s.Close())
	look := c.sound()
	for _, run := range look.Runs {
		if status := run["status"]; !scenario.Foreign(run["run_id"]) && status != string(core.Done) {
			t.Errorf("run %s is %s: %v", run["run_id"], status, look.Feed(run["run_id"]))
		}
	}
	for i := 1; i < ours; i += 2 {
		if done := c.by[i]["done"]; done != cycles {
			t.Errorf("child %d, which nobody killed, did %d of %d", i, done, cycles)
		}
	}
	t.Logf("killed at lines %v; %d steps of recovery; the processes said %v", killedAt, recovered, c.said)
}
