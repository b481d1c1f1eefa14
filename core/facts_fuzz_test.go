package core_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/safetext"
	"github.com/pi-workflows/wfcore/core/strictjson"
)

// factForms are facts that some host may have stored, or may give.
func factForms(t testing.TB) []string {
	forms := []string{
		"", "null", "[]", "{}", `{"reason":7,"nodeId":{},"handoff":"true"}`, `{"reason":null,"handoff":true,"extra":[1]}`, `{"nodeId":"a\nb","reason":"\u0000"}`,
		"{\"reason\":\"\xff\"}", `{"reason":"\ud800"}`, `{"reason":"a","reason":"b"}`, `"text"`, "\x00", `{"observedState":"` + strings.Repeat("s", 513) + `"}`,
	}
	for _, more := range []object{
		nil, {"nodeId": "step", "attemptId": "1", "reason": "no module 'x'", "handoff": true}, {"reason": "Authorization: Bearer abcdef1234567890"},
		{"reason": strings.Repeat("\U0001F600", 4096)}, {"reason": strings.Repeat("é", 8192)}, {"reason": "line\nline \x1b[31mred"}, {"nodeId": strings.Repeat("k", 512)},
	} {
		forms = append(forms, string(compact(t, turnFacts(more))))
	}
	return forms
}

// FuzzFacts gives any text as the facts of an intent: what is taken is stored in
// canonical form, within the limits and safe. Then another host has stored it, beside
// any names: whoever reads that gets text that can be shown, and what we write next
// is sound.
func FuzzFacts(f *testing.F) {
	for i, form := range factForms(f) {
		name := []string{"flow", "", "a\nb\x1b[31m", strings.Repeat("\U0001F600", 300), "\xff", "$node"}[i%6]
		f.Add(form, name, byte(i))
	}
	s := openTurns(f)
	f.Fuzz(func(t *testing.T, facts, name string, kind byte) {
		s.TB = t
		s.forgetTurns()
		_, err := s.store.EnsureWorkflowTurnIntent(t.Context(), core.EnsureIntentRequest{
			RunID: "run", WorkflowRef: "flow", TargetSessionID: "own", Cause: core.CauseFailed, FallbackFacts: json.RawMessage(facts),
		})
		if err == nil {
			soundStored(t, s.onlyIntent().text("fallback_facts_json"))
		} else if core.CodeOf(err) != core.CodeBadRequest {
			t.Fatalf("facts %q: %v", facts, err)
		}

		s.forgetTurns()
		s.plant(object{"run_id": "run", "workflow_ref": name, "status": "running", "origin_session_id": "own", "claim_token": "tok", "claim_expires_at": millis(lease)})
		s.plantTurn(object{"workflow_ref": name, "fallback_facts_json": facts, "node_id": name, "attempt_id": name, "cause": core.Causes[int(kind)%len(core.Causes)]})
		s.readsIntent()
		_, err = s.call("noteTurnEvent", noteOf("agentCancel", nil))
		must(t, err)
		soundStored(t, s.onlyIntent().text("fallback_facts_json"))
		s.readsIntent()
	})
}

func (f *fixture) forgetTurns() {
	for _, table := range []string{"workflow_run_queue", "run_events", "workflow_turn_intents"} {
		f.exec("DELETE FROM " + table)
	}
}

// soundStored checks facts that we wrote: every field is within its bounds.
func soundStored(t *testing.T, stored string) {
	t.Helper()
	if again, err := strictjson.Canonical([]byte(stored)); err != nil || string(again) != stored || len(stored) > core.MaxJSONBytes {
		t.Fatalf("facts are stored as %q: %v", stored, err)
	}
	members := decode[object](t, []byte(stored))
	if len(members) != len(turnFacts(nil)) {
		t.Fatalf("facts are stored with the fields of %q", stored)
	}
	for field, value := range members {
		text, isText := value.(string)
		switch {
		case field == "handoff" || value == nil:
		case field == "reason":
			if safetext.Line(text) != text || len(text) > safetext.MaxBytes {
				t.Fatalf("a reason is stored as %q", text)
			}
		case !isText || field != "runId" && !isKey(text):
			t.Fatalf("%s is stored as %v", field, value)
		}
	}
}

// readsIntent reads the stored intent as hosts do, and checks what they get.
func (f *fixture) readsIntent() {
	f.Helper()
	answer := f.answer("listWorkflowTurnIntents", object{"limit": 10})
	if !utf8.Valid(answer) || slices.Contains(answer, '\n') {
		f.Fatalf("an intent is shown as %q", answer)
	}
	intents := decode[[]core.Intent](f, answer)
	stored, err := f.store.GetWorkflowTurnIntent(f.Context(), core.IntentRequest{IntentID: intents[0].IntentID})
	must(f, err)
	for _, intent := range append(intents, stored) {
		content := core.FallbackMessage(intent).Content
		plain := strings.ReplaceAll(content, "\n", "")
		if !utf8.ValidString(content) || strings.ContainsFunc(plain, unicode.IsControl) || strings.Count(content, "\n") != 1 || len(content) > 16<<10 {
			f.Fatalf("a fallback of %s says %q", answer, content)
		}
	}
}
