package mutant

// launchGuards are what decides when a run is looked for, claimed, built, released,
// stopped and ended.
var launchGuards = []guard{
	{"launch_next.go", "toldTwice", `if ‹seen.Step != s.Asked› {`, []string{"false"}},
	{"launch_next.go", "otherRun", `‹s.Hold.RunID != seen.RunID› || ‹!s.Hold.absorb(seen)›) {`, []string{"false", "!s.Hold.absorb(seen) && false"}},
	{"launch_next.go", "idle", `idle := ‹seen.Idle› && ‹!seen.PendingMessages›`, []string{"true", "true"}},
	{"launch_next.go", "boundary", `MayStart: ‹boundary› && ‹idle›, Look: ‹seen.Kind == LaunchPoll› || ‹seen.Kind == LaunchNode›}`, []string{"true", "true", "false", "false"}},
	{"launch_next.go", "shutdownSeen", `«s.Closed = true»`, []string{""}},
	{"launch_next.go", "stopping", `case ‹h.Stop != ""› || ‹h.End != nil›:
		return false`, []string{"false", "false"}},
	{"launch_next.go", "built", `case seen.Kind == LaunchBuilt && ‹h.Phase == phaseBuild›:`, []string{"true"}},
	{"launch_next.go", "buildFailed", `case seen.Kind == LaunchBuildFailed && ‹h.launching()›:`, []string{"true"}},
	{"launch_next.go", "ended", `case seen.Kind == LaunchEnded && ‹h.Phase == phaseRunning›:`, []string{"true"}},
	{"launch_next.go", "launchCode", `if ‹!slices.Contains(LaunchFailures, code)› {`, []string{"false|true"}},
	{"launch_next.go", "blocked", `case ‹s.Pass.Blocked›:
		return LaunchStep{Kind: DoWait}`, []string{"false"}},
	{"launch_next.go", "stops", `case ‹h.Stop != ""›:
		return LaunchStep{Kind: DoStop`, []string{"false"}},
	{"launch_next.go", "phases", `case ‹h.Phase == phaseRelease›:
		return s.op(DoRelease, "releaseRunClaim", HoldRequest{h.RunID, h.Token})
	case ‹h.Phase == phaseLost›:`, []string{"false", "false"}},
	{"launch_next.go", "regains", `case ‹h.Regain›:
		return s.takeOver(m)
	case ‹h.End != nil›:
		return s.end()
	case ‹s.Closed›:
		return s.shutdown(m)
	case ‹h.recovering()› && ‹!s.Pass.MayStart›:`, []string{"false", "false", "false", "true", "false"}},
	{"launch_next.go", "openClaim", `case ‹s.Token != ""› && (‹s.Closed› || ‹s.Pass.MayStart›):`, []string{"false", "false", "false"}},
	{"launch_next.go", "mayStart", `case ‹s.Closed› || ‹!s.Pass.MayStart›:`, []string{"false", "false"}},
	{"launch_next.go", "lists", `case ‹!s.Pass.Listed›:`, []string{"false"}},
	{"launch_next.go", "expiredFirst", `case ‹len(s.Todo) > 0›:`, []string{"false"}},
	{"launch_next.go", "starting", `if ‹first.Status == Starting› {`, []string{"false|true"}},
	{"launch_next.go", "listsOn", `case ‹s.Pass.Full› && ‹s.Pass.Settled›:`, []string{"true", "true"}},
	{"launch_next.go", "claims", `case ‹s.RecoverOnly› || ‹s.Pass.Claimed›:`, []string{"false", "false"}},
	{"launch_next.go", "oneRun", `if ‹s.RunID != ""› {`, []string{"false"}},
	{"launch_next.go", "keptToken", `«s.Token = or(s.Token, m.Token)»`, []string{"s.Token = m.Token"}},
	{"launch_next.go", "openAtShutdown", `if ‹s.Token != ""› {`, []string{"false"}},
	{"launch_next.go", "found", `if ‹h.Finding != nil› {`, []string{"false"}},
	{"launch_next.go", "looks", `case ‹!s.Pass.Look›:
		return LaunchStep{Kind: DoWait}
	case ‹m.Now.UnixMilli()-h.RenewedMS >= leaseOr(s.LeaseMS)/3›:`, []string{"false", "true|false"}},
	{"launch_next.go", "goesOn", `if ‹f.Kind == FindingRunning› {`, []string{"false|true"}},
	{"launch_next.go", "ends", `case ‹e.Late›:`, []string{"false"}},
	{"launch_next.go", "endsLaunch", `case ‹h.launching()›:
		return s.op(DoFail`, []string{"false"}},
	{"launch_next.go", "endsCancelled", `case ‹e.Cancelled›:`, []string{"false"}},
	{"launch_next.go", "endsWaiting", `case ‹e.Outcome == EngineWaiting› || ‹e.Outcome == EnginePaused›:`, []string{"false", "false"}},
	{"launch_next.go", "endsDone", `case ‹e.Outcome == EngineDone›:`, []string{"false"}},
	{"launch_next.go", "runCode", `if ‹!slices.Contains(RunFailures, code)› {`, []string{"false|true"}},

	{"launch_result.go", "finding", `if ‹f.Kind == FindingRunning› {
		found.RunnerID`, []string{"false"}},
	{"launch_result.go", "bundleFailed", `if ‹seen.Kind == LaunchBuildFailed› {`, []string{"false"}},
	{"launch_result.go", "recorded", `s.Pass.Blocked = ‹refused› && ‹retry(seen)›
		if ‹!s.Pass.Blocked› {`, []string{"true", "true", "true"}},
	{"launch_result.go", "listed", `if ‹run.Status != Queued› {`, []string{"true"}},
	{"launch_result.go", "listFull", `s.Pass.Full, s.Pass.Settled, s.Todo = ‹len(runs) == MaxList›, false, nil`, []string{"true|false"}},
	{"launch_result.go", "claimRefused", `«s.Pass.Blocked = true»
		if ‹!retry(seen)› {`, []string{"", "true|false"}},
	{"launch_result.go", "claimedLate", `if ‹s.Closed› {
		s.Hold.Phase = phaseRelease
		return LaunchStep{}
	}
	return LaunchStep{Kind: DoBuild`, []string{"false"}},
	{"launch_result.go", "inspected", `if ‹h.Phase == phaseExpired› {`, []string{"false"}},
	{"launch_result.go", "cancelledBundle", `Cancelled: ‹f.Status == Cancelled›,`, []string{"true|false"}},
	{"launch_result.go", "doneBundle", `if ‹f.Status == Done› {`, []string{"true|false"}},
	{"launch_result.go", "stopped", `case ‹why == StopShutdown›:
		h.Phase = phaseRelease
	case ‹why == StopClaimLost› && ‹h.Regain›:`, []string{"false", "true", "true|false"}},
	{"launch_result.go", "stoppedLost", `case ‹why == StopClaimLost› && ‹h.Phase == phaseRunning›:
		h.Phase = phaseLost
	case ‹h.End == nil›:`, []string{"true|false", "true", "true|false"}},
	{"launch_result.go", "renewed", `case DoRenew:
		«hold()»
		«s.Pass.Look = false»`, []string{"", ""}},
	{"launch_result.go", "verified", `h.lease(*run)
		«s.Pass.Look = false»
		switch h.Phase {`, []string{""}},
	{"launch_result.go", "takenOver", `«s.Token, h.Regain = "", false»
		if ‹h.Phase == phaseOrphan› {`, []string{`s.Token = ""|h.Regain = false`, "false|true"}},
	{"launch_result.go", "recovered", `if ‹h.End == nil› && ‹run.Status == Running› {`, []string{"true", "true|false"}},
	{"launch_result.go", "runsLate", `if ‹s.Closed› && ‹resumed› {`, []string{"true|false", "true"}},
	{"launch_result.go", "actsAfterShutdown", `if ‹s.Closed› {
		return LaunchStep{}
	}
	return LaunchStep{Kind: DoRun`, []string{"false"}},
	{"launch_result.go", "silentStore", `case ‹e.Code.open()› && ‹h.Phase == phaseRunning› && ‹h.End == nil› && ‹m.Now.UnixMilli() >= h.EndMS›:`, []string{"true", "true", "true", "true|false"}},
	{"launch_result.go", "tryAgain", `case ‹e.Code.open()›:
		s.Pass.Blocked = true
		if ‹asked == DoRenew› {`, []string{"false", "false|true"}},
	{"launch_result.go", "changed", `case ‹asked == DoMarkRunning› && ‹e.Code == CodeSourceChanged›:`, []string{"true", "true|false"}},
	{"launch_result.go", "lapsedBuild", `case ‹e.Code == CodeClaimLost› && ‹h.launching()› && ‹asked != DoFail› && ‹asked != DoRecover›:`, []string{"true", "true|false", "true", "true"}},
	{"launch_result.go", "lateFailure", `case ‹e.Code == CodeClaimLost› && ‹asked == DoFail›:`, []string{"true", "true|false"}},
	{"launch_result.go", "lapsedRun", `case ‹e.Code == CodeClaimLost› && (‹h.Phase == phaseRunning› || ‹h.Phase == phaseResume›) && ‹asked != DoTakeOver› && ‹s.unreplaced(e)›:`, []string{"true", "false", "false", "true", "true|false"}},
	{"launch_result.go", "faster", `case ‹asked == DoTakeOver && h.Phase == phaseOrphan›, ‹asked == DoRecover›, ‹h.Phase == phaseTaken›, ‹h.Phase == phaseResume›:`, []string{"false", "false", "false", "false"}},
	{"launch_result.go", "gone", `«s.Token, h.Regain = "", false»
		h.gone(e)`, []string{`s.Token = ""|h.Regain = false`}},
	{"launch_result.go", "unreplaced", `ours := ‹e.Details["runnerId"] == s.RunnerID› && ‹e.Details["status"] == string(Running)›
	return ours && (‹s.Hold.ExpiresAt == ""› || ‹e.Details["claimExpiresAt"] == s.Hold.ExpiresAt›)`, []string{"true", "true", "false|true", "false|true"}},
}
