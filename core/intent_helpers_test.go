package core_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// openTurns is a store that can be told of an abort.
func openTurns(t testing.TB, options ...option) *fixture {
	t.Helper()
	return open(t, append(options, func(c *core.Config) { c.WaitBeforeAbort = c.Wait })...)
}

// stringify writes a list of strings as JSON.stringify does. It is written apart
// from what it tests.
func stringify(parts ...string) string {
	short := map[rune]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}
	var out strings.Builder
	for i, part := range parts {
		out.WriteString(map[bool]string{true: `["`, false: `,"`}[i == 0])
		for _, r := range part {
			switch {
			case short[r] != "":
				out.WriteString(short[r])
			case r < ' ':
				fmt.Fprintf(&out, `\u%04x`, r)
			default:
				out.WriteRune(r)
			}
		}
		out.WriteByte('"')
	}
	return out.String() + "]"
}

func turnID(prefix string, parts ...string) string {
	sum := sha256.Sum256([]byte(stringify(parts...)))
	return prefix + hex.EncodeToString(sum[:])
}

// turnSource is what an identity is made of; "" is not known.
type turnSource struct{ session, run, source, node, attempt, cause string }

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func (s turnSource) eventID() string {
	return turnID("turn-source:", s.run, or(s.source, "run"), or(s.node, "$run"), or(s.attempt, "$none"), s.cause)
}

func (s turnSource) intentID() string {
	return turnID("deferred-turn:", s.session, s.run, s.eventID(), or(s.node, "$run"), or(s.attempt, "$none"), s.cause)
}

// without is a copy that lacks a field.
func (o object) without(key string) object {
	out := maps.Clone(o)
	delete(out, key)
	return out
}

// turnFacts are facts of the run "run" of the workflow "flow".
func turnFacts(more object) object {
	return object{
		"schema": "pi-workflows.deferred-turn-facts.v1", "workflowName": "flow", "runId": "run", "observedState": "failed",
		"cause": "failed", "nodeId": nil, "attemptId": nil, "reason": nil, "handoff": false,
	}.with(more)
}

// owed asks for an intent of the run "run" and the session "own". A run or cause in
// more is also that of the facts.
func owed(more object) object {
	facts := turnFacts(nil)
	for _, key := range []string{"runId", "cause"} {
		if more[key] != nil {
			facts[key] = more[key]
		}
	}
	return object{"runId": "run", "workflowRef": "flow", "targetSessionId": "own", "cause": "failed", "fallbackFacts": facts}.with(more)
}

// owe stores an intent and returns its id.
func (f *fixture) owe(more object) string {
	f.Helper()
	return f.ok("ensureWorkflowTurnIntent", owed(more)).text("intentId")
}

// oweOf stores an intent of a run under its name, and eligible or not.
func (f *fixture) oweOf(runID, session string, eligible bool) string {
	f.Helper()
	return f.owe(object{"runId": runID, "targetSessionId": session, "intentId": "i-" + runID, "eligible": eligible})
}

// intents are the stored intents, in order of insertion.
func (f *fixture) intents() []object {
	f.Helper()
	return f.rows("workflow_turn_intents")
}

// intent is one stored intent.
func (f *fixture) intent(id string) object {
	f.Helper()
	for _, row := range f.intents() {
		if row["intent_id"] == id {
			return row
		}
	}
	f.Fatalf("no intent %s is stored", id)
	return nil
}

// onlyIntent is the stored intent where there is one.
func (f *fixture) onlyIntent() object {
	f.Helper()
	rows := f.intents()
	if len(rows) != 1 {
		f.Fatalf("have %d intents, want one: %v", len(rows), rows)
	}
	return rows[0]
}

func (f *fixture) noIntent() {
	f.Helper()
	if rows := f.intents(); len(rows) != 0 {
		f.Fatalf("have intents %v", rows)
	}
}

// storedFacts are the facts of a stored intent.
func (f *fixture) storedFacts(row object) object {
	f.Helper()
	return decode[object](f, []byte(row.text("fallback_facts_json")))
}

// plantTurn stores an intent as another host might have.
func (f *fixture) plantTurn(row object) {
	f.Helper()
	f.insert("workflow_turn_intents", object{
		"intent_id": "intent", "source_event_id": "event", "run_id": "run", "workflow_ref": "flow", "target_session_id": "own",
		"cause": "failed", "fallback_facts_json": string(compact(f, turnFacts(nil))), "requested_at": stamp(0),
	}.with(row))
}

// claimFor claims the intent of a run of the session "own".
func claimFor(runID, token string) object {
	return object{"runId": runID, "sessionId": "own", "claimToken": token, "leaseMs": leaseMS}
}

// claimDue claims the eligible intents of the session "own".
func claimDue(token string, limit int) object {
	return object{"sessionId": "own", "claimToken": token, "leaseMs": leaseMS, "limit": limit}
}

func holdTurn(id, token string) object { return object{"intentId": id, "claimToken": token} }

func resolveTurn(id, token, resolution string) object {
	return holdTurn(id, token).with(object{"resolution": resolution})
}

// turnTokenOps are the ops of the holder of a delivery claim.
var turnTokenOps = map[string]object{
	"renewWorkflowTurnIntentClaim": {}, "releaseWorkflowTurnIntentClaim": {}, "resolveWorkflowTurnIntent": {"resolution": "fallback"},
}

// turnIDs names listed intents.
func turnIDs(intents []object) string {
	names := []string{}
	for _, i := range intents {
		names = append(names, i.text("intentId"))
	}
	return strings.Join(names, " ")
}

// fieldOf is the field that a bad request names.
func fieldOf(err *core.Error) string {
	field, _ := err.Details["field"].(string)
	return field
}

// wants compares some columns of a row, or fields of a record.
func (f *fixture) wants(what string, have, want object) {
	f.Helper()
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if fmt.Sprint(have[key]) != fmt.Sprint(want[key]) {
			f.Errorf("%s: %s is %v, want %v", what, key, have[key], want[key])
		}
	}
}

// compact is the JSON of an object with sorted names.
func compact(t testing.TB, o object) []byte {
	t.Helper()
	text, err := json.Marshal(o)
	must(t, err)
	return text
}
