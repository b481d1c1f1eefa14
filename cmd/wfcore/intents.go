package main

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

var intentStates = []string{string(core.IntentPending), string(core.IntentEligible), string(core.IntentResolved), "all"}

func (a *app) intentsCommand() *cobra.Command {
	var req core.ListIntentsRequest
	var state string
	cmd := &cobra.Command{
		Use:   "intents",
		Short: "List the turns that are owed to sessions, the oldest first",
		Long: `List the turns that are owed to sessions, the oldest first: what stopped or stranded
a turn, since when it is owed, whether a fallback may go, until when a host holds it
to deliver it, and how it was given. Without --state only what is still owed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(intentStates, state) {
				return usage("--state must be one of %s", strings.Join(intentStates, ", "))
			}
			if state != "all" {
				req.State = core.IntentState(state)
			}
			return a.reading(cmd.Context(), func(s *sqlite.Store) error {
				intents, err := s.ListWorkflowTurnIntents(cmd.Context(), req)
				if err != nil {
					return err
				}
				if n := len(intents); int64(n) == req.Limit {
					a.say("there may be more: --after %s", intents[n-1].IntentID)
				}
				if len(intents) == 0 && req.State == core.IntentPending {
					a.say("no turn is owed; --state all lists those that were given")
				}
				return a.out.intents(intents, time.Now())
			})
		},
	}
	cmd.Flags().StringVar(&req.SessionID, "session", "", "only turns of this session")
	cmd.Flags().StringVar(&req.RunID, "run", "", "only turns of this run")
	cmd.Flags().StringVar(&state, "state", string(core.IntentPending), strings.Join(intentStates, ", "))
	cmd.Flags().StringVar(&req.AfterIntentID, "after", "", "continue after this intent of an earlier list")
	cmd.Flags().Int64Var(&req.Limit, "limit", defaultLimit, "how many, 1 to 100")
	return cmd
}

func (p printer) intents(intents []core.Intent, now time.Time) error {
	if p.json {
		return p.encode(intents)
	}
	rows := [][]string{}
	for _, i := range intents {
		rows = append(rows, []string{
			i.RunID, i.TargetSessionID, string(i.Cause), age(i.RequestedAt, now), orDash(i.EligibleAt),
			orDash(i.DeliveryClaimExpiresAt), orDash(i.Resolution), i.IntentID,
		})
	}
	return p.table([]string{"RUN", "SESSION", "CAUSE", "AGE", "ELIGIBLE SINCE", "CLAIMED UNTIL", "GIVEN BY", "INTENT"}, rows)
}

// age is how long ago a time was, in whole seconds.
func age(since string, now time.Time) string {
	at, err := time.Parse(time.RFC3339Nano, since)
	if err != nil {
		return "-"
	}
	return now.Sub(at).Truncate(time.Second).String()
}
