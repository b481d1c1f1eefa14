package main

import (
	"context"
	"database/sql"
	"errors"
	"net/url"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

// synchronous is how far a commit is written before it is answered. SQLite says back
// its number.
type synchronous struct{ name, number string }

var (
	full = synchronous{"FULL", "2"}
	off  = synchronous{"OFF", "0"}
)

// conn is one connection to the file of a store, set up as core/sqlite sets its own up.
type conn struct {
	*sql.Conn
	db *sql.DB
}

// connect makes the store where there is none. core/sqlite has no option for
// synchronous, and its VFS is the one that both sides run on.
func connect(ctx context.Context, path string, sync synchronous) (*conn, error) {
	store, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	if err := store.Close(); err != nil {
		return nil, err
	}
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: "vfs=wfcore&mode=rwc"}
	db, err := driver.Open(dsn.String(), func(c *sqlite3.Conn) error { return c.BusyTimeout(0) })
	if err != nil {
		return nil, err
	}
	one, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	c := &conn{one, db}
	for _, pragma := range core.PragmasFile {
		if pragma.Name == "synchronous" {
			pragma.Set, pragma.Want = sync.name, sync.number
		}
		if err := pragma.Apply(ctx, one); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

func (c *conn) Close() error { return errors.Join(c.Conn.Close(), c.db.Close()) }

// statement is one that ran: its text, and its text with the values that were bound.
type statement struct{ text, bound string }

// trace returns what runs on the connection while do does.
func (c *conn) trace(do func() error) (ran []statement, err error) {
	listen := func(mask sqlite3.TraceEvent, note func(sqlite3.TraceEvent, any, any) error) error {
		return c.Raw(func(c any) error { return c.(driver.Conn).Raw().Trace(mask, note) })
	}
	err = listen(sqlite3.TRACE_STMT, func(_ sqlite3.TraceEvent, stmt, text any) error {
		ran = append(ran, statement{text.(string), stmt.(*sqlite3.Stmt).ExpandedSQL()})
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = do()
	return ran, errors.Join(err, listen(0, nil))
}

// countIn is the one number that a query finds in the file of a store.
func countIn(ctx context.Context, path, query string) (n int, err error) {
	c, err := connect(ctx, path, full)
	if err != nil {
		return 0, err
	}
	err = c.QueryRowContext(ctx, query).Scan(&n)
	return n, errors.Join(err, c.Close())
}
