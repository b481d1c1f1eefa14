package core

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/pi-workflows/wfcore/core/strictjson"
)

// Next takes what a host saw and returns its next step. Only a result that cannot
// be read is an error, and changes nothing.
func (s *TurnState) Next(seen TurnSeen, m Moment) (TurnStep, error) {
	if err := s.check(seen); err != nil {
		return TurnStep{}, err
	}
	before := *s
	if err := s.absorb(seen, m); err != nil {
		*s = before
		return TurnStep{}, err
	}
	if step, ok := s.Abort.next(); ok {
		return step, nil
	}
	if s.Asked != "" {
		return TurnStep{Kind: StepWait}, nil
	}
	step := s.choose(m)
	if step.Kind != StepWait {
		s.Asked = step.Kind
	}
	return step, nil
}

func (s *TurnState) absorb(seen TurnSeen, m Moment) error {
	if seen.Step != "" {
		ours := s.Abort.Asked == seen.Step
		if !ours && seen.Step != s.Asked {
			return nil // told twice
		}
		if !seen.isResult() {
			return badRequest("seen.kind", "is no result of the step %s", seen.Step)
		}
		if ours {
			s.Abort.answered(seen)
			return nil
		}
		s.Asked, s.Pass.Held = "", s.Pass.Held || seen.Held
		return s.result(seen, m)
	}
	s.begin(seen, m.Now.UnixMilli())
	switch seen.Kind {
	case SeenNatural:
		return s.post(seen)
	case SeenAbort:
		if seen.Note == nil {
			return badRequest("seen.note", "is missing")
		}
		s.Abort.begin(*seen.Note, s.SessionID)
	case SeenEnded:
		s.Abort.ended(seen.RunID, seen.Stored)
		s.withdraw(seen.RunID, func(n natural) bool { return seen.Stored && n.Resolution == ByWorkflowPrompt })
	case SeenWithdrawn:
		s.withdraw(seen.RunID, func(natural) bool { return true })
	case SeenSettled:
		s.Abort.Aborting = false
	case SeenPoll:
		s.Abort.Aborting = s.Abort.Aborting && !seen.Idle
	case SeenShutdown:
		s.Closed = true
	}
	return nil
}

// withdraw takes back the natural messages of a run that have not gone.
func (s *TurnState) withdraw(runID string, which func(natural) bool) {
	gone := func(n natural) bool { return n.RunID == runID && n.IntentID == "" && which(n) }
	s.Outbox = slices.DeleteFunc(s.Outbox, gone)
	if d := s.Delivery; d != nil && d.Natural != nil && gone(*d.Natural) {
		d.Natural, d.Failed = nil, true // its claim is given back
	}
}

// begin starts a pass, and keeps the time for which the session has been idle. A
// gap as long as a lease, or 30 s, was a sleep: nobody watched.
func (s *TurnState) begin(seen TurnSeen, nowMS int64) {
	sleep := max(leaseOr(s.LeaseMS), leaseOr(0))
	switch {
	case !seen.Idle:
		s.IdleSinceMS = 0
	case s.IdleSinceMS == 0, nowMS < s.LastMS, nowMS-s.LastMS >= sleep:
		s.IdleSinceMS = nowMS
	}
	s.LastMS = nowMS
	settled := seen.Kind == SeenSettled
	sync := settled || seen.Kind == SeenSessionStart || seen.Kind == SeenPoll
	s.Pass = pass{Idle: seen.Idle, Held: seen.Held, Turn: seen.Turn, Swept: !sync, Sync: sync}
	s.Abort.Tried = false
	for i := range s.Outbox {
		s.Outbox[i].Looked = false
	}
	for i, u := range s.Unconfirmed {
		s.Unconfirmed[i].Settled = u.Settled || settled && seen.Turn > u.Turn
	}
}

// post takes a natural message once.
func (s *TurnState) post(seen TurnSeen) error {
	switch {
	case seen.MessageID == "":
		return badRequest("seen.messageId", "is missing")
	case seen.RunID == "":
		return badRequest("seen.runId", "is missing")
	case seen.Resolution != ByWorkflowPrompt && seen.Resolution != ByPresentation:
		return badRequest("seen.resolution", "must be %s or %s", ByWorkflowPrompt, ByPresentation)
	}
	known := func(n natural) bool { return n.MessageID == seen.MessageID }
	if slices.ContainsFunc(s.Outbox, known) || s.Delivery != nil && s.Delivery.Natural != nil && known(*s.Delivery.Natural) {
		return nil
	}
	s.Outbox = append(s.Outbox, natural{MessageID: seen.MessageID, Resolution: seen.Resolution, RunID: seen.RunID})
	return nil
}

// choose picks the next step: of the delivery, of the natural messages beside it, and
// of the fallbacks last.
func (s *TurnState) choose(m Moment) TurnStep {
	s.Asking = ""
	if s.Delivery != nil {
		if step := s.deliver(m); step.Kind != StepWait {
			return step
		}
	}
	switch {
	case s.Closed && s.Delivery == nil && s.Open != nil && !s.Pass.Blocked:
		return *s.Open // to give it back, if it is held
	case s.Closed:
		return TurnStep{Kind: StepWait}
	}
	if n := s.waiting(); n != nil && !s.Abort.Aborting {
		s.Asking = n.MessageID
		return s.natural(*n, m)
	}
	switch {
	case s.Delivery != nil || s.Pass.Blocked:
	case !s.Pass.Swept:
		return opStep(StepSweep, "sweepTurnIntents", SweepRequest{SessionID: s.SessionID, Limit: MaxList})
	case !s.Abort.Aborting && s.Pass.Sync && s.mayClaim(m):
		return s.claim(opStep(StepClaim, claimForFallback, ClaimEligibleRequest{
			SessionID: s.SessionID, ClaimToken: s.claimToken(m), LeaseMS: s.LeaseMS, Limit: 1,
		}))
	}
	return TurnStep{Kind: StepWait}
}

// waiting is the first natural message of a run that has not to wait in this pass, or
// nil.
func (s *TurnState) waiting() *natural {
	i := slices.IndexFunc(s.Outbox, func(n natural) bool { return !slices.Contains(s.Pass.Waiting, n.RunID) })
	if i < 0 {
		return nil
	}
	return &s.Outbox[i]
}

// The operations that claim.
const (
	claimForNatural  = "claimWorkflowTurnIntentForRun"
	claimForFallback = "claimEligibleWorkflowTurnIntentsForSession"
)

// claim keeps the step, until it is answered.
func (s *TurnState) claim(step TurnStep) TurnStep {
	s.Open = &step
	return step
}

// claimToken is kept until a claim is answered, so that it can be repeated.
func (s *TurnState) claimToken(m Moment) string {
	s.Token = or(s.Token, m.Token)
	return s.Token
}

// mayClaim asks for an idle boundary that no message has used: a turn started since
// the last send, or the session has been idle for a lease.
func (s *TurnState) mayClaim(m Moment) bool {
	last := s.LastSend
	return s.maySend() && (last == nil || s.Pass.Turn > last.Turn || s.idleFor(last.AtMS, m))
}

func (s *TurnState) maySend() bool { return s.Pass.Idle && !s.Pass.Held && !s.Closed }

// idleFor says whether the session was idle for a lease, all since a time.
func (s *TurnState) idleFor(sinceMS int64, m Moment) bool {
	return s.IdleSinceMS > 0 && m.Now.UnixMilli()-max(s.IdleSinceMS, sinceMS) >= leaseOr(s.LeaseMS)
}

// natural takes a message on: it waits for an idle session where a turn is owed for
// its run, and else goes as it is.
func (s *TurnState) natural(n natural, m Moment) TurnStep {
	mayClaim := s.Delivery == nil && !s.Pass.Blocked && s.mayClaim(m)
	switch {
	case s.Pass.Free == n.MessageID:
		return TurnStep{Kind: StepSend, MessageID: n.MessageID, RunID: n.RunID}
	case n.IntentID != "" && !n.Looked:
		return TurnStep{Kind: StepLook, IntentID: n.IntentID}
	case mayClaim:
		return s.claim(opStep(StepClaim, claimForNatural, ClaimForRunRequest{
			RunID: n.RunID, SessionID: s.SessionID, ClaimToken: s.claimToken(m), LeaseMS: s.LeaseMS,
		}))
	}
	return opStep(StepFind, "findPendingWorkflowTurnIntent", OwedRequest{RunID: n.RunID, SessionID: s.SessionID})
}

// deliver takes the claimed intent one step on.
func (s *TurnState) deliver(m Moment) TurnStep {
	d := s.Delivery
	hold := HoldIntentRequest{IntentID: d.Intent.IntentID, ClaimToken: d.Intent.ClaimToken}
	switch {
	case s.Closed, d.Failed:
		return opStep(StepRelease, "releaseWorkflowTurnIntentClaim", hold)
	case s.Pass.Blocked:
		return TurnStep{Kind: StepWait}
	case d.Found != "":
		return opStep(StepResolve, "resolveWorkflowTurnIntent", ResolveIntentRequest{hold.IntentID, hold.ClaimToken, d.Found})
	case !s.Pass.Looked:
		return TurnStep{Kind: StepLook, IntentID: hold.IntentID}
	case s.maySend() && s.lost(m):
		return s.send(hold)
	case s.unconfirmed() == nil: // nothing is held over a turn
		return opStep(StepRelease, "releaseWorkflowTurnIntentClaim", hold)
	case m.Now.UnixMilli()-d.RenewedMS >= leaseOr(s.LeaseMS)/3:
		return opStep(StepRenew, "renewWorkflowTurnIntentClaim", RenewIntentRequest{hold.IntentID, hold.ClaimToken, s.LeaseMS})
	}
	return TurnStep{Kind: StepWait}
}

// lost says whether what was sent, if anything, will not come any more: a turn that
// began after the send has ended, or the session was idle for a lease.
func (s *TurnState) lost(m Moment) bool {
	sent := s.unconfirmed()
	return sent == nil || sent.Settled || s.idleFor(sent.AtMS, m)
}

// unconfirmed is the send of the delivery that no session has shown yet, or nil.
func (s *TurnState) unconfirmed() *send {
	i := slices.IndexFunc(s.Unconfirmed, isSendOf(s.Delivery.Intent.IntentID))
	if i < 0 {
		return nil
	}
	return &s.Unconfirmed[i]
}

// send verifies the claim, by renewing it, and sends at once.
func (s *TurnState) send(hold HoldIntentRequest) TurnStep {
	step := opStep(StepSend, "renewWorkflowTurnIntentClaim", RenewIntentRequest{hold.IntentID, hold.ClaimToken, s.LeaseMS})
	step.IntentID, step.RunID = hold.IntentID, s.Delivery.Intent.RunID
	if n := s.Delivery.Natural; n != nil {
		step.MessageID = n.MessageID
		return step
	}
	message := FallbackMessage(s.Delivery.Intent)
	step.Message = &message
	return step
}

func opStep(kind TurnStepKind, op string, request any) TurnStep {
	return TurnStep{Kind: kind, Op: op, Request: encodeRequest(request)}
}

// encodeRequest is canonical, since a state that holds it is too.
func encodeRequest(request any) json.RawMessage {
	encoded, err := json.Marshal(request)
	if err == nil {
		encoded, err = strictjson.Canonical(encoded)
	}
	if err != nil { // requests are plain structs of texts that were checked
		panic(err)
	}
	return encoded
}

func decodeAnswer[T any](seen TurnSeen) (answer T, err error) {
	if json.Unmarshal(seen.Answer, &answer) != nil {
		err = badRequest("seen.answer", "is not the answer of the step %s", seen.Step)
	}
	return answer, err
}

// check refuses what cannot be, or cannot be read.
func (s *TurnState) check(seen TurnSeen) error {
	switch {
	case !isKeyText(s.SessionID):
		return badRequest("state.sessionId", "must be %s", keySays)
	case s.LeaseMS != 0 && rules["lease"].allows(s.LeaseMS) != "":
		return badRequest("state.leaseMs", "must be %s", rules["lease"].says)
	case !s.sound():
		return badRequest("state", "is not a state of this coordinator")
	case seen.Kind == SeenRefused && !isRefusal(seen.Error):
		return badRequest("seen.error", "must be the error of the op with its code: in JSON-RPC the data of the error")
	}
	return check(&seen)
}

// turnResults are the results of the steps that are no operation alone.
var turnResults = map[TurnStepKind][]TurnSeenKind{
	StepLook:   {SeenLooked},
	StepSend:   {SeenSent, SeenSendFailed, SeenRefused},
	StepAbort:  {SeenDone},
	StepReport: {SeenDone},
}

// isResult says whether a thing seen can be the result of the step that it names.
func (seen TurnSeen) isResult() bool {
	results, ok := turnResults[seen.Step]
	if !ok {
		results = []TurnSeenKind{SeenAnswered, SeenRefused}
	}
	return slices.Contains(results, seen.Kind)
}

// isRefusal says whether this is the error of an op, as every face has it.
func isRefusal(raw json.RawMessage) bool { return codeIn(raw).Info().Meaning != "" }

// sound says whether what was asked for has something to be about.
func (s *TurnState) sound() bool {
	switch s.Asked {
	case StepRenew, StepResolve, StepRelease:
		return s.Delivery != nil
	case StepLook, StepSend:
		return s.Delivery != nil || s.Asking != ""
	case StepFind:
		return s.Asking != ""
	case "", StepSweep, StepClaim:
		return true
	}
	return false
}

func decodeState(raw json.RawMessage, state any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if decoder.Decode(state) != nil {
		return badRequest("state", "is not a state of this coordinator")
	}
	return nil
}
