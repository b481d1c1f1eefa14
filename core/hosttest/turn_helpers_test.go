package hosttest_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3/driver"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/hosttest"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

const (
	turnSession  = "session"
	turnInterval = 3 * time.Second // between two polls
	turnLease    = core.DefaultLease
)

var turnEpoch = time.Date(2026, 8, 21, 8, 17, 31, 0, time.UTC)

// turnWorld is a session, its processes, and what they share.
type turnWorld struct {
	testing.TB
	clock   *hosttest.Clock
	store   *sqlite.Store
	session *hosttest.Session
	engine  *hosttest.Engine
	host    *hosttest.Host // of the last process
	// at, given, is asked at each point of a process; true stops it there.
	at func(point string) bool

	name             string
	processes, steps int
}

// newTurnWorld has a first process, and a store in memory.
func newTurnWorld(t testing.TB) *turnWorld {
	t.Helper()
	clock := hosttest.NewClock(turnEpoch)
	store, err := sqlite.OpenMemory(context.Background(), sqlite.Options{Now: clock.Now})
	turnMust(t, err)
	t.Cleanup(func() { _ = store.Close() })
	return turnWorldOf(t, clock, store, turnSession)
}

func turnWorldOf(t testing.TB, clock *hosttest.Clock, store *sqlite.Store, session string) *turnWorld {
	w := &turnWorld{TB: t, clock: clock, store: store, session: hosttest.NewSession(session), engine: hosttest.NewEngine("digest"), name: "process"}
	w.restart()
	return w
}

// beside is another live process of the same session, which may have a handle of its
// own.
func (w *turnWorld) beside(store *sqlite.Store) *turnWorld {
	other := &turnWorld{TB: w.TB, clock: w.clock, store: store, session: w.session, engine: w.engine, name: "beside"}
	other.restart()
	return other
}

// turnFile is a handle of its own on the store of a directory.
func turnFile(t testing.TB, dir string, now func() time.Time) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(context.Background(), filepath.Join(dir, "store"), sqlite.Options{Now: now, Wait: time.Minute})
	turnMust(t, err)
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// restart is the next process of the session: what the last one had queued is gone.
func (w *turnWorld) restart() {
	w.processes++
	w.session, w.engine, w.at = w.session.Restart(), w.engine.Restart(), nil
	w.host = hosttest.NewHost(fmt.Sprint(w.name, "-", w.processes), w.store, w.clock, w.session, w.engine)
	w.host.Stop = func(point string) bool {
		if w.steps++; w.steps > 10_000 {
			w.Fatalf("no end of steps, at %q", point)
		}
		return w.at != nil && w.at(point)
	}
}

// turnStopAt stops a process at a point of this name.
func turnStopAt(name string) func(string) bool {
	return func(point string) bool { return point == name }
}

// within does something once, at a point of a pass of deliveries, which begins with a
// sweep.
func (w *turnWorld) within(at string, do func()) func(string) bool {
	begun, done := false, false
	return func(point string) bool {
		begun = begun || point == "sweep"
		if begun && !done && point == at {
			done = true
			do()
		}
		return false
	}
}

// stops checks that a process was stopped.
func (w *turnWorld) stops(err error) {
	w.Helper()
	if !errors.Is(err, hosttest.ErrCrashed) {
		w.Fatalf("the process was not stopped: %v", err)
	}
}

func turnMust(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *turnWorld) must(err error) {
	w.Helper()
	turnMust(w, err)
}

func turnEqual[T comparable](t testing.TB, what string, have, want T) {
	t.Helper()
	if have != want {
		t.Errorf("%s: have %v, want %v", what, have, want)
	}
}

func turnRefused(t testing.TB, what string, err error, want core.Code) {
	t.Helper()
	if core.CodeOf(err) != want {
		t.Errorf("%s: have error %v, want %s", what, err, want)
	}
}

// tick lets the time between two polls pass.
func (w *turnWorld) tick() {
	w.Helper()
	w.clock.Advance(turnInterval)
	w.must(turnTick(w.host))
}

// turnTick shows what the session accepted. A turn that is active is told of, and
// ends; an idle session is polled.
func turnTick(h *hosttest.Host) error {
	if err := h.Session.Flush(); err != nil {
		return err
	}
	if h.Session.Idle() {
		return h.Poll()
	}
	if err := h.Activity(); err != nil {
		return err
	}
	return h.Settled()
}

// arrives lets a lease and a poll pass, in which what is owed has to arrive.
func (w *turnWorld) arrives() {
	w.Helper()
	for since := time.Duration(0); since <= turnLease; since += turnInterval {
		w.tick()
	}
}

// turnOwed is the source event of a turn that is owed to a session for a run.
func turnOwed(session, runID string) core.EnsureIntentRequest {
	facts, _ := json.Marshal(core.Facts{
		Schema: core.FactsSchema, WorkflowName: "greet", RunID: runID, ObservedState: "failed", Cause: core.CauseFailed,
	})
	return core.EnsureIntentRequest{
		RunID: runID, WorkflowRef: "greet", TargetSessionID: session, Cause: core.CauseFailed,
		Source: core.SourceTerminal, NodeID: core.NodeTerminal, FallbackFacts: facts,
	}
}

// owe stores a turn that is owed, as another host does: without a run.
func (w *turnWorld) owe(runID string, eligible bool) (intentID string) {
	w.Helper()
	request := turnOwed(w.session.ID, runID)
	request.Eligible = eligible
	intent, err := w.store.EnsureWorkflowTurnIntent(context.Background(), request)
	w.must(err)
	return intent.IntentID
}

func (w *turnWorld) makeEligible(intentID string) error {
	_, err := w.store.MakeWorkflowTurnIntentEligible(context.Background(), core.MakeEligibleRequest{IntentID: intentID})
	return err
}

func (w *turnWorld) intent(intentID string) core.Intent {
	w.Helper()
	intent, err := w.store.GetWorkflowTurnIntent(context.Background(), core.IntentRequest{IntentID: intentID})
	w.must(err)
	return intent
}

// resolved checks that an intent was resolved on a path, by its message.
func (w *turnWorld) resolved(intentID string, path core.Resolution) {
	w.Helper()
	i := w.intent(intentID)
	if i.Resolution == nil {
		w.Errorf("the turn of %s is pending, want it delivered as %s", i.RunID, path)
		return
	}
	turnEqual(w, "resolution", *i.Resolution, path)
	turnEqual(w, "message of the resolution", *i.ResolutionMessageID, core.MessageID(intentID, path))
}

// free checks that an intent is pending, and that nobody holds it.
func (w *turnWorld) free(intentID string) {
	w.Helper()
	i := w.intent(intentID)
	turnEqual(w, "resolved", i.Resolution != nil, false)
	turnEqual(w, "claimed", i.DeliveryClaimExpiresAt != nil, false)
}

// held checks that an intent is pending, and that somebody holds it.
func (w *turnWorld) held(intentID string) {
	w.Helper()
	i := w.intent(intentID)
	turnEqual(w, "resolved", i.Resolution != nil, false)
	turnEqual(w, "claimed", i.DeliveryClaimExpiresAt != nil, true)
}

func (w *turnWorld) sends(want int) {
	w.Helper()
	turnEqual(w, "sends", w.session.Sends(), want)
}

// messages checks how many messages on the branch name an intent.
func (w *turnWorld) messages(intentID string, want int) {
	w.Helper()
	turnEqual(w, "messages that name the intent", w.session.Messages(intentID), want)
}

func (w *turnWorld) entries() []hosttest.Entry {
	w.Helper()
	entries, err := w.session.Branch.Entries()
	w.must(err)
	return entries
}

func (w *turnWorld) entry(i int) hosttest.Entry {
	w.Helper()
	entries := w.entries()
	if len(entries) <= i {
		w.Fatalf("the branch has %d messages, want %d", len(entries), i+1)
	}
	return entries[i]
}

// queue reserves a run, as the start tool does.
func (w *turnWorld) queue(runID string) {
	w.Helper()
	_, err := w.store.ReservePreparedRun(context.Background(), core.ReserveRequest{
		RunID: runID, WorkflowName: "greet", WorkflowSourceRef: "builtin:greet", WorkflowSource: []byte(`{}`),
		DefinitionDigest: "digest", OriginSessionID: w.session.ID,
	})
	w.must(err)
}

// running is a run that the host has activated.
func (w *turnWorld) running(runID string) {
	w.Helper()
	w.queue(runID)
	w.must(w.host.SessionStart())
	turnEqual(w, "state of the run", w.run(runID).Status, core.Running)
}

func (w *turnWorld) run(runID string) core.Run {
	w.Helper()
	run, err := w.store.GetRun(context.Background(), core.GetRunRequest{RunID: runID})
	w.must(err)
	return run.Run
}

// owed are the intents of a run.
func (w *turnWorld) owed(runID string) []core.Intent {
	w.Helper()
	intents, err := w.store.ListWorkflowTurnIntents(context.Background(), core.ListIntentsRequest{RunID: runID, Limit: core.MaxList})
	w.must(err)
	return intents
}

// theOwed is the one intent of a run.
func (w *turnWorld) theOwed(runID string) core.Intent {
	w.Helper()
	intents := w.owed(runID)
	if len(intents) != 1 {
		w.Fatalf("run %s has %d turns owed, want 1", runID, len(intents))
	}
	return intents[0]
}

// turnPlain opens the store of a directory as another host does.
func turnPlain(t testing.TB, dir string) *sql.Conn {
	t.Helper()
	db, err := driver.Open("file:" + filepath.Join(dir, "store"))
	turnMust(t, err)
	conn, err := db.Conn(context.Background())
	turnMust(t, err)
	t.Cleanup(func() { _, _ = conn.Close(), db.Close() })
	return conn
}
