package hosttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

// Guard: turns_abort.go step and advance, in all that they say.
func TestTurnTheStepsOfALostTurnSayTooLittle(t *testing.T) {
	state := core.TurnState{SessionID: turnSession}
	n := 0
	next := func(seen core.TurnSeen) core.TurnStep {
		t.Helper()
		n++
		step, err := state.Next(seen, core.Moment{Now: turnEpoch.Add(time.Duration(n) * time.Second), Token: "token"})
		turnMust(t, err)
		return step
	}
	unavailable, err := core.Encode(core.NewError(core.CodeStoreUnavailable, nil, "no"))
	turnMust(t, err)
	refuse := func(step core.TurnStep) core.TurnStep {
		t.Helper()
		return next(core.TurnSeen{Kind: core.SeenRefused, Step: step.Kind, Error: unavailable})
	}
	want := func(step core.TurnStep, kind core.TurnStepKind) {
		t.Helper()
		if step.Kind != kind {
			t.Fatalf("have the step %+v, want %s", step, kind)
		}
	}
	note := turnAbort(core.TurnClaimLost)
	step := next(core.TurnSeen{Kind: core.SeenAbort, Note: &note})
	want(step, core.StepNote)
	var noted core.NoteTurnRequest
	turnMust(t, json.Unmarshal(step.Request, &noted))
	note.SessionID = turnSession
	turnEqual(t, "what is noted", noted, note)

	step = refuse(step)
	want(step, core.StepAbort)
	turnEqual(t, "intent of the abort", step.IntentID, turnAbortID(core.CauseClaimLost))
	turnEqual(t, "stored", step.Stored, false)
	turnEqual(t, "lost already", step.GuaranteeLost, false)
	want(next(core.TurnSeen{Kind: core.SeenDone, Step: core.StepAbort}), core.StepWait)

	step = next(core.TurnSeen{Kind: core.SeenEnded, RunID: "run"})
	want(step, core.StepReport)
	turnEqual(t, "lost", step.GuaranteeLost, true)
	turnEqual(t, "run", step.RunID, "run")
	turnEqual(t, "intent of the report", step.IntentID, turnAbortID(core.CauseClaimLost))

	step = next(core.TurnSeen{Kind: core.SeenDone, Step: core.StepReport})
	want(step, core.StepRecord)
	turnEqual(t, "is it stored by now", step.Op, "getWorkflowTurnIntent")
	absent := json.RawMessage(`{"code":"not_found"}`)
	step = next(core.TurnSeen{Kind: core.SeenRefused, Step: core.StepRecord, Error: absent})
	want(step, core.StepRecord)
	var event core.RecordEventRequest
	turnMust(t, json.Unmarshal(step.Request, &event))
	turnEqual(t, "type of the event", event.Type, core.EventTurnIntentFailed)
	turnEqual(t, "payload of the event", string(event.Payload), `{"intentId":"`+turnAbortID(core.CauseClaimLost)+`"}`)
	want(refuse(step), core.StepWait)

	step = next(core.TurnSeen{Kind: core.SeenPoll})
	want(step, core.StepRecord)
	step = next(core.TurnSeen{Kind: core.SeenAnswered, Step: core.StepRecord, Answer: json.RawMessage(`{}`)})
	want(step, core.StepSweep)
	want(refuse(step), core.StepWait)
	step = next(core.TurnSeen{Kind: core.SeenPoll})
	want(step, core.StepSweep)
}

// turnBefore is a store that waits an hour for a lock, and before an abort not at
// all, or the other way round.
func turnBefore(t *testing.T, now func() time.Time, wait, waitBeforeAbort time.Duration) (store *sqlite.Store, lock func() (unlock func())) {
	t.Helper()
	dir := t.TempDir()
	w := turnWorldOf(t, nil, turnFile(t, dir, func() time.Time { return turnEpoch }), turnSession)
	w.queue("run")
	claim := core.ClaimRequest{RunID: "run", SessionID: turnSession, RunnerID: "runner", ClaimToken: "token"}
	_, err := w.store.ClaimPreparedRun(context.Background(), claim)
	turnMust(t, err)
	_, err = w.store.MarkPreparedRunRunning(context.Background(), core.MarkRunningRequest{RunID: "run", ClaimToken: "token"})
	turnMust(t, err)
	store, err = sqlite.Open(context.Background(), dir+"/store", sqlite.Options{Now: now, Wait: wait, WaitBeforeAbort: waitBeforeAbort})
	turnMust(t, err)
	t.Cleanup(func() { _ = store.Close() })
	holder := turnPlain(t, dir)
	execute := func(statement string) {
		_, err := holder.ExecContext(context.Background(), statement)
		turnMust(t, err)
	}
	return store, func() func() {
		execute("BEGIN IMMEDIATE")
		return func() { execute("ROLLBACK") }
	}
}

// patience ends what would wait for ever, and makes the test fail.
func turnPatience(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// busyAtOnce checks that an op did not wait.
func turnBusyAtOnce(t *testing.T, err error) {
	t.Helper()
	turnRefused(t, "a locked store", err, core.CodeStoreUnavailable)
	if errors.Is(err, context.DeadlineExceeded) {
		t.Error("it waited")
	}
}

func turnNow() time.Time { return turnEpoch }

// Guard: obligation.go NoteTurnEvent, sqlite.go WaitBeforeAbort.
func TestTurnTheLockOfAnotherProcessHoldsAnAbortBack(t *testing.T) {
	turnEqual(t, "wait before an abort", sqlite.DefaultWaitBeforeAbort, 250*time.Millisecond)
	store, lock := turnBefore(t, turnNow, time.Hour, -1)
	ctx := turnPatience(t)
	for kind := range turnAborts {
		unlock := lock()
		_, err := store.NoteTurnEvent(ctx, turnAbort(kind))
		turnBusyAtOnce(t, err)
		unlock()
		_, err = store.NoteTurnEvent(ctx, turnAbort(kind))
		turnMust(t, err)
	}
	// An outcome waits as any other operation.
	store, lock = turnBefore(t, turnNow, -1, time.Hour)
	defer lock()()
	_, err := store.NoteTurnEvent(ctx, core.NoteTurnRequest{RunID: "run", Kind: core.TurnFailed})
	turnBusyAtOnce(t, err)
}

// Guard: obligation.go NoteTurnEvent waits at all.
func TestTurnAnAbortDoesNotWaitForALock(t *testing.T) {
	store, lock := turnBefore(t, turnNow, -1, time.Hour)
	unlock, done := lock(), make(chan error)
	go func() {
		_, err := store.NoteTurnEvent(turnPatience(t), turnAbort(core.TurnAgentCancel))
		done <- err
	}()
	unlock()
	turnMust(t, <-done)
}

// Guard: store.go writeBeforeAbort tries the lock of the process.
func TestTurnAnotherOperationOfTheProcessHoldsAnAbortBack(t *testing.T) {
	for name, wait := range map[string]time.Duration{"no wait": -1, "a wait": time.Hour} {
		t.Run(name, func(t *testing.T) {
			var gate atomic.Bool
			entered, leave := make(chan bool), make(chan bool)
			store, _ := turnBefore(t, func() time.Time {
				if gate.CompareAndSwap(true, false) { // within a transaction
					entered <- true
					<-leave
				}
				return turnEpoch
			}, time.Hour, wait)
			ctx, others := turnPatience(t), make(chan error)
			gate.Store(true)
			go func() {
				_, err := store.SweepTurnIntents(ctx, core.SweepRequest{Limit: 1})
				others <- err
			}()
			<-entered
			if wait > 0 {
				go close(leave)
			} else {
				stop := context.AfterFunc(ctx, func() { close(leave) })
				defer func() {
					if stop() {
						close(leave)
					}
					turnMust(t, <-others)
				}()
			}
			_, err := store.NoteTurnEvent(ctx, turnAbort(core.TurnAgentCancel))
			if wait < 0 {
				turnBusyAtOnce(t, err)
				return
			}
			turnMust(t, err)
			turnMust(t, <-others)
		})
	}
}
