package hosttest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

const (
	// sentBefore is a natural message that went under a claim that is gone.
	sentBefore = `{"sessionId":"s","asked":"look","asking":"a","pass":{"swept":true},"unconfirmed":[{"intentId":"i","messageId":"a","atMs":1,"turn":1}],
		"outbox":[{"messageId":"a","resolution":"workflowPrompt","runId":"a","intentId":"i"LOOKED}]}`
	anIntent = `{"intentId":"i","sourceEventId":"e","runId":"run","workflowRef":"flow","targetSessionId":"s","cause":"failed","nodeId":null,"attemptId":null,
		"fallbackFacts":{},"requestedAt":"x","eligibleAt":"x","resolvedAt":null,"resolution":null,"resolutionMessageId":null,"claimExpiresAt":null,"claimToken":"t"}`
	// delivering is a delivery whose message went and is not seen yet.
	delivering = `{"sessionId":"s","idleSinceMs":999999,"lastMs":999999,"delivery":{"intent":` + anIntent + `,"renewedMs":999999},"unconfirmed":[{"intentId":"i","atMs":999999,"turn":3}]`
	one        = `"outbox":[{"messageId":"a","resolution":"workflowPrompt","runId":"a"}]`
	openClaim  = `"token":"t","open":{"kind":"claim","op":"claimEligibleWorkflowTurnIntentsForSession","request":{}}`
)

func turned(kind core.TurnSeenKind, step core.TurnStepKind, said string) core.TurnSeen {
	seen := core.TurnSeen{Kind: kind, Step: step}
	switch kind {
	case core.SeenAnswered:
		seen.Answer = json.RawMessage(said)
	case core.SeenRefused:
		seen.Error = json.RawMessage(said)
	case core.SeenLooked:
		seen.Found, seen.MessageID, _ = strings.Cut(said, " ")
	}
	return seen
}

func TestTurnAGuardIsGone(t *testing.T) {
	answered, refused := core.SeenAnswered, core.SeenRefused
	noted := func(state string) string {
		return `{"sessionId":"s","abort":{"entries":[{"note":{"runId":"run","kind":"agentCancel"},"intentId":"i","state":"` + state + `"}]}}`
	}
	ended := core.TurnSeen{Kind: core.SeenEnded, RunID: "run", Stored: true}
	notLooked, looked := strings.Replace(sentBefore, "LOOKED", "", 1), strings.Replace(sentBefore, "LOOKED", `,"looked":true`, 1)
	natural := core.TurnSeen{Kind: core.SeenNatural, MessageID: "a", RunID: "a", Resolution: core.ByWorkflowPrompt}
	start := core.TurnSeen{Kind: core.SeenSessionStart, Idle: true}
	poll := core.TurnSeen{Kind: core.SeenPoll, Idle: true, Turn: 3}
	const two = `"outbox":[{"messageId":"a","resolution":"workflowPrompt","runId":"a"},{"messageId":"b","resolution":"workflowPrompt","runId":"b"}]`
	for _, c := range []struct {
		wrong, state string
		seen         []core.TurnSeen
		want, asked  core.TurnStepKind
		token        string
	}{
		{"a result that is told late is taken for that of another step", `{"sessionId":"s","asked":"sweep"}`,
			[]core.TurnSeen{turned(answered, core.StepClaim, `[]`)}, core.StepWait, core.StepSweep, ""},
		{"a loss that the store refuses is recorded for ever",
			`{"sessionId":"s","abort":{"asked":"record","entries":[{"note":{"runId":"run","kind":"agentCancel"},"intentId":"i","state":"failed","asked":true}]},"pass":{"swept":true}}`,
			[]core.TurnSeen{turned(refused, core.StepRecord, notThere)}, core.StepWait, "", ""},
		{"a turn is not aborted whose run ended before the note", noted("begun"), []core.TurnSeen{ended}, core.StepNote, "", ""},
		{"a turn is not aborted whose run ended after the note", noted("noted"), []core.TurnSeen{ended}, core.StepAbort, "", ""},
		{"a claim that is refused for good is tried again at once", `{"sessionId":"s","asked":"claim","token":"t","pass":{"idle":true,"sync":true,"swept":true}}`,
			[]core.TurnSeen{turned(refused, core.StepClaim, notThere)}, core.StepWait, "", ""},
		{"a claim whose outcome is open is given to another run", `{"sessionId":"s","asked":"claim","asking":"a","token":"t","pass":{"idle":true,"swept":true},` + two + `}`,
			[]core.TurnSeen{turned(refused, core.StepClaim, busy)}, core.StepFind, core.StepFind, "t"},
		{"a token that was refused is used again", `{"sessionId":"s","asked":"claim","asking":"a","token":"t","pass":{"swept":true},` + two + `}`,
			[]core.TurnSeen{turned(refused, core.StepClaim, isLive)}, core.StepFind, core.StepFind, ""},
		{"a message that was sent again counts from its first time",
			`{"sessionId":"s","asked":"send","idleSinceMs":999999,"lastMs":999999,"pass":{"idle":true,"turn":3,"swept":true},
			"delivery":{"intent":` + anIntent + `,"renewedMs":999999},
			"unconfirmed":[{"intentId":"i","atMs":1,"turn":1,"settled":true}]}`,
			[]core.TurnSeen{turned(core.SeenSent, core.StepSend, ""), poll, turned(core.SeenLooked, core.StepLook, "")}, core.StepWait, "", ""},
		{"a message that is not there is looked for again and again", notLooked,
			[]core.TurnSeen{turned(core.SeenLooked, core.StepLook, "")}, core.StepFind, core.StepFind, ""},
		{"a message goes again that is there without a name", notLooked,
			[]core.TurnSeen{turned(core.SeenLooked, core.StepLook, "pi-workflows-agent-step")}, core.StepWait, "", ""},
		{"another message of the run is taken for it", notLooked,
			[]core.TurnSeen{turned(core.SeenLooked, core.StepLook, "pi-workflows-agent-step b")}, core.StepFind, core.StepFind, ""},
		{"a second turn is claimed beside a delivery", delivering + "," + one + "}",
			[]core.TurnSeen{poll, turned(core.SeenLooked, core.StepLook, "")}, core.StepFind, core.StepFind, ""},
		{"a claim whose outcome is open is forgotten at shutdown", `{"sessionId":"s",` + openClaim + `}`,
			[]core.TurnSeen{{Kind: core.SeenShutdown}}, core.StepClaim, core.StepClaim, "t"},
		{"a claim that the store does not answer is tried for ever at shutdown", `{"sessionId":"s","asked":"claim","closed":true,` + openClaim + `}`,
			[]core.TurnSeen{turned(refused, core.StepClaim, busy)}, core.StepWait, "", "t"},
		{"a fallback is claimed while a turn is aborted", `{"sessionId":"s","abort":{"aborting":true}}`,
			[]core.TurnSeen{start, turned(answered, core.StepSweep, `[]`)}, core.StepWait, "", ""},
		{"an abort is over in a busy session", `{"sessionId":"s","abort":{"aborting":true},` + one + `}`,
			[]core.TurnSeen{{Kind: core.SeenPoll}}, core.StepSweep, core.StepSweep, ""},
		{"what was looked for once is not looked for again", strings.Replace(looked, `"asked":"look","asking":"a",`, "", 1),
			[]core.TurnSeen{{Kind: core.SeenActivity}}, core.StepLook, core.StepLook, ""},
		{"a claim is forgotten with a message that asked for something else", `{"sessionId":"s","asked":"find","asking":"a","pass":{"swept":true},` + openClaim + `}`,
			[]core.TurnSeen{turned(answered, core.StepFind, `null`)}, core.StepWait, "", "t"},
		{"a refused claim of a message that is gone cannot be read", `{"sessionId":"s","asked":"claim","asking":"a","pass":{"swept":true},` + openClaim + `}`,
			[]core.TurnSeen{turned(refused, core.StepClaim, busy)}, core.StepWait, "", "t"},
		{"a message is kept twice that was told twice", `{"sessionId":"s","pass":{},` + one + `}`,
			[]core.TurnSeen{natural, turned(answered, core.StepFind, `null`), {Kind: core.SeenSent, Step: core.StepSend}}, core.StepWait, "", ""},
	} {
		var state core.TurnState
		if err := json.Unmarshal([]byte(c.state), &state); err != nil {
			t.Fatal(err)
		}
		var step core.TurnStep
		for _, seen := range c.seen {
			var err error
			if step, err = state.Next(seen, noon); err != nil {
				t.Fatalf("%s: %v", c.wrong, err)
			}
		}
		if step.Kind != c.want || state.Asked != c.asked || state.Token != c.token {
			t.Errorf("%s: have %s, asked %s, token %q, want %s", c.wrong, step.Kind, state.Asked, state.Token, c.want)
		}
	}
}

// What was sent is not withdrawn, what did not go stays, and what is being delivered
// is not taken twice.
func TestTurnAMessageOutOfHandIsChanged(t *testing.T) {
	delivered := strings.Replace(delivering, `"renewedMs"`, `"natural":{"messageId":"a","resolution":"workflowPrompt","runId":"a"},"renewedMs"`, 1) + "}"
	for _, c := range []struct {
		state string
		seen  core.TurnSeen
		want  int
	}{
		{strings.Replace(sentBefore, "LOOKED", "", 1), core.TurnSeen{Kind: core.SeenWithdrawn, RunID: "a"}, 1},
		{`{"sessionId":"s","asked":"send","asking":"a","pass":{"swept":true,"free":"a"},` + one + `}`, turned(core.SeenSendFailed, core.StepSend, ""), 1},
		{delivered, core.TurnSeen{Kind: core.SeenNatural, MessageID: "a", RunID: "a", Resolution: core.ByWorkflowPrompt}, 0},
	} {
		var state core.TurnState
		if err := json.Unmarshal([]byte(c.state), &state); err != nil {
			t.Fatal(err)
		}
		if _, err := state.Next(c.seen, noon); err != nil || len(state.Outbox) != c.want {
			t.Errorf("%s: have %d messages, %v, want %d", c.seen.Kind, len(state.Outbox), err, c.want)
		}
	}
}

// A sleep is no idle time, and a clock that was set back counts anew.
func TestTurnASleepCountsAsIdle(t *testing.T) {
	for _, last := range []string{"1", "2000000"} {
		var state core.TurnState
		if err := json.Unmarshal([]byte(`{"sessionId":"s","idleSinceMs":`+last+`,"lastMs":`+last+`}`), &state); err != nil {
			t.Fatal(err)
		}
		_, err := state.Next(core.TurnSeen{Kind: core.SeenPoll, Idle: true}, noon)
		if err != nil || state.IdleSinceMS != noonMS {
			t.Errorf("last seen at %s: idle since %d, %v", last, state.IdleSinceMS, err)
		}
	}
}

// A turn that is being aborted is so once; another one, or it once more later, is
// another abort.
func TestTurnAnAbortIsTakenTwice(t *testing.T) {
	state := core.TurnState{SessionID: "s"}
	see := func(seen core.TurnSeen) core.TurnStepKind {
		t.Helper()
		step, err := state.Next(seen, noon)
		if err != nil {
			t.Fatal(err)
		}
		return step.Kind
	}
	abort := func(node string) core.TurnSeen {
		return core.TurnSeen{Kind: core.SeenAbort, Note: &core.NoteTurnRequest{RunID: "run", Kind: core.TurnAgentCancel, NodeID: node, AttemptID: "1"}}
	}
	see(abort("a"))
	see(abort("a"))
	if have := len(state.Abort.Entries); have != 1 {
		t.Errorf("one abort is %d", have)
	}
	see(abort("b"))
	if have := len(state.Abort.Entries); have != 2 {
		t.Errorf("two aborts are %d", have)
	}
	state = core.TurnState{SessionID: "s"}
	see(abort("a"))
	see(turned(core.SeenRefused, core.StepNote, busy))
	see(core.TurnSeen{Kind: core.SeenDone, Step: core.StepAbort})
	if step := see(abort("a")); step != core.StepNote {
		t.Errorf("the next abort of the step is %s", step)
	}
}

// What was resolved elsewhere is no longer waited for; what another one claimed may
// still arrive.
func TestTurnAResolvedMessageIsWaitedFor(t *testing.T) {
	for code, want := range map[core.Code]int{core.CodeIntentResolved: 0, core.CodeClaimLost: 1} {
		var state core.TurnState
		if err := json.Unmarshal([]byte(strings.Replace(delivering, `{"sessionId"`, `{"asked":"renew","sessionId"`, 1)+"}"), &state); err != nil {
			t.Fatal(err)
		}
		refusal := `{"code":"` + string(code) + `","message":"","retryable":false}`
		if _, err := state.Next(turned(core.SeenRefused, core.StepRenew, refusal), noon); err != nil || len(state.Unconfirmed) != want {
			t.Errorf("%s: %v, %v", code, state.Unconfirmed, err)
		}
	}
}
