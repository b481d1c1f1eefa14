package main

import (
	"fmt"

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

// shown is a run with its whole feed.
type shown struct {
	*core.RunStatus
	Events []core.Event `json:"events"`
}

func (a *app) showCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show RUN",
		Short: "Show a run and its timeline",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.reading(cmd.Context(), func(s *sqlite.Store) error {
				status, err := s.GetRun(cmd.Context(), core.GetRunRequest{RunID: args[0]})
				if err != nil {
					return err
				}
				events, err := feed(cmd, s, args[0])
				if err != nil {
					return err
				}
				return a.show(shown{status, events})
			})
		},
	}
}

// feed reads all events of a run, a page at a time.
func feed(cmd *cobra.Command, s *sqlite.Store, runID string) ([]core.Event, error) {
	all := []core.Event{}
	for after := int64(0); ; {
		page, err := s.ListRunEvents(cmd.Context(), core.ListEventsRequest{RunID: runID, AfterSeq: after, Limit: core.MaxList})
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < core.MaxList {
			return all, nil
		}
		after = page[len(page)-1].Seq
	}
}

func (a *app) show(run shown) error {
	if a.out.json {
		return a.out.encode(run)
	}
	fmt.Fprintf(a.stdout, "%s\n\n", run.Line)
	err := a.out.table([]string{"FIELD", "VALUE"}, [][]string{
		{"run", run.RunID},
		{"workflow", run.WorkflowName},
		{"source", run.WorkflowSourceRef},
		{"digest", run.DefinitionDigest},
		{"session", orDash(run.OriginSessionID)},
		{"parent", orDash(run.ParentRunID)},
		{"runner", orDash(run.RunnerID)},
		{"lease until", orDash(run.ClaimExpiresAt)},
		{"created", run.CreatedAt},
		{"started", orDash(run.StartedAt)},
		{"finished", orDash(run.FinishedAt)},
		{"error", orDash(run.ErrorCode)},
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(a.stdout)
	return a.out.events(run.Events)
}
