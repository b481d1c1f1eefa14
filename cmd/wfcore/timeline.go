package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/safetext"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

// shown is a run with all that happened to it: its feed, the turns that it owed, and
// what it reported.
type shown struct {
	*core.RunStatus
	Events        []core.Event        `json:"events"`
	Intents       []core.Intent       `json:"intents"`
	Notifications []core.Notification `json:"notifications"`
}

func (a *app) showCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show RUN",
		Short: "Show a run and its timeline: events, owed turns and notifications",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.reading(cmd.Context(), func(s *sqlite.Store) error {
				status, err := s.GetRun(cmd.Context(), core.GetRunRequest{RunID: args[0]})
				if err != nil {
					return err
				}
				run := shown{RunStatus: status}
				if err := run.read(cmd, s); err != nil {
					return err
				}
				return a.show(run)
			})
		},
	}
}

// read reads all pages.
func (s *shown) read(cmd *cobra.Command, store *sqlite.Store) (err error) {
	ctx, id := cmd.Context(), s.RunID
	s.Events, err = pages(func(all []core.Event) ([]core.Event, error) {
		req := core.ListEventsRequest{RunID: id, Limit: core.MaxList}
		if n := len(all); n > 0 {
			req.AfterSeq = all[n-1].Seq
		}
		return store.ListRunEvents(ctx, req)
	})
	if err != nil {
		return err
	}
	s.Intents, err = pages(func(all []core.Intent) ([]core.Intent, error) {
		req := core.ListIntentsRequest{RunID: id, Limit: core.MaxList}
		if n := len(all); n > 0 {
			req.AfterIntentID = all[n-1].IntentID
		}
		return store.ListWorkflowTurnIntents(ctx, req)
	})
	if err != nil {
		return err
	}
	s.Notifications, err = pages(func(all []core.Notification) ([]core.Notification, error) {
		return store.ListWorkflowNotifications(ctx, core.ListNotificationsRequest{RunID: id, Skip: int64(len(all)), Limit: core.MaxList})
	})
	return err
}

// pages reads a list to its end; next goes on after what was read.
func pages[T any](next func(all []T) ([]T, error)) ([]T, error) {
	all := []T{}
	for {
		page, err := next(all)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < core.MaxList {
			return all, nil
		}
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
	return a.out.table([]string{"TIME", "WHAT", "DETAIL"}, run.timeline())
}

// timeline is all that happened, in order of time; at one instant what happened to
// the run goes first.
func (s *shown) timeline() [][]string {
	rows := [][]string{}
	for _, e := range s.Events {
		rows = append(rows, []string{e.RecordedAt, e.Type, strings.TrimPrefix(orDash(e.RunnerID)+" ", "- ") + string(e.Payload)})
	}
	for _, i := range s.Intents {
		rows = append(rows, intentTimeline(i)...)
	}
	for _, n := range s.Notifications {
		rows = append(rows, notificationTimeline(n)...)
	}
	slices.SortStableFunc(rows, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	return rows
}

func intentTimeline(i core.Intent) [][]string {
	held := ""
	if i.DeliveryClaimExpiresAt != nil {
		held = ", claimed until " + *i.DeliveryClaimExpiresAt
	}
	rows := [][]string{{i.RequestedAt, "turn owed", fmt.Sprintf("%s to session %s%s, %s", i.Cause, i.TargetSessionID, held, i.IntentID)}}
	if i.EligibleAt != nil {
		rows = append(rows, []string{*i.EligibleAt, "turn eligible", "a fallback may go, " + i.IntentID})
	}
	if i.ResolvedAt != nil {
		rows = append(rows, []string{*i.ResolvedAt, "turn given", fmt.Sprintf("by %s, %s", orDash(i.Resolution), i.IntentID)})
	}
	return rows
}

func notificationTimeline(n core.Notification) [][]string {
	rows := [][]string{{n.CreatedAt, string(n.Kind), fmt.Sprintf("node %s: %s", n.NodeID, safetext.Truncate(safetext.Plain(n.Content), 200))}}
	if n.DeliveredAt != nil {
		rows = append(rows, []string{*n.DeliveredAt, "shown", fmt.Sprintf("node %s, report %d", n.NodeID, n.NotificationIndex)})
	}
	return rows
}
