package core_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pi-workflows/wfcore/core"
)

// gridTurn is what an arrow asks for the turn of the run's session, written out by
// hand: the intent that it makes where none is pending, if any; what the facts say
// of the run; and whether a fallback may go. No other outcome touches a turn, and
// nobody owes one for a run without a session.
type gridTurn struct {
	cause, source, node string // of the intent that is made; "" makes none
	observed            string
	eligible            bool
}

var gridTurns = map[string]gridTurn{
	"starting>failed":    {"launchFailed", "queued-launch", "$launch", "failedToStart", true},
	"running>failed":     {"timedOut", "terminal", "$terminal", "timed_out", true}, // the ops say timed_out
	"running>done":       {"", "", "", "completed", true},                          // nobody said that it is presented
	"running>parked":     {"", "", "", "waiting", true},
	"queued>cancelled":   {"", "", "", "cancelled", false}, // nobody said that the agent did it
	"starting>cancelled": {"", "", "", "cancelled", false},
	"running>cancelled":  {"", "", "", "cancelled", false},
	"parked>cancelled":   {"", "", "", "cancelled", false},
}

// pending is the turn that is owed in a cell before the op, for an abort: another
// message path holds it.
func (c cell) pending() object {
	if c.owed != "pending" {
		return nil
	}
	return object{
		"intent_id": "abort", "source_event_id": "event", "run_id": "run", "workflow_ref": "flow", "target_session_id": "own",
		"cause": "agentCancelled", "node_id": "node", "attempt_id": "1",
		"fallback_facts_json": gridFacts("agentCancelled", "node", "1", "interrupted", "before"),
		"requested_at":        stamp(-lease), "eligible_at": nil, "resolved_at": nil, "resolution": nil, "resolution_message_id": nil,
		"delivery_claim_token": "theirs", "delivery_claim_expires_at": epoch.Add(lease).UnixMilli(),
	}
}

// turn is the intent that an outcome leaves, every column of it, or nil.
func (c cell) turn(outcome string) object {
	pending := c.pending()
	states := strings.Split(outcome, ">")
	last, ends := gridTurns[strings.Join(states[max(0, len(states)-2):], ">")]
	if !ends || c.run == "ownerless" {
		return pending
	}
	var reason any
	if stored, failed := gridErrors[c.op]; failed {
		reason = core.FailureMessage(stored.code, stored.detail)
	}
	switch {
	case pending != nil:
		if reason == nil {
			reason = "before"
		}
		pending["fallback_facts_json"] = gridFacts("agentCancelled", "node", "1", last.observed, reason)
		if last.eligible {
			pending["eligible_at"] = stamp(0)
		}
		return pending
	case last.cause == "":
		return nil
	}
	source := gridDigest("turn-source:", "run", last.source, last.node, "$none", last.cause)
	return object{
		"intent_id":       gridDigest("deferred-turn:", "own", "run", source, last.node, "$none", last.cause),
		"source_event_id": source, "run_id": "run", "workflow_ref": "flow", "target_session_id": "own",
		"cause": last.cause, "node_id": last.node, "attempt_id": nil,
		"fallback_facts_json": gridFacts(last.cause, last.node, nil, last.observed, reason),
		"requested_at":        stamp(0), "eligible_at": stamp(0), "resolved_at": nil, "resolution": nil, "resolution_message_id": nil,
		"delivery_claim_token": nil, "delivery_claim_expires_at": nil,
	}
}

// gridDigest is the contract's formula: the hash of a JSON array of strings.
func gridDigest(prefix string, parts ...string) string {
	text, _ := json.Marshal(parts) // plain ASCII, which every writer of JSON writes alike
	return fmt.Sprintf("%s%x", prefix, sha256.Sum256(text))
}

// gridFacts are stored with their fields in order.
func gridFacts(cause, node string, attempt any, observed string, reason any) string {
	text, _ := json.Marshal(object{
		"schema": "pi-workflows.deferred-turn-facts.v1", "workflowName": "flow", "runId": "run", "observedState": observed,
		"cause": cause, "nodeId": node, "attemptId": attempt, "reason": reason, "handoff": false,
	})
	return string(text)
}

// gridOwe stores the turn of a cell, in place of the one of the cell before.
func (f *fixture) gridOwe(c cell) {
	f.exec("DELETE FROM workflow_turn_intents WHERE intent_id NOT GLOB 'bystander-*'")
	if pending := c.pending(); pending != nil {
		f.insert("workflow_turn_intents", pending)
	}
}

// bystandingTurns are other turns of the cell's run, and those of the bystanders,
// which no cell may touch: one that was delivered, and those of other sessions.
func (f *fixture) bystandingTurns() {
	f.plantIntent(object{"intent_id": "bystander-delivered", "target_session_id": "own",
		"resolved_at": stamp(-lease), "resolution": "fallback", "resolution_message_id": "message"})
	f.plantIntent(object{"intent_id": "bystander-other", "target_session_id": "other"})
	for _, state := range gridStates {
		f.plantIntent(object{"intent_id": "bystander-" + state, "run_id": "bystander-" + state, "target_session_id": "session-" + state})
	}
}
