package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

// found are what --finding takes. A bundle that can go on needs its engine, so
// `running` is for hosts and not here.
var found = []string{"none", "waiting", "unreadable", "sourceChanged", "done", "failed", "cancelled"}

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

func (a *app) showRecovered(results recoveries) error {
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

// recoverRuns settles each expired run, RUN or all; one that cannot be recovered
// does not stop the others.
func recoverRuns(ctx context.Context, s *sqlite.Store, session, runID, finding string) (recoveries, error) {
	settled := recoveries{}
	var refused *core.Error
	l := launcher{
		store: s,
		state: core.LaunchState{SessionID: session, RunnerID: runnerID(), RunID: runID, RecoverOnly: true},
		do: func(step core.LaunchStep) (core.LaunchSeen, bool) {
			return core.LaunchSeen{Kind: core.LaunchFound, Step: step.Kind, Finding: findingOf(finding)}, false
		},
		told: func(step core.LaunchStep, run *core.Run, problem *core.Error) {
			if step.Kind == core.DoList {
				refused = problem
				return
			}
			settled.hear(step, run, problem)
		},
	}
	err := l.follow(ctx, core.LaunchSeen{Kind: core.LaunchSessionStart, Idle: true})
	if refused != nil {
		return nil, refused
	}
	return settled, err
}

// notRecoverable says why a run that was named is not on the list: the op that
// would settle it knows.
func notRecoverable(ctx context.Context, s *sqlite.Store, session, runID, finding string) error {
	status, err := s.GetRun(ctx, core.GetRunRequest{RunID: runID})
	if err != nil {
		return err
	}
	if status.Status != core.Running {
		_, err = s.RecoverExpiredStartingRun(ctx, core.RecoverRequest{RunID: runID, SessionID: session, Finding: findingOf(finding)})
		return err
	}
	taken, err := s.TakeOverExpiredRun(ctx, core.ClaimRequest{RunID: runID, SessionID: session, RunnerID: runnerID()})
	if err != nil {
		return err
	}
	// Its lease ended just now.
	_, err = s.ReleaseRunClaim(ctx, core.HoldRequest{RunID: runID, ClaimToken: taken.ClaimToken})
	return err
}

func findingOf(finding string) *core.Finding {
	switch finding {
	case "done", "failed", "cancelled":
		return &core.Finding{Kind: core.FindingTerminal, Status: core.Status(finding)}
	}
	return &core.Finding{Kind: core.FindingKind(finding)}
}
