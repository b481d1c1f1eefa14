package mutant

// turnGuards are what decides when a turn is looked for, claimed, verified, sent and
// resolved.
var turnGuards = []guard{
	{"turns_next.go", "toldTwice", `if !ours && ‹seen.Step != s.Asked› {`, []string{"false"}},
	{"turns_next.go", "ofAbort", `if ‹ours› {`, []string{"false"}},
	{"turns_next.go", "askedForOne", `if ‹s.Asked != ""› {
		return TurnStep{Kind: StepWait}, nil`, []string{"false"}},
	{"turns_next.go", "ended", `return ‹seen.Stored› && ‹n.Resolution == ByWorkflowPrompt› })`, []string{"true", "true"}},
	{"turns_next.go", "settled", `«s.Abort.Aborting = false»`, []string{""}},
	{"turns_next.go", "pollEndsAbort", `s.Abort.Aborting = s.Abort.Aborting && ‹!seen.Idle›`, []string{"true|false"}},
	{"turns_next.go", "shutdown", `«s.Closed = true»`, []string{""}},
	{"turns_next.go", "withdrawn", `return ‹n.RunID == runID› && ‹n.IntentID == ""› && ‹which(n)› }`, []string{"true", "true", "true"}},
	{"turns_next.go", "withdrawnClaim", `«d.Natural, d.Failed = nil, true»`, []string{"d.Natural = nil"}},
	{"turns_next.go", "idleSince", `case ‹!seen.Idle›:
		s.IdleSinceMS = 0
	case ‹s.IdleSinceMS == 0›, ‹nowMS < s.LastMS›, ‹nowMS-s.LastMS >= sleep›:`, []string{"false", "false", "false", "false"}},
	{"turns_next.go", "sync", `sync := ‹settled› || ‹seen.Kind == SeenSessionStart› || ‹seen.Kind == SeenPoll›`, []string{"false", "false", "false"}},
	{"turns_next.go", "swept", `Swept: ‹!sync›`, []string{"true|false"}},
	{"turns_next.go", "triedAgain", `«s.Abort.Tried = false»`, []string{""}},
	{"turns_next.go", "lookedAgain", `«s.Outbox[i].Looked = false»`, []string{""}},
	{"turns_next.go", "laterTurn", `settled && ‹seen.Turn > u.Turn›`, []string{"true|false"}},
	{"turns_next.go", "postedTwice", `if ‹slices.ContainsFunc(s.Outbox, known)› || ‹s.Delivery != nil && s.Delivery.Natural != nil && known(*s.Delivery.Natural)› {`, []string{"false", "false"}},
	{"turns_next.go", "closed", `case s.Closed && ‹s.Delivery == nil› && ‹s.Open != nil› && ‹!s.Pass.Blocked›:
		return *s.Open // to give it back, if it is held
	case ‹s.Closed›:`, []string{"true", "false", "true", "false"}},
	{"turns_next.go", "naturalInAbort", `n != nil && ‹!s.Abort.Aborting› {`, []string{"true"}},
	{"turns_next.go", "oneDelivery", `case ‹s.Delivery != nil› || ‹s.Pass.Blocked›:
	case ‹!s.Pass.Swept›:`, []string{"false", "false", "false"}},
	{"turns_next.go", "fallback", `case ‹!s.Abort.Aborting› && ‹s.Pass.Sync› && ‹s.mayClaim(m)›:`, []string{"true", "true", "true"}},
	{"turns_next.go", "waiting", `return ‹!slices.Contains(s.Pass.Waiting, n.RunID)› })`, []string{"true"}},
	{"turns_next.go", "keptToken", `«s.Token = or(s.Token, m.Token)»`, []string{"s.Token = m.Token"}},
	{"turns_next.go", "boundary", `return ‹s.maySend()› && (last == nil || ‹s.Pass.Turn > last.Turn› || ‹s.idleFor(last.AtMS, m)›)`, []string{"true", "true|false", "true|false"}},
	{"turns_next.go", "maySend", `return ‹s.Pass.Idle› && ‹!s.Pass.Held› && ‹!s.Closed› }`, []string{"true", "true", "true"}},
	{"turns_next.go", "idleFor", `return ‹s.IdleSinceMS > 0› && ‹m.Now.UnixMilli()-max(s.IdleSinceMS, sinceMS) >= leaseOr(s.LeaseMS)›`, []string{"true", "true"}},
	{"turns_next.go", "claimsNatural", `mayClaim := ‹s.Delivery == nil› && ‹!s.Pass.Blocked› && ‹s.mayClaim(m)›`, []string{"true", "true", "true"}},
	{"turns_next.go", "natural", `case ‹s.Pass.Free == n.MessageID›:`, []string{"true"}},
	{"turns_next.go", "looksFirst", `case ‹n.IntentID != ""› && ‹!n.Looked›:`, []string{"false", "false"}},
	{"turns_next.go", "gives", `case ‹s.Closed›, ‹d.Failed›:
		return opStep(StepRelease`, []string{"false", "false"}},
	{"turns_next.go", "deliveryBlocked", `case ‹s.Pass.Blocked›:
		return TurnStep{Kind: StepWait}
	case ‹d.Found != ""›:`, []string{"false", "false"}},
	{"turns_next.go", "looks", `case ‹!s.Pass.Looked›:
		return TurnStep{Kind: StepLook, IntentID: hold.IntentID}
	case ‹s.maySend()› && ‹s.lost(m)›:`, []string{"false", "true", "true"}},
	{"turns_next.go", "holdsNothing", `case ‹s.unconfirmed() == nil›: // nothing is held over a turn`, []string{"false"}},
	{"turns_next.go", "renews", `case ‹m.Now.UnixMilli()-d.RenewedMS >= leaseOr(s.LeaseMS)/3›:`, []string{"true|false"}},
	{"turns_next.go", "lost", `return sent == nil || ‹sent.Settled› || ‹s.idleFor(sent.AtMS, m)›`, []string{"true|false", "true|false"}},

	{"turns_result.go", "gone", `if ‹s.Asking != ""› && ‹s.asking() < 0› {`, []string{"false", "false"}},
	{"turns_result.go", "goneStep", `if ‹seen.Step != StepClaim› || ‹seen.Kind == SeenRefused› {`, []string{"false", "false"}},
	{"turns_result.go", "goneClaim", `Failed: ‹true›}`, []string{"false"}},
	{"turns_result.go", "renewed", `«s.Delivery.RenewedMS = m.Now.UnixMilli()»`, []string{""}},
	{"turns_result.go", "released", `s.drop()
		«s.Pass.Blocked = true»`, []string{""}},
	{"turns_result.go", "looked", `«n.Looked = true»
		if ‹s.isShown(*n, n.IntentID, found, messageID)› {`, []string{"", "false|true"}},
	{"turns_result.go", "own", `d.Own = d.Natural != nil && ‹s.isShown(*d.Natural, d.Intent.IntentID, found, messageID)›`, []string{"false|true"}},
	{"turns_result.go", "shown", `‹messageID == ""› && i >= 0 {`, []string{"false|true"}},
	{"turns_result.go", "shownAs", `return ‹found == n.Resolution› && ‹messageID == n.MessageID›`, []string{"true", "true"}},
	{"turns_result.go", "owed", `case ‹pending != nil›:`, []string{"false"}},
	{"turns_result.go", "claimRefused", `s.Pass.Blocked = ‹s.Pass.Blocked› || ‹i < 0› || ‹open›
		if ‹!open› {`, []string{"false", "false", "false", "true|false"}},
	{"turns_result.go", "claimedNothing", `case ‹claimed == nil && i >= 0›:`, []string{"claimed == nil && false"}},
	{"turns_result.go", "looksAfterClaim", `RenewedMS: m.Now.UnixMilli()}
	«s.Pass.Looked = false»`, []string{""}},
	{"turns_result.go", "confirmsOld", `«s.confirm(now.IntentID)»`, []string{""}},
	{"turns_result.go", "lastSend", `«s.LastSend, d.RenewedMS = &now, now.AtMS»
		«s.Pass.Blocked = true»`, []string{"d.RenewedMS = now.AtMS|s.LastSend = &now", ""}},
	{"turns_result.go", "sendFailed", `«d.Failed = true»`, []string{""}},
	{"turns_result.go", "asItIs", `if ‹!sent› {`, []string{"false"}},
	{"turns_result.go", "asItIsUses", `if ‹s.IdleSinceMS > 0› {`, []string{"false|true"}},
	{"turns_result.go", "resolved", `«s.confirm(d.Intent.IntentID)»
	switch {
	case ‹d.Own›:`, []string{"", "false|d.Natural != nil"}},
	{"turns_result.go", "refused", `if ‹code.open()› {
		return
	}
	if ‹code != CodeClaimLost› {`, []string{"false", "false|true"}},

	{"turns_abort.go", "quiet", `if ‹event.quiet()› {`, []string{"false"}},
	{"turns_abort.go", "begunTwice", `return ‹e.IntentID == entry.IntentID› && ‹e.State == abortBegun› })`, []string{"true|false", "true"}},
	{"turns_abort.go", "otherRun", `case ‹e.Note.RunID != runID›:
		case ‹stored› && ‹e.State != abortBegun› && ‹e.State != abortNoted›:`, []string{"false", "true", "true", "true"}},
	{"turns_abort.go", "outcomeLost", `case ‹e.State == abortDone›:`, []string{"false"}},
	{"turns_abort.go", "settledLater", `return ‹e.State == abortSettled› && ‹!e.Asked› })
	if ‹a.Asked != ""› {`, []string{"false", "true", "false"}},
	{"turns_abort.go", "urgent", `if step.Kind == "" || ‹urgent != e.urgent()› || ‹step.Kind == StepRecord && a.Tried› {`, []string{"false", "false"}},
	{"turns_abort.go", "noteAnswer", `if ‹seen.Kind == SeenAnswered› && json`, []string{"true"}},
	{"turns_abort.go", "paid", `case ‹e.Stored› || ‹e.Nothing›:`, []string{"false", "false"}},
	{"turns_abort.go", "lostBefore", `case ‹e.Lost›:`, []string{"false"}},
	{"turns_abort.go", "recordOpen", `if ‹seen.Kind == SeenRefused› && ‹codeIn(seen.Error).open()› {`, []string{"true", "true|false"}},
	{"turns_abort.go", "notThere", `if ‹e.State == abortTold› && ‹seen.Kind == SeenRefused› {`, []string{"true", "true|false"}},
}
