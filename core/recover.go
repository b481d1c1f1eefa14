package core

import (
	"context"

	"github.com/pi-workflows/wfcore/db"
)

// FindingKind says what a host found of an expired starting run.
type FindingKind string

const (
	FindingStartFailed   FindingKind = "startFailed"
	FindingUnreadable    FindingKind = "unreadable"
	FindingTerminal      FindingKind = "terminal"
	FindingSourceChanged FindingKind = "sourceChanged"
	FindingWaiting       FindingKind = "waiting"
	FindingRunning       FindingKind = "running"
	FindingNone          FindingKind = "none"
)

// FindingKinds are all of them.
var FindingKinds = []FindingKind{
	FindingStartFailed, FindingUnreadable, FindingTerminal, FindingSourceChanged, FindingWaiting, FindingRunning, FindingNone,
}

// maxStarts is how often a launch may start without ever running.
const maxStarts = 3

// Finding is a kind and the fields of that kind.
type Finding struct {
	Kind FindingKind `json:"kind" check:"finding"`
	// Status of a terminal bundle: done, failed or cancelled.
	Status Status `json:"status,omitempty" check:"ended"`
	// Code and Message of startFailed and of a failed terminal bundle.
	Code    FailureCode `json:"code,omitempty" check:"anycode"`
	Message string      `json:"message,omitempty" check:"detail"`
	// Origin of a cancelled terminal bundle says whose act that was.
	Origin Origin `json:"origin,omitempty" check:"origin"`
	// RunnerID, ClaimToken and LeaseMS are the new claim of a running bundle.
	RunnerID   string `json:"runnerId,omitempty" check:"key"`
	ClaimToken string `json:"claimToken,omitempty" check:"key"`
	LeaseMS    int64  `json:"leaseMs,omitempty" check:"lease"`
}

// RecoverRequest tells what was found of an expired starting run.
type RecoverRequest struct {
	RunID     string `json:"runId" check:"known"`
	SessionID string `json:"sessionId,omitempty" check:"key"`
	// ExpectedClaimToken is the token that was seen; absent where the run has none.
	ExpectedClaimToken string     `json:"expectedClaimToken,omitempty" check:"seen"`
	Finding            *Finding   `json:"finding"`
	TurnEvent          *TurnEvent `json:"turnEvent,omitempty"`
}

// check refuses the fields that do not belong to the kind.
func (f Finding) check() error {
	bare := Finding{Kind: f.Kind}
	switch f.Kind {
	case FindingStartFailed:
		bare.Code, bare.Message = f.Code, f.Message
		if reason := rules["launch"].allows(string(f.Code)); reason != "" {
			return badRequest("finding.code", "%s", reason)
		}
	case FindingTerminal:
		bare.Status, bare.Code, bare.Message, bare.Origin = f.Status, f.Code, f.Message, f.Origin
		if f.Status == "" {
			return badRequest("finding.status", "is missing")
		}
		if f.Status != Failed && (f.Code != "" || f.Message != "") {
			return badRequest("finding.code", "belongs to a failed bundle only")
		}
		if f.Status != Cancelled && f.Origin != "" {
			return badRequest("finding.origin", "belongs to a cancelled bundle only")
		}
		if reason := rules["failure"].allows(string(f.Code)); f.Code != "" && reason != "" {
			return badRequest("finding.code", "%s", reason)
		}
	case FindingRunning:
		bare.RunnerID, bare.ClaimToken, bare.LeaseMS = f.RunnerID, f.ClaimToken, f.LeaseMS
		if f.RunnerID == "" {
			return badRequest("finding.runnerId", "is missing")
		}
	}
	if f != bare {
		return badRequest("finding", "has fields that do not belong to kind %s", f.Kind)
	}
	return nil
}

// RecoverExpiredStartingRun settles a starting run whose lease is over by what
// its host found: see docs/contract.md#recovery for the table of findings. A
// finding of a running bundle returns the new claim token. Errors: not_found,
// not_owner, invalid_transition, claim_live, claim_lost.
func (s *Store) RecoverExpiredStartingRun(ctx context.Context, req RecoverRequest) (Run, error) {
	if err := check(&req); err != nil {
		return Run{}, err
	}
	if err := req.Finding.check(); err != nil {
		return Run{}, err
	}
	return answer(ctx, s.write, func(t *tx) (Run, error) {
		before, err := t.get(req.RunID)
		if err != nil {
			return Run{}, err
		}
		row, err := t.recover(before, req)
		if req.Finding.Kind == FindingRunning {
			return claimedOf(row), err
		}
		return runOf(row), err
	})
}

func (t *tx) recover(before db.Run, req RecoverRequest) (db.Run, error) {
	f := *req.Finding
	switch f.Kind {
	case FindingStartFailed:
		return t.failUnreplaced(before, req)
	case FindingUnreadable:
		return t.failExpired(before, req, FailureActivationFailed, "the run bundle cannot be read")
	case FindingSourceChanged:
		return t.failExpired(before, req, FailureSourceChanged, "")
	case FindingRunning:
		return t.goOn(before, req)
	case FindingNone:
		return t.requeue(before, req)
	}
	return t.walk(before, req)
}

// notRecovered says why an expired starting run was not the caller's to recover.
func (t *tx) notRecovered(row db.Run, req RecoverRequest) error {
	err := t.refuse(row, refusal{to: recoveredTo(*req.Finding), from: []Status{Starting}, owner: true, session: req.SessionID})
	if CodeOf(err) == CodeClaimLost && req.Finding.Kind != FindingStartFailed && !expired(row, t.nowMS) {
		return claimLive(row)
	}
	return err
}

func recoveredTo(f Finding) Status {
	switch f.Kind {
	case FindingTerminal:
		return f.Status
	case FindingWaiting:
		return Parked
	case FindingRunning:
		return Running
	case FindingNone:
		return Queued
	}
	return Failed
}

func (t *tx) failUnreplaced(before db.Run, req RecoverRequest) (db.Run, error) {
	message := failureOf(before, req.Finding.Code, req.Finding.Message)
	row, ok, err := noRow(t.RunFailStartingUnreplaced(t, db.RunFailStartingUnreplacedParams{
		RunID: req.RunID, SessionID: req.SessionID, ExpectedClaimToken: req.ExpectedClaimToken,
		ErrorCode: string(req.Finding.Code), ErrorMessage: message, Now: t.now,
	}))
	if err != nil {
		return row, err
	}
	if !ok {
		return before, t.notRecovered(before, req)
	}
	return row, t.ended(before, row, failed(req.Finding.Code, message), told{event: req.TurnEvent})
}

func (t *tx) failExpired(before db.Run, req RecoverRequest, code FailureCode, detail string) (db.Run, error) {
	message := FailureMessage(code, detail)
	row, ok, err := noRow(t.RunFailStartingExpired(t, db.RunFailStartingExpiredParams{
		RunID: req.RunID, SessionID: req.SessionID, ExpectedClaimToken: req.ExpectedClaimToken,
		ErrorCode: string(code), ErrorMessage: message, NowMS: t.nowMS, Now: t.now,
	}))
	if err != nil {
		return row, err
	}
	if !ok {
		return before, t.notRecovered(before, req)
	}
	return row, t.ended(before, row, failed(code, message), told{event: req.TurnEvent})
}

// requeue gives a launch without a bundle another start, unless its feed shows
// that it ran, was resumed, or had its last start.
func (t *tx) requeue(before db.Run, req RecoverRequest) (db.Run, error) {
	history, err := t.RunEventLaunchHistory(t, db.RunEventLaunchHistoryParams{RunID: req.RunID})
	if err != nil {
		return before, err
	}
	if history.Runs > 0 {
		return t.failExpired(before, req, FailureActivationFailed, "its run bundle is gone")
	}
	if history.Starts >= maxStarts {
		return t.failExpired(before, req, FailureActivationFailed, "it was started three times and never ran")
	}
	row, ok, err := noRow(t.RunRequeueExpired(t, db.RunRequeueExpiredParams{
		RunID: req.RunID, SessionID: req.SessionID, ExpectedClaimToken: req.ExpectedClaimToken, NowMS: t.nowMS, Now: t.now,
	}))
	if err != nil {
		return row, err
	}
	if !ok {
		return before, t.notRecovered(before, req)
	}
	return row, t.arrow(Starting, row, before.RunnerID, payload{"finding": string(FindingNone)})
}

// goOn marks a run running under a new claim.
func (t *tx) goOn(before db.Run, req RecoverRequest) (db.Run, error) {
	f := req.Finding
	owned := text(before.OriginSessionID) == req.SessionID
	if owned && Status(before.Status) == Running && live(before, f.ClaimToken, t.nowMS) {
		return before, nil // repeated
	}
	c, err := t.newClaim(f.ClaimToken, f.LeaseMS)
	if err != nil {
		return before, err
	}
	row, err := t.runExpired(before, req, column(f.RunnerID), c)
	if err != nil {
		return row, err
	}
	return row, t.event(row, EventClaimTransferred, row.RunnerID, payload{"previousRunnerId": text(before.RunnerID)})
}

// runExpired is the arrow starting -> running of recovery.
func (t *tx) runExpired(before db.Run, req RecoverRequest, runner *string, c claim) (db.Run, error) {
	row, ok, err := noRow(t.RunMarkRunningExpired(t, db.RunMarkRunningExpiredParams{
		RunID: req.RunID, SessionID: req.SessionID, ExpectedClaimToken: req.ExpectedClaimToken,
		RunnerID: runner, ClaimToken: c.token, ClaimExpiresAt: c.expiresMS, NowMS: t.nowMS, Now: t.now,
	}))
	if err != nil {
		return row, err
	}
	if !ok {
		return before, t.notRecovered(before, req)
	}
	return row, t.arrow(Starting, row, row.RunnerID, payload{"finding": string(req.Finding.Kind)})
}

// walk takes a run whose bundle waits or ended through running, an arrow and an
// event at a time. A claim of this transaction's own carries it.
func (t *tx) walk(before db.Run, req RecoverRequest) (db.Run, error) {
	c, err := t.newClaim("", 0)
	if err != nil {
		return before, err
	}
	running, err := t.runExpired(before, req, before.RunnerID, c)
	if err != nil {
		return running, err
	}
	f := *req.Finding
	extra := payload{"finding": string(f.Kind)}
	var row db.Run
	switch {
	case f.Kind == FindingWaiting:
		row, err = t.park(running, c.token)
	case f.Status == Cancelled:
		row, err = t.cancel(running, "", c.token)
	default:
		code := f.Code
		if f.Status == Failed && code == "" {
			code = FailureRunFailed
		}
		message := failureOf(before, code, f.Message)
		if f.Status == Failed {
			extra = failed(code, message)
			extra["finding"] = string(f.Kind)
		}
		row, err = t.finish(running, c.token, f.Status, code, message)
	}
	if err != nil {
		return row, err
	}
	return row, t.ended(running, row, extra, told{event: req.TurnEvent, origin: f.Origin})
}
