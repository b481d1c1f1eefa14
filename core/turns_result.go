package core

import (
	"encoding/json"
	"slices"
)

// result takes what came of the step that was asked for.
func (s *TurnState) result(seen TurnSeen, m Moment) error {
	if s.Asking != "" && s.asking() < 0 {
		return s.resultOfGone(seen, m)
	}
	switch seen.Step {
	case StepSweep:
		s.Pass.Swept = true // what it could not do, the next pass does
	case StepLook:
		s.looked(resolutionOf(seen.Found), seen.MessageID)
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

// resultOfGone takes what came of a step about a natural message that was withdrawn
// meanwhile: a claim for it is given back.
func (s *TurnState) resultOfGone(seen TurnSeen, m Moment) error {
	if seen.Step != StepClaim || seen.Kind == SeenRefused {
		return nil
	}
	claimed, err := s.claimedIn(seen)
	if err != nil {
		return err
	}
	if s.Token, s.Open = "", nil; claimed != nil {
		s.Delivery = &delivery{Intent: *claimed, RenewedMS: m.Now.UnixMilli(), Failed: true}
	}
	return nil
}

// asking is the place of the natural message that the step is about, or -1.
func (s *TurnState) asking() int {
	return slices.IndexFunc(s.Outbox, func(n natural) bool { return n.MessageID == s.Asking })
}

// waits lets the messages of a run wait until something is seen.
func (s *TurnState) waits(runID string) { s.Pass.Waiting = append(s.Pass.Waiting, runID) }

// looked takes what the session shows: for the delivery, or for a natural message
// that went under an earlier claim.
func (s *TurnState) looked(found Resolution, messageID string) {
	if i := s.asking(); i >= 0 {
		n := &s.Outbox[i]
		n.Looked = true
		if s.isShown(*n, n.IntentID, found, messageID) {
			s.Outbox = slices.Delete(s.Outbox, i, i+1)
		}
		return
	}
	d := s.Delivery
	s.Pass.Looked, d.Found = true, found
	d.Own = d.Natural != nil && s.isShown(*d.Natural, d.Intent.IntentID, found, messageID)
}

// isShown says whether what the session shows of an intent is this natural message,
// and not another one of its run: by its name, or where the host has none by what
// was sent.
func (s *TurnState) isShown(n natural, intentID string, found Resolution, messageID string) bool {
	if i := slices.IndexFunc(s.Unconfirmed, isSendOf(intentID)); messageID == "" && i >= 0 {
		messageID = s.Unconfirmed[i].MessageID
	}
	return found == n.Resolution && messageID == n.MessageID
}

func (s *TurnState) found(seen TurnSeen) error {
	n := s.Outbox[s.asking()]
	if seen.Kind == SeenRefused {
		s.waits(n.RunID)
		return nil
	}
	pending, err := decodeAnswer[*Intent](seen)
	switch {
	case err != nil:
		return err
	case pending != nil:
		s.waits(n.RunID)
	default:
		s.Pass.Free = n.MessageID
	}
	return nil
}

// claimed takes an intent to deliver. A natural message for which no turn is owed
// goes as it is.
func (s *TurnState) claimed(seen TurnSeen, m Moment) error {
	i := s.asking()
	if seen.Kind == SeenRefused {
		open := codeIn(seen.Error).open()
		if i >= 0 {
			s.waits(s.Outbox[i].RunID)
		}
		s.Pass.Blocked = s.Pass.Blocked || i < 0 || open
		if !open {
			s.Token, s.Open = "", nil // it was not claimed, for certain
		}
		return nil
	}
	claimed, err := s.claimedIn(seen)
	if err != nil {
		return err
	}
	if claimed != nil && claimed.IntentID == "" {
		return badRequest("seen.answer", "is not the answer of the step %s", seen.Step)
	}
	s.Token, s.Open = "", nil
	switch {
	case claimed == nil && i >= 0:
		s.Pass.Free = s.Outbox[i].MessageID
		return nil
	case claimed == nil:
		s.Pass.Blocked = true
		return nil
	}
	if claimed.FallbackFacts, err = briefFacts(*claimed); err != nil {
		return err
	}
	s.Delivery = &delivery{Intent: *claimed, RenewedMS: m.Now.UnixMilli()}
	s.Pass.Looked = false
	if i >= 0 {
		n := s.Outbox[i]
		s.Delivery.Natural, s.Outbox = &n, slices.Delete(s.Outbox, i, i+1)
	}
	return nil
}

// briefFacts are facts that a state can hold, whatever another host stored.
func briefFacts(i Intent) (json.RawMessage, error) {
	facts := readFacts(i)
	facts.Schema, facts.WorkflowName, facts.RunID = FactsSchema, brief(facts.WorkflowName), brief(facts.RunID)
	text, err := facts.encode()
	return json.RawMessage(text), err
}

// claimedIn is the intent that was claimed, or nil.
func (s *TurnState) claimedIn(seen TurnSeen) (*Intent, error) {
	if s.Open == nil && s.Asking != "" || s.Open != nil && s.Open.Op == claimForNatural {
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
	switch i := s.asking(); {
	case i >= 0:
		s.sentAsItIs(i, seen.Kind == SeenSent, m)
	case seen.Kind == SeenSent:
		now := send{IntentID: d.Intent.IntentID, AtMS: m.Now.UnixMilli(), Turn: s.Pass.Turn}
		if d.Natural != nil {
			now.MessageID, d.Natural.IntentID = d.Natural.MessageID, now.IntentID
		}
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

// sentAsItIs takes what came of a natural message for which no turn is owed.
func (s *TurnState) sentAsItIs(i int, sent bool, m Moment) {
	if !sent {
		s.waits(s.Outbox[i].RunID) // it stays in the outbox
		s.Pass.Blocked = true
		return
	}
	if s.IdleSinceMS > 0 { // it uses the idle boundary up, though it does not wait for one
		s.LastSend = &send{AtMS: m.Now.UnixMilli(), Turn: s.Pass.Turn}
	}
	s.Outbox = slices.Delete(s.Outbox, i, i+1)
}

// resolved ends a delivery. A natural message whose intent was resolved by another
// message still goes, as it is.
func (s *TurnState) resolved() {
	d := s.Delivery
	s.confirm(d.Intent.IntentID)
	switch {
	case d.Own:
		d.Natural = nil
	case d.Natural != nil:
		d.Natural.IntentID = ""
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
	s.Pass.Looked = false
}

// codeIn is the code of an error that crossed a face.
func codeIn(raw json.RawMessage) Code { return errorIn(raw).Code }

func errorIn(raw json.RawMessage) (e Error) {
	_ = json.Unmarshal(raw, &e) // what is no error has no code, which is no retryable one
	return e
}
