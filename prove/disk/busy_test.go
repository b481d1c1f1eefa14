package disk

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3/driver"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/hosttest"
	"github.com/pi-workflows/wfcore/prove"
	"github.com/pi-workflows/wfcore/prove/invariant"
	"github.com/pi-workflows/wfcore/prove/scenario"
)

// Where another host holds the lock, an operation that writes says so and does nothing, one
// that reads answers, and the next try goes as if nothing had been.
func TestLocked(t *testing.T) {
	made := standing(t)
	for _, s := range prove.Sample(t, 4, scenario.All) {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			dir, undisturbed := copied(t, made), copied(t, made)
			l := &locker{t: t, dir: dir, db: plain(t, dir)}
			play(t, dir, scenario.Options{Process: "host", Wait: -1, Through: l.through}, s.Play)
			play(t, undisturbed, scenario.Options{Process: "host"}, s.Play)
			wantSame(t, dir, undisturbed)
			must(t, l.db.Close())
			rest(t, dir)
		})
	}
}

// locker lets another host hold the lock during the first try of each operation.
type locker struct {
	hosttest.Caller
	t   *testing.T
	dir string
	db  *sql.DB
}

func (l *locker) through(store hosttest.Caller) hosttest.Caller {
	l.Caller = store
	return l
}

func (l *locker) Call(ctx context.Context, op string, request []byte) ([]byte, error) {
	before := l.look()
	execute(l.t, l.db, "BEGIN IMMEDIATE")
	first, refused := l.Caller.Call(ctx, op, request)
	execute(l.t, l.db, "ROLLBACK")
	for _, wrong := range invariant.Unchanged(before, l.look()) {
		l.t.Errorf("%s while the store was locked: %s", op, wrong)
	}
	answer, err := l.Caller.Call(ctx, op, request)
	if !core.FindOp(op).ReadOnly {
		wantUnavailable(l.t, op, refused)
	} else if !bytes.Equal(first, answer) || core.CodeOf(refused) != core.CodeOf(err) {
		l.t.Errorf("%s answered %s, %v while the store was locked, and then %s, %v", op, first, refused, answer, err)
	}
	return answer, err
}

func (l *locker) look() invariant.Look {
	look, _, err := scenario.Look(l.dir)
	must(l.t, err)
	return look
}

// A reader that never ends holds nobody back, and still sees what it saw at first.
func TestReaderStays(t *testing.T) {
	made := standing(t)
	for _, s := range prove.Sample(t, 4, scenario.All) {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			dir, undisturbed := copied(t, made), copied(t, made)
			put(t, scenario.Path(dir), newFaulty(point{}), often)
			reader := plain(t, dir)
			execute(t, reader, "BEGIN")
			wantRuns(t, reader, 0)
			play(t, dir, scenario.Options{Process: "host", Wait: -1}, s.Play)
			play(t, undisturbed, scenario.Options{Process: "host"}, s.Play)
			wantSame(t, dir, undisturbed)
			wantRuns(t, reader, 0)
			execute(t, reader, "COMMIT")
			must(t, reader.Close())
			rest(t, dir)
		})
	}
}

// Where another host holds the lock, a store that stands opens, one that has to be made
// says so, and is made at the next try.
func TestOpeningLocked(t *testing.T) {
	for name, dir := range map[string]string{"standing": standing(t), "making": prove.Dir(t)} {
		t.Run(name, func(t *testing.T) {
			other := plain(t, dir)
			execute(t, other, "BEGIN IMMEDIATE")
			w, err := scenario.Open(dir, scenario.Options{Process: "host", Wait: -1})
			if name == "standing" {
				must(t, err)
				must(t, w.Close())
			} else {
				wantUnavailable(t, "open", err)
			}
			execute(t, other, "ROLLBACK")
			must(t, other.Close())
			rest(t, dir)
		})
	}
}

func wantUnavailable(t *testing.T, op string, err error) {
	t.Helper()
	var typed *core.Error
	if !errors.As(err, &typed) || typed.Code != core.CodeStoreUnavailable || !typed.Retryable || !strings.Contains(typed.Message, "busy") {
		t.Errorf("%s answered %v while the store was locked", op, err)
	}
}

// plain is another host's connection, which makes the file where there is none.
func plain(t *testing.T, dir string) *sql.DB {
	dsn := url.URL{Scheme: "file", Path: scenario.Path(dir), RawQuery: "_pragma=busy_timeout(0)"}
	db, err := driver.Open(dsn.String())
	must(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func execute(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	_, err := db.ExecContext(context.Background(), statement)
	must(t, err)
}

func wantRuns(t *testing.T, db *sql.DB, want int) {
	t.Helper()
	var have int
	must(t, db.QueryRowContext(context.Background(), "SELECT count(*) FROM workflow_run_queue").Scan(&have))
	if have != want {
		t.Errorf("the reader sees %d runs, want %d", have, want)
	}
}

// wantSame says that the same happened in two directories.
func wantSame(t *testing.T, dir, as string) {
	t.Helper()
	have, want := happened(t, dir), happened(t, as)
	if have != want {
		t.Errorf("there happened\n%swant\n%s", have, want)
	}
}

func happened(t *testing.T, dir string) string {
	look, acknowledged, err := scenario.Look(dir)
	must(t, err)
	var all strings.Builder
	fmt.Fprintln(&all, acknowledged, look.Messages)
	for _, e := range look.Events {
		fmt.Fprintln(&all, e["run_id"], e["type"])
	}
	for _, run := range look.Runs {
		fmt.Fprintln(&all, run["run_id"], run["status"])
	}
	return all.String()
}
