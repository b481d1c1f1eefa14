package sqlite

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/pi-workflows/wfcore/db"
)

const (
	nowText = "2026-08-21T08:17:31.000Z"
	nowMS   = 1_000_000
)

// costedRuns runs each query of the launch queue on rows of inhabit, and must find some.
var costedRuns = map[string]func(q *db.Queries) error{
	"RunReserve": one((*db.Queries).RunReserve, db.RunReserveParams{
		RunID: "new", WorkflowRef: "w", WorkflowPath: "p", WorkflowSourceJSON: "{}", DefinitionDigest: "d", InputJSON: "1",
		LaunchOptionsJSON: "{}", OriginSessionID: pointer("s-none"), ParentRunID: pointer("old-6"), Now: nowText,
	}),
	"RunClaimQueued": one((*db.Queries).RunClaimQueued, db.RunClaimQueuedParams{
		RunnerID: "r", ClaimToken: "u", ClaimExpiresAt: nowMS + 1, Now: nowText, RunID: "queued", SessionID: "s-queued"}),
	"RunResumeParked": one((*db.Queries).RunResumeParked, db.RunResumeParkedParams{
		RunnerID: "r", ClaimToken: "u", ClaimExpiresAt: nowMS + 1, Now: nowText, RunID: "parked", SessionID: "s-parked"}),
	"RunMarkRunning": one((*db.Queries).RunMarkRunning, db.RunMarkRunningParams{
		Now: nowText, RunID: "starting", ClaimToken: "t-starting", NowMS: nowMS, DefinitionDigest: "d"}),
	"RunMarkRunningExpired": one((*db.Queries).RunMarkRunningExpired, db.RunMarkRunningExpiredParams{
		ClaimToken: "u", ClaimExpiresAt: nowMS + 1, Now: nowText, RunID: "lapsed", SessionID: "s-lapsed", ExpectedClaimToken: "t-lapsed", NowMS: nowMS}),
	"RunRequeueExpired": one((*db.Queries).RunRequeueExpired, db.RunRequeueExpiredParams{
		Now: nowText, RunID: "lapsed", SessionID: "s-lapsed", ExpectedClaimToken: "t-lapsed", NowMS: nowMS}),
	"RunFailStarting": one((*db.Queries).RunFailStarting, db.RunFailStartingParams{
		ErrorCode: "c", ErrorMessage: "m", Now: nowText, RunID: "starting", ClaimToken: "t-starting", NowMS: nowMS}),
	"RunFailStartingExpired": one((*db.Queries).RunFailStartingExpired, db.RunFailStartingExpiredParams{
		ErrorCode: "c", ErrorMessage: "m", Now: nowText, RunID: "lapsed", SessionID: "s-lapsed", ExpectedClaimToken: "t-lapsed", NowMS: nowMS}),
	"RunFailStartingUnreplaced": one((*db.Queries).RunFailStartingUnreplaced, db.RunFailStartingUnreplacedParams{
		ErrorCode: "c", ErrorMessage: "m", Now: nowText, RunID: "lapsed", SessionID: "s-lapsed", ExpectedClaimToken: "t-lapsed"}),
	"RunPark": one((*db.Queries).RunPark, db.RunParkParams{
		Now: nowText, RunID: "running", ClaimToken: "t-running", NowMS: nowMS}),
	"RunFinishDone": one((*db.Queries).RunFinishDone, db.RunFinishDoneParams{
		Now: nowText, RunID: "running", ClaimToken: "t-running", NowMS: nowMS}),
	"RunFinishFailed": one((*db.Queries).RunFinishFailed, db.RunFinishFailedParams{
		ErrorCode: "c", ErrorMessage: "m", Now: nowText, RunID: "running", ClaimToken: "t-running", NowMS: nowMS}),
	"RunCancel": one((*db.Queries).RunCancel, db.RunCancelParams{
		Now: nowText, RunID: "queued", SessionID: "s-queued", NowMS: nowMS}),
	"RunRenewClaim": one((*db.Queries).RunRenewClaim, db.RunRenewClaimParams{
		ClaimExpiresAt: nowMS + 1, Now: nowText, RunID: "running", ClaimToken: "t-running", NowMS: nowMS}),
	"RunReleaseClaim": one((*db.Queries).RunReleaseClaim, db.RunReleaseClaimParams{
		NowMS: nowMS, Now: nowText, RunID: "running", ClaimToken: "t-running"}),
	"RunTakeOverExpired": one((*db.Queries).RunTakeOverExpired, db.RunTakeOverExpiredParams{
		RunnerID: "r", ClaimToken: "u", ClaimExpiresAt: nowMS + 1, Now: nowText, RunID: "orphan", SessionID: "s-orphan", NowMS: nowMS}),
	"RunVerifyClaim": one((*db.Queries).RunVerifyClaim, db.RunVerifyClaimParams{
		RunID: "running", ClaimToken: "t-running", NowMS: nowMS}),
	"RunGet":                      one((*db.Queries).RunGet, db.RunGetParams{RunID: "old-7"}),
	"RunFindReservation":          one((*db.Queries).RunFindReservation, db.RunFindReservationParams{SessionID: "s-running"}),
	"RunFindContinuation":         one((*db.Queries).RunFindContinuation, db.RunFindContinuationParams{ParentRunID: "old-3"}),
	"RunFindClaimed":              one((*db.Queries).RunFindClaimed, db.RunFindClaimedParams{NowMS: nowMS, ClaimToken: "t-starting", SessionID: "s-starting"}),
	"RunPickOwnerless":            one((*db.Queries).RunPickOwnerless, db.RunPickOwnerlessParams{RunnerID: "r"}),
	"RunListRecoverableOfSession": many((*db.Queries).RunListRecoverableOfSession, db.RunListRecoverableOfSessionParams{SessionID: "s-lapsed", NowMS: nowMS, Limit: 100}),
	"RunListRecoverableOwnerless": many((*db.Queries).RunListRecoverableOwnerless, db.RunListRecoverableOwnerlessParams{NowMS: nowMS, Limit: 100}),
	"RunList":                     many((*db.Queries).RunList, db.RunListParams{Limit: 100}),
	"RunEventAppend": one((*db.Queries).RunEventAppend, db.RunEventAppendParams{
		RecordedAt: nowText, RunID: "running", WorkflowRef: "w", Type: "claim_lost", PayloadJSON: "{}"}),
	"RunEventListOfRun":     many((*db.Queries).RunEventListOfRun, db.RunEventListOfRunParams{RunID: "lapsed", Limit: 100}),
	"RunEventList":          many((*db.Queries).RunEventList, db.RunEventListParams{AfterSeq: 10, Limit: 50}),
	"RunEventEnds":          one((*db.Queries).RunEventEnds, db.RunEventEndsParams{RunID: "lapsed"}),
	"RunEventLaunchHistory": one((*db.Queries).RunEventLaunchHistory, db.RunEventLaunchHistoryParams{RunID: "lapsed"}),
}

// uncosted are the queries whose cost may grow, and why.
var uncosted = map[string]string{
	"RunNewestParkedOfSession": "v1 has no index by session that holds parked runs; a status is asked for by a person, not by a loop",
	"RunLastFinishedOfSession": "v1 has no index by session that holds finished runs; a status is asked for by a person, not by a loop",
}

// costed are all queries whose cost may not grow.
var costed = func() map[string]func(q *db.Queries) error {
	all := maps.Clone(costedRuns)
	maps.Copy(all, costedTurns)
	return all
}()

func pointer(text string) *string { return &text }

func one[P, R any](query func(*db.Queries, context.Context, P) (R, error), params P) func(*db.Queries) error {
	return func(q *db.Queries) error {
		_, err := query(q, ctx, params)
		return err
	}
}

func many[P, R any](query func(*db.Queries, context.Context, P) ([]R, error), params P) func(*db.Queries) error {
	return func(q *db.Queries) error {
		found, err := query(q, ctx, params)
		if err == nil && len(found) == 0 {
			return os.ErrNotExist
		}
		return err
	}
}

// inhabit makes the runs that the queries ask for, among old ones: half were made
// before them and half after. A third of the old ones belongs to the sessions
// asked, a seventh to none.
func inhabit(t testing.TB, s *Store, old int) {
	t.Helper()
	execute(t, s.conn, "BEGIN")
	addOld(t, s, 1, old/2)
	execute(t, s.conn, `
		INSERT INTO workflow_run_queue (run_id, workflow_ref, workflow_path, workflow_source_json, definition_digest, input_json,
			launch_options_json, status, claim_token, claim_expires_at, affinity_runner_id, origin_session_id, created_at, updated_at)
		SELECT column1, 'w', 'p', '{}', 'd', '1', '{}', column2, column3, column4, 'r', column5, ?1, ?1
		FROM (VALUES
			('queued', 'queued', NULL, NULL, 's-queued'),
			('starting', 'starting', 't-starting', ?2 + 1000, 's-starting'),
			('lapsed', 'starting', 't-lapsed', ?2 - 1, 's-lapsed'),
			('running', 'running', 't-running', ?2 + 1000, 's-running'),
			('orphan', 'running', 't-orphan', ?2 - 1, 's-orphan'),
			('parked', 'parked', NULL, NULL, 's-parked'),
			('ended', 'failed', NULL, NULL, 's-ended'),
			('free-1', 'queued', NULL, NULL, NULL),
			('free-2', 'queued', NULL, NULL, NULL),
			('free-3', 'starting', 't-free', ?2 - 1, NULL),
			('free-4', 'running', 't-free', ?2 + 1000, NULL))`, nowText, nowMS)
	execute(t, s.conn, `
		INSERT INTO run_events (recorded_at, run_id, workflow_ref, type, payload_json)
		SELECT ?1, run_id, 'w', type, '{}' FROM workflow_run_queue, (SELECT 'queued' AS type UNION ALL SELECT 'starting')
		WHERE run_id NOT GLOB 'old-*'`, nowText)
	oweTurns(t, s)
	addOld(t, s, old/2+1, old)
	execute(t, s.conn, "COMMIT")
}

func addOld(t testing.TB, s *Store, from, to int) {
	t.Helper()
	execute(t, s.conn, `
		WITH RECURSIVE n(i) AS (SELECT ?2 UNION ALL SELECT i + 1 FROM n WHERE i < ?3)
		INSERT INTO workflow_run_queue (run_id, workflow_ref, workflow_path, workflow_source_json, definition_digest, input_json,
			launch_options_json, status, affinity_runner_id, origin_session_id, parent_run_id, created_at, updated_at, finished_at)
		SELECT 'old-' || i, 'w', 'p', '{}', 'd', 'null', '{}',
			CASE i % 4 WHEN 0 THEN 'parked' WHEN 1 THEN 'done' WHEN 2 THEN 'failed' ELSE 'cancelled' END, 'r',
			CASE WHEN i % 7 = 0 THEN NULL
				WHEN i % 3 = 0 THEN 's-' || CASE i / 3 % 6 WHEN 0 THEN 'queued' WHEN 1 THEN 'starting' WHEN 2 THEN 'lapsed'
					WHEN 3 THEN 'running' WHEN 4 THEN 'orphan' ELSE 'parked' END
				ELSE 's-old-' || i % 1000 END,
			CASE WHEN i % 5 = 0 THEN 'old-' || (i - 2) END, ?1, ?1, CASE WHEN i % 4 THEN ?1 END
		FROM n`, nowText, from, to)
	execute(t, s.conn, `
		WITH RECURSIVE n(i) AS (SELECT ?2 UNION ALL SELECT i + 1 FROM n WHERE i < ?3)
		INSERT INTO run_events (recorded_at, run_id, workflow_ref, type, payload_json)
		SELECT ?1, 'old-' || i, 'w', 'starting', '{"from":"queued"}' FROM n`, nowText, from, to)
	addOldTurns(t, s, from, to)
}

var queryName = regexp.MustCompile(`^-- name: (\w+) :(?:one|many|exec)`)

// measure is how many steps SQLite's virtual machine took for a query, and its text.
type measure struct {
	steps int
	query string
}

func costs(t *testing.T, s *Store) map[string]measure {
	t.Helper()
	measured := map[string]measure{}
	try(t, raw(s.conn, func(c *sqlite3.Conn) error {
		return c.Trace(sqlite3.TRACE_PROFILE, func(_ sqlite3.TraceEvent, stmt, _ any) error {
			query := stmt.(*sqlite3.Stmt).SQL()
			if name := queryName.FindStringSubmatch(query); name != nil {
				steps := stmt.(*sqlite3.Stmt).Status(sqlite3.STMTSTATUS_VM_STEP, true)
				measured[name[1]] = measure{measured[name[1]].steps + steps, query}
			}
			return nil
		})
	}))
	q := db.New(s.conn)
	for name, run := range costed {
		execute(t, s.conn, "BEGIN")
		if err := run(q); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		execute(t, s.conn, "ROLLBACK")
	}
	return measured
}

// TestCostDoesNotGrow with finished and parked runs, nor with the feed of others, nor
// with turns that were resolved, or reports that were delivered.
func TestCostDoesNotGrow(t *testing.T) {
	compareCosts(t, populated(t, 100), populated(t, manyRows), nil)
}

// compareCosts wants no query to take longer on much than on few, but for those that
// may, with the reason.
func compareCosts(t *testing.T, few, much *Store, may map[string]string) {
	t.Helper()
	base := costs(t, few)
	for pass, prepare := range []string{"", "ANALYZE"} {
		execute(t, much.conn, prepare) // another host may leave statistics in the file
		for name, have := range costs(t, much) {
			if pass == 0 {
				t.Logf("%-28s %6d %6d", name, base[name].steps, have.steps)
			}
			if grows := float64(have.steps) > 1.5*float64(base[name].steps); base[name].steps == 0 || grows && may[name] == "" {
				t.Errorf("%s takes %d steps among few rows, and %d among many %s", name, base[name].steps, have.steps, prepare)
			}
		}
	}
}

func populated(t *testing.T, old int) *Store {
	t.Helper()
	s, err := OpenMemory(ctx, patient)
	try(t, err)
	t.Cleanup(func() { s.Close() })
	inhabit(t, s, old)
	return s
}

func TestEveryQueryIsCosted(t *testing.T) {
	declared := []string{}
	files, err := filepath.Glob("../../sql/queries/*.sql")
	try(t, err)
	for _, file := range files {
		for _, line := range strings.Split(read(t, file), "\n") {
			if name := queryName.FindStringSubmatch(line); name != nil {
				declared = append(declared, name[1])
			}
		}
	}
	covered := []string{}
	for name := range costs(t, populated(t, 100)) {
		covered = append(covered, name)
	}
	for name := range uncosted {
		covered = append(covered, name)
	}
	slices.Sort(declared)
	slices.Sort(covered)
	if !slices.Equal(declared, covered) {
		t.Errorf("declared %q\ncovered  %q", declared, covered)
	}
}
