package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

// side is one of those that are compared. Each has a file of its own.
type side struct {
	name  string
	run   func(subject) error
	close func() error
}

// opener opens a side on a file.
type opener func(ctx context.Context, path string, sync synchronous, c cycle) (side, error)

// openRaw runs the statements of the cycle.
func openRaw(ctx context.Context, path string, sync synchronous, c cycle) (side, error) {
	texts, err := textsOf(ctx, path+"-texts", c)
	if err != nil {
		return side{}, err
	}
	conn, err := connect(ctx, path, sync)
	if err != nil {
		return side{}, err
	}
	r, err := newRaw(ctx, conn, texts, time.Now)
	if err != nil {
		return side{}, errors.Join(err, conn.Close())
	}
	return side{"statements", func(s subject) error { return c.raw(ctx, r, s) }, r.close}, nil
}

// openCore runs the cycle through a core that is on such a connection as openRaw's.
func openCore(ctx context.Context, path string, sync synchronous, c cycle) (side, error) {
	conn, err := connect(ctx, path, sync)
	if err != nil {
		return side{}, err
	}
	store := newStore(conn, time.Now)
	run := func(s subject) error { return inOrder(c.core(ctx, store, s)) }
	return side{"core", run, func() error { store.Close(); return conn.Close() }}, nil
}

// openWhole runs the cycle as hosts do, on core/sqlite, which looks at the file at each
// operation. It knows no synchronous but FULL.
func openWhole(ctx context.Context, path string, _ synchronous, c cycle) (side, error) {
	store, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return side{}, err
	}
	return side{"core/sqlite", func(s subject) error { return inOrder(c.core(ctx, store.Store, s)) }, store.Close}, nil
}

// newStore is a core on a connection that nobody else writes beside.
func newStore(c *conn, now func() time.Time) *core.Store {
	once := func(_ context.Context, try func() error) error { return try() }
	return core.New(core.Config{
		Conn: c.Conn, Wait: once, WaitBeforeAbort: once, ResultCode: func(error) int { return 0 }, Now: now, Random: strings.NewReader(""),
	})
}

// textsOf are the statements that the core runs in a cycle, by their names, as it runs
// them on a file of its own.
func textsOf(ctx context.Context, path string, of cycle) (map[string]string, error) {
	conn, err := connect(ctx, path, off)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	store := newStore(conn, time.Now)
	defer store.Close()
	ran, err := conn.trace(func() error { return inOrder(of.core(ctx, store, newSubject("session", 0))) })
	texts := map[string]string{}
	for _, statement := range ran {
		texts[nameOf(statement.text)] = statement.text
	}
	return texts, err
}

// nameOf is the name that sql/ gives a statement, or the text of one that has none.
func nameOf(text string) string {
	name, ok := strings.CutPrefix(text, "-- name: ")
	if !ok {
		return text
	}
	name, _, _ = strings.Cut(name, " ")
	return name
}
