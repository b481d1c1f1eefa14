package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

func TestReadOnlyAbsent(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "store"), filepath.Join(dir, "new", "store")} {
		_, err := Open(ctx, path, Options{ReadOnly: true})
		wantCode(t, err, core.CodeNotFound)
	}
	wantOnly(t, dir)
}

// TestReadOnlyEmpty: a store that holds nothing yet reads as an empty one.
func TestReadOnlyEmpty(t *testing.T) {
	for name, statements := range map[string]string{
		"no bytes":          "",
		"no tables":         "PRAGMA user_version = 7",
		"no tables, WAL":    "PRAGMA journal_mode = WAL; PRAGMA user_version = 7",
		"empty schema_info": "CREATE TABLE schema_info (singleton INTEGER PRIMARY KEY CHECK (singleton = 1), schema_id TEXT NOT NULL)",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "store")
			write(t, path, "")
			alter(t, path, statements)
			before := contents(t, dir)
			s := mustOpen(t, path, Options{ReadOnly: true})
			wantNothing(t, s)
			try(t, s.Close())
			wantUntouched(t, dir, before)
			wantOnly(t, dir, "store")
		})
	}
}

// TestReadOnlyWithoutIntents: a store from before the table of intents reads as one
// that owes nothing, and stays as it is.
func TestReadOnlyWithoutIntents(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "store")
	s := mustOpen(t, path, Options{})
	try(t, s.Close())
	alter(t, path, "DROP TABLE workflow_turn_intents")
	before := read(t, path)
	reader := mustOpen(t, path, Options{ReadOnly: true})
	wantNothing(t, reader)
	try(t, reader.Close())
	if read(t, path) != before {
		t.Error("reading changed the file")
	}
}

func wantNothing(t *testing.T, s *Store) {
	t.Helper()
	for op, test := range map[string]struct{ request, want string }{
		"listRuns":               {`{"limit":10}`, "[]"},
		"listRecoverableRuns":    {`{"limit":10}`, "[]"},
		"listRunEvents":          {`{"limit":10}`, "[]"},
		"getRun":                 {`{"sessionId":"s"}`, "null"},
		"findSessionReservation": {`{"sessionId":"s"}`, "null"},

		"listWorkflowTurnIntents":       {`{"limit":10}`, "[]"},
		"findPendingWorkflowTurnIntent": {`{"runId":"r","sessionId":"s"}`, "null"},
	} {
		have, err := s.Call(ctx, op, []byte(test.request))
		if string(have) != test.want || err != nil {
			t.Errorf("%s: have %s, %v, want %s", op, have, err, test.want)
		}
	}
}

// TestReadOnlyWhileAnotherWrites: WAL readers do not wait for a writer, and see
// what was committed.
func TestReadOnlyWhileAnotherWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	w := mustOpen(t, path, patient)
	_, err := w.ReservePreparedRun(ctx, request("run", "s"))
	try(t, err)
	execute(t, w.conn, "BEGIN IMMEDIATE")
	execute(t, w.conn, "UPDATE workflow_run_queue SET status = 'done'")

	r := mustOpen(t, path, Options{ReadOnly: true, Wait: -1})
	wantStatus(t, r, "run", core.Queued)
	execute(t, w.conn, "COMMIT")
	wantStatus(t, r, "run", core.Done)
}

func TestReadOnlyRefusesWrites(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "store")
	s := mustOpen(t, path, patient)
	_, err := s.ReservePreparedRun(ctx, request("run", "s"))
	try(t, err)
	try(t, s.Close())
	empty := filepath.Join(dir, "empty")
	write(t, empty, "")

	for _, path := range []string{path, empty} {
		s := mustOpen(t, path, Options{ReadOnly: true})
		_, err := s.ReservePreparedRun(ctx, request("other", "t"))
		wantCode(t, err, core.CodeStoreMisconfigured)
		_, err = s.CancelPreparedRun(ctx, core.CancelRequest{RunID: "run"})
		wantCode(t, err, core.CodeStoreMisconfigured)
		_, err = s.ClaimNextRun(ctx, core.ClaimNextRequest{RunnerID: "r"})
		wantCode(t, err, core.CodeStoreMisconfigured)
		try(t, s.Close())
	}
	if info, err := os.Stat(empty); err != nil || info.Size() != 0 {
		t.Errorf("the empty file was written to: %v", err)
	}
}
