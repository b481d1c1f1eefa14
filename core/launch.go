package core

import (
	"context"
	"encoding/json"
)

// The launch coordinator says what a host has to do next so that each queued run is
// activated once. It is pure, like the turn coordinator: state and one thing seen
// in, state and one step out. See docs/contract.md#activation.

// LaunchSeenKind names what a host saw.
type LaunchSeenKind string

const (
	LaunchSessionStart LaunchSeenKind = "sessionStart"
	LaunchSettled      LaunchSeenKind = "settled"
	LaunchPoll         LaunchSeenKind = "poll"
	LaunchNode         LaunchSeenKind = "node"  // a node of the running run is about to act
	LaunchEnded        LaunchSeenKind = "ended" // the engine of the running run has ended, or waits
	LaunchShutdown     LaunchSeenKind = "shutdown"
	// What came of a build.
	LaunchBuilt       LaunchSeenKind = "built"
	LaunchBuildFailed LaunchSeenKind = "buildFailed"
	// The results of a step.
	LaunchAnswered LaunchSeenKind = "answered"
	LaunchRefused  LaunchSeenKind = "refused"
	LaunchFound    LaunchSeenKind = "found"
	LaunchDone     LaunchSeenKind = "done"
)

var launchSeenKinds = []LaunchSeenKind{
	LaunchSessionStart, LaunchSettled, LaunchPoll, LaunchNode, LaunchEnded, LaunchShutdown,
	LaunchBuilt, LaunchBuildFailed, LaunchAnswered, LaunchRefused, LaunchFound, LaunchDone,
}

// EngineOutcome is how an engine ended.
type EngineOutcome string

const (
	EngineDone    EngineOutcome = "done"
	EngineFailed  EngineOutcome = "failed"
	EngineWaiting EngineOutcome = "waiting"
	EnginePaused  EngineOutcome = "paused" // by the user
)

// LaunchSeen is one thing that a host saw.
type LaunchSeen struct {
	Kind LaunchSeenKind `json:"kind" check:"launchSeen"`
	// Step is the kind of the step that this is the result of. A build and a run go on
	// beside other steps: RunID names what was built or has ended.
	Step  LaunchStepKind `json:"step,omitempty" check:"launchStep"`
	RunID string         `json:"runId,omitempty" check:"known"`
	// Idle says that no turn is active, and that another run may start; PendingMessages
	// that messages wait. A detached host has no turns, and is idle unless it is busy.
	Idle            bool `json:"idle,omitempty" check:"flag"`
	PendingMessages bool `json:"pendingMessages,omitempty" check:"flag"`
	// DefinitionDigest is that of what was built.
	DefinitionDigest string `json:"definitionDigest,omitempty" check:"key"`
	// Outcome is how the engine ended; Code and Message say why it, or a build, failed.
	Outcome EngineOutcome `json:"outcome,omitempty" check:"engine"`
	Code    FailureCode   `json:"code,omitempty" check:"anycode"`
	Message string        `json:"message,omitempty" check:"detail"`
	// Input is the private input of the run that has ended, where the host has it: what
	// Message quotes of it is taken out. It is kept nowhere.
	Input json.RawMessage `json:"input,omitempty" check:"input"`
	// TurnEvent is what is known of the turn that the end strands.
	TurnEvent *TurnEvent `json:"turnEvent,omitempty"`
	// Finding is what is left of an expired run.
	Finding *Finding `json:"finding,omitempty"`
	// Answer and Error are those of the op of the step.
	Answer json.RawMessage `json:"answer,omitempty" check:"answer"`
	Error  json.RawMessage `json:"error,omitempty" check:"answer"`
}

// LaunchStepKind names what a host does next.
type LaunchStepKind string

const (
	DoWait        LaunchStepKind = "wait"        // nothing, until the host sees something
	DoList        LaunchStepKind = "list"        // call the op
	DoInspect     LaunchStepKind = "inspect"     // say what is left of the run
	DoRecover     LaunchStepKind = "recover"     // call the op
	DoTakeOver    LaunchStepKind = "takeOver"    // call the op
	DoClaim       LaunchStepKind = "claim"       // call the op
	DoBuild       LaunchStepKind = "build"       // build the engine of the run, run no node
	DoWriteBundle LaunchStepKind = "writeBundle" // write the run bundle, input included
	DoMarkRunning LaunchStepKind = "markRunning" // call the op
	DoRun         LaunchStepKind = "run"         // let the engine act
	DoRenew       LaunchStepKind = "renew"       // call the op
	DoVerify      LaunchStepKind = "verify"      // call the op
	DoFail        LaunchStepKind = "fail"        // call the op
	DoFinish      LaunchStepKind = "finish"      // call the op
	DoPark        LaunchStepKind = "park"        // call the op
	DoCancel      LaunchStepKind = "cancel"      // call the op
	DoStop        LaunchStepKind = "stop"        // end the engine and what it built, run nothing more
	DoRelease     LaunchStepKind = "release"     // call the op
	DoRecord      LaunchStepKind = "record"      // call the op
)

var launchStepKinds = []LaunchStepKind{
	DoWait, DoList, DoInspect, DoRecover, DoTakeOver, DoClaim, DoBuild, DoWriteBundle, DoMarkRunning, DoRun, DoRenew, DoVerify,
	DoFail, DoFinish, DoPark, DoCancel, DoStop, DoRelease, DoRecord,
}

// LaunchStep is what a host does next.
type LaunchStep struct {
	Kind LaunchStepKind `json:"kind"`
	// Op and Request are a call of the op table; its result is seen as `answered` or
	// `refused`.
	Op      string          `json:"op,omitempty"`
	Request json.RawMessage `json:"request,omitempty"`
	RunID   string          `json:"runId,omitempty"`
	// Run is the claimed run of `build`, with its private input.
	Run *Run `json:"run,omitempty"`
	// Resumed says of `run` that the bundle of an earlier runner goes on.
	Resumed bool `json:"resumed,omitempty"`
	// Why says of `stop` what happened.
	Why StopReason `json:"why,omitempty"`
}

// StopReason says why an engine is stopped.
type StopReason string

const (
	StopCancelled StopReason = "cancelled"
	StopEnded     StopReason = "ended" // by another host
	StopClaimLost StopReason = "claimLost"
	StopFailed    StopReason = "failed"
	StopShutdown  StopReason = "shutdown"
)

// LaunchState is what a host keeps of its launches between two steps. Its zero
// value, with a runner, is a start.
type LaunchState struct {
	// SessionID is the host's session; without one it is a detached host.
	SessionID string `json:"sessionId,omitempty"`
	RunnerID  string `json:"runnerId"`
	LeaseMS   int64  `json:"leaseMs,omitempty"`
	// RunID, given, is the one run to activate.
	RunID string `json:"runId,omitempty"`
	// RecoverOnly says to settle expired runs, and to claim no queued one.
	RecoverOnly bool `json:"recoverOnly,omitempty"`

	Asked  LaunchStepKind `json:"asked,omitempty"` // the step whose result is awaited
	Token  string         `json:"token,omitempty"` // of a claim whose outcome is open
	Hold   *held          `json:"hold,omitempty"`
	Todo   []expiredRun   `json:"todo,omitempty"`
	Closed bool           `json:"closed,omitempty"`
	Pass   launchPass     `json:"pass"`
}

// launchPass is what was done since something outside was seen.
type launchPass struct {
	MayStart bool `json:"mayStart,omitempty"`
	Look     bool `json:"look,omitempty"` // at the claim
	Listed   bool `json:"listed,omitempty"`
	Full     bool `json:"full,omitempty"`    // the list may go on
	Settled  bool `json:"settled,omitempty"` // at least one of the list was
	Claimed  bool `json:"claimed,omitempty"`
	Blocked  bool `json:"blocked,omitempty"` // nothing more until something is seen
}

// expiredRun is a run of the list whose owner is gone.
type expiredRun struct {
	RunID  string `json:"runId"`
	Status Status `json:"status"`
	Token  string `json:"token,omitempty"` // the dead one
}

// held is the one run that is being recovered, activated or run.
type held struct {
	RunID     string      `json:"runId"`
	Phase     launchPhase `json:"phase"`
	Token     string      `json:"token,omitempty"`
	ExpiresAt string      `json:"expiresAt,omitempty"` // as last seen; "" is not known
	RenewedMS int64       `json:"renewedMs,omitempty"`
	EndMS     int64       `json:"endMs,omitempty"` // of the lease, as far as it is known to live
	Digest    string      `json:"digest,omitempty"`
	Finding   *Finding    `json:"finding,omitempty"`
	Regain    bool        `json:"regain,omitempty"` // its lease lapsed, and nobody replaced us
	Stop      StopReason  `json:"stop,omitempty"`   // its engine, before anything else
	End       *launchEnd  `json:"end,omitempty"`    // is to be stored
}

// launchEnd is how a run ended.
type launchEnd struct {
	Outcome   EngineOutcome `json:"outcome"`
	Code      FailureCode   `json:"code,omitempty"`
	Message   string        `json:"message,omitempty"`
	TurnEvent *TurnEvent    `json:"turnEvent,omitempty"`
	Cancelled bool          `json:"cancelled,omitempty"` // its bundle says so
	Origin    Origin        `json:"origin,omitempty"`    // of the cancellation
	Late      bool          `json:"late,omitempty"`      // the lease lapsed before it was stored
}

type launchPhase string

const (
	phaseExpired launchPhase = "expired" // starting, and its owner is gone: find out, recover
	phaseOrphan  launchPhase = "orphan"  // running, and its owner is gone: take over
	phaseTaken   launchPhase = "taken"   // taken over: find out
	phaseResume  launchPhase = "resume"  // its bundle goes on, if the claim still stands
	phaseBuild   launchPhase = "build"   // the engine builds
	phaseBuilt   launchPhase = "built"   // the bundle is to be written, if the claim still stands
	phaseWrite   launchPhase = "write"   // the bundle is to be written
	phaseWritten launchPhase = "written" // the final fence is to be passed
	phaseRunning launchPhase = "running" // nodes may act
	phaseRelease launchPhase = "release" // the claim is to be given back
	phaseLost    launchPhase = "lost"    // the loss of the claim is to be recorded
)

// recovering says whether it was left by an owner that is gone, and does not act yet.
func (h *held) recovering() bool {
	return h.Phase == phaseExpired || h.Phase == phaseOrphan || h.Phase == phaseTaken || h.Phase == phaseResume
}

// launching says whether the run has not passed its final fence.
func (h *held) launching() bool {
	return h.Phase == phaseBuild || h.Phase == phaseBuilt || h.Phase == phaseWrite || h.Phase == phaseWritten
}

// NextLaunchRequest is what nextLaunchStep takes.
type NextLaunchRequest struct {
	// State is the one that the last step came with; {"runnerId":…} is a start.
	State json.RawMessage `json:"state" check:"launchState"`
	Seen  *LaunchSeen     `json:"seen"`
}

// NextLaunchResponse is the state to pass on, and what to do next.
type NextLaunchResponse struct {
	State json.RawMessage `json:"state"`
	Step  LaunchStep      `json:"step"`
}

// NextLaunchStep is LaunchState.Next for hosts in other languages: it touches no
// data, and takes clock and tokens from the store. See docs/contract.md#activation.
func (s *Store) NextLaunchStep(ctx context.Context, req NextLaunchRequest) (NextLaunchResponse, error) {
	if err := check(&req); err != nil {
		return NextLaunchResponse{}, err
	}
	var state LaunchState
	if err := decodeState(req.State, &state); err != nil {
		return NextLaunchResponse{}, err
	}
	moment, err := s.Moment(ctx)
	if err != nil {
		return NextLaunchResponse{}, err
	}
	step, err := state.Next(*req.Seen, moment)
	if err != nil {
		return NextLaunchResponse{}, err
	}
	encoded, err := Encode(state)
	return NextLaunchResponse{encoded, step}, err
}
