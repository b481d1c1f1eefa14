package sqlite

import (
	"strings"
	"testing"
)

// TestPlans: a partial index serves a query only while the query repeats its
// predicate word for word.
func TestPlans(t *testing.T) {
	for name, wants := range map[string][]string{
		"RunFindReservation":          {"SEARCH workflow_run_queue USING INDEX workflow_run_queue_session_reservation (origin_session_id=?)"},
		"RunListRecoverableOfSession": {"SEARCH workflow_run_queue USING INDEX workflow_run_queue_session_reservation (origin_session_id=?)"},
		"RunListRecoverableOwnerless": {"SEARCH workflow_run_queue USING INDEX workflow_run_queue_claimable (status=?"},
		"RunFindContinuation":         {"SEARCH workflow_run_queue USING INDEX workflow_run_queue_parent (parent_run_id=?)"},
		"RunPickOwnerless":            {"SEARCH q USING INDEX workflow_run_queue_claimable (status=?"},
		"RunFindClaimed":              {"SEARCH workflow_run_queue USING INDEX workflow_run_queue_claimable (status=?)"},
		"RunResumeParked": {
			"SEARCH workflow_run_queue USING INDEX sqlite_autoindex_workflow_run_queue_1 (run_id=?)",
			"SEARCH held USING INDEX workflow_run_queue_session_reservation (origin_session_id=?)",
		},
		"RunRequeueExpired": {"SEARCH start USING INDEX run_events_run (run_id=?)"},
		"RunEventListOfRun": {"SEARCH run_events USING INDEX run_events_run (run_id=?"},
		"RunEventList":      {"SEARCH run_events USING INTEGER PRIMARY KEY (rowid>?)"},
		"IntentClaimForRun": {"SEARCH workflow_turn_intents USING INDEX workflow_turn_intents_one_pending_run (run_id=? AND target_session_id=?)"},
		"IntentFindPending": {"SEARCH workflow_turn_intents USING INDEX workflow_turn_intents_one_pending_run (run_id=? AND target_session_id=?)"},
		"IntentFindClaimed": {"SEARCH workflow_turn_intents USING INDEX workflow_turn_intents_eligible_session (target_session_id=? AND eligible_at>?)"},
		"IntentClaimEligible": {
			"SEARCH workflow_turn_intents USING INDEX sqlite_autoindex_workflow_turn_intents_1 (intent_id=?)",
			"SEARCH due USING INDEX workflow_turn_intents_eligible_session (target_session_id=? AND eligible_at>?)",
		},
		"IntentListUnsettled": {
			"SCAN i USING INDEX workflow_turn_intents_", // those that are pending
			"SEARCH r USING INDEX sqlite_autoindex_workflow_run_queue_1 (run_id=?)",
			"SEARCH act USING INDEX run_events_run (run_id=?)",
			"SEARCH due USING INDEX run_events_run (run_id=?)",
		},
		"IntentList": {"SEARCH i USING INTEGER PRIMARY KEY (rowid>?)"},
		"NotificationClaimPending": {
			"SEARCH workflow_notifications USING INDEX sqlite_autoindex_workflow_notifications_1 (notification_id=?)",
			"SEARCH due USING INDEX workflow_notifications_pending (target_session_id=?",
		},
		"NotificationFindClaimed": {"SEARCH workflow_notifications USING INDEX workflow_notifications_pending (target_session_id=?"},
		"NotificationFind":        {"SEARCH workflow_notifications USING INDEX sqlite_autoindex_workflow_notifications_2 (run_id=? AND node_id=? AND notification_index=?)"},
		"NotificationListOfRun":   {"SEARCH workflow_notifications USING INDEX sqlite_autoindex_workflow_notifications_2 (run_id=?)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := populated(t, 100)
			plan := planOf(t, s, costs(t, s)[name].query)
			for _, want := range wants {
				if !strings.Contains(plan, want) {
					t.Errorf("want %s\nin %s", want, plan)
				}
			}
			for line := range strings.Lines(plan) {
				// What is chosen within a query, and a partial index, are short.
				short := line == "SCAN oldest\n" || strings.Contains(line, "USING INDEX workflow_turn_intents_")
				if strings.HasPrefix(line, "SCAN ") && !short {
					t.Errorf("a table is scanned: %s", plan)
				}
			}
		})
	}
}

func planOf(t *testing.T, s *Store, query string) (plan string) {
	t.Helper()
	rows, err := s.conn.QueryContext(ctx, "EXPLAIN QUERY PLAN "+query)
	try(t, err)
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		try(t, rows.Scan(&id, &parent, &unused, &detail))
		plan += detail + "\n"
	}
	try(t, rows.Err())
	return plan
}
