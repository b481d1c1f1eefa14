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
		"removed": os.Remove,
		"renamed": func(path string) error { return os.Rename(path, path+".old") },
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
