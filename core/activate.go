package core

import (
	"context"

	"github.com/pi-workflows/wfcore/db"
)

// MarkRunningRequest is the final fence of an activation.
type MarkRunningRequest struct {
	RunID      string `json:"runId" check:"known"`
	ClaimToken string `json:"claimToken" check:"key"`
	// DefinitionDigest is that of what was built; given, it must be the stored one.
	DefinitionDigest string `json:"definitionDigest,omitempty" check:"key"`
}

// MarkPreparedRunRunning is the release: after its commit, and not before, the
// first node may run. It clears the private input. Repeating it with the same live
// token returns the run again. Errors: not_found, invalid_transition,
// source_changed (nothing changed: fail the run), claim_lost.
// See docs/contract.md#activation.
func (s *Store) MarkPreparedRunRunning(ctx context.Context, req MarkRunningRequest) (Run, error) {
	if err := check(&req); err != nil {
		return Run{}, err
	}
	return answer(ctx, s.write, func(t *tx) (Run, error) {
		row, err := t.markRunning(req)
		return runOf(row), err
	})
}

func (t *tx) markRunning(req MarkRunningRequest) (db.Run, error) {
	row, ok, err := noRow(t.RunMarkRunning(t, db.RunMarkRunningParams{
		RunID: req.RunID, ClaimToken: req.ClaimToken, DefinitionDigest: req.DefinitionDigest, NowMS: t.nowMS, Now: t.now,
	}))
	if err != nil {
		return row, err
	}
	if ok {
		return row, t.arrow(Starting, row, row.RunnerID)
	}
	if row, err = t.get(req.RunID); err != nil {
		return row, err
	}
	repeated := Status(row.Status) == Running && live(row, req.ClaimToken, t.nowMS)
	if repeated && sameDigest(row, req.DefinitionDigest) {
		return row, nil
	}
	return row, t.refuse(row, refusal{to: Running, from: []Status{Starting}, digest: req.DefinitionDigest})
}

// FailRequest says why a launch failed.
type FailRequest struct {
	RunID      string `json:"runId" check:"known"`
	ClaimToken string `json:"claimToken" check:"key"`
	// ErrorCode is one of LaunchFailures.
	ErrorCode FailureCode `json:"errorCode" check:"launch"`
	// ErrorMessage is the raw detail; only its safe form is stored.
	ErrorMessage string     `json:"errorMessage,omitempty" check:"detail"`
	TurnEvent    *TurnEvent `json:"turnEvent,omitempty"`
}

// FailPreparedRun ends a launch that could not start, frees its session and owes it
// a turn, in one commit. The stored message is FailureMessage of code and detail.
// Errors: not_found, invalid_transition, claim_lost. See docs/contract.md#failure.
func (s *Store) FailPreparedRun(ctx context.Context, req FailRequest) (Run, error) {
	if err := check(&req); err != nil {
		return Run{}, err
	}
	return s.end(ctx, req.RunID, told{event: req.TurnEvent}, func(t *tx, before db.Run) (db.Run, payload, error) {
		message := failureOf(before, req.ErrorCode, req.ErrorMessage)
		row, ok, err := noRow(t.RunFailStarting(t, db.RunFailStartingParams{
			RunID: req.RunID, ClaimToken: req.ClaimToken, ErrorCode: string(req.ErrorCode), ErrorMessage: message, NowMS: t.nowMS, Now: t.now,
		}))
		if err == nil && !ok {
			err = t.refuse(before, refusal{to: Failed, from: []Status{Starting}})
		}
		return row, failed(req.ErrorCode, message), err
	})
}
