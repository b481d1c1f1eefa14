package core

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/pi-workflows/wfcore/db"
)

// get reads a run, or answers not_found.
func (t *tx) get(runID string) (db.Run, error) {
	row, ok, err := noRow(t.RunGet(t, db.RunGetParams{RunID: runID}))
	if err == nil && !ok {
		err = NewError(CodeNotFound, Details{"runId": runID}, "there is no run %s", runID)
	}
	return row, err
}

// payload is what an event holds beside its columns. Nil values are left out.
type payload map[string]any

// arrow appends the event of a transition that just happened.
func (t *tx) arrow(from Status, row db.Run, runner *string, extras ...payload) error {
	event, ok := arrowEvent(from, Status(row.Status))
	if !ok {
		// A statement made a transition that the table does not have.
		return NewError(CodeInvalidTransition, Details{"runId": row.RunID, "status": string(from)},
			"there is no arrow from %s to %s", from, row.Status)
	}
	p := payload{"from": string(from)}
	for _, extra := range extras {
		maps.Copy(p, extra)
	}
	return t.event(row, event, runner, p)
}

// event appends to the feed of a run.
func (t *tx) event(row db.Run, event EventType, runner *string, p payload) error {
	for k, v := range p {
		if v == nil || v == "" {
			delete(p, k)
		}
	}
	encoded, err := canonical(p)
	if err != nil {
		return err
	}
	_, err = t.record(row, event, runner, encoded)
	return err
}

func (t *tx) record(row db.Run, event EventType, runner *string, payload json.RawMessage) (db.RunEvent, error) {
	return t.RunEventAppend(t, db.RunEventAppendParams{
		RecordedAt:  t.now,
		RunID:       row.RunID,
		WorkflowRef: row.WorkflowRef,
		Type:        string(event),
		RunnerID:    runner,
		PayloadJSON: string(payload),
	})
}

// refusal explains why a statement changed no row of a run that exists: the
// first that applies of not_owner, invalid_transition, source_changed and
// claim_lost. See docs/operations.md#errors.
type refusal struct {
	to      Status   // the state that was asked for; "" for a claim move
	from    []Status // the states that the statement takes
	owner   bool     // the session must own the run
	session string   // the caller's; "" is a detached host
	digest  string   // "" where none was given
}

func (t *tx) refuse(row db.Run, r refusal) error {
	switch {
	case r.owner && text(row.OriginSessionID) != r.session:
		return notOwner(row)
	case !slices.Contains(r.from, Status(row.Status)):
		return invalidTransition(row, r)
	case !sameDigest(row, r.digest):
		return NewError(CodeSourceChanged, Details{"runId": row.RunID, "definitionDigest": row.DefinitionDigest},
			"the definition of run %s is not the one that was queued", row.RunID)
	}
	return claimLost(row)
}

// sameDigest compares as RunMarkRunning does: a digest that is not given, or is
// stored as unavailable, matches.
func sameDigest(row db.Run, digest string) bool {
	return digest == "" || row.DefinitionDigest == "unavailable" || row.DefinitionDigest == digest
}

func invalidTransition(row db.Run, r refusal) error {
	details := Details{"runId": row.RunID, "status": row.Status}
	if row.ErrorCode != nil {
		details["errorCode"] = *row.ErrorCode
	}
	switch {
	case Status(row.Status).Terminal():
		return NewError(CodeInvalidTransition, details, "run %s has ended as %s", row.RunID, row.Status)
	case r.to == Status(row.Status):
		return NewError(CodeInvalidTransition, details, "run %s is %s already", row.RunID, row.Status)
	case r.to == "":
		return NewError(CodeInvalidTransition, details, "run %s is %s, and has no such claim", row.RunID, row.Status)
	}
	return NewError(CodeInvalidTransition, details, "run %s is %s, and cannot become %s", row.RunID, row.Status, r.to)
}

func notOwner(row db.Run) error {
	return NewError(CodeNotOwner, Details{"runId": row.RunID}, "run %s belongs to another session or host", row.RunID)
}

func claimLost(row db.Run) error {
	return NewError(CodeClaimLost, claimDetails(row), "the claim token is not the live one of run %s", row.RunID)
}

func claimLive(row db.Run) error {
	return NewError(CodeClaimLive, claimDetails(row), "run %s is claimed and its lease lives", row.RunID)
}

func claimDetails(row db.Run) Details {
	return Details{
		"runId":          row.RunID,
		"status":         row.Status,
		"runnerId":       text(row.RunnerID),
		"claimExpiresAt": text(leaseTime(row.ClaimExpiresAt)),
	}
}
