package core_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

const eligibly = "makeWorkflowTurnIntentEligible"

func TestEnsuredIntentIsNotStoredWhole(t *testing.T) {
	for _, eligible := range []bool{false, true} {
		f := open(t)
		request := owed(object{"source": "terminal", "nodeId": "$terminal", "attemptId": "1", "eligible": eligible})
		intent := f.ok(ensure, request)
		row := f.onlyIntent()
		source := turnSource{"own", "run", "terminal", "$terminal", "1", "failed"}
		var at any
		if eligible {
			at = stamp(0)
		}
		f.wants("row", row, object{
			"intent_id": source.intentID(), "source_event_id": source.eventID(), "run_id": "run", "workflow_ref": "flow", "target_session_id": "own",
			"cause": "failed", "node_id": "$terminal", "attempt_id": "1", "requested_at": stamp(0), "eligible_at": at, "resolved_at": nil,
			"resolution": nil, "resolution_message_id": nil, "delivery_claim_token": nil, "delivery_claim_expires_at": nil,
			"fallback_facts_json": string(compact(t, turnFacts(nil))),
		})
		f.wants("answer", intent, object{
			"intentId": source.intentID(), "sourceEventId": source.eventID(), "runId": "run", "workflowRef": "flow", "targetSessionId": "own",
			"cause": "failed", "nodeId": "$terminal", "attemptId": "1", "requestedAt": stamp(0), "eligibleAt": at, "resolvedAt": nil,
			"resolution": nil, "resolutionMessageId": nil, "deliveryClaimExpiresAt": nil, "fallbackFacts": map[string]any(turnFacts(nil)),
		})
		if len(intent) != 15 {
			t.Errorf("have fields %v", intent)
		}
	}
}

// Case 20. The same source event is handled by two processes, and again after a
// restart with other facts in its text: one row, and the stored one comes back.
// Red without ON CONFLICT DO NOTHING of IntentCreate.
func TestIntentCase20HandledAgain(t *testing.T) {
	f := open(t)
	first := f.ok(ensure, owed(nil))
	id := first.text("intentId")
	before := strings.Join(f.dump(), "\n")
	again := func(when string) {
		f.at(lease)
		for _, facts := range []object{nil, {"reason": "another text"}, {"observedState": "timed_out", "handoff": true}, {"nodeId": "step"}} {
			for _, eligible := range []bool{false, true} {
				have := f.ok(ensure, owed(object{"fallbackFacts": turnFacts(facts), "eligible": eligible}))
				f.wants(when, have, object{"intentId": id, "requestedAt": first["requestedAt"], "eligibleAt": nil})
			}
		}
		if after := strings.Join(f.dump(), "\n"); after != before {
			t.Fatalf("%s: handling it again changed the store", when)
		}
	}
	again("pending")
	f.ok("claimWorkflowTurnIntentForRun", claimFor("run", "tok"))
	before = strings.Join(f.dump(), "\n")
	again("claimed")
	f.ok("resolveWorkflowTurnIntent", resolveTurn(id, "tok", "presentation"))
	before = strings.Join(f.dump(), "\n")
	again("resolved")
	f.wants("resolved", f.ok(ensure, owed(nil)), object{"resolution": "presentation"})
	f.onlyIntent()
}

// Case 20. Another immutable field under the same id is a conflict, and nothing is
// written. Red without a comparison of identity.conflict.
func TestIntentCase20ConflictGoesUnnoticed(t *testing.T) {
	base := owed(object{"intentId": "i", "sourceEventId": "e", "nodeId": "step", "attemptId": "1"})
	other := map[string]object{
		"sourceEventId": {"sourceEventId": "e2"}, "targetSessionId": {"targetSessionId": "other"},
		"runId":       {"runId": "run2", "fallbackFacts": turnFacts(object{"runId": "run2"})},
		"workflowRef": {"workflowRef": "flow2", "fallbackFacts": turnFacts(object{"workflowName": "flow2"})},
		"cause":       {"cause": "timedOut", "fallbackFacts": turnFacts(object{"cause": "timedOut"})},
		"nodeId":      {"nodeId": "step2"}, "attemptId": {"attemptId": "2"},
	}
	for _, state := range []string{"pending", "resolved"} {
		f := open(t)
		f.ok(ensure, base)
		if state == "resolved" {
			f.ok("claimWorkflowTurnIntentForRun", claimFor("run", "tok"))
			f.ok("resolveWorkflowTurnIntent", resolveTurn("i", "tok", "fallback"))
		}
		for field, change := range other {
			err := f.fails(ensure, base.with(change), core.CodeIntentConflict)
			f.wants(field, object(err.Details), object{"intentId": "i", "runId": "run", "cause": "failed", "fields": []string{field}})
		}
		for _, field := range []string{"nodeId", "attemptId"} {
			err := f.fails(ensure, base.without(field), core.CodeIntentConflict)
			equal(t, "fields", fmt.Sprint(err.Details["fields"]), fmt.Sprint([]string{field}))
		}
		f.ok(ensure, base)
	}
	// A field that is not known conflicts with one that is.
	f := open(t)
	f.ok(ensure, base.without("nodeId").without("attemptId"))
	f.fails(ensure, base.without("attemptId"), core.CodeIntentConflict)
	f.fails(ensure, base.without("nodeId"), core.CodeIntentConflict)
}

// The workflow is no part of the id, but immutable.
func TestComputedIDHidesAConflict(t *testing.T) {
	f := open(t)
	f.ok(ensure, owed(nil))
	err := f.fails(ensure, owed(object{"workflowRef": "flow2", "fallbackFacts": turnFacts(object{"workflowName": "flow2"})}), core.CodeIntentConflict)
	equal(t, "fields", fmt.Sprint(err.Details["fields"]), "[workflowRef]")
}

// One owed turn a run and session.
func TestSecondPendingIntentOfARun(t *testing.T) {
	f := open(t)
	id := f.owe(object{"eligible": true})
	f.ok("claimWorkflowTurnIntentForRun", claimFor("run", "tok"))
	second := owed(object{"cause": "timedOut", "nodeId": "step"})
	err := f.fails(ensure, second, core.CodeIntentPending)
	f.wants("details", object(err.Details), object{
		"intentId": id, "runId": "run", "cause": "failed", "eligibleAt": stamp(0), "claimExpiresAt": stamp(lease),
	})
	f.owe(object{"runId": "run2"})
	f.owe(object{"targetSessionId": "other"})
	f.ok("resolveWorkflowTurnIntent", resolveTurn(id, "tok", "fallback"))
	f.ok(ensure, second) // a later event, once the turn was delivered
	equal(t, "intents", len(f.intents()), 4)
}

func TestIntentThatIsNotThere(t *testing.T) {
	f := open(t)
	f.owe(nil)
	for op, request := range map[string]object{
		"getWorkflowTurnIntent": {"intentId": "none"}, eligibly: {"intentId": "none"}, "listWorkflowTurnIntents": {"afterIntentId": "none", "limit": 1},
		"renewWorkflowTurnIntentClaim": holdTurn("none", "t"), "releaseWorkflowTurnIntentClaim": holdTurn("none", "t"),
		"resolveWorkflowTurnIntent": resolveTurn("none", "t", "fallback"),
	} {
		err := f.fails(op, request, core.CodeNotFound)
		equal(t, op, err.Details["intentId"], any("none"))
	}
	for _, request := range []object{{"runId": "run", "sessionId": "other"}, {"runId": "other", "sessionId": "own"}} {
		equal(t, "found", string(f.answer("findPendingWorkflowTurnIntent", request)), "null")
	}
}

func TestPendingIntentIsNotFound(t *testing.T) {
	f := open(t)
	f.owe(object{"runId": "run2"})
	f.owe(object{"targetSessionId": "other"})
	id := f.owe(nil)
	find := object{"runId": "run", "sessionId": "own"}
	f.wants("found", f.ok("findPendingWorkflowTurnIntent", find), object{"intentId": id, "targetSessionId": "own", "runId": "run"})
	f.wants("got", f.ok("getWorkflowTurnIntent", object{"intentId": id}), object{"intentId": id, "targetSessionId": "own"})
	f.ok("claimWorkflowTurnIntentForRun", claimFor("run", "tok"))
	for _, op := range []string{"findPendingWorkflowTurnIntent", "getWorkflowTurnIntent"} {
		have := f.ok(op, map[bool]object{true: find, false: {"intentId": id}}[op == "findPendingWorkflowTurnIntent"])
		if _, told := have["claimToken"]; told || have["deliveryClaimExpiresAt"] != stamp(lease) {
			t.Errorf("%s of a claimed intent: %v", op, have)
		}
	}
	f.ok("resolveWorkflowTurnIntent", resolveTurn(id, "tok", "fallback"))
	equal(t, "once resolved", string(f.answer("findPendingWorkflowTurnIntent", find)), "null")
	f.wants("resolved", f.ok("getWorkflowTurnIntent", object{"intentId": id}), object{"resolution": "fallback", "deliveryClaimExpiresAt": nil})
}

// fiveIntents stores a pending, an eligible and a resolved one, and two of others.
func fiveIntents(t *testing.T) *fixture {
	f := open(t)
	f.oweOf("c", "own", false)
	f.oweOf("b", "own", true)
	f.oweOf("a", "own", true)
	f.oweOf("d", "other", true)
	f.ok("claimWorkflowTurnIntentForRun", claimFor("a", "tok"))
	f.ok("resolveWorkflowTurnIntent", resolveTurn("i-a", "tok", "presentation"))
	f.owe(object{"runId": "a", "targetSessionId": "other", "intentId": "i-a2"})
	return f
}

func TestIntentListTakesOthers(t *testing.T) {
	f := fiveIntents(t)
	for _, c := range []struct {
		filter object
		want   string
	}{
		{nil, "i-c i-b i-a i-d i-a2"},
		{object{"sessionId": "own"}, "i-c i-b i-a"},
		{object{"sessionId": "other"}, "i-d i-a2"},
		{object{"sessionId": "nobody"}, ""},
		{object{"runId": "a"}, "i-a i-a2"},
		{object{"runId": "a", "sessionId": "other"}, "i-a2"},
		{object{"state": "pending"}, "i-c i-b i-d i-a2"},
		{object{"state": "eligible"}, "i-b i-d"},
		{object{"state": "resolved"}, "i-a"},
		{object{"state": "pending", "sessionId": "own"}, "i-c i-b"},
		{object{"state": "resolved", "runId": "b"}, ""},
		{object{"afterIntentId": "i-a"}, "i-d i-a2"},
		{object{"afterIntentId": "i-a2"}, ""},
		{object{"afterIntentId": "i-d", "sessionId": "own"}, ""},
		{object{"afterIntentId": "i-c", "state": "pending", "sessionId": "own"}, "i-b"},
	} {
		equal(t, fmt.Sprint(c.filter), turnIDs(f.list("listWorkflowTurnIntents", object{"limit": 100}.with(c.filter))), c.want)
	}
	for _, intent := range f.list("listWorkflowTurnIntents", object{"limit": 100}) {
		if _, told := intent["claimToken"]; told {
			t.Error("a list tells a token")
		}
	}
}

func TestIntentListSkipsOnItsPages(t *testing.T) {
	f := open(t)
	for i := range 7 {
		f.oweOf(fmt.Sprint("r", 7-i), "own", i%2 == 0)
	}
	all := turnIDs(f.list("listWorkflowTurnIntents", object{"limit": 100}))
	for size := 1; size <= 8; size++ {
		var pages []object
		request := object{"limit": size}
		for {
			page := f.list("listWorkflowTurnIntents", request)
			if len(page) == 0 {
				break
			}
			pages = append(pages, page...)
			request["afterIntentId"] = page[len(page)-1]["intentId"]
			if len(page) > size {
				t.Fatalf("a page of %d has %d", size, len(page))
			}
		}
		equal(t, fmt.Sprint("pages of ", size), turnIDs(pages), all)
	}
	equal(t, "order", all, "i-r7 i-r6 i-r5 i-r4 i-r3 i-r2 i-r1")
	for _, op := range []string{"listWorkflowTurnIntents", "sweepTurnIntents"} {
		for _, limit := range []any{0, -1, 101, "1", nil, 1.5} {
			f.refusesFact(op, object{"limit": limit}, "limit")
		}
	}
	equal(t, "empty", string(open(t).answer("listWorkflowTurnIntents", object{"limit": 1})), "[]")
}

// The first time of eligibility stands, the facts are the latest, and a claim stays.
func TestEligibilityMovesOn(t *testing.T) {
	f := open(t)
	id := f.owe(nil)
	f.owe(object{"runId": "run2", "intentId": "bystander"})
	f.ok("claimWorkflowTurnIntentForRun", claimFor("run", "tok"))
	before := f.intent(id)
	f.at(time1)
	f.wants("first", f.ok(eligibly, object{"intentId": id}), object{"eligibleAt": stamp(time1)})
	f.wants("facts stand", f.intent(id), before.with(object{"eligible_at": stamp(time1)}))

	f.at(2 * time1)
	facts := turnFacts(object{"observedState": "timed_out", "reason": "later", "nodeId": "step", "handoff": true})
	have := f.ok(eligibly, object{"intentId": id, "fallbackFacts": facts})
	f.wants("second", have, object{"eligibleAt": stamp(time1), "fallbackFacts": map[string]any(facts)})
	f.wants("all else stands", f.intent(id), before.with(object{
		"eligible_at": stamp(time1), "fallback_facts_json": string(compact(t, facts)),
	}))
	if _, told := have["claimToken"]; told {
		t.Error("the token is told")
	}
	f.wants("another", f.intent("bystander"), object{"eligible_at": nil, "fallback_facts_json": string(compact(t, turnFacts(object{"runId": "run2"})))})
}

func TestResolvedIntentIsMadeEligible(t *testing.T) {
	f := open(t)
	id := f.owe(nil)
	f.ok("claimWorkflowTurnIntentForRun", claimFor("run", "tok"))
	f.at(time1)
	f.ok("resolveWorkflowTurnIntent", resolveTurn(id, "tok", "workflowPrompt"))
	for _, request := range []object{{"intentId": id}, {"intentId": id, "fallbackFacts": turnFacts(object{"reason": "late"})}} {
		err := f.fails(eligibly, request, core.CodeIntentResolved)
		f.wants("details", object(err.Details), object{
			"intentId": id, "resolution": "workflowPrompt", "resolvedAt": stamp(time1), "resolutionMessageId": turnID("turn-message:", id, "workflowPrompt"),
		})
	}
}
