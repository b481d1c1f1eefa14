package invariant

import (
	"fmt"
	"slices"

	"github.com/pi-workflows/wfcore/core"
)

// wrongs collects what does not hold.
type wrongs []string

func (w *wrongs) unless(holds bool, format string, args ...any) {
	if !holds {
		*w = append(*w, fmt.Sprintf(format, args...))
	}
}

// Check says what does not hold of a store at this instant.
func Check(l Look) []string {
	var w wrongs
	l.reservations(&w)
	for _, run := range l.Runs {
		l.run(&w, run)
		if !l.foreign(run["run_id"]) {
			l.own(&w, run)
		}
	}
	pending := map[[2]string]int{}
	for _, intent := range l.Intents {
		l.intent(&w, intent)
		if !intent.has("resolved_at") {
			pending[[2]string{intent["run_id"], intent["target_session_id"]}]++
		}
	}
	for key, n := range pending {
		w.unless(n == 1, "run %s owes session %s %d turns at once", key[0], key[1], n)
	}
	for _, report := range l.Reports {
		w.unless(!report.has("delivered_at") || !report.has("delivery_claim_token"), "the delivered report %s is claimed", report["notification_id"])
	}
	return w
}

// reservations: a session has one live run, and a parent one continuation.
func (l Look) reservations(w *wrongs) {
	live, continued := map[string]string{}, map[string]string{}
	for _, run := range l.Runs {
		id, session := run["run_id"], run["origin_session_id"]
		if core.Status(run["status"]).Reserves() && run.has("origin_session_id") {
			w.unless(live[session] == "", "session %s has two live runs, %s and %s", session, live[session], id)
			live[session] = id
		}
		if parent, ok := run["parent_run_id"]; ok {
			w.unless(continued[parent] == "", "run %s has two continuations, %s and %s", parent, continued[parent], id)
			continued[parent] = id
		}
	}
}

// run holds of the runs of all hosts.
func (l Look) run(w *wrongs, run Row) {
	id, status := run["run_id"], core.Status(run["status"])
	claimed := status == core.Starting || status == core.Running
	w.unless(run.has("claim_token") == claimed && run.has("claim_expires_at") == claimed,
		"run %s is %s, and claimed by %q until %q", id, status, run["claim_token"], run["claim_expires_at"])
	w.unless(run.has("finished_at") == status.Terminal(), "run %s is %s, and finished at %q", id, status, run["finished_at"])
	w.unless(run.has("error_code") == (status == core.Failed), "run %s is %s with error %q", id, status, run["error_code"])
	if status.Terminal() {
		w.unless(run["input_json"] == "null" && run["launch_options_json"] == "{}", "the ended run %s keeps its private input", id)
	}
}

// own holds of the runs of this library: they have a feed, and lose their input at the
// final fence.
func (l Look) own(w *wrongs, run Row) {
	id, status := run["run_id"], core.Status(run["status"])
	if status != core.Queued && status != core.Starting {
		w.unless(run["input_json"] == "null", "run %s is %s and keeps its private input", id, status)
	}
	at := core.Status("")
	for _, event := range l.Feed(id) {
		next, moves, ok := after(at, core.EventType(event))
		w.unless(ok, "run %s went from %q by event %s: %v", id, at, event, l.Feed(id))
		if ok && moves {
			at = next
		}
	}
	w.unless(at == status, "run %s is %s, and its feed %v leads to %q", id, status, l.Feed(id), at)
	l.owed(w, run)
}

// after is the state that an event leads to, from a state that it can come in.
func after(from core.Status, event core.EventType) (to core.Status, moves, ok bool) {
	switch event {
	case core.EventQueued:
		return core.Queued, true, from == ""
	case core.EventClaimTransferred:
		return "", false, from == core.Running
	case core.EventClaimLost, core.EventTurnIntentFailed:
		return "", false, from != ""
	}
	i := slices.IndexFunc(core.Arrows, func(a core.Arrow) bool { return a.From == from && a.Event == event })
	if i < 0 {
		return "", false, false
	}
	return core.Arrows[i].To, true, true
}

// owed: a run of a session that failed owes, or owed, it a turn; one that was cancelled
// owes none for a failure.
func (l Look) owed(w *wrongs, run Row) {
	id := run["run_id"]
	due, failure := false, false
	for _, intent := range l.intentsOf(id) {
		due = due || intent.has("eligible_at") || intent.has("resolved_at")
		failure = failure || intent["node_id"] == core.NodeLaunch || intent["node_id"] == core.NodeTerminal
		w.unless(intent["target_session_id"] == run["origin_session_id"], "run %s owes a turn to the session %s", id, intent["target_session_id"])
	}
	if core.Status(run["status"]) == core.Failed && run.has("origin_session_id") {
		w.unless(due, "run %s failed, and its session is owed no turn", id)
	}
	if core.Status(run["status"]) == core.Cancelled {
		w.unless(!failure, "run %s was cancelled, and owes a turn for a failure", id)
	}
}

// paths is the custom type of the message that resolves an intent.
var paths = map[string]core.Resolution{
	core.TypeAgentStep: core.ByWorkflowPrompt, core.TypePresentation: core.ByPresentation, core.TypeDeferredTurn: core.ByFallback,
}

// intent: resolved by one message, which the session shows, and told at most once.
func (l Look) intent(w *wrongs, intent Row) {
	id, resolved := intent["intent_id"], intent.has("resolved_at")
	w.unless(resolved == intent.has("resolution") && resolved == intent.has("resolution_message_id"), "intent %s is resolved in part", id)
	w.unless(!resolved || !intent.has("delivery_claim_token"), "the resolved intent %s is claimed", id)
	w.unless(intent.has("delivery_claim_token") == intent.has("delivery_claim_expires_at"), "intent %s has half a claim", id)
	if l.Messages == nil || l.foreign(intent["run_id"]) {
		return
	}
	told := 0
	for _, m := range l.Messages {
		if m.IntentID != id || m.SessionID != intent["target_session_id"] {
			continue
		}
		told++
		w.unless(!resolved || paths[m.CustomType] == core.Resolution(intent["resolution"]),
			"intent %s was told by %s, and resolved by %s", id, m.CustomType, intent["resolution"])
	}
	w.unless(told <= 1, "intent %s was told %d times", id, told)
	w.unless(!resolved || told == 1, "intent %s is resolved, and no message tells it", id)
	if resolved {
		want := core.MessageID(id, core.Resolution(intent["resolution"]))
		w.unless(intent["resolution_message_id"] == want, "intent %s has the message id %s", id, intent["resolution_message_id"])
	}
}
