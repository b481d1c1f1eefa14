package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/safetext"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

// app is one run of the command.
type app struct {
	system
	db     string
	output string
	out    printer
	begun  bool // flags and arguments were right
}

// run is main without the process: it returns the exit code.
func run(ctx context.Context, args []string, sys system) int {
	a := &app{system: sys}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(sys.stdin)
	root.SetOut(sys.stdout)
	root.SetErr(sys.stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	return a.fail(err)
}

func (a *app) root() *cobra.Command {
	version := false
	root := &cobra.Command{
		Use:   "wfcore",
		Short: "A durable launch queue for workflow runs in one SQLite file",
		Long: `wfcore keeps workflow launches in one SQLite file, so that a start that was
answered "queued" survives whatever happens next.

Data goes to stdout, talk to stderr. Exit codes: 0 done, 1 the run failed or
something unforeseen, 2 bad request, 3 not found, 4 refused by the state of the
run, 5 store unavailable (try again), 6 not a v1 store.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return a.prepare(cmd)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return a.version(cmd.Context())
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVar(&version, "version", false, "print the versions, as the version command does")
	flags := root.PersistentFlags()
	flags.StringVar(&a.db, "db", "", "file of the store (default $WFCORE_DB)")
	flags.StringVarP(&a.output, "output", "o", "table", "output format: table or json")
	root.AddCommand(
		a.startCommand(), a.activateCommand(), a.cancelCommand(), a.recoverCommand(),
		a.statusCommand(), a.runsCommand(), a.showCommand(), a.eventsCommand(), a.intentsCommand(),
		a.callCommand(), a.rpcCommand(), a.demoCommand(), a.versionCommand(),
	)
	return root
}

func (a *app) prepare(cmd *cobra.Command) error {
	empty := ""
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" {
			empty = f.Name
		}
	})
	if empty != "" {
		// An unset variable of a shell must not mean "any".
		return usage("--%s must not be empty", empty)
	}
	if a.output != "table" && a.output != "json" {
		return usage("--output must be table or json, not %q", a.output)
	}
	if a.db == "" {
		a.db = a.getenv("WFCORE_DB")
	}
	a.begun = true
	a.out = printer{a.stdout, a.output == "json", a.colour && a.getenv("NO_COLOR") == ""}
	return nil
}

func usage(format string, args ...any) error {
	return core.NewError(core.CodeBadRequest, nil, format, args...)
}

// with opens the store for one use.
func (a *app) with(ctx context.Context, options sqlite.Options, use func(*sqlite.Store) error) error {
	if a.db == "" {
		return usage("name the file of the store with --db FILE or WFCORE_DB")
	}
	store, err := sqlite.Open(ctx, a.db, options)
	if err != nil {
		return err
	}
	return errors.Join(use(store), store.Close())
}

func (a *app) reading(ctx context.Context, use func(*sqlite.Store) error) error {
	return a.with(ctx, sqlite.Options{ReadOnly: true}, use)
}

// exitError ends the command with a code after its data was printed.
type exitError struct {
	code int
	text string
}

func (e exitError) Error() string { return e.text }

// fail says what went wrong on stderr and returns the exit code.
func (a *app) fail(err error) int {
	var exit exitError
	if errors.As(err, &exit) {
		a.say("%s", exit.text)
		return exit.code
	}
	var own *core.Error
	if !errors.As(err, &own) && a.begun {
		a.say("%s", safetext.Line(err.Error())) // stdout, or the system around us
		return 1
	}
	if own == nil {
		own = core.NewError(core.CodeBadRequest, nil, "%s", safetext.Line(err.Error())) // cobra's: flags and arguments
	}
	if a.output == "json" {
		encoded, _ := core.Encode(own)
		fmt.Fprintf(a.stderr, "%s\n", encoded)
	} else {
		a.say("%s", own)
	}
	return own.Code.Info().Exit
}

// say talks to the person.
func (a *app) say(format string, args ...any) {
	fmt.Fprintf(a.stderr, "wfcore: "+format+"\n", args...)
}
