package hosttest_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/hosttest"
)

// turnMix is one order of the messages of a run, and how the session takes them.
type turnMix struct {
	order      []string
	appending  hosttest.Appending // never, of the first that is sent
	busy, owed bool
}

// turnMixes are all of them.
func turnMixes() (mixes []turnMix) {
	for _, order := range [][]string{
		{"prompt", "presentation", "fallback"}, {"prompt", "fallback", "presentation"},
		{"presentation", "prompt", "fallback"}, {"presentation", "fallback", "prompt"},
		{"fallback", "prompt", "presentation"}, {"fallback", "presentation", "prompt"},
	} {
		for _, appending := range []hosttest.Appending{hosttest.AppendNow, hosttest.AppendLate, hosttest.AppendNever} {
			for _, busy := range []bool{false, true} {
				mixes = append(mixes, turnMix{order, appending, busy, true}, turnMix{order, appending, busy, false})
			}
		}
	}
	return mixes
}

// turnPosts are the natural messages, as their workflow made them.
var turnPosts = map[string]struct {
	path  core.Resolution
	entry hosttest.Entry
}{
	"prompt":       {core.ByWorkflowPrompt, hosttest.Entry{CustomType: core.TypeAgentStep, Content: "prompt", DeliverAs: "steer", TriggerTurn: true}},
	"presentation": {core.ByPresentation, hosttest.Entry{CustomType: core.TypePresentation, Content: "presentation", DeliverAs: "nextTurn", TriggerTurn: true}},
}

// Guards: turns_next.go natural claims what is owed, and sends as it is what is not;
// turns_result.go claimed takes the message that asked for it along.
func TestTurnTwoMessagesOfARunNameItsIntent(t *testing.T) {
	shared := newTurnWorld(t)
	for i, mix := range turnMixes() {
		t.Run(fmt.Sprint(mix), func(t *testing.T) {
			w := turnWorldOf(t, shared.clock, shared.store, fmt.Sprint("session-", i))
			runID := fmt.Sprint("run-", i)
			mix.play(w, runID)
		})
	}
}

func (m turnMix) play(w *turnWorld, runID string) {
	w.Helper()
	intent := ""
	if m.owed {
		intent = w.owe(runID, false)
	}
	if m.busy {
		w.session.StartTurn()
	}
	w.session.Appending = m.appending
	w.at = func(point string) bool {
		if point == "after send" && m.appending == hosttest.AppendNever {
			w.session.Appending = hosttest.AppendNow // only the first is lost
		}
		if m.owed && !w.session.Idle() && (point == "claim" || point == "send") && w.session.Sends() == 0 {
			w.Errorf("the step %s within a turn", point)
		}
		return false
	}
	for _, what := range m.order {
		post, isNatural := turnPosts[what]
		if isNatural {
			w.must(w.host.Post(runID, what, post.path, post.entry))
			continue
		}
		if m.owed {
			_ = w.makeEligible(intent) // or it is resolved
		}
		w.must(w.host.Poll())
	}
	switch {
	case !m.owed:
		w.sends(2) // at once
	case m.busy:
		w.sends(0)
		w.free(intent)
	}
	w.arrives()
	w.arrives()
	m.check(w, intent)
}

func (m turnMix) check(w *turnWorld, intent string) {
	w.Helper()
	var posted, shown []string
	naming := 0
	for _, e := range w.entries() {
		if e.TurnIntentID != "" {
			naming++
			turnEqual(w, "intent that a message names", e.TurnIntentID, intent)
		}
		if post, is := turnPosts[e.Content]; is {
			shown = append(shown, e.Content)
			e.TurnIntentID, e.MessageID = "", ""
			turnEqual(w, "natural message", e, post.entry)
		}
	}
	for _, what := range m.order {
		if what != "fallback" {
			posted = append(posted, what)
		}
	}
	if !m.owed && m.appending == hosttest.AppendNever {
		posted = posted[1:] // its host lost it, and nothing was owed
	}
	if !slices.Equal(shown, posted) {
		w.Errorf("have the natural messages %q, want %q", shown, posted)
	}
	if !m.owed {
		turnEqual(w, "messages that name an intent", naming, 0)
		return
	}
	turnEqual(w, "messages that name an intent", naming, 1)
	w.resolved(intent, m.winner())
	fallbacks := len(w.entries()) - len(shown)
	turnEqual(w, "fallbacks", fallbacks == 1, m.winner() == core.ByFallback)
}

// winner is the first path that could send: a fallback waits for an idle session, and
// for natural messages that came before.
func (m turnMix) winner() core.Resolution {
	first := m.order[0]
	if first == "fallback" && m.busy {
		first = m.order[1]
	}
	if first == "fallback" {
		return core.ByFallback
	}
	return turnPosts[first].path
}
