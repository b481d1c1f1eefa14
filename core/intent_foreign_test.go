package core_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
)

// due claims for fallbacks and names what it got.
func (f *fixture) due(token string, limit int) string {
	f.Helper()
	return turnIDs(f.list(forFallback, claimDue(token, limit)))
}

func TestFallbackClaimsWhatIsNotDue(t *testing.T) {
	f := open(t)
	f.oweOf("early", "own", false)
	f.oweOf("other", "other", true)
	f.oweOf("held", "own", true)
	f.ok(forRun, claimFor("held", "holder"))
	f.oweOf("done", "own", true)
	f.ok(forRun, claimFor("done", "tok"))
	f.ok(resolveOp, resolveTurn("i-done", "tok", "fallback"))
	before := f.dump()
	equal(t, "nothing is due", f.due("t", 100), "")
	if !slices.Equal(before, f.dump()) {
		t.Error("claiming nothing changed the store")
	}
	f.oweOf("due", "own", true)
	before = f.dump()
	equal(t, "due", f.due("t", 100), "i-due")
	for _, line := range strings.Split(strings.TrimSpace(changes(before, f.dump())), "\n") {
		if !strings.Contains(line, `"intent_id":"i-due"`) {
			t.Errorf("a claim changed %s", line)
		}
	}
	f.wants("row", f.intent("i-due"), object{"delivery_claim_token": "t", "delivery_claim_expires_at": millis(lease)})
}

// The longest eligible goes first, then by id; no more than asked for.
func TestFallbackOrderIsOfChance(t *testing.T) {
	f := open(t)
	for i, run := range []string{"c", "b", "e", "a", "d"} {
		f.at(time.Duration([]int{2, 2, 1, 3, 2}[i]) * time.Second)
		f.oweOf(run, "own", true)
	}
	f.at(time.Minute)
	equal(t, "two", f.due("t1", 2), "i-e i-b")
	equal(t, "again", f.due("t1", 2), "i-e i-b")
	equal(t, "three", f.due("t2", 100), "i-c i-d i-a")
	equal(t, "again", f.due("t2", 100), "i-c i-d i-a")
	equal(t, "one of them again", f.due("t2", 1), "i-c")
	equal(t, "none", f.due("t3", 100), "")
	f.at(time.Minute + lease)
	equal(t, "lapsed", f.due("t3", 100), "i-e i-b i-c i-d i-a")
	f.at(time.Minute + 2*lease)
	equal(t, "lapsed again", f.due("t4", 3), "i-e i-b i-c")
	for _, limit := range []any{0, -1, 101, nil, "1"} {
		f.refusesFact(forFallback, claimDue("t", 1).with(object{"limit": limit}), "limit")
	}
}

// Case 5. The presentation is sent and resolved; then the run's end would make the
// intent eligible while two passes race: refused, no fallback, and the resolution
// stands. Red without `resolved_at IS NULL` in IntentMakeEligible, IntentClaimEligible
// or IntentFindPending, or where a terminal event would not look for its abort's intent.
func TestIntentCase05ToldTwice(t *testing.T) {
	for _, recovers := range []bool{true, false} { // eligible only later, or before
		f := openTurns(t)
		f.running("run", "own")
		f.ok("noteTurnEvent", noteOf("stepTimeout", object{"recoveryExpected": recovers}))
		id := f.onlyIntent().text("intent_id")
		f.ok(forRun, claimFor("run", "natural"))
		f.ok(resolveOp, resolveTurn(id, "natural", "presentation"))
		resolved := f.onlyIntent()

		f.fails(eligibly, object{"intentId": id}, core.CodeIntentResolved)
		equal(t, "first pass", f.due("pass1", 5), "")
		f.ok("finishRunningRun", failRun("timed_out", atStep))
		f.ok("noteTurnEvent", noteOf("timedOutTerminal", nil))
		f.list("sweepTurnIntents", object{"limit": 100})
		equal(t, "second pass", f.due("pass2", 5), "")
		f.fails(resolveOp, resolveTurn(id, "pass2", "fallback"), core.CodeIntentResolved)
		equal(t, "the resolution", fmt.Sprint(f.onlyIntent()), fmt.Sprint(resolved))
	}
}

// Case 18. Times of another writer, with and without milliseconds and with an
// offset, are compared as instants. Red where IntentClaimEligible orders by the text
// of eligible_at, or byEligibility compares texts.
func TestIntentCase18TextTimesInTwoFormats(t *testing.T) {
	f := open(t)
	times := []string{ // the last is the longest eligible; their texts have another order
		"2026-08-21T08:17:31.500Z", "2026-08-21T08:17:31Z", "2026-08-21T03:17:30.250-05:00", "2026-08-21T08:17:30.1Z",
		"2026-08-21T10:17:30+02:00", "2026-08-21T23:17:29+15:00",
	}
	for i, at := range times {
		f.plantTurn(object{"intent_id": fmt.Sprint("i", i), "run_id": fmt.Sprint("r", i), "eligible_at": at})
	}
	equal(t, "the longest eligible", f.due("t1", 1), "i5")
	equal(t, "the next", f.due("t2", 2), "i4 i3")
	equal(t, "the rest", f.due("t3", 100), "i2 i1 i0")
	want := []string{"31.500", "31.000", "30.250", "30.100", "30.000", "29.000"}
	for i, intent := range f.list("listWorkflowTurnIntents", object{"limit": 100}) {
		equal(t, times[i], intent.text("eligibleAt"), "2026-08-21T08:17:"+want[i]+"Z")
	}
}

// A text that is no time is not compared as one; what it belongs to is not lost.
func TestFallbackWithoutATimeIsLost(t *testing.T) {
	f := open(t)
	for i, at := range []any{"yesterday", "", "17:30", "2460000.5", 12345.5, "now"} {
		f.plantTurn(object{"intent_id": fmt.Sprint("i", i), "run_id": fmt.Sprint("r", i), "eligible_at": at})
	}
	f.plantTurn(object{"intent_id": "real", "run_id": "real", "eligible_at": stamp(0)})
	for i, want := range []string{"i0", "i1", "i2", "i3", "i4", "i5", "real", ""} {
		equal(t, "due", f.due(fmt.Sprint("t", i), 1), want)
	}
	f.ok(resolveOp, resolveTurn("i0", "t0", "fallback"))
}

// oddClaims are ends of a delivery lease that are none, or that end now.
var oddClaims = map[string]any{
	"null": nil, "text": "soon", "late text": "9999-12-31T00:00:00.000Z", "blob": []byte{0xff, 0x00}, "empty": "",
	"negative": -1, "real": float64(epoch.UnixMilli()) + 0.5, "small real": 1.5,
}

// Such a claim must not live for ever, and its holder has nothing.
func TestOddDeliveryLeaseLivesForEver(t *testing.T) {
	for name, end := range oddClaims {
		t.Run(name, func(t *testing.T) {
			plant := func() *fixture {
				f := open(t)
				f.plantTurn(object{"eligible_at": stamp(0), "delivery_claim_token": "theirs", "delivery_claim_expires_at": end})
				return f
			}
			for op, fields := range turnTokenOps {
				if _, err := plant().call(op, holdTurn("intent", "theirs").with(fields)); core.CodeOf(err) != core.CodeClaimLost {
					t.Errorf("%s: %v", op, err)
				}
			}
			f := plant()
			equal(t, "fallback", f.due("theirs", 1), "intent")
			f.wants("row", f.intent("intent"), object{"delivery_claim_token": "theirs", "delivery_claim_expires_at": millis(lease)})
			f = plant()
			f.ok(forRun, claimFor("run", "theirs"))
			f.wants("row", f.intent("intent"), object{"delivery_claim_token": "theirs", "delivery_claim_expires_at": millis(lease)})
			f = plant()
			f.ok("getWorkflowTurnIntent", object{"intentId": "intent"})
			f.ok("findPendingWorkflowTurnIntent", object{"runId": "run", "sessionId": "own"})
		})
	}
}

// A live claim without a token is not that of a caller without one.
func TestClaimWithoutATokenIsTaken(t *testing.T) {
	f := open(t)
	own := object{"delivery_claim_token": "", "delivery_claim_expires_at": epoch.Add(lease).UnixMilli()}
	f.plantTurn(own.with(object{"eligible_at": stamp(0)}))
	f.plantReport(own)
	before := f.dump()
	equal(t, "fallback", string(f.answer(forFallback, object{"sessionId": "own", "limit": 1})), "[]")
	equal(t, "reports", string(f.answer(claimNews, object{"sessionId": "own", "limit": 1})), "[]")
	f.fails(forRun, object{"runId": "run", "sessionId": "own"}, core.CodeClaimLive)
	equal(t, "store", strings.Join(f.dump(), "\n"), strings.Join(before, "\n"))
}

// A lease that another host stored as a real number is one.
func TestRealDeliveryLeaseIsNone(t *testing.T) {
	plant := func() *fixture {
		f := open(t)
		f.plantTurn(object{"eligible_at": stamp(0), "delivery_claim_token": "theirs", "delivery_claim_expires_at": millis(lease) + 0.5})
		return f
	}
	plant().fails(forRun, claimFor("run", "t"), core.CodeClaimLive)
	equal(t, "fallback", plant().due("t", 1), "")
	equal(t, "repeated", plant().due("theirs", 1), "intent")
	f := plant()
	f.wants("renewed", f.ok("renewWorkflowTurnIntentClaim", holdTurn("intent", "theirs").with(object{"leaseMs": 1})), object{"deliveryClaimExpiresAt": stamp(lease)})
	f.wants("whole", f.intent("intent"), object{"delivery_claim_expires_at": millis(lease)})
	plant().ok(resolveOp, resolveTurn("intent", "theirs", "fallback"))
}

// SQLite lets a text key be NULL. A row without a name is left out, and is in
// nobody's way.
func TestIntentWithoutAnID(t *testing.T) {
	blob := []byte("intent")
	for name, ids := range map[string][2]any{"null": {nil, nil}, "empty": {"", nil}, "empty of an ended run": {nil, ""}, "blob": {blob, []byte("second")}} {
		t.Run(name, func(t *testing.T) {
			f := openTurns(t)
			f.running("run", "own")
			f.plantTurn(object{"intent_id": ids[0], "eligible_at": stamp(0)})
			f.plantTurn(object{"intent_id": ids[1], "run_id": "ended"})
			f.plant(object{"run_id": "ended", "status": "failed"})
			before := f.quoted()
			equal(t, "list", len(f.list("listWorkflowTurnIntents", object{"limit": 100})), 0)
			equal(t, "found", string(f.answer("findPendingWorkflowTurnIntent", object{"runId": "run", "sessionId": "own"})), "null")
			equal(t, "natural", string(f.answer(forRun, claimFor("run", "t"))), "null")
			equal(t, "fallback", len(f.list(forFallback, claimDue("t", 100))), 0)
			equal(t, "sweep", len(f.list("sweepTurnIntents", object{"limit": 100})), 0)
			if _, err := f.call(ensure, owed(nil)); core.CodeOf(err) != core.CodeIntentPending {
				t.Errorf("another one is in the way: %v", err)
			}
			equal(t, "an event", f.ok("noteTurnEvent", noteOf("agentCancel", nil)).text("outcome"), "none")
			equal(t, "rows", f.quoted(), before)
			have := f.ok("finishRunningRun", held("run", "tok").with(object{"status": "failed", "errorCode": "run_failed"}))
			equal(t, "the run", have.text("status"), "failed")
			told := ""
			for _, event := range f.list("listRunEvents", object{"runId": "run", "limit": 100}) {
				told += event.text("type") + " "
			}
			equal(t, "told", told, "queued starting running turn_intent_failed failed turn_intent_failed ")
			equal(t, "rows", f.quoted(), before)
			f.oweOf("sound", "own", true)
			equal(t, "the sound one", f.due("t", 1), "i-sound")
		})
	}
}

// quoted is what is stored of intents, also what no text can hold.
func (f *fixture) quoted() string {
	f.Helper()
	var text string
	must(f, f.conn.QueryRowContext(f.Context(), `SELECT group_concat(quote(intent_id) || quote(run_id) || quote(fallback_facts_json) ||
		quote(eligible_at) || quote(resolved_at) || quote(delivery_claim_token) || quote(delivery_claim_expires_at)) FROM workflow_turn_intents`).Scan(&text))
	return text
}

// Facts of another host need not be as ours are; they stop nothing.
func TestForeignFactsStopADelivery(t *testing.T) {
	for _, facts := range []string{
		"no JSON", "", "[]", "null", `"text"`, "{}", `{"reason":7}`, `{"schema":"v2","extra":{"a":1}}`, `{"a":1,"a":2}`, "\"\xff\"", `{"reason":"\ud800"}`,
	} {
		f := openTurns(t)
		f.running("run", "own")
		f.plantTurn(object{"fallback_facts_json": facts, "eligible_at": stamp(0), "node_id": "step"})
		intent := decode[core.Intent](t, f.answer("getWorkflowTurnIntent", object{"intentId": "intent"}))
		text := core.FallbackMessage(intent).Content
		for _, part := range []string{"Workflow flow", "run run", "step"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: the message %q lacks %s", facts, text, part)
			}
		}
		f.list("listWorkflowTurnIntents", object{"limit": 1})
		f.ok(eligibly, object{"intentId": "intent"})
		equal(t, "stand", f.intent("intent").text("fallback_facts_json"), plainText(facts))
		f.ok("noteTurnEvent", noteOf("claimLost", object{"reason": "why"}))
		f.wants("joined", f.storedFacts(f.intent("intent")), turnFacts(object{
			"observedState": "handedOff", "handoff": true, "nodeId": "step", "attemptId": "1", "reason": "why",
		}))
		equal(t, "due", f.due("t", 1), "intent")
		f.ok(resolveOp, resolveTurn("intent", "t", "fallback"))
	}
}

// plainText is a stored text as a dump shows it.
func plainText(text string) string { return strings.ToValidUTF8(text, "\ufffd") }

// The file of another host: what is pending goes on, what is resolved stays.
func TestForeignIntentsAreNotDelivered(t *testing.T) {
	f := openForeign(t)
	resolved := f.intents()[3:]
	equal(t, "pending", turnIDs(f.list("listWorkflowTurnIntents", object{"limit": 100, "state": "pending"})), "intent-ineligible intent-eligible intent-claimed")
	for session, want := range map[string]string{"session-running": "", "session-failed": "intent-eligible", "session-claimed": "intent-claimed"} {
		due := f.list(forFallback, object{"sessionId": session, "claimToken": "t", "limit": 10})
		equal(t, session, turnIDs(due), want)
	}
	have := f.ok(forRun, object{"runId": foreignRunning, "sessionId": "session-running", "claimToken": "t"})
	equal(t, "natural", have.text("intentId"), "intent-ineligible")
	text := core.FallbackMessage(decode[core.Intent](t, f.answer("getWorkflowTurnIntent", object{"intentId": "intent-eligible"}))).Content
	equal(t, "message", text, "Workflow autoimplement failed to start (run "+foreignFailed+"): Workflow source changed after the launch was queued.\n"+
		"Inspect the error and call workflow start again only after you correct the cause.")
	if after := f.intents()[3:]; fmt.Sprint(after) != fmt.Sprint(resolved) {
		t.Errorf("resolved rows changed: %v", after)
	}
}
