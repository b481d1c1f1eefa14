package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// TestKilledAtEachStepOfARecovery: the second process dies too, and the third
// finds its way from there.
func TestKilledAtEachStepOfARecovery(t *testing.T) {
	for name, left := range leftovers(t) {
		all := killAt(t, always, "recover", copyOf(t, left.path), fmt.Sprint(left.built()))
		for n := 1; n <= len(all); n++ {
			t.Run(fmt.Sprintf("%s/%d/%s", name, n, all[n-1]), func(t *testing.T) {
				t.Parallel()
				path := copyOf(t, left.path)
				seen := killAt(t, n, "recover", path, fmt.Sprint(left.built()))
				seen = append(slices.Clone(left.seen), seen...)
				s := mustOpen(t, path, Options{Now: clockAt(2 * lease)})
				wantRecovers(t, s, seen, host{bundle: slices.Contains(seen, "build"), found: core.FindingRunning})
			})
		}
	}
}

// leftover is the file of a process that was killed, and what it had said.
type leftover struct {
	path string
	seen []string
}

func (l leftover) built() bool { return slices.Contains(l.seen, "build") }

// leftovers has one of each kind that a killed activation can leave.
func leftovers(t *testing.T) map[string]leftover {
	t.Helper()
	kinds := map[string]leftover{}
	for n, all := 1, always; n <= all; n++ {
		path := filepath.Join(t.TempDir(), "store")
		seen := killAt(t, n, "activate", path)
		if len(seen) < n {
			break
		}
		s := mustOpen(t, copyOf(t, path), Options{})
		kind := string(status(t, s))
		if l := (leftover{path, seen}); l.built() {
			kind += ", built"
		}
		if _, known := kinds[kind]; !known && kind != "" {
			kinds[kind] = leftover{path, seen}
		}
		try(t, s.Close())
	}
	want := []string{"queued", "starting", "starting, built", "running, built", "done, built"}
	for _, kind := range want {
		if _, ok := kinds[kind]; !ok {
			t.Fatalf("no kill leaves a run that is %s", kind)
		}
	}
	return kinds
}

// copyOf copies a file and its -wal as a kill left them. The -shm died with the
// process that mapped it.
func copyOf(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "store")
	write(t, to, read(t, path))
	if _, err := os.Stat(path + "-wal"); err == nil {
		write(t, to+"-wal", read(t, path+"-wal"))
	}
	return to
}
