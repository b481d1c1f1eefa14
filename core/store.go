// Package core is the state machines of the store, over any SQLite connection.
//
// It knows neither which driver runs nor files, environment or wall clock: the
// face that opens a store lends it all of that. core/sqlite opens a file
// natively.
package core

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/pi-workflows/wfcore/db"
)

// Config is what a face lends a Store. All fields but the last two are needed.
type Config struct {
	// Conn is one connection with nothing open on it. The store uses it alone.
	Conn *sql.Conn
	// Wait calls try until it no longer fails for a lock, or the face's wait is
	// over, and returns its last error.
	Wait func(ctx context.Context, try func() error) error
	// WaitBeforeAbort is Wait for what stands before an abort, which must not be held
	// back: 250 ms. It also waits while try answers ErrInUse.
	WaitBeforeAbort func(ctx context.Context, try func() error) error
	// ResultCode returns SQLite's extended result code of a driver's error, 0
	// where it has none.
	ResultCode func(err error) int
	// Now is the clock.
	Now func() time.Time
	// Random is the source of tokens and run ids.
	Random io.Reader
	// ReadOnly refuses every op that writes.
	ReadOnly bool
	// TestClock permits `now` in requests of Call.
	TestClock bool
}

// Store runs the operations. It is safe for use by several goroutines, one
// operation at a time.
type Store struct {
	cfg   Config
	mu    sync.Mutex
	stmts *stmtCache // nil once closed
}

// New makes a Store of a connection whose layout was checked.
func New(cfg Config) *Store {
	return &Store{cfg: cfg, stmts: newStmtCache(cfg.Conn)}
}

// Close ends the use of the connection, which stays open. Every later operation
// answers store_closed.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stmts != nil {
		s.stmts.close()
		s.stmts = nil
	}
}

// tx is one transaction: its queries and its one instant.
type tx struct {
	context.Context
	*db.Queries
	store *Store
	at    time.Time
	now   string // at, as stored
	nowMS int64  // at, as leases are stored
}

type instantKey struct{}

// now is the clock, or the instant that a request on a test clock carries.
func (s *Store) now(ctx context.Context) time.Time {
	if at, ok := ctx.Value(instantKey{}).(time.Time); ok {
		return at
	}
	return s.cfg.Now().Truncate(time.Millisecond)
}

func (s *Store) begin(ctx context.Context) *tx {
	at := s.now(ctx)
	return &tx{ctx, db.New(s.stmts), s, at, formatTime(at), at.UnixMilli()}
}

// write runs do in one BEGIN IMMEDIATE transaction. The clock is read once the
// write lock is held. An error of do rolls back; an error of the commit leaves
// open whether it happened, which is why every op can be repeated.
func (s *Store) write(ctx context.Context, do func(*tx) error) error {
	if s.cfg.ReadOnly {
		return NewError(CodeStoreMisconfigured, Details{"readOnly": true}, "the store is open for reading only")
	}
	return s.transact(ctx, func() error {
		if err := s.cfg.Wait(ctx, func() error { return s.beginWrite(ctx) }); err != nil {
			return err
		}
		return s.run(ctx, do)
	})
}

var errClosed = NewError(CodeStoreClosed, nil, "the store was closed")

// ErrInUse says that another goroutine uses the store right now.
var ErrInUse = NewError(CodeStoreUnavailable, nil, "the store is in use by another operation of this process; try again")

// writeBeforeAbort is write for what stands before an abort: neither another
// process's lock nor another operation of this one holds it back for long.
func (s *Store) writeBeforeAbort(ctx context.Context, do func(*tx) error) error {
	if s.cfg.ReadOnly {
		return s.write(ctx, do) // which refuses
	}
	err := s.cfg.WaitBeforeAbort(ctx, func() error {
		if !s.mu.TryLock() {
			return ErrInUse
		}
		err := s.beginWrite(ctx)
		if err != nil {
			s.mu.Unlock()
		}
		return err
	})
	if err != nil {
		return s.storageError(ctx, err)
	}
	defer s.mu.Unlock()
	return s.storageError(ctx, s.run(ctx, do))
}

func (s *Store) beginWrite(ctx context.Context) error {
	if s.stmts == nil {
		return errClosed
	}
	return s.exec(ctx, "BEGIN IMMEDIATE")
}

// read runs do in one read transaction, so that several reads see one state. It
// is repeated whole where it meets a lock.
func (s *Store) read(ctx context.Context, do func(*tx) error) error {
	return s.transact(ctx, func() error {
		return s.cfg.Wait(ctx, func() error {
			if err := s.exec(ctx, "BEGIN"); err != nil {
				return err
			}
			return s.run(ctx, do)
		})
	})
}

// transactor is Store.write or Store.read.
type transactor = func(context.Context, func(*tx) error) error

// answer runs do in one transaction and returns what it gave, or an error and
// nothing.
func answer[T any](ctx context.Context, transact transactor, do func(*tx) (T, error)) (T, error) {
	var given T
	err := transact(ctx, func(t *tx) (err error) {
		given, err = do(t)
		return err
	})
	if err != nil {
		var nothing T
		return nothing, err
	}
	return given, nil
}

func (s *Store) transact(ctx context.Context, run func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stmts == nil {
		return errClosed
	}
	return s.storageError(ctx, run())
}

// run does the work of a begun transaction and commits, or rolls back after an
// error or a panic.
func (s *Store) run(ctx context.Context, do func(*tx) error) (err error) {
	committed := false
	defer func() {
		if !committed {
			// SQLite may have rolled back by itself, so this may fail. The context may
			// be why we are here: the rollback must not end with it.
			_ = s.exec(context.WithoutCancel(ctx), "ROLLBACK")
		}
	}()
	if err := do(s.begin(ctx)); err != nil {
		return err
	}
	err = s.exec(ctx, "COMMIT")
	committed = err == nil
	return err
}

func (s *Store) exec(ctx context.Context, query string) error {
	_, err := s.stmts.ExecContext(ctx, query)
	return err
}

// storageError types what the driver said; errors of this package pass.
// An operation that its caller gave up arrives from drivers as one of several errors.
func (s *Store) storageError(ctx context.Context, err error) error {
	var own *Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	if gone := ctx.Err(); gone != nil {
		return NewError(CodeStoreUnavailable, nil, "the caller gave up before the operation was done").WithCause(errors.Join(gone, err))
	}
	return StorageError(s.cfg.ResultCode(err), err)
}

// StorageError types a driver's error by SQLite's extended result code.
func StorageError(resultCode int, cause error) *Error {
	details := Details{"sqlite": resultCode}
	switch resultCode & 0xff {
	case 5, 6: // BUSY, LOCKED
		return NewError(CodeStoreUnavailable, details, "the store is busy: another process holds its lock; try again").WithCause(cause)
	case 13: // FULL
		return NewError(CodeStoreUnavailable, details, "the disk is full: free some room and try again").WithCause(cause)
	case 8: // READONLY
		return NewError(CodeStoreUnavailable, details, "the store can only be read here, or a write was cut short and has to be undone: open it for writing").WithCause(cause)
	case 14: // CANTOPEN
		return NewError(CodeStoreUnavailable, details, "the file of the store, or its -wal or -shm, cannot be opened: look at its permissions and its directory").WithCause(cause)
	case 11, 26: // CORRUPT, NOTADB
		return NewError(CodeLayoutIncompatible, details, "the file is not a sound SQLite database").WithCause(cause)
	}
	return NewError(CodeStoreUnavailable, details, "the store could not be read or written (SQLite result %d); try again", resultCode).WithCause(cause)
}

// noRow turns sql.ErrNoRows into ok == false.
func noRow[T any](row T, err error) (T, bool, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return row, false, nil
	}
	return row, err == nil, err
}
