package scenario

import (
	"encoding/json"
	"strings"

	"github.com/pi-workflows/wfcore/core"
)

// The step of a workflow that is active, its attempt, and the claim of direct calls.
const (
	stepNode = "implement"
	attempt  = "attempt-1"
	direct   = "direct token"
)

// runs is what the engine of this process runs.
func (w *World) runs() (runID string, ok bool) {
	for runID := range w.Engine.Acting {
		return runID, true
	}
	return "", false
}

// ends lets the engine end, where it runs something.
func ends(outcome core.EngineOutcome, code core.FailureCode) step {
	return func(w *World) error { return w.end(core.LaunchSeen{Outcome: outcome, Code: code}) }
}

// end is the end of the engine's run: its bundle stands before the host is told.
func (w *World) end(seen core.LaunchSeen) error {
	runID, ok := w.runs()
	if !ok {
		return nil
	}
	seen.RunID = runID
	if err := w.EngineEnded(seen); err != nil {
		return err
	}
	return w.RunEnded(runID, true)
}

func endsPresented(w *World) error {
	return w.end(core.LaunchSeen{Outcome: core.EngineDone, TurnEvent: &core.TurnEvent{PresentationExpected: true}})
}

// endsStep is a failure of the very attempt that an abort has stopped: its turn is owed once.
func endsStep(code core.FailureCode) step {
	return func(w *World) error {
		return w.end(core.LaunchSeen{Outcome: core.EngineFailed, Code: code, TurnEvent: &core.TurnEvent{NodeID: stepNode, AttemptID: attempt}})
	}
}

func node(w *World) error {
	runID, ok := w.runs()
	if !ok {
		return nil
	}
	return w.Node(runID)
}

// prompts sends a workflow's prompt, presents its result.
func prompts(w *World) error {
	w.prompted++
	return w.Prompt(Run, w.process+" prompt "+string(rune('0'+w.prompted)))
}

func presents(w *World) error { return w.Present(Run, w.process+" presentation") }

// aborts stops the turn of the active step.
func aborts(kind core.TurnKind, recovery bool) step {
	return func(w *World) error {
		return w.Abort(core.NoteTurnRequest{
			RunID: Run, Kind: kind, NodeID: stepNode, AttemptID: attempt, RecoveryExpected: recovery, Handoff: kind == core.TurnClaimLost,
		})
	}
}

func agentCancels(w *World) error { return w.Cancel(Run, stepNode, attempt) }

func userCancels(w *World) error {
	_, err := w.call("cancelPreparedRun", core.CancelRequest{RunID: Run, Origin: core.OriginUser})
	return err
}

func resumes(w *World) error {
	_, err := w.call("resumeParkedRun", core.ClaimRequest{RunID: Run, SessionID: Session, RunnerID: w.process, ClaimToken: direct})
	return err
}

func marksRunning(w *World) error {
	_, err := w.call("markPreparedRunRunning", core.MarkRunningRequest{RunID: Run, ClaimToken: direct})
	return err
}

func finishes(w *World) error {
	_, err := w.call("finishRunningRun", core.FinishRequest{RunID: Run, ClaimToken: direct, Status: core.Done})
	return err
}

func reports(w *World) error {
	_, err := w.call("enqueueWorkflowNotification", core.EnqueueNotificationRequest{
		RunID: Run, NodeID: stepNode, AttemptID: attempt, NotificationIndex: 1, TargetSessionID: Session, Kind: "progress", Content: "half way",
	})
	return err
}

func delivers(w *World) error {
	answer, err := w.call("claimPendingWorkflowNotifications", core.ClaimEligibleRequest{SessionID: Session, ClaimToken: direct, Limit: 1})
	var claimed []core.Notification
	if err != nil || answer == nil || json.Unmarshal(answer, &claimed) != nil || len(claimed) == 0 {
		return err
	}
	_, err = w.call("markWorkflowNotificationDelivered", core.HoldNotificationRequest{NotificationID: claimed[0].NotificationID, ClaimToken: direct})
	return err
}

// restarts is the same session in another process, on the same open store.
func restarts(w *World) error {
	w.process += "'"
	engine := w.Engine.Restart()
	engine.Digest = Digest
	w.host(w.Session.Restart(), engine)
	return nil
}

// losesClaim lets another process take the run over while this one runs it; this one sees
// that when its next node is about to act, and the other one goes on.
func losesClaim(w *World) error {
	first := w.Host
	if err := restarts(w); err != nil {
		return err
	}
	if err := w.SessionStart(); err != nil {
		return err
	}
	second := w.Host
	w.Host = first
	err := node(w)
	if err == nil {
		err = aborts(core.TurnClaimLost, false)(w)
	}
	w.Host = second
	return err
}

// foreign steps are of the other host, in our session.
func foreignLaunch(w *World) error { return w.foreign(life[0], life[1]) }

func foreignRun(w *World) error {
	w.Engine.Bundles[sharedPrefix+Run] = core.Finding{Kind: core.FindingRunning}
	return w.foreign(life[0], life[1], life[2])
}

// foreign leaves a run of the other host in our session, whose lease is over.
func (w *World) foreign(statements ...string) error {
	statements = append(statements, `UPDATE workflow_run_queue SET claim_expires_at = ?3 - 1 WHERE run_id = ?1 AND claim_token = 'other'`)
	for _, statement := range statements {
		statement = strings.ReplaceAll(statement, foreignSession, Session)
		w.problem("foreign", w.other.exec(w.Clock.Now(), statement, sharedPrefix+Run))
	}
	return w.point("foreign")
}

// The other host ends our run, and looks at no lease. It owes the turn, and does not say
// that it is due.
func foreignFails(w *World) error {
	w.problem("foreign", w.other.exec(w.Clock.Now(), `UPDATE workflow_run_queue SET status = 'failed', input_json = 'null',
		launch_options_json = '{}', error_code = 'run_failed', error_message = 'theirs', runner_id = NULL, claim_token = NULL,
		claim_expires_at = NULL, finished_at = ?2, updated_at = ?2 WHERE run_id = ?1 AND status = 'running'`, sharedPrefix+Run))
	w.problem("foreign", w.other.exec(w.Clock.Now(), `INSERT INTO workflow_turn_intents (intent_id, source_event_id, run_id, workflow_ref,
		target_session_id, cause, node_id, fallback_facts_json, requested_at)
		SELECT 'intent of theirs', 'source of theirs', run_id, 'build', origin_session_id, 'failed', '$terminal', '{"of":"theirs"}', ?2
		FROM workflow_run_queue WHERE run_id = ?1 AND status = 'failed'`, sharedPrefix+Run))
	return w.point("foreign")
}

func foreignCancels(w *World) error {
	w.problem("foreign", w.other.exec(w.Clock.Now(), `UPDATE workflow_run_queue SET status = 'cancelled', input_json = 'null',
		launch_options_json = '{}', runner_id = NULL, claim_token = NULL, claim_expires_at = NULL, finished_at = ?2, updated_at = ?2
		WHERE run_id = ?1 AND status = 'running'`, sharedPrefix+Run))
	return w.point("foreign")
}
