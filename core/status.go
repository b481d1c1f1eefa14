package core

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pi-workflows/wfcore/core/safetext"
	"github.com/pi-workflows/wfcore/db"
)

// SessionRequest names a session.
type SessionRequest struct {
	SessionID string `json:"sessionId" check:"key"`
}

// FindSessionReservation returns the session's live run (queued, starting or
// running), or nil. See docs/contract.md#reservation.
func (s *Store) FindSessionReservation(ctx context.Context, req SessionRequest) (*Run, error) {
	if err := check(&req); err != nil {
		return nil, err
	}
	return answer(ctx, s.read, func(t *tx) (*Run, error) {
		row, ok, err := noRow(t.RunFindReservation(t, db.RunFindReservationParams{SessionID: req.SessionID}))
		if !ok {
			return nil, err
		}
		run := runOf(row)
		return &run, nil
	})
}

// RecoverableRequest asks for a session's work, or without one for a detached
// host's.
type RecoverableRequest struct {
	SessionID string `json:"sessionId,omitempty" check:"key"`
	// RunID, given, asks for this run alone; it must be the caller's.
	RunID string `json:"runId,omitempty" check:"known"`
	Limit int64  `json:"limit" check:"limit"`
}

// ListRecoverableRuns lists what the owner has to activate or recover: first the
// starting and running runs whose lease is over, then the queued ones, each oldest
// first. A starting one comes with its dead token, for expectedClaimToken. Errors:
// not_found and not_owner for a run id. See docs/contract.md#recovery.
func (s *Store) ListRecoverableRuns(ctx context.Context, req RecoverableRequest) ([]Run, error) {
	if err := check(&req); err != nil {
		return nil, err
	}
	return answer(ctx, s.read, func(t *tx) ([]Run, error) {
		rows, err := t.recoverable(req)
		runs := runsOf(rows)
		for i, row := range rows {
			if Status(row.Status) == Starting {
				runs[i].ClaimToken = text(row.ClaimToken)
			}
		}
		return runs, err
	})
}

func (t *tx) recoverable(req RecoverableRequest) ([]db.Run, error) {
	if req.RunID != "" {
		return t.recoverableRun(req)
	}
	if req.SessionID == "" {
		return t.RunListRecoverableOwnerless(t, db.RunListRecoverableOwnerlessParams{NowMS: t.nowMS, Limit: req.Limit})
	}
	return t.RunListRecoverableOfSession(t, db.RunListRecoverableOfSessionParams{
		SessionID: req.SessionID, NowMS: t.nowMS, Limit: req.Limit,
	})
}

func (t *tx) recoverableRun(req RecoverableRequest) ([]db.Run, error) {
	row, err := t.get(req.RunID)
	if err != nil {
		return nil, err
	}
	if text(row.OriginSessionID) != req.SessionID {
		return nil, notOwner(row)
	}
	held := slices.Contains(holding, Status(row.Status)) && !expired(row, t.nowMS)
	if held || Status(row.Status) == Parked || Status(row.Status).Terminal() {
		return nil, nil
	}
	return []db.Run{row}, nil
}

// ListRunsRequest filters runs; absent filters take any.
type ListRunsRequest struct {
	SessionID string `json:"sessionId,omitempty" check:"key"`
	Status    Status `json:"status,omitempty" check:"status"`
	// BeforeRunID continues a list after its last run.
	BeforeRunID string `json:"beforeRunId,omitempty" check:"known"`
	Limit       int64  `json:"limit" check:"limit"`
}

// ListRuns lists runs, newest first by insertion. Errors: not_found for
// BeforeRunID. See docs/contract.md#status.
func (s *Store) ListRuns(ctx context.Context, req ListRunsRequest) ([]Run, error) {
	if err := check(&req); err != nil {
		return nil, err
	}
	return answer(ctx, s.read, func(t *tx) ([]Run, error) {
		if req.BeforeRunID != "" {
			if _, err := t.get(req.BeforeRunID); err != nil {
				return nil, err
			}
		}
		rows, err := t.RunList(t, db.RunListParams{
			SessionID: req.SessionID, Status: string(req.Status), BeforeRunID: req.BeforeRunID, Limit: req.Limit,
		})
		return runsOf(rows), err
	})
}

// GetRunRequest names a run, or a session for the run to show of it.
type GetRunRequest struct {
	RunID     string `json:"runId,omitempty" check:"known"`
	SessionID string `json:"sessionId,omitempty" check:"key"`
}

// RunStatus is a run without input and token, and one line that a tool can show.
type RunStatus struct {
	Run
	Line string `json:"line"`
}

// GetRun returns the status of a run; for a session, of its live run, else its
// newest parked, else its last finished one, and nil where it has none. Errors:
// not_found for a run id. See docs/contract.md#status.
func (s *Store) GetRun(ctx context.Context, req GetRunRequest) (*RunStatus, error) {
	if err := check(&req); err != nil {
		return nil, err
	}
	if (req.RunID == "") == (req.SessionID == "") {
		return nil, badRequest("runId", "or sessionId must be given, and not both")
	}
	return answer(ctx, s.read, func(t *tx) (*RunStatus, error) {
		row, ok, err := t.show(req)
		if !ok {
			return nil, err
		}
		return &RunStatus{runOf(row), safetext.Plain(t.line(row))}, nil
	})
}

func (t *tx) show(req GetRunRequest) (db.Run, bool, error) {
	if req.RunID != "" {
		row, err := t.get(req.RunID)
		return row, err == nil, err
	}
	row, ok, err := noRow(t.RunFindReservation(t, db.RunFindReservationParams{SessionID: req.SessionID}))
	if ok || err != nil {
		return row, ok, err
	}
	row, ok, err = noRow(t.RunNewestParkedOfSession(t, db.RunNewestParkedOfSessionParams{SessionID: req.SessionID}))
	if ok || err != nil {
		return row, ok, err
	}
	return noRow(t.RunLastFinishedOfSession(t, db.RunLastFinishedOfSessionParams{SessionID: req.SessionID}))
}

// line is what a tool shows of a run.
func (t *tx) line(row db.Run) string {
	head := fmt.Sprintf("Workflow %s ", row.WorkflowRef)
	id := fmt.Sprintf(" (run %s)", row.RunID)
	switch Status(row.Status) {
	case Queued:
		return head + "is queued" + id + t.age(row.CreatedAt) + ". " + queuedAdvice(row)
	case Starting:
		if expired(row, t.nowMS) {
			return head + "was starting" + id + "; its runner is gone, and it waits to be recovered."
		}
		return head + "is starting" + id + "; its first step has not run."
	case Running:
		if expired(row, t.nowMS) {
			return head + "was running" + id + "; its runner is gone, and it waits to be taken over."
		}
		return head + "is running" + id + "."
	case Parked:
		return head + "is parked" + id + "; it goes on when it is resumed."
	case Failed:
		return head + failedVerb(row) + id + ": " + safeError(row)
	}
	return head + "is " + row.Status + id + "."
}

func queuedAdvice(row db.Run) string {
	if text(row.OriginSessionID) == "" {
		return "It starts when a runner claims it."
	}
	return "It starts when the current turn ends: end the turn, do not wait or poll."
}

func failedVerb(row db.Run) string {
	if rules["launch"].allows(text(row.ErrorCode)) == "" {
		return "failed to start"
	}
	return "failed"
}

func safeError(row db.Run) string {
	if message := safeText(row.ErrorMessage); message != nil {
		return *message
	}
	return "no reason was stored."
}

// age is how long ago a time was, in words, or nothing where it cannot be told.
func (t *tx) age(since string) string {
	at, ok := parseTime(since)
	if !ok || at.After(t.at) {
		return ""
	}
	return ", waiting for " + t.at.Sub(at).Truncate(time.Second).String()
}
