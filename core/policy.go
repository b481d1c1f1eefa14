package core

import (
	"slices"
	"strings"

	"github.com/pi-workflows/wfcore/db"
)

// TurnKind names what happened to a turn.
type TurnKind string

// Interruptions are told before the abort, outcomes after the durable state, and
// user acts start nothing.
const (
	TurnAgentCancel         TurnKind = "agentCancel"
	TurnStepTimeout         TurnKind = "stepTimeout"
	TurnControllerInterrupt TurnKind = "controllerInterrupt"
	TurnClaimLost           TurnKind = "claimLost"

	TurnFailed              TurnKind = "failed"
	TurnTimedOut            TurnKind = "timedOutTerminal"
	TurnCancelled           TurnKind = "cancelledTerminal"
	TurnCrashedBeforePrompt TurnKind = "crashedBeforePrompt"
	TurnLaunchFailed        TurnKind = "launchFailed"
	TurnPresentationDue     TurnKind = "presentationDue"
	TurnEndedQuietly        TurnKind = "endedQuietly"

	TurnUserCancel TurnKind = "userCancel"
	TurnPause      TurnKind = "pause"
	TurnEscape     TurnKind = "escape"
	TurnShutdown   TurnKind = "shutdown"
)

// creates says when an event makes an intent.
type creates string

const (
	createsNever creates = "never"
	// An active step is stopped, and neither a hold nor the closing of the session
	// did it.
	createsForStep creates = "where a step is active, not held, not closing"
	// As above, for an abort whose own intent could not be stored, and which was the
	// agent's act.
	createsForAgentsStep creates = "where the agent stopped an active step, not held, not closing"
	// The attempt has no intent of an abort yet.
	createsUnlessAborted creates = "unless its abort has one"
)

// eligibility says when the intent becomes eligible.
type eligibility string

const (
	eligibleNever    eligibility = "no"
	eligibleAtOnce   eligibility = "at once"
	eligibleAlone    eligibility = "where no recovery prompt is expected"
	eligibleHandoff  eligibility = "where it was handed off and no successor is expected"
	eligibleForAgent eligibility = "where the agent did it"
)

// policyRow is what one kind of event asks for.
type policyRow struct {
	kind TurnKind
	// in are the states of the run in which the event can be; nil is any.
	in       []Status
	cause    Cause  // of an intent that it makes
	source   string // of an intent that it makes
	node     string // of an intent that it makes; "" is the event's
	creates  creates
	eligible eligibility
	// observed is what the facts say of the run, where the event does not.
	observed string
}

// policy is the event policy. See docs/turns.md#policy.
var policy = []policyRow{
	{TurnAgentCancel, active, CauseAgentCancelled, SourceAgentStepAbort, "", createsForStep, eligibleNever, "interrupted"},
	{TurnStepTimeout, active, CauseTimedOut, SourceAgentStepAbort, "", createsForStep, eligibleAlone, "interrupted"},
	{TurnControllerInterrupt, active, CauseControllerInterrupted, SourceAgentStepAbort, "", createsForStep, eligibleHandoff, "interrupted"},
	{TurnClaimLost, active, CauseClaimLost, SourceAgentStepAbort, "", createsForStep, eligibleNever, "handedOff"},

	{TurnFailed, hasFailed, CauseFailed, SourceTerminal, NodeTerminal, createsUnlessAborted, eligibleAtOnce, "failed"},
	{TurnTimedOut, hasFailed, CauseTimedOut, SourceTerminal, NodeTerminal, createsUnlessAborted, eligibleAtOnce, "timed_out"},
	{TurnCancelled, wasCancelled, CauseAgentCancelled, SourceAgentStepAbort, "", createsForAgentsStep, eligibleForAgent, "cancelled"},
	{TurnCrashedBeforePrompt, hasFailed, CauseFailed, SourceQueuedLaunch, NodeLaunch, createsUnlessAborted, eligibleAtOnce, "failed"},
	{TurnLaunchFailed, hasFailed, CauseLaunchFailed, SourceQueuedLaunch, NodeLaunch, createsUnlessAborted, eligibleAtOnce, "failedToStart"},
	{TurnPresentationDue, doneOrWaiting, "", "", "", createsNever, eligibleNever, ""},
	{TurnEndedQuietly, doneOrWaiting, "", "", "", createsNever, eligibleAtOnce, ""},

	{kind: TurnUserCancel}, {kind: TurnPause}, {kind: TurnEscape}, {kind: TurnShutdown},
}

// The states of a run that events speak of.
var (
	active        = []Status{Running}
	hasFailed     = []Status{Failed}
	wasCancelled  = []Status{Cancelled}
	doneOrWaiting = []Status{Done, Parked}
)

// TurnKinds are all kinds, in the order of the policy.
var TurnKinds = func() (kinds []TurnKind) {
	for _, row := range policy {
		kinds = append(kinds, row.kind)
	}
	return kinds
}()

// interruptions are the causes of aborts.
var interruptions = []Cause{CauseAgentCancelled, CauseTimedOut, CauseControllerInterrupted, CauseClaimLost}

func policyOf(kind TurnKind) policyRow {
	return policy[slices.Index(TurnKinds, kind)]
}

// fits says whether the event can be one of a run that stands so. Of a code that is
// none of ours nothing is known.
func (row policyRow) fits(run db.Run) bool {
	code := FailureCode(text(run.ErrorCode))
	launch, ran := slices.Contains(LaunchFailures, code), slices.Contains(RunFailures, code)
	switch row.kind {
	case TurnLaunchFailed:
		launch, ran = ran, false
	case TurnTimedOut:
		ran = ran && code != FailureTimedOut
	case TurnFailed, TurnCrashedBeforePrompt:
		ran = false
	default:
		launch, ran = false, false
	}
	return (row.in == nil || slices.Contains(row.in, Status(run.Status))) && !launch && !ran
}

// TurnEvent is what the caller of an op knows of the turn that the end of a run
// stops or strands. Absent means: not held, not closing, nothing expected.
type TurnEvent struct {
	// NodeID and AttemptID name the step that was active. The node $launch says that
	// the run failed before its first prompt.
	NodeID    string `json:"nodeId,omitempty" check:"key"`
	AttemptID string `json:"attemptId,omitempty" check:"key"`
	// AbortCause is that of the abort that stopped the step, if there was one: its
	// intent is stored now where that failed before the abort.
	AbortCause Cause `json:"abortCause,omitempty" check:"interrupts"`
	// Held says that the user holds the workflow, Closing that the session shuts
	// down.
	Held    bool `json:"held,omitempty" check:"flag"`
	Closing bool `json:"closing,omitempty" check:"flag"`
	// RecoveryExpected says that a prompt of the workflow will go on from here.
	RecoveryExpected bool `json:"recoveryExpected,omitempty" check:"flag"`
	// PresentationExpected says that the result will be presented.
	PresentationExpected bool `json:"presentationExpected,omitempty" check:"flag"`
}

// turn is an event of a run, and all that the policy asks of it.
type turn struct {
	TurnEvent
	kind     TurnKind
	source   string // other than the policy's
	reason   string // safe
	observed string // other than the policy's
	origin   Origin
	handoff  bool
	paid     bool // what it owes was owed before
}

// ofStep says whether a step of the workflow was active.
func (e TurnEvent) ofStep() bool { return e.NodeID != "" && !strings.HasPrefix(e.NodeID, "$") }

// quiet says that the event starts nothing, whatever is pending.
func (e turn) quiet() bool {
	row := policyOf(e.kind)
	nothing := row.creates == createsForStep && (e.Held || e.Closing || !e.ofStep())
	return row.creates == "" || nothing
}

// creates says whether the event makes an intent where none is pending.
func (e turn) creates() bool {
	switch policyOf(e.kind).creates {
	case createsForStep, createsUnlessAborted:
		return true
	case createsForAgentsStep:
		return e.origin == OriginAgent && e.ofStep() && !e.Held && !e.Closing
	}
	return false
}

// eligible says whether no natural successor will come after the event.
func (e turn) eligible() bool {
	switch policyOf(e.kind).eligible {
	case eligibleAtOnce:
		return true
	case eligibleAlone:
		return !e.RecoveryExpected
	case eligibleHandoff:
		return e.handoff && !e.RecoveryExpected
	case eligibleForAgent:
		return e.origin == OriginAgent
	}
	return false
}

// handedOff says whether another runner can continue.
func (e turn) handedOff() bool {
	return e.kind == TurnClaimLost || e.kind == TurnControllerInterrupt && e.handoff
}

// afterAbort says whether the event is the outcome of what an abort stopped.
func (e turn) afterAbort() bool {
	row := policyOf(e.kind)
	return e.ofStep() && (row.node == NodeTerminal || row.creates == createsForAgentsStep)
}

// sourceOf is the source transition of an intent that the event makes. The outcome
// of an abort has the abort's, so that its turn is owed once.
func (e turn) sourceOf(runID, session string) TurnSource {
	row := policyOf(e.kind)
	if e.AbortCause != "" && e.afterAbort() {
		return abortSource(runID, session, e.TurnEvent, e.AbortCause)
	}
	s := TurnSource{session, runID, or(e.source, row.source), row.node, "", row.cause}
	if row.node == "" {
		s.NodeID, s.AttemptID = e.NodeID, e.AttemptID
	}
	return s
}

func abortSource(runID, session string, e TurnEvent, cause Cause) TurnSource {
	return TurnSource{session, runID, SourceAgentStepAbort, e.NodeID, e.AttemptID, cause}
}

// outcome is the event of a run that has ended, or waits.
func outcome(from, to Status, code FailureCode, e TurnEvent) TurnKind {
	switch {
	case to == Failed && from == Starting:
		return TurnLaunchFailed
	case to == Failed && e.NodeID == NodeLaunch:
		return TurnCrashedBeforePrompt
	case to == Failed && code == FailureTimedOut:
		return TurnTimedOut
	case to == Failed:
		return TurnFailed
	case to == Cancelled:
		return TurnCancelled
	case e.PresentationExpected:
		return TurnPresentationDue
	}
	return TurnEndedQuietly
}
