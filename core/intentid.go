package core

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/pi-workflows/wfcore/core/strictjson"
)

// What stands in an identity for a part that is not known.
const (
	unknownSource  = "run"
	unknownNode    = "$run"
	unknownAttempt = "$none"
)

// TurnSource is the source transition of a turn intent: where it came from, apart
// from how often it is told. An empty field is not known.
type TurnSource struct {
	SessionID string
	RunID     string
	// Source is one of SourceQueuedLaunch, SourceAgentStepAbort and SourceTerminal,
	// or another host's.
	Source    string
	NodeID    string
	AttemptID string
	Cause     Cause
}

// Sources in use.
const (
	SourceQueuedLaunch   = "queued-launch"
	SourceAgentStepAbort = "agent-step-abort"
	SourceTerminal       = "terminal"
)

// Nodes that are no step of a workflow.
const (
	NodeLaunch   = "$launch"
	NodeTerminal = "$terminal"
)

// SourceEventID is the identity of the source transition, the same however often
// and by whom it is told. See docs/turns.md#identity.
func (s TurnSource) SourceEventID() string {
	return digest("turn-source:", s.RunID, or(s.Source, unknownSource), or(s.NodeID, unknownNode),
		or(s.AttemptID, unknownAttempt), string(s.Cause))
}

// IntentID is the identity of the turn that the source transition owes.
// See docs/turns.md#identity.
func (s TurnSource) IntentID() string { return s.intentIDOf(s.SourceEventID()) }

func (s TurnSource) intentIDOf(sourceEventID string) string {
	return digest("deferred-turn:", s.SessionID, s.RunID, sourceEventID, or(s.NodeID, unknownNode),
		or(s.AttemptID, unknownAttempt), string(s.Cause))
}

// MessageID is the identity of the message that resolves an intent on a path.
// See docs/turns.md#identity.
func MessageID(intentID string, resolution Resolution) string {
	return digest("turn-message:", intentID, string(resolution))
}

// digest hashes the JSON text of the parts, as JavaScript's JSON.stringify writes
// it.
func digest(prefix string, parts ...string) string {
	text := []byte{'['}
	for i, part := range parts {
		if i > 0 {
			text = append(text, ',')
		}
		text = strictjson.AppendString(text, part)
	}
	sum := sha256.Sum256(append(text, ']'))
	return prefix + hex.EncodeToString(sum[:])
}

// or is a text, or another where it is empty.
func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
