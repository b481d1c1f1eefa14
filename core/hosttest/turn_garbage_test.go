package hosttest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// turnMoment is when all of it happens.
var turnMoment = core.Moment{Now: turnEpoch, Token: "token"}

// turnAsks are states that await the result of a step, by what was seen before.
var turnAsks = map[core.TurnStepKind][]core.TurnSeen{
	core.StepSweep: {{Kind: core.SeenPoll}},
	core.StepFind:  {turnAPrompt(false)},
	core.StepClaim: {turnAPrompt(true)},
	core.StepLook:  {turnAPrompt(true), {Kind: core.SeenAnswered, Step: core.StepClaim, Answer: json.RawMessage(`{"intentId":"intent","claimToken":"token"}`)}},
	core.StepNote:  {{Kind: core.SeenAbort, Note: &core.NoteTurnRequest{RunID: "run", Kind: core.TurnAgentCancel, NodeID: "node"}}},
}

func turnAPrompt(idle bool) core.TurnSeen {
	return core.TurnSeen{Kind: core.SeenNatural, Idle: idle, RunID: "run", MessageID: "message", Resolution: core.ByWorkflowPrompt}
}

func turnResult(step core.TurnStepKind, kind core.TurnSeenKind, answer string) core.TurnSeen {
	return core.TurnSeen{Step: step, Kind: kind, Answer: json.RawMessage(answer), Idle: true}
}

// Guard: turns_next.go absorb and post, turns_result.go: what cannot be read is
// refused, and Next gives the state back as it was.
func TestTurnAnUnreadableResultChangesADelivery(t *testing.T) {
	results := []struct {
		asked core.TurnStepKind
		seen  core.TurnSeen
	}{
		{core.StepClaim, turnResult(core.StepClaim, core.SeenAnswered, `[]`)},
		{core.StepClaim, turnResult(core.StepClaim, core.SeenAnswered, `"text"`)},
		{core.StepClaim, turnResult(core.StepClaim, core.SeenAnswered, `{`)},
		{core.StepClaim, turnResult(core.StepClaim, core.SeenAnswered, `{}`)}, // an intent without an id
		{core.StepClaim, turnResult(core.StepClaim, core.SeenSent, ``)},
		{core.StepFind, turnResult(core.StepFind, core.SeenAnswered, `[]`)},
		{core.StepFind, turnResult(core.StepFind, core.SeenAnswered, ``)},
		// A session that could not be searched is not one without the message.
		{core.StepLook, turnResult(core.StepLook, core.SeenRefused, ``)},
		{core.StepLook, turnResult(core.StepLook, core.SeenAnswered, `{}`)},
		{core.StepSweep, core.TurnSeen{Kind: core.SeenNatural, RunID: "run", MessageID: "message"}},
		{core.StepSweep, core.TurnSeen{Kind: core.SeenNatural, RunID: "run", MessageID: "message", Resolution: core.ByFallback}},
		{core.StepSweep, core.TurnSeen{Kind: core.SeenNatural, RunID: "run", Resolution: core.ByWorkflowPrompt}},
		{core.StepSweep, core.TurnSeen{Kind: core.SeenNatural, MessageID: "message", Resolution: core.ByWorkflowPrompt}},
		{core.StepSweep, core.TurnSeen{Kind: core.SeenAbort}},
	}
	for i, r := range results {
		t.Run(fmt.Sprint(i, r.asked, r.seen.Kind, string(r.seen.Answer)), func(t *testing.T) {
			state, asked := core.TurnState{SessionID: turnSession}, core.TurnStep{}
			for _, seen := range turnAsks[r.asked] {
				var err error
				asked, err = state.Next(seen, turnMoment)
				turnMust(t, err)
			}
			turnEqual(t, "step", asked.Kind, r.asked)
			before := turnText(t, state)
			step, err := state.Next(r.seen, turnMoment)
			turnRefused(t, "the result", err, core.CodeBadRequest)
			turnEqual(t, "step", step.Kind, "")
			turnEqual(t, "state", turnText(t, state), before)
		})
	}
}

// Guard: launch_result.go result gives the state back as it was.
func TestTurnAnUnreadableResultChangesALaunch(t *testing.T) {
	claimed := core.LaunchSeen{Step: core.DoClaim, Kind: core.LaunchAnswered, Answer: json.RawMessage(`{"runId":"run","status":"starting","claimToken":"token"}`)}
	listed := func(runs string) core.LaunchSeen {
		return core.LaunchSeen{Step: core.DoList, Kind: core.LaunchAnswered, Answer: json.RawMessage(runs)}
	}
	poll := core.LaunchSeen{Kind: core.LaunchPoll, Idle: true}
	asks := map[core.LaunchStepKind][]core.LaunchSeen{
		core.DoList:    {poll},
		core.DoClaim:   {poll, listed(`[]`)},
		core.DoBuild:   {poll, listed(`[]`), claimed},
		core.DoInspect: {poll, listed(`[{"runId":"run","status":"starting"}]`)},
		core.DoVerify:  {poll, listed(`[]`), claimed, poll},
	}
	results := []struct {
		asked core.LaunchStepKind
		seen  core.LaunchSeen
	}{
		{core.DoList, listed(`{}`)},
		{core.DoList, listed(``)},
		{core.DoList, listed(`[1]`)},
		{core.DoClaim, core.LaunchSeen{Step: core.DoClaim, Kind: core.LaunchAnswered, Answer: json.RawMessage(`[]`)}},
		{core.DoClaim, core.LaunchSeen{Step: core.DoClaim, Kind: core.LaunchAnswered, Answer: json.RawMessage(`{`)}},
		{core.DoInspect, core.LaunchSeen{Step: core.DoInspect, Kind: core.LaunchFound}},
		{core.DoVerify, core.LaunchSeen{Step: core.DoVerify, Kind: core.LaunchAnswered, Answer: json.RawMessage(`null`)}},
		{core.DoVerify, core.LaunchSeen{Step: core.DoVerify, Kind: core.LaunchAnswered, Answer: json.RawMessage(`"text"`)}},
		{core.DoBuild, core.LaunchSeen{Kind: core.LaunchEnded, RunID: "run"}},
	}
	for i, r := range results {
		t.Run(fmt.Sprint(i, r.asked, r.seen.Kind, string(r.seen.Answer)), func(t *testing.T) {
			state, asked := core.LaunchState{SessionID: turnSession, RunnerID: "runner"}, core.LaunchStep{}
			for _, seen := range asks[r.asked] {
				var err error
				asked, err = state.Next(seen, turnMoment)
				turnMust(t, err)
			}
			turnEqual(t, "step", asked.Kind, r.asked)
			before := turnText(t, state)
			_, err := state.Next(r.seen, turnMoment)
			turnRefused(t, "the result", err, core.CodeBadRequest)
			turnEqual(t, "state", turnText(t, state), before)
		})
	}
}

// Guard: turns.go NextTurnStep, launch.go NextLaunchStep and decodeState look at what
// they are given.
func TestTurnAStateThatNobodyGaveIsTaken(t *testing.T) {
	w := newTurnWorld(t)
	states := map[string][]string{
		"nextTurnStep": {
			`[]`, `"text"`, `null`, `{}`, `{"sessionId":""}`, `{"sessionId":1}`, `{"sessionId":"\u0000"}`, `{"sessionId":"s","other":1}`,
			`{"sessionId":"s","leaseMs":-1}`, `{"sessionId":"s","leaseMs":3600001}`, `{"sessionId":"s","asked":"other"}`,
			`{"sessionId":"s","outbox":{}}`, `{"sessionId":"s","delivery":[]}`, `{"sessionId":"s","abort":null,"abort":{}}`,
			`{"sessionId":"s","asked":"renew"}`, `{"sessionId":"s","asked":"look"}`, `{"sessionId":"s","asked":"send"}`, `{"sessionId":"s","asked":"release"}`,
		},
		"nextLaunchStep": {
			`[]`, `null`, `{}`, `{"runnerId":""}`, `{"runnerId":1}`, `{"runnerId":"r","other":1}`, `{"runnerId":"r","leaseMs":-1}`,
			`{"runnerId":"r","asked":"other"}`, `{"runnerId":"r","todo":{}}`, `{"runnerId":"r","asked":"stop"}`, `{"runnerId":"r","asked":"renew"}`,
		},
	}
	for op, states := range states {
		for _, state := range states {
			t.Run(op+state, func(t *testing.T) {
				request := fmt.Sprintf(`{"state":%s,"seen":{"kind":"poll","idle":true}}`, state)
				answer, err := w.store.Call(context.Background(), op, []byte(request))
				turnRefused(t, string(answer), err, core.CodeBadRequest)
			})
		}
	}
}
