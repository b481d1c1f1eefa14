package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

// found are what --finding takes. A bundle that can go on needs its engine, so
// `running` is for hosts and not here.
var found = []string{"none", "waiting", "unreadable", "sourceChanged", "done", "failed", "cancelled"}

// recovered is what became of one run.
type recovered struct {
	RunID   string      `json:"runId"`
	Was     core.Status `json:"was"`
	Status  core.Status `json:"status"`
	Problem *core.Error `json:"problem,omitempty"`
}

func (a *app) recoverCommand() *cobra.Command {
	var session, finding string
	cmd := &cobra.Command{
		Use:   "recover [RUN] [--session SESSION] [--finding FINDING]",
		Short: "Settle runs whose runner is gone",
		Long: `Settle the runs of a session, or without --session the ownerless ones, whose
lease is over: all of them, or one RUN. The finding says what is left of the run:

  none           no run bundle: a launch is queued again (after three starts it
                 fails), and a running run fails as interrupted
  waiting        the bundle waits: parked
  unreadable     the bundle cannot be read: failed
  sourceChanged  the workflow is another one now: failed
  done, failed, cancelled   the bundle ended so

A live lease is never touched. Engines behind "activate --exec" keep no bundle, so
none is the default.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(found, finding) {
				return usage("--finding must be one of %s", strings.Join(found, ", "))
			}
			runID := ""
			if len(args) == 1 {
				runID = args[0]
			}
			return a.with(cmd.Context(), sqlite.Options{Existing: true}, func(s *sqlite.Store) error {
				results, err := recoverRuns(cmd.Context(), s, session, runID, finding)
				if err != nil {
					return err
				}
				if runID != "" && len(results) == 0 {
					return notRecoverable(cmd.Context(), s, session, runID, finding)
				}
				if len(results) == 0 {
					a.say("there is nothing to recover")
				}
				return a.showRecovered(results)
			})
		},
	}
	cmd.Flags().StringVar(&session, "session", "", "whose runs (default: the ownerless ones)")
	cmd.Flags().StringVar(&finding, "finding", "none", strings.Join(found, ", "))
	return cmd
}

func (a *app) showRecovered(results []recovered) error {
	if a.out.json {
		if err := a.out.encode(results); err != nil {
			return err
		}
	} else {
		rows := [][]string{}
		for _, r := range results {
			problem := "-"
			if r.Problem != nil {
				problem = r.Problem.Error()
			}
			rows = append(rows, []string{r.RunID, string(r.Was), string(r.Status), problem})
		}
		if err := a.out.table([]string{"RUN", "WAS", "STATUS", "PROBLEM"}, rows); err != nil {
			return err
		}
	}
	for _, r := range results {
		if r.Problem != nil {
			return exitError{r.Problem.Code.Info().Exit, "a run could not be recovered: " + r.Problem.Error()}
		}
	}
	return nil
}

// recoverRuns settles each expired run, a page at a time; one that cannot be
// recovered does not stop the others.
func recoverRuns(ctx context.Context, s *sqlite.Store, session, runID, finding string) ([]recovered, error) {
	results := []recovered{}
	for more := true; more; {
		runs, err := s.ListRecoverableRuns(ctx, core.RecoverableRequest{SessionID: session, RunID: runID, Limit: core.MaxList})
		if err != nil {
			return nil, err
		}
		more = false
		for _, run := range runs {
			if run.Status == core.Queued || handled(results, run.RunID) {
				continue
			}
			result, err := recoverRun(ctx, s, session, run, finding)
			if err != nil {
				return nil, err
			}
			results = append(results, result)
			more = len(runs) == core.MaxList
		}
	}
	return results, nil
}

func handled(results []recovered, runID string) bool {
	return slices.ContainsFunc(results, func(r recovered) bool { return r.RunID == runID })
}

// recoverRun settles one run; a refusal is part of the result.
func recoverRun(ctx context.Context, s *sqlite.Store, session string, run core.Run, finding string) (recovered, error) {
	result := recovered{RunID: run.RunID, Was: run.Status, Status: run.Status}
	settled, err := settle(ctx, s, session, run, finding)
	if err == nil {
		result.Status = settled.Status
		return result, nil
	}
	if errors.As(err, &result.Problem) {
		return result, nil
	}
	return result, err
}

// notRecoverable says why a run that was named is not on the list: the op that
// would settle it knows.
func notRecoverable(ctx context.Context, s *sqlite.Store, session, runID, finding string) error {
	status, err := s.GetRun(ctx, core.GetRunRequest{RunID: runID})
	if err != nil {
		return err
	}
	run := status.Run
	if run.Status != core.Running {
		run.Status = core.Starting
	}
	_, err = settle(ctx, s, session, run, finding)
	return err
}

func settle(ctx context.Context, s *sqlite.Store, session string, run core.Run, finding string) (core.Run, error) {
	if run.Status == core.Starting {
		return s.RecoverExpiredStartingRun(ctx, core.RecoverRequest{
			RunID: run.RunID, SessionID: session, ExpectedClaimToken: run.ClaimToken, Finding: findingOf(finding),
		})
	}
	taken, err := s.TakeOverExpiredRun(ctx, core.ClaimRequest{RunID: run.RunID, SessionID: session, RunnerID: runnerID()})
	if err != nil {
		return run, err
	}
	hold := core.HoldRequest{RunID: run.RunID, ClaimToken: taken.ClaimToken}
	switch finding {
	case "waiting":
		return s.ParkRunningRun(ctx, hold)
	case "cancelled":
		return s.CancelPreparedRun(ctx, core.CancelRequest{RunID: run.RunID, ClaimToken: taken.ClaimToken})
	case "done":
		return s.FinishRunningRun(ctx, core.FinishRequest{RunID: run.RunID, ClaimToken: taken.ClaimToken, Status: core.Done})
	}
	code, detail := core.FailureInterrupted, "its runner is gone"
	if finding == "failed" {
		code, detail = core.FailureRunFailed, ""
	}
	return s.FinishRunningRun(ctx, core.FinishRequest{
		RunID: run.RunID, ClaimToken: taken.ClaimToken, Status: core.Failed, ErrorCode: code, ErrorMessage: detail,
	})
}

func findingOf(finding string) *core.Finding {
	switch finding {
	case "done", "failed", "cancelled":
		return &core.Finding{Kind: core.FindingTerminal, Status: core.Status(finding)}
	}
	return &core.Finding{Kind: core.FindingKind(finding)}
}
