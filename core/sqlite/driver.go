package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"net/url"
	"os"
	"syscall"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"

	"github.com/pi-workflows/wfcore/core"
)

type waitTime = time.Duration

// waitFunc calls try until it no longer fails for a lock, or its time is over.
type waitFunc = func(ctx context.Context, try func() error) error

const memoryDSN = "file::memory:"

// fileDSN escapes a path as a URI, so that '#', '?' and '%' in it mean nothing.
func fileDSN(path, mode string) string {
	u := url.URL{Scheme: "file", Path: path, RawQuery: "vfs=" + vfsName + "&mode=" + mode}
	return u.String()
}

// connect makes a pool of one connection. SQLite's own busy timeout starves under
// load, so it is off, and waiter retries instead.
func connect(dsn string) (*sql.DB, error) {
	db, err := driver.Open(dsn, func(c *sqlite3.Conn) error { return c.BusyTimeout(0) })
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// waiter retries what meets a lock after 0.2 to 1 ms, until the wait is over.
func waiter(wait waitTime) waitFunc {
	return func(ctx context.Context, try func() error) error {
		var deadline <-chan time.Time
		for {
			err := try()
			if err == nil || resultCode(err)&0xff != int(sqlite3.BUSY) && !errors.Is(err, core.ErrInUse) {
				return err
			}
			if deadline == nil {
				deadline = time.After(wait)
			}
			select {
			case <-deadline:
				return err
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(200*time.Microsecond + rand.N(800*time.Microsecond)):
			}
		}
	}
}

// immutable is a mode for a file that nobody writes.
const immutable = "ro&immutable=1"

// inPlace refuses to use a file that was moved or removed, or whose log is gone: what is
// acknowledged there, nobody will find. One that is read as immutable must not have
// changed.
func inPlace(from source) (func(waitFunc) waitFunc, error) {
	opened, err := os.Stat(from.path)
	if err != nil {
		return nil, unavailable("the store cannot be looked at", err)
	}
	// The log stays while it is open. It is not asked for its times: on newer Linux the next
	// write would have to be told apart from the answer, which makes each sync dearer.
	logged := syscall.Access(from.path+"-wal", 0) == nil
	look := func() error {
		now, err := os.Stat(from.path)
		if err != nil || !os.SameFile(opened, now) {
			return unavailable("the file of the store was moved or removed; open the store again", err)
		}
		if err := syscall.Access(from.path+"-wal", 0); logged && err != nil {
			return unavailable("the -wal of the store was moved or removed, and what was not in the file yet with it; open the store again", err)
		}
		if from.mode == immutable && !(same(opened, now) && quiet(from.path)) {
			return unavailable("the file of the store has changed; open the store again", nil)
		}
		return nil
	}
	return func(wait waitFunc) waitFunc {
		return func(ctx context.Context, try func() error) error {
			if err := look(); err != nil {
				return err
			}
			return wait(ctx, try)
		}
	}, nil
}

// resultCode is SQLite's extended result code of an error, or 0.
func resultCode(err error) int {
	if errors.Is(err, syscall.ENOSPC) {
		return int(sqlite3.FULL) // where a file is made, the driver says that it cannot be opened
	}
	// Of several errors it is the first: after that a rollback may have failed too.
	var code sqlite3.ExtendedErrorCode
	switch {
	case !errors.As(err, &code):
		return 0
	case code == sqlite3.IOERR_SHMSIZE:
		return int(sqlite3.FULL) // it cannot grow: nothing else is said of it
	}
	return int(code)
}

// Version is that of the SQLite library in use.
func Version(ctx context.Context) (version string, err error) {
	db, err := connect(memoryDSN)
	if err != nil {
		return "", typed(err)
	}
	defer db.Close()
	err = db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version)
	return version, err
}
