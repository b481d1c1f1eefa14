package core

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/pi-workflows/wfcore/db"
)

// Cause says what stopped or stranded a turn.
type Cause string

const (
	CauseAgentCancelled        Cause = "agentCancelled"
	CauseTimedOut              Cause = "timedOut"
	CauseFailed                Cause = "failed"
	CauseLaunchFailed          Cause = "launchFailed"
	CauseControllerInterrupted Cause = "controllerInterrupted"
	CauseClaimLost             Cause = "claimLost"
)

// Causes are all of them.
var Causes = []Cause{
	CauseAgentCancelled, CauseTimedOut, CauseFailed, CauseLaunchFailed, CauseControllerInterrupted, CauseClaimLost,
}

// Resolution is the message path that resolved an intent.
type Resolution string

const (
	ByWorkflowPrompt Resolution = "workflowPrompt"
	ByPresentation   Resolution = "presentation"
	ByFallback       Resolution = "fallback"
)

// Resolutions are all of them.
var Resolutions = []Resolution{ByWorkflowPrompt, ByPresentation, ByFallback}

// IntentState filters intents.
type IntentState string

const (
	IntentPending  IntentState = "pending"
	IntentEligible IntentState = "eligible" // pending, and a fallback may go
	IntentResolved IntentState = "resolved"
)

// Intent is one turn that is owed to a session. Times are ISO 8601 in UTC with
// milliseconds. Nil means that the column is empty.
type Intent struct {
	IntentID            string          `json:"intentId"`
	SourceEventID       string          `json:"sourceEventId"`
	RunID               string          `json:"runId"`
	WorkflowRef         string          `json:"workflowRef"`
	TargetSessionID     string          `json:"targetSessionId"`
	Cause               Cause           `json:"cause"`
	NodeID              *string         `json:"nodeId"`
	AttemptID           *string         `json:"attemptId"`
	FallbackFacts       json.RawMessage `json:"fallbackFacts"`
	RequestedAt         string          `json:"requestedAt"`
	EligibleAt          *string         `json:"eligibleAt"`
	ResolvedAt          *string         `json:"resolvedAt"`
	Resolution          *Resolution     `json:"resolution"`
	ResolutionMessageID *string         `json:"resolutionMessageId"`
	// ClaimToken is returned by the op that set it alone.
	ClaimToken             string  `json:"claimToken,omitempty"`
	DeliveryClaimExpiresAt *string `json:"deliveryClaimExpiresAt"`
}

// intentOf is the record without its token.
func intentOf(row db.Intent) Intent {
	return Intent{
		IntentID:               row.IntentID,
		SourceEventID:          row.SourceEventID,
		RunID:                  row.RunID,
		WorkflowRef:            row.WorkflowRef,
		TargetSessionID:        row.TargetSessionID,
		Cause:                  Cause(row.Cause),
		NodeID:                 row.NodeID,
		AttemptID:              row.AttemptID,
		FallbackFacts:          rawJSON(row.FallbackFactsJSON),
		RequestedAt:            readTime(row.RequestedAt),
		EligibleAt:             readTimePtr(row.EligibleAt),
		ResolvedAt:             readTimePtr(row.ResolvedAt),
		Resolution:             (*Resolution)(row.Resolution),
		ResolutionMessageID:    row.ResolutionMessageID,
		DeliveryClaimExpiresAt: leaseTime(row.DeliveryClaimExpiresAt),
	}
}

func intentsOf(rows []db.Intent) []Intent {
	intents := make([]Intent, len(rows))
	for i, row := range rows {
		intents[i] = intentOf(row)
	}
	return intents
}

// EnsureIntentRequest is the source event of a turn that is owed.
type EnsureIntentRequest struct {
	RunID           string `json:"runId" check:"known"`
	WorkflowRef     string `json:"workflowRef" check:"key"`
	TargetSessionID string `json:"targetSessionId" check:"key"`
	Cause           Cause  `json:"cause" check:"cause"`
	// Source, NodeID and AttemptID are what is known of the transition.
	Source    string `json:"source,omitempty" check:"key"`
	NodeID    string `json:"nodeId,omitempty" check:"key"`
	AttemptID string `json:"attemptId,omitempty" check:"key"`
	// SourceEventID and IntentID are the caller's; absent, they are computed.
	SourceEventID string `json:"sourceEventId,omitempty" check:"key"`
	IntentID      string `json:"intentId,omitempty" check:"key"`
	// FallbackFacts are Facts, at most 64 KiB.
	FallbackFacts json.RawMessage `json:"fallbackFacts" check:"facts"`
	// Eligible says that no natural successor will come.
	Eligible bool `json:"eligible,omitempty" check:"flag"`
}

// EnsureWorkflowTurnIntent stores an owed turn, once: where it is stored, with equal
// immutable fields, the stored one comes back as it stands, resolved or not. Errors:
// intent_conflict where they differ, intent_pending where another one of that run
// and session is pending. See docs/turns.md#intents.
func (s *Store) EnsureWorkflowTurnIntent(ctx context.Context, req EnsureIntentRequest) (Intent, error) {
	if err := check(&req); err != nil {
		return Intent{}, err
	}
	f, err := checkFacts("fallbackFacts", req.FallbackFacts)
	if err != nil {
		return Intent{}, err
	}
	if err := factsOf(f, req.RunID, req.WorkflowRef, req.Cause); err != nil {
		return Intent{}, err
	}
	want := req.identity()
	return answer(ctx, s.write, func(t *tx) (Intent, error) {
		row, ok, err := t.createIntent(want, f, req.Eligible)
		if err == nil && !ok {
			row, err = t.stored(want)
		}
		return intentOf(row), err
	})
}

// factsOf refuses facts that speak of something else.
func factsOf(f Facts, runID, workflow string, cause Cause) error {
	switch {
	case f.RunID != runID:
		return badRequest("fallbackFacts.runId", "is not that of the intent")
	case f.WorkflowName != workflow:
		return badRequest("fallbackFacts.workflowName", "is not the workflow of the intent")
	case f.Cause != cause:
		return badRequest("fallbackFacts.cause", "is not that of the intent")
	}
	return nil
}

// identity are the fields of an intent that never change.
type identity struct {
	intentID, sourceEventID string
	workflowRef             string
	TurnSource
}

func (r EnsureIntentRequest) identity() identity {
	return identityOf(TurnSource{r.TargetSessionID, r.RunID, r.Source, r.NodeID, r.AttemptID, r.Cause}, r.WorkflowRef, r.SourceEventID, r.IntentID)
}

func identityOf(source TurnSource, workflow, sourceEventID, intentID string) identity {
	sourceEventID = or(sourceEventID, source.SourceEventID())
	return identity{or(intentID, source.intentIDOf(sourceEventID)), sourceEventID, workflow, source}
}

func (t *tx) createIntent(id identity, f Facts, eligible bool) (db.Intent, bool, error) {
	text, err := f.encode()
	if err != nil {
		return db.Intent{}, false, err
	}
	params := db.IntentCreateParams{
		IntentID: id.intentID, SourceEventID: id.sourceEventID, RunID: id.RunID, WorkflowRef: id.workflowRef,
		TargetSessionID: id.SessionID, Cause: string(id.Cause), NodeID: column(id.NodeID), AttemptID: column(id.AttemptID),
		FallbackFactsJSON: text, Now: t.now,
	}
	if eligible {
		params.EligibleAt = &t.now
	}
	return noRow(t.IntentCreate(t, params))
}

// stored returns the intent of this identity, or says what is in its way.
func (t *tx) stored(want identity) (db.Intent, error) {
	row, ok, err := noRow(t.IntentGet(t, db.IntentGetParams{IntentID: want.intentID}))
	if err != nil {
		return row, err
	}
	if ok {
		return row, want.conflict(row)
	}
	row, _, err = noRow(t.IntentFindPending(t, db.IntentFindPendingParams{RunID: want.RunID, SessionID: want.SessionID}))
	if err != nil {
		return row, err
	}
	return row, NewError(CodeIntentPending, intentDetails(row), "a turn is owed for run %s already: one event joins another", want.RunID)
}

// conflict answers intent_conflict where an immutable field differs.
func (id identity) conflict(row db.Intent) error {
	differ := []string{}
	compare := func(field, have, want string) {
		if have != want {
			differ = append(differ, field)
		}
	}
	compare("sourceEventId", row.SourceEventID, id.sourceEventID)
	compare("runId", row.RunID, id.RunID)
	compare("workflowRef", row.WorkflowRef, id.workflowRef)
	compare("targetSessionId", row.TargetSessionID, id.SessionID)
	compare("cause", row.Cause, string(id.Cause))
	compare("nodeId", text(row.NodeID), id.NodeID)
	compare("attemptId", text(row.AttemptID), id.AttemptID)
	if len(differ) == 0 {
		return nil
	}
	details := intentDetails(row)
	details["fields"] = differ
	return NewError(CodeIntentConflict, details, "intent %s exists with other facts", row.IntentID)
}

func intentDetails(row db.Intent) Details {
	return Details{
		"intentId": row.IntentID, "runId": row.RunID, "cause": row.Cause,
		"eligibleAt": text(readTimePtr(row.EligibleAt)), "claimExpiresAt": text(leaseTime(row.DeliveryClaimExpiresAt)),
	}
}

// IntentRequest names an intent.
type IntentRequest struct {
	IntentID string `json:"intentId" check:"known"`
}

// GetWorkflowTurnIntent returns an intent. Errors: not_found.
// See docs/turns.md#intents.
func (s *Store) GetWorkflowTurnIntent(ctx context.Context, req IntentRequest) (Intent, error) {
	if err := check(&req); err != nil {
		return Intent{}, err
	}
	return answer(ctx, s.read, func(t *tx) (Intent, error) {
		row, err := t.getIntent(req.IntentID)
		return intentOf(row), err
	})
}

func (t *tx) getIntent(intentID string) (db.Intent, error) {
	row, ok, err := noRow(t.IntentGet(t, db.IntentGetParams{IntentID: intentID}))
	if err == nil && !ok {
		err = NewError(CodeNotFound, Details{"intentId": intentID}, "there is no intent %s", intentID)
	}
	return row, err
}

// OwedRequest names the one pending intent of a run and session.
type OwedRequest struct {
	RunID     string `json:"runId" check:"known"`
	SessionID string `json:"sessionId" check:"key"`
}

// FindPendingWorkflowTurnIntent returns the pending intent of a run and session, or
// nil. See docs/turns.md#intents.
func (s *Store) FindPendingWorkflowTurnIntent(ctx context.Context, req OwedRequest) (*Intent, error) {
	if err := check(&req); err != nil {
		return nil, err
	}
	return answer(ctx, s.read, func(t *tx) (*Intent, error) {
		row, ok, err := t.pending(req.RunID, req.SessionID)
		if !ok {
			return nil, err
		}
		found := intentOf(row)
		return &found, nil
	})
}

func (t *tx) pending(runID, session string) (db.Intent, bool, error) {
	return noRow(t.IntentFindPending(t, db.IntentFindPendingParams{RunID: runID, SessionID: session}))
}

// MakeEligibleRequest says that no natural successor will come.
type MakeEligibleRequest struct {
	IntentID string `json:"intentId" check:"known"`
	// FallbackFacts replace the stored ones; absent, those stand.
	FallbackFacts json.RawMessage `json:"fallbackFacts,omitempty" check:"facts"`
}

// MakeWorkflowTurnIntentEligible lets a fallback go. The first time of eligibility
// stands. Errors: not_found, intent_resolved. See docs/turns.md#eligibility.
func (s *Store) MakeWorkflowTurnIntentEligible(ctx context.Context, req MakeEligibleRequest) (Intent, error) {
	if err := check(&req); err != nil {
		return Intent{}, err
	}
	var f *Facts
	if req.FallbackFacts != nil {
		given, err := checkFacts("fallbackFacts", req.FallbackFacts)
		if err != nil {
			return Intent{}, err
		}
		f = &given
	}
	return answer(ctx, s.write, func(t *tx) (Intent, error) {
		before, err := t.getIntent(req.IntentID)
		if err != nil {
			return Intent{}, err
		}
		text, err := f.orStored(before)
		if err != nil {
			return Intent{}, err
		}
		row, ok, err := noRow(t.IntentMakeEligible(t, db.IntentMakeEligibleParams{IntentID: req.IntentID, FallbackFactsJSON: text, Now: t.now}))
		if err == nil && !ok {
			err = intentResolved(before)
		}
		return intentOf(row), err
	})
}

// orStored is the text of facts that speak of an intent, or of those that it has.
func (f *Facts) orStored(of db.Intent) (string, error) {
	if f == nil {
		return of.FallbackFactsJSON, nil
	}
	if err := factsOf(*f, of.RunID, of.WorkflowRef, Cause(of.Cause)); err != nil {
		return "", err
	}
	return f.encode()
}

// ListIntentsRequest filters intents; absent filters take any.
type ListIntentsRequest struct {
	SessionID string      `json:"sessionId,omitempty" check:"key"`
	RunID     string      `json:"runId,omitempty" check:"known"`
	State     IntentState `json:"state,omitempty" check:"intentState"`
	// AfterIntentID continues a list after its last intent.
	AfterIntentID string `json:"afterIntentId,omitempty" check:"known"`
	Limit         int64  `json:"limit" check:"limit"`
}

// ListWorkflowTurnIntents lists intents, oldest first by insertion. Errors:
// not_found for AfterIntentID. See docs/turns.md#intents.
func (s *Store) ListWorkflowTurnIntents(ctx context.Context, req ListIntentsRequest) ([]Intent, error) {
	if err := check(&req); err != nil {
		return nil, err
	}
	return answer(ctx, s.read, func(t *tx) ([]Intent, error) {
		if req.AfterIntentID != "" {
			if _, err := t.getIntent(req.AfterIntentID); err != nil {
				return nil, err
			}
		}
		rows, err := t.IntentList(t, db.IntentListParams{
			SessionID: req.SessionID, RunID: req.RunID, State: string(req.State), AfterIntentID: req.AfterIntentID, Limit: req.Limit,
		})
		return intentsOf(rows), err
	})
}

// byEligibility orders claimed intents as their statement chose them, since
// RETURNING has no order.
func byEligibility(rows []db.Intent) {
	slices.SortFunc(rows, func(a, b db.Intent) int {
		return cmp.Or(compareTimes(text(a.EligibleAt), text(b.EligibleAt)), cmp.Compare(a.IntentID, b.IntentID))
	})
}
