package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/pi-workflows/wfcore/core"
)

// TestLockPastTheWait: a writer elsewhere holds the lock for longer than the wait.
func TestLockPastTheWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	holder := mustOpen(t, path, patient)
	for name, wait := range map[string]time.Duration{"wait": 5 * time.Millisecond, "no wait": -1} {
		t.Run(name, func(t *testing.T) {
			s := mustOpen(t, path, Options{Now: clockAt(0), Wait: wait})
			before := dump(t, s.conn)
			execute(t, holder.conn, "BEGIN IMMEDIATE")
			_, err := s.ReservePreparedRun(ctx, request("run", "session"))
			wantBusy(t, err)
			_, err = s.ListRuns(ctx, core.ListRunsRequest{Limit: 1})
			try(t, err) // a reader needs no lock
			execute(t, holder.conn, "ROLLBACK")

			if after := dump(t, s.conn); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("the rows were %v and are %v", before, after)
			}
			try(t, cycle(s, "run", "session"))
			execute(t, holder.conn, "DELETE FROM workflow_run_queue; DELETE FROM run_events")
		})
	}
}

func wantBusy(t *testing.T, err error) {
	t.Helper()
	wantCode(t, err, core.CodeStoreUnavailable)
	var own *core.Error
	if errors.As(err, &own); !own.Retryable || !strings.Contains(own.Message, "busy") {
		t.Errorf("have %+v", own)
	}
}

// TestOpenMeetsALock: the schema is written once the lock is let go, and the wait
// bounds that too.
func TestOpenMeetsALock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	c := plain(t, path)
	execute(t, c, "PRAGMA journal_mode = WAL; BEGIN IMMEDIATE")
	_, err := Open(ctx, path, Options{Wait: 5 * time.Millisecond})
	wantBusy(t, err)
	execute(t, c, "ROLLBACK")
	wantV1(t, mustOpen(t, path, Options{}))
}

// TestOpenMeetsAWriterInRollbackMode: to switch WAL on takes the whole file.
func TestOpenMeetsAWriterInRollbackMode(t *testing.T) {
	path := place(t, "v1-populated")
	host := plain(t, path)
	execute(t, host, "PRAGMA journal_mode = DELETE; BEGIN IMMEDIATE; UPDATE workflow_run_queue SET updated_at = ''")
	s := mustOpen(t, path, Options{ReadOnly: true})
	if n := scan[int](t, s.conn, "SELECT count(*) FROM workflow_run_queue WHERE updated_at = ''"); n != 0 {
		t.Errorf("%d rows that are not committed", n)
	}
	try(t, s.Close())
	_, err := Open(ctx, path, Options{Wait: 5 * time.Millisecond})
	wantBusy(t, err)
	execute(t, host, "COMMIT")
	wantPragmas(t, mustOpen(t, path, Options{}))
}

// TestManyWriters: each has the file open for itself, and none ever sees a lock.
func TestManyWriters(t *testing.T) {
	const writers, cycles = 8, 50
	path := filepath.Join(t.TempDir(), "store")
	stores := make([]*Store, writers)
	for i := range stores {
		stores[i] = mustOpen(t, path, patient)
	}
	var acknowledged atomic.Int64
	var group sync.WaitGroup
	for i, s := range stores {
		group.Go(func() {
			for n := range cycles {
				if err := cycle(s, fmt.Sprintf("run-%d-%d", i, n), fmt.Sprintf("session-%d", i)); err != nil {
					t.Error(err)
					return
				}
				acknowledged.Add(1)
			}
		})
	}
	group.Wait()
	done := scan[int64](t, stores[0].conn, "SELECT count(*) FROM workflow_run_queue WHERE status = 'done'")
	if done != writers*cycles || acknowledged.Load() != done {
		t.Errorf("%d acknowledged and %d done, want %d", acknowledged.Load(), done, writers*cycles)
	}
	if n := scan[int64](t, stores[0].conn, "SELECT count(*) FROM run_events"); n != 4*done {
		t.Errorf("%d events, want %d", n, 4*done)
	}
}

// onStatement calls do before each statement that the store runs.
func onStatement(t testing.TB, s *Store, do func(query string)) {
	t.Helper()
	try(t, raw(s.conn, func(c *sqlite3.Conn) error {
		return c.Trace(sqlite3.TRACE_STMT, func(_ sqlite3.TraceEvent, _, query any) error {
			do(query.(string))
			return nil
		})
	}))
}

// TestCancelledWhileWaiting: the caller gives up while another holds the lock,
// during a try or between two.
func TestCancelledWhileWaiting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	holder, s := mustOpen(t, path, patient), mustOpen(t, path, patient)
	execute(t, holder.conn, "BEGIN IMMEDIATE")
	for name, inTry := range map[string]bool{"during a try": true, "at any moment": false} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			tries := 0
			onStatement(t, s, func(query string) {
				if tries++; tries == 3 && inTry {
					cancel()
				} else if tries == 3 {
					go cancel()
				}
			})
			_, err := s.ReservePreparedRun(ctx, request("run", "session"))
			wantCancelled(t, err)
		})
	}
	onStatement(t, s, func(string) {})
	execute(t, holder.conn, "ROLLBACK")
	try(t, cycle(s, "run", "session"))
}

func wantCancelled(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("errors.Is(%v, context.Canceled) is false", err)
	}
	wantCode(t, err, core.CodeStoreUnavailable)
}

// TestCancelledAtEachStatement: an operation that is given up changes all or
// nothing, and leaves no transaction behind.
func TestCancelledAtEachStatement(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store"), patient)
	for at := 1; ; at++ {
		ctx, cancel := context.WithCancel(ctx)
		statements := 0
		onStatement(t, s, func(string) {
			if statements++; statements == at {
				cancel()
			}
		})
		runID := fmt.Sprintf("run-%d", at)
		_, err := s.ReservePreparedRun(ctx, request(runID, runID))
		cancel()
		onStatement(t, s, func(string) {})
		if err != nil {
			wantCancelled(t, err)
		}
		runs := scan[int](t, s.conn, "SELECT count(*) FROM workflow_run_queue WHERE run_id = ?", runID)
		events := scan[int](t, s.conn, "SELECT count(*) FROM run_events WHERE run_id = ?", runID)
		if runs != events || (err == nil && runs != 1) {
			t.Errorf("statement %d: %d runs, %d events, %v", at, runs, events, err)
		}
		if autocommit := autocommit(t, s); !autocommit {
			t.Fatalf("statement %d: a transaction is open", at)
		}
		if statements < at {
			break
		}
	}
	try(t, cycle(s, "last", "last"))
}

func autocommit(t *testing.T, s *Store) (is bool) {
	t.Helper()
	try(t, raw(s.conn, func(c *sqlite3.Conn) error {
		is = c.GetAutocommit()
		return nil
	}))
	return is
}
