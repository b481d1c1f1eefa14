package core

import "slices"

// Next takes what a host saw and returns its next step. Only a result that cannot
// be read is an error, and changes nothing.
func (s *LaunchState) Next(seen LaunchSeen, m Moment) (LaunchStep, error) {
	if err := s.check(seen); err != nil {
		return LaunchStep{}, err
	}
	if seen.ofEngine() && (seen.Step == DoBuild || seen.Step == DoRun) {
		seen.Step = "" // they go on beside other steps, and are known by their run
	}
	step, err := s.absorb(seen, m)
	if err != nil || step.Kind != "" {
		return step, err
	}
	if s.Asked != "" {
		return LaunchStep{Kind: DoWait}, nil
	}
	step = s.choose(m)
	if step.Kind != DoWait {
		s.Asked = step.Kind
	}
	return step, nil
}

// check refuses what cannot be, or cannot be read.
func (s *LaunchState) check(seen LaunchSeen) error {
	switch {
	case !isKeyText(s.RunnerID):
		return badRequest("state.runnerId", "must be %s", keySays)
	case s.LeaseMS != 0 && rules["lease"].allows(s.LeaseMS) != "":
		return badRequest("state.leaseMs", "must be %s", rules["lease"].says)
	case !s.sound():
		return badRequest("state", "is not a state of this coordinator")
	case seen.Kind == LaunchRefused && !isRefusal(seen.Error):
		return badRequest("seen.error", "must be the error of the op with its code: in JSON-RPC the data of the error")
	}
	return check(&seen)
}

// launchResults are the results of the steps that are no operation.
var launchResults = map[LaunchStepKind][]LaunchSeenKind{
	DoInspect:     {LaunchFound},
	DoWriteBundle: {LaunchDone, LaunchBuildFailed},
	DoStop:        {LaunchDone},
}

// isResult says whether a thing seen can be the result of the step that it names.
func (seen LaunchSeen) isResult() bool {
	results, ok := launchResults[seen.Step]
	if !ok {
		results = []LaunchSeenKind{LaunchAnswered, LaunchRefused}
	}
	return slices.Contains(results, seen.Kind)
}

// sound says whether what was asked for has something to be about.
func (s *LaunchState) sound() bool {
	switch s.Asked {
	case "", DoList, DoClaim:
		return true
	case DoFail, DoFinish, DoPark, DoCancel:
		return s.Hold != nil && s.Hold.End != nil
	}
	return s.Hold != nil
}

func (s *LaunchState) absorb(seen LaunchSeen, m Moment) (LaunchStep, error) {
	if seen.Step != "" {
		if seen.Step != s.Asked {
			return LaunchStep{}, nil // told twice
		}
		if !seen.isResult() {
			return LaunchStep{}, badRequest("seen.kind", "is no result of the step %s", seen.Step)
		}
		return s.result(seen, m)
	}
	if seen.Kind == LaunchEnded && seen.Outcome == "" {
		return LaunchStep{}, badRequest("seen.outcome", "is missing")
	}
	if seen.ofEngine() && (s.Hold == nil || s.Hold.RunID != seen.RunID || !s.Hold.absorb(seen)) {
		return LaunchStep{}, nil // told twice, or late
	}
	idle := seen.Idle && !seen.PendingMessages
	boundary := seen.Kind == LaunchSettled || seen.Kind == LaunchSessionStart || seen.Kind == LaunchPoll
	s.Pass = launchPass{MayStart: boundary && idle, Look: seen.Kind == LaunchPoll || seen.Kind == LaunchNode}
	if seen.Kind == LaunchShutdown {
		s.Closed = true
	}
	return LaunchStep{}, nil
}

// ofEngine says whether an engine did it.
func (seen LaunchSeen) ofEngine() bool {
	return seen.Step != DoWriteBundle && (seen.Kind == LaunchBuilt || seen.Kind == LaunchBuildFailed || seen.Kind == LaunchEnded)
}

// absorb takes what came of a build or a run, where it is awaited.
func (h *held) absorb(seen LaunchSeen) bool {
	switch {
	case h.Stop != "" || h.End != nil:
		return false
	case seen.Kind == LaunchBuilt && h.Phase == phaseBuild:
		h.Phase, h.Digest = phaseBuilt, seen.DefinitionDigest
	case seen.Kind == LaunchBuildFailed && h.launching():
		h.End = buildFailed(seen)
	case seen.Kind == LaunchEnded && h.Phase == phaseRunning:
		message := InputHider(seen.Input)(seen.Message) // the store has no input to compare any more
		h.End = &launchEnd{Outcome: seen.Outcome, Code: seen.Code, Message: message, TurnEvent: seen.TurnEvent}
	default:
		return false
	}
	return true
}

func buildFailed(seen LaunchSeen) *launchEnd {
	code := seen.Code
	if !slices.Contains(LaunchFailures, code) {
		code = FailureActivationFailed
	}
	return &launchEnd{Outcome: EngineFailed, Code: code, Message: seen.Message, TurnEvent: seen.TurnEvent}
}

func (s *LaunchState) choose(m Moment) LaunchStep {
	h := s.Hold
	switch {
	case s.Pass.Blocked:
		return LaunchStep{Kind: DoWait}
	case h == nil:
		return s.rest(m)
	case h.Stop != "":
		return LaunchStep{Kind: DoStop, RunID: h.RunID, Why: h.Stop}
	case h.Phase == phaseRelease:
		return s.op(DoRelease, "releaseRunClaim", HoldRequest{h.RunID, h.Token})
	case h.Phase == phaseLost:
		return s.op(DoRecord, "recordRunEvent", RecordEventRequest{RunID: h.RunID, Type: EventClaimLost, RunnerID: s.RunnerID})
	case h.Regain:
		return s.takeOver(m)
	case h.End != nil:
		return s.end()
	case s.Closed:
		return s.shutdown(m)
	case h.recovering() && !s.Pass.MayStart:
		return LaunchStep{Kind: DoWait} // a turn has begun meanwhile
	}
	return s.goOn(m)
}

// rest looks for work where no turn is active: what has expired goes first.
func (s *LaunchState) rest(m Moment) LaunchStep {
	switch {
	case s.Token != "" && (s.Closed || s.Pass.MayStart):
		return s.claim(m) // its outcome is open: nothing else before
	case s.Closed || !s.Pass.MayStart:
		return LaunchStep{Kind: DoWait}
	case !s.Pass.Listed:
		return s.op(DoList, "listRecoverableRuns", RecoverableRequest{SessionID: s.SessionID, RunID: s.RunID, Limit: MaxList})
	case len(s.Todo) > 0:
		first := s.Todo[0]
		s.Todo = s.Todo[1:]
		s.Hold = &held{RunID: first.RunID, Phase: phaseOrphan, Token: first.Token}
		if first.Status == Starting {
			s.Hold.Phase = phaseExpired
		}
		return s.goOn(m)
	case s.Pass.Full && s.Pass.Settled:
		s.Pass.Listed = false
		return s.rest(m)
	case s.RecoverOnly || s.Pass.Claimed:
		return LaunchStep{Kind: DoWait}
	}
	return s.claim(m)
}

func (s *LaunchState) claim(m Moment) LaunchStep {
	if s.RunID != "" {
		return s.op(DoClaim, "claimPreparedRun", ClaimRequest{s.RunID, s.SessionID, s.RunnerID, s.claimToken(m), s.LeaseMS})
	}
	return s.op(DoClaim, "claimNextRun", ClaimNextRequest{s.SessionID, s.RunnerID, s.claimToken(m), s.LeaseMS})
}

// claimToken is kept until a claim is answered, so that it can be repeated.
func (s *LaunchState) claimToken(m Moment) string {
	s.Token = or(s.Token, m.Token)
	return s.Token
}

// shutdown gives the claim back and never parks; an engine is stopped before. A claim
// whose outcome is open is asked for again, to give it back.
func (s *LaunchState) shutdown(m Moment) LaunchStep {
	h := s.Hold
	switch h.Phase {
	case phaseExpired, phaseOrphan:
		if s.Token != "" {
			return s.goOn(m)
		}
		s.Hold = nil // not ours
		return LaunchStep{Kind: DoWait}
	case phaseTaken, phaseResume:
		h.Phase = phaseRelease
		return s.op(DoRelease, "releaseRunClaim", HoldRequest{h.RunID, h.Token})
	}
	h.Stop = StopShutdown
	return LaunchStep{Kind: DoStop, RunID: h.RunID, Why: h.Stop}
}

// goOn is the next step of a run that nothing went wrong with.
func (s *LaunchState) goOn(m Moment) LaunchStep {
	h := s.Hold
	switch h.Phase {
	case phaseOrphan:
		return s.takeOver(m)
	case phaseExpired:
		if h.Finding != nil {
			return s.recover(*h.Finding, m)
		}
		return LaunchStep{Kind: DoInspect, RunID: h.RunID}
	case phaseTaken:
		return LaunchStep{Kind: DoInspect, RunID: h.RunID}
	case phaseBuilt, phaseResume: // another runner may have come, and its bundle is not ours
		return s.op(DoVerify, "verifyRunClaim", HoldRequest{h.RunID, h.Token})
	case phaseWrite:
		return LaunchStep{Kind: DoWriteBundle, RunID: h.RunID}
	case phaseWritten:
		return s.op(DoMarkRunning, "markPreparedRunRunning", MarkRunningRequest{h.RunID, h.Token, h.Digest})
	}
	return s.look(m)
}

// look keeps the claim while the engine builds or runs, and sees whether it is lost.
func (s *LaunchState) look(m Moment) LaunchStep {
	h := s.Hold
	switch {
	case !s.Pass.Look:
		return LaunchStep{Kind: DoWait}
	case m.Now.UnixMilli()-h.RenewedMS >= leaseOr(s.LeaseMS)/3:
		return s.op(DoRenew, "renewRunClaim", RenewRequest{h.RunID, h.Token, s.LeaseMS})
	}
	return s.op(DoVerify, "verifyRunClaim", HoldRequest{h.RunID, h.Token})
}

func (s *LaunchState) takeOver(m Moment) LaunchStep {
	return s.op(DoTakeOver, "takeOverExpiredRun", ClaimRequest{s.Hold.RunID, s.SessionID, s.RunnerID, s.claimToken(m), s.LeaseMS})
}

func (s *LaunchState) recover(f Finding, m Moment) LaunchStep {
	if f.Kind == FindingRunning {
		f.RunnerID, f.ClaimToken, f.LeaseMS = s.RunnerID, s.claimToken(m), s.LeaseMS
	}
	return s.op(DoRecover, "recoverExpiredStartingRun", RecoverRequest{
		RunID: s.Hold.RunID, SessionID: s.SessionID, ExpectedClaimToken: s.Hold.Token, Finding: &f,
	})
}

// end stores how the run ended.
func (s *LaunchState) end() LaunchStep {
	h, e := s.Hold, s.Hold.End
	switch {
	case e.Late:
		return s.op(DoRecover, "recoverExpiredStartingRun", RecoverRequest{
			RunID: h.RunID, SessionID: s.SessionID, ExpectedClaimToken: h.Token, TurnEvent: e.TurnEvent,
			Finding: &Finding{Kind: FindingStartFailed, Code: e.Code, Message: e.Message},
		})
	case h.launching():
		return s.op(DoFail, "failPreparedRun", FailRequest{h.RunID, h.Token, e.Code, e.Message, e.TurnEvent})
	case e.Cancelled:
		return s.op(DoCancel, "cancelPreparedRun", CancelRequest{RunID: h.RunID, ClaimToken: h.Token, Origin: e.Origin, TurnEvent: e.TurnEvent})
	case e.Outcome == EngineWaiting || e.Outcome == EnginePaused:
		return s.op(DoPark, "parkRunningRun", ParkRequest{h.RunID, h.Token, e.Outcome == EnginePaused, e.TurnEvent})
	case e.Outcome == EngineDone:
		return s.op(DoFinish, "finishRunningRun", FinishRequest{RunID: h.RunID, ClaimToken: h.Token, Status: Done, TurnEvent: e.TurnEvent})
	}
	code := e.Code
	if !slices.Contains(RunFailures, code) {
		code = FailureRunFailed
	}
	return s.op(DoFinish, "finishRunningRun", FinishRequest{h.RunID, h.Token, Failed, code, e.Message, e.TurnEvent})
}

func (s *LaunchState) op(kind LaunchStepKind, op string, request any) LaunchStep {
	step := LaunchStep{Kind: kind, Op: op, Request: encodeRequest(request)}
	if s.Hold != nil {
		step.RunID = s.Hold.RunID
	}
	return step
}
