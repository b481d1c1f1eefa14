package mutant

// policyGuards are the code around the event policy, and the table of findings.
var policyGuards = []guard{
	{"policy.go", "fitsLaunch", `launch, ran = ‹ran›, ‹false›
	case TurnTimedOut:`, []string{"false", "true"}},
	{"policy.go", "fitsTimeout", `ran = ‹ran› && ‹code != FailureTimedOut›`, []string{"true", "true|false"}},
	{"policy.go", "fits", `return (‹row.in == nil› || ‹slices.Contains(row.in, Status(run.Status))›) && ‹!launch› && ‹!ran›`, []string{"false", "true", "true", "true"}},
	{"policy.go", "ofStep", `return ‹e.NodeID != ""› && ‹!strings.HasPrefix(e.NodeID, "$")› }`, []string{"true", "true"}},
	{"policy.go", "quiet", `nothing := ‹row.creates == createsForStep› && (‹e.Held› || ‹e.Closing› || ‹!e.ofStep()›)
	return ‹row.creates == ""› || nothing`, []string{"true", "false", "false", "false", "false"}},
	{"policy.go", "agentsStep", `return ‹e.origin == OriginAgent› && ‹e.ofStep()› && ‹!e.Held› && ‹!e.Closing›`, []string{"true", "true", "true", "true"}},
	{"policy.go", "alone", `case eligibleAlone:
		return ‹!e.RecoveryExpected›`, []string{"true"}},
	{"policy.go", "handoff", `return ‹e.handoff› && ‹!e.RecoveryExpected›`, []string{"true", "true"}},
	{"policy.go", "forAgent", `case eligibleForAgent:
		return ‹e.origin == OriginAgent›`, []string{"true"}},
	{"policy.go", "handedOff", `return ‹e.kind == TurnClaimLost› || ‹e.kind == TurnControllerInterrupt› && ‹e.handoff›`, []string{"false", "true|false", "true"}},
	{"policy.go", "afterAbort", `return ‹e.ofStep()› && (‹row.node == NodeTerminal› || ‹row.creates == createsForAgentsStep›)`, []string{"true", "false|true", "false"}},
	{"policy.go", "sourceOf", `if ‹e.AbortCause != ""› && ‹e.afterAbort()› {`, []string{"true", "true|false"}},
	{"policy.go", "sourceNode", `if ‹row.node == ""› {`, []string{"true|false"}},
	{"policy.go", "outcome", `case ‹to == Failed› && ‹from == Starting›:
		return TurnLaunchFailed
	case to == Failed && ‹e.NodeID == NodeLaunch›:
		return TurnCrashedBeforePrompt
	case to == Failed && ‹code == FailureTimedOut›:`, []string{"true", "true|false", "true|false", "true|false"}},
	{"policy.go", "presentation", `case ‹e.PresentationExpected›:`, []string{"true|false"}},

	{"recover.go", "startFailed", `«return t.failUnreplaced(before, req)»`, []string{"return t.failExpired(before, req, req.Finding.Code, req.Finding.Message)|return t.requeue(before, req)"}},
	{"recover.go", "unreadable", `return t.failExpired(before, req, ‹FailureActivationFailed›, "the run bundle cannot be read")`, []string{"FailureCode: FailureSourceChanged"}},
	{"recover.go", "sourceChanged", `return t.failExpired(before, req, ‹FailureSourceChanged›, "")`, []string{"FailureCode: FailureActivationFailed"}},
	{"recover.go", "running", `«return t.goOn(before, req)»`, []string{"return t.walk(before, req)|return t.requeue(before, req)"}},
	{"recover.go", "none", `«return t.requeue(before, req)»`, []string{`return t.failExpired(before, req, FailureActivationFailed, "")|return t.walk(before, req)`}},
	{"recover.go", "walked", `«return t.walk(before, req)»`, []string{"return t.goOn(before, req)|return t.requeue(before, req)"}},
	{"recover.go", "claimLive", `if ‹CodeOf(err) == CodeClaimLost› && ‹req.Finding.Kind != FindingStartFailed› && ‹!expired(row, t.nowMS)› {`, []string{"true", "true", "true|false"}},
	{"recover.go", "to", `return ‹f.Status›
	case FindingWaiting:
		return ‹Parked›
	case FindingRunning:
		return ‹Running›
	case FindingNone:
		return ‹Queued›
	}
	return ‹Failed›`, []string{"Status: Failed", "Status: Failed", "Status: Failed", "Status: Failed", "Status: Queued"}},
	{"recover.go", "ran", `if ‹history.Runs > 0› {`, []string{"false|true"}},
	{"recover.go", "starts", `if ‹history.Starts >= maxStarts› {`, []string{"false|true|history.Starts > maxStarts"}},
	{"recover.go", "repeated", `if ‹owned› && ‹Status(before.Status) == Running› && ‹live(before, f.ClaimToken, t.nowMS)› {`, []string{"true", "true", "true|false"}},
	{"recover.go", "waiting", `case ‹f.Kind == FindingWaiting›:
		row, err`, []string{"true|false"}},
	{"recover.go", "cancelled", `case ‹f.Status == Cancelled›:
		row, err`, []string{"true|false"}},
	{"recover.go", "codeless", `if ‹f.Status == Failed› && ‹code == ""› {`, []string{"true|false", "true"}},
	{"recover.go", "failed", `if ‹f.Status == Failed› {
			extra`, []string{"true|false"}},
	{"recover.go", "fieldsOfTerminal", `if ‹f.Status == ""› {`, []string{"false"}},
	{"recover.go", "codeOfFailed", `if ‹f.Status != Failed› && (‹f.Code != ""› || ‹f.Message != ""›) {`, []string{"true", "false", "false"}},
	{"recover.go", "originOfCancelled", `if ‹f.Status != Cancelled› && ‹f.Origin != ""› {`, []string{"true", "true|false"}},
	{"recover.go", "codeIsKnown", `‹f.Code != ""› && ‹reason != ""› {`, []string{"true", "true|false"}},
	{"recover.go", "runnerOfRunning", `if ‹f.RunnerID == ""› {`, []string{"false"}},
	{"recover.go", "bare", `if ‹f != bare› {`, []string{"false"}},
	{"recover.go", "claimed", `if ‹req.Finding.Kind == FindingRunning› {`, []string{"false|true"}},
	{"recover.go", "launchCode", `reason := rules["launch"].allows(string(f.Code)); ‹reason != ""› {`, []string{"false"}},
}
