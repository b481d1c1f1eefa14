package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/hosttest"
	"github.com/pi-workflows/wfcore/core/safetext"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

const (
	demoSession  = "demo-session"
	demoWorkflow = "greet"
	demoRunner   = "demo-runner"
	// demoTime is more than the demo's clock moves on: it ends in the past.
	demoTime = 2 * time.Minute
	// demoEngine builds, says ready, waits for go, and runs the one step.
	demoEngine = `read -r input; echo ready; read -r go; test "$go" = go`
)

func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show a launch that fails, and how its agent is told once",
		Long: `Show on fresh files in a temporary directory: a start is queued, its source changes,
the activation fails; the agent is told by one message, although the process that
sends it crashes; a corrected start runs to its end; a turn that the agent cancels
gets a fallback, and one that times out a recovery prompt instead. The session is
scripted, and its clock moves on by itself. Every line of the timeline is read back
from the store and the session's file.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := os.MkdirTemp("", "wfcore-demo-")
			if err != nil {
				return err
			}
			quiet := *a
			quiet.stderr = io.Discard // the timeline is the talk
			quiet.db = filepath.Join(dir, "store", "controller.sqlite")
			d := newDemo(&quiet, dir)
			if err := d.play(cmd.Context()); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "\nThe session's messages are in %s\nLook into the store with `wfcore runs`, `show`, `events` or `intents --state all`, and --db:\n%s\n"+
				"Remove %s when you have seen it.\n", d.session.Branch.Journal, quiet.db, dir)
			return err
		},
	}
}

// demo acts through the command's own functions and a scripted host, and tells what
// the files then say.
type demo struct {
	app     *app
	source  string
	clock   *hosttest.Clock
	session *hosttest.Session
	engine  *hosttest.Engine
	host    *hosttest.Host
	run     string // the latest
	events  int64  // the last event that was told
	entries int    // of the session, that were told
	intents map[string]int
}

func newDemo(a *app, dir string) *demo {
	session := hosttest.NewSession(demoSession)
	session.Branch.Journal = journal(filepath.Join(dir, "session.jsonl"))
	return &demo{
		app: a, source: filepath.Join(dir, "greet.workflow"), clock: hosttest.NewClock(time.Now().Add(-demoTime)),
		session: session, engine: hosttest.NewEngine(""), intents: map[string]int{},
	}
}

type demoStep struct {
	title string
	act   func(context.Context, *sqlite.Store) error
}

func (d *demo) play(ctx context.Context) error {
	for i, step := range d.script() {
		fmt.Fprintf(d.app.stdout, "\n%d. %s\n", i+1, step.title)
		err := d.app.with(ctx, sqlite.Options{Now: d.clock.Now}, func(s *sqlite.Store) error { return step.act(ctx, s) })
		if err != nil {
			return err
		}
		look := sqlite.Options{ReadOnly: true, Now: d.clock.Now}
		if err := d.app.with(ctx, look, func(s *sqlite.Store) error { return d.tell(ctx, s) }); err != nil {
			return err
		}
		d.clock.Advance(time.Second)
	}
	return nil
}

func (d *demo) write(source string) error { return os.WriteFile(d.source, []byte(source), 0o600) }

// start is the start tool, in a turn of the model.
func (d *demo) start(source string) func(context.Context, *sqlite.Store) error {
	return func(ctx context.Context, s *sqlite.Store) error {
		d.session.StartTurn()
		if err := d.write(source); err != nil {
			return err
		}
		req := core.ReserveRequest{WorkflowName: demoWorkflow, OriginSessionID: demoSession, Input: []byte(`{"who":"world"}`)}
		if err := identify(&req, d.source, ""); err != nil {
			return err
		}
		id, err := s.NewRunID(ctx, core.NewRunIDRequest{WorkflowName: demoWorkflow})
		if err != nil {
			return err
		}
		req.RunID, d.run, d.engine.Digest = id.RunID, id.RunID, req.DefinitionDigest
		_, err = s.ReservePreparedRun(ctx, req)
		return err
	}
}

// activate ends the turn and activates the run with a real engine.
func (d *demo) activate(ctx context.Context, s *sqlite.Store) error {
	d.session.Settle()
	act := &activation{app: d.app, store: s, lease: core.DefaultLease, poll: time.Second}
	return act.work(ctx, "", demoSession, demoRunner, demoEngine)
}

// tell prints what the files say that was not told yet: messages, and then what the
// store has, in order of time.
func (d *demo) tell(ctx context.Context, s *sqlite.Store) error {
	if err := d.tellMessages(); err != nil {
		return err
	}
	events, err := s.ListRunEvents(ctx, core.ListEventsRequest{AfterSeq: d.events, Limit: core.MaxList})
	if err != nil {
		return err
	}
	lines := [][]string{}
	for _, e := range events {
		lines = append(lines, []string{e.RecordedAt, e.Type, e.RunID + errorCode(e)})
		d.events = e.Seq
	}
	intents, err := s.ListWorkflowTurnIntents(ctx, core.ListIntentsRequest{Limit: core.MaxList})
	if err != nil {
		return err
	}
	for _, i := range intents {
		rows := intentTimeline(i)
		for _, row := range rows[min(d.intents[i.IntentID], len(rows)):] {
			lines = append(lines, []string{row[0], row[1], strings.TrimSuffix(row[2], ", "+i.IntentID)})
		}
		d.intents[i.IntentID] = len(rows)
	}
	slices.SortStableFunc(lines, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	for _, l := range lines {
		d.line(l[0], l[1], l[2])
	}
	return d.tellStanding(ctx, s)
}

func (d *demo) tellMessages() error {
	entries, err := d.session.Branch.Entries()
	if err != nil {
		return err
	}
	for _, e := range entries[d.entries:] {
		d.line("", "message", e.CustomType+": "+safetext.Plain(e.Content))
	}
	d.entries = len(entries)
	return nil
}

// tellStanding tells how the session and its latest run stand.
func (d *demo) tellStanding(ctx context.Context, s *sqlite.Store) error {
	status, err := s.GetRun(ctx, core.GetRunRequest{SessionID: demoSession})
	if err != nil {
		return err
	}
	d.line("", "status", status.Line)
	held, err := s.FindSessionReservation(ctx, core.SessionRequest{SessionID: demoSession})
	if err != nil {
		return err
	}
	standing := "free"
	if held != nil {
		standing = "reserved by " + held.RunID
	}
	d.line("", "session", standing)
	return nil
}

func (d *demo) line(at, what, detail string) {
	if at != "" {
		at = strings.TrimSuffix(at[len("2006-01-02T"):], "Z")
	}
	fmt.Fprintf(d.app.stdout, "   %-12s  %s%s  %s\n", at, d.app.out.paint(what), strings.Repeat(" ", max(0, 13-len(what))), detail)
}

// errorCode is that of the event's payload, or nothing.
func errorCode(e core.Event) string {
	var p struct {
		ErrorCode string `json:"errorCode"`
	}
	if json.Unmarshal(e.Payload, &p) != nil || p.ErrorCode == "" {
		return ""
	}
	return "  " + p.ErrorCode
}
