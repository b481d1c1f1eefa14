// Package sqlite opens a store natively: a file, or memory, on
// ncruces/go-sqlite3. It alone knows files, permissions and the driver.
//
// One process must open one path with one SQLite library: two libraries on one
// file in one process lose commits.
package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/layout"
)

// How long an operation waits for another process's lock, in general and before an
// abort.
const (
	DefaultWait            = 5 * time.Second
	DefaultWaitBeforeAbort = 250 * time.Millisecond
)

// Options say how to open a store. The zero value of each field is its default.
type Options struct {
	// ReadOnly opens an existing file for reading; an absent one is not_found.
	ReadOnly bool
	// Existing makes no file: an absent one is not_found.
	Existing bool
	// Wait bounds the wait for a lock; 0 is DefaultWait, negative is none.
	Wait time.Duration
	// WaitBeforeAbort bounds it for an interruption that is noted right before its
	// abort; 0 is DefaultWaitBeforeAbort, negative is none.
	WaitBeforeAbort time.Duration
	// Now is the clock; nil is the system's.
	Now func() time.Time
	// Random is the source of tokens and run ids; nil is the system's.
	Random io.Reader
	// TestClock permits `now` in requests of Call.
	TestClock bool
}

// Store is a core.Store on a database of its own.
type Store struct {
	*core.Store
	db   *sql.DB
	conn *sql.Conn
}

// Open opens the store of a file, and makes it where the path is absent or empty.
// An existing file is checked read-only before the first write: one that is not v1
// keeps its bytes and answers layout_incompatible. Any legal path is taken as it
// is. A directory that is made gets mode 0700; the file, -wal and -shm get 0600.
// Errors: bad_request, not_found, store_unavailable, layout_incompatible,
// store_misconfigured. See docs/operations.md#the-file.
func Open(ctx context.Context, path string, options Options) (*Store, error) {
	o := options.withDefaults()
	path, err := checkPath(path)
	if err != nil {
		return nil, err
	}
	state, err := look(ctx, path, o.Wait)
	if err != nil {
		return nil, err
	}
	switch {
	case state == absent && (o.ReadOnly || o.Existing):
		return nil, core.NewError(core.CodeNotFound, core.Details{"path": path}, "there is no store at %s", path)
	case !o.ReadOnly:
		if err := makeDir(filepath.Dir(path)); err != nil {
			return nil, unavailable("the directory of the store cannot be made", err)
		}
		return open(ctx, source{path: path, mode: "rwc", pragmas: core.PragmasFile}, o)
	case state == layout.New:
		// A store that holds nothing yet reads as an empty one, and is not touched.
		return OpenMemory(ctx, o)
	}
	store, err := open(ctx, source{path: path, mode: "ro", pragmas: core.PragmasReadOnly}, o)
	if core.CodeOf(err) == core.CodeStoreUnavailable && quiet(path) {
		// Reading makes a -wal and -shm, which a directory may not allow.
		return open(ctx, source{path: path, mode: immutable, pragmas: core.PragmasReadOnly}, o)
	}
	return store, err
}

// OpenMemory opens a new store in memory, for tests and examples.
func OpenMemory(ctx context.Context, options Options) (*Store, error) {
	return open(ctx, source{pragmas: core.PragmasMemory}, options.withDefaults())
}

// Close gives the connection and the file back.
func (s *Store) Close() error {
	s.Store.Close()
	return errors.Join(s.conn.Close(), s.db.Close())
}

func (o Options) withDefaults() Options {
	if o.Wait == 0 {
		o.Wait = DefaultWait
	}
	if o.WaitBeforeAbort == 0 {
		o.WaitBeforeAbort = DefaultWaitBeforeAbort
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	return o
}

func checkPath(path string) (string, error) {
	if path == "" || strings.ContainsRune(path, 0) {
		return "", core.NewError(core.CodeBadRequest, core.Details{"field": "path"}, "the path of the store must be a non-empty file name")
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return "", core.NewError(core.CodeBadRequest, core.Details{"field": "path"}, "the path of the store is a directory or device: %s", path)
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return "", unavailable("the working directory cannot be read", err)
	}
	// SQLite follows a link and keeps -wal and -journal beside the target.
	if target, err := filepath.EvalSymlinks(full); err == nil {
		full = target
	}
	return full, nil
}

// makeDir makes the directories that are missing, of mode 0700 under any umask.
func makeDir(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := makeDir(filepath.Dir(path)); err != nil {
		return err
	}
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Chmod(path, 0o700)
}

// tighten takes the store from others, where a file that was there let them in. A
// link in its place is not followed.
func tighten(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Lstat(path + suffix)
		if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
			err = os.Chmod(path+suffix, 0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return unavailable("the store cannot be made private", err)
		}
	}
	return nil
}

func unavailable(what string, cause error) error {
	return core.NewError(core.CodeStoreUnavailable, nil, "%s", what).WithCause(cause)
}

// source is what to open, and how.
type source struct {
	path    string // "" is memory
	mode    string
	pragmas []core.Pragma
}

func (s source) dsn() string {
	if s.path == "" {
		return memoryDSN
	}
	return fileDSN(s.path, s.mode)
}

// open connects, checks what stands before anything is written, sets the pragmas,
// applies the schema where it is missing, and then checks again.
func open(ctx context.Context, from source, o Options) (*Store, error) {
	db, err := connect(from.dsn())
	if err != nil {
		return nil, typed(err)
	}
	store, err := build(ctx, db, from, o)
	if err != nil {
		return nil, errors.Join(typed(err), db.Close())
	}
	return store, nil
}

func build(ctx context.Context, db *sql.DB, from source, o Options) (*Store, error) {
	wait := waiter(o.Wait)
	state, err := prepare(ctx, db, from, wait)
	if err != nil {
		return nil, err
	}
	if state != layout.Current && (from.path == "" || !o.ReadOnly) {
		if err := wait(ctx, func() error { return applySchema(ctx, db) }); err != nil {
			return nil, err
		}
		if _, err := prepare(ctx, db, from, wait); err != nil {
			return nil, err
		}
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	brief := waiter(o.WaitBeforeAbort)
	if from.path != "" {
		guard, err := inPlace(from)
		if err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		wait, brief = guard(wait), guard(brief)
	}
	return &Store{core.New(core.Config{
		Conn: conn, Wait: wait, WaitBeforeAbort: brief, ResultCode: resultCode,
		Now: o.Now, Random: o.Random, ReadOnly: o.ReadOnly, TestClock: o.TestClock,
	}), db, conn}, nil
}

// prepare checks on the connection itself, since the path may have come to name
// another file after the look, and only then sets what is written.
func prepare(ctx context.Context, db *sql.DB, from source, wait func(context.Context, func() error) error) (state layout.State, err error) {
	err = wait(ctx, func() error {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close() // back to the pool of one
		if state, err = core.CheckLayout(ctx, conn); err != nil {
			return err
		}
		switch {
		case from.mode == "rwc":
			err = tighten(from.path)
		case state == layout.NoIntents:
			err = standIn(ctx, conn)
		}
		if err != nil {
			return err
		}
		for _, p := range from.pragmas {
			if err := p.Apply(ctx, conn); err != nil {
				return err
			}
		}
		return nil
	})
	return state, err
}

// typed makes every error of an opening a *core.Error.
func typed(err error) error { return core.OpenError(resultCode(err), err) }
