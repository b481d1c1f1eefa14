package sqlite

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// What is acknowledged in a file that is no longer at its path, nobody finds.
func TestFileThatWasMoved(t *testing.T) {
	for name, move := range map[string]func(path string) error{
		"removed":     os.Remove,
		"log removed": func(path string) error { return os.Remove(path + "-wal") },
		"renamed":     func(path string) error { return os.Rename(path, path+".old") },
		"replaced": func(path string) error {
			if err := os.WriteFile(path+".new", nil, 0o600); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store")
			s := mustOpen(t, path, Options{})
			try(t, cycle(s, "before", "s"))
			try(t, move(path))
			_, err := s.ReservePreparedRun(ctx, request("after", "s"))
			wantCode(t, err, core.CodeStoreUnavailable)
		})
	}
}

// A pipe or a device is no store.
func TestPathsThatAreNoFiles(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	try(t, syscall.Mkfifo(fifo, 0o600))
	for _, path := range []string{fifo, "/dev/null", "/dev/zero"} {
		for _, readOnly := range []bool{true, false} {
			_, err := Open(ctx, path, Options{ReadOnly: readOnly})
			wantCode(t, err, core.CodeBadRequest)
			if _, err := os.Stat(path + "-shm"); err == nil {
				t.Errorf("%s-shm was made", path)
			}
		}
	}
}

// A reader for whose -shm there was no room when it opened the file still reads it, as it
// did before that left an empty log beside the file.
func TestEmptyLogIsInTheWayOfAReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	s := mustOpen(t, path, Options{})
	try(t, cycle(s, "run", "s"))
	try(t, s.Close())
	write(t, path+"-wal", "")
	if !quiet(path) {
		t.Error("an empty log says that somebody writes")
	}
	write(t, path+"-wal", "x")
	if quiet(path) {
		t.Error("a log that is not empty says that nobody writes")
	}
}

// A store that is read as a file that nobody writes is not read once somebody does.
func TestImmutableFileThatWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	writer := mustOpen(t, path, Options{})
	try(t, cycle(writer, "run", "s"))
	try(t, writer.Close())
	o := Options{ReadOnly: true}
	reader, err := open(ctx, source{path: path, mode: immutable, pragmas: core.PragmasReadOnly}, o.withDefaults())
	try(t, err)
	t.Cleanup(func() { reader.Close() })
	wantStatus(t, reader, "run", core.Done)
	writer = mustOpen(t, path, Options{})
	try(t, cycle(writer, "another", "s"))
	_, err = reader.GetRun(ctx, core.GetRunRequest{RunID: "run"})
	wantCode(t, err, core.CodeStoreUnavailable)
	try(t, writer.Close())
	_, err = reader.GetRun(ctx, core.GetRunRequest{RunID: "run"})
	wantCode(t, err, core.CodeStoreUnavailable)
}

// SQLite ignores a setting that it cannot take: what is not read back is not set.
func TestPragmaThatIsNotReadBack(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store"), Options{})
	try(t, core.Pragma{Name: "synchronous", Set: "FULL", Want: "2"}.Apply(ctx, s.conn))
	wantCode(t, core.Pragma{Name: "synchronous", Set: "FULL", Want: "9"}.Apply(ctx, s.conn), core.CodeStoreMisconfigured)
}
