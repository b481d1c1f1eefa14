package cancel

import (
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
	"github.com/pi-workflows/wfcore/prove"
	"github.com/pi-workflows/wfcore/prove/invariant"
	"github.com/pi-workflows/wfcore/prove/scenario"
)

// TestRefused: at each boundary of each scenario, whoever has another token, or whose lease
// is over, or who comes while it lives, is refused with the code that says so, and changes
// nothing; and the scenario goes on as if nobody had come.
func TestRefused(t *testing.T) {
	var refused, busy atomic.Int64
	t.Cleanup(func() { t.Logf("%d refused; %d more met the host's transaction", refused.Load(), busy.Load()) })
	for _, played := range scenario.All {
		t.Run(played.Name, func(t *testing.T) {
			t.Parallel()
			found := undisturbed(t, played)
			sampled := prove.Sample(t, 8, found.all)
			s := newStage(t)
			s.play(played, func(n int, _ string) {
				if slices.Contains(sampled, n) {
					t.Run(strconv.Itoa(n), func(t *testing.T) { s.refused(t, found.run, &refused, &busy) })
				}
			})
			s.settle()
		})
	}
}

// attempt is a call that is refused, at a time.
type attempt struct {
	name string
	at   time.Time
	want core.Code // "" is an answer that changes nothing
	call func(s *sqlite.Store) error
}

// refused makes every attempt. One that meets the host's transaction is told so; one
// that only reads is not.
func (s *stage) refused(t *testing.T, run string, refused, busy *atomic.Int64) {
	before, held, version := s.look(), s.busy(), s.version()
	for _, a := range s.attempts(before, run) {
		s.own = &a.at
		err := a.call(s.second)
		have := core.CodeOf(err)
		if held && have == core.CodeStoreUnavailable {
			busy.Add(1)
			continue
		}
		refused.Add(1)
		if have != a.want || (err != nil && have == "") {
			t.Errorf("%s at %s: have %v, want %q", a.name, a.at, err, a.want)
		}
		if now := s.version(); now != version {
			version = now
			t.Errorf("%s wrote", a.name)
		}
	}
	s.own = nil
	for _, wrong := range invariant.Unchanged(before, s.look()) {
		t.Error(wrong)
	}
}

// version changes with each write of another connection.
func (s *stage) version() (version int) {
	if err := s.eyes.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version); err != nil {
		s.t.Error(err)
	}
	return version
}

// attempts are all that nobody may succeed with, as the store stands.
func (s *stage) attempts(look invariant.Look, run string) (all []attempt) {
	now := s.now()
	row := look.Run(run)
	add := func(token string, expires time.Time, ops func(token string) []attempt) {
		for _, bad := range badTokens(token, expires, now) {
			for _, a := range ops(bad.token) {
				a.name, a.at = fmt.Sprintf("%s with %s", a.name, bad.name), bad.at
				all = append(all, a)
			}
		}
	}
	add(row["claim_token"], expiry(row), func(token string) []attempt { return claimOps(run, row, token) })
	for _, intent := range look.Intents {
		expires := at(intent["delivery_claim_expires_at"])
		add(intent["delivery_claim_token"], expires, func(token string) []attempt { return deliveryOps(intent, token) })
	}
	for _, report := range look.Reports {
		expires := at(report["delivery_claim_expires_at"])
		add(report["delivery_claim_token"], expires, func(token string) []attempt { return reportOps(report, token) })
	}
	for _, a := range append(rivals(run, row, now), strangers(run, row)...) {
		a.at = now
		all = append(all, a)
	}
	return all
}

// bad is a token that is not the live one at a time.
type bad struct {
	name, token string
	at          time.Time
}

func badTokens(token string, expires, now time.Time) []bad {
	foreign := bad{"another token", "foreign token", now}
	if token == "" {
		return []bad{foreign}
	}
	return []bad{
		foreign,
		{"another token, once the lease is over", "foreign token", expires.Add(time.Second)},
		{"its token at the end of its lease", token, expires},
		{"its token a second later", token, expires.Add(time.Second)},
	}
}

// unless is the code of a refusal: what is wrong with the run's state goes before what is
// wrong with the token.
func unless(row invariant.Row, code core.Code, in ...core.Status) core.Code {
	switch {
	case row == nil:
		return core.CodeNotFound
	case !slices.Contains(in, core.Status(row["status"])):
		return core.CodeInvalidTransition
	}
	return code
}

// claimOps need the claim of a run.
func claimOps(run string, row invariant.Row, token string) []attempt {
	hold := core.HoldRequest{RunID: run, ClaimToken: token}
	lost := func(in ...core.Status) core.Code { return unless(row, core.CodeClaimLost, in...) }
	return []attempt{
		op("markPreparedRunRunning", lost(core.Starting), (*core.Store).MarkPreparedRunRunning, core.MarkRunningRequest{RunID: run, ClaimToken: token}),
		op("failPreparedRun", lost(core.Starting), (*core.Store).FailPreparedRun,
			core.FailRequest{RunID: run, ClaimToken: token, ErrorCode: core.FailureActivationFailed}),
		op("parkRunningRun", lost(core.Starting, core.Running), (*core.Store).ParkRunningRun, core.ParkRequest{RunID: run, ClaimToken: token}),
		op("finishRunningRun as done", lost(core.Running), (*core.Store).FinishRunningRun,
			core.FinishRequest{RunID: run, ClaimToken: token, Status: core.Done}),
		op("finishRunningRun as failed", lost(core.Running), (*core.Store).FinishRunningRun,
			core.FinishRequest{RunID: run, ClaimToken: token, Status: core.Failed, ErrorCode: core.FailureRunFailed}),
		op("renewRunClaim", lost(core.Starting, core.Running), (*core.Store).RenewRunClaim, core.RenewRequest{RunID: run, ClaimToken: token}),
		op("releaseRunClaim", lost(core.Starting, core.Running), (*core.Store).ReleaseRunClaim, hold),
		op("verifyRunClaim", lost(core.Starting, core.Running), (*core.Store).VerifyRunClaim, hold),
		op("cancelPreparedRun", lost(core.Queued, core.Starting, core.Running, core.Parked), (*core.Store).CancelPreparedRun,
			core.CancelRequest{RunID: run, ClaimToken: token}),
	}
}

// deliveryOps need the claim of an intent.
func deliveryOps(intent invariant.Row, token string) []attempt {
	want, id := core.CodeClaimLost, intent["intent_id"]
	if intent["resolved_at"] != "" {
		want = core.CodeIntentResolved
	}
	return []attempt{
		op("renewWorkflowTurnIntentClaim", want, (*core.Store).RenewWorkflowTurnIntentClaim, core.RenewIntentRequest{IntentID: id, ClaimToken: token}),
		op("releaseWorkflowTurnIntentClaim", want, (*core.Store).ReleaseWorkflowTurnIntentClaim, core.HoldIntentRequest{IntentID: id, ClaimToken: token}),
		op("resolveWorkflowTurnIntent", want, (*core.Store).ResolveWorkflowTurnIntent,
			core.ResolveIntentRequest{IntentID: id, ClaimToken: token, Resolution: core.ByFallback}),
	}
}

// reportOps need the claim of a report.
func reportOps(report invariant.Row, token string) []attempt {
	want := core.CodeClaimLost
	if report["delivered_at"] != "" {
		want = core.CodeIntentResolved
	}
	return []attempt{op("markWorkflowNotificationDelivered", want, (*core.Store).MarkWorkflowNotificationDelivered,
		core.HoldNotificationRequest{NotificationID: report["notification_id"], ClaimToken: token})}
}
