package core_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// withFact asks for an intent whose facts have another value in one field.
func withFact(field string, value any) object {
	return owed(object{"fallbackFacts": turnFacts(object{field: value})})
}

// refusesFact runs an op that must name the field of the facts.
func (f *fixture) refusesFact(op string, request any, field string) {
	f.Helper()
	err := f.fails(op, request, core.CodeBadRequest)
	if have := fieldOf(err); have != field {
		f.Errorf("%s names %s, want %s", op, have, field)
	}
}

const ensure = "ensureWorkflowTurnIntent"

func TestFactIsMissing(t *testing.T) {
	f := open(t)
	for field := range turnFacts(nil) {
		f.refusesFact(ensure, owed(object{"fallbackFacts": turnFacts(nil).without(field)}), "fallbackFacts."+field)
	}
	for field := range owed(nil) {
		f.refusesFact(ensure, owed(nil).without(field), field)
	}
	f.ok(ensure, owed(nil))
}

func TestFactIsNull(t *testing.T) {
	nullable := map[string]bool{"nodeId": true, "attemptId": true, "reason": true}
	for field := range turnFacts(nil) {
		f := open(t)
		if !nullable[field] {
			f.refusesFact(ensure, withFact(field, nil), "fallbackFacts."+field)
			continue
		}
		f.ok(ensure, withFact(field, nil))
		if have, ok := f.storedFacts(f.onlyIntent())[field]; have != nil || !ok {
			t.Errorf("a null %s is stored as %v, %t", field, have, ok)
		}
	}
}

func TestFactIsMistyped(t *testing.T) {
	f := open(t)
	for field := range turnFacts(nil) {
		for _, value := range []any{1, 0, 1.5, object{}, []any{}, []any{"failed"}} {
			f.refusesFact(ensure, withFact(field, value), "fallbackFacts."+field)
		}
		if field == "handoff" {
			f.refusesFact(ensure, withFact(field, "true"), "fallbackFacts.handoff")
			continue
		}
		f.refusesFact(ensure, withFact(field, true), "fallbackFacts."+field)
	}
	for _, facts := range []any{"text", 1, true, []any{turnFacts(nil)}, string(compact(t, turnFacts(nil)))} {
		f.refusesFact(ensure, owed(object{"fallbackFacts": facts}), "fallbackFacts")
	}
}

// A key has 1 to 512 UTF-16 code units: a character outside the BMP counts twice.
func TestFactIsOutOfBounds(t *testing.T) {
	face := "\U0001F600"
	long := []string{strings.Repeat("k", 513), strings.Repeat(face, 257), strings.Repeat(face, 256) + "k", strings.Repeat("é", 513)}
	full := []string{"k", strings.Repeat("k", 512), strings.Repeat(face, 256), strings.Repeat("é", 512), "a\u2028b", `<&>"\`}
	bad := append(long, "", "a\nb", "a\x00b", "a\x7fb", "a\u0085b")
	for _, field := range []string{"observedState", "nodeId", "attemptId", "workflowName"} {
		f := open(t)
		for _, value := range bad {
			f.refusesFact(ensure, withFact(field, value), "fallbackFacts."+field)
		}
		for i, value := range full {
			run := fmt.Sprint("run-", i)
			request := owed(object{"runId": run})
			request["fallbackFacts"] = turnFacts(object{"runId": run, field: value})
			if field == "workflowName" {
				request["workflowRef"] = value
			}
			stored := f.storedFacts(f.intent(f.ok(ensure, request).text("intentId")))
			equal(t, field, stored.text(field), value)
		}
	}
	f := open(t)
	for _, value := range []string{"", long[0], long[1], long[2]} {
		f.refusesFact(ensure, withFact("runId", value), "fallbackFacts.runId")
	}
	f.refusesFact(ensure, withFact("schema", "pi-workflows.deferred-turn-facts.v2"), "fallbackFacts.schema")
	f.refusesFact(ensure, withFact("schema", ""), "fallbackFacts.schema")
}

// A long name that another host stored is no reason to take one.
func TestFactIsOutOfBoundsAsItsRow(t *testing.T) {
	long := strings.Repeat("k", 513)
	for field, column := range map[string]string{"workflowName": "workflow_ref", "runId": "run_id"} {
		f := open(t)
		f.plantTurn(object{column: long})
		f.refusesFact("makeWorkflowTurnIntentEligible", object{"intentId": "intent", "fallbackFacts": turnFacts(object{field: long})}, "fallbackFacts."+field)
		f.ok("makeWorkflowTurnIntentEligible", object{"intentId": "intent"})
	}
}

// The immutable fields have the same bounds.
func TestFieldOfAnIntentIsOutOfBounds(t *testing.T) {
	f := open(t)
	long := strings.Repeat("\U0001F600", 256) + "k"
	for _, field := range []string{"runId", "workflowRef", "targetSessionId", "source", "nodeId", "attemptId", "sourceEventId", "intentId"} {
		f.refusesFact(ensure, owed(object{field: long}), field)
		f.refusesFact(ensure, owed(object{field: ""}), field)
	}
	for _, cause := range []any{"cancelled", "Failed", "", 1} {
		f.refusesFact(ensure, owed(object{"cause": cause}), "cause")
	}
	f.ok(ensure, owed(object{"nodeId": strings.Repeat("\U0001F600", 256), "attemptId": strings.Repeat("k", 512), "source": strings.Repeat("k", 512)}))
}

func TestFactsHaveAnUnknownField(t *testing.T) {
	f := open(t)
	for _, field := range []string{"extra", "Schema", "RunId", "runid", "handOff", "eligible", "status"} {
		f.refusesFact(ensure, withFact(field, "x"), "fallbackFacts."+field)
		f.refusesFact(ensure, withFact(field, nil), "fallbackFacts."+field)
	}
	twice := strings.Replace(string(compact(t, owed(nil))), `"handoff":false`, `"handoff":false,"handoff":true`, 1)
	f.refusesFact(ensure, twice, "fallbackFacts")
	for _, value := range []string{`"\ud800"`, "\"\xff\"", `"\udc00\ud83d"`} {
		bad := strings.Replace(string(compact(t, owed(nil))), `"reason":null`, `"reason":`+value, 1)
		f.refusesFact(ensure, bad, "fallbackFacts")
	}
}

// A reason has at most 8,192 UTF-16 code units.
func TestReasonIsTooLong(t *testing.T) {
	face := "\U0001F600"
	for i, c := range []struct {
		reason string
		taken  bool
	}{
		{strings.Repeat("word ", 1638) + "ab", true},
		{strings.Repeat("word ", 1638) + "abc", false},
		{strings.Repeat(face, 4096), true},
		{strings.Repeat(face, 4096) + "a", false},
		{strings.Repeat("é", 8192), true},
		{strings.Repeat("é", 8193), false},
		{strings.Repeat("\u0001", 8192), true},
		{strings.Repeat("\u0001", 8193), false},
	} {
		for op, request := range map[string]object{ensure: withFact("reason", c.reason), "noteTurnEvent": noteOf("agentCancel", object{"reason": c.reason})} {
			f := openTurns(t)
			f.running("run", "own")
			if !c.taken {
				f.refusesFact(op, request, map[string]string{ensure: "fallbackFacts.reason", "noteTurnEvent": "reason"}[op])
				continue
			}
			f.ok(op, request)
			stored := f.storedFacts(f.onlyIntent()).text("reason")
			if len(stored) > 2048 || !strings.HasPrefix(c.reason, strings.TrimSuffix(stored, "…")) {
				t.Errorf("%d, %s: stored as %d bytes: %.40s", i, op, len(stored), stored)
			}
		}
	}
}

func TestFactsAreLargerThan64KiB(t *testing.T) {
	f := open(t)
	f.refusesFact(ensure, withFact("reason", strings.Repeat("a", 64<<10)), "fallbackFacts")
}

// secretReasons are texts with a secret in them.
var secretReasons = map[string]string{
	"Qm4zXk81TrVw92Lp":               "request failed: Authorization: Bearer Qm4zXk81TrVw92Lp was refused",
	"sk-proj4f9a8b7c6d5e4f3a2b1c":    "key sk-proj4f9a8b7c6d5e4f3a2b1c is over its quota",
	"ghp_9aB8cD7eF6gH5iJ4kL3mN2oP1q": "git: ghp_9aB8cD7eF6gH5iJ4kL3mN2oP1q cannot push",
	"hunter2hunter2":                 "cannot reach https://alice:hunter2hunter2@example.com/flow",
	"s3cr3t-Valu3-77":                "DB_PASSWORD=s3cr3t-Valu3-77 is wrong",
	"Zx81Qp44Lm":                     `config {"apiKey":"Zx81Qp44Lm"} is refused`,
	"MIIEvQIBADANBgkqhkiG9w0BAQEF":   "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\n-----END PRIVATE KEY-----\ncannot be read",
	"at build (/home/alice/x.js:1)":  "boom\n    at build (/home/alice/x.js:1)",
}

func TestSecretOfAReasonIsStored(t *testing.T) {
	for secret, reason := range secretReasons {
		for op, request := range map[string]object{
			ensure: withFact("reason", reason), "makeWorkflowTurnIntentEligible": object{"intentId": "i", "fallbackFacts": turnFacts(object{"reason": reason})},
			"noteTurnEvent":    noteOf("agentCancel", object{"reason": reason}),
			"finishRunningRun": held("run", "tok").with(object{"status": "failed", "errorCode": "run_failed", "errorMessage": reason}),
		} {
			f := openTurns(t)
			f.running("run", "own")
			if op == "makeWorkflowTurnIntentEligible" {
				f.owe(object{"intentId": "i"})
			}
			answer := string(f.answer(op, request))
			stored := strings.Join(f.dump(), "\n")
			if strings.Contains(stored, secret) || strings.Contains(answer, secret) {
				t.Errorf("%s tells or stores %s", op, secret)
			}
			if strings.Contains(f.storedFacts(f.onlyIntent()).text("reason"), "\n") {
				t.Errorf("%s stores more than one line", op)
			}
		}
	}
}

// What another host stored is made safe when it is told, in the message too.
func TestSecretOfAStoredReasonIsTold(t *testing.T) {
	for secret, reason := range secretReasons {
		f := open(t)
		f.plantTurn(object{"fallback_facts_json": string(compact(t, turnFacts(object{"reason": reason, "extra": 1})))})
		intent := decode[core.Intent](t, f.answer("getWorkflowTurnIntent", object{"intentId": "intent"}))
		if text := core.FallbackMessage(intent).Content; strings.Contains(text, secret) {
			t.Errorf("the message tells %s: %s", secret, text)
		}
	}
}

// What another host stored of a run's error is made safe before it is a reason.
func TestSecretOfAStoredErrorBecomesAReason(t *testing.T) {
	for secret, message := range secretReasons {
		f := turnRun(t, "failed")
		f.exec("UPDATE workflow_run_queue SET error_message = ?", message)
		f.oweFirst()
		f.list("sweepTurnIntents", object{"limit": 1})
		swept := f.onlyIntent().text("fallback_facts_json")

		f = turnRun(t, "parked")
		f.exec("UPDATE workflow_run_queue SET error_message = ?", message)
		f.oweFirst()
		f.ok("cancelPreparedRun", cancelRun("agent", nil))
		if ended := f.onlyIntent().text("fallback_facts_json"); strings.Contains(swept, secret) || strings.Contains(ended, secret) {
			t.Errorf("%s is stored: %s, %s", secret, swept, ended)
		}
	}
}

func TestFactsContradictTheIntent(t *testing.T) {
	f := open(t)
	for field, value := range map[string]any{"runId": "other", "workflowName": "other", "cause": "timedOut"} {
		f.refusesFact(ensure, withFact(field, value), "fallbackFacts."+field)
	}
	id := f.owe(nil)
	for field, value := range map[string]any{"runId": "other", "workflowName": "other", "cause": "timedOut", "extra": 1, "handoff": nil} {
		request := object{"intentId": id, "fallbackFacts": turnFacts(object{field: value})}
		f.refusesFact("makeWorkflowTurnIntentEligible", request, "fallbackFacts."+field)
	}
}

// Facts are stored as one canonical text, whatever the order and space.
func TestFactsAreStoredAsTheyCame(t *testing.T) {
	f := open(t)
	facts := `{ "workflowName":"flow","handoff" : true, "schema":"pi-workflows.deferred-turn-facts.v1", "runId":"r\u0075n",
		"observedState":"handedOff", "reason":"why","nodeId":"step", "cause":"failed","attemptId":"1" }`
	f.ok(ensure, `{"runId":"run","workflowRef":"flow","targetSessionId":"own","cause":"failed","fallbackFacts":`+facts+`}`)
	want := `{"attemptId":"1","cause":"failed","handoff":true,"nodeId":"step","observedState":"handedOff","reason":"why","runId":"run",` +
		`"schema":"pi-workflows.deferred-turn-facts.v1","workflowName":"flow"}`
	equal(t, "facts", f.onlyIntent().text("fallback_facts_json"), want)
	equal(t, "answered", string(compact(t, f.ok("getWorkflowTurnIntent", object{"intentId": f.onlyIntent()["intent_id"]})["fallbackFacts"].(map[string]any))), want)
}
