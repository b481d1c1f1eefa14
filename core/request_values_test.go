package core_test

import (
	"slices"
	"strings"
)

// sound is a request of every op that is taken: it has all fields.
var sound = map[string]object{
	"newRunId": {"workflowName": "flow"},
	"reservePreparedRun": {
		"runId": "run", "workflowName": "flow", "workflowSourceRef": "file:flow", "workflowSource": object{"id": "flow"},
		"definitionDigest": "digest-1", "input": object{"a": 1}, "launchOptions": object{"b": 2},
		"affinityRunnerId": "home", "originSessionId": "session", "parentRunId": "parent",
	},
	"claimPreparedRun":       soundClaim,
	"claimNextRun":           {"sessionId": "session", "runnerId": "runner", "claimToken": "tok", "leaseMs": leaseMS},
	"resumeParkedRun":        soundClaim,
	"takeOverExpiredRun":     soundClaim,
	"markPreparedRunRunning": {"runId": "run", "claimToken": "tok", "definitionDigest": "digest-1"},
	"failPreparedRun":        {"runId": "run", "claimToken": "tok", "errorCode": "input_invalid", "errorMessage": "no", "turnEvent": soundTurn},
	"cancelPreparedRun":      {"runId": "run", "sessionId": "session", "claimToken": "tok", "origin": "user", "turnEvent": soundTurn},
	"parkRunningRun":         {"runId": "run", "claimToken": "tok", "paused": true, "turnEvent": soundTurn},
	"finishRunningRun":       {"runId": "run", "claimToken": "tok", "status": "failed", "errorCode": "timed_out", "errorMessage": "no", "turnEvent": soundTurn},
	"renewRunClaim":          {"runId": "run", "claimToken": "tok", "leaseMs": leaseMS},
	"verifyRunClaim":         {"runId": "run", "claimToken": "tok"},
	"releaseRunClaim":        {"runId": "run", "claimToken": "tok"},
	"recoverExpiredStartingRun": {"runId": "run", "sessionId": "session", "expectedClaimToken": "tok", "turnEvent": soundTurn,
		"finding": soundFinding},
	"findSessionReservation": {"sessionId": "session"},
	"listRecoverableRuns":    {"sessionId": "session", "runId": "run", "limit": 10},
	"getRun":                 {"runId": "run"},
	"listRuns":               {"sessionId": "session", "status": "queued", "beforeRunId": "run", "limit": 10},
	"recordRunEvent":         {"runId": "run", "type": "claim_lost", "runnerId": "runner", "payload": object{"a": 1}},
	"listRunEvents":          {"runId": "run", "afterSeq": 1, "limit": 10},

	"noteTurnEvent":    soundNote,
	"sweepTurnIntents": {"sessionId": "session", "limit": 10},
	"ensureWorkflowTurnIntent": {
		"runId": "run", "workflowRef": "flow", "targetSessionId": "session", "cause": "failed", "source": "terminal", "nodeId": "node",
		"attemptId": "1", "sourceEventId": "event", "intentId": "intent", "fallbackFacts": soundFacts, "eligible": true,
	},
	"getWorkflowTurnIntent":                      {"intentId": "intent"},
	"findPendingWorkflowTurnIntent":              {"runId": "run", "sessionId": "session"},
	"listWorkflowTurnIntents":                    {"sessionId": "session", "runId": "run", "state": "pending", "afterIntentId": "intent", "limit": 10},
	"makeWorkflowTurnIntentEligible":             {"intentId": "intent", "fallbackFacts": soundFacts},
	"claimWorkflowTurnIntentForRun":              {"runId": "run", "sessionId": "session", "claimToken": "tok", "leaseMs": leaseMS},
	"claimEligibleWorkflowTurnIntentsForSession": {"sessionId": "session", "claimToken": "tok", "leaseMs": leaseMS, "limit": 10},
	"renewWorkflowTurnIntentClaim":               {"intentId": "intent", "claimToken": "tok", "leaseMs": leaseMS},
	"releaseWorkflowTurnIntentClaim":             {"intentId": "intent", "claimToken": "tok"},
	"resolveWorkflowTurnIntent":                  {"intentId": "intent", "claimToken": "tok", "resolution": "fallback"},

	"nextLaunchStep": {"state": object{"runnerId": "runner"}, "seen": object{
		"input": object{"a": 1},
		"kind":  "found", "step": "inspect", "runId": "run", "idle": true, "pendingMessages": true, "definitionDigest": "digest-1",
		"outcome": "failed", "code": "run_failed", "message": "no", "turnEvent": soundTurn, "finding": soundFinding,
		"answer": object{}, "error": object{},
	}},
	"nextTurnStep": {"state": object{"sessionId": "session"}, "seen": object{
		"kind": "looked", "step": "look", "idle": true, "held": true, "turn": 1, "messageId": "message", "resolution": "presentation",
		"runId": "run", "stored": true, "note": soundNote, "found": "pi-workflows-presentation", "answer": object{}, "error": object{},
	}},

	"enqueueWorkflowNotification": {
		"runId": "run", "nodeId": "node", "attemptId": "1", "notificationIndex": 1, "targetSessionId": "session",
		"kind": "progress", "content": "half of it",
	},
	"claimPendingWorkflowNotifications": {"sessionId": "session", "claimToken": "tok", "leaseMs": leaseMS, "limit": 10},
	"markWorkflowNotificationDelivered": {"notificationId": "report", "claimToken": "tok"},
	"listWorkflowNotifications":         {"runId": "run", "skip": 1, "limit": 10},
}

var (
	soundClaim = object{"runId": "run", "sessionId": "session", "runnerId": "runner", "claimToken": "tok", "leaseMs": leaseMS}
	soundTurn  = object{"nodeId": "node", "attemptId": "1", "abortCause": "timedOut", "held": true, "closing": true,
		"recoveryExpected": true, "presentationExpected": true}
	soundFinding = object{"kind": "running", "runnerId": "runner", "claimToken": "new", "leaseMs": leaseMS}
	soundFacts   = object{
		"schema": "pi-workflows.deferred-turn-facts.v1", "workflowName": "flow", "runId": "run", "observedState": "failed",
		"cause": "failed", "nodeId": "node", "attemptId": nil, "reason": "no", "handoff": false,
	}
	soundNote = soundTurn.with(object{"runId": "run", "sessionId": "session", "kind": "agentCancel", "source": "agent-step-abort",
		"reason": "no", "observedState": "interrupted", "origin": "agent", "handoff": true})
)

// notAtOnce are the fields of which a request has some only: getRun takes one of
// two, and a finding those of its kind.
func notAtOnce(op, name string) bool {
	return op+"."+name == "getRun.sessionId" || ofAnEnd(name)
}

// ofAnEnd says that a field belongs to a finding of another kind than soundFinding.
func ofAnEnd(name string) bool {
	_, field, within := strings.Cut(name, "finding.")
	return within && slices.Contains([]string{"status", "code", "message", "origin"}, field)
}

// soundWith is a sound request in which a field may stand.
func soundWith(op, name string) object {
	if ofAnEnd(name) {
		path, field, _ := strings.Cut(name, "finding.")
		ended := object{"kind": "terminal", "status": "failed"}
		if field == "origin" {
			ended["status"] = "cancelled"
		}
		return replaced(sound[op], path+"finding", ended)
	}
	return sound[op]
}

// agreeing is a request in which a field has another value, and the facts too, which
// must speak of the same.
func agreeing(op, name string, value any) object {
	request := replaced(soundWith(op, name), name, value)
	fact, names := map[string]string{"runId": "runId", "workflowRef": "workflowName", "cause": "cause"}[name]
	if names && op == "ensureWorkflowTurnIntent" {
		return replaced(request, "fallbackFacts."+fact, value)
	}
	return request
}

func units(n int) string { return strings.Repeat("k", n) }

// faces are characters of two UTF-16 code units each, and four bytes.
func faces(n int) string { return strings.Repeat("\U0001F600", n) }

// badValues are values that no field of a rule takes, by the rule's name.
var badValues = map[string][]any{
	"key":     {"", units(513), faces(256) + "k", "a\x00b", "a\nb", "a\x1bb", "a\x7fb", "a\u0085b"},
	"known":   {"", units(513)},
	"seen":    {1, true},
	"runid":   {"", "-run", ".run", "_run", "a/b", "a b", "é", "run\n", units(201)},
	"ref":     {"", units(513), "a\nb", "https://user:tok@host/x", "https://tok@host/x"},
	"source":  {"https://user:tok@host/x", object{"deep": []any{object{"url": "https://user:tok@host/x"}}}, object{"x": units(64 << 10)}},
	"input":   {units(1<<20 - 1)}, // with its quotes a byte too much
	"options": {[]int{}, "text", 1, object{"x": units(64 << 10)}},
	"payload": {[]int{}, "text", 1, object{"x": units(8 << 10)}},
	"detail":  {units(1<<20 + 1)},
	"lease":   {0, -1, 3_600_001, 1.5, 1e300},
	"limit":   {0, -1, 101, 1.5},
	"seq":     {-1, 0.5, 1e17},
	"flag":    {0, "true"},
	"status":  {"", "claimed", "Queued"}, "launch": {"", "other", "run_failed"}, "failure": {"", "other", "input_invalid"},
	"anycode": {"", "other"}, "outcome": {"", "cancelled", "parked"}, "ended": {"", "parked"}, "event": {"", "running", "other"},
	"origin": {"", "host"}, "finding": {"", "lost"},

	"cause":       {"", "other", "Failed", "agentCancel"},
	"interrupts":  {"", "failed", "launchFailed"}, // no abort has these
	"resolution":  {"", "other", "Fallback"},
	"intentState": {"", "claimed", "Pending"},
	"turnKind":    {"", "cancelled", "agentCancelled"},
	"turnSeen":    {"", "built", "Poll"}, "turnStep": {"", "build", "looked"},
	"launchSeen": {"", "looked", "Poll"}, "launchStep": {"", "send", "built"},
	"engine": {"", "cancelled", "parked"}, "report": {"", "launch_failure", "Final"},
	"reason":  {units(8193), faces(4096) + "k"},
	"content": {"", units(64<<10 + 1)},
	"index":   {0, -1, 1.5, 1e17},
	"skip":    {-1, 0.5, 1e17},
	"answer":  {units(16<<20 - 1)},
	"facts":   badFacts(),

	"turnState":   {[]int{}, "text", 1, object{}, object{"sessionId": ""}, object{"sessionId": 1}, object{"runnerId": "r"}, object{"x": units(4 << 20)}},
	"launchState": {[]int{}, "text", 1, object{}, object{"runnerId": ""}, object{"runnerId": 1}, object{"sessionId": "s"}, object{"x": units(4 << 20)}},
}

// badFacts lack one field, or hold one that is not as it should be.
func badFacts() []any {
	bad := []any{[]int{}, "text", 1, object{}, soundFacts.with(object{"extra": 1}), soundFacts.with(object{"x": units(64 << 10)})}
	for name := range soundFacts {
		bad = append(bad, replaced(soundFacts, name, absent), soundFacts.with(object{name: 1}), soundFacts.with(object{name: object{}}))
	}
	for name, values := range map[string][]any{
		"schema":        {"", nil, "pi-workflows.deferred-turn-facts.v2"},
		"workflowName":  {"", nil, "other", units(513)},
		"runId":         {"", nil, "other", units(513)},
		"observedState": {"", nil, "a\nb", units(513)},
		"cause":         {"", nil, "other", "timedOut"},
		"nodeId":        {"", "a\nb", units(513)},
		"attemptId":     {"", "a\nb", units(513)},
		"reason":        {units(8193), faces(4096) + "k"},
		"handoff":       {nil, "true"},
	} {
		for _, value := range values {
			bad = append(bad, soundFacts.with(object{name: value}))
		}
	}
	return bad
}

// goodValues are the greatest that a rule takes, and the least.
var goodValues = map[string][]any{
	"key":     {"k", units(512), faces(256), "a b/é\u00a0"},
	"known":   {"k", units(512), "run:1/x", "a\nb"},
	"runid":   {"r", "0._-Z", units(200)},
	"ref":     {units(512), "builtin:monitor", "https://host/x?a=b@c", "/a/user@host/x"},
	"source":  {"text", []any{}, object{"x": units(64<<10 - 8)}},
	"input":   {nil, 1, "text", []int{}, units(1<<20 - 2)},
	"lease":   {1, 3_600_000, 1e3},
	"limit":   {1, 100},
	"reason":  {"", units(8192), faces(4096), "a\nb"},
	"content": {"k", units(64 << 10), "a\nb\x1b[0m"},
	"index":   {1, 1 << 53},
	"skip":    {0, 1 << 53},
	"answer":  {nil, 1, "text", []int{}, units(16<<20 - 2)},
	"facts": {
		soundFacts.with(object{"reason": units(8192)}), soundFacts.with(object{"reason": faces(4096)}), soundFacts.with(object{"reason": ""}),
		soundFacts.with(object{"nodeId": nil, "attemptId": nil, "reason": nil}), soundFacts.with(object{"nodeId": units(512), "observedState": "k", "handoff": true}),
	},
}
