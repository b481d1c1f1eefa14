package core_test

import "time"

// lease is what the scenarios ask for, in milliseconds and as a duration.
const (
	leaseMS = 30_000
	lease   = leaseMS * time.Millisecond
)

// start is a reservation of a run of a session; an empty session is none.
func start(runID, session string) object {
	request := object{
		"runId": runID, "workflowName": "flow", "workflowSourceRef": "file:flow",
		"workflowSource": object{"id": "flow"}, "definitionDigest": "digest-1",
		"input": object{"secret": "marker-of-private-input"}, "launchOptions": object{"opt": true},
	}
	if session != "" {
		request["originSessionId"] = session
	}
	return request
}

// claim asks for a claim of a run under a token.
func claim(runID, session, token string) object {
	request := object{"runId": runID, "runnerId": "runner", "claimToken": token, "leaseMs": leaseMS}
	if session != "" {
		request["sessionId"] = session
	}
	return request
}

func held(runID, token string) object { return object{"runId": runID, "claimToken": token} }

// The stages of a run's life, each from the beginning, under the token "tok".

func (f *fixture) queued(runID, session string) {
	f.Helper()
	f.ok("reservePreparedRun", start(runID, session))
}

func (f *fixture) starting(runID, session string) {
	f.Helper()
	f.queued(runID, session)
	f.ok("claimPreparedRun", claim(runID, session, "tok"))
}

func (f *fixture) running(runID, session string) {
	f.Helper()
	f.starting(runID, session)
	f.ok("markPreparedRunRunning", held(runID, "tok"))
}

func (f *fixture) parked(runID, session string) {
	f.Helper()
	f.running(runID, session)
	f.ok("parkRunningRun", held(runID, "tok"))
}

// recovery is a finding of an expired starting run that was seen under "tok".
func recovery(runID, session string, finding object) object {
	request := object{"runId": runID, "expectedClaimToken": "tok", "finding": finding}
	if session != "" {
		request["sessionId"] = session
	}
	return request
}
