package cancel

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/prove"
	"github.com/pi-workflows/wfcore/prove/invariant"
	"github.com/pi-workflows/wfcore/prove/scenario"
)

// rival is the second process, where it wants the run for itself.
const rival = "rival"

// TestTakeOver lets a second process have the run at each boundary of each scenario, as it
// can where the host slept for longer than its lease: by a claim, a recovery or a take-over.
// The host goes on, and can do nothing to the run that is not its own any more.
func TestTakeOver(t *testing.T) {
	var points, moved atomic.Int64
	t.Cleanup(func() { t.Logf("%d points, and the run had at %d of them", points.Load(), moved.Load()) })
	for _, played := range scenario.All {
		t.Run(played.Name, func(t *testing.T) {
			t.Parallel()
			found := undisturbed(t, played)
			for _, n := range prove.Sample(t, 2, found.live) {
				t.Run(strconv.Itoa(n), func(t *testing.T) {
					o := overtaking{stage: newStage(t), run: found.run}
					o.try(played, n)
					points.Add(1)
					if o.moved {
						moved.Add(1)
					}
				})
			}
		})
	}
}

// overtaking is one such move, and the store after it.
type overtaking struct {
	*stage
	run   string
	moved bool
	err   error
	after invariant.Look
}

// try moves at a boundary, or at the next one at which there is something to move.
func (o *overtaking) try(played scenario.Scenario, boundary int) {
	o.t.Helper()
	o.play(played, func(n int, _ string) {
		if n >= boundary && !o.moved && !o.busy() {
			o.move()
		}
	})
	must(o.t, o.err)
	if !o.moved {
		return // the run had ended
	}
	last := o.settle()
	o.wrong(invariant.Between(o.after, last))
	ours := 0
	for _, by := range releases(last, o.run) {
		if by != rival {
			ours++
		}
	}
	if o.recovered > ours {
		o.t.Errorf("nodes of the host were let act %d times, and it had the run %d times: %v", o.recovered, ours, last.Feed(o.run))
	}
}

// move is what the state of the run and its bundle allow to a process that comes late.
func (o *overtaking) move() {
	found := o.look().Run(o.run)
	late := expiry(found)
	if now := o.host.Clock.Now(); late.Before(now) {
		late = now
	}
	o.own = &late
	claim := core.ClaimRequest{RunID: o.run, SessionID: scenario.Session, RunnerID: rival, ClaimToken: rival}
	switch core.Status(found["status"]) {
	case core.Queued:
		_, o.err = o.second.ClaimPreparedRun(ctx, claim)
	case core.Starting:
		_, o.err = o.second.RecoverExpiredStartingRun(ctx, o.recovery(found["claim_token"]))
	case core.Running:
		_, o.err = o.second.TakeOverExpiredRun(ctx, claim)
	case core.Parked:
		_, o.err = o.second.ResumeParkedRun(ctx, claim)
	default:
		return
	}
	o.moved, o.after = true, o.look()
}

// recovery finds what the engine of the host has left.
func (o *overtaking) recovery(token string) core.RecoverRequest {
	found := core.Finding{Kind: core.FindingNone}
	if bundle, ok := o.host.Engine.Bundles[o.run]; ok {
		found = bundle
	}
	if found.Kind == core.FindingRunning {
		found.RunnerID, found.ClaimToken = rival, rival
	}
	return core.RecoverRequest{RunID: o.run, SessionID: scenario.Session, ExpectedClaimToken: token, Finding: &found}
}

// expiry is when the claim of a row is over; where it has none, that is long ago.
func expiry(row invariant.Row) time.Time { return at(row["claim_expires_at"]) }

func at(milliseconds string) time.Time {
	ms, _ := strconv.ParseInt(milliseconds, 10, 64)
	return time.UnixMilli(ms)
}
