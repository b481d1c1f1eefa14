package main

import (
	"github.com/spf13/cobra"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

const defaultLimit = 20

func (a *app) statusCommand() *cobra.Command {
	var req core.GetRunRequest
	cmd := &cobra.Command{
		Use:   "status [RUN] [--session SESSION]",
		Short: "Say in one line how a run, or a session's run, stands",
		Long: `Say in one line how a run stands. With --session: the session's live run, else
its newest parked one, else the last that ended.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				req.RunID = args[0]
			}
			if (req.RunID == "") == (req.SessionID == "") {
				return usage("give either a RUN or --session SESSION")
			}
			return a.reading(cmd.Context(), func(s *sqlite.Store) error {
				status, err := s.GetRun(cmd.Context(), req)
				if err != nil {
					return err
				}
				if status == nil {
					return a.out.show(nil, "No workflow run in this session.")
				}
				return a.out.show(status, status.Line)
			})
		},
	}
	cmd.Flags().StringVar(&req.SessionID, "session", "", "the session to look at")
	return cmd
}

func (a *app) runsCommand() *cobra.Command {
	var req core.ListRunsRequest
	var status string
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List runs, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			req.Status = core.Status(status)
			return a.reading(cmd.Context(), func(s *sqlite.Store) error {
				runs, err := s.ListRuns(cmd.Context(), req)
				if err != nil {
					return err
				}
				if n := len(runs); int64(n) == req.Limit {
					a.say("there may be more: --before %s", runs[n-1].RunID)
				}
				return a.out.runs(runs)
			})
		},
	}
	cmd.Flags().StringVar(&req.SessionID, "session", "", "only runs of this session")
	cmd.Flags().StringVar(&status, "status", "", "only runs in this state")
	cmd.Flags().StringVar(&req.BeforeRunID, "before", "", "continue after this run of an earlier list")
	cmd.Flags().Int64Var(&req.Limit, "limit", defaultLimit, "how many, 1 to 100")
	return cmd
}

func (a *app) eventsCommand() *cobra.Command {
	var req core.ListEventsRequest
	cmd := &cobra.Command{
		Use:   "events [RUN]",
		Short: "List the feed of a run, or of all, oldest first",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				req.RunID = args[0]
			}
			return a.reading(cmd.Context(), func(s *sqlite.Store) error {
				events, err := s.ListRunEvents(cmd.Context(), req)
				if err != nil {
					return err
				}
				if n := len(events); int64(n) == req.Limit {
					a.say("there may be more: --after %d", events[n-1].Seq)
				}
				return a.out.events(events)
			})
		},
	}
	cmd.Flags().Int64Var(&req.AfterSeq, "after", 0, "continue after this sequence number")
	cmd.Flags().Int64Var(&req.Limit, "limit", defaultLimit, "how many, 1 to 100")
	return cmd
}
