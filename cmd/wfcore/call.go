package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/safetext"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

func (a *app) callCommand() *cobra.Command {
	var testClock, describe bool
	cmd := &cobra.Command{
		Use:   "call OP [JSON|-]",
		Short: "Run one operation on a JSON request and print its JSON answer",
		Long: `Run one operation on a JSON request (default {}), or on stdin for -. With
--describe, print the fields of its request and answer, or of all operations.

Operations:
` + opList(),
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.output = "json" // errors too
			if len(args) == 0 && !describe {
				return usage("name an operation; `wfcore call --help` lists them")
			}
			if len(args) == 0 {
				return a.describe(core.Ops)
			}
			op := core.FindOp(args[0])
			if op == nil {
				return usage("%s is not an operation; `wfcore call --help` lists them", safetext.Truncate(safetext.Line(args[0]), 80))
			}
			if describe {
				return a.describe([]core.Op{*op})
			}
			request := []byte("{}")
			if len(args) == 2 {
				request = []byte(args[1])
			}
			if string(request) == "-" {
				var err error
				if request, err = readBounded(cmd.Context(), "request", a.stdin); err != nil {
					return err
				}
			}
			options := sqlite.Options{ReadOnly: op.ReadOnly, TestClock: testClock, Existing: op.Name != "reservePreparedRun"}
			return a.with(cmd.Context(), options, func(s *sqlite.Store) error {
				answer, err := s.Call(cmd.Context(), op.Name, request)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(a.stdout, "%s\n", answer)
				return err
			})
		},
	}
	testClockFlag(cmd, &testClock)
	cmd.Flags().BoolVar(&describe, "describe", false, "print the fields of the operation, or of all, as Markdown")
	return cmd
}

func testClockFlag(cmd *cobra.Command, testClock *bool) {
	cmd.Flags().BoolVar(testClock, "test-clock", false, "permit now in requests (tests only: it can revive a dead claim)")
}

func opList() string {
	var b strings.Builder
	for _, op := range core.Ops {
		fmt.Fprintf(&b, "  %-26s %s\n", op.Name, op.Doc)
	}
	return strings.TrimRight(b.String(), "\n")
}
