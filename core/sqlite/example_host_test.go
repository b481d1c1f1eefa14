package sqlite_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

// chat is the session of an agent: what was said in it, and how many turns have
// started. Each is over when it is looked at.
type chat struct {
	id       string
	messages []core.Message
	turns    int64
}

// host delivers the turns that are owed to its session, by fallbacks alone: its
// workflows say nothing themselves, and no turn is aborted.
type host struct {
	store *sqlite.Store
	chat  *chat
	state core.TurnState
}

// see tells the turn coordinator one thing, and does what it says until it waits.
func (h *host) see(ctx context.Context, seen core.TurnSeen) error {
	for {
		// No turn is active and no message pending: looked at each time.
		seen.Idle, seen.Turn = true, h.chat.turns
		moment, err := h.store.Moment(ctx)
		if err != nil {
			return err
		}
		step, err := h.state.Next(seen, moment)
		if err != nil || step.Kind == core.StepWait {
			return err
		}
		seen = core.TurnSeen{Step: step.Kind}
		switch step.Kind {
		case core.StepLook:
			seen.Kind, seen.Found = core.SeenLooked, h.find(step.IntentID)
		case core.StepSend: // verify the claim, and send at once
			if seen = h.call(ctx, step); seen.Kind == core.SeenAnswered {
				seen.Kind = core.SeenSent
				h.chat.messages = append(h.chat.messages, *step.Message)
				h.chat.turns++
			}
		default:
			seen = h.call(ctx, step)
		}
		fmt.Println(step.Kind, "->", seen.Kind)
	}
}

// find is the custom type of the message that names the intent.
func (h *host) find(intentID string) string {
	for _, m := range h.chat.messages {
		if m.Details.TurnIntentID == intentID {
			return m.CustomType
		}
	}
	return ""
}

// call does the operation of a step.
func (h *host) call(ctx context.Context, step core.TurnStep) core.TurnSeen {
	answer, err := h.store.Call(ctx, step.Op, step.Request)
	var problem *core.Error
	if errors.As(err, &problem) {
		refusal, _ := json.Marshal(problem)
		return core.TurnSeen{Kind: core.SeenRefused, Step: step.Kind, Error: refusal}
	}
	return core.TurnSeen{Kind: core.SeenAnswered, Step: step.Kind, Answer: answer}
}

// A host that tells its agent of a launch that failed, once.
func Example_host() {
	ctx := context.Background()
	c := &clock{time.Date(2026, 8, 21, 8, 17, 31, 0, time.UTC)}
	store := newStore(c)
	defer store.Close()
	h := &host{store: store, chat: &chat{id: "session-1"}, state: core.TurnState{SessionID: "session-1"}}

	if _, err := store.ReservePreparedRun(ctx, greet("greet-1")); err != nil {
		log.Fatal(err)
	}
	run, err := store.ClaimPreparedRun(ctx, core.ClaimRequest{RunID: "greet-1", SessionID: h.chat.id, RunnerID: "runner-1"})
	if err != nil {
		log.Fatal(err)
	}
	_, err = store.FailPreparedRun(ctx, core.FailRequest{RunID: run.RunID, ClaimToken: run.ClaimToken, ErrorCode: core.FailureInputInvalid})
	if err != nil {
		log.Fatal(err)
	}

	// The periodic pass finds the owed turn; the next one finds the message.
	for range 2 {
		c.at = c.at.Add(3 * time.Second)
		if err := h.see(ctx, core.TurnSeen{Kind: core.SeenPoll}); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(h.chat.messages[0].Content)
	// Output:
	// sweep -> answered
	// claim -> answered
	// look -> looked
	// send -> sent
	// look -> looked
	// resolve -> answered
	// sweep -> answered
	// claim -> answered
	// Workflow greet failed to start (run greet-1): The workflow refused its input; correct the input.
	// Inspect the error and call workflow start again only after you correct the cause.
}
