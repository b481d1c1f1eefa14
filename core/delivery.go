package core

import (
	"context"

	"github.com/pi-workflows/wfcore/db"
)

// A delivery claims an intent, sends its message, and resolves it once the session
// shows the message. All three message paths go through these operations.

// ClaimForRunRequest claims the pending intent of a run for a natural message.
type ClaimForRunRequest struct {
	RunID     string `json:"runId" check:"known"`
	SessionID string `json:"sessionId" check:"key"`
	// ClaimToken is the caller's; absent, the core makes one.
	ClaimToken string `json:"claimToken,omitempty" check:"key"`
	// LeaseMS is in milliseconds, 1 to 3,600,000; absent is 30,000.
	LeaseMS int64 `json:"leaseMs,omitempty" check:"lease"`
}

// ClaimWorkflowTurnIntentForRun claims the pending intent of a run and session,
// eligible or not, for a workflow prompt or a presentation. Nil means that no turn
// is owed: the message goes as it is. Repeating it with the same live token returns
// the intent again. Errors: claim_live where another message path holds it.
// See docs/turns.md#delivery.
func (s *Store) ClaimWorkflowTurnIntentForRun(ctx context.Context, req ClaimForRunRequest) (*Intent, error) {
	if err := check(&req); err != nil {
		return nil, err
	}
	return answer(ctx, s.write, func(t *tx) (*Intent, error) {
		c, err := t.newClaim(req.ClaimToken, req.LeaseMS)
		if err != nil {
			return nil, err
		}
		row, ok, err := noRow(t.IntentClaimForRun(t, db.IntentClaimForRunParams{
			RunID: req.RunID, SessionID: req.SessionID, ClaimToken: c.token, ClaimExpiresAt: c.expiresMS, NowMS: t.nowMS,
		}))
		if ok || err != nil {
			return claimedIntent(row), err
		}
		row, ok, err = t.pending(req.RunID, req.SessionID)
		switch {
		case !ok:
			return nil, err
		case req.ClaimToken != "" && text(row.DeliveryClaimToken) == req.ClaimToken:
			return claimedIntent(row), nil // repeated
		}
		return nil, NewError(CodeClaimLive, intentDetails(row), "the turn owed for run %s is being delivered by another", req.RunID)
	})
}

func claimedIntent(row db.Intent) *Intent {
	claimed := intentOf(row)
	claimed.ClaimToken = text(row.DeliveryClaimToken)
	return &claimed
}

// ClaimEligibleRequest claims a session's eligible intents for fallbacks.
type ClaimEligibleRequest struct {
	SessionID  string `json:"sessionId" check:"key"`
	ClaimToken string `json:"claimToken,omitempty" check:"key"`
	LeaseMS    int64  `json:"leaseMs,omitempty" check:"lease"`
	Limit      int64  `json:"limit" check:"limit"`
}

// ClaimEligibleWorkflowTurnIntentsForSession claims the session's eligible intents
// that nobody holds, the longest eligible first. Repeating it with the same live
// token returns what the token holds. See docs/turns.md#delivery.
func (s *Store) ClaimEligibleWorkflowTurnIntentsForSession(ctx context.Context, req ClaimEligibleRequest) ([]Intent, error) {
	if err := check(&req); err != nil {
		return nil, err
	}
	return answer(ctx, s.write, func(t *tx) ([]Intent, error) {
		rows, err := t.claimEligible(req)
		byEligibility(rows)
		intents := make([]Intent, len(rows))
		for i, row := range rows {
			intents[i] = *claimedIntent(row)
		}
		return intents, err
	})
}

func (t *tx) claimEligible(req ClaimEligibleRequest) ([]db.Intent, error) {
	held := func() ([]db.Intent, error) {
		return t.IntentFindClaimed(t, db.IntentFindClaimedParams{
			SessionID: req.SessionID, ClaimToken: req.ClaimToken, NowMS: t.nowMS, Limit: req.Limit,
		})
	}
	return claimOrHeld(t, req, held, func(c claim) ([]db.Intent, error) {
		return t.IntentClaimEligible(t, db.IntentClaimEligibleParams{
			SessionID: req.SessionID, ClaimToken: c.token, ClaimExpiresAt: c.expiresMS, NowMS: t.nowMS, Limit: req.Limit,
		})
	})
}

// claimOrHeld claims, or returns what a live token that is given holds already.
func claimOrHeld[T any](t *tx, req ClaimEligibleRequest, held func() ([]T, error), claim func(claim) ([]T, error)) ([]T, error) {
	if req.ClaimToken != "" {
		if rows, err := held(); len(rows) > 0 || err != nil {
			return rows, err
		}
	}
	c, err := t.newClaim(req.ClaimToken, req.LeaseMS)
	if err != nil {
		return nil, err
	}
	return claim(c)
}

// HoldIntentRequest names a delivery claim that the caller holds.
type HoldIntentRequest struct {
	IntentID   string `json:"intentId" check:"known"`
	ClaimToken string `json:"claimToken" check:"key"`
}

// RenewIntentRequest asks for a lease from now on.
type RenewIntentRequest struct {
	IntentID   string `json:"intentId" check:"known"`
	ClaimToken string `json:"claimToken" check:"key"`
	// LeaseMS is in milliseconds, 1 to 3,600,000; absent is 30,000.
	LeaseMS int64 `json:"leaseMs,omitempty" check:"lease"`
}

// ResolveIntentRequest says on which path the session shows the message.
type ResolveIntentRequest struct {
	IntentID   string     `json:"intentId" check:"known"`
	ClaimToken string     `json:"claimToken" check:"key"`
	Resolution Resolution `json:"resolution" check:"resolution"`
}

// RenewWorkflowTurnIntentClaim extends a live delivery claim; it never shortens
// one. A host renews right before it sends: that verifies the claim. Errors:
// not_found, intent_resolved, claim_lost. See docs/turns.md#delivery.
func (s *Store) RenewWorkflowTurnIntentClaim(ctx context.Context, req RenewIntentRequest) (Intent, error) {
	if err := check(&req); err != nil {
		return Intent{}, err
	}
	return s.deliverer(ctx, req.IntentID, func(t *tx) (db.Intent, error) {
		return t.IntentRenewClaim(t, db.IntentRenewClaimParams{
			IntentID: req.IntentID, ClaimToken: req.ClaimToken, ClaimExpiresAt: t.nowMS + leaseOr(req.LeaseMS), NowMS: t.nowMS,
		})
	})
}

// ReleaseWorkflowTurnIntentClaim gives a live delivery claim back, where sending
// failed or the session closes. Errors: not_found, intent_resolved, claim_lost.
// See docs/turns.md#delivery.
func (s *Store) ReleaseWorkflowTurnIntentClaim(ctx context.Context, req HoldIntentRequest) (Intent, error) {
	if err := check(&req); err != nil {
		return Intent{}, err
	}
	return s.deliverer(ctx, req.IntentID, func(t *tx) (db.Intent, error) {
		return t.IntentReleaseClaim(t, db.IntentReleaseClaimParams{IntentID: req.IntentID, ClaimToken: req.ClaimToken, NowMS: t.nowMS})
	})
}

// ResolveWorkflowTurnIntent records that the session shows the message; the stored
// message id is MessageID of intent and resolution. A resolved intent cannot start
// another turn. Errors: not_found, intent_resolved with the path that won,
// claim_lost. See docs/turns.md#delivery.
func (s *Store) ResolveWorkflowTurnIntent(ctx context.Context, req ResolveIntentRequest) (Intent, error) {
	if err := check(&req); err != nil {
		return Intent{}, err
	}
	return s.deliverer(ctx, req.IntentID, func(t *tx) (db.Intent, error) {
		return t.IntentResolve(t, db.IntentResolveParams{
			IntentID: req.IntentID, ClaimToken: req.ClaimToken, Resolution: string(req.Resolution),
			ResolutionMessageID: MessageID(req.IntentID, req.Resolution), NowMS: t.nowMS, Now: t.now,
		})
	})
}

// deliverer runs a statement of the one that holds the delivery claim, or says why
// it changed no row.
func (s *Store) deliverer(ctx context.Context, intentID string, move func(*tx) (db.Intent, error)) (Intent, error) {
	return answer(ctx, s.write, func(t *tx) (Intent, error) {
		row, ok, err := noRow(move(t))
		if ok || err != nil {
			return intentOf(row), err
		}
		if row, err = t.getIntent(intentID); err != nil {
			return Intent{}, err
		}
		if row.ResolvedAt != nil {
			return Intent{}, intentResolved(row)
		}
		return Intent{}, NewError(CodeClaimLost, intentDetails(row), "the claim token is not the live one of intent %s", intentID)
	})
}

func intentResolved(row db.Intent) error {
	details := Details{
		"intentId": row.IntentID, "resolution": text(row.Resolution),
		"resolutionMessageId": text(row.ResolutionMessageID), "resolvedAt": text(readTimePtr(row.ResolvedAt)),
	}
	return NewError(CodeIntentResolved, details, "the turn of intent %s was delivered as %s", row.IntentID, text(row.Resolution))
}
