package crowd

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
	"github.com/pi-workflows/wfcore/prove/scenario"
)

// work takes runs from start to end, one after another, each when it is told to, until
// there is nothing more to be told. It says each thing that is committed. Where the session
// has a run of another process it tries again.
func work(args []string) error {
	path, name, session := args[0], args[1], args[2]
	s, err := sqlite.Open(ctx, path, patient(0))
	if err != nil {
		return err
	}
	defer s.Close()
	in := bufio.NewScanner(os.Stdin)
	for n := 0; in.Scan(); n++ {
		runID := fmt.Sprintf("%s-%d", name, n)
		if err := reserve(s, request(runID, session)); err != nil {
			return err
		}
		fmt.Println("acknowledged " + runID)
		if err := cycle(s, runID, session, func(what string) { fmt.Println(what + " " + runID) }); err != nil {
			return err
		}
	}
	return in.Err()
}

func reserve(s *sqlite.Store, r core.ReserveRequest) error {
	for {
		_, err := s.ReservePreparedRun(ctx, r)
		if core.CodeOf(err) != core.CodeSessionReserved {
			return err
		}
		fmt.Println("refused " + r.RunID)
	}
}

// cycle is what becomes of a queued run.
func cycle(s *sqlite.Store, runID, session string, say func(string)) error {
	claim := core.ClaimRequest{RunID: runID, SessionID: session, RunnerID: "runner", ClaimToken: "token of " + runID}
	if _, err := s.ClaimPreparedRun(ctx, claim); err != nil {
		return err
	}
	say("claimed")
	if _, err := s.MarkPreparedRunRunning(ctx, core.MarkRunningRequest{RunID: runID, ClaimToken: claim.ClaimToken}); err != nil {
		return err
	}
	say("running")
	if _, err := s.FinishRunningRun(ctx, core.FinishRequest{RunID: runID, ClaimToken: claim.ClaimToken, Status: core.Done}); err != nil {
		return err
	}
	say("done")
	return nil
}

// live is another host.
func live(args []string) error {
	runs, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	return scenario.Live(args[0], args[1], runs)
}

// recoverAll is what a later process does with what is left of a session, until nothing is.
func recoverAll(s *sqlite.Store, session string) (recovered int, err error) {
	for ; ; recovered++ {
		left, err := s.ListRecoverableRuns(context.Background(), core.RecoverableRequest{SessionID: session, Limit: 1})
		if err != nil || len(left) == 0 {
			return recovered, err
		}
		if err := recoverOne(s, left[0], session); err != nil {
			return recovered, err
		}
	}
}

func recoverOne(s *sqlite.Store, left core.Run, session string) error {
	switch left.Status {
	case core.Queued:
		return cycle(s, left.RunID, session, func(string) {})
	case core.Starting:
		_, err := s.RecoverExpiredStartingRun(ctx, core.RecoverRequest{
			RunID: left.RunID, SessionID: session, ExpectedClaimToken: left.ClaimToken, Finding: &core.Finding{Kind: core.FindingNone},
		})
		return err
	}
	claim := core.ClaimRequest{RunID: left.RunID, SessionID: session, RunnerID: "rescue", ClaimToken: "rescue of " + left.RunID}
	if _, err := s.TakeOverExpiredRun(ctx, claim); err != nil {
		return err
	}
	_, err := s.FinishRunningRun(ctx, core.FinishRequest{RunID: left.RunID, ClaimToken: claim.ClaimToken, Status: core.Done})
	return err
}
