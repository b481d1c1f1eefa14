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
	} {
		t.Run(name, func(t *testing.T) {
			s := populated(t, 100)
			plan := planOf(t, s, costs(t, s)[name].query)
			for _, want := range wants {
				if !strings.Contains(plan, want) {
					t.Errorf("want %s\nin %s", want, plan)
				}
			}
			if strings.Contains(plan, "SCAN workflow_run_queue") || strings.Contains(plan, "SCAN run_events") {
				t.Errorf("a table is scanned: %s", plan)
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
