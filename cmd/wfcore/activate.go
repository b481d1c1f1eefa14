package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

func (a *app) activateCommand() *cobra.Command {
	act := &activation{app: a}
	var session, runner, command string
	cmd := &cobra.Command{
		Use:   "activate [RUN] --exec CMD",
		Short: "Claim a queued run and run its engine",
		Long: `Claim a queued run, RUN or the next one of the session (without --session: of the
ownerless ones), and run CMD in a shell as its engine. Runs whose runner is gone are
recovered first.

The engine gets the run's input as one line of JSON on stdin, builds, and prints
"ready" on a line of its own. Then the run is marked running, and the engine reads
"go"; only now may it act. Without "go" (stdin ends) it must not act: wfcore is gone.
Exit 0 is done; anything else is failed, with its last line on stderr as the reason.
An engine that ends before "ready" is a failed launch. WFCORE_RUN_ID, WFCORE_WORKFLOW,
WFCORE_SOURCE and WFCORE_SESSION are in its environment.

The claim is renewed while the engine works; it is killed when the run is cancelled or
its claim is lost. A signal ends the engine and lets the claim expire at once.

Exits with 0 where the run is done, 1 where it ended otherwise, 3 where nothing is
queued, 130 after a signal.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if command == "" {
				return usage("--exec CMD is missing: the engine that runs the workflow")
			}
			if act.lease < time.Millisecond || act.lease > core.MaxLease || act.poll <= 0 || act.build < 0 || act.timeout < 0 {
				return usage("--lease must be from 1ms to 1h, --poll more than 0, --build-timeout and --timeout not less than 0")
			}
			runID := ""
			if len(args) == 1 {
				runID = args[0]
			}
			return a.with(cmd.Context(), sqlite.Options{Existing: true}, func(s *sqlite.Store) error {
				act.store = s
				return act.activate(cmd.Context(), runID, session, runner, command)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&command, "exec", "", "shell command that is the engine (required)")
	flags.StringVar(&session, "session", "", "session whose run it is (default: ownerless)")
	flags.StringVar(&runner, "runner", runnerID(), "name of this runner")
	flags.DurationVar(&act.lease, "lease", core.DefaultLease, "how long a claim lives unless it is renewed")
	flags.DurationVar(&act.poll, "poll", 3*time.Second, "how often to look for a cancellation")
	flags.DurationVar(&act.build, "build-timeout", 10*time.Minute, "how long the engine may take to get ready; 0 is for ever")
	flags.DurationVar(&act.timeout, "timeout", 0, "how long the engine may take after go; 0 is for ever")
	return cmd
}

func runnerID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return fmt.Sprintf("%s-%d", host, os.Getpid())
}
