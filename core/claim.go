package core

import (
	"context"

	"github.com/pi-workflows/wfcore/db"
)

// ClaimRequest claims one run. Without a session the caller is a detached host,
// which may claim ownerless runs only.
type ClaimRequest struct {
	RunID     string `json:"runId" check:"known"`
	SessionID string `json:"sessionId,omitempty" check:"key"`
	RunnerID  string `json:"runnerId" check:"key"`
	// ClaimToken is the caller's; absent, the core makes one.
	ClaimToken string `json:"claimToken,omitempty" check:"key"`
	// LeaseMS is in milliseconds, 1 to 3,600,000; absent is 30,000.
	LeaseMS int64 `json:"leaseMs,omitempty" check:"lease"`
}

// ClaimNextRequest claims the next queued run of a session, or of none.
type ClaimNextRequest struct {
	SessionID  string `json:"sessionId,omitempty" check:"key"`
	RunnerID   string `json:"runnerId" check:"key"`
	ClaimToken string `json:"claimToken,omitempty" check:"key"`
	LeaseMS    int64  `json:"leaseMs,omitempty" check:"lease"`
}

// ClaimPreparedRun moves a queued run to starting under a new claim, and returns
// it with its private input. Repeating it with the same live token returns the
// run again. Errors: not_found, not_owner, invalid_transition.
// See docs/contract.md#activation.
func (s *Store) ClaimPreparedRun(ctx context.Context, req ClaimRequest) (Run, error) {
	return s.start(ctx, req, Queued, (*tx).claimQueued)
}

// ResumeParkedRun moves a parked run to starting under a new claim: an explicit
// resume. Errors: as ClaimPreparedRun, and session_reserved where the session has
// a newer live run. See docs/contract.md#resume.
func (s *Store) ResumeParkedRun(ctx context.Context, req ClaimRequest) (Run, error) {
	return s.start(ctx, req, Parked, (*tx).resumeParked)
}

// ClaimNextRun claims the oldest queued run of the session; a detached host gets
// the oldest ownerless one, its own affinity first among the hundred oldest. Nil
// means that nothing is queued. Repeating it with the same live token returns the
// run that the token holds. See docs/contract.md#activation.
func (s *Store) ClaimNextRun(ctx context.Context, req ClaimNextRequest) (*Run, error) {
	if err := check(&req); err != nil {
		return nil, err
	}
	return answer(ctx, s.write, func(t *tx) (*Run, error) {
		row, ok, err := t.claimNext(req)
		if !ok {
			return nil, err
		}
		run := launchOf(row)
		return &run, err
	})
}

func (t *tx) claimNext(req ClaimNextRequest) (row db.Run, ok bool, err error) {
	if req.ClaimToken != "" {
		row, ok, err = noRow(t.RunFindClaimed(t, db.RunFindClaimedParams{
			NowMS: t.nowMS, ClaimToken: req.ClaimToken, SessionID: req.SessionID,
		}))
		if ok || err != nil {
			return row, ok, err
		}
	}
	runID, err := t.pick(req.SessionID, req.RunnerID)
	if runID == "" || err != nil {
		return row, false, err
	}
	claim := ClaimRequest{runID, req.SessionID, req.RunnerID, req.ClaimToken, req.LeaseMS}
	row, ok, err = t.claimQueued(claim)
	if ok {
		err = t.arrow(Queued, row, row.RunnerID)
	}
	return row, ok && err == nil, err
}

// pick chooses the next queued run, or "".
func (t *tx) pick(session, runner string) (string, error) {
	if session == "" {
		id, _, err := noRow(t.RunPickOwnerless(t, db.RunPickOwnerlessParams{RunnerID: runner}))
		return text(id), err
	}
	row, ok, err := noRow(t.RunFindReservation(t, db.RunFindReservationParams{SessionID: session}))
	if !ok || Status(row.Status) != Queued {
		return "", err
	}
	return row.RunID, nil
}

// start is an arrow to starting under a new claim.
func (s *Store) start(ctx context.Context, req ClaimRequest, from Status, move func(*tx, ClaimRequest) (db.Run, bool, error)) (Run, error) {
	if err := check(&req); err != nil {
		return Run{}, err
	}
	return answer(ctx, s.write, func(t *tx) (Run, error) {
		row, ok, err := move(t, req)
		if err != nil {
			return Run{}, err
		}
		if ok {
			return launchOf(row), t.arrow(from, row, row.RunnerID)
		}
		if row, err = t.get(req.RunID); err != nil {
			return Run{}, err
		}
		return launchOf(row), t.notStarted(row, req, from)
	})
}

// notStarted allows the repeat of a claim that happened, else says why not.
func (t *tx) notStarted(row db.Run, req ClaimRequest, from Status) error {
	owned := text(row.OriginSessionID) == req.SessionID
	if owned && Status(row.Status) == Starting && live(row, req.ClaimToken, t.nowMS) {
		return nil
	}
	if owned && Status(row.Status) == Parked && from == Parked {
		if err := t.reservedBySession(req.SessionID); err != nil {
			return err
		}
	}
	return t.refuse(row, refusal{to: Starting, from: []Status{from}, owner: true, session: req.SessionID})
}

func (t *tx) claimQueued(req ClaimRequest) (db.Run, bool, error) {
	c, err := t.newClaim(req.ClaimToken, req.LeaseMS)
	if err != nil {
		return db.Run{}, false, err
	}
	return noRow(t.RunClaimQueued(t, db.RunClaimQueuedParams{
		RunID: req.RunID, SessionID: req.SessionID, RunnerID: req.RunnerID,
		ClaimToken: c.token, ClaimExpiresAt: c.expiresMS, Now: t.now,
	}))
}

func (t *tx) resumeParked(req ClaimRequest) (db.Run, bool, error) {
	c, err := t.newClaim(req.ClaimToken, req.LeaseMS)
	if err != nil {
		return db.Run{}, false, err
	}
	return noRow(t.RunResumeParked(t, db.RunResumeParkedParams{
		RunID: req.RunID, SessionID: req.SessionID, RunnerID: req.RunnerID,
		ClaimToken: c.token, ClaimExpiresAt: c.expiresMS, Now: t.now,
	}))
}
