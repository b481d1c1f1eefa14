package core

import (
	"context"

	"github.com/pi-workflows/wfcore/db"
)

// holding are the states in which a run has a claim.
var holding = []Status{Starting, Running}

// HoldRequest names a claim that the caller holds.
type HoldRequest struct {
	RunID      string `json:"runId" check:"known"`
	ClaimToken string `json:"claimToken" check:"key"`
}

// RenewRequest asks for a lease from now on.
type RenewRequest struct {
	RunID      string `json:"runId" check:"known"`
	ClaimToken string `json:"claimToken" check:"key"`
	// LeaseMS is in milliseconds, 1 to 3,600,000; absent is 30,000.
	LeaseMS int64 `json:"leaseMs,omitempty" check:"lease"`
}

// RenewRunClaim extends a live claim; it never shortens one. Errors: not_found,
// invalid_transition, claim_lost. See docs/contract.md#claims.
func (s *Store) RenewRunClaim(ctx context.Context, req RenewRequest) (Run, error) {
	if err := check(&req); err != nil {
		return Run{}, err
	}
	return s.holder(ctx, s.write, req.RunID, func(t *tx) (db.Run, error) {
		return t.RunRenewClaim(t, db.RunRenewClaimParams{
			RunID: req.RunID, ClaimToken: req.ClaimToken, ClaimExpiresAt: t.nowMS + leaseOr(req.LeaseMS), NowMS: t.nowMS, Now: t.now,
		})
	})
}

// VerifyRunClaim reads a run under a live claim and writes nothing. Errors: not_found,
// invalid_transition, claim_lost. See docs/contract.md#claims.
func (s *Store) VerifyRunClaim(ctx context.Context, req HoldRequest) (Run, error) {
	if err := check(&req); err != nil {
		return Run{}, err
	}
	return s.holder(ctx, s.read, req.RunID, func(t *tx) (db.Run, error) {
		return t.RunVerifyClaim(t, db.RunVerifyClaimParams{RunID: req.RunID, ClaimToken: req.ClaimToken, NowMS: t.nowMS})
	})
}

// ReleaseRunClaim lets a live claim expire now, at shutdown, so that the next
// process need not wait for the lease. The state stays. Errors: not_found,
// invalid_transition, claim_lost. See docs/contract.md#claims.
func (s *Store) ReleaseRunClaim(ctx context.Context, req HoldRequest) (Run, error) {
	if err := check(&req); err != nil {
		return Run{}, err
	}
	return s.holder(ctx, s.write, req.RunID, func(t *tx) (db.Run, error) {
		return t.RunReleaseClaim(t, db.RunReleaseClaimParams{RunID: req.RunID, ClaimToken: req.ClaimToken, NowMS: t.nowMS, Now: t.now})
	})
}

// holder runs a claim move of the one that holds the claim.
func (s *Store) holder(ctx context.Context, transact transactor, runID string, move func(*tx) (db.Run, error)) (Run, error) {
	return answer(ctx, transact, func(t *tx) (Run, error) {
		row, ok, err := noRow(move(t))
		if ok || err != nil {
			return runOf(row), err
		}
		if row, err = t.get(runID); err != nil {
			return Run{}, err
		}
		return Run{}, t.refuse(row, refusal{from: holding})
	})
}

// TakeOverExpiredRun claims a running run whose lease is over: another process
// died, or the caller itself slept. Repeating it with the same live token returns
// the run again. Errors: not_found, not_owner, invalid_transition, claim_live.
// See docs/contract.md#recovery.
func (s *Store) TakeOverExpiredRun(ctx context.Context, req ClaimRequest) (Run, error) {
	if err := check(&req); err != nil {
		return Run{}, err
	}
	return answer(ctx, s.write, func(t *tx) (Run, error) {
		row, err := t.takeOver(req)
		return claimedOf(row), err
	})
}

func (t *tx) takeOver(req ClaimRequest) (db.Run, error) {
	before, err := t.get(req.RunID)
	if err != nil {
		return before, err
	}
	c, err := t.newClaim(req.ClaimToken, req.LeaseMS)
	if err != nil {
		return before, err
	}
	row, ok, err := noRow(t.RunTakeOverExpired(t, db.RunTakeOverExpiredParams{
		RunID: req.RunID, SessionID: req.SessionID, RunnerID: req.RunnerID,
		ClaimToken: c.token, ClaimExpiresAt: c.expiresMS, NowMS: t.nowMS, Now: t.now,
	}))
	if err != nil {
		return row, err
	}
	if ok {
		return row, t.event(row, EventClaimTransferred, row.RunnerID, payload{"previousRunnerId": text(before.RunnerID)})
	}
	err = t.refuse(before, refusal{from: []Status{Running}, owner: true, session: req.SessionID})
	if CodeOf(err) != CodeClaimLost {
		return before, err
	}
	if live(before, req.ClaimToken, t.nowMS) {
		return before, nil
	}
	return before, claimLive(before)
}
