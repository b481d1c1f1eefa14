//go:build unix

package crowd

import (
	"fmt"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
	"github.com/pi-workflows/wfcore/prove"
	"github.com/pi-workflows/wfcore/prove/invariant"
)

// TestModes: whoever makes, opens, writes and closes a store under a umask that takes
// nothing away, its files are never there with another mode. Another host makes files as
// its own umask says, which is its own affair; this one's takes all from others.
func TestModes(t *testing.T) {
	times := 60
	if prove.Full() {
		times = 300
	}
	path := filepath.Join(prove.Dir(t), "store")
	children := []*child{}
	for i := range 3 {
		children = append(children, start(t, "reopen", path, fmt.Sprint("process-", i), times))
	}
	looks := 0
	until := func(over func() error) {
		done := make(chan error, 1)
		go func() { done <- over() }()
		for {
			select {
			case err := <-done:
				must(t, err)
				return
			default:
			}
			looks++
			wrong, err := invariant.Private(path)
			must(t, err)
			for _, w := range wrong {
				t.Fatal(w)
			}
		}
	}
	until(func() error { children[0].out.Scan(); return nil }) // from here on there is a file
	children = append(children, start(t, "reopenPlain", path, times))
	for _, child := range children {
		until(func() error {
			for child.out.Scan() {
				continue
			}
			return child.Wait()
		})
	}
	t.Logf("%d looks", looks)
}

// reopen opens a store, writes to it and closes it, many times.
func reopen(args []string) error {
	syscall.Umask(0)
	times, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	for n := range times {
		s, err := sqlite.Open(ctx, args[0], patient(0))
		if err != nil {
			return err
		}
		runID := fmt.Sprintf("%s-%d", args[1], n)
		if _, err := s.ReservePreparedRun(ctx, request(runID, runID)); err != nil {
			return err
		}
		if _, err := s.CancelPreparedRun(ctx, core.CancelRequest{RunID: runID}); err != nil {
			return err
		}
		if err := s.Close(); err != nil {
			return err
		}
		fmt.Println(runID)
	}
	return nil
}

// reopenPlain does so as another host.
func reopenPlain(args []string) error {
	syscall.Umask(0o077)
	times, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	for range times {
		db, err := plain(args[0], "rw")
		if err != nil {
			return err
		}
		if _, err := db.Exec("UPDATE workflow_run_queue SET affinity_runner_id = 'other' WHERE rowid = 1"); err != nil {
			return err
		}
		if err := db.Close(); err != nil {
			return err
		}
	}
	return nil
}
