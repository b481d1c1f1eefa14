package core

import (
	"encoding/json"
	"slices"
)

// aborts are the turns that are being aborted, or were: the system-abort
// bookkeeping. Its steps come before all others, so that nothing holds an abort
// back.
type aborts struct {
	// Aborting says that a turn was aborted and has not settled: no message goes.
	Aborting bool         `json:"aborting,omitempty"`
	Entries  []abort      `json:"entries,omitempty"`
	Asked    TurnStepKind `json:"asked,omitempty"`
	// Tried says that an event could not be recorded; the next pass tries again.
	Tried bool `json:"tried,omitempty"`
}

// abort is one of them.
type abort struct {
	Note     NoteTurnRequest `json:"note"`
	IntentID string          `json:"intentId,omitempty"`
	State    abortState      `json:"state"`
	Stored   bool            `json:"stored,omitempty"`
	Nothing  bool            `json:"nothing,omitempty"` // is owed
	Lost     bool            `json:"lost,omitempty"`    // its outcome could not be stored
	Asked    bool            `json:"asked,omitempty"`   // its step is the one that is awaited
}

type abortState string

const (
	abortBegun   abortState = "begun"   // provenance is noted here
	abortNoted   abortState = "noted"   // the intent was stored, or could not be
	abortDone    abortState = "done"    // the turn was aborted and is not stored: the outcome is awaited
	abortLost    abortState = "lost"    // the outcome could not be stored either
	abortTold    abortState = "told"    // and the user knows; it may be stored by now
	abortFailed  abortState = "failed"  // it is not
	abortSettled abortState = "settled" // nothing is left to do
)

func (a *aborts) begin(note NoteTurnRequest, session string) {
	a.Aborting = true
	note.SessionID = session
	event := note.turn()
	entry := abort{Note: note, State: abortBegun, IntentID: event.sourceOf(note.RunID, session).IntentID()}
	if event.quiet() {
		entry.State, entry.Nothing = abortNoted, true // whatever is stored
	}
	if slices.ContainsFunc(a.Entries, func(e abort) bool { return e.IntentID == entry.IntentID && e.State == abortBegun }) {
		return
	}
	a.Entries = append(a.Entries, entry)
}

// ended takes the outcome of a run: stored, its own transaction paid what the abort
// owed.
func (a *aborts) ended(runID string, stored bool) {
	for i := range a.Entries {
		e := &a.Entries[i]
		switch {
		case e.Note.RunID != runID:
		case stored && e.State != abortBegun && e.State != abortNoted:
			e.State = abortSettled // also what was lost before
		case e.State == abortDone:
			e.State = abortLost
		case e.State == abortBegun || e.State == abortNoted: // told before the turn was aborted
			e.Stored, e.Lost = e.Stored || stored, !stored
		}
	}
}

// next is the step of the first entry that has one; a turn that is to be aborted goes
// before what others still have to tell.
func (a *aborts) next() (TurnStep, bool) {
	a.Entries = slices.DeleteFunc(a.Entries, func(e abort) bool { return e.State == abortSettled && !e.Asked })
	if a.Asked != "" {
		return TurnStep{}, false
	}
	for _, urgent := range []bool{true, false} {
		for i := range a.Entries {
			e := &a.Entries[i]
			step := e.step()
			if step.Kind == "" || urgent != e.urgent() || step.Kind == StepRecord && a.Tried {
				continue
			}
			a.Asked, e.Asked = step.Kind, true
			return step, true
		}
	}
	return TurnStep{}, false
}

// urgent says that the turn is not aborted yet.
func (e abort) urgent() bool { return e.State == abortBegun || e.State == abortNoted }

func (e abort) step() TurnStep {
	switch e.State {
	case abortBegun:
		return opStep(StepNote, "noteTurnEvent", e.Note)
	case abortNoted:
		return TurnStep{Kind: StepAbort, RunID: e.Note.RunID, IntentID: e.IntentID, Stored: e.Stored}
	case abortLost:
		return TurnStep{Kind: StepReport, RunID: e.Note.RunID, IntentID: e.IntentID, GuaranteeLost: true}
	case abortTold:
		return opStep(StepRecord, "getWorkflowTurnIntent", IntentRequest{e.IntentID})
	case abortFailed:
		payload, _ := json.Marshal(map[string]string{"intentId": e.IntentID})
		return opStep(StepRecord, "recordRunEvent", RecordEventRequest{RunID: e.Note.RunID, Type: EventTurnIntentFailed, Payload: payload})
	}
	return TurnStep{}
}

// answered takes the result of its own step.
func (a *aborts) answered(seen TurnSeen) {
	a.Asked = ""
	for i := range a.Entries {
		if e := &a.Entries[i]; e.Asked {
			e.Asked = false
			a.Tried = !e.advance(seen) || a.Tried
		}
	}
}

// advance takes an entry on; false means that its step has to be tried again.
func (e *abort) advance(seen TurnSeen) bool {
	switch e.State {
	case abortBegun:
		e.State = abortNoted
		var note TurnNote
		if seen.Kind == SeenAnswered && json.Unmarshal(seen.Answer, &note) == nil {
			e.Stored, e.Nothing = note.Intent != nil, note.Intent == nil
			if e.Stored {
				e.IntentID = note.Intent.IntentID
			}
		}
	case abortNoted:
		switch {
		case e.Stored || e.Nothing:
			e.State = abortSettled // what is stored, its outcome finds there
		case e.Lost:
			e.State = abortLost
		default:
			e.State = abortDone
		}
	case abortLost:
		e.State = abortTold
	case abortTold, abortFailed:
		if seen.Kind == SeenRefused && codeIn(seen.Error).open() {
			return false
		}
		if e.State == abortTold && seen.Kind == SeenRefused {
			e.State = abortFailed
			return true
		}
		e.State = abortSettled
	}
	return true
}
