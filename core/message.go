package core

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pi-workflows/wfcore/core/safetext"
)

// The custom types of messages that resolve an intent, as they stand in a session.
const (
	TypeAgentStep    = "pi-workflows-agent-step"
	TypePresentation = "pi-workflows-presentation"
	TypeDeferredTurn = "pi-workflows-deferred-turn"
)

// MessageType says as what a message of a custom type resolves the intent that its
// details name.
type MessageType struct {
	CustomType string     `json:"customType"`
	Resolution Resolution `json:"resolution"`
}

// MessageTypes are all of them. See docs/turns.md#messages.
var MessageTypes = []MessageType{
	{TypeAgentStep, ByWorkflowPrompt}, {TypePresentation, ByPresentation}, {TypeDeferredTurn, ByFallback},
}

// resolutionOf is "" for a type that resolves nothing.
func resolutionOf(customType string) Resolution {
	i := slices.IndexFunc(MessageTypes, func(m MessageType) bool { return m.CustomType == customType })
	if i < 0 {
		return ""
	}
	return MessageTypes[i].Resolution
}

// MessageSchema names the form of MessageDetails.
const MessageSchema = "pi-workflows.deferred-turn-message.v1"

// MessageDetails are the details of a fallback; turnIntentId is how a session is
// searched for it.
type MessageDetails struct {
	Schema       string `json:"schema"`
	TurnIntentID string `json:"turnIntentId"`
	RunID        string `json:"runId"`
	Cause        Cause  `json:"cause"`
}

// SendOptions are how a fallback is sent.
type SendOptions struct {
	DeliverAs   string `json:"deliverAs"`
	TriggerTurn bool   `json:"triggerTurn"`
}

// Message is a fallback: what the model is told of a turn that was stopped or
// stranded.
type Message struct {
	CustomType string         `json:"customType"`
	Content    string         `json:"content"`
	Display    bool           `json:"display"`
	Details    MessageDetails `json:"details"`
	Options    SendOptions    `json:"options"`
}

// FallbackMessage states the observed facts of an intent and asks to inspect durable
// state first. It claims no recovery, and calls no handoff terminal.
// See docs/turns.md#messages.
func FallbackMessage(i Intent) Message {
	return Message{
		CustomType: TypeDeferredTurn,
		Content:    fallbackText(readFacts(i)),
		Display:    true,
		Details:    MessageDetails{MessageSchema, i.IntentID, i.RunID, i.Cause},
		Options:    SendOptions{DeliverAs: "followUp", TriggerTurn: true},
	}
}

// stands is what is said of a run in an observed state; any other is named.
var stands = map[string]string{
	"failedToStart": "failed to start",
	"interrupted":   "was interrupted",
	"failed":        "failed",
	"timed_out":     "ran out of time",
	"cancelled":     "was cancelled",
	"completed":     "has completed",
	"waiting":       "waits",
}

// stopped is why the turn was stopped or stranded.
var stopped = map[Cause]string{
	CauseAgentCancelled:        "the agent cancelled the workflow",
	CauseTimedOut:              "a step ran out of time",
	CauseFailed:                "the workflow failed",
	CauseLaunchFailed:          "the launch failed",
	CauseControllerInterrupted: "a controller interrupted it",
	CauseClaimLost:             "its runner lost the claim",
}

const inspectFirst = "Inspect the durable state of this run before you decide whether a correction that you are authorized to make is needed. " +
	"This message resumed and retried nothing."

func fallbackText(f Facts) string {
	workflow, run, reason := brief(f.WorkflowName), brief(f.RunID), strings.TrimSuffix(safetext.Plain(text(f.Reason)), ".")
	if f.Cause == CauseLaunchFailed && !f.Handoff {
		return fmt.Sprintf("Workflow %s failed to start (run %s): %s.\n"+
			"Inspect the error and call workflow start again only after you correct the cause.", workflow, run, or(reason, "no reason was stored"))
	}
	if reason != "" {
		reason = " Reason: \"" + strings.ReplaceAll(reason, `"`, "'") + "\"."
	}
	if f.Handoff {
		return fmt.Sprintf("A turn of workflow %s was stopped here, and another runner can continue its run (run %s%s).%s\n%s",
			workflow, run, stepOf(f), reason, inspectFirst)
	}
	state := or(stands[f.ObservedState], "is "+brief(f.ObservedState))
	return fmt.Sprintf("Workflow %s %s (run %s%s). A turn of it was stopped because %s.%s\n%s",
		workflow, state, run, stepOf(f), or(stopped[f.Cause], "it was interrupted"), reason, inspectFirst)
}

// stepOf names node and attempt where they are a step's.
func stepOf(f Facts) string {
	step := ""
	if node := text(f.NodeID); node != "" && !strings.HasPrefix(node, "$") {
		step = ", node " + brief(node)
	}
	if attempt := text(f.AttemptID); attempt != "" {
		step += ", attempt " + brief(attempt)
	}
	return step
}
