package sqlite

import (
	"errors"
	"testing"

	"github.com/pi-workflows/wfcore/db"
)

// costedTurns runs each query of turns and reports on rows of inhabit.
var costedTurns = map[string]func(q *db.Queries) error{
	"IntentCreate": one((*db.Queries).IntentCreate, db.IntentCreateParams{
		IntentID: "i-new", SourceEventID: "e", RunID: "queued", WorkflowRef: "w", TargetSessionID: "s-queued", Cause: "failed",
		FallbackFactsJSON: "{}", Now: nowText, EligibleAt: pointer(nowText)}),
	"IntentMakeEligible": one((*db.Queries).IntentMakeEligible, db.IntentMakeEligibleParams{
		Now: nowText, FallbackFactsJSON: "{}", IntentID: "i-running"}),
	"IntentUpdateFacts": one((*db.Queries).IntentUpdateFacts, db.IntentUpdateFactsParams{
		FallbackFactsJSON: "{}", IntentID: "i-running"}),
	"IntentClaimForRun": one((*db.Queries).IntentClaimForRun, db.IntentClaimForRunParams{
		ClaimToken: "u", ClaimExpiresAt: nowMS + 1, RunID: "running", SessionID: "s-running", NowMS: nowMS}),
	"IntentClaimEligible": many((*db.Queries).IntentClaimEligible, db.IntentClaimEligibleParams{
		ClaimToken: "u", ClaimExpiresAt: nowMS + 1, SessionID: "s-parked", NowMS: nowMS, Limit: 100}),
	"IntentRenewClaim": one((*db.Queries).IntentRenewClaim, db.IntentRenewClaimParams{
		ClaimExpiresAt: nowMS + 1, IntentID: "i-orphan", ClaimToken: "d-orphan", NowMS: nowMS}),
	"IntentReleaseClaim": one((*db.Queries).IntentReleaseClaim, db.IntentReleaseClaimParams{
		IntentID: "i-orphan", ClaimToken: "d-orphan", NowMS: nowMS}),
	"IntentResolve": one((*db.Queries).IntentResolve, db.IntentResolveParams{
		Now: nowText, Resolution: "fallback", ResolutionMessageID: "m", IntentID: "i-orphan", ClaimToken: "d-orphan", NowMS: nowMS}),
	"IntentGet":         one((*db.Queries).IntentGet, db.IntentGetParams{IntentID: "i-old-8"}),
	"IntentFindPending": one((*db.Queries).IntentFindPending, db.IntentFindPendingParams{RunID: "running", SessionID: "s-running"}),
	"IntentFindClaimed": many((*db.Queries).IntentFindClaimed, db.IntentFindClaimedParams{
		SessionID: "s-orphan", ClaimToken: "d-orphan", NowMS: nowMS, Limit: 100}),
	"IntentListUnsettled": func(q *db.Queries) error {
		return errors.Join(
			many((*db.Queries).IntentListUnsettled, db.IntentListUnsettledParams{Limit: 100})(q),
			many((*db.Queries).IntentListUnsettled, db.IntentListUnsettledParams{SessionID: "s-ended", Limit: 100})(q))
	},
	"IntentList": many((*db.Queries).IntentList, db.IntentListParams{Limit: 50}),

	"NotificationEnqueue": one((*db.Queries).NotificationEnqueue, db.NotificationEnqueueParams{
		NotificationID: "n-new", RunID: "running", NodeID: "n", AttemptID: "1", NotificationIndex: 1_000_000, TargetSessionID: "s-running",
		Kind: "progress", Content: "c", Now: nowText}),
	"NotificationClaimPending": many((*db.Queries).NotificationClaimPending, db.NotificationClaimPendingParams{
		ClaimToken: "u", ClaimExpiresAt: nowMS + 1, SessionID: "s-running", NowMS: nowMS, Limit: 100}),
	"NotificationMarkDelivered": one((*db.Queries).NotificationMarkDelivered, db.NotificationMarkDeliveredParams{
		Now: nowText, NotificationID: "n-orphan", ClaimToken: "d-orphan", NowMS: nowMS}),
	"NotificationGet":  one((*db.Queries).NotificationGet, db.NotificationGetParams{NotificationID: "n-old-7"}),
	"NotificationFind": one((*db.Queries).NotificationFind, db.NotificationFindParams{RunID: "running", NodeID: "n", NotificationIndex: 500_000}),
	"NotificationFindClaimed": many((*db.Queries).NotificationFindClaimed, db.NotificationFindClaimedParams{
		SessionID: "s-orphan", ClaimToken: "d-orphan", NowMS: nowMS, Limit: 100}),
	"NotificationListOfRun": many((*db.Queries).NotificationListOfRun, db.NotificationListOfRunParams{RunID: "lapsed", Limit: 100}),
}

// oweTurns makes the turns and reports that the queries ask for: one a run, of its
// session. That of `orphan` is being delivered, that of `parked` is eligible, and
// that of `ended` was left when its run failed.
func oweTurns(t testing.TB, s *Store) {
	t.Helper()
	execute(t, s.conn, `
		INSERT INTO workflow_turn_intents (intent_id, source_event_id, run_id, workflow_ref, target_session_id, cause,
			fallback_facts_json, requested_at, eligible_at, delivery_claim_token, delivery_claim_expires_at)
		SELECT 'i-' || column1, 'e-' || column1, column1, 'w', 's-' || column1, 'failed', '{}', ?1,
			CASE WHEN column2 THEN ?1 END, column3, column4
		FROM (VALUES
			('running', 0, NULL, NULL),
			('lapsed', 0, NULL, NULL),
			('parked', 1, NULL, NULL),
			('orphan', 1, 'd-orphan', ?2 + 1000),
			('ended', 0, NULL, NULL))`, nowText, nowMS)
	execute(t, s.conn, `
		INSERT INTO workflow_notifications (notification_id, run_id, node_id, attempt_id, notification_index, target_session_id, kind,
			content, created_at, delivery_claim_token, delivery_claim_expires_at)
		SELECT 'n-' || column1, column1, 'n', '1', 500000, 's-' || column1, 'progress', 'c', ?1, column2, column3
		FROM (VALUES
			('running', NULL, NULL),
			('lapsed', NULL, NULL),
			('orphan', 'd-orphan', ?2 + 1000))`, nowText, nowMS)
}

// addOldTurns resolves a turn and delivers a report of each old run. A third of them
// belongs to the sessions asked, half of those to the runs asked, too.
func addOldTurns(t testing.TB, s *Store, from, to int) {
	t.Helper()
	execute(t, s.conn, `
		WITH RECURSIVE n(i) AS (SELECT ?2 UNION ALL SELECT i + 1 FROM n WHERE i < ?3),
			old(i, name) AS (SELECT i, CASE i / 3 % 4 WHEN 0 THEN 'running' WHEN 1 THEN 'parked' WHEN 2 THEN 'orphan' ELSE 'ended' END FROM n)
		INSERT INTO workflow_turn_intents (intent_id, source_event_id, run_id, workflow_ref, target_session_id, cause,
			fallback_facts_json, requested_at, eligible_at, resolved_at, resolution, resolution_message_id)
		SELECT 'i-old-' || i, 'e-old-' || i, CASE WHEN i % 6 = 0 THEN name ELSE 'old-' || i END, 'w',
			CASE WHEN i % 3 = 0 THEN 's-' || name ELSE 's-old-' || i % 1000 END, 'failed', '{}', ?1,
			CASE WHEN i % 2 THEN ?1 END, ?1, 'fallback', 'm-' || i
		FROM old`, nowText, from, to)
	execute(t, s.conn, `
		WITH RECURSIVE n(i) AS (SELECT ?2 UNION ALL SELECT i + 1 FROM n WHERE i < ?3),
			old(i, name) AS (SELECT i, CASE i / 3 % 2 WHEN 0 THEN 'running' ELSE 'orphan' END FROM n)
		INSERT INTO workflow_notifications (notification_id, run_id, node_id, attempt_id, notification_index, target_session_id, kind,
			content, created_at, delivered_at)
		SELECT 'n-old-' || i, CASE WHEN i % 6 = 0 THEN name ELSE 'old-' || i END, 'n', '1', i,
			CASE WHEN i % 3 = 0 THEN 's-' || name ELSE 's-old-' || i % 1000 END, 'progress', 'c', ?1, ?1
		FROM old`, nowText, from, to)
}

// TestCostDoesNotGrowWithWhatOthersLeave: a session that never comes back leaves its
// turns and reports pending for ever.
func TestCostDoesNotGrowWithWhatOthersLeave(t *testing.T) {
	much := populated(t, 100)
	leaveTurns(t, much, manyRows/10)
	compareCosts(t, populated(t, 100), much, map[string]string{
		"IntentListUnsettled": "it walks what is pending: v1 has no index by session of turns that are not eligible",
	})
}

// leaveTurns leaves turns and reports to sessions that are gone: half of the turns are
// eligible, and those of a run that its user cancelled never will be.
func leaveTurns(t testing.TB, s *Store, count int) {
	t.Helper()
	execute(t, s.conn, `
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
		INSERT INTO workflow_turn_intents (intent_id, source_event_id, run_id, workflow_ref, target_session_id, cause,
			fallback_facts_json, requested_at, eligible_at)
		SELECT 'i-gone-' || i, 'e-gone-' || i, 'old-3', 'w', 's-gone-' || i, 'failed', '{}', ?1, CASE WHEN i % 2 THEN ?1 END
		FROM n`, nowText, count)
	execute(t, s.conn, `
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
		INSERT INTO workflow_notifications (notification_id, run_id, node_id, attempt_id, notification_index, target_session_id, kind,
			content, created_at)
		SELECT 'n-gone-' || i, 'gone', 'n', '1', i, 's-gone-' || i % 1000, 'progress', 'c', ?1
		FROM n`, nowText, count)
}
