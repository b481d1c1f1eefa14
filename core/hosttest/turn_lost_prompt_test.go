package hosttest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/hosttest"
)

// shown checks which messages the branch has, in order.
func (w *turnWorld) shown(want ...string) {
	w.Helper()
	var have []string
	for _, e := range w.entries() {
		have = append(have, e.Content)
	}
	turnEqual(w, "messages", strings.Join(have, ", "), strings.Join(want, ", "))
}

// A process is killed between the send and its resolution; the next one hands in what
// its workflow has to say next. Guard: turns_result.go isShown asks for the name of the
// message that was found.
func TestTurnAPromptIsTakenForAnotherAfterACrash(t *testing.T) {
	w := newTurnWorld(t)
	intent := w.owe("run", false)
	w.at = turnStopAt("after send")
	w.stops(w.host.Prompt("run", "first"))
	w.clock.Advance(turnLease)
	w.restart()
	w.must(w.host.SessionStart())
	w.must(w.host.Prompt("run", "second"))
	w.arrives()
	w.shown("first", "second")
	w.messages(intent, 1)
	w.resolved(intent, core.ByWorkflowPrompt)
}

// The first owner of a run sleeps after it sent, and another one takes the run over.
// Guard: turns_result.go isShown, as above.
func TestTurnAPromptIsTakenForThatOfAnEarlierOwner(t *testing.T) {
	w := newTurnWorld(t)
	w.running("run")
	w.session.StartTurn()
	w.must(w.host.Abort(turnAbort(core.TurnStepTimeout)))
	w.must(w.host.Settled())
	w.must(w.host.Prompt("run", "of the first"))
	w.clock.Advance(time.Minute)
	next := w.beside(w.store)
	next.must(next.host.SessionStart())
	next.must(next.host.Prompt("run", "of the second"))
	next.arrives()
	next.shown("of the first", "of the second")
	next.resolved(turnAbortID(core.CauseTimedOut), core.ByWorkflowPrompt)
}

// turnLossy is a store whose first answer to an op is lost after its commit.
type turnLossy struct {
	hosttest.Caller
	op   string
	lost bool
}

func (l *turnLossy) Call(ctx context.Context, op string, request []byte) ([]byte, error) {
	answer, err := l.Caller.Call(ctx, op, request)
	if err == nil && op == l.op && !l.lost {
		l.lost = true
		return nil, core.NewError(core.CodeStoreUnavailable, nil, "a fault of the test")
	}
	return answer, err
}

// A prompt is shown, its claim lapses, and the next one settles its turn without being
// told so. Guard: turns_result.go drop lets a message that did not go wait again.
func TestTurnAPromptIsTakenForAnotherAfterALostAnswer(t *testing.T) {
	w := newTurnWorld(t)
	intent := w.owe("run", false)
	w.must(w.host.Prompt("run", "first"))
	w.clock.Advance(time.Minute)
	w.host.Store = &turnLossy{Caller: w.store, op: "resolveWorkflowTurnIntent"}
	w.must(w.host.Activity())
	w.must(w.host.Settled())
	w.must(w.host.Prompt("run", "second"))
	w.arrives()
	w.shown("first", "second")
	w.resolved(intent, core.ByWorkflowPrompt)
}

// A run has ended while what it handed in waits for an idle session. Guard: turns_next.go
// absorb withdraws prompts where the end is stored, and nothing else.
func TestTurnAPromptOutlivesItsRun(t *testing.T) {
	for stored, want := range map[bool][]string{true: {"result"}, false: {"prompt", "result"}} {
		t.Run(fmt.Sprint("stored ", stored), func(t *testing.T) {
			w := newTurnWorld(t)
			w.running("run")
			w.session.StartTurn()
			w.must(w.host.Abort(turnAbort(core.TurnStepTimeout)))
			w.must(w.host.Prompt("run", "prompt"))
			w.must(w.host.Present("run", "result"))
			_, err := w.store.CancelPreparedRun(context.Background(), core.CancelRequest{RunID: "run", Origin: core.OriginUser})
			w.must(err)
			w.must(w.host.RunEnded("run", stored))
			w.must(w.host.Settled())
			w.arrives()
			w.shown(want...)
		})
	}
}

// The user pauses a run whose messages wait. Guard: turns_next.go withdraw takes them
// out of the outbox, and those of no other run.
func TestTurnAWithdrawnMessageIsSent(t *testing.T) {
	w := newTurnWorld(t)
	w.session.StartTurn()
	intent := w.owe("run", false)
	w.owe("other", false)
	w.must(w.host.Prompt("run", "prompt"))
	w.must(w.host.Present("run", "result"))
	w.must(w.host.Prompt("other", "of another"))
	w.must(w.host.Withdraw("run"))
	w.must(w.host.Settled())
	w.arrives()
	w.shown("of another")
	w.free(intent)
}

// It is withdrawn in the middle of its delivery. Guards: turns_next.go withdraw lets the
// claim of the delivery be given back; turns_result.go resultOfGone.
func TestTurnAMessageWithdrawnInItsDeliveryIsSent(t *testing.T) {
	for _, at := range []string{"claim", "after claim", "look", "after look"} {
		t.Run(at, func(t *testing.T) {
			w := newTurnWorld(t)
			intent := w.owe("run", false)
			w.at = func(point string) bool {
				if point == at {
					w.must(w.host.Withdraw("run"))
				}
				return false
			}
			w.must(w.host.Prompt("run", "prompt"))
			w.free(intent)
			w.arrives()
			w.sends(0)
		})
	}
}

// Another process holds the turn of one run for an hour. Guards: turns_next.go waiting
// passes the run by, turns_result.go waits.
func TestTurnAHeldTurnHoldsTheMessagesOfOthersBack(t *testing.T) {
	w := newTurnWorld(t)
	held, eligible := w.owe("held", false), w.owe("eligible", true)
	_, err := w.store.ClaimWorkflowTurnIntentForRun(context.Background(), core.ClaimForRunRequest{
		RunID: "held", SessionID: turnSession, ClaimToken: "other", LeaseMS: time.Hour.Milliseconds(),
	})
	w.must(err)
	w.must(w.host.Prompt("held", "of the held run"))
	w.must(w.host.Prompt("free", "that owes nothing"))
	w.shown("that owes nothing")
	w.arrives()
	w.resolved(eligible, core.ByFallback)
	w.held(held)
	w.sends(2)
}

// Guard: turns_next.go begin: a gap is a sleep from 30 s on, however short the lease.
func TestTurnALostMessageOfAShortLeaseIsNeverSentAgain(t *testing.T) {
	w := newTurnWorld(t)
	intent := w.owe("run", true)
	state := core.TurnState{SessionID: turnSession, LeaseMS: turnInterval.Milliseconds()}
	sends := 0
	for range 10 {
		seen := core.TurnSeen{Kind: core.SeenPoll, Idle: true}
		for {
			moment, err := w.store.Moment(context.Background())
			w.must(err)
			step, err := state.Next(seen, moment)
			w.must(err)
			if step.Kind == core.StepWait {
				break
			}
			seen = core.TurnSeen{Step: step.Kind, Idle: true, Kind: core.SeenLooked}
			if step.Op != "" {
				seen.Kind, seen.Answer, seen.Error = turnCalled(w, step)
			}
			if step.Kind == core.StepSend && seen.Kind == core.SeenAnswered { // and it is lost
				seen.Kind, seen.Answer = core.SeenSent, nil
				sends++
			}
		}
		w.clock.Advance(turnInterval)
	}
	turnEqual(t, "it was sent again", sends > 1, true)
	turnEqual(t, "resolved", w.intent(intent).Resolution != nil, false)
}

// turnCalled calls the op of a step.
func turnCalled(w *turnWorld, step core.TurnStep) (kind core.TurnSeenKind, answer, problem json.RawMessage) {
	w.Helper()
	answer, err := w.store.Call(context.Background(), step.Op, step.Request)
	if err == nil {
		return core.SeenAnswered, answer, nil
	}
	problem, err = core.Encode(err)
	w.must(err)
	return core.SeenRefused, nil, problem
}

// Another host stored facts of several megabytes. Guard: limits.go: an answer that a
// coordinator is shown may have them.
func TestTurnHugeFactsHoldOtherTurnsBack(t *testing.T) {
	dir, clock := t.TempDir(), hosttest.NewClock(turnEpoch)
	w := turnWorldOf(t, clock, turnFile(t, dir, clock.Now), turnSession)
	huge := w.owe("huge", true)
	_, err := turnPlain(t, dir).ExecContext(context.Background(), "UPDATE workflow_turn_intents SET fallback_facts_json = ?",
		`{"observedState":"`+strings.Repeat("x", 5<<20)+`"}`)
	w.must(err)
	clock.Advance(turnInterval)
	sound := w.owe("sound", true)
	w.arrives()
	w.arrives()
	for _, intent := range []string{huge, sound} {
		w.messages(intent, 1)
		w.resolved(intent, core.ByFallback)
	}
	if message := w.entry(0).Content; len(message) > 4096 {
		t.Errorf("a message has %d bytes", len(message))
	}
}

// Guard: turns_result.go briefFacts.
func TestTurnHugeFactsFillAState(t *testing.T) {
	f := newTurnFollow(t)
	f.next(turnAPrompt(true))
	facts := `{"observedState":"` + strings.Repeat("x", core.MaxStateBytes) + `"}`
	step := f.next(turnResult(core.StepClaim, core.SeenAnswered, `{"intentId":"intent","claimToken":"token","fallbackFacts":`+facts+`}`))
	turnEqual(t, "step", step.Kind, core.StepLook)
	if state := turnText(t, f.state); len(state) > core.MaxStateBytes {
		t.Errorf("the state has %d bytes", len(state))
	}
}

// The outbox no longer has the message that a step is about. Guard: turns_result.go
// result asks for it.
func TestTurnAStateWithoutItsMessagePanics(t *testing.T) {
	w := newTurnWorld(t)
	intent := `{"intentId":"intent","claimToken":"token"}`
	for asked, results := range map[core.TurnStepKind][]string{
		core.StepClaim: {`"answered","answer":` + intent, `"answered","answer":[` + intent + `]`, `"answered","answer":null`, `"refused","error":{"code":"claim_live"}`},
		core.StepFind:  {`"answered","answer":` + intent, `"answered","answer":null`, `"refused","error":{"code":"store_unavailable"}`},
		core.StepLook:  {`"looked"`},
		core.StepSend:  {`"sent"`, `"sendFailed"`},
	} {
		for _, result := range results {
			for _, outbox := range []string{"", `,"outbox":[]`, `,"outbox":[{"messageId":"other","resolution":"presentation","runId":"run"}]`} {
				request := fmt.Sprintf(`{"state":{"sessionId":"s","asked":%q,"asking":"m"%s},"seen":{"step":%q,"kind":%s}}`, asked, outbox, asked, result)
				if _, err := w.store.Call(context.Background(), "nextTurnStep", []byte(request)); err != nil {
					turnRefused(t, request, err, core.CodeBadRequest)
				}
			}
		}
	}
}
