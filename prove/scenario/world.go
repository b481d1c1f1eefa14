// Package scenario plays what happens to a host, its agent and its workflows, on files in
// one directory, so that a suite can stop, kill or hinder it anywhere, and then let
// another process recover what is left.
package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/hosttest"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

// The session of every scenario, its main run, and what is private in that run.
const (
	Session = "session"
	Run     = "run"
	Marker  = "only the workflow may read this marker of 40"
	Digest  = "digest"
)

// Lease is that of every claim, Interval the time between two polls.
const (
	Lease    = core.DefaultLease
	Interval = 3 * time.Second
)

// Epoch is when every scenario starts.
var Epoch = time.Date(2026, 8, 21, 8, 17, 31, 0, time.UTC)

// World is one process of a host on a directory: its store, its session, its engine, and
// another host that has the same file open.
type World struct {
	*hosttest.Host
	Dir   string
	Clock *hosttest.Clock
	// Problems are the refusals that the direct calls of a script met.
	Problems []error

	process  string
	prompted int
	store    hosttest.Caller
	stop     func(point string) bool
	saved    hosttest.Bundles
	other    *other
	closers  []func() error
}

// Options say how a process is. The zero value is one that nothing disturbs.
type Options struct {
	Process string
	// After is when it starts, after Epoch.
	After time.Duration
	// Wait is that of its store for a lock; 0 is the default.
	Wait time.Duration
	// Stop is asked at each point before and after what a host does beside its store;
	// true stops the process there. Nil is never.
	Stop func(point string) bool
	// Through stands between the process and its store. Nil is nothing.
	Through func(hosttest.Caller) hosttest.Caller
}

// Path is that of the store in a directory.
func Path(dir string) string { return filepath.Join(dir, "store") }

// Open starts a process on a directory, with what earlier ones left in it.
func Open(dir string, o Options) (*World, error) {
	clock := hosttest.NewClock(Epoch.Add(o.After))
	store, err := sqlite.Open(context.Background(), Path(dir), sqlite.Options{Now: clock.Now, Wait: o.Wait, WaitBeforeAbort: o.Wait})
	if err != nil {
		return nil, err
	}
	w := &World{Dir: dir, Clock: clock, process: o.Process, store: store, stop: o.Stop, closers: []func() error{store.Close}}
	if o.Through != nil {
		w.store = o.Through(store)
	}
	session := hosttest.NewSession(Session)
	session.Branch.Journal = journal(filepath.Join(dir, "branch"))
	engine := hosttest.NewEngine(Digest)
	if engine.Bundles, err = loadBundles(dir); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	w.saved = maps.Clone(engine.Bundles)
	w.other = newOther(Path(dir))
	w.host(session, engine)
	return w, nil
}

// host makes the process's host.
func (w *World) host(session *hosttest.Session, engine *hosttest.Engine) {
	w.Host = hosttest.NewHost(w.process, w.store, w.Clock, session, engine)
	w.Stop = w.at
}

// Close ends the process in order.
func (w *World) Close() error {
	err := w.other.close()
	for _, closer := range w.closers {
		err = errors.Join(err, closer())
	}
	return err
}

// at is a point: what the engine wrote so far is on disk, and the other host makes a move.
func (w *World) at(point string) bool {
	if err := w.save(); err != nil {
		w.problem(point, err)
	}
	_ = w.other.move(w.Clock.Now()) // made later, where it meets a lock
	if w.stop != nil && w.stop(point) {
		return true
	}
	if point == string(core.DoRun) {
		w.problem(point, appendLine(filepath.Join(w.Dir, "acted"), Run))
	}
	return false
}

// point is at for what the script does itself.
func (w *World) point(point string) error {
	if w.at(point) {
		return hosttest.ErrCrashed
	}
	return nil
}

func (w *World) problem(what string, err error) {
	if err != nil {
		w.Problems = append(w.Problems, fmt.Errorf("%s: %w", what, err))
	}
}

// call does an op of the script. Where the store did not answer it is repeated once, as a
// host does: either outcome is possible, and the repetition says which.
func (w *World) call(op string, request any) (answer []byte, err error) {
	encoded, err := core.Encode(request)
	if err != nil {
		return nil, err
	}
	if err := w.point(op); err != nil {
		return nil, err
	}
	for range 2 {
		answer, err = w.store.Call(context.Background(), op, encoded)
		if core.CodeOf(err) != core.CodeStoreUnavailable {
			break
		}
	}
	w.problem(op, err)
	return answer, w.point("after " + op)
}

// start is the start tool: what it acknowledges is written down.
func (w *World) start(runID string) error {
	w.Session.StartTurn()
	answer, err := w.call("reservePreparedRun", core.ReserveRequest{
		RunID: runID, WorkflowName: "build", WorkflowSourceRef: "builtin:build", WorkflowSource: json.RawMessage(`{"kind":"builtin"}`),
		DefinitionDigest: Digest, Input: json.RawMessage(`{"task":"` + Marker + `"}`), OriginSessionID: w.Session.ID,
	})
	if err != nil || answer == nil {
		return err
	}
	if err := appendLine(filepath.Join(w.Dir, "acknowledged"), runID); err != nil {
		return err
	}
	return w.point("acknowledged")
}

// save writes the bundles that have changed.
func (w *World) save() error {
	if maps.Equal(w.saved, w.Engine.Bundles) {
		return nil
	}
	text, err := json.Marshal(w.Engine.Bundles)
	if err == nil {
		err = os.WriteFile(bundlesOf(w.Dir), text, 0o600)
	}
	w.saved = maps.Clone(w.Engine.Bundles)
	return err
}

func bundlesOf(dir string) string { return filepath.Join(dir, "bundles") }

func loadBundles(dir string) (bundles hosttest.Bundles, err error) {
	text, err := os.ReadFile(bundlesOf(dir))
	if errors.Is(err, os.ErrNotExist) {
		return hosttest.Bundles{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &bundles)
	}
	return bundles, err
}
