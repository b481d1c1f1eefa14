package core_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/pi-workflows/wfcore/core"
)

var runIDForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,199}\z`)

// isKey is the documented rule of keys, in other words than the core's.
func isKey(text string) bool {
	units := len(utf16.Encode([]rune(text)))
	return utf8.ValidString(text) && units >= 1 && units <= 512 && !strings.ContainsFunc(text, unicode.IsControl)
}

// FuzzKey takes any text as a run id, a session, a runner, a token, a node and an
// attempt: it is taken where the documented rule says so, it comes back as it was
// given, and otherwise it is refused and nothing is stored.
func FuzzKey(f *testing.F) {
	face := "\U0001F600"
	for _, text := range []string{
		"", "a", "run-1", ".hidden", "-x", "_x", "a b", "a/b", "..", "a..b", "é", "a\x00", "a\n", "\x7f", "\u0080", "\u0085", "\u009f", "\u00a0",
		"\u2028", "\ufeff", "\ufffd", "\xff", "a\xed\xa0\x80", "$launch", "'; DROP TABLE events; --", `"\`, "<&>", "a\n\n", "A\u030a",
		strings.Repeat("r", 200), strings.Repeat("r", 201), strings.Repeat("k", 512), strings.Repeat("k", 513),
		strings.Repeat(face, 256), strings.Repeat(face, 256) + "k", strings.Repeat("é", 512),
	} {
		f.Add(text)
	}
	s := openTurns(f)
	f.Fuzz(func(t *testing.T, text string) {
		s.TB = t
		for _, table := range []string{"workflow_run_queue", "run_events", "workflow_turn_intents"} {
			s.exec("DELETE FROM " + table)
		}
		s.reservesUnder(text)
		s.claimsUnder(text)
		s.owesUnder(text)
	})
}

// taken checks that a call is refused where it must be, and says whether it was taken.
func (f *fixture) taken(what, text string, want bool, err error) bool {
	f.Helper()
	if want != (err == nil) || !want && core.CodeOf(err) != core.CodeBadRequest {
		f.Fatalf("%s %q: %v", what, text, err)
	}
	return want
}

func (f *fixture) reservesUnder(text string) {
	f.Helper()
	request := core.ReserveRequest{
		RunID: text, WorkflowName: "flow", WorkflowSourceRef: "file:flow", WorkflowSource: []byte(`{}`), DefinitionDigest: "d", OriginSessionID: "owner",
	}
	_, err := f.store.ReservePreparedRun(f.Context(), request)
	if f.taken("run id", text, runIDForm.MatchString(text), err) {
		equal(f, "run id", f.row(text).text("run_id"), text)
		f.exec("DELETE FROM workflow_run_queue")
	}
	if len(f.rows("workflow_run_queue")) != 0 {
		f.Fatalf("%q is refused and stored", text)
	}
	f.exec("DELETE FROM run_events")
}

// claimsUnder gives one run a session, a runner and a token of this name.
func (f *fixture) claimsUnder(text string) {
	f.Helper()
	request := core.ReserveRequest{
		RunID: "run", WorkflowName: "flow", WorkflowSourceRef: "file:flow", WorkflowSource: []byte(`{}`), DefinitionDigest: "d", OriginSessionID: text,
	}
	_, err := f.store.ReservePreparedRun(f.Context(), request)
	if f.taken("session", text, text == "" || isKey(text), err); err != nil {
		return
	}
	run, err := f.store.ClaimPreparedRun(f.Context(), core.ClaimRequest{RunID: "run", SessionID: text, RunnerID: text, ClaimToken: text})
	if !f.taken("runner", text, isKey(text), err) {
		return
	}
	if run.ClaimToken != text || *run.RunnerID != text || *run.OriginSessionID != text {
		f.Fatalf("%q came back as %q, %q, %q", text, run.ClaimToken, *run.RunnerID, *run.OriginSessionID)
	}
	_, err = f.store.MarkPreparedRunRunning(f.Context(), core.MarkRunningRequest{RunID: "run", ClaimToken: text})
	f.taken("token", text, true, err)
}

// owesUnder makes a turn of a node, an attempt and an intent of this name, which is
// found and claimed under it, and whose message is one that can be shown.
func (f *fixture) owesUnder(text string) {
	f.Helper()
	facts := compact(f, turnFacts(nil))
	_, err := f.store.EnsureWorkflowTurnIntent(f.Context(), core.EnsureIntentRequest{
		RunID: "run", WorkflowRef: "flow", TargetSessionID: "own", Cause: core.CauseFailed, NodeID: text, AttemptID: text, IntentID: text, FallbackFacts: facts,
	})
	if !f.taken("node", text, text == "" || isKey(text), err) || text == "" {
		return
	}
	intent, err := f.store.GetWorkflowTurnIntent(f.Context(), core.IntentRequest{IntentID: text})
	must(f, err)
	if intent.IntentID != text || *intent.NodeID != text || *intent.AttemptID != text {
		f.Fatalf("%q came back as %q, %q, %q", text, intent.IntentID, *intent.NodeID, *intent.AttemptID)
	}
}
