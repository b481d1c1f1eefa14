// Package cancel lets a second process interfere at every boundary of a host: before each
// SQL statement on the store's file, and before and after each effect beside it.
package cancel

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3/driver"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
	"github.com/pi-workflows/wfcore/prove"
	"github.com/pi-workflows/wfcore/prove/invariant"
	"github.com/pi-workflows/wfcore/prove/scenario"
)

var ctx = context.Background()

// stage is a directory in which a host plays a scenario, and a second process has the
// same store open.
type stage struct {
	t    *testing.T
	dir  string
	host *scenario.World
	// second does not wait for a lock, and has the host's time or, given, its own.
	second *sqlite.Store
	own    *time.Time
	eyes   *sql.DB
	// at is called at each boundary, with its number and the statement that comes next; at
	// an effect it is empty.
	at func(n int, next string)
	// then is done after each step of the scenario.
	then     func() error
	passed   int
	watching bool
	// recovered is how often nodes were let act until all was recovered.
	recovered int
}

func newStage(t *testing.T) *stage {
	s := &stage{t: t, dir: prove.Dir(t), then: func() error { return nil }}
	// These two are opened before statements are watched, so that theirs are not.
	second, err := sqlite.Open(ctx, scenario.Path(s.dir), sqlite.Options{Now: s.now, Wait: -1, WaitBeforeAbort: -1})
	must(t, err)
	s.second = second
	dsn := url.URL{Scheme: "file", Path: scenario.Path(s.dir), RawQuery: "_pragma=busy_timeout(0)"}
	s.eyes, err = driver.Open(dsn.String())
	must(t, err)
	s.eyes.SetMaxOpenConns(1)
	must(t, s.eyes.Ping())
	t.Cleanup(scenario.OnStatement(scenario.Path(s.dir), s.boundary))
	t.Cleanup(s.close)
	return s
}

// close ends the second process.
func (s *stage) close() {
	s.second.Close()
	s.eyes.Close()
}

func (s *stage) now() time.Time {
	if s.own != nil {
		return *s.own
	}
	if s.host == nil {
		return scenario.Epoch
	}
	return s.host.Clock.Now()
}

// boundary is passed by the host, and not by what is done at it.
func (s *stage) boundary(next string) {
	if !s.watching {
		return
	}
	s.passed++
	s.watching = false
	s.at(s.passed, next)
	s.watching = true
}

// play lets the host play a scenario; its opening is no part of it.
func (s *stage) play(played scenario.Scenario, at func(n int, next string)) {
	s.t.Helper()
	s.at = at
	var err error
	s.host, err = scenario.Open(s.dir, scenario.Options{Process: "host", Stop: func(string) bool { s.boundary(""); return false }})
	must(s.t, err)
	s.watching = true
	err = played.PlayWith(s.host, s.then)
	s.watching = false
	must(s.t, err)
}

// look is what the store holds, as far as it is committed.
func (s *stage) look() invariant.Look {
	look, err := invariant.Read(ctx, s.eyes)
	if err != nil {
		s.t.Error(err)
	}
	return look
}

// busy says that the host is inside a write transaction.
func (s *stage) busy() bool {
	if _, err := s.eyes.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return true
	}
	if _, err := s.eyes.ExecContext(ctx, "ROLLBACK"); err != nil {
		s.t.Error(err)
	}
	return false
}

// acted is how often nodes were let act.
func (s *stage) acted() int {
	text, err := os.ReadFile(filepath.Join(s.dir, "acted"))
	if err != nil && !os.IsNotExist(err) {
		s.t.Error(err)
	}
	return len(strings.Fields(string(text)))
}

// settle ends the host and the second process, and lets a new process recover what they
// left, and the session go on.
func (s *stage) settle() invariant.Look {
	s.t.Helper()
	must(s.t, s.host.Close())
	s.close()
	s.none(scenario.Check)
	w, err := scenario.Open(s.dir, scenario.Options{Process: "rescue", After: time.Hour})
	must(s.t, err)
	must(s.t, scenario.Recover(w))
	s.none(scenario.Settled)
	s.recovered = s.acted()
	must(s.t, scenario.Again(w))
	must(s.t, w.Close())
	s.none(scenario.Check)
	s.none(scenario.Secret)
	look, _, err := scenario.Look(s.dir)
	must(s.t, err)
	return look
}

func (s *stage) none(check func(dir string) ([]string, error)) {
	s.t.Helper()
	wrong, err := check(s.dir)
	must(s.t, err)
	s.wrong(wrong)
}

func (s *stage) wrong(wrong []string) {
	s.t.Helper()
	for _, w := range wrong {
		s.t.Error(w)
	}
}

// places are where a scenario can be interfered with, those of them at which its run has
// not ended, and that run.
type places struct {
	all, live []int
	run       string
}

// undisturbed finds them. Two boundaries with nothing of the run between them are one: those
// within a transaction of the host, in which nobody else can write, since what begins at the
// first meets each of the others; and an effect and the move of the other host that goes
// before each.
func undisturbed(t *testing.T, played scenario.Scenario) (found places) {
	t.Helper()
	s := newStage(t)
	inside, statement := false, false
	s.play(played, func(n int, next string) {
		before := inside
		inside = s.busy()
		if last := len(found.all) - 1; next == "" && statement && last >= 0 && found.all[last] == n-1 {
			found.all = found.all[:last]
		}
		if !framing[next] && (!inside || !before) {
			found.all = append(found.all, n)
		}
		if statement = next != ""; !s.ended() {
			found.live = found.all
		}
	})
	must(t, s.host.Close())
	run := s.run()
	if run == nil {
		t.Fatal("the session has no run")
	}
	found.run = run["run_id"]
	return found
}

// run is that of the session.
func (s *stage) run() invariant.Row {
	for _, run := range s.look().Runs {
		if run["origin_session_id"] == scenario.Session {
			return run
		}
	}
	return nil
}

func (s *stage) ended() bool { return core.Status(s.run()["status"]).Terminal() }

// framing are the statements that neither read nor write: before them is no other moment
// than before what follows.
var framing = map[string]bool{"BEGIN": true, "COMMIT": true, "ROLLBACK": true}

// releases are the events after which nodes may act.
func releases(look invariant.Look, run string) (by []string) {
	for _, e := range look.Events {
		if e["run_id"] == run && (e["type"] == string(core.EventRunning) || e["type"] == string(core.EventClaimTransferred)) {
			by = append(by, e["runner_id"])
		}
	}
	return by
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
