package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/layout"
)

func fixture(name string) string { return filepath.Join("../layout/testdata/fixtures", name+".sqlite") }

// place copies a fixture into a new directory, beside a run bundle.
func place(t *testing.T, name string) (path string) {
	t.Helper()
	return placeBytes(t, read(t, fixture(name)))
}

func placeBytes(t *testing.T, data string) (path string) {
	t.Helper()
	dir := t.TempDir()
	try(t, os.MkdirAll(filepath.Join(dir, "runs", "r1"), 0o700))
	write(t, filepath.Join(dir, "runs", "r1", "bundle.json"), `{"state":"running"}`)
	path = filepath.Join(dir, "store")
	write(t, path, data)
	return path
}

// accepted are fixtures that open, and refused are what their refusal must name.
var (
	accepted = []string{"v1-empty", "v1-populated", "alpha-launch-failure-delivered"}
	refused  = map[string]string{
		"alpha-launch-failure-pending": "1 pending launch_failure notification",
		"foreign-schema-id":            "pi-workflows.controller-store.v2",
		"old-alpha-queue":              "column workflow_source_json is missing",
	}
)

func bothWays(t *testing.T, name string, test func(t *testing.T, o Options)) {
	t.Helper()
	t.Run(name+"/write", func(t *testing.T) { test(t, Options{}) })
	t.Run(name+"/read", func(t *testing.T) { test(t, Options{ReadOnly: true}) })
}

func TestOpensFilesOfOtherHosts(t *testing.T) {
	for _, name := range accepted {
		bothWays(t, name, func(t *testing.T, o Options) {
			path := place(t, name)
			before := dump(t, plain(t, path))
			s := mustOpen(t, path, o)
			if _, had := before["workflow_turn_intents"]; !had && !o.ReadOnly {
				before["workflow_turn_intents"] = nil // it is made
			}
			if after := dump(t, s.conn); !reflect.DeepEqual(before, after) {
				t.Errorf("the rows were\n%v\nand are\n%v", before, after)
			}
			if !o.ReadOnly {
				wantV1(t, s)
			}
		})
	}
}

// dump is every row of every table.
func dump(t *testing.T, c *sql.Conn) map[string][]string {
	t.Helper()
	tables := map[string][]string{}
	for _, name := range column[string](t, c, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'sqlite_sequence'") {
		tables[name] = nil
		rows, err := c.QueryContext(ctx, `SELECT * FROM "`+name+`" ORDER BY rowid`)
		try(t, err)
		defer rows.Close()
		names, err := rows.Columns()
		try(t, err)
		for rows.Next() {
			values := make([]any, len(names))
			pointers := make([]any, len(names))
			for i := range values {
				pointers[i] = &values[i]
			}
			try(t, rows.Scan(pointers...))
			tables[name] = append(tables[name], fmt.Sprintf("%q", values))
		}
		try(t, rows.Err())
	}
	return tables
}

func column[T any](t testing.TB, c *sql.Conn, query string, args ...any) (values []T) {
	t.Helper()
	rows, err := c.QueryContext(ctx, query, args...)
	try(t, err)
	defer rows.Close()
	for rows.Next() {
		var value T
		try(t, rows.Scan(&value))
		values = append(values, value)
	}
	try(t, rows.Err())
	return values
}

func TestRefusesFilesOfOtherHosts(t *testing.T) {
	for name, difference := range refused {
		bothWays(t, name, func(t *testing.T, o Options) {
			wantRefused(t, place(t, name), o, difference)
		})
	}
}

// wantRefused opens a file and finds all bytes beside it as they were.
func wantRefused(t *testing.T, path string, o Options, differences ...string) {
	t.Helper()
	dir := filepath.Dir(path)
	before := contents(t, dir)
	s, err := Open(ctx, path, o)
	if err == nil {
		s.Close()
	}
	wantUntouched(t, dir, before)
	if core.CodeOf(err) != core.CodeLayoutIncompatible {
		t.Fatalf("have %v, want %s", err, core.CodeLayoutIncompatible)
	}
	for _, want := range append(differences, "reserve the run bundles", "reset the project's controller store") {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in the message: %s", want, err)
		}
	}
	var own *core.Error
	if errors.As(err, &own); own.Retryable {
		t.Error("the error is retryable")
	}
}

func TestRefusesWhatIsNoStore(t *testing.T) {
	v1 := read(t, fixture("v1-populated"))
	for name, data := range map[string]string{
		"text":        "Dear diary,\nthis is no database.\n" + strings.Repeat("x", 5000),
		"short text":  "hello",
		"one byte":    "S",
		"one newline": "\n",
		"zeros":       strings.Repeat("\x00", 8192),
		"magic only":  "SQLite format 3\x00",
		"other db":    otherDatabase(t),
	} {
		bothWays(t, name, func(t *testing.T, o Options) { wantRefused(t, placeBytes(t, data), o) })
	}
	for _, length := range []int{1, 15, 16, 50, 99, 100, 101, 511, 512, 1024, 4095, 4096, 4097, 8192, len(v1) / 2, len(v1) - 4096, len(v1) - 1} {
		bothWays(t, fmt.Sprintf("cut at %d", length), func(t *testing.T, o Options) { wantRefused(t, placeBytes(t, v1[:length]), o) })
	}
}

func otherDatabase(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "other")
	alter(t, path, "CREATE TABLE diary (day TEXT, entry TEXT); INSERT INTO diary VALUES ('monday', 'rain')")
	return read(t, path)
}

func TestEmptyFileIsANewStore(t *testing.T) {
	path := placeBytes(t, "")
	s := mustOpen(t, path, patient)
	wantV1(t, s)
	try(t, cycle(s, "run", "session"))
	wantNothing(t, mustOpen(t, placeBytes(t, ""), patient))
}

// TestTablesOfOthersStay: what is not ours is neither looked at nor changed.
func TestTablesOfOthersStay(t *testing.T) {
	path := place(t, "v1-populated")
	alter(t, path, "CREATE TABLE diary (day TEXT); INSERT INTO diary VALUES ('monday'); CREATE VIEW v AS SELECT * FROM diary")
	s := mustOpen(t, path, Options{})
	if day := scan[string](t, s.conn, "SELECT day FROM v"); day != "monday" {
		t.Errorf("have %q", day)
	}
}

func wantV1(t *testing.T, s *Store) {
	t.Helper()
	have, err := layout.Read(ctx, s.conn)
	try(t, err)
	want := layout.V1()
	for name := range want.Tables {
		// An old host's CHECK may allow a kind of notification more.
		if name != "workflow_notifications" && !reflect.DeepEqual(have.Tables[name], want.Tables[name]) {
			t.Errorf("table %s: have %+v, want %+v", name, have.Tables[name], want.Tables[name])
		}
	}
	if len(have.Tables) != len(want.Tables) {
		t.Errorf("%d tables, want %d", len(have.Tables), len(want.Tables))
	}
}

func TestNewStoreIsV1(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	s := mustOpen(t, path, Options{})
	memory, err := OpenMemory(ctx, Options{})
	try(t, err)
	defer memory.Close()
	for name, c := range map[string]*sql.Conn{"file": s.conn, "memory": memory.conn, "another library's eyes": plain(t, path)} {
		have, err := layout.Read(ctx, c)
		try(t, err)
		if !reflect.DeepEqual(have, layout.V1()) {
			t.Errorf("%s: have %+v", name, have)
		}
	}
}

// TestAnotherHostBesideUs reads and writes the file while we have it open.
func TestAnotherHostBesideUs(t *testing.T) {
	path := place(t, "v1-empty")
	host := plain(t, path)
	execute(t, host, "PRAGMA journal_mode = WAL")
	s := mustOpen(t, path, patient)

	execute(t, host, `INSERT INTO workflow_run_queue (run_id, workflow_ref, workflow_path, workflow_source_json,
		definition_digest, input_json, launch_options_json, status, origin_session_id, created_at, updated_at)
		VALUES ('theirs', 'w', 'file:w', '{}', 'unavailable', '1', '{}', 'queued', 'session', '2026-08-21T08:00:00Z', '2026-08-21T08:00:00Z')`)
	run, err := s.ClaimNextRun(ctx, core.ClaimNextRequest{SessionID: "session", RunnerID: "us", ClaimToken: "t"})
	try(t, err)
	if run == nil || run.RunID != "theirs" || string(run.Input) != "1" {
		t.Fatalf("have %+v", run)
	}
	if status := scan[string](t, host, "SELECT status FROM workflow_run_queue WHERE run_id = 'theirs'"); status != "starting" {
		t.Errorf("the host sees %s", status)
	}
	execute(t, host, "UPDATE workflow_run_queue SET status = 'parked', claim_token = NULL, claim_expires_at = NULL WHERE run_id = 'theirs'")
	_, err = s.MarkPreparedRunRunning(ctx, core.MarkRunningRequest{RunID: "theirs", ClaimToken: "t"})
	wantCode(t, err, core.CodeInvalidTransition)
}
