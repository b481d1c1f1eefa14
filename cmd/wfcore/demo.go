package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

const (
	demoSession  = "demo-session"
	demoWorkflow = "greet"
	// demoEngine builds, says ready, waits for go, and runs the one step.
	demoEngine = `read -r input; echo ready; read -r go; test "$go" = go`
)

func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show a launch that fails, frees its session, and is started again",
		Long: `Show on a fresh file in a temporary directory: a start is queued, its source
changes, the activation fails and frees the session; a corrected start runs to its
end. Every line of the timeline is read back from the file.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := os.MkdirTemp("", "wfcore-demo-")
			if err != nil {
				return err
			}
			quiet := *a
			quiet.stderr = io.Discard // the timeline is the talk
			quiet.db = filepath.Join(dir, "store", "controller.sqlite")
			d := demo{app: &quiet, source: filepath.Join(dir, "greet.workflow")}
			if err := d.play(cmd.Context()); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "\nLook into it with `wfcore runs`, `show` or `events`, and --db:\n%s\n", quiet.db)
			return err
		},
	}
}

// demo acts through the command's own functions, and tells what the file then says.
type demo struct {
	app    *app
	source string
	after  int64 // the last event that was told
}

func (d *demo) play(ctx context.Context) error {
	steps := []struct {
		title string
		act   func(context.Context) error
	}{
		{"The model calls `workflow start`, is told the run id, and its turn goes on.", d.start("step: greet the wrld\n")},
		{"Before the turn ends, the workflow's source changes.", d.write("step: greet the world\n")},
		{"The turn ends: the run is activated, and fails before its first step.", d.activate},
		{"The model reads the error and starts again, from the source as it is now.", d.start("step: greet the world\n")},
		{"The turn ends: this run starts, runs its step and is done.", d.activate},
	}
	for i, step := range steps {
		fmt.Fprintf(d.app.stdout, "\n%d. %s\n", i+1, step.title)
		if err := step.act(ctx); err != nil {
			return err
		}
		if err := d.app.reading(ctx, func(s *sqlite.Store) error { return d.tell(ctx, s) }); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) write(source string) func(context.Context) error {
	return func(context.Context) error { return os.WriteFile(d.source, []byte(source), 0o600) }
}

func (d *demo) start(source string) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := d.write(source)(ctx); err != nil {
			return err
		}
		req := core.ReserveRequest{WorkflowName: demoWorkflow, OriginSessionID: demoSession, Input: []byte(`{"who":"world"}`)}
		if err := identify(&req, d.source, ""); err != nil {
			return err
		}
		return d.app.with(ctx, sqlite.Options{}, func(s *sqlite.Store) error {
			id, err := s.NewRunID(ctx, core.NewRunIDRequest{WorkflowName: demoWorkflow})
			if err != nil {
				return err
			}
			req.RunID = id.RunID
			_, err = s.ReservePreparedRun(ctx, req)
			return err
		})
	}
}

func (d *demo) activate(ctx context.Context) error {
	return d.app.with(ctx, sqlite.Options{}, func(s *sqlite.Store) error {
		act := &activation{app: d.app, store: s, lease: core.DefaultLease, poll: time.Second}
		run, err := act.claim(ctx, "", demoSession, "demo-runner")
		if err != nil {
			return err
		}
		act.run = *run
		_, err = act.work(ctx, demoEngine)
		return err
	})
}

// tell prints what the file says that was not told yet.
func (d *demo) tell(ctx context.Context, s *sqlite.Store) error {
	events, err := s.ListRunEvents(ctx, core.ListEventsRequest{AfterSeq: d.after, Limit: core.MaxList})
	if err != nil {
		return err
	}
	for _, e := range events {
		at := strings.TrimSuffix(e.RecordedAt[len("2006-01-02T"):], "Z")
		pad := strings.Repeat(" ", 13-len(e.Type))
		fmt.Fprintf(d.app.stdout, "   %s  %s%s  %s%s\n", at, d.app.out.paint(e.Type), pad, e.RunID, errorCode(e))
		d.after = e.Seq
	}
	status, err := s.GetRun(ctx, core.GetRunRequest{SessionID: demoSession})
	if err != nil {
		return err
	}
	fmt.Fprintf(d.app.stdout, "   %-12s  %s\n", "status", status.Line)
	held, err := s.FindSessionReservation(ctx, core.SessionRequest{SessionID: demoSession})
	if err != nil {
		return err
	}
	session := "free"
	if held != nil {
		session = "reserved by " + held.RunID
	}
	_, err = fmt.Fprintf(d.app.stdout, "   %-12s  %s\n", "session", session)
	return err
}

// errorCode is that of the event's payload, or nothing.
func errorCode(e core.Event) string {
	var p struct {
		ErrorCode string `json:"errorCode"`
	}
	if json.Unmarshal(e.Payload, &p) != nil {
		return ""
	}
	if p.ErrorCode == "" {
		return ""
	}
	return "  " + p.ErrorCode
}
