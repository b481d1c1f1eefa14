package sqlite

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

const (
	inputMarker  = "canary-input-8c1f"
	optionMarker = "canary-option-8c1f"
)

// endings take a starting run to where its private input must be gone. Launch
// options go with the end of the run.
var endings = map[core.Status]func(s *Store, runID, token string) error{
	core.Running: func(s *Store, runID, token string) error {
		_, err := s.MarkPreparedRunRunning(ctx, core.MarkRunningRequest{RunID: runID, ClaimToken: token})
		return err
	},
	core.Failed: func(s *Store, runID, token string) error {
		_, err := s.FailPreparedRun(ctx, core.FailRequest{RunID: runID, ClaimToken: token, ErrorCode: core.FailureActivationFailed})
		return err
	},
	core.Cancelled: func(s *Store, runID, _ string) error {
		_, err := s.CancelPreparedRun(ctx, core.CancelRequest{RunID: runID})
		return err
	},
	core.Done: func(s *Store, runID, token string) error { return run(s, runID, token, func(string) {}) },
}

// TestClearedInputIsNotInTheFile: free pages and free room within pages hold
// nothing of it, whatever its size.
func TestClearedInputIsNotInTheFile(t *testing.T) {
	for status, end := range endings {
		for size, repeat := range map[string]int{"short": 1, "a page": 300, "many pages": 20_000} {
			t.Run(fmt.Sprintf("%s/%s", status, size), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "store")
				s := mustOpen(t, path, patient)
				starting(t, s, "run", repeat)
				checkpoint(t, s)
				wantMarkers(t, path, true, inputMarker, optionMarker)
				try(t, end(s, "run", "token"))
				wantStatus(t, s, "run", status)
				wantCleared(t, s, path, status)
			})
		}
	}
}

// TestClearedInputAmongManyRuns: rows that grow make pages split, and what moves
// to another page must not stay behind on the old one. secure_delete alone leaves
// something there, at some of these seeds.
func TestClearedInputAmongManyRuns(t *testing.T) {
	for name, shape := range map[string]churn{
		"usual rows, few at once":   {runs: 200, live: 4, input: 30, runner: 40, seeds: []uint64{0, 11}},
		"growing rows, all at once": {runs: 40, live: 40, input: 60, runner: 500, seeds: []uint64{0, 1, 2}},
	} {
		for _, seed := range shape.seeds {
			t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "store")
				s := mustOpen(t, path, patient)
				shape.drive(t, s, rand.New(rand.NewPCG(seed, 0)))
				wantCleared(t, s, path, core.Failed)
			})
		}
	}
}

// churn is a number of runs that come and fail, some at once, with inputs and
// runners of up to some length.
type churn struct {
	runs, live, input, runner int
	seeds                     []uint64
}

func (c churn) drive(t *testing.T, s *Store, r *rand.Rand) {
	t.Helper()
	execute(t, s.conn, "PRAGMA synchronous = OFF") // the bytes are the same, and it is faster
	live := []string{}
	claimed := map[string]bool{}
	for made := 0; made < c.runs || len(live) > 0; {
		if made < c.runs && (len(live) == 0 || len(live) < c.live && r.IntN(3) == 0) {
			live = append(live, fmt.Sprintf("run-%d", made))
			reserveSecret(t, s, live[len(live)-1], 1+r.IntN(c.input))
			made++
			continue
		}
		i := r.IntN(len(live))
		if runID := live[i]; !claimed[runID] {
			claimSecret(t, s, runID, strings.Repeat("r", 1+r.IntN(c.runner)))
			claimed[runID] = true
		} else {
			try(t, endings[core.Failed](s, runID, "token"))
			live = slices.Delete(live, i, i+1)
		}
	}
}

func starting(t *testing.T, s *Store, runID string, repeat int) {
	t.Helper()
	reserveSecret(t, s, runID, repeat)
	claimSecret(t, s, runID, "runner")
}

func reserveSecret(t *testing.T, s *Store, runID string, repeat int) {
	t.Helper()
	req := request(runID, runID)
	req.Input = []byte(`{"secret":"` + strings.Repeat(inputMarker, repeat) + `"}`)
	req.LaunchOptions = []byte(`{"secret":"` + strings.Repeat(optionMarker, min(repeat, 3000)) + `"}`)
	_, err := s.ReservePreparedRun(ctx, req)
	try(t, err)
}

func claimSecret(t *testing.T, s *Store, runID, runner string) {
	t.Helper()
	run, err := s.ClaimPreparedRun(ctx, core.ClaimRequest{
		RunID: runID, SessionID: runID, RunnerID: runner, ClaimToken: "token",
	})
	try(t, err)
	if !strings.Contains(string(run.Input), inputMarker) {
		t.Fatal("the claim returns another input")
	}
}

func checkpoint(t *testing.T, s *Store) {
	t.Helper()
	var busy, log, moved int
	try(t, s.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &moved))
	if busy != 0 {
		t.Fatal("the checkpoint is busy")
	}
}

func wantCleared(t *testing.T, s *Store, path string, status core.Status) {
	t.Helper()
	checkpoint(t, s)
	try(t, s.Close())
	wantOnly(t, filepath.Dir(path), filepath.Base(path))
	wantMarkers(t, path, false, inputMarker)
	wantMarkers(t, path, !status.Terminal(), optionMarker)
}

func wantMarkers(t *testing.T, path string, want bool, markers ...string) {
	t.Helper()
	data := read(t, path)
	for _, marker := range markers {
		if n := strings.Count(data, marker); (n > 0) != want {
			t.Errorf("%s is in the file %d times", marker, n)
		}
	}
}
