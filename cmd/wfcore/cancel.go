package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/safetext"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

func (a *app) cancelCommand() *cobra.Command {
	var req core.CancelRequest
	var origin string
	cmd := &cobra.Command{
		Use:   "cancel RUN",
		Short: "Cancel a run that has not ended",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.RunID, req.Origin = args[0], core.Origin(origin)
			return a.with(cmd.Context(), sqlite.Options{Existing: true}, func(s *sqlite.Store) error {
				run, err := s.CancelPreparedRun(cmd.Context(), req)
				if err != nil {
					return err
				}
				return a.out.show(run, safetext.Plain(fmt.Sprintf("Workflow %s cancelled (run %s).", run.WorkflowName, run.RunID)))
			})
		},
	}
	cmd.Flags().StringVar(&req.SessionID, "session", "", "session that must own the run")
	cmd.Flags().StringVar(&origin, "origin", string(core.OriginUser), "whose act it is: user or agent")
	return cmd
}
