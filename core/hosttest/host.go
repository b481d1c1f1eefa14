package hosttest

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/pi-workflows/wfcore/core"
)

// Caller is a store, on whichever face.
type Caller interface {
	Call(ctx context.Context, op string, request []byte) ([]byte, error)
}

// ErrCrashed is what a host answers once its process has been stopped.
var ErrCrashed = errors.New("the process was stopped")

// Host is one process of an agent host. It tells the coordinators what happens, and
// does what they say.
type Host struct {
	Store   Caller
	Clock   *Clock
	Session *Session
	Engine  *Engine
	// Stop is asked at each point, and true stops the process there: at the kind of a
	// step before it is done, at "after " and its kind once it is, and at "verified"
	// between the verification of a claim and its send.
	Stop func(point string) bool
	// Reported are the runs whose turn may be lost, as the user was told.
	Reported []string
	// Stopped says why the engine of a run was last stopped.
	Stopped map[string]core.StopReason

	launches core.LaunchState
	turns    core.TurnState
	natural  map[string]Entry
	tokens   tokens
	crashed  bool
}

// NewHost is a process of this name, with nothing going on.
func NewHost(process string, store Caller, clock *Clock, session *Session, engine *Engine) *Host {
	return &Host{
		Store: store, Clock: clock, Session: session, Engine: engine,
		launches: core.LaunchState{SessionID: session.ID, RunnerID: process},
		turns:    core.TurnState{SessionID: session.ID},
		natural:  map[string]Entry{}, Stopped: map[string]core.StopReason{}, tokens: tokens{process: process},
	}
}

// SessionStart tells that the session was opened.
func (h *Host) SessionStart() error {
	return h.both(core.LaunchSeen{Kind: core.LaunchSessionStart}, core.TurnSeen{Kind: core.SeenSessionStart})
}

// Settled ends the turn, and tells it.
func (h *Host) Settled() error {
	h.Session.Settle()
	return h.both(core.LaunchSeen{Kind: core.LaunchSettled}, core.TurnSeen{Kind: core.SeenSettled})
}

// Poll is the periodic pass.
func (h *Host) Poll() error {
	return h.both(core.LaunchSeen{Kind: core.LaunchPoll}, core.TurnSeen{Kind: core.SeenPoll})
}

// Activity tells that something happened in a turn.
func (h *Host) Activity() error { return h.turn(core.TurnSeen{Kind: core.SeenActivity}) }

// Shutdown closes the session.
func (h *Host) Shutdown() error {
	return h.both(core.LaunchSeen{Kind: core.LaunchShutdown}, core.TurnSeen{Kind: core.SeenShutdown})
}

// Prompt hands a workflow prompt to the session, Present a presentation.
func (h *Host) Prompt(runID, messageID string) error {
	return h.Post(runID, messageID, core.ByWorkflowPrompt, Entry{CustomType: core.TypeAgentStep, Content: messageID, TriggerTurn: true})
}

// Present hands a presentation to the session.
func (h *Host) Present(runID, messageID string) error {
	return h.Post(runID, messageID, core.ByPresentation, Entry{CustomType: core.TypePresentation, Content: messageID, TriggerTurn: true})
}

// Post hands a message of a workflow to the session, as its workflow made it.
func (h *Host) Post(runID, messageID string, path core.Resolution, e Entry) error {
	h.natural[messageID] = e
	return h.turn(core.TurnSeen{Kind: core.SeenNatural, RunID: runID, MessageID: messageID, Resolution: path})
}

// Withdraw takes back what a run has handed in and was not sent.
func (h *Host) Withdraw(runID string) error {
	return h.turn(core.TurnSeen{Kind: core.SeenWithdrawn, RunID: runID})
}

// Abort notes an event and aborts the turn.
func (h *Host) Abort(note core.NoteTurnRequest) error {
	return h.turn(core.TurnSeen{Kind: core.SeenAbort, Note: &note})
}

// AgentCancel is the event of the agent's own cancel call in a step of a run.
func AgentCancel(runID, nodeID, attemptID string) core.NoteTurnRequest {
	return core.NoteTurnRequest{RunID: runID, Kind: core.TurnAgentCancel, NodeID: nodeID, AttemptID: attemptID, Origin: core.OriginAgent}
}

// Cancel stores the cancellation of a run whose turn the agent aborted so, tells it,
// and lets the launch coordinator look, which stops the engine.
func (h *Host) Cancel(runID, nodeID, attemptID string) error {
	request, err := core.Encode(core.CancelRequest{
		RunID: runID, SessionID: h.Session.ID, Origin: core.OriginAgent,
		TurnEvent: &core.TurnEvent{NodeID: nodeID, AttemptID: attemptID, AbortCause: core.CauseAgentCancelled},
	})
	if err != nil {
		return err
	}
	_, problem := h.call("cancelPreparedRun", request)
	if err := h.RunEnded(runID, problem == nil); err != nil {
		return err
	}
	return h.launch(core.LaunchSeen{Kind: core.LaunchPoll})
}

// RunEnded tells that the outcome of a run was stored, or could not be.
func (h *Host) RunEnded(runID string, stored bool) error {
	return h.turn(core.TurnSeen{Kind: core.SeenEnded, RunID: runID, Stored: stored})
}

// Built ends a slow build.
func (h *Host) Built(runID string) error { return h.launch(h.Engine.build(runID)) }

// Node tells that a node of a running run is about to act.
func (h *Host) Node(runID string) error {
	return h.launch(core.LaunchSeen{Kind: core.LaunchNode, RunID: runID})
}

// EngineEnded tells how the engine of a running run ended.
func (h *Host) EngineEnded(seen core.LaunchSeen) error {
	seen.Kind = core.LaunchEnded
	delete(h.Engine.Acting, seen.RunID)
	h.Engine.Bundles[seen.RunID] = bundleOf(seen)
	return h.launch(seen)
}

func bundleOf(seen core.LaunchSeen) core.Finding {
	switch seen.Outcome {
	case core.EngineDone:
		return core.Finding{Kind: core.FindingTerminal, Status: core.Done}
	case core.EngineFailed:
		return core.Finding{Kind: core.FindingTerminal, Status: core.Failed, Code: seen.Code, Message: seen.Message}
	}
	return core.Finding{Kind: core.FindingWaiting}
}

func (h *Host) both(launch core.LaunchSeen, turn core.TurnSeen) error {
	if err := h.launch(launch); err != nil {
		return err
	}
	return h.turn(turn)
}

// launch follows the launch coordinator until it waits.
func (h *Host) launch(seen core.LaunchSeen) error {
	seen.Idle, seen.PendingMessages = h.Session.Idle(), h.Session.Pending
	for {
		step, err := h.launches.Next(seen, h.moment())
		if err != nil {
			return err
		}
		if step.Kind == core.DoWait {
			return nil
		}
		if err := h.at(string(step.Kind)); err != nil {
			return err
		}
		waits := false
		if seen, waits = h.doLaunch(step); waits {
			return nil
		}
		seen.Idle, seen.PendingMessages = h.Session.Idle(), h.Session.Pending
		if err := h.at("after " + string(step.Kind)); err != nil {
			return err
		}
	}
}

// doLaunch does a step; a build or a run may go on beside what follows.
func (h *Host) doLaunch(step core.LaunchStep) (seen core.LaunchSeen, goesOn bool) {
	seen.Step = step.Kind
	switch step.Kind {
	case core.DoInspect:
		seen.Kind, seen.Finding = core.LaunchFound, h.Engine.inspect(step.RunID)
	case core.DoBuild:
		if h.Engine.Slow {
			return seen, true
		}
		return h.Engine.build(step.RunID), false
	case core.DoWriteBundle:
		return h.Engine.writeBundle(step), false
	case core.DoRun:
		h.Engine.Acted[step.RunID]++
		h.Engine.Acting[step.RunID] = true
		return seen, true
	case core.DoStop:
		h.Stopped[step.RunID] = step.Why
		delete(h.Engine.Acting, step.RunID)
		seen.Kind = core.LaunchDone
	default:
		answer, problem := h.call(step.Op, step.Request)
		seen.Kind, seen.Answer, seen.Error = core.LaunchAnswered, answer, problem
		if problem != nil {
			seen.Kind = core.LaunchRefused
		}
	}
	return seen, false
}

// turn follows the turn coordinator until it waits. A detached host has no turns.
func (h *Host) turn(seen core.TurnSeen) error {
	for h.Session.ID != "" {
		seen.Idle, seen.Held, seen.Turn = h.Session.Idle(), h.Session.Held, h.Session.Turns()
		step, err := h.turns.Next(seen, h.moment())
		if err != nil {
			return err
		}
		if step.Kind == core.StepWait {
			return nil
		}
		if err := h.at(string(step.Kind)); err != nil {
			return err
		}
		if seen, err = h.doTurn(step); err != nil {
			return err
		}
		if err := h.at("after " + string(step.Kind)); err != nil {
			return err
		}
	}
	return nil
}

func (h *Host) doTurn(step core.TurnStep) (seen core.TurnSeen, err error) {
	seen.Step = step.Kind
	switch step.Kind {
	case core.StepLook:
		e, err := h.Session.find(step.IntentID)
		seen.Kind, seen.Found, seen.MessageID = core.SeenLooked, e.CustomType, e.MessageID
		return seen, err
	case core.StepAbort:
		h.Session.Abort()
		seen.Kind = core.SeenDone
		return seen, nil
	case core.StepReport:
		h.Reported = append(h.Reported, step.RunID)
		seen.Kind = core.SeenDone
		return seen, nil
	case core.StepSend:
		return h.send(step)
	}
	seen.Kind, seen.Answer, seen.Error = h.answered(step)
	return seen, nil
}

func (h *Host) answered(step core.TurnStep) (core.TurnSeenKind, json.RawMessage, json.RawMessage) {
	answer, problem := h.call(step.Op, step.Request)
	if problem != nil {
		return core.SeenRefused, nil, problem
	}
	return core.SeenAnswered, answer, nil
}

// send looks once more whether the session is idle, verifies the claim, and sends at
// once.
func (h *Host) send(step core.TurnStep) (seen core.TurnSeen, err error) {
	seen.Step, seen.Kind = step.Kind, core.SeenSendFailed
	if step.IntentID != "" && !h.Session.Idle() {
		return seen, nil
	}
	if step.Op != "" {
		kind, _, problem := h.answered(step)
		if kind == core.SeenRefused {
			seen.Kind, seen.Error = kind, problem
			return seen, nil
		}
		if err := h.at("verified"); err != nil {
			return seen, err
		}
	}
	if h.Session.Send(h.entry(step)) == nil {
		seen.Kind = core.SeenSent
	}
	return seen, nil
}

// entry is the message of a step. A natural one is as its workflow made it, but for
// the intent that its details name.
func (h *Host) entry(step core.TurnStep) Entry {
	if step.MessageID != "" {
		e := h.natural[step.MessageID]
		if step.IntentID != "" {
			e.TurnIntentID, e.MessageID = step.IntentID, step.MessageID
		}
		return e
	}
	m := step.Message
	return Entry{
		CustomType: m.CustomType, Content: m.Content, TurnIntentID: m.Details.TurnIntentID,
		DeliverAs: m.Options.DeliverAs, TriggerTurn: m.Options.TriggerTurn,
	}
}

func (h *Host) call(op string, request []byte) (answer, problem json.RawMessage) {
	answer, err := h.Store.Call(context.Background(), op, request)
	var e *core.Error
	if errors.As(err, &e) {
		problem, _ = core.Encode(e)
		return nil, problem
	}
	if err != nil {
		problem, _ = core.Encode(core.NewError(core.CodeStoreUnavailable, nil, "%v", err))
	}
	return answer, problem
}

func (h *Host) moment() core.Moment { return core.Moment{Now: h.Clock.Now(), Token: h.tokens.next()} }

// at is a point at which the process may be stopped; what is stopped does nothing
// more.
func (h *Host) at(point string) error {
	if h.crashed || h.Stop != nil && h.Stop(point) {
		h.crashed = true
		return ErrCrashed
	}
	return nil
}
