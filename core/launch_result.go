package core

import "encoding/json"

// result takes what came of the step that was asked for. A step that it returns
// goes before all others.
func (s *LaunchState) result(seen LaunchSeen, m Moment) (LaunchStep, error) {
	asked, refused := s.Asked, seen.Kind == LaunchRefused
	if asked == DoInspect {
		if err := s.checkFinding(seen.Finding); err != nil {
			return LaunchStep{}, err
		}
	}
	run, err := s.answer(seen)
	if err != nil {
		return LaunchStep{}, err
	}
	if asked == DoList {
		return LaunchStep{}, s.listed(seen)
	}
	s.Asked = ""
	switch asked {
	case DoClaim:
		return s.claimed(run, refused, seen, m), nil
	case DoInspect:
		s.inspected(*seen.Finding)
	case DoWriteBundle:
		s.Hold.Phase = phaseWritten
		if seen.Kind == LaunchBuildFailed {
			s.Hold.End = buildFailed(seen)
		}
	case DoStop:
		s.stopped()
	case DoRecord, DoRelease:
		s.Pass.Blocked = refused && retry(seen)
		if !s.Pass.Blocked {
			s.Hold = nil
		}
	default:
		if refused {
			s.refused(asked, errorIn(seen.Error), m)
			return LaunchStep{}, nil
		}
		return s.done(asked, run, m), nil
	}
	return LaunchStep{}, nil
}

// checkFinding takes what a host can find; who goes on is known here.
func (s *LaunchState) checkFinding(f *Finding) error {
	if f == nil {
		return badRequest("seen.finding", "is missing")
	}
	found := *f
	if f.Kind == FindingRunning {
		found.RunnerID = s.RunnerID
	}
	return found.check()
}

// answer decodes the run that most ops answer with.
func (s *LaunchState) answer(seen LaunchSeen) (run *Run, err error) {
	if seen.Kind != LaunchAnswered || s.Asked == DoList || s.Asked == DoRecord {
		return nil, nil
	}
	if json.Unmarshal(seen.Answer, &run) != nil || run == nil && s.Asked != DoClaim {
		err = badRequest("seen.answer", "is not the answer of the step %s", s.Asked)
	}
	return run, err
}

// retry says that what was asked for may have happened, and can be repeated.
func retry(seen LaunchSeen) bool { return codeIn(seen.Error).open() }

func (s *LaunchState) listed(seen LaunchSeen) error {
	var runs []Run
	if seen.Kind == LaunchAnswered && json.Unmarshal(seen.Answer, &runs) != nil {
		return badRequest("seen.answer", "is not the answer of the step %s", DoList)
	}
	s.Asked, s.Pass.Listed, s.Pass.Blocked = "", true, seen.Kind != LaunchAnswered
	s.Pass.Full, s.Pass.Settled, s.Todo = len(runs) == MaxList, false, nil
	for _, run := range runs {
		if run.Status != Queued {
			s.Todo = append(s.Todo, expiredRun{run.RunID, run.Status, run.ClaimToken})
		}
	}
	return nil
}

func (s *LaunchState) claimed(run *Run, refused bool, seen LaunchSeen, m Moment) LaunchStep {
	if refused {
		s.Pass.Blocked = true
		if !retry(seen) {
			s.Token = "" // it was not claimed, for certain
		}
		return LaunchStep{}
	}
	s.Token, s.Pass.Claimed = "", true
	if run == nil {
		return LaunchStep{}
	}
	s.Hold = &held{RunID: run.RunID, Phase: phaseBuild, Token: run.ClaimToken, RenewedMS: m.Now.UnixMilli()}
	s.Hold.lease(*run)
	if s.Closed {
		s.Hold.Phase = phaseRelease
		return LaunchStep{}
	}
	return LaunchStep{Kind: DoBuild, RunID: run.RunID, Run: run}
}

// inspected takes what is left of an expired run. One that was taken over while
// running goes on, or ends as its bundle says.
func (s *LaunchState) inspected(f Finding) {
	h := s.Hold
	if h.Phase == phaseExpired {
		h.Finding = &f
		return
	}
	switch f.Kind {
	case FindingRunning:
		h.Phase = phaseResume
	case FindingWaiting:
		h.End = &launchEnd{Outcome: EngineWaiting}
	case FindingTerminal:
		h.End = &launchEnd{Outcome: EngineFailed, Code: f.Code, Message: f.Message, Cancelled: f.Status == Cancelled, Origin: f.Origin}
		if f.Status == Done {
			h.End.Outcome = EngineDone
		}
	default:
		h.End = &launchEnd{Outcome: EngineFailed, Code: FailureInterrupted, Message: interruption(f.Kind)}
	}
}

// interruption says why a run that was taken over cannot go on.
func interruption(found FindingKind) string {
	switch found {
	case FindingSourceChanged:
		return "its runner is gone, and its source has changed since"
	case FindingUnreadable:
		return "its runner is gone, and its bundle cannot be read"
	case FindingNone:
		return "its runner is gone, and it left no bundle"
	}
	return "its runner is gone"
}

// stopped goes on once the engine has ended.
func (s *LaunchState) stopped() {
	h := s.Hold
	why := h.Stop
	h.Stop = ""
	switch {
	case why == StopShutdown:
		h.Phase = phaseRelease
	case why == StopClaimLost && h.Regain:
		h.Phase, h.Regain = phaseOrphan, false // its take-over is open, and is asked for again
	case why == StopClaimLost && h.Phase == phaseRunning:
		h.Phase = phaseLost
	case h.End == nil:
		s.Hold = nil
	}
}

// done takes the answer of an op on the run that is held.
func (s *LaunchState) done(asked LaunchStepKind, run *Run, m Moment) LaunchStep {
	h := s.Hold
	hold := func() {
		h.Token, h.RenewedMS = or(run.ClaimToken, h.Token), m.Now.UnixMilli()
		h.lease(*run)
	}
	switch asked {
	case DoRenew:
		hold()
		s.Pass.Look = false
	case DoVerify:
		h.lease(*run)
		s.Pass.Look = false
		switch h.Phase {
		case phaseBuilt:
			h.Phase = phaseWrite
		case phaseResume:
			return s.run(true)
		}
	case DoTakeOver:
		hold()
		s.Token, h.Regain = "", false
		if h.Phase == phaseOrphan {
			h.Phase = phaseTaken
		}
	case DoMarkRunning:
		h.lease(*run)
		return s.run(false)
	case DoRecover:
		s.Token = ""
		if h.End == nil && run.Status == Running {
			hold()
			return s.run(true)
		}
		s.Hold, s.Pass.Settled = nil, true
	default: // fail, finish, park, cancel
		s.Hold, s.Pass.Settled = nil, true
	}
	return LaunchStep{}
}

// lease keeps the end of the lease that a run was seen with.
func (h *held) lease(run Run) {
	h.ExpiresAt = text(run.ClaimExpiresAt)
	if end, ok := parseTime(h.ExpiresAt); ok {
		h.EndMS = end.UnixMilli()
	}
}

// run lets the engine act, unless the host is shutting down.
func (s *LaunchState) run(resumed bool) LaunchStep {
	h := s.Hold
	if s.Closed && resumed {
		h.Phase = phaseRelease // its engine was never there
		return LaunchStep{}
	}
	h.Phase = phaseRunning
	if s.Closed {
		return LaunchStep{}
	}
	return LaunchStep{Kind: DoRun, RunID: h.RunID, Resumed: resumed}
}

const leaseWasOver = "its lease was over before it was running"

// refused takes why an op on the run that is held did not happen.
func (s *LaunchState) refused(asked LaunchStepKind, e Error, m Moment) {
	h := s.Hold
	switch {
	case e.Code.open() && h.Phase == phaseRunning && h.End == nil && m.Now.UnixMilli() >= h.EndMS:
		h.Stop = StopClaimLost // another runner may have it by now, and we cannot ask
	case e.Code.open():
		s.Pass.Blocked = true
		if asked == DoRenew {
			h.ExpiresAt = "" // it may have been renewed, or not
		}
	case asked == DoMarkRunning && e.Code == CodeSourceChanged:
		h.fail(FailureSourceChanged, "")
	case e.Code == CodeClaimLost && h.launching() && asked != DoFail && asked != DoRecover:
		h.fail(FailureActivationFailed, leaseWasOver)
	case e.Code == CodeClaimLost && asked == DoFail:
		h.End.Late = true
	case e.Code == CodeClaimLost && (h.Phase == phaseRunning || h.Phase == phaseResume) && asked != DoTakeOver && s.unreplaced(e):
		h.Regain, h.EndMS = true, m.Now.UnixMilli()+1 // nobody has it at this instant
	case asked == DoTakeOver && h.Phase == phaseOrphan, asked == DoRecover, h.Phase == phaseTaken, h.Phase == phaseResume:
		s.Token, s.Hold = "", nil // another one was faster
	default:
		s.Token, h.Regain = "", false
		h.gone(e)
	}
}

// fail ends a launch whose engine is there.
func (h *held) fail(code FailureCode, message string) {
	h.Stop, h.End = StopFailed, &launchEnd{Outcome: EngineFailed, Code: code, Message: message}
}

// gone stops the engine of a run that is no longer ours.
func (h *held) gone(e Error) {
	h.End = nil
	switch e.Details["status"] {
	case string(Cancelled):
		h.Stop = StopCancelled
	case string(Done), string(Failed), string(Parked):
		h.Stop = StopEnded
	default:
		h.Stop = StopClaimLost
	}
}

// unreplaced says that a lease lapsed while nobody else took the run, as after a
// sleep: the row has our runner and the end of the lease that we saw.
func (s *LaunchState) unreplaced(e Error) bool {
	ours := e.Details["runnerId"] == s.RunnerID && e.Details["status"] == string(Running)
	return ours && (s.Hold.ExpiresAt == "" || e.Details["claimExpiresAt"] == s.Hold.ExpiresAt)
}
