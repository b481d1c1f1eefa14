package hosttest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/hosttest"
)

// turnOnce is a store that fails one call of an operation, which may have happened
// all the same.
type turnOnce struct {
	hosttest.Caller
	op       string
	nth      int // of its calls
	code     core.Code
	happened bool
}

func (f *turnOnce) Call(ctx context.Context, op string, request []byte) ([]byte, error) {
	if op == f.op {
		f.nth--
	}
	if op != f.op || f.nth != 0 {
		return f.Caller.Call(ctx, op, request)
	}
	if f.happened {
		if _, err := f.Caller.Call(ctx, op, request); err != nil {
			return nil, err
		}
	}
	return nil, &core.Error{Code: f.code, Message: "a fault of the test", Retryable: true, Details: core.Details{}}
}

// turnOps are the operations of a delivery.
var turnOps = []string{
	"sweepTurnIntents", "findPendingWorkflowTurnIntent", "claimWorkflowTurnIntentForRun", "claimEligibleWorkflowTurnIntentsForSession",
	"renewWorkflowTurnIntentClaim", "resolveWorkflowTurnIntent", "releaseWorkflowTurnIntentClaim",
}

// Guard: turns_next.go claimToken repeats a claim; turns_result.go refused tries again
// what may be tried again, and keeps what was sent.
func TestTurnOneFailedCallLosesOrRepeatsAMessage(t *testing.T) {
	shared, n := newTurnWorld(t), 0
	for _, op := range turnOps {
		for _, d := range turnDeliveries() {
			for nth := 1; nth <= 3; nth++ {
				for _, happened := range []bool{false, true} {
					n++
					w := turnWorldOf(t, shared.clock, shared.store, fmt.Sprint("session-", n))
					runID := fmt.Sprint("run-", n)
					t.Run(fmt.Sprint(op, " ", d, nth, happened), func(t *testing.T) {
						w.TB = t
						playTurnFault(w, runID, d, &turnOnce{w.store, op, nth, core.CodeStoreUnavailable, happened})
					})
				}
			}
		}
	}
	t.Logf("%d failed calls", n)
}

// A host in another language says core_crashed where the core has to be started anew:
// the next call runs. Guard: errors.go open names both codes.
func TestTurnACrashedCoreLosesADelivery(t *testing.T) {
	for _, op := range []string{"claimEligibleWorkflowTurnIntentsForSession", "renewWorkflowTurnIntentClaim", "resolveWorkflowTurnIntent"} {
		for _, happened := range []bool{false, true} {
			t.Run(fmt.Sprint(op, happened), func(t *testing.T) {
				w := newTurnWorld(t)
				d := turnDelivery{path: core.ByFallback, appending: hosttest.AppendLate}
				playTurnFault(w, "run", d, &turnOnce{w.store, op, 1, "core_crashed", happened})
			})
		}
	}
}

func playTurnFault(w *turnWorld, runID string, d turnDelivery, fault *turnOnce) {
	w.Helper()
	intent := w.owe(runID, d.path == core.ByFallback)
	w.session.Appending = d.appending
	w.at = func(point string) bool {
		if point == "after send" && d.appending == hosttest.AppendNever {
			w.session.Appending = hosttest.AppendNow
		}
		return false
	}
	w.host.Store = fault
	s := turnScript{turnDelivery: d, runID: runID, first: true, passes: 1, every: turnInterval}
	w.must(s.play(w.host, func() bool { return false }))
	if d.once {
		_ = w.makeEligible(intent) // or it is resolved
	}
	for range 4 { // it is not waited for a lease
		w.tick()
	}
	if d.appending == hosttest.AppendNever {
		w.arrives() // but where it is sent again
	}
	w.messages(intent, 1)
	w.resolved(intent, d.path)
}

// Guard: turns_result.go claimedIn reads the answer of the step that was asked for,
// whatever was seen meanwhile.
func TestTurnAnEventWithinAStepLosesOrRepeatsAMessage(t *testing.T) {
	points := []string{"sweep", "claim", "after claim", "look", "after look", "send", "verified", "after send", "resolve", "after resolve"}
	for name, event := range turnEvents {
		for _, at := range points {
			t.Run(name+"/"+at, func(t *testing.T) {
				w := newTurnWorld(t)
				intent := w.owe("other", true)
				prompted := name == "prompt" || name == "present"
				w.at = w.within(at, func() { w.must(event(w)) })
				w.must(w.host.Poll())
				w.tick()
				w.arrives()
				w.messages(intent, 1)
				w.resolved(intent, core.ByFallback)
				natural := 0
				for _, e := range w.entries() {
					if e.TurnIntentID == "" {
						natural++
					}
				}
				turnEqual(t, "natural messages", natural == 1, prompted)
			})
		}
	}
}
