package hosttest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
)

// What a guard of a coordinator is for, where no story comes to it: a state, what is
// seen, and the step that is next.

const noonMS = 1_000_000

var noon = core.Moment{Now: time.UnixMilli(noonMS), Token: "fresh"}

const (
	starts   = `{"runId":"run","status":"starting","claimToken":"t"}`
	runs     = `{"runId":"run","status":"running"}`
	notThere = `{"code":"not_found","message":"gone","retryable":false}`
	busy     = `{"code":"store_unavailable","message":"busy","retryable":true}`
	isLive   = `{"code":"claim_live","message":"claimed","retryable":true}`
	gone     = `{"code":"invalid_transition","message":"ended","retryable":false,"details":{"status":"cancelled"}}`
	replaced = `{"code":"claim_lost","message":"lost","retryable":false,"details":{"status":"running","runnerId":"r","claimExpiresAt":"later"}}`
)

func launched(kind core.LaunchSeenKind, step core.LaunchStepKind, said string) core.LaunchSeen {
	seen := core.LaunchSeen{Kind: kind, Step: step, Answer: json.RawMessage(said)}
	if kind == core.LaunchRefused {
		seen.Answer, seen.Error = nil, seen.Answer
	}
	return seen
}

func TestLaunchAGuardIsGone(t *testing.T) {
	hundred := "[" + strings.TrimSuffix(strings.Repeat(`{"runId":"q","status":"queued"},`, core.MaxList), ",") + "]"
	answered, refused := core.LaunchAnswered, core.LaunchRefused
	ended := core.LaunchSeen{Kind: core.LaunchEnded, RunID: "run", Outcome: core.EngineDone}
	for _, c := range []struct {
		wrong, state string
		seen         []core.LaunchSeen
		want         core.LaunchStepKind
		why          core.StopReason
	}{
		{"a run that is claimed at shutdown is built", `{"runnerId":"r","asked":"claim","token":"t","closed":true}`,
			[]core.LaunchSeen{launched(answered, core.DoClaim, starts)}, core.DoRelease, ""},
		{"a resumed run is stopped that never acted", `{"runnerId":"r","asked":"verify","closed":true,"hold":{"runId":"run","phase":"resume","token":"t"}}`,
			[]core.LaunchSeen{launched(answered, core.DoVerify, runs)}, core.DoRelease, ""},
		{"a built run acts at shutdown", `{"runnerId":"r","asked":"markRunning","closed":true,"hold":{"runId":"run","phase":"written","token":"t"}}`,
			[]core.LaunchSeen{launched(answered, core.DoMarkRunning, runs)}, core.DoStop, core.StopShutdown},
		{"a full list of which nothing was settled is read again", `{"runnerId":"r","sessionId":"s","asked":"list","pass":{"mayStart":true}}`,
			[]core.LaunchSeen{launched(answered, core.DoList, hundred)}, core.DoClaim, ""},
		{"an end that is told twice tries the store again", `{"runnerId":"r","hold":{"runId":"run","phase":"running","token":"t","end":{"outcome":"done"}},"pass":{"blocked":true}}`,
			[]core.LaunchSeen{ended}, core.DoWait, ""},
		{"a run that was cancelled has another source", `{"runnerId":"r","asked":"markRunning","hold":{"runId":"run","phase":"written","token":"t"}}`,
			[]core.LaunchSeen{launched(refused, core.DoMarkRunning, gone)}, core.DoStop, core.StopCancelled},
		{"a run that was cancelled lost its lease", `{"runnerId":"r","asked":"verify","hold":{"runId":"run","phase":"build","token":"t"}}`,
			[]core.LaunchSeen{launched(refused, core.DoVerify, gone)}, core.DoStop, core.StopCancelled},
		{"a lease is forgotten where the store was only asked for it",
			`{"runnerId":"r","asked":"verify","hold":{"runId":"run","phase":"running","token":"t","expiresAt":"seen","endMs":2000000,"renewedMs":1000000}}`,
			[]core.LaunchSeen{launched(refused, core.DoVerify, busy), {Kind: core.LaunchPoll}, launched(refused, core.DoVerify, replaced)}, core.DoStop, core.StopClaimLost},
		{"a run that another one regained is taken over again", `{"runnerId":"r","asked":"takeOver","token":"t","hold":{"runId":"run","phase":"running","regain":true}}`,
			[]core.LaunchSeen{launched(refused, core.DoTakeOver, isLive), {Kind: core.LaunchDone, Step: core.DoStop}}, core.DoRecord, ""},
		{"a result of another step ends the wait", `{"runnerId":"r","asked":"renew","hold":{"runId":"run","phase":"build","token":"t"}}`,
			[]core.LaunchSeen{launched(answered, core.DoVerify, runs), {Kind: core.LaunchShutdown}}, core.DoWait, ""},
		{"a bundle is left alone whose lease lapsed unseen", `{"runnerId":"r","asked":"verify","hold":{"runId":"run","phase":"resume","token":"t","expiresAt":"later"}}`,
			[]core.LaunchSeen{launched(refused, core.DoVerify, replaced)}, core.DoTakeOver, ""},
		{"a launch that was cancelled fails late", `{"runnerId":"r","asked":"fail","hold":{"runId":"run","phase":"build","token":"t","end":{"outcome":"failed","code":"activation_failed"}}}`,
			[]core.LaunchSeen{launched(refused, core.DoFail, gone)}, core.DoStop, core.StopCancelled},
		{"a run that starts anew is taken for ours", `{"runnerId":"r","asked":"verify","hold":{"runId":"run","phase":"running","token":"t","expiresAt":"later"}}`,
			[]core.LaunchSeen{launched(refused, core.DoVerify, strings.Replace(replaced, "running", "starting", 1))}, core.DoStop, core.StopClaimLost},
	} {
		var state core.LaunchState
		if err := json.Unmarshal([]byte(c.state), &state); err != nil {
			t.Fatal(err)
		}
		var step core.LaunchStep
		for _, seen := range c.seen {
			var err error
			if step, err = state.Next(seen, noon); err != nil {
				t.Fatalf("%s: %v", c.wrong, err)
			}
		}
		open := step.Kind == core.DoClaim || step.Kind == core.DoTakeOver
		if open != (state.Token != "") {
			t.Errorf("%s: the token is %q after %s", c.wrong, state.Token, step.Kind)
		}
		if step.Kind != c.want || step.Why != c.why {
			t.Errorf("%s: have %s %s, want %s %s", c.wrong, step.Kind, step.Why, c.want, c.why)
		}
	}
}
