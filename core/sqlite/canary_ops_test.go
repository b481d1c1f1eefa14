package sqlite

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// freeTexts are the ops that take a text which anybody may have written. Each is
// given one, and returns what is kept of it.
var freeTexts = []struct {
	name string
	give func(l *leaks, text string) string
}{
	{"failPreparedRun", func(l *leaks, text string) string {
		run := l.starting("null")
		l.says(l.FailPreparedRun(ctx, core.FailRequest{RunID: run, ClaimToken: "token", ErrorCode: core.FailureInputInvalid, ErrorMessage: text}))
		return l.failed("failPreparedRun", run, core.FailureInputInvalid)
	}},
	{"finishRunningRun", func(l *leaks, text string) string {
		run := l.running()
		l.says(l.FinishRunningRun(ctx, core.FinishRequest{RunID: run, ClaimToken: "token", Status: core.Failed, ErrorCode: core.FailureTimedOut, ErrorMessage: text}))
		return l.failed("finishRunningRun", run, core.FailureTimedOut)
	}},
	{"startFailed", func(l *leaks, text string) string {
		return l.found(core.Finding{Kind: core.FindingStartFailed, Code: core.FailureWorkflowInvalid, Message: text})
	}},
	{"terminal", func(l *leaks, text string) string {
		return l.found(core.Finding{Kind: core.FindingTerminal, Status: core.Failed, Code: core.FailureRunFailed, Message: text})
	}},
	{"noteTurnEvent", func(l *leaks, text string) string {
		run := l.running()
		l.says(l.NoteTurnEvent(ctx, core.NoteTurnRequest{
			RunID: run, SessionID: run, Kind: core.TurnStepTimeout, NodeID: "step", AttemptID: "1", Reason: bounded(text),
		}))
		return l.reason(run)
	}},
	{"ensureWorkflowTurnIntent", func(l *leaks, text string) string {
		run := l.owes(text)
		return l.reason(run)
	}},
	{"makeWorkflowTurnIntentEligible", func(l *leaks, text string) string {
		run := l.owes("")
		l.says(l.MakeWorkflowTurnIntentEligible(ctx, core.MakeEligibleRequest{IntentID: run, FallbackFacts: l.facts(run, text)}))
		return l.reason(run)
	}},
	{"recordRunEvent", func(l *leaks, text string) string {
		run := l.running()
		payload := encoded(l.t, map[string]string{"note": bounded(text), bounded(text): "x"})
		l.says(l.RecordRunEvent(ctx, core.RecordEventRequest{RunID: run, Type: core.EventClaimLost, Payload: payload}))
		l.told(run)
		return ""
	}},
}

// found gives a finding of a run whose claim is over.
func (l *leaks) found(finding core.Finding) string {
	l.t.Helper()
	run := l.starting("null")
	l.says(l.ReleaseRunClaim(ctx, core.HoldRequest{RunID: run, ClaimToken: "token"}))
	l.says(l.RecoverExpiredStartingRun(ctx, core.RecoverRequest{RunID: run, SessionID: run, ExpectedClaimToken: "token", Finding: &finding}))
	return l.failed(string(finding.Kind), run, finding.Code)
}

// owes stores a turn of a running run under its name.
func (l *leaks) owes(text string) (runID string) {
	l.t.Helper()
	runID = l.running()
	l.says(l.EnsureWorkflowTurnIntent(ctx, core.EnsureIntentRequest{
		RunID: runID, WorkflowRef: "build", TargetSessionID: runID, Cause: core.CauseFailed, IntentID: runID, FallbackFacts: l.facts(runID, text),
	}))
	return runID
}

func (l *leaks) facts(runID, text string) json.RawMessage {
	text = bounded(text)
	return encoded(l.t, core.Facts{
		Schema: core.FactsSchema, WorkflowName: "build", RunID: runID, ObservedState: "failed", Cause: core.CauseFailed, Reason: &text,
	})
}

// reason is what the turn that the run owes keeps as its reason.
func (l *leaks) reason(runID string) string {
	l.t.Helper()
	l.told(runID)
	intent, err := l.FindPendingWorkflowTurnIntent(ctx, core.OwedRequest{RunID: runID, SessionID: runID})
	try(l.t, err)
	var facts core.Facts
	try(l.t, json.Unmarshal(intent.FallbackFacts, &facts))
	return *facts.Reason
}

func encoded(t testing.TB, value any) json.RawMessage {
	t.Helper()
	text, err := core.Encode(value)
	try(t, err)
	return text
}

// bounded is the start of a text that a reason or a payload can be.
func bounded(text string) string { return strings.ToValidUTF8(text[:min(len(text), 3000)], "") }

// No part of a secret that a text holds is stored or told, by any op that takes one.
func TestNoOpStoresACanary(t *testing.T) {
	all := canaries(t)
	l := openLeaks(t)
	for i, c := range all {
		for j, op := range freeTexts {
			if j == 0 || (i+j)%3 == 0 {
				op.give(l, c.text)
			}
		}
	}
	l.scan(windowsOf(all))
}

// Nor where something is around it, or within it.
func TestNoOpStoresABrokenCanary(t *testing.T) {
	all := canaries(t)
	l := openLeaks(t)
	for i, c := range all {
		for j, shape := range shapes {
			if (i+j)%8 == 0 {
				freeTexts[(i/8+j)%len(freeTexts)].give(l, shape(c))
			}
		}
	}
	l.scan(windowsOf(all))
}

// Texts without a secret are kept as they are, but for the marks that quote them.
func TestOpsKeepBenignTexts(t *testing.T) {
	texts := strings.Split(strings.TrimSpace(read(t, "../safetext/testdata/benign.txt")), "\n")
	if len(texts) < 50 {
		t.Fatalf("%d benign texts are too few", len(texts))
	}
	l := openLeaks(t)
	for i, text := range texts {
		for j, op := range freeTexts {
			if j > 0 && (i+j)%3 > 0 {
				continue
			}
			kept := op.give(l, text)
			if quoted := strings.ReplaceAll(text, `"`, "'"); kept != "" && kept != text && kept != quoted {
				t.Errorf("%s keeps %q as %q", op.name, text, kept)
			}
		}
	}
}

// What is private input is nowhere once its run has ended or runs, even where the
// error that ended it quotes it.
func TestNoCanaryOfInputIsLeft(t *testing.T) {
	all := canaries(t)
	l := openLeaks(t)
	for i, c := range all {
		input := string(encoded(t, map[string]any{"note": c.text, "list": []string{c.secret}}))
		run := l.starting(input)
		if status := core.Statuses[2:][i%5]; status == core.Failed {
			l.says(l.FailPreparedRun(ctx, core.FailRequest{
				RunID: run, ClaimToken: "token", ErrorCode: core.FailureInputInvalid, ErrorMessage: "cannot handle " + c.secret + " of " + input,
			}))
		} else if end := endings[status]; end != nil {
			try(t, end(l.Store, run, "token"))
		} else {
			l.says(l.ParkRunningRun(ctx, core.ParkRequest{RunID: run, ClaimToken: "token"}))
		}
		l.told(run)
	}
	w := windowsOf(all)
	w.absent(t, "an answer", l.answers.String())
	l.scanRested(w)
}

// A refused request is not quoted with what is secret in it.
func TestRefusedRequestShowsACanary(t *testing.T) {
	all := canaries(t)
	l := openLeaks(t)
	for _, c := range all {
		name := string(encoded(t, c.text))
		for _, request := range []string{
			`{` + name + `:1}`, `{"limit":` + name + `}`, `{` + name + `:1,` + name + `:1}`, `{"limit":{` + name + `:{"a":1,"a":1}}}`, c.text,
		} {
			answer, err := l.Call(ctx, "listRuns", []byte(request))
			wantCode(t, err, core.CodeBadRequest)
			l.says(answer, err)
		}
		answer, err := l.Call(ctx, c.text, []byte("{}"))
		wantCode(t, err, core.CodeBadRequest)
		l.says(answer, err)
	}
	windowsOf(all).absent(t, "an answer", l.answers.String())
}
