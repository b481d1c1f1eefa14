package core

import (
	"encoding/json"
	"slices"
)

// result takes what came of the step that was asked for.
func (s *TurnState) result(seen TurnSeen, m Moment) error {
	switch seen.Step {
	case StepSweep:
		s.Pass.Swept = true // what it could not do, the next pass does
	case StepLook:
		s.looked(resolutionOf(seen.Found))
	case StepFind:
		return s.found(seen)
	case StepClaim:
		return s.claimed(seen, m)
	case StepSend:
		s.sent(seen, m)
	case StepRenew:
		if seen.Kind == SeenAnswered {
			s.Delivery.RenewedMS = m.Now.UnixMilli()
			return nil
		}
		s.refused(seen)
	case StepResolve:
		if seen.Kind == SeenAnswered {
			s.resolved()
			return nil
		}
		s.refused(seen)
	case StepRelease:
		s.drop()
		s.Pass.Blocked = true
	}
	return nil
}

// looked takes what the session shows: for the delivery, or for a natural message
// that may have gone under an earlier claim.
func (s *TurnState) looked(found Resolution) {
	s.Pass.Looked = true
	if s.Delivery != nil {
		s.Delivery.Found = found
		return
	}
	if n := s.Outbox[0]; found == n.Resolution {
		s.Outbox, s.Pass.Looked = s.Outbox[1:], false
		s.Shown = append(s.Shown, n.IntentID)
	}
}

func (s *TurnState) found(seen TurnSeen) error {
	pending, err := decodeAnswer[*Intent](seen)
	if seen.Kind == SeenRefused {
		s.Pass.Blocked = true
		return nil
	}
	s.Pass.Free, s.Pass.Blocked = pending == nil, pending != nil
	return err
}

// claimed takes an intent to deliver. A natural message for which no turn is owed
// goes as it is.
func (s *TurnState) claimed(seen TurnSeen, m Moment) error {
	if seen.Kind == SeenRefused {
		s.Pass.Blocked = true
		if !codeIn(seen.Error).open() {
			s.Token = "" // it was not claimed, for certain
		}
		return nil
	}
	natural := s.ForRun
	claimed, err := claimedIn(seen, natural)
	if err != nil {
		return err
	}
	if claimed != nil && claimed.IntentID == "" {
		return badRequest("seen.answer", "is not the answer of the step %s", seen.Step)
	}
	s.Token = ""
	if claimed == nil {
		s.Pass.Free, s.Pass.Blocked = natural, !natural
		return nil
	}
	s.Delivery = &delivery{Intent: *claimed, RenewedMS: m.Now.UnixMilli()}
	s.Pass.Looked = false
	if natural {
		first := s.Outbox[0]
		first.IntentID = claimed.IntentID
		s.Delivery.Natural, s.Outbox = &first, s.Outbox[1:]
	}
	return nil
}

func claimedIn(seen TurnSeen, natural bool) (*Intent, error) {
	if natural {
		return decodeAnswer[*Intent](seen)
	}
	claimed, err := decodeAnswer[[]Intent](seen)
	if err != nil || len(claimed) == 0 {
		return nil, err
	}
	return &claimed[0], nil
}

func isSendOf(intentID string) func(send) bool {
	return func(u send) bool { return u.IntentID == intentID }
}

// confirm forgets a send: it arrived, or another one follows.
func (s *TurnState) confirm(intentID string) {
	s.Unconfirmed = slices.DeleteFunc(s.Unconfirmed, isSendOf(intentID))
}

// sent takes what came of a send: a message of an intent is not delivered until the
// session shows it.
func (s *TurnState) sent(seen TurnSeen, m Moment) {
	d := s.Delivery
	switch {
	case d == nil && seen.Kind == SeenSent:
		if s.IdleSinceMS > 0 { // it uses the idle boundary up, though it is not waited for
			s.LastSend = &send{AtMS: m.Now.UnixMilli(), Turn: s.Pass.Turn}
		}
		s.Outbox = s.Outbox[1:]
		s.Pass.Free, s.Pass.Looked = false, false
	case d == nil:
		s.Pass.Blocked = true // it stays in the outbox
	case seen.Kind == SeenSent:
		now := send{IntentID: d.Intent.IntentID, AtMS: m.Now.UnixMilli(), Turn: s.Pass.Turn}
		s.confirm(now.IntentID)
		s.Unconfirmed = append(s.Unconfirmed, now)
		s.LastSend, d.RenewedMS = &now, now.AtMS
		s.Pass.Blocked = true
	case seen.Kind == SeenSendFailed:
		d.Failed = true
	default:
		s.refused(seen)
	}
}

// resolved ends a delivery. A natural message whose intent was resolved on another
// path still goes, as it is.
func (s *TurnState) resolved() {
	d := s.Delivery
	s.confirm(d.Intent.IntentID)
	another := slices.Contains(s.Shown, d.Intent.IntentID)
	s.Shown = slices.DeleteFunc(s.Shown, func(id string) bool { return id == d.Intent.IntentID })
	switch {
	case d.Natural == nil:
	case d.Natural.Resolution == d.Found && !another:
		d.Natural = nil
	default:
		d.Natural.IntentID = "" // it goes as it is
	}
	s.drop()
}

// refused gives a delivery up where the claim or the intent is gone, and tries
// again later where the store did not answer.
func (s *TurnState) refused(seen TurnSeen) {
	s.Pass.Blocked = true
	code := codeIn(seen.Error)
	if code.open() {
		return
	}
	if code != CodeClaimLost {
		s.confirm(s.Delivery.Intent.IntentID)
	}
	s.drop()
}

// drop forgets the delivery; its natural message waits again.
func (s *TurnState) drop() {
	if n := s.Delivery.Natural; n != nil {
		s.Outbox = append([]natural{*n}, s.Outbox...)
	}
	s.Delivery = nil
	s.Pass.Looked, s.Pass.Free = false, false
}

// codeIn is the code of an error that crossed a face.
func codeIn(raw json.RawMessage) Code { return errorIn(raw).Code }

func errorIn(raw json.RawMessage) (e Error) {
	_ = json.Unmarshal(raw, &e) // what is no error has no code, which is no retryable one
	return e
}
