package core

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/pi-workflows/wfcore/core/safetext"
	"github.com/pi-workflows/wfcore/db"
)

// NoteTurnRequest tells of an event that stopped or stranded a turn: an
// interruption right before its abort, an outcome once it is durable.
type NoteTurnRequest struct {
	RunID string `json:"runId" check:"known"`
	// SessionID, given, must own the run.
	SessionID string   `json:"sessionId,omitempty" check:"key"`
	Kind      TurnKind `json:"kind" check:"turnKind"`
	// Source is that of the transition, where it is not the policy's.
	Source string `json:"source,omitempty" check:"key"`
	// NodeID and AttemptID name the active step; without a node none was active.
	NodeID     string `json:"nodeId,omitempty" check:"key"`
	AttemptID  string `json:"attemptId,omitempty" check:"key"`
	AbortCause Cause  `json:"abortCause,omitempty" check:"interrupts"`
	// Reason is raw; only its safe form is stored.
	Reason string `json:"reason,omitempty" check:"reason"`
	// ObservedState is that of the run, where it is not the policy's.
	ObservedState        string `json:"observedState,omitempty" check:"key"`
	Origin               Origin `json:"origin,omitempty" check:"origin"`
	Handoff              bool   `json:"handoff,omitempty" check:"flag"`
	RecoveryExpected     bool   `json:"recoveryExpected,omitempty" check:"flag"`
	PresentationExpected bool   `json:"presentationExpected,omitempty" check:"flag"`
	Held                 bool   `json:"held,omitempty" check:"flag"`
	Closing              bool   `json:"closing,omitempty" check:"flag"`
}

func (r NoteTurnRequest) turn() turn {
	return turn{
		TurnEvent: TurnEvent{r.NodeID, r.AttemptID, r.AbortCause, r.Held, r.Closing, r.RecoveryExpected, r.PresentationExpected},
		kind:      r.Kind, source: r.Source, reason: safetext.Line(r.Reason), observed: r.ObservedState, origin: r.Origin, handoff: r.Handoff,
	}
}

// NoteOutcome says what became of an event.
type NoteOutcome string

const (
	NoteCreated NoteOutcome = "created" // it made an intent
	NoteJoined  NoteOutcome = "joined"  // the pending one moved on
	NoteKnown   NoteOutcome = "known"   // its turn was delivered already
	NoteNone    NoteOutcome = "none"    // it owes nothing
)

// TurnNote is what became of an event, and the intent that stands for it.
type TurnNote struct {
	Outcome NoteOutcome `json:"outcome"`
	Intent  *Intent     `json:"intent"`
}

// NoteTurnEvent applies the event policy. An interruption of a run that is not
// running owes nothing; it waits for the store's lock as an abort does, 250 ms, so
// that the abort is not held back. Errors: not_found, not_owner, invalid_transition
// where the run's state is not the outcome. See docs/turns.md#policy.
func (s *Store) NoteTurnEvent(ctx context.Context, req NoteTurnRequest) (TurnNote, error) {
	if err := check(&req); err != nil {
		return TurnNote{}, err
	}
	transact := s.write
	switch policyOf(req.Kind).creates {
	case createsForStep:
		transact = s.writeBeforeAbort
	case "":
		transact = s.read // it changes nothing
	}
	return answer(ctx, transact, func(t *tx) (TurnNote, error) {
		run, err := t.get(req.RunID)
		if err != nil {
			return TurnNote{}, err
		}
		if req.SessionID != "" && text(run.OriginSessionID) != req.SessionID {
			return TurnNote{}, notOwner(run)
		}
		switch row := policyOf(req.Kind); {
		case row.fits(run):
			return t.note(run, req.turn())
		case row.creates == createsForStep:
			return TurnNote{Outcome: NoteNone}, nil // no step is active: what happened is told as an outcome
		}
		return TurnNote{}, NewError(CodeInvalidTransition,
			Details{"runId": run.RunID, "status": run.Status, "errorCode": text(run.ErrorCode)},
			"run %s is %s, which is not what %s tells", run.RunID, run.Status, req.Kind)
	})
}

// note applies the policy to an event that is told by itself. Where the feed has a
// failure, what it owed was paid with it, and it is not owed again; where it has a
// cancellation, it knows whose act that was. Private input does not leave in a reason.
func (t *tx) note(run db.Run, e turn) (TurnNote, error) {
	ends, err := t.RunEventEnds(t, db.RunEventEndsParams{RunID: run.RunID})
	if err != nil {
		return TurnNote{}, err
	}
	e.paid = ends.Failures > 0
	switch {
	case ends.AgentCancellations > 0:
		e.origin = OriginAgent
	case ends.Cancellations > 0:
		e.origin = OriginUser
	}
	e.reason = InputHider(json.RawMessage(run.InputJSON))(e.reason)
	return t.owe(run, e)
}

// owe applies the policy to an event of a run: it makes an intent, moves the
// pending one on, or does nothing.
func (t *tx) owe(run db.Run, e turn) (TurnNote, error) {
	none := TurnNote{Outcome: NoteNone}
	session := text(run.OriginSessionID)
	if session == "" || e.quiet() {
		return none, nil
	}
	pending, ok, err := t.pending(run.RunID, session)
	if err != nil {
		return none, err
	}
	if ok {
		return t.join(pending, run, e)
	}
	if !e.creates() {
		return none, nil
	}
	known, ok, err := t.known(run.RunID, session, e)
	switch {
	case err != nil:
		return none, err
	case ok:
		return noteOf(NoteKnown, known), nil
	case e.paid:
		return none, nil
	}
	id := identityOf(e.sourceOf(run.RunID, session), run.WorkflowRef, "", "")
	row, ok, err := t.createIntent(id, factsFor(run, e, Facts{Cause: id.Cause, NodeID: column(id.NodeID), AttemptID: column(id.AttemptID)}), e.eligible())
	if err == nil && !ok { // another host's row is in the way, which only that can settle
		return none, t.event(run, EventTurnIntentFailed, nil, payload{"intentId": id.intentID})
	}
	return noteOf(NoteCreated, row), err
}

func noteOf(outcome NoteOutcome, row db.Intent) TurnNote {
	i := intentOf(row)
	return TurnNote{outcome, &i}
}

// known finds the intent that stands for the event already: its own, that of an
// abort of the same attempt, or that of the one end that the run had, told in other
// words. With a pending one ruled out, its turn was delivered.
func (t *tx) known(runID, session string, e turn) (row db.Intent, ok bool, err error) {
	ids := []string{e.sourceOf(runID, session).IntentID()}
	if e.afterAbort() {
		for _, cause := range interruptions {
			ids = append(ids, abortSource(runID, session, e.TurnEvent, cause).IntentID())
		}
	}
	if policyOf(e.kind).creates == createsUnlessAborted {
		for _, end := range policy {
			if end.creates == createsUnlessAborted {
				ids = append(ids, turn{kind: end.kind}.sourceOf(runID, session).IntentID())
			}
		}
	}
	for _, id := range ids {
		row, ok, err = noRow(t.IntentGet(t, db.IntentGetParams{IntentID: id}))
		ours := row.RunID == runID && row.TargetSessionID == session // and not what another host stored there
		if ok && ours || err != nil {
			return row, ok, err
		}
	}
	return row, false, nil
}

// join moves the pending intent on: its identity and first cause stand, the facts
// are those of the latest event.
func (t *tx) join(pending db.Intent, run db.Run, e turn) (TurnNote, error) {
	text, err := factsFor(run, e, readFacts(intentOf(pending))).encode()
	if err != nil {
		return TurnNote{}, err
	}
	var row db.Intent
	if e.eligible() {
		row, err = t.IntentMakeEligible(t, db.IntentMakeEligibleParams{IntentID: pending.IntentID, FallbackFactsJSON: text, Now: t.now})
	} else {
		row, err = t.IntentUpdateFacts(t, db.IntentUpdateFactsParams{IntentID: pending.IntentID, FallbackFactsJSON: text})
	}
	return noteOf(NoteJoined, row), err
}

// factsFor are the facts of an event, on top of what was known before.
func factsFor(run db.Run, e turn, before Facts) Facts {
	f := Facts{
		Schema:        FactsSchema,
		WorkflowName:  brief(run.WorkflowRef),
		RunID:         brief(run.RunID),
		ObservedState: or(or(e.observed, policyOf(e.kind).observed), observed(Status(run.Status))),
		Cause:         before.Cause,
		NodeID:        before.NodeID,
		AttemptID:     before.AttemptID,
		Reason:        before.Reason,
		Handoff:       e.handedOff(),
	}
	if e.NodeID != "" {
		f.NodeID, f.AttemptID = &e.NodeID, column(e.AttemptID)
	}
	if e.reason != "" {
		f.Reason = &e.reason
	}
	return f
}

// observed names the state of a run as messages do.
func observed(status Status) string {
	switch status {
	case Done:
		return "completed"
	case Parked:
		return "waiting"
	}
	return string(status)
}

// settle pays the obligation of a run that has just ended, or waits, in the
// transaction that ended it.
func (t *tx) settle(from Status, row db.Run, told told) error {
	e := turn{origin: told.origin, reason: text(safeText(row.ErrorMessage))}
	if told.event != nil {
		e.TurnEvent = *told.event
	}
	e.kind = outcome(from, Status(row.Status), FailureCode(text(row.ErrorCode)), e.TurnEvent)
	if told.paused {
		e.kind = TurnPause
	}
	_, err := t.owe(row, e)
	return err
}

// SweepRequest asks to settle what was left over; without a session, everywhere.
type SweepRequest struct {
	SessionID string `json:"sessionId,omitempty" check:"key"`
	Limit     int64  `json:"limit" check:"limit"`
}

// SweepTurnIntents makes the pending intents of runs eligible that have ended, by the
// policy: another host ended them, or a crash came between. It returns those that
// it made eligible, oldest first, and makes no intent. See docs/turns.md#sweep.
func (s *Store) SweepTurnIntents(ctx context.Context, req SweepRequest) ([]Intent, error) {
	if err := check(&req); err != nil {
		return nil, err
	}
	return answer(ctx, s.write, func(t *tx) ([]Intent, error) {
		rows, err := t.IntentListUnsettled(t, db.IntentListUnsettledParams{SessionID: req.SessionID, Limit: req.Limit})
		if err != nil {
			return nil, err
		}
		swept := []Intent{}
		for _, row := range rows {
			i, err := t.sweep(row)
			if err != nil {
				return nil, err
			}
			swept = append(swept, i)
		}
		return swept, nil
	})
}

func (t *tx) sweep(pending db.Intent) (Intent, error) {
	run, err := t.get(pending.RunID)
	if err != nil {
		return Intent{}, err
	}
	code := FailureCode(text(run.ErrorCode))
	from := Running
	if slices.Contains(LaunchFailures, code) {
		from = Starting
	}
	// The statement that chose it knows that a cancellation was the agent's.
	e := turn{kind: outcome(from, Status(run.Status), code, TurnEvent{}), reason: text(safeText(run.ErrorMessage)), origin: OriginAgent}
	note, err := t.join(pending, run, e)
	if err != nil {
		return Intent{}, err
	}
	return *note.Intent, nil
}

// told is what the caller of an op that ends a run knows beside it.
type told struct {
	event  *TurnEvent
	origin Origin
	paused bool
}

// payload is what the feed keeps of it, which a later sweep reads.
func (o told) payload() payload {
	p := payload{"origin": string(o.origin)}
	if o.paused {
		p["paused"] = true
	}
	if o.event != nil && o.event.PresentationExpected {
		p["presentationExpected"] = true
	}
	return p
}
