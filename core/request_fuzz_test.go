package core_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// FuzzCall sends any text to any op: it must answer JSON, or an error of the table
// that changed nothing. Op counts through the op table; one past it is unknown.
func FuzzCall(f *testing.F) {
	for i, op := range core.Ops {
		text, err := json.Marshal(sound[op.Name])
		must(f, err)
		f.Add(byte(i), string(text))
		text, err = json.Marshal(ofTheRunning(sound[op.Name]))
		must(f, err)
		f.Add(byte(i), string(text))
		f.Add(byte(i), `{"runId":"running","claimToken":"right","now":"`+stamp(lease)+`"}`)
		f.Add(byte(i), `{"runId":"starting","claimToken":"right","sessionId":"session-starting","runnerId":"r"}`)
	}
	for _, finding := range gridOps {
		if finding.op == "recoverExpiredStartingRun" {
			text, err := json.Marshal(finding.request.with(object{"runId": "starting", "sessionId": "session-starting", "expectedClaimToken": "right", "now": stamp(lease)}))
			must(f, err)
			f.Add(byte(slices.IndexFunc(core.Ops, func(op core.Op) bool { return op.Name == finding.op })), string(text))
		}
	}
	f.Add(byte(len(core.Ops)), `{}`)
	f.Add(byte(1), "{\"runId\":\"\\ud800\",\"a\":\"\xff\"}")

	s := open(f)
	f.Fuzz(func(t *testing.T, op byte, request string) {
		s.TB = t
		s.inhabit()
		name := "unknown"
		if i := int(op) % (len(core.Ops) + 1); i < len(core.Ops) {
			name = core.Ops[i].Name
		}
		before := s.dump()
		answer, err := s.call(name, request)
		if err == nil {
			if !json.Valid(answer) {
				t.Errorf("%s %q answered %q", name, request, answer)
			}
			return
		}
		own, ok := err.(*core.Error)
		if !ok || !slices.ContainsFunc(core.Codes, func(info core.CodeInfo) bool { return info.Code == own.Code }) {
			t.Fatalf("%s %q: unknown error %v", name, request, err)
		}
		if own.Code == core.CodeStoreUnavailable {
			t.Errorf("%s %q reached SQLite: %v", name, request, own.Unwrap())
		}
		if after := s.dump(); !slices.Equal(before, after) {
			t.Errorf("%s %q: %v changed the store:\n%s", name, request, err, changes(before, after))
		}
	})
}

// ofTheRunning is a request that speaks of what inhabit made of the running run.
func ofTheRunning(request object) object {
	out := request.with(nil)
	for name, value := range map[string]string{"runId": "running", "sessionId": "session-running", "targetSessionId": "session-running",
		"claimToken": "right", "intentId": "intent-running", "notificationId": "report-running"} {
		if _, has := out[name]; has {
			out[name] = value
		}
	}
	return out
}

// inhabit makes a run in each state, with a turn and a report that are owed to its
// session, and nothing else.
func (f *fixture) inhabit() {
	for _, table := range []string{"workflow_run_queue", "run_events", "workflow_turn_intents", "workflow_notifications"} {
		f.exec("DELETE FROM " + table)
	}
	claim := object{"delivery_claim_token": "right", "delivery_claim_expires_at": epoch.UnixMilli() + 1}
	turns := map[string]object{
		"queued": {"eligible_at": stamp(-lease)}, "starting": {"eligible_at": stamp(-lease)}, "running": claim, "parked": claim,
		"done": {}, "failed": {}, "cancelled": {"resolved_at": stamp(0), "resolution": "fallback", "resolution_message_id": "message"},
	}
	for _, state := range gridStates {
		row := cell{state: state, claim: "live", run: "owned"}.planted()
		session := "session-" + state
		f.insert("workflow_run_queue", row.with(object{"run_id": state, "origin_session_id": session, "parent_run_id": nil}))
		f.plantIntent(turns[state].with(object{"intent_id": "intent-" + state, "run_id": state, "target_session_id": session}))
		f.insert("workflow_notifications", object{
			"notification_id": "report-" + state, "run_id": state, "node_id": "node", "attempt_id": "1", "notification_index": 1,
			"target_session_id": session, "kind": "progress", "content": "half of it", "created_at": stamp(0),
		}.with(claim))
	}
}
