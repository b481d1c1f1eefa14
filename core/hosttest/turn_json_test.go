package hosttest_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/hosttest"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

// turnTokens is a source of random numbers that remembers what it gave last.
type turnTokens struct {
	n    byte
	last []byte
}

func (r *turnTokens) Read(p []byte) (int, error) {
	for i := range p {
		r.n++
		p[i] = r.n
	}
	r.last = append(r.last[:0], p...)
	return len(p), nil
}

// turnTwin is one coordinator, driven both ways: as a Go value, and through Call with
// its state as JSON.
type turnTwin[State, Seen, Step any] struct {
	testing.TB
	op     string
	store  *sqlite.Store
	tokens *turnTokens
	now    func() time.Time
	next   func(*State, Seen, core.Moment) (Step, error)
	value  State
	text   json.RawMessage
	steps  int
}

// see is the step of both, which must be the same.
func (w *turnTwin[State, Seen, Step]) see(seen Seen) Step {
	w.Helper()
	w.steps++
	request, err := core.Encode(map[string]any{"state": w.text, "seen": seen})
	turnMust(w, err)
	answer, err := w.store.Call(context.Background(), w.op, request)
	if err != nil {
		w.Fatalf("%s: %v", request, err)
	}
	var have struct {
		State json.RawMessage
		Step  Step
	}
	turnMust(w, json.Unmarshal(answer, &have))
	want, err := w.next(&w.value, seen, core.Moment{Now: w.now(), Token: hex.EncodeToString(w.tokens.last)})
	turnMust(w, err)
	state, err := core.Encode(w.value)
	turnMust(w, err)
	if string(have.State) != string(state) {
		w.Fatalf("after %+v: the states are\n%s\n%s", seen, have.State, state)
	}
	if !reflect.DeepEqual(turnText(w, have.Step), turnText(w, want)) {
		w.Fatalf("after %+v: the steps are\n%+v\n%+v", seen, have.Step, want)
	}
	w.text = have.State
	return have.Step
}

func turnText(t testing.TB, v any) string {
	text, err := core.Encode(v)
	turnMust(t, err)
	return string(text)
}

// answer calls the op of a step.
func turnAnswer(store hosttest.Caller, op string, request json.RawMessage) (answer, problem json.RawMessage) {
	answer, err := store.Call(context.Background(), op, request)
	if err != nil {
		problem, _ = core.Encode(err)
		return nil, problem
	}
	return answer, nil
}

// Guard: the tags of TurnState and of what it holds: a field that JSON loses is
// forgotten between two steps.
func TestTurnJSONForgetsADelivery(t *testing.T) {
	steps := 0
	for seed := range uint64(20) {
		w, clock, tokens := turnTwinWorld(t)
		random := rand.New(rand.NewPCG(seed, 11))
		twin := &turnTwin[core.TurnState, core.TurnSeen, core.TurnStep]{
			TB: t, op: "nextTurnStep", store: w.store, tokens: tokens, now: clock.Now, next: (*core.TurnState).Next,
			value: core.TurnState{SessionID: turnSession}, text: json.RawMessage(`{"sessionId":"session"}`),
		}
		for i := range 60 {
			clock.Advance(time.Duration(random.Int64N(int64(turnLease / 2))))
			if random.IntN(6) == 0 {
				clock.Advance(turnLease) // a sleep
			}
			runID := fmt.Sprint("run-", random.IntN(4))
			if random.IntN(4) == 0 {
				_, _ = w.store.EnsureWorkflowTurnIntent(context.Background(), turnOwed(turnSession, runID))
			}
			w.session.Appending = []hosttest.Appending{hosttest.AppendNow, hosttest.AppendLate, hosttest.AppendNever}[random.IntN(3)]
			w.session.Held = random.IntN(6) == 0
			seen := core.TurnSeen{Kind: core.SeenPoll}
			switch random.IntN(8) {
			case 0:
				w.must(w.session.Flush())
				w.session.StartTurn()
				seen.Kind = core.SeenActivity
			case 1, 2:
				w.must(w.session.Flush())
				w.session.Settle()
				seen.Kind = core.SeenSettled
			case 3, 4:
				seen = core.TurnSeen{Kind: core.SeenNatural, RunID: runID, MessageID: fmt.Sprint(i), Resolution: core.ByWorkflowPrompt}
			case 5:
				note := turnAbort(core.TurnStepTimeout)
				note.RunID, note.AttemptID = runID, fmt.Sprint(i)
				seen = core.TurnSeen{Kind: core.SeenAbort, Note: &note}
			case 6:
				seen = core.TurnSeen{Kind: core.SeenEnded, RunID: runID, Stored: random.IntN(2) == 0}
			}
			followTurn(w, twin, seen, random)
		}
		steps += twin.steps
	}
	t.Logf("%d steps", steps)
}

func turnTwinWorld(t testing.TB) (*turnWorld, *hosttest.Clock, *turnTokens) {
	clock, tokens := hosttest.NewClock(turnEpoch), &turnTokens{}
	store, err := sqlite.OpenMemory(context.Background(), sqlite.Options{Now: clock.Now, Random: tokens})
	turnMust(t, err)
	t.Cleanup(func() { _ = store.Close() })
	return turnWorldOf(t, clock, store, turnSession), clock, tokens
}

// followTurn does what the coordinator says until it waits; a call may fail.
func followTurn(w *turnWorld, twin *turnTwin[core.TurnState, core.TurnSeen, core.TurnStep], seen core.TurnSeen, random *rand.Rand) {
	for range 200 {
		seen.Idle, seen.Held, seen.Turn = w.session.Idle(), w.session.Held, w.session.Turns()
		step := twin.see(seen)
		seen = core.TurnSeen{Step: step.Kind}
		switch step.Kind {
		case core.StepWait:
			return
		case core.StepLook:
			seen.Kind = core.SeenLooked
			seen.Found, _ = w.session.Find(step.IntentID)
			continue
		case core.StepAbort, core.StepReport:
			seen.Kind = core.SeenDone
			continue
		}
		seen.Kind = core.SeenAnswered
		if step.Op != "" {
			seen.Answer, seen.Error = turnAnswer(w.store, step.Op, step.Request)
		}
		if random.IntN(10) == 0 {
			seen.Answer, seen.Error = nil, json.RawMessage(`{"code":"store_unavailable","message":"no","retryable":true,"details":{}}`)
		}
		switch {
		case seen.Error != nil:
			seen.Kind = core.SeenRefused
		case step.Kind == core.StepSend:
			seen.Answer, seen.Kind = nil, core.SeenSent
			if !w.session.Idle() && step.IntentID != "" || w.session.Send(hosttest.Entry{CustomType: core.TypeAgentStep, TurnIntentID: step.IntentID, TriggerTurn: true}) != nil {
				seen.Kind = core.SeenSendFailed
			}
		}
	}
	w.Fatal("no end of steps")
}

// Guard: the tags of LaunchState and of what it holds.
func TestTurnJSONForgetsALaunch(t *testing.T) {
	steps := 0
	for seed := range uint64(40) {
		w, clock, tokens := turnTwinWorld(t)
		random := rand.New(rand.NewPCG(seed, 13))
		twin := &turnTwin[core.LaunchState, core.LaunchSeen, core.LaunchStep]{
			TB: t, op: "nextLaunchStep", store: w.store, tokens: tokens, now: clock.Now, next: (*core.LaunchState).Next,
			value: core.LaunchState{SessionID: turnSession, RunnerID: "runner"},
		}
		if seed%2 == 0 {
			twin.value.SessionID = "" // a detached host, which may have many runs
		}
		twin.text = json.RawMessage(turnText(t, twin.value))
		runID := ""
		for i := range 60 {
			clock.Advance(time.Duration(random.Int64N(int64(turnLease))))
			if random.IntN(2) == 0 {
				_, _ = w.store.ReservePreparedRun(context.Background(), core.ReserveRequest{
					RunID: fmt.Sprint("run-", i), WorkflowName: "greet", WorkflowSourceRef: "builtin:greet", WorkflowSource: []byte(`{}`),
					DefinitionDigest: "digest", OriginSessionID: twin.value.SessionID,
				})
			}
			if seed%4 < 2 && random.IntN(4) == 0 && twin.value.Asked == "" { // a crash: what it had claimed expires
				twin.value = core.LaunchState{SessionID: twin.value.SessionID, RunnerID: "runner"}
				twin.text = json.RawMessage(turnText(t, twin.value))
			}
			seen := core.LaunchSeen{Kind: core.LaunchPoll, Idle: random.IntN(4) > 0}
			switch random.IntN(8) {
			case 0:
				seen.Kind = core.LaunchSettled
			case 1, 2:
				seen = core.LaunchSeen{Kind: core.LaunchBuilt, RunID: runID, DefinitionDigest: []string{"digest", "other"}[random.IntN(2)]}
			case 3:
				seen = core.LaunchSeen{Kind: core.LaunchBuildFailed, RunID: runID, Code: core.FailureInputInvalid, Message: "no"}
			case 4, 5:
				seen = core.LaunchSeen{Kind: core.LaunchEnded, RunID: runID, Outcome: []core.EngineOutcome{core.EngineDone, core.EngineFailed, core.EnginePaused}[random.IntN(3)]}
			case 6:
				seen = core.LaunchSeen{Kind: core.LaunchNode, RunID: runID}
			}
			followLaunch(w, twin, seen, random, &runID)
		}
		steps += twin.steps
	}
	t.Logf("%d steps", steps)
}

func followLaunch(w *turnWorld, twin *turnTwin[core.LaunchState, core.LaunchSeen, core.LaunchStep], seen core.LaunchSeen, random *rand.Rand, runID *string) {
	idle := seen.Idle
	for range 200 {
		step := twin.see(seen)
		if step.RunID != "" {
			*runID = step.RunID
		}
		seen = core.LaunchSeen{Step: step.Kind, Kind: core.LaunchDone, Idle: idle}
		switch step.Kind {
		case core.DoWait, core.DoBuild, core.DoRun:
			return
		case core.DoInspect:
			seen.Kind = core.LaunchFound
			seen.Finding = &[]core.Finding{{Kind: core.FindingNone}, {Kind: core.FindingRunning}, {Kind: core.FindingWaiting}}[random.IntN(3)]
			continue
		case core.DoWriteBundle, core.DoStop:
			continue
		}
		seen.Kind = core.LaunchAnswered
		seen.Answer, seen.Error = turnAnswer(w.store, step.Op, step.Request)
		if random.IntN(10) == 0 {
			seen.Answer, seen.Error = nil, json.RawMessage(`{"code":"store_unavailable","message":"no","retryable":true,"details":{}}`)
		}
		if seen.Error != nil {
			seen.Kind = core.LaunchRefused
		}
	}
	w.Fatal("no end of steps")
}
