package core

import (
	"context"
	"encoding/json"

	"github.com/pi-workflows/wfcore/db"
)

// end runs one arrow in its transaction with its event and the turn that it owes.
// move changes the row that it is shown and adds to the event, or says why not.
func (s *Store) end(ctx context.Context, runID string, o told, move func(t *tx, before db.Run) (db.Run, payload, error)) (Run, error) {
	return answer(ctx, s.write, func(t *tx) (Run, error) {
		before, err := t.get(runID)
		if err != nil {
			return Run{}, err
		}
		row, extra, err := move(t, before)
		if err != nil {
			return Run{}, err
		}
		return runOf(row), t.ended(before, row, extra, o)
	})
}

// ended appends the event of an arrow, and settles the turn that it owes. A parent
// whose slot was given back stays in the payload.
func (t *tx) ended(before, row db.Run, extra payload, o told) error {
	released := payload{}
	if row.ParentRunID == nil {
		released["parentRunId"] = text(before.ParentRunID)
	}
	if err := t.arrow(Status(before.Status), row, before.RunnerID, extra, released, o.payload()); err != nil {
		return err
	}
	return t.settle(Status(before.Status), row, o)
}

// failureOf is the message of a run's failure, without the input that is stored.
func failureOf(run db.Run, code FailureCode, detail string) string {
	if detail != "" {
		detail = InputHider(json.RawMessage(run.InputJSON))(detail)
	}
	return FailureMessage(code, detail)
}

func failed(code FailureCode, message string) payload {
	return payload{"errorCode": string(code), "errorMessage": message}
}

// ParkRequest sets a run aside.
type ParkRequest struct {
	RunID      string `json:"runId" check:"known"`
	ClaimToken string `json:"claimToken" check:"key"`
	// Paused says that the user paused it; else it waits by itself.
	Paused    bool       `json:"paused,omitempty" check:"flag"`
	TurnEvent *TurnEvent `json:"turnEvent,omitempty"`
}

// ParkRunningRun sets a run aside that waits; its session is free. A resume that
// cannot go on parks from starting, through running. Errors: not_found,
// invalid_transition, claim_lost. See docs/contract.md#parking.
func (s *Store) ParkRunningRun(ctx context.Context, req ParkRequest) (Run, error) {
	if err := check(&req); err != nil {
		return Run{}, err
	}
	return answer(ctx, s.write, func(t *tx) (Run, error) {
		before, err := t.get(req.RunID)
		if err == nil && Status(before.Status) == Starting && live(before, req.ClaimToken, t.nowMS) {
			before, err = t.markRunning(MarkRunningRequest{RunID: req.RunID, ClaimToken: req.ClaimToken})
		}
		if err != nil {
			return Run{}, err
		}
		row, err := t.park(before, req.ClaimToken)
		if err != nil {
			return Run{}, err
		}
		return runOf(row), t.ended(before, row, nil, told{event: req.TurnEvent, paused: req.Paused})
	})
}

func (t *tx) park(before db.Run, token string) (db.Run, error) {
	row, ok, err := noRow(t.RunPark(t, db.RunParkParams{RunID: before.RunID, ClaimToken: token, NowMS: t.nowMS, Now: t.now}))
	if err == nil && !ok {
		err = t.refuse(before, refusal{to: Parked, from: holding})
	}
	return row, err
}

// FinishRequest ends a run that ran.
type FinishRequest struct {
	RunID      string `json:"runId" check:"known"`
	ClaimToken string `json:"claimToken" check:"key"`
	// Status is done or failed.
	Status Status `json:"status" check:"outcome"`
	// ErrorCode is one of RunFailures; a failed run needs it, a done one has none.
	ErrorCode FailureCode `json:"errorCode,omitempty" check:"failure"`
	// ErrorMessage is the raw detail; only its safe form is stored.
	ErrorMessage string     `json:"errorMessage,omitempty" check:"detail"`
	TurnEvent    *TurnEvent `json:"turnEvent,omitempty"`
}

// FinishRunningRun ends a run as done or failed. Errors: not_found,
// invalid_transition, claim_lost. See docs/contract.md#the-end-of-a-run.
func (s *Store) FinishRunningRun(ctx context.Context, req FinishRequest) (Run, error) {
	if err := check(&req); err != nil {
		return Run{}, err
	}
	if err := checkOutcome(req.Status, req.ErrorCode, req.ErrorMessage); err != nil {
		return Run{}, err
	}
	return s.end(ctx, req.RunID, told{event: req.TurnEvent}, func(t *tx, before db.Run) (db.Run, payload, error) {
		message := failureOf(before, req.ErrorCode, req.ErrorMessage)
		row, err := t.finish(before, req.ClaimToken, req.Status, req.ErrorCode, message)
		if req.Status == Failed {
			return row, failed(req.ErrorCode, message), err
		}
		return row, nil, err
	})
}

// checkOutcome asks for a code where a run failed, and refuses one elsewhere.
func checkOutcome(status Status, code FailureCode, message string) error {
	switch {
	case status == Failed && code == "":
		return badRequest("errorCode", "is missing: a failed run needs a code")
	case status != Failed && code != "":
		return badRequest("errorCode", "belongs to a failed run only")
	case status != Failed && message != "":
		return badRequest("errorMessage", "belongs to a failed run only")
	}
	return nil
}

func (t *tx) finish(before db.Run, token string, to Status, code FailureCode, message string) (db.Run, error) {
	row, ok, err := noRow(t.finishRow(before.RunID, token, to, code, message))
	if err == nil && !ok {
		err = t.refuse(before, refusal{to: to, from: []Status{Running}})
	}
	return row, err
}

func (t *tx) finishRow(runID, token string, to Status, code FailureCode, message string) (db.Run, error) {
	if to == Done {
		return t.RunFinishDone(t, db.RunFinishDoneParams{RunID: runID, ClaimToken: token, NowMS: t.nowMS, Now: t.now})
	}
	return t.RunFinishFailed(t, db.RunFinishFailedParams{
		RunID: runID, ClaimToken: token, ErrorCode: string(code), ErrorMessage: message, NowMS: t.nowMS, Now: t.now,
	})
}

// Origin says whose act a cancellation was.
type Origin string

const (
	OriginUser  Origin = "user"
	OriginAgent Origin = "agent"
)

// CancelRequest cancels a run by its id.
type CancelRequest struct {
	RunID string `json:"runId" check:"known"`
	// SessionID, given, must own the run.
	SessionID string `json:"sessionId,omitempty" check:"key"`
	// ClaimToken, given, must be live.
	ClaimToken string `json:"claimToken,omitempty" check:"key"`
	// Origin is kept in the event; absent is unknown, but for an abort of the agent's.
	Origin    Origin     `json:"origin,omitempty" check:"origin"`
	TurnEvent *TurnEvent `json:"turnEvent,omitempty"`
}

// CancelPreparedRun cancels a run that has not ended, whoever holds its claim: the
// claim is gone with the commit. Errors: not_found, not_owner, invalid_transition
// with the state that won, claim_lost. See docs/contract.md#cancellation.
func (s *Store) CancelPreparedRun(ctx context.Context, req CancelRequest) (Run, error) {
	if err := check(&req); err != nil {
		return Run{}, err
	}
	if req.Origin == "" && req.TurnEvent != nil && req.TurnEvent.AbortCause == CauseAgentCancelled {
		req.Origin = OriginAgent // whose abort it was says whose act it is
	}
	return s.end(ctx, req.RunID, told{event: req.TurnEvent, origin: req.Origin}, func(t *tx, before db.Run) (db.Run, payload, error) {
		row, err := t.cancel(before, req.SessionID, req.ClaimToken)
		return row, nil, err
	})
}

func (t *tx) cancel(before db.Run, session, token string) (db.Run, error) {
	row, ok, err := noRow(t.RunCancel(t, db.RunCancelParams{
		RunID: before.RunID, SessionID: session, ClaimToken: token, NowMS: t.nowMS, Now: t.now,
	}))
	if err == nil && !ok {
		err = t.refuse(before, refusal{
			to: Cancelled, from: []Status{Queued, Starting, Running, Parked}, owner: session != "", session: session,
		})
	}
	return row, err
}
