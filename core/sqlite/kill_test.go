package sqlite

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/pi-workflows/wfcore/core"
)

const lease = core.DefaultLease

// A child is held before each SQL statement, and before and after each effect, and
// killed there. It says where it is in a line, and goes on when it reads a byte.
//
//	at SQL   a statement is about to run
//	ack      the start tool has answered "queued"
//	build    the run bundle was written
//	node     the first node ran
//	end      the run is done, and the file still open
func effect(name string) {
	hold("before " + name)
	hold(name)
}

func hold(line string) {
	fmt.Println(line)
	if _, err := io.ReadFull(os.Stdin, make([]byte, 1)); err != nil {
		os.Exit(3) // the parent is gone
	}
}

func holdStatements(s *Store) error {
	return raw(s.conn, func(c *sqlite3.Conn) error {
		return c.Trace(sqlite3.TRACE_STMT, func(_ sqlite3.TraceEvent, _, query any) error {
			name, _, _ := strings.Cut(query.(string), "\n")
			hold("at " + name)
			return nil
		})
	})
}

// childActivate is a whole activation of a run that nothing disturbs.
func childActivate(args []string) error {
	s, err := Open(ctx, args[0], Options{Now: clockAt(0)})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := holdStatements(s); err != nil {
		return err
	}
	if _, err := s.ReservePreparedRun(ctx, request("run", "session")); err != nil {
		return err
	}
	effect("ack")
	claim := core.ClaimRequest{RunID: "run", SessionID: "session", RunnerID: "first", ClaimToken: "first"}
	if _, err := s.ClaimPreparedRun(ctx, claim); err != nil {
		return err
	}
	effect("build")
	if err := run(s, "run", "first", effect); err != nil {
		return err
	}
	hold("end")
	return nil
}

// childRecover settles what an earlier process left, a lease later.
func childRecover(args []string) error {
	built, err := strconv.ParseBool(args[1])
	if err != nil {
		return err
	}
	s, err := Open(ctx, args[0], Options{Now: clockAt(lease)})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := holdStatements(s); err != nil {
		return err
	}
	return settle(s, "second", host{bundle: built, found: core.FindingRunning}, effect)
}

// host is what a process finds beside the store.
type host struct {
	bundle bool             // a run bundle is there
	found  core.FindingKind // what it says of a starting run
}

// settle does what a host does when it starts: it takes up what it finds, until
// nothing is left.
func settle(s *Store, token string, h host, say func(string)) error {
	for try := range 5 {
		list, err := s.ListRecoverableRuns(ctx, core.RecoverableRequest{SessionID: "session", Limit: 1})
		if err != nil || len(list) == 0 {
			return err
		}
		if err := h.settleOne(s, list[0], fmt.Sprintf("%s-%d", token, try), say); err != nil {
			return err
		}
	}
	return errors.New("there is always something left to recover")
}

func (h *host) settleOne(s *Store, left core.Run, token string, say func(string)) error {
	claim := core.ClaimRequest{RunID: left.RunID, SessionID: "session", RunnerID: token, ClaimToken: token}
	switch left.Status {
	case core.Queued:
		if _, err := s.ClaimPreparedRun(ctx, claim); err != nil {
			return err
		}
		h.bundle = true
		say("build")
		return run(s, left.RunID, token, say)
	case core.Running:
		if _, err := s.TakeOverExpiredRun(ctx, claim); err != nil {
			return err
		}
		return finish(s, left.RunID, token)
	}
	finding := &core.Finding{Kind: core.FindingNone}
	switch {
	case h.bundle && h.found == core.FindingRunning:
		finding = &core.Finding{Kind: core.FindingRunning, RunnerID: token, ClaimToken: token}
	case h.bundle:
		finding = &core.Finding{Kind: core.FindingTerminal, Status: core.Done}
	}
	_, err := s.RecoverExpiredStartingRun(ctx, core.RecoverRequest{
		RunID: left.RunID, SessionID: "session", ExpectedClaimToken: left.ClaimToken, Finding: finding,
	})
	if err != nil || finding.Kind != core.FindingRunning {
		return err
	}
	return finish(s, left.RunID, token)
}

func finish(s *Store, runID, token string) error {
	_, err := s.FinishRunningRun(ctx, core.FinishRequest{RunID: runID, ClaimToken: token, Status: core.Done})
	return err
}

// killAt lets a child go to its nth line and kills it there, or lets it end where
// it has fewer. It returns the lines.
func killAt(t *testing.T, n int, job string, args ...string) (lines []string) {
	t.Helper()
	cmd := child(t, job, args...)
	stdin, err := cmd.StdinPipe()
	try(t, err)
	stdout, err := cmd.StdoutPipe()
	try(t, err)
	try(t, cmd.Start())
	for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
		lines = append(lines, scanner.Text())
		if len(lines) == n {
			try(t, cmd.Process.Kill())
			_ = cmd.Wait()
			return lines
		}
		_, err := stdin.Write([]byte{'\n'})
		try(t, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the child failed after %q: %v", lines, err)
	}
	return lines
}

// always is past the last line of any child.
const always = 1 << 20

func TestKilledAtEachStepOfAnActivation(t *testing.T) {
	all := killAt(t, always, "activate", filepath.Join(t.TempDir(), "store"))
	if len(all) < 20 || !slices.Contains(all, "node") {
		t.Fatalf("the child stops at %q", all)
	}
	for n := 1; n <= len(all); n++ {
		for _, found := range []core.FindingKind{core.FindingRunning, core.FindingTerminal} {
			if found == core.FindingTerminal && !slices.Contains(all[:n], "build") {
				continue // without a bundle there is no finding of one
			}
			t.Run(fmt.Sprintf("%d/%s/%s", n, all[n-1], found), func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "store")
				seen := killAt(t, n, "activate", path)
				s := mustOpen(t, path, Options{Now: clockAt(lease)})
				wantRecovers(t, s, seen, host{bundle: slices.Contains(seen, "build"), found: found})
			})
		}
	}
}

// wantRecovers checks what a kill left, recovers it, and starts another run.
func wantRecovers(t *testing.T, s *Store, seen []string, h host) {
	t.Helper()
	wantSound(t, s)
	if slices.Contains(seen, "ack") && rows(t, s) != 1 {
		t.Fatal("an acknowledged run is gone")
	}
	left := status(t, s)
	try(t, settle(s, "last", h, func(string) {}))
	wantSound(t, s)
	if have := status(t, s); left != "" && have != core.Done {
		t.Errorf("the run was %s and is %s, want %s", left, have, core.Done)
	}
	if left == core.Starting && !h.bundle && !slices.Contains(events(t, s), "requeued") {
		t.Errorf("a launch without a bundle was not queued again: %q", events(t, s))
	}
	try(t, cycle(s, "next", "session"))
	wantStatus(t, s, "next", core.Done)
}

// wantSound: the file is whole, and the feed and the queue tell the same story.
func wantSound(t *testing.T, s *Store) {
	t.Helper()
	if have := scan[string](t, s.conn, "PRAGMA integrity_check"); have != "ok" {
		t.Fatalf("integrity_check: %s", have)
	}
	wantV1(t, s)
	at := core.Status("")
	for _, event := range events(t, s) {
		if event == string(core.EventClaimTransferred) {
			continue
		}
		next, ok := after(at, core.EventType(event))
		if !ok {
			t.Fatalf("the feed %q goes no way that a run can go", events(t, s))
		}
		at = next
	}
	if have := status(t, s); have != at {
		t.Fatalf("the run is %q and its feed says %q", have, at)
	}
	live := scan[int](t, s.conn, `SELECT count(*) FROM workflow_run_queue
		WHERE (claim_token IS NOT NULL) <> (status IN ('starting', 'running'))`)
	if live != 0 {
		t.Fatal("a claim is where no claim can be")
	}
}

// after is the state that an event leads to.
func after(from core.Status, event core.EventType) (core.Status, bool) {
	if from == "" {
		return core.Queued, event == core.EventQueued
	}
	for _, arrow := range core.Arrows {
		if arrow.From == from && arrow.Event == event {
			return arrow.To, true
		}
	}
	return from, false
}

func rows(t *testing.T, s *Store) int {
	t.Helper()
	return scan[int](t, s.conn, "SELECT count(*) FROM workflow_run_queue WHERE run_id = 'run'")
}

func status(t *testing.T, s *Store) core.Status {
	t.Helper()
	return core.Status(scan[string](t, s.conn, "SELECT coalesce((SELECT status FROM workflow_run_queue WHERE run_id = 'run'), '')"))
}

func events(t *testing.T, s *Store) []string {
	t.Helper()
	return column[string](t, s.conn, "SELECT type FROM run_events WHERE run_id = 'run' ORDER BY seq")
}
