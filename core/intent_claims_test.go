package core_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/db"
)

// time1 is some time later, within a lease.
const time1 = 7 * time.Second

// millis is a time after the epoch as an expiry is stored and read back.
func millis(after time.Duration) float64 { return float64(epoch.Add(after).UnixMilli()) }

const (
	forRun      = "claimWorkflowTurnIntentForRun"
	forFallback = "claimEligibleWorkflowTurnIntentsForSession"
	resolveOp   = "resolveWorkflowTurnIntent"
)

// claimedTurn is a store with an eligible intent that "tok" has claimed.
func claimedTurn(t *testing.T) (*fixture, string) {
	t.Helper()
	f := open(t)
	id := f.owe(object{"eligible": true})
	f.ok(forRun, claimFor("run", "tok"))
	return f, id
}

func TestClaimForARunTakesAnother(t *testing.T) {
	for _, eligible := range []bool{false, true} {
		f := open(t)
		f.owe(object{"runId": "run2"})
		f.owe(object{"targetSessionId": "other"})
		id := f.owe(object{"eligible": eligible})
		others := f.intents()[:2]
		have := f.ok(forRun, claimFor("run", "tok"))
		f.wants("answer", have, object{"intentId": id, "claimToken": "tok", "deliveryClaimExpiresAt": stamp(lease), "resolvedAt": nil, "runId": "run"})
		f.wants("row", f.intent(id), object{"delivery_claim_token": "tok", "delivery_claim_expires_at": millis(lease), "resolved_at": nil})
		if after := f.intents()[:2]; fmt.Sprint(after) != fmt.Sprint(others) {
			t.Errorf("a claim changed %v", after)
		}
		for _, request := range []object{claimFor("none", "t"), claimFor("run", "t").with(object{"sessionId": "nobody"})} {
			equal(t, "nothing is owed", string(f.answer(forRun, request)), "null")
		}
	}
}

func TestClaimWithoutATokenHasNone(t *testing.T) {
	f := open(t)
	id := f.owe(object{"eligible": true})
	have := f.ok(forRun, object{"runId": "run", "sessionId": "own"})
	f.wants("made", have, object{"claimToken": madeToken, "deliveryClaimExpiresAt": stamp(30 * time.Second)})
	f.fails(forRun, object{"runId": "run", "sessionId": "own"}, core.CodeClaimLive)
	f.ok("releaseWorkflowTurnIntentClaim", holdTurn(id, madeToken))
	due := f.list(forFallback, object{"sessionId": "own", "limit": 1})
	f.wants("made", due[0], object{"claimToken": madeToken, "deliveryClaimExpiresAt": stamp(30 * time.Second)})
	equal(t, "nobody repeats it", turnIDs(f.list(forFallback, object{"sessionId": "own", "limit": 1})), "")
}

func TestClaimOfATurnIsNotRepeatedSafely(t *testing.T) {
	f, id := claimedTurn(t)
	f.at(time1)
	before := f.dump()
	have := f.ok(forRun, claimFor("run", "tok"))
	f.wants("again", have, object{"intentId": id, "claimToken": "tok", "deliveryClaimExpiresAt": stamp(lease)})
	due := f.list(forFallback, claimDue("tok", 5))
	equal(t, "as a fallback", turnIDs(due), id)
	f.wants("as a fallback", due[0], object{"claimToken": "tok", "deliveryClaimExpiresAt": stamp(lease)})
	if after := f.dump(); !slices.Equal(before, after) {
		t.Errorf("a repeat changed:\n%s", changes(before, after))
	}
}

func TestLiveClaimIsTakenByAnother(t *testing.T) {
	f, id := claimedTurn(t)
	f.at(lease - time.Millisecond)
	for _, token := range []string{"other", "TOK", "tok "} {
		err := f.fails(forRun, claimFor("run", token), core.CodeClaimLive)
		f.wants("details", object(err.Details), object{"intentId": id, "runId": "run", "claimExpiresAt": stamp(lease)})
		if !err.Retryable {
			t.Error("a live claim ends some time, so it can be tried again")
		}
		before := f.dump()
		equal(t, "fallback", turnIDs(f.list(forFallback, claimDue(token, 5))), "")
		if !slices.Equal(before, f.dump()) {
			t.Error("a fallback that got nothing changed the store")
		}
	}
}

func TestExpiredClaimIsNotAcquired(t *testing.T) {
	for _, after := range []time.Duration{lease, lease + time.Second} {
		for _, token := range []string{"tok", "other"} {
			f, id := claimedTurn(t)
			f.at(after)
			f.wants("natural", f.ok(forRun, claimFor("run", token)), object{"intentId": id, "claimToken": token, "deliveryClaimExpiresAt": stamp(after + lease)})
			f, id = claimedTurn(t)
			f.at(after)
			due := f.list(forFallback, claimDue(token, 5))
			equal(t, "fallback", turnIDs(due), id)
			f.wants("fallback", due[0], object{"claimToken": token, "deliveryClaimExpiresAt": stamp(after + lease)})
			f.wants("row", f.intent(id), object{"delivery_claim_token": token})
		}
	}
}

// Case 8. At exactly expiry and one second later, every token op is refused, though
// nobody else has claimed. Red without `delivery_claim_expires_at > @now_ms`, or with
// `>=`, in IntentRenewClaim, IntentReleaseClaim or IntentResolve.
func TestIntentCase08LateByAMillisecond(t *testing.T) {
	for op, fields := range turnTokenOps {
		f, id := claimedTurn(t)
		for _, after := range []time.Duration{lease, lease + time.Second} {
			f.at(after)
			err := f.fails(op, holdTurn(id, "tok").with(fields), core.CodeClaimLost)
			f.wants(op, object(err.Details), object{"intentId": id, "claimExpiresAt": stamp(lease)})
		}
		f.at(lease - time.Millisecond)
		f.ok(op, holdTurn(id, "tok").with(fields))
	}
}

// Case 7. A runner claims, its lease lapses, the same runner claims again; its first
// token can do nothing, and the second is not affected. Red without
// `delivery_claim_token = @claim_token` in IntentRenewClaim, IntentReleaseClaim or
// IntentResolve, and where repeating a claim would not look at the token.
func TestIntentCase07StaleWorkerSameName(t *testing.T) {
	f, id := claimedTurn(t)
	f.at(lease)
	f.ok(forRun, claimFor("run", "tok2"))
	for op, fields := range turnTokenOps {
		f.fails(op, holdTurn(id, "tok").with(fields), core.CodeClaimLost)
	}
	f.fails(forRun, claimFor("run", "tok"), core.CodeClaimLive)
	equal(t, "fallback", turnIDs(f.list(forFallback, claimDue("tok", 5))), "")
	f.wants("tok2", f.intent(id), object{"delivery_claim_token": "tok2", "delivery_claim_expires_at": millis(2 * lease)})
	f.ok("renewWorkflowTurnIntentClaim", holdTurn(id, "tok2"))
	f.ok(resolveOp, resolveTurn(id, "tok2", "fallback"))
}

// An op of a holder moves the named intent alone.
func TestOpOfAHolderMovesAnother(t *testing.T) {
	for op, fields := range turnTokenOps {
		f := open(t)
		for _, run := range []string{"a", "b", "c"} {
			f.oweOf(run, "own", true)
			f.ok(forRun, claimFor(run, "tok"))
		}
		before := f.intents()
		f.at(time1)
		f.ok(op, holdTurn("i-b", "tok").with(fields))
		after := f.intents()
		for _, i := range []int{0, 2} {
			if fmt.Sprint(before[i]) != fmt.Sprint(after[i]) {
				t.Errorf("%s changed %v", op, after[i])
			}
		}
		if fmt.Sprint(before[1]) == fmt.Sprint(after[1]) {
			t.Errorf("%s did nothing", op)
		}
	}
}

func TestRenewalShortensADelivery(t *testing.T) {
	f, id := claimedTurn(t)
	before := f.intent(id)
	renew := func(ms int) object {
		return f.ok("renewWorkflowTurnIntentClaim", holdTurn(id, "tok").with(object{"leaseMs": ms}))
	}
	f.wants("a short lease", renew(1), object{"deliveryClaimExpiresAt": stamp(lease)})
	f.at(time1)
	f.wants("an equal lease", renew(int((lease - time1).Milliseconds())), object{"deliveryClaimExpiresAt": stamp(lease)})
	have := renew(leaseMS)
	f.wants("a longer lease", have, object{"deliveryClaimExpiresAt": stamp(time1 + lease)})
	if _, told := have["claimToken"]; told {
		t.Error("a renewal tells the token")
	}
	have = f.ok("renewWorkflowTurnIntentClaim", holdTurn(id, "tok"))
	f.wants("the default", have, object{"deliveryClaimExpiresAt": stamp(time1 + 30*time.Second)})
	f.wants("all else stands", f.intent(id), before.with(object{"delivery_claim_expires_at": millis(time1 + lease)}))
	f.at(-time.Hour) // a clock set back
	f.wants("an earlier clock", renew(1), object{"deliveryClaimExpiresAt": stamp(time1 + lease)})
	for _, ms := range []any{0, -1, 3_600_001, "1"} {
		f.refusesFact("renewWorkflowTurnIntentClaim", holdTurn(id, "tok").with(object{"leaseMs": ms}), "leaseMs")
	}
}

// A release gives the claim back at once, and changes nothing else.
func TestReleasedDeliveryIsHeld(t *testing.T) {
	f, id := claimedTurn(t)
	before := f.intent(id)
	f.wants("released", f.ok("releaseWorkflowTurnIntentClaim", holdTurn(id, "tok")), object{"intentId": id, "deliveryClaimExpiresAt": nil, "eligibleAt": stamp(0)})
	f.wants("row", f.intent(id), before.with(object{"delivery_claim_token": nil, "delivery_claim_expires_at": nil}))
	for op, fields := range turnTokenOps {
		f.fails(op, holdTurn(id, "tok").with(fields), core.CodeClaimLost)
	}
	equal(t, "next", turnIDs(f.list(forFallback, claimDue("next", 1))), id)
}

func TestResolutionIsNotWhole(t *testing.T) {
	for _, resolution := range []string{"workflowPrompt", "presentation", "fallback"} {
		f, id := claimedTurn(t)
		before := f.intent(id)
		f.at(time1)
		messageID := turnID("turn-message:", id, resolution)
		f.wants("answer", f.ok(resolveOp, resolveTurn(id, "tok", resolution)), object{
			"intentId": id, "resolvedAt": stamp(time1), "resolution": resolution, "resolutionMessageId": messageID, "deliveryClaimExpiresAt": nil,
		})
		f.wants("row", f.intent(id), before.with(object{
			"resolved_at": stamp(time1), "resolution": resolution, "resolution_message_id": messageID,
			"delivery_claim_token": nil, "delivery_claim_expires_at": nil,
		}))
	}
	f, id := claimedTurn(t)
	for _, resolution := range []any{"Fallback", "", "prompt", 1, nil} {
		f.refusesFact(resolveOp, resolveTurn(id, "tok", "").with(object{"resolution": resolution}), "resolution")
	}
}

// resolvedTurn is a store with an intent that was resolved under "tok", on a path.
func resolvedTurn(t *testing.T, resolution string) (*fixture, string) {
	f, id := claimedTurn(t)
	f.ok(resolveOp, resolveTurn(id, "tok", resolution))
	return f, id
}

// No op changes a resolved row, whatever token and path; each says what won.
func TestResolvedIntentChanges(t *testing.T) {
	for _, won := range []string{"workflowPrompt", "presentation", "fallback"} {
		f, id := resolvedTurn(t, won)
		f.at(time1)
		for _, token := range []string{"tok", "other"} {
			for op, fields := range turnTokenOps {
				for _, resolution := range []string{"workflowPrompt", "presentation", "fallback"} {
					request := holdTurn(id, token).with(fields)
					if op == resolveOp {
						request["resolution"] = resolution
					}
					err := f.fails(op, request, core.CodeIntentResolved)
					f.wants(op, object(err.Details), object{
						"intentId": id, "resolution": won, "resolutionMessageId": turnID("turn-message:", id, won), "resolvedAt": stamp(0),
					})
				}
			}
			before := f.dump()
			equal(t, "natural", string(f.answer(forRun, claimFor("run", token))), "null")
			equal(t, "fallback", string(f.answer(forFallback, claimDue(token, 5))), "[]")
			f.list("sweepTurnIntents", object{"limit": 100})
			f.ok(ensure, owed(nil))
			if !slices.Equal(before, f.dump()) {
				t.Errorf("a resolved row changed:\n%s", changes(before, f.dump()))
			}
		}
		f.fails(eligibly, object{"intentId": id}, core.CodeIntentResolved)
	}
}

// Nor does the row that another host resolved, whatever it left in the claim.
func TestIntentResolvedByAnotherHostChanges(t *testing.T) {
	f := open(t)
	f.plantTurn(object{
		"eligible_at": stamp(0), "resolved_at": stamp(0), "resolution": "presentation", "resolution_message_id": "theirs",
		"delivery_claim_token": "tok", "delivery_claim_expires_at": epoch.Add(lease).UnixMilli(),
	})
	before := f.dump()
	for op, fields := range turnTokenOps {
		err := f.fails(op, holdTurn("intent", "tok").with(fields), core.CodeIntentResolved)
		f.wants(op, object(err.Details), object{"resolution": "presentation", "resolutionMessageId": "theirs"})
	}
	f.fails(eligibly, object{"intentId": "intent"}, core.CodeIntentResolved)
	for _, token := range []string{"tok", "other"} {
		equal(t, "natural", string(f.answer(forRun, claimFor("run", token))), "null")
		equal(t, "fallback", f.due(token, 5), "")
	}
	_, err := db.New(f.conn).IntentUpdateFacts(t.Context(), db.IntentUpdateFactsParams{IntentID: "intent", FallbackFactsJSON: "{}"})
	if !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("the statement took a resolved row: %v", err)
	}
	if !slices.Equal(before, f.dump()) {
		t.Errorf("it changed:\n%s", changes(before, f.dump()))
	}
}

// What a natural message holds is no fallback's, though the token is the same.
func TestFallbackGetsWhatAPromptHolds(t *testing.T) {
	f := open(t)
	f.oweOf("early", "own", false)
	f.ok(forRun, claimFor("early", "tok"))
	equal(t, "fallback", f.due("tok", 5), "")
	f.oweOf("due", "own", true)
	equal(t, "fallback", f.due("tok", 5), "i-due")
	f.oweOf("other", "other", true)
	equal(t, "another session's", turnIDs(f.list(forFallback, claimDue("tok", 5).with(object{"sessionId": "other"}))), "i-other")
	equal(t, "again", f.due("tok", 5), "i-due")
}

// Natural and fallback cannot both resolve: a claim shuts the other path out.
func TestTwoPathsResolveOneIntent(t *testing.T) {
	f, id := claimedTurn(t) // by a prompt
	equal(t, "a fallback beside the prompt", turnIDs(f.list(forFallback, claimDue("fall", 5))), "")
	f.fails(resolveOp, resolveTurn(id, "fall", "fallback"), core.CodeClaimLost)
	f.at(lease)
	f.list(forFallback, claimDue("fall", 5))
	f.fails(forRun, claimFor("run", "tok"), core.CodeClaimLive)
	f.fails(resolveOp, resolveTurn(id, "tok", "workflowPrompt"), core.CodeClaimLost)
	f.ok(resolveOp, resolveTurn(id, "fall", "fallback"))
	f.fails(resolveOp, resolveTurn(id, "tok", "workflowPrompt"), core.CodeIntentResolved)
	equal(t, "the prompt goes as it is", string(f.answer(forRun, claimFor("run", "tok"))), "null")
}
