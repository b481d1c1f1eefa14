package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"time"

	_ "github.com/pi-workflows/wfcore/prove" // its flags, which all tests beside this take
)

var ctx = context.Background()

func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv(workerVar); ok {
		exit(worker(ctx, text))
	}
	os.Exit(m.Run())
}

// What is compared must be the same: each side runs the same statements with the same
// values, in the first cycle and in later ones, and leaves the same rows.
func TestBenchSidesRunTheSameStatements(t *testing.T) {
	clock := func() time.Time { return time.Date(2026, 8, 21, 8, 17, 31, 0, time.UTC) }
	for _, c := range []cycle{launch, turn} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			texts, err := textsOf(ctx, filepath.Join(dir, "texts"), c)
			try(t, err)
			onCore, onRaw := open(t, filepath.Join(dir, "core")), open(t, filepath.Join(dir, "raw"))
			store := newStore(onCore, clock)
			t.Cleanup(store.Close)
			r, err := newRaw(ctx, onRaw, texts, clock)
			try(t, err)
			t.Cleanup(func() { try(t, r.close()) })
			for n := range 3 {
				s := newSubject("session", n)
				want, err := onCore.trace(func() error { return inOrder(c.core(ctx, store, s)) })
				try(t, err)
				got, err := onRaw.trace(func() error { return c.raw(ctx, r, s) })
				try(t, err)
				sameStatements(t, got, want)
			}
			for _, table := range []string{"workflow_run_queue", "run_events", "workflow_turn_intents"} {
				if got, want := rowsOf(t, onRaw, table), rowsOf(t, onCore, table); got != want {
					t.Errorf("the statements left in %s\n%s\nthe core left\n%s", table, got, want)
				}
			}
		})
	}
}

func TestBenchInputIs256Bytes(t *testing.T) {
	if len(input) != 256 {
		t.Errorf("%d bytes", len(input))
	}
}

// Each comparison counts what it finds in its files, and so does each crowd.
func TestBenchRuns(t *testing.T) {
	var out strings.Builder
	parent := t.TempDir()
	try(t, benchIn(ctx, &out, parent, quick))
	for _, want := range []string{
		"\n| launch | FULL | statements | 5 | ", "\n| launch | FULL | core/sqlite | 5 | ", "\n| owed turn | OFF | core | 20 | ", "\n| 3 | ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no row %q in\n%s", want, out.String())
		}
	}
	left, err := os.ReadDir(parent)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// The settings that the sides are compared under are those that a store has.
func TestBenchSynchronousIsWhatWasAskedFor(t *testing.T) {
	for _, sync := range []synchronous{full, off} {
		c, err := connect(ctx, filepath.Join(t.TempDir(), "store"), sync)
		try(t, err)
		var got string
		try(t, c.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&got))
		if got != sync.number {
			t.Errorf("%s is %s", sync.name, got)
		}
		try(t, c.Close())
	}
}

func TestBenchMount(t *testing.T) {
	const mounts = "/dev/a / ext4 rw 0 0\n/dev/b /var/lib xfs rw 0 0\ntmpfs /var/lib tmpfs rw 0 0\n"
	for dir, want := range map[string]string{"/": "ext4 /dev/a", "/var/library": "ext4 /dev/a", "/var/lib": "tmpfs tmpfs", "/var/lib/x": "tmpfs tmpfs"} {
		fileSystem, device := mountOf(mounts, dir)
		if got := fileSystem + " " + device; got != want {
			t.Errorf("%s is on %s, want %s", dir, got, want)
		}
	}
}

func open(t *testing.T, path string) *conn {
	t.Helper()
	c, err := connect(ctx, path, off)
	try(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func sameStatements(t *testing.T, got, want []statement) {
	t.Helper()
	if len(want) < 12 { // four transactions
		t.Fatalf("the core ran %d statements", len(want))
	}
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Fatalf("the core also ran %s", want[i].bound)
		case i >= len(want):
			t.Fatalf("the core did not run %s", got[i].bound)
		case got[i] != want[i]:
			t.Fatalf("statement %d is %s\nthe core's is %s", i, got[i].bound, want[i].bound)
		}
	}
}

// rowsOf is a table as text.
func rowsOf(t *testing.T, c *conn, table string) (text string) {
	t.Helper()
	rows, err := c.QueryContext(ctx, "SELECT * FROM "+table+" ORDER BY rowid")
	try(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	try(t, err)
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		try(t, rows.Scan(into...))
		text += fmt.Sprintln(values...)
	}
	try(t, rows.Err())
	return text
}

func try(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
