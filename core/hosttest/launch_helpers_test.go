package hosttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/hosttest"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

const (
	launchSession  = "session"
	launchDigest   = "digest"
	launchInterval = 3 * time.Second // between two polls
)

// launchWorld is one store, the processes that share it, and what they did.
type launchWorld struct {
	testing.TB
	clock   *hosttest.Clock
	store   *sqlite.Store
	session *hosttest.Session
	engine  *hosttest.Engine
	// runID is the run that a test of many worlds looks at.
	runID string
	// log is each operation of the launch queue and each effect, "process what" or
	// "process op: code", in order.
	log []string
}

func newLaunchWorld(t testing.TB, session string) *launchWorld {
	t.Helper()
	clock := hosttest.NewClock(time.Date(2026, 8, 21, 8, 17, 31, 0, time.UTC))
	store, err := sqlite.OpenMemory(context.Background(), sqlite.Options{Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return &launchWorld{
		TB: t, clock: clock, store: store, session: hosttest.NewSession(session), engine: hosttest.NewEngine(launchDigest), runID: "run",
	}
}

// fresh is another session of the same store, with one run queued; opening a store
// takes longer than most tests.
func (w *launchWorld) fresh(n int) *launchWorld {
	name := fmt.Sprint("-", n)
	fresh := &launchWorld{
		TB: w.TB, clock: w.clock, store: w.store, session: hosttest.NewSession(launchSession + name),
		engine: hosttest.NewEngine(launchDigest), runID: "run" + name,
	}
	fresh.reserve(fresh.runID)
	return fresh
}

// launchFault is what a store does to one call.
type launchFault int

const (
	launchWorks     launchFault = iota
	launchLost                  // it fails, and nothing happened
	launchHalfFails             // it fails, and happened
)

// launchProcess is one process of the world.
type launchProcess struct {
	*hosttest.Host
	w    *launchWorld
	name string
	// at, given, is asked at each point; true stops the process there.
	at func(point string) bool
	// fault, given, says how the store takes a call.
	fault func(op string, request []byte) launchFault
	// most is how many steps one event may take; things counts what was seen.
	most, steps, things int
	// gone says that the process sees nothing more; turns that the launch coordinator
	// waits, and the turn coordinator has begun.
	gone, turns bool
}

func (w *launchWorld) process(name string) *launchProcess {
	p := &launchProcess{w: w, name: name, most: 60}
	p.Host = hosttest.NewHost(name, p, w.clock, w.session.Restart(), w.engine.Restart())
	p.Host.Stop = p.point
	return p
}

// point counts, logs and asks. Steps without an end fail the test.
func (p *launchProcess) point(point string) bool {
	p.steps++
	if p.steps > p.most {
		p.w.Fatalf("%s: no end of steps: %s", p.name, strings.Join(p.w.log[max(0, len(p.w.log)-8):], ", "))
	}
	p.turns = p.turns || point == string(core.StepSweep)
	if slices.Contains([]string{"inspect", "build", "writeBundle", "run", "stop"}, point) {
		p.w.note(p.name, point)
	}
	return p.at != nil && p.at(point)
}

func (w *launchWorld) note(process, what string) { w.log = append(w.log, process+" "+what) }

// Call is the store as the process sees it. No request of a coordinator may be a bad
// one.
func (p *launchProcess) Call(ctx context.Context, op string, request []byte) ([]byte, error) {
	unavailable := core.NewError(core.CodeStoreUnavailable, nil, "a fault of the test")
	fault := launchWorks
	if p.fault != nil {
		fault = p.fault(op, request)
	}
	if fault == launchLost {
		p.note(op, unavailable)
		return nil, unavailable
	}
	answer, err := p.w.store.Call(ctx, op, request)
	if core.CodeOf(err) == core.CodeBadRequest {
		p.w.Errorf("%s %s %s: %v", p.name, op, request, err)
	}
	if fault == launchHalfFails {
		answer, err = nil, unavailable
	}
	p.note(op, err)
	return answer, err
}

func (p *launchProcess) note(op string, err error) {
	switch {
	case !launchIsOp(op):
	case err != nil:
		p.w.note(p.name, op+": "+string(core.CodeOf(err)))
	default:
		p.w.note(p.name, op)
	}
}

// launchIsOp tells the operations of the launch queue from those of turns.
func launchIsOp(op string) bool {
	return !strings.Contains(op, "Turn") && !strings.Contains(op, "Notification")
}

// sees tells the process of things, one after the other.
func (p *launchProcess) sees(things ...func() error) {
	p.w.Helper()
	for _, thing := range things {
		if p.gone {
			return
		}
		p.steps, p.turns = 0, false
		p.things++
		if err := thing(); err != nil && !errors.Is(err, hosttest.ErrCrashed) {
			p.w.Fatal(err)
		}
		p.turns = false
		p.gone = p.point("between") || p.gone
	}
}

// polls tells of some polls, with the time between them.
func (p *launchProcess) polls(n int) {
	p.w.Helper()
	for range n {
		p.w.clock.Advance(launchInterval)
		p.sees(p.Poll)
	}
}

func (p *launchProcess) node(runID string) func() error {
	return func() error { return p.Node(runID) }
}

func (p *launchProcess) built(runID string) func() error {
	return func() error { return p.Built(runID) }
}

func (p *launchProcess) ended(runID string, outcome core.EngineOutcome) func() error {
	return func() error { return p.EngineEnded(core.LaunchSeen{RunID: runID, Outcome: outcome}) }
}

// reserve queues a run of the world's session.
func (w *launchWorld) reserve(runID string) { w.reserveDigest(runID, launchDigest) }

func (w *launchWorld) reserveDigest(runID, digest string) {
	w.Helper()
	_, err := w.store.ReservePreparedRun(context.Background(), core.ReserveRequest{
		RunID: runID, WorkflowName: "flow", WorkflowSourceRef: "file:flow", WorkflowSource: json.RawMessage(`{"id":"flow"}`),
		DefinitionDigest: digest, Input: json.RawMessage(`{"text":"private words"}`), OriginSessionID: w.session.ID,
	})
	w.must(err)
}

func (w *launchWorld) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// call runs an op beside the processes, as another host does.
func (w *launchWorld) call(op string, request any) []byte {
	w.Helper()
	encoded, err := json.Marshal(request)
	w.must(err)
	answer, err := w.store.Call(context.Background(), op, encoded)
	w.must(err)
	return answer
}

func (w *launchWorld) cancel(runID string) error {
	_, err := w.store.CancelPreparedRun(context.Background(), core.CancelRequest{RunID: runID, Origin: core.OriginUser})
	return err
}

func (w *launchWorld) run(runID string) core.Run {
	w.Helper()
	status, err := w.store.GetRun(context.Background(), core.GetRunRequest{RunID: runID})
	w.must(err)
	return status.Run
}

func (w *launchWorld) status(runID string) core.Status {
	w.Helper()
	return w.run(runID).Status
}

// feed is the types of a run's events, in order.
func (w *launchWorld) feed(runID string) string {
	w.Helper()
	events, err := w.store.ListRunEvents(context.Background(), core.ListEventsRequest{RunID: runID, Limit: 100})
	w.must(err)
	var types []string
	for _, e := range events {
		types = append(types, e.Type)
	}
	return strings.Join(types, " ")
}

func (w *launchWorld) intents(runID string) []core.Intent {
	w.Helper()
	intents, err := w.store.ListWorkflowTurnIntents(context.Background(), core.ListIntentsRequest{RunID: runID, Limit: 100})
	w.must(err)
	return intents
}

// owes checks what a session is owed for a run: one turn of this cause that may go,
// or none.
func (w *launchWorld) owes(runID string, cause core.Cause) {
	w.Helper()
	intents := w.intents(runID)
	switch {
	case cause == "" && len(intents) > 0:
		w.Errorf("run %s owes a turn: %s", runID, intents[0].Cause)
	case cause != "" && (len(intents) != 1 || intents[0].Cause != cause || intents[0].EligibleAt == nil):
		w.Errorf("run %s: have %+v, want one eligible %s", runID, intents, cause)
	}
}

// ends checks how a run ended, "" being no error.
func (w *launchWorld) ends(runID string, status core.Status, code core.FailureCode) {
	w.Helper()
	run := w.run(runID)
	have := ""
	if run.ErrorCode != nil {
		have = *run.ErrorCode
	}
	if run.Status != status || have != string(code) {
		w.Errorf("run %s: have %s %q, want %s %q\n%s", runID, run.Status, have, status, code, strings.Join(w.log, "\n"))
	}
}

// stored is all that the store holds of a run.
func (w *launchWorld) stored(runID string) string {
	w.Helper()
	run, err := json.Marshal(w.run(runID))
	w.must(err)
	return fmt.Sprintf("%s %s %d", run, w.feed(runID), len(w.intents(runID)))
}

// count is how often something stands in the log.
func (w *launchWorld) count(entry string) (n int) {
	for _, have := range w.log {
		if have == entry || strings.HasSuffix(have, " "+entry) {
			n++
		}
	}
	return n
}

// before checks that the first thing of the log came before the second.
func (w *launchWorld) before(first, second string) {
	w.Helper()
	i, j := slices.Index(w.log, first), slices.Index(w.log, second)
	if i < 0 || j < 0 || i > j {
		w.Errorf("want %q before %q:\n%s", first, second, strings.Join(w.log, "\n"))
	}
}

func launchEqual[T comparable](t testing.TB, what string, have, want T) {
	t.Helper()
	if have != want {
		t.Errorf("%s: have %v, want %v", what, have, want)
	}
}

// dies leaves a process without a word, and lets its leases end.
func (w *launchWorld) dies() { w.clock.Advance(core.DefaultLease) }

// deadToken is the token that a list shows of an expired starting run.
func (w *launchWorld) deadToken(runID string) string {
	w.Helper()
	runs, err := w.store.ListRecoverableRuns(context.Background(), core.RecoverableRequest{SessionID: w.session.ID, RunID: runID, Limit: 1})
	w.must(err)
	if len(runs) != 1 {
		w.Fatalf("run %s has not expired", runID)
	}
	return runs[0].ClaimToken
}

// claim claims the next run as another host does.
func (w *launchWorld) claim(runner string) (run core.Run) {
	w.Helper()
	answer := w.call("claimNextRun", core.ClaimNextRequest{SessionID: w.session.ID, RunnerID: runner})
	w.must(json.Unmarshal(answer, &run))
	return run
}

// ran claims the next run and lets it run, as another host does.
func (w *launchWorld) ran(runner string) core.Run {
	w.Helper()
	run := w.claim(runner)
	w.call("markPreparedRunRunning", core.MarkRunningRequest{RunID: run.RunID, ClaimToken: run.ClaimToken})
	return run
}

// payload is what the last event of a run holds.
func (w *launchWorld) payload(runID string) (payload map[string]any) {
	w.Helper()
	events, err := w.store.ListRunEvents(context.Background(), core.ListEventsRequest{RunID: runID, Limit: 100})
	w.must(err)
	w.must(json.Unmarshal(events[len(events)-1].Payload, &payload))
	return payload
}
