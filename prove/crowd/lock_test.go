package crowd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

// TestLockPastTheWait: another process holds the write lock for longer than these wait, for
// a while or not at all. Each operation is told that it can be repeated, has changed
// nothing, and succeeds once the lock is gone.
func TestLockPastTheWait(t *testing.T) {
	c := newCrowd(t)
	for i, wait := range []time.Duration{-1, time.Millisecond, -1, 5 * time.Millisecond} {
		c.start("meetLock", fmt.Sprint("process-", i), int64(wait))
		c.children[i].hear(t) // one after another: none may meet another's lock
	}
	holder, err := plain(c.path, "rw")
	must(t, err)
	defer holder.Close()
	before := c.look()
	_, err = holder.Exec("BEGIN IMMEDIATE; UPDATE workflow_run_queue SET workflow_ref = 'not committed'")
	must(t, err)
	for _, child := range c.children {
		child.tell(t, "try")
	}
	want := strings.TrimSpace(strings.Repeat("retryable ", len(lockedOps("x"))))
	for _, child := range c.children {
		if have := child.hear(t); have != want {
			t.Errorf("while the lock is held: %s", have)
		}
	}
	if was, is := before.String(), c.look().String(); was != is {
		t.Errorf("the store changed from\n%sto\n%s", was, is)
	}
	_, err = holder.Exec("ROLLBACK")
	must(t, err)
	for _, child := range c.children {
		child.tell(t, "again")
		if have, want := child.hear(t), strings.ReplaceAll(want, "retryable", "ok"); have != want {
			t.Errorf("once the lock is gone: %s", have)
		}
		must(t, child.Wait())
	}
	c.sound()
}

// meetLock makes runs in several states, tries an operation on each when it is told to,
// and again.
func meetLock(args []string) error {
	path, name := args[0], args[1]
	o := patient(0)
	if _, err := fmt.Sscan(args[2], &o.Wait); err != nil {
		return err
	}
	o.WaitBeforeAbort = o.Wait
	s, err := sqlite.Open(ctx, path, o)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := prepare(s, name); err != nil {
		return err
	}
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		said := []string{}
		for _, do := range lockedOps(name) {
			said = append(said, outcome(do(s)))
		}
		fmt.Println(strings.Join(said, " "))
		if in.Text() == "again" {
			return nil
		}
	}
	return errors.New("the parent is gone")
}

// states are how far the runs are that a process makes.
var states = []core.Status{core.Queued, core.Starting, core.Running}

func prepare(s *sqlite.Store, name string) error {
	for n, state := range states {
		runID := name + "-" + string(state)
		if _, err := s.ReservePreparedRun(ctx, request(runID, runID)); err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		if _, err := s.ClaimPreparedRun(ctx, core.ClaimRequest{RunID: runID, SessionID: runID, RunnerID: "runner", ClaimToken: runID}); err != nil {
			return err
		}
		if n == 1 {
			continue
		}
		if _, err := s.MarkPreparedRunRunning(ctx, core.MarkRunningRequest{RunID: runID, ClaimToken: runID}); err != nil {
			return err
		}
	}
	return nil
}

// lockedOps are operations that write, one for each run, and one that stands before an
// abort.
func lockedOps(name string) []func(*sqlite.Store) error {
	queued, starting, running := name+"-queued", name+"-starting", name+"-running"
	return []func(*sqlite.Store) error{
		op((*core.Store).ReservePreparedRun, request(name, name)),
		op((*core.Store).ClaimPreparedRun, core.ClaimRequest{RunID: queued, SessionID: queued, RunnerID: "runner", ClaimToken: queued}),
		op((*core.Store).RenewRunClaim, core.RenewRequest{RunID: starting, ClaimToken: starting}),
		op((*core.Store).FailPreparedRun, core.FailRequest{RunID: starting, ClaimToken: starting, ErrorCode: core.FailureInputInvalid}),
		op((*core.Store).NoteTurnEvent, core.NoteTurnRequest{RunID: running, Kind: core.TurnAgentCancel, NodeID: "step", Origin: core.OriginAgent}),
		op((*core.Store).CancelPreparedRun, core.CancelRequest{RunID: running, Origin: core.OriginAgent}),
	}
}

func op[Req, Resp any](do func(*core.Store, context.Context, Req) (Resp, error), request Req) func(*sqlite.Store) error {
	return func(s *sqlite.Store) error {
		_, err := do(s.Store, ctx, request)
		return err
	}
}

// outcome is one word for what came of an operation.
func outcome(err error) string {
	var e *core.Error
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &e) && e.Code == core.CodeStoreUnavailable && e.Retryable && strings.Contains(e.Message, "busy"):
		return "retryable"
	}
	return fmt.Sprintf("(%v)", err)
}
