package cancel

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/prove"
	"github.com/pi-workflows/wfcore/prove/invariant"
	"github.com/pi-workflows/wfcore/prove/scenario"
)

// who are the ways to cancel; none has a token.
var who = map[string]core.CancelRequest{
	"user":    {Origin: core.OriginUser},
	"agent":   {Origin: core.OriginAgent},
	"session": {Origin: core.OriginUser, SessionID: scenario.Session},
}

// TestCancel cancels the run at each boundary of each scenario, and lets the scenario go
// on: the cancellation wins for good, or is told the state that won.
func TestCancel(t *testing.T) {
	var count tally
	t.Cleanup(func() { t.Log(&count) })
	for _, played := range scenario.All {
		t.Run(played.Name, func(t *testing.T) {
			t.Parallel()
			found := undisturbed(t, played)
			for _, p := range prove.Sample(t, 4, pointsOf(found.all)) {
				t.Run(fmt.Sprintf("%d/%s", p.boundary, p.by), func(t *testing.T) {
					c := cancellation{stage: newStage(t), run: found.run, by: p.by}
					c.try(played, p.boundary)
					count.add(&c)
				})
			}
		})
	}
}

type point struct {
	boundary int
	by       string
}

// pointsOf are the user at each boundary, and one of the others at every third one.
func pointsOf(boundaries []int) (points []point) {
	for i, n := range boundaries {
		points = append(points, point{n, "user"})
		if i%3 == 0 {
			points = append(points, point{n, []string{"agent", "session"}[i/3%2]})
		}
	}
	return points
}

type tally struct{ points, won, lost, busy, stopped atomic.Int64 }

func (n *tally) add(c *cancellation) {
	n.points.Add(1)
	n.busy.Add(c.busy)
	if c.stopped {
		n.stopped.Add(1)
	}
	if c.err == nil {
		n.won.Add(1)
	} else {
		n.lost.Add(1)
	}
}

func (n *tally) String() string {
	return fmt.Sprintf("%d points: %d cancelled, of them %d seen before the next node; %d refused; %d calls met the host's transaction, and were repeated after it",
		n.points.Load(), n.won.Load(), n.stopped.Load(), n.lost.Load(), n.busy.Load())
}

// cancellation is one call of a second process, and the store before and after it.
type cancellation struct {
	*stage
	run, by       string
	busy          int64
	answered      bool
	stopped       bool
	err           error
	before, after invariant.Look
	actedBefore   int
}

// try cancels at a boundary, or at the next one that lies in no transaction.
func (c *cancellation) try(played scenario.Scenario, boundary int) {
	c.t.Helper()
	if c.by != "user" {
		c.then = c.seen // else the engine does not look, and may come to its end
	}
	c.play(played, func(n int, _ string) {
		if n >= boundary && !c.answered {
			c.call()
		}
	})
	if !c.answered {
		c.call()
	}
	if !c.answered {
		c.t.Fatal("the host has ended, and still holds the lock")
	}
	if c.err != nil {
		c.lost()
		return
	}
	must(c.t, c.seen())
	c.won(c.settle())
}

func (c *cancellation) call() {
	request := who[c.by]
	request.RunID = c.run
	before, acted := c.look(), c.acted()
	_, err := c.second.CancelPreparedRun(ctx, request)
	if core.CodeOf(err) == core.CodeStoreUnavailable {
		c.busy++
		return
	}
	c.answered, c.err, c.before, c.after, c.actedBefore = true, err, before, c.look(), acted
}

// lost: the error names the state that won, and nothing changed.
func (c *cancellation) lost() {
	c.t.Helper()
	c.wrong(invariant.Unchanged(c.before, c.after))
	stood, want := c.before.Run(c.run), core.CodeInvalidTransition
	switch status := core.Status(stood["status"]); {
	case stood == nil:
		want = core.CodeNotFound
	case !status.Terminal():
		c.t.Errorf("a run that was %s could not be cancelled: %v", status, c.err)
	}
	var e *core.Error
	if !errors.As(c.err, &e) || e.Code != want {
		c.t.Fatalf("have %v, want %s", c.err, want)
	}
	if want == core.CodeInvalidTransition && e.Details["status"] != stood["status"] {
		c.t.Errorf("the run was %s, and the error names %v", stood["status"], e.Details)
	}
	c.wrong(invariant.Between(c.after, c.settle()))
}

// seen: once the run is cancelled, an engine that acts is stopped before its next node.
func (c *cancellation) seen() error {
	if !c.answered || c.err != nil || !c.host.Engine.Acting[c.run] {
		return nil
	}
	c.stopped = true
	err := c.host.Node(c.run)
	if why := c.host.Stopped[c.run]; c.host.Engine.Acting[c.run] || why != core.StopCancelled {
		c.t.Errorf("the engine of the cancelled run was not stopped for that before its next node, but for %q", why)
	}
	return err
}

// won: nothing of what the host did afterwards undid it.
func (c *cancellation) won(last invariant.Look) {
	c.t.Helper()
	c.wrong(invariant.Between(c.after, last))
	if status := last.Run(c.run)["status"]; status != string(core.Cancelled) {
		c.t.Errorf("the cancelled run is %s", status)
	}
	feed, was := last.Feed(c.run), c.after.Feed(c.run)
	if was[len(was)-1] != string(core.EventCancelled) {
		c.t.Errorf("the feed was %v", was)
	}
	for _, event := range feed[len(was):] {
		if event != string(core.EventClaimLost) && event != string(core.EventTurnIntentFailed) {
			c.t.Errorf("the cancelled run had a further event: %v", feed)
		}
	}
	c.quiet()
	c.owesNothing(last)
	c.untold(last)
}

// quiet: no node acts that was not let before the cancellation.
func (c *cancellation) quiet() {
	c.t.Helper()
	let := 0
	if c.before.Run(c.run)["status"] == string(core.Running) {
		let = min(1, len(releases(c.before, c.run))-c.actedBefore)
	}
	if more := c.recovered - c.actedBefore; more > max(0, let) {
		c.t.Errorf("%d nodes were let act after the cancellation, want at most %d", more, let)
	}
}

// owesNothing: a cancellation owes no turn for a failure; and the user's owes none at all,
// whatever was pending stays so.
func (c *cancellation) owesNothing(last invariant.Look) {
	c.t.Helper()
	for _, intent := range last.Intents {
		if intent["run_id"] != c.run {
			continue
		}
		cause := core.Cause(intent["cause"])
		if cause == core.CauseFailed || cause == core.CauseLaunchFailed {
			c.t.Errorf("the cancelled run owes a turn for a failure: %v", intent)
		}
		if c.by != "agent" && intent["eligible_at"] != c.eligible(intent["intent_id"]) {
			c.t.Errorf("the user cancelled, and a turn is due: %v", intent)
		}
	}
}

// untold: the session was sent no fallback for a turn that is not due.
func (c *cancellation) untold(last invariant.Look) {
	c.t.Helper()
	for _, m := range last.Messages {
		if since := c.eligible(m.IntentID); c.by != "agent" && m.CustomType == core.TypeDeferredTurn && (since == "" || since == absent) {
			c.t.Errorf("the user cancelled, and the session was sent a message: %v", m)
		}
	}
}

// absent stands for an intent that there was not before the cancellation.
const absent = "absent"

// eligible is since when an intent was due before the cancellation.
func (c *cancellation) eligible(intentID string) string {
	for _, intent := range c.before.Intents {
		if intent["intent_id"] == intentID {
			return intent["eligible_at"]
		}
	}
	return absent
}
