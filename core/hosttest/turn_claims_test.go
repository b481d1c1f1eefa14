package hosttest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/hosttest"
)

// turnClaims are the two ways to claim the turn of a run.
var turnClaims = map[string]func(w *turnWorld, token string) error{
	"natural": func(w *turnWorld, token string) error {
		_, err := w.store.ClaimWorkflowTurnIntentForRun(context.Background(), core.ClaimForRunRequest{RunID: "run", SessionID: turnSession, ClaimToken: token})
		return err
	},
	"fallback": func(w *turnWorld, token string) error {
		_, err := w.store.ClaimEligibleWorkflowTurnIntentsForSession(context.Background(), core.ClaimEligibleRequest{SessionID: turnSession, ClaimToken: token, Limit: 1})
		return err
	},
}

// turnTokenOps are the operations that take the token of a delivery claim.
var turnTokenOps = map[string]func(w *turnWorld, intentID, token string) error{
	"renew": func(w *turnWorld, intentID, token string) error {
		_, err := w.store.RenewWorkflowTurnIntentClaim(context.Background(), core.RenewIntentRequest{IntentID: intentID, ClaimToken: token})
		return err
	},
	"release": func(w *turnWorld, intentID, token string) error {
		_, err := w.store.ReleaseWorkflowTurnIntentClaim(context.Background(), core.HoldIntentRequest{IntentID: intentID, ClaimToken: token})
		return err
	},
	"resolve": func(w *turnWorld, intentID, token string) error {
		_, err := w.store.ResolveWorkflowTurnIntent(context.Background(), core.ResolveIntentRequest{IntentID: intentID, ClaimToken: token, Resolution: core.ByFallback})
		return err
	},
}

// Guard: workflow_turn_intents.sql, IntentRenewClaim, IntentReleaseClaim and
// IntentResolve compare the token.
func TestTurnAStaleTokenOfTheSameWorkerIsTaken(t *testing.T) {
	for path, claim := range turnClaims {
		for op, call := range turnTokenOps {
			t.Run(path+"/"+op, func(t *testing.T) {
				w := newTurnWorld(t)
				intent := w.owe("run", true)
				w.must(claim(w, "first"))
				w.clock.Advance(turnLease)
				w.must(claim(w, "second"))
				before := *w.intent(intent).DeliveryClaimExpiresAt
				turnRefused(t, op, call(w, intent, "first"), core.CodeClaimLost)
				w.held(intent)
				turnEqual(t, "expiry", *w.intent(intent).DeliveryClaimExpiresAt, before)
				w.must(call(w, intent, "second"))
			})
		}
	}
}

// Guard: workflow_turn_intents.sql compares the expiry, in the same three.
func TestTurnATokenIsTakenAtItsExpiry(t *testing.T) {
	for late, want := range map[time.Duration]core.Code{
		-time.Millisecond: "", 0: core.CodeClaimLost, time.Millisecond: core.CodeClaimLost, time.Second: core.CodeClaimLost,
	} {
		for path, claim := range turnClaims {
			for op, call := range turnTokenOps {
				t.Run(fmt.Sprint(late, path, op), func(t *testing.T) {
					w := newTurnWorld(t)
					intent := w.owe("run", true)
					w.must(claim(w, "token"))
					w.clock.Advance(turnLease + late)
					turnRefused(t, op, call(w, intent, "token"), want)
					turnEqual(t, "resolved", w.intent(intent).Resolution != nil, op == "resolve" && want == "")
				})
			}
		}
	}
}

// A process is held up right before a step for as long as its lease, and another one
// delivers meanwhile. Guard: turns_next.go send verifies the claim in the same step;
// IntentRenewClaim asks for a live one.
func TestTurnAProcessThatWasHeldUpSendsToo(t *testing.T) {
	for _, at := range []string{"look", "send"} {
		t.Run(at, func(t *testing.T) {
			w := newTurnWorld(t)
			intent := w.owe("run", true)
			other := w.beside(w.store)
			w.at = func(point string) bool {
				if point == at {
					w.at = nil
					w.clock.Advance(turnLease)
					other.must(other.host.Poll())
				}
				return false
			}
			w.must(w.host.Poll())
			w.sends(0)
			other.arrives()
			w.arrives()
			w.sends(0)
			other.sends(1)
			w.messages(intent, 1)
			w.resolved(intent, core.ByFallback)
		})
	}
}

// Guard: policy.go creates: a cancellation of the user owes nothing.
func TestTurnACancellationAndAFailureOweATurn(t *testing.T) {
	lives := map[string]func(w *turnWorld) error{
		"a launch that fails": func(w *turnWorld) error {
			w.engine.Fails = &core.Finding{Code: core.FailureActivationFailed, Message: "no"}
			return w.host.SessionStart()
		},
		"a run that fails": func(w *turnWorld) error {
			if err := w.host.SessionStart(); err != nil {
				return err
			}
			return w.host.EngineEnded(core.LaunchSeen{RunID: "run", Outcome: core.EngineFailed, Code: core.FailureRunFailed})
		},
	}
	for name, live := range lives {
		points := 0
		for at := 0; at <= points; at++ {
			t.Run(fmt.Sprint(name, at), func(t *testing.T) {
				w := newTurnWorld(t)
				w.queue("run")
				n, lost := 0, error(nil)
				cancel := func() {
					_, lost = w.store.CancelPreparedRun(context.Background(), core.CancelRequest{RunID: "run", Origin: core.OriginUser})
				}
				was := core.Queued
				w.at = func(point string) bool {
					if n == at {
						was = w.run("run").Status
						cancel()
					}
					n++
					return false
				}
				w.must(live(w))
				points = max(points, n)
				if n <= at {
					was = w.run("run").Status
					cancel()
				}
				w.at = nil
				w.arrives()
				checkTurnOfCancelled(w, was, lost)
			})
		}
	}
}

// checkTurnOfCancelled checks who won, and that the session was told of a failure
// alone.
func checkTurnOfCancelled(w *turnWorld, was core.Status, lost error) {
	w.Helper()
	run := w.run("run")
	if lost == nil {
		turnEqual(w, "state", run.Status, core.Cancelled)
		turnEqual(w, "turns owed", len(w.owed("run")), 0)
		w.sends(0)
		if was != core.Running {
			turnEqual(w, "nodes that acted", w.engine.Acted["run"], 0)
		}
		return
	}
	var e *core.Error
	errors.As(lost, &e)
	turnEqual(w, "why the cancellation lost", e.Code, core.CodeInvalidTransition)
	turnEqual(w, "state that won", e.Details["status"], any(string(core.Failed)))
	turnEqual(w, "state", run.Status, core.Failed)
	w.sends(1)
	w.resolved(w.theOwed("run").IntentID, core.ByFallback)
}

// Guard: recover.go maxStarts.
func TestTurnACrashAtEveryStartIsToldTwice(t *testing.T) {
	w := newTurnWorld(t)
	w.queue("run")
	builds := 0
	crashes := func(point string) bool {
		if point == "build" {
			builds++
		}
		return point == "build"
	}
	for range 3 {
		w.at = crashes
		w.stops(w.host.SessionStart())
		w.restart()
		w.clock.Advance(turnLease)
	}
	w.at = crashes
	w.must(w.host.SessionStart())
	turnEqual(t, "state", w.run("run").Status, core.Failed)
	turnEqual(t, "code", *w.run("run").ErrorCode, string(core.FailureActivationFailed))
	w.sends(1)
	w.arrives()
	w.sends(1)
	turnEqual(t, "starts", builds, 3)
	w.resolved(w.theOwed("run").IntentID, core.ByFallback)
}

// Guard: turns_next.go deliver and launch_next.go shutdown release when the session
// closes.
func TestTurnARestartAfterACleanExitWaits(t *testing.T) {
	delivers := map[string]struct {
		appending hosttest.Appending
		sends     int // of the next process
	}{
		"sent and shown":     {hosttest.AppendNow, 0},
		"sent and not shown": {hosttest.AppendLate, 1},
		"sent and lost":      {hosttest.AppendNever, 1},
	}
	for name, delivery := range delivers {
		t.Run(name, func(t *testing.T) {
			w := newTurnWorld(t)
			intent := w.owe("run", true)
			w.session.Appending = delivery.appending
			w.must(w.host.Poll())
			w.held(intent)
			w.must(w.host.Shutdown())
			w.free(intent)
			w.restart()
			w.must(w.host.SessionStart())
			w.sends(delivery.sends)
			w.tick()
			w.messages(intent, 1)
			w.resolved(intent, core.ByFallback)
		})
	}
	t.Run("an activation", func(t *testing.T) {
		w := newTurnWorld(t)
		w.queue("run")
		w.engine.Slow = true
		w.must(w.host.SessionStart())
		turnEqual(t, "state", w.run("run").Status, core.Starting)
		w.must(w.host.Shutdown())
		w.restart()
		w.must(w.host.SessionStart())
		turnEqual(t, "state", w.run("run").Status, core.Running)
		turnEqual(t, "turns owed", len(w.owed("run")), 0)
	})
	t.Run("a running run", func(t *testing.T) {
		w := newTurnWorld(t)
		w.running("run")
		w.must(w.host.Shutdown())
		w.restart()
		w.must(w.host.SessionStart())
		turnEqual(t, "times that it acts", w.engine.Acted["run"], 2)
		turnEqual(t, "turns owed", len(w.owed("run")), 0)
	})
}
