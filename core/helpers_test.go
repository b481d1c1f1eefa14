package core_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3/driver"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/prove/invariant"
	schema "github.com/pi-workflows/wfcore/sql"
)

// epoch is when every test begins.
var epoch = time.Date(2026, 8, 21, 8, 17, 31, 0, time.UTC)

// stamp is a time after the epoch as the store writes it.
func stamp(after time.Duration) string {
	return epoch.Add(after).Format("2006-01-02T15:04:05.000Z")
}

// noise stands for random numbers, so that made tokens and ids are known.
type noise byte

func (n noise) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(n)
	}
	return len(p), nil
}

// madeToken is the token that the core makes of noise.
var madeToken = strings.Repeat("ab", 16)

// fixture is a store in memory. Tests plant and look at rows through the store's
// own connection, between its operations.
type fixture struct {
	testing.TB
	store *core.Store
	conn  *sql.Conn
	now   time.Time            // of the injected clock
	all   *sql.Stmt            // see dump
	execs map[string]*sql.Stmt // see exec: without any, no other host has written
}

type option func(*core.Config)

func open(t testing.TB, options ...option) *fixture {
	t.Helper()
	ctx := context.Background()
	db, err := driver.Open(":memory:")
	must(t, err)
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(ctx, schema.Schema)
	must(t, err)
	conn, err := db.Conn(ctx)
	must(t, err)
	f := &fixture{TB: t, conn: conn, now: epoch, execs: map[string]*sql.Stmt{}}
	once := func(_ context.Context, try func() error) error { return try() }
	config := core.Config{
		Conn:            conn,
		Wait:            once,
		WaitBeforeAbort: once,
		ResultCode:      func(error) int { return 0 },
		Now:             func() time.Time { return f.now },
		Random:          noise(0xab),
		TestClock:       true,
	}
	for _, set := range options {
		set(&config)
	}
	f.store = core.New(config)
	f.all, err = conn.PrepareContext(ctx, dumpQuery(f))
	must(t, err)
	t.Cleanup(func() {
		f.store.Close()
		f.wantInvariants()
		_, _ = conn.Close(), db.Close()
	})
	return f
}

// wantInvariants: whatever a test did through the operations alone, they hold.
func (f *fixture) wantInvariants() {
	if len(f.execs) > 0 {
		return
	}
	look, err := invariant.Read(context.Background(), f.conn)
	must(f, err)
	for _, wrong := range invariant.Check(look) {
		f.Error(wrong)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// at sets the clock to a time after the epoch.
func (f *fixture) at(after time.Duration) { f.now = epoch.Add(after) }

// object is a request, an answer or a row.
type object map[string]any

// with is a copy that has more, or other, fields.
func (o object) with(more object) object {
	out := maps.Clone(o)
	maps.Copy(out, more)
	return out
}

func (o object) text(key string) string {
	s, _ := o[key].(string)
	return s
}

// call runs an op; request is an object, or the JSON text itself.
func (f *fixture) call(op string, request any) ([]byte, error) {
	body, ok := request.(string)
	if !ok {
		encoded, err := json.Marshal(request)
		must(f, err)
		body = string(encoded)
	}
	return f.store.Call(context.Background(), op, []byte(body))
}

// ok runs an op that must answer a record; null is nil.
func (f *fixture) ok(op string, request any) object {
	f.Helper()
	return decode[object](f, f.answer(op, request))
}

// list runs an op that must answer a list of records.
func (f *fixture) list(op string, request any) []object {
	f.Helper()
	return decode[[]object](f, f.answer(op, request))
}

func (f *fixture) answer(op string, request any) []byte {
	f.Helper()
	answer, err := f.call(op, request)
	if err != nil {
		f.Fatalf("%s %v: %v", op, request, err)
	}
	return answer
}

// fails runs an op that must answer this error, and must change nothing.
func (f *fixture) fails(op string, request any, want core.Code) *core.Error {
	f.Helper()
	before := f.dump()
	answer, err := f.call(op, request)
	if core.CodeOf(err) != want {
		f.Fatalf("%s %v: have %s, %v, want %s", op, request, answer, err, want)
	}
	if after := f.dump(); !slices.Equal(before, after) {
		f.Fatalf("%s %v: %v changed the store:\n%s", op, request, err, changes(before, after))
	}
	return err.(*core.Error)
}

func decode[T any](t testing.TB, text []byte) T {
	t.Helper()
	var value T
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

// exec runs SQL beside the store.
func (f *fixture) exec(query string, args ...any) {
	f.Helper()
	ctx := context.Background()
	stmt, err := f.execs[query], error(nil)
	if stmt == nil {
		stmt, err = f.conn.PrepareContext(ctx, query)
		must(f, err)
		f.execs[query] = stmt
	}
	_, err = stmt.ExecContext(ctx, args...)
	must(f, err)
}

func (f *fixture) insert(table string, row object) {
	f.Helper()
	columns := slices.Sorted(maps.Keys(row))
	args := make([]any, len(columns))
	for i, c := range columns {
		args[i] = row[c]
	}
	f.exec(fmt.Sprintf("INSERT INTO %s (%s) VALUES (?%s)", table,
		strings.Join(columns, ", "), strings.Repeat(", ?", len(columns)-1)), args...)
}

// plant stores a run as another host might have.
func (f *fixture) plant(row object) {
	f.Helper()
	f.insert("workflow_run_queue", object{
		"workflow_ref": "flow", "workflow_path": "file:flow", "workflow_source_json": `{"id":"flow"}`,
		"definition_digest": "digest-1", "input_json": "null", "launch_options_json": "{}",
		"created_at": stamp(0), "updated_at": stamp(0),
	}.with(row))
}

// plantIntent stores a pending intent as another host might have.
func (f *fixture) plantIntent(row object) {
	f.Helper()
	facts, err := json.Marshal(soundFacts)
	must(f, err)
	f.insert("workflow_turn_intents", object{
		"intent_id": "intent", "source_event_id": "event", "run_id": "run", "workflow_ref": "flow", "target_session_id": "session",
		"cause": "failed", "fallback_facts_json": string(facts), "requested_at": stamp(0),
	}.with(row))
}

// dumpQuery reads every column of every table, a line a row. A whole table is read
// in the order of insertion.
func dumpQuery(f *fixture) string {
	rows, err := f.conn.QueryContext(context.Background(), `
		SELECT printf('SELECT ''%s'', json_object(%s) FROM "%s"',
			t.name, group_concat(printf('''%s'', "%s"', c.name, c.name)), t.name)
		FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
		WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\' GROUP BY t.name`)
	must(f, err)
	defer rows.Close()
	var parts []string
	for rows.Next() {
		var part string
		must(f, rows.Scan(&part))
		parts = append(parts, part)
	}
	must(f, rows.Err())
	if len(parts) != 10 {
		f.Fatalf("have %d tables, want the ten of v1", len(parts))
	}
	return strings.Join(parts, " UNION ALL ")
}

// dump is all that the store holds: table, space, row as JSON.
func (f *fixture) dump() []string {
	f.Helper()
	rows, err := f.all.QueryContext(context.Background())
	must(f, err)
	defer rows.Close()
	var lines []string
	for rows.Next() {
		var table, row string
		must(f, rows.Scan(&table, &row))
		lines = append(lines, table+" "+row)
	}
	must(f, rows.Err())
	return lines
}

// rows are the rows of one table in a dump, in order of insertion.
func (f *fixture) rows(table string) []object {
	f.Helper()
	var rows []object
	for _, line := range f.dump() {
		if row, ok := strings.CutPrefix(line, table+" "); ok {
			rows = append(rows, decode[object](f, []byte(row)))
		}
	}
	return rows
}

// row is one stored run.
func (f *fixture) row(runID string) object {
	f.Helper()
	for _, row := range f.rows("workflow_run_queue") {
		if row["run_id"] == runID {
			return row
		}
	}
	f.Fatalf("no run %s is stored", runID)
	return nil
}

// feed is the types of a run's events, in order.
func (f *fixture) feed(runID string) string {
	f.Helper()
	var types []string
	for _, event := range f.rows("run_events") {
		if event["run_id"] == runID {
			types = append(types, event.text("type"))
		}
	}
	return strings.Join(types, " ")
}

// payload is what the last event of a run holds.
func (f *fixture) payload(runID string) object {
	f.Helper()
	var last string
	for _, event := range f.rows("run_events") {
		if event["run_id"] == runID {
			last = event.text("payload_json")
		}
	}
	return decode[object](f, []byte(last))
}

// changes shows the lines that differ.
func changes(before, after []string) string {
	var out bytes.Buffer
	for _, line := range before {
		if !slices.Contains(after, line) {
			fmt.Fprintln(&out, "-", line)
		}
	}
	for _, line := range after {
		if !slices.Contains(before, line) {
			fmt.Fprintln(&out, "+", line)
		}
	}
	return out.String()
}

// equal compares what a test looks at.
func equal[T comparable](t testing.TB, what string, have, want T) {
	t.Helper()
	if have != want {
		t.Errorf("%s: have %v, want %v", what, have, want)
	}
}
