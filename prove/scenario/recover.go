package scenario

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ncruces/go-sqlite3/driver"

	"github.com/pi-workflows/wfcore/core"

	"github.com/pi-workflows/wfcore/prove/invariant"
)

// rounds is how often a recovering process looks: until its own lease is over, and then
// some more for what it sends.
const rounds = int(Lease/Interval) + 15

// Recover lets a new process do what it does at every start, until nothing is left to do.
func Recover(w *World) error {
	if err := w.SessionStart(); err != nil {
		return err
	}
	for range rounds {
		if err := w.round(); err != nil {
			return err
		}
	}
	return nil
}

// round is one thing that ends: a run, a turn, or the time until the next poll.
func (w *World) round() error {
	switch _, runs := w.runs(); {
	case runs:
		return w.end(core.LaunchSeen{Outcome: core.EngineDone})
	case !w.Session.Idle():
		return w.Settled()
	}
	w.Clock.Advance(Interval)
	return w.Poll()
}

// Again lets the session start another run, which has to end well.
func Again(w *World) error {
	if err := w.start("next"); err != nil {
		return err
	}
	for range rounds {
		if err := w.round(); err != nil {
			return err
		}
	}
	answer, err := w.store.Call(context.Background(), "getRun", []byte(`{"runId":"next"}`))
	if err != nil {
		return err
	}
	var run core.Run
	if err := json.Unmarshal(answer, &run); err != nil || run.Status != core.Done {
		return fmt.Errorf("the next run of the session is %s, %v", answer, err)
	}
	return nil
}

// Look is all that is in a directory: rows, messages, and what was acknowledged.
func Look(dir string) (look invariant.Look, acknowledged []string, err error) {
	db, err := plain(Path(dir), "mode=ro")
	if err != nil {
		return look, nil, err
	}
	defer db.Close()
	if look, err = invariant.Read(context.Background(), db); err != nil {
		return look, nil, err
	}
	look.Foreign = Foreign
	entries, err := journal(filepath.Join(dir, "branch")).Entries()
	look.Messages = []invariant.Message{}
	for _, e := range entries {
		look.Messages = append(look.Messages, invariant.Message{SessionID: Session, IntentID: e.TurnIntentID, CustomType: e.CustomType})
	}
	return look, lines(filepath.Join(dir, "acknowledged")), err
}

// plain opens a store as another host does.
func plain(path, query string) (*sql.DB, error) {
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: query}
	return driver.Open(dsn.String())
}

// Check says what is wrong in a directory, whatever happened in it.
func Check(dir string) ([]string, error) { return Watch(dir)() }

// Watch is a Check that is made again and again, each time also against what it saw
// before.
func Watch(dir string) (check func() ([]string, error)) {
	var watch invariant.Watch
	return func() ([]string, error) {
		look, acknowledged, err := Look(dir)
		if err != nil {
			return nil, err
		}
		watch.Acknowledged = acknowledged
		wrong := append(watch.Look(look), acted(dir, look)...)
		db, err := plain(Path(dir), "mode=ro")
		if err != nil {
			return wrong, err
		}
		defer db.Close()
		unsound, err := invariant.Sound(context.Background(), db)
		return append(wrong, unsound...), err
	}
}

// acted: nodes act once for each release and each take-over, and never without.
func acted(dir string, look invariant.Look) []string {
	released := 0
	for _, e := range look.Events {
		if e["type"] == string(core.EventRunning) || e["type"] == string(core.EventClaimTransferred) {
			released++
		}
	}
	if n := len(lines(filepath.Join(dir, "acted"))); n > released {
		return []string{fmt.Sprintf("nodes acted %d times, and were let %d times", n, released)}
	}
	return nil
}

// Settled says what a recovered directory still leaves open in the session.
func Settled(dir string) ([]string, error) {
	look, _, err := Look(dir)
	if err != nil {
		return nil, err
	}
	var wrong []string
	for _, run := range look.Runs {
		if run["origin_session_id"] == Session && core.Status(run["status"]).Reserves() {
			wrong = append(wrong, fmt.Sprintf("run %s is still %s: %v", run["run_id"], run["status"], look.Feed(run["run_id"])))
		}
	}
	for _, intent := range look.Intents {
		_, resolved := intent["resolved_at"]
		_, eligible := intent["eligible_at"]
		if intent["target_session_id"] == Session && eligible && !resolved {
			wrong = append(wrong, fmt.Sprintf("intent %s is due, and not resolved", intent["intent_id"]))
		}
	}
	return wrong, nil
}

// Secret says where the private input of the runs that have passed their final fence is
// left. Nobody may have the store open.
func Secret(dir string) ([]string, error) {
	look, _, err := Look(dir)
	if err != nil || slices.ContainsFunc(look.Runs, func(r invariant.Row) bool {
		return r["status"] == string(core.Queued) || r["status"] == string(core.Starting)
	}) {
		return nil, err
	}
	return invariant.Absent(dir, Marker)
}

// WantNone wants a check to find nothing wrong in a directory.
func WantNone(t testing.TB, dir string, check func(dir string) (wrong []string, err error)) {
	t.Helper()
	wrong, err := check(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Error(w)
	}
}
