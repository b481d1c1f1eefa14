package cancel

import (
	"context"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
	"github.com/pi-workflows/wfcore/prove/invariant"
	"github.com/pi-workflows/wfcore/prove/scenario"
)

// op is a call of one operation.
func op[Req, Resp any](name string, want core.Code, do func(*core.Store, context.Context, Req) (Resp, error), request Req) attempt {
	return attempt{name: name, want: want, call: func(s *sqlite.Store) error {
		_, err := do(s.Store, ctx, request)
		return err
	}}
}

// rivals are of the run's own session, and come while somebody else has the run or after
// its end. What they may do, claim what is queued or resume what is parked, is left out.
func rivals(run string, row invariant.Row, now time.Time) []attempt {
	status, expired := core.Status(row["status"]), row != nil && !expiry(row).After(now)
	if status == core.Queued || status == core.Parked {
		return nil
	}
	claim := core.ClaimRequest{RunID: run, SessionID: scenario.Session, RunnerID: rival, ClaimToken: rival}
	next := core.ClaimNextRequest{SessionID: scenario.Session, RunnerID: rival, ClaimToken: rival}
	all := []attempt{
		op("claimPreparedRun", unless(row, ""), (*core.Store).ClaimPreparedRun, claim),
		op("claimNextRun", "", (*core.Store).ClaimNextRun, next),
		op("resumeParkedRun", unless(row, ""), (*core.Store).ResumeParkedRun, claim),
	}
	if status != core.Running || !expired {
		all = append(all, op("takeOverExpiredRun", unless(row, core.CodeClaimLive, core.Running), (*core.Store).TakeOverExpiredRun, claim))
	}
	if status != core.Starting || !expired {
		for _, finding := range findings {
			all = append(all, op("recoverExpiredStartingRun, "+string(finding.Kind), unless(row, core.CodeClaimLive, core.Starting),
				(*core.Store).RecoverExpiredStartingRun,
				core.RecoverRequest{RunID: run, SessionID: scenario.Session, ExpectedClaimToken: row["claim_token"], Finding: &finding}))
		}
	}
	return all
}

// findings need a lease that is over.
var findings = []core.Finding{
	{Kind: core.FindingNone},
	{Kind: core.FindingUnreadable},
	{Kind: core.FindingSourceChanged},
	{Kind: core.FindingWaiting},
	{Kind: core.FindingRunning, RunnerID: rival, ClaimToken: rival},
	{Kind: core.FindingTerminal, Status: core.Done},
	{Kind: core.FindingTerminal, Status: core.Failed, Code: core.FailureRunFailed},
	{Kind: core.FindingTerminal, Status: core.Cancelled, Origin: core.OriginUser},
}

// strangers are of another session, or of none.
func strangers(run string, row invariant.Row) (all []attempt) {
	want := core.CodeNotOwner
	if row == nil {
		want = core.CodeNotFound
	}
	for _, session := range []string{"another session", ""} {
		claim := core.ClaimRequest{RunID: run, SessionID: session, RunnerID: rival, ClaimToken: rival}
		all = append(all,
			op("claimPreparedRun of a stranger", want, (*core.Store).ClaimPreparedRun, claim),
			op("resumeParkedRun of a stranger", want, (*core.Store).ResumeParkedRun, claim),
			op("takeOverExpiredRun of a stranger", want, (*core.Store).TakeOverExpiredRun, claim),
			op("recoverExpiredStartingRun of a stranger", want, (*core.Store).RecoverExpiredStartingRun,
				core.RecoverRequest{RunID: run, SessionID: session, ExpectedClaimToken: row["claim_token"], Finding: &core.Finding{Kind: core.FindingNone}}),
		)
	}
	return append(all, op("cancelPreparedRun of a stranger", want, (*core.Store).CancelPreparedRun,
		core.CancelRequest{RunID: run, SessionID: "another session"}))
}
