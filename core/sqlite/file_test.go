package sqlite

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// TestAnyPath: nothing in a path means anything to a URI or to SQLite.
func TestAnyPath(t *testing.T) {
	for _, name := range []string{
		"plain.sqlite", "a#b", "#", "a?mode=memory", "?", "100%", "%", "%41", "two words", " ",
		"größe-日本語-🜁", "line\nbreak", "tab\t", `"double" and 'single'`, `back\slash`,
		":memory:", "file:x", "file::memory:?cache=shared", "a&vfs=os", "a;b", "+", "-", "~",
		"\xff\xfe", "x-wal", "x-shm", "x-journal",
	} {
		t.Run(name, func(t *testing.T) {
			wantWorks(t, filepath.Join(t.TempDir(), name))
		})
	}
}

func TestOddDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a #?%41\n'\" ü", "b")
	wantWorks(t, filepath.Join(dir, "store"))
}

func TestRelativePath(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	wantWorks(t, "new/./store")
	wantOnly(t, dir, "new")
}

func TestSymlinkedDirectory(t *testing.T) {
	dir := t.TempDir()
	try(t, os.Mkdir(filepath.Join(dir, "real"), 0o700))
	try(t, os.Symlink("real", filepath.Join(dir, "link")))
	wantWorks(t, filepath.Join(dir, "link", "store"))
	wantOnly(t, dir, "link", "real")
	if _, err := os.Stat(filepath.Join(dir, "real", "store")); err != nil {
		t.Error(err)
	}
}

// wantWorks writes a run, and reads it after a new opening. The file is at
// exactly that path, and nothing is left beside it.
func wantWorks(t *testing.T, path string) {
	t.Helper()
	s := mustOpen(t, path, patient)
	_, err := s.ReservePreparedRun(ctx, request("run", "session"))
	try(t, err)
	wantPragmas(t, s)
	try(t, s.Close())

	s = mustOpen(t, path, patient)
	wantStatus(t, s, "run", core.Queued)
	try(t, s.Close())
	wantOnly(t, filepath.Dir(path), filepath.Base(path))
	s = mustOpen(t, path, Options{ReadOnly: true})
	wantStatus(t, s, "run", core.Queued)
	try(t, s.Close())
}

func wantOnly(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	try(t, err)
	have := []string{}
	for _, entry := range entries {
		have = append(have, entry.Name())
	}
	if !slices.Equal(have, names) {
		t.Errorf("the directory holds %q, want %q", have, names)
	}
}

func wantPragmas(t *testing.T, s *Store) {
	t.Helper()
	for pragma, want := range map[string]string{
		"journal_mode":  "wal",
		"synchronous":   "2",
		"foreign_keys":  "1",
		"secure_delete": "1",
		"busy_timeout":  "0",
	} {
		if have := scan[string](t, s.conn, "PRAGMA "+pragma); have != want {
			t.Errorf("PRAGMA %s is %s, want %s", pragma, have, want)
		}
	}
}

// A second opening meets a file that is in WAL mode already.
func TestPragmasOfAnExistingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	try(t, mustOpen(t, path, Options{}).Close())
	wantPragmas(t, mustOpen(t, path, Options{}))
}

func TestSchemaLeavesNothingElse(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store"), Options{})
	rows, err := s.conn.QueryContext(ctx, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view', 'trigger') ORDER BY name")
	try(t, err)
	defer rows.Close()
	have := []string{}
	for rows.Next() {
		var name string
		try(t, rows.Scan(&name))
		have = append(have, name)
	}
	try(t, rows.Err())
	want := []string{
		"effects", "events", "queue", "resources", "run_events", "schema_info", "sqlite_sequence",
		"workflow_notifications", "workflow_requests", "workflow_run_queue", "workflow_turn_intents",
	}
	if !slices.Equal(have, want) {
		t.Errorf("the file holds %q, want %q", have, want)
	}
}

func TestPathsThatAreNone(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "text")
	for name, test := range map[string]struct {
		path string
		want core.Code
	}{
		"empty":            {"", core.CodeBadRequest},
		"NUL":              {filepath.Join(dir, "a\x00b"), core.CodeBadRequest},
		"directory":        {dir, core.CodeBadRequest},
		"directory, slash": {dir + "/", core.CodeBadRequest},
		"under a file":     {filepath.Join(dir, "file", "store"), core.CodeStoreUnavailable},
		"deep under it":    {filepath.Join(dir, "file", "a", "store"), core.CodeStoreUnavailable},
	} {
		for _, readOnly := range []bool{false, true} {
			_, err := Open(ctx, test.path, Options{ReadOnly: readOnly})
			if core.CodeOf(err) != test.want {
				t.Errorf("%s, read-only %t: have %v, want %s", name, readOnly, err, test.want)
			}
		}
	}
	wantOnly(t, dir, "file")
}

func TestUnwritableParent(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write anywhere")
	}
	dir := t.TempDir()
	try(t, os.Chmod(dir, 0o500))
	for _, path := range []string{filepath.Join(dir, "store"), filepath.Join(dir, "new", "store")} {
		_, err := Open(ctx, path, Options{})
		wantCode(t, err, core.CodeStoreUnavailable)
	}
}

func TestClosed(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store"), Options{})
	try(t, s.Close())
	_, err := s.ReservePreparedRun(ctx, request("run", ""))
	wantCode(t, err, core.CodeStoreClosed)
	_, err = s.ListRuns(ctx, core.ListRunsRequest{Limit: 1})
	wantCode(t, err, core.CodeStoreClosed)
	_, err = s.Call(ctx, "listRuns", []byte(`{"limit":1}`))
	wantCode(t, err, core.CodeStoreClosed)
}
