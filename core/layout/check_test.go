package layout

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	schema "github.com/pi-workflows/wfcore/sql"
)

// incompatibility gives the differences, or fails the test.
func incompatibility(t *testing.T, q Queryer) *Incompatible {
	t.Helper()
	state, err := Check(context.Background(), q)
	var incompatible *Incompatible
	if !errors.As(err, &incompatible) {
		t.Fatalf("state %d, error %v, want an Incompatible", state, err)
	}
	if state != 0 {
		t.Errorf("state %d beside an error", state)
	}
	return incompatible
}

func wantState(t *testing.T, q Queryer, want State) {
	t.Helper()
	state, err := Check(context.Background(), q)
	if state != want || err != nil {
		t.Errorf("state %d, error %v, want state %d", state, err, want)
	}
}

func wantDifference(t *testing.T, e *Incompatible, want string) {
	t.Helper()
	for _, difference := range e.Differences {
		if strings.Contains(difference, want) {
			return
		}
	}
	t.Errorf("no difference has %q: %q", want, e.Differences)
}

// openFixture opens a copy of a fixture, in which no write is possible.
func openFixture(t *testing.T, name string) *sql.DB {
	t.Helper()
	path, err := filepath.Abs("testdata/fixtures/" + name + ".sqlite")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", "file:"+path+"?mode=ro&immutable=1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestCheckAcceptsFilesOfOtherHosts(t *testing.T) {
	for name, want := range map[string]State{
		"v1-empty":                       Current,
		"v1-populated":                   Current,
		"alpha-launch-failure-delivered": NoIntents,
	} {
		t.Run(name, func(t *testing.T) { wantState(t, openFixture(t, name), want) })
	}
}

func TestCheckRefusesFilesOfOtherHosts(t *testing.T) {
	for name, differences := range map[string][]string{
		"alpha-launch-failure-pending": {"1 pending launch_failure notification"},
		"foreign-schema-id": {
			`schema_info holds schema id "pi-workflows.controller-store.v2", not "pi-workflows.controller-store.v1"`,
			"table events is missing",
		},
		"old-alpha-queue": {
			"table workflow_run_queue: column error_code is missing",
			"table workflow_run_queue: column workflow_source_json is missing",
			"table workflow_run_queue: column status has CHECK (status IN ('claimed', 'parked', 'done'))",
			"index workflow_run_queue_parent is missing",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := incompatibility(t, openFixture(t, name))
			for _, want := range differences {
				wantDifference(t, e, want)
			}
		})
	}
}

func TestPendingLaunchFailureIsTheOnlyDifference(t *testing.T) {
	e := incompatibility(t, openFixture(t, "alpha-launch-failure-pending"))
	if len(e.Differences) != 1 {
		t.Errorf("have %q", e.Differences)
	}
}

const emptySchemaInfo = "CREATE TABLE schema_info (singleton INTEGER PRIMARY KEY CHECK (singleton = 1), schema_id TEXT NOT NULL);"

func TestStates(t *testing.T) {
	for name, test := range map[string]struct {
		ddl  string
		want State
	}{
		"nothing":                       {"", New},
		"only a temporary table":        {"CREATE TEMP TABLE queue (x)", New},
		"what SQLite left behind":       {"CREATE TABLE x (a INTEGER PRIMARY KEY AUTOINCREMENT); DROP TABLE x; ANALYZE", New},
		"empty schema_info":             {emptySchemaInfo, New},
		"v1":                            {schema.Schema, Current},
		"v1, twice":                     {schema.Schema + schema.Schema, Current},
		"v1 after ANALYZE":              {schema.Schema + "ANALYZE", Current},
		"v1 without intents":            {schema.Schema + "DROP TABLE workflow_turn_intents", NoIntents},
		"a temporary table of our name": {schema.Schema + "CREATE TEMP TABLE queue (x)", Current},
		"a temporary trigger": {
			schema.Schema + "CREATE TEMP TRIGGER x AFTER INSERT ON main.queue BEGIN SELECT 1; END", Current},
		"temporary schema_info": {
			schema.Schema + "CREATE TEMP TABLE schema_info (singleton, schema_id); INSERT INTO temp.schema_info VALUES (1, 'x')", Current},
		"temporary notifications": {
			schema.Schema + `CREATE TEMP TABLE workflow_notifications (kind, delivered_at);
				INSERT INTO temp.workflow_notifications VALUES ('launch_failure', NULL)`, Current},
	} {
		t.Run(name, func(t *testing.T) { wantState(t, build(t, test.ddl), test.want) })
	}
}

func TestCheckRefuses(t *testing.T) {
	for name, test := range map[string]struct{ ddl, want string }{
		"other tables only":               {"CREATE TABLE users (id)", "table schema_info is missing: the database is no controller store"},
		"an other view only":              {"CREATE VIEW v AS SELECT 1", "table schema_info is missing: the database is no controller store"},
		"a generic table of our name":     {"CREATE TABLE events (id)", "table schema_info is missing"},
		"empty schema_info beside others": {emptySchemaInfo + "CREATE TABLE users (id)", "schema_info holds no row"},
		"empty schema_info of another shape": {
			"CREATE TABLE schema_info (singleton INTEGER PRIMARY KEY, schema_id TEXT NOT NULL)",
			"table schema_info: CHECK (singleton = 1) is missing"},
		"empty schema_info with a trigger": {
			emptySchemaInfo + "CREATE TRIGGER x AFTER INSERT ON schema_info BEGIN SELECT 1; END",
			"table schema_info: trigger x is not part of v1"},
		"v1 without its row": {schema.Schema + "DELETE FROM schema_info", "schema_info holds no row"},
		"two rows": {
			schema.Schema + "PRAGMA ignore_check_constraints = ON; INSERT INTO schema_info VALUES (2, 'x')",
			"schema_info holds more than one row"},
		"row under another key": {
			schema.Schema + "PRAGMA ignore_check_constraints = ON; UPDATE schema_info SET singleton = 2",
			"schema_info holds its row under 2, not 1"},
		"schema id of v2": {
			schema.Schema + "UPDATE schema_info SET schema_id = 'pi-workflows.controller-store.v2'",
			`schema_info holds schema id "pi-workflows.controller-store.v2", not "` + SchemaID + `"`},
		"schema id in capitals": {
			schema.Schema + "UPDATE schema_info SET schema_id = upper(schema_id)",
			`schema_info holds schema id "PI-WORKFLOWS`},
		"schema id as a blob": {
			schema.Schema + "UPDATE schema_info SET schema_id = CAST(schema_id AS BLOB)",
			"schema_info holds a schema id that is not text"},
		"schema id with more behind a NUL": {
			schema.Schema + "UPDATE schema_info SET schema_id = schema_id || char(0) || 'x'",
			"schema_info holds schema id"},
		"schema id with controls": {
			schema.Schema + "UPDATE schema_info SET schema_id = char(27) || '[2J' || char(0x202e) || 'v1'",
			`schema_info holds schema id "?[2J?v1", not`},
		"schema id that is long": {
			schema.Schema + "UPDATE schema_info SET schema_id = replace(hex(zeroblob(5000)), '0', 'x')",
			`schema_info holds schema id "` + strings.Repeat("x", 80) + `…", not`},
		"intents as a view": {
			schema.Schema + "DROP TABLE workflow_turn_intents; CREATE VIEW workflow_turn_intents AS SELECT 1",
			"table workflow_turn_intents is a view"},
		"queue as a virtual table": {
			schema.Schema + `DROP TABLE events; PRAGMA writable_schema = ON;
				INSERT INTO sqlite_schema VALUES ('table', 'events', 'events', 0, 'CREATE VIRTUAL TABLE events USING x');
				PRAGMA writable_schema = RESET`,
			"table events is a virtual table"},
		"a table in capitals": {
			schema.Schema + "ALTER TABLE events RENAME TO other; ALTER TABLE other RENAME TO Events",
			"table events: the name is written Events"},
		"an intents index's name on another table": {
			schema.Schema + `DROP TABLE workflow_turn_intents; CREATE TABLE x (a);
				CREATE INDEX workflow_turn_intents_pending_run ON x (a)`,
			"index workflow_turn_intents_pending_run: another index has its name"},
		"an intents index's name as a table": {
			schema.Schema + "DROP TABLE workflow_turn_intents; CREATE TABLE Workflow_Turn_Intents_Pending_Run (a)",
			"index workflow_turn_intents_pending_run: another table has its name"},
		"two pending launch failures": {
			schema.Schema + `PRAGMA ignore_check_constraints = ON; INSERT INTO workflow_notifications
				SELECT 'n' || value, 'r', 'n', 'a', value, 's', 'launch_failure', 'c', 'now', NULL, NULL, NULL
				FROM json_each('[1, 2]')`,
			"2 pending launch_failure notifications"},
	} {
		t.Run(name, func(t *testing.T) { wantDifference(t, incompatibility(t, build(t, test.ddl)), test.want) })
	}
}

func TestEveryOtherTableMayNotBeMissing(t *testing.T) {
	for _, name := range tableNames {
		if name == intentsTable {
			continue
		}
		t.Run(name, func(t *testing.T) {
			conn := build(t, schema.Schema+"PRAGMA foreign_keys = OFF; DROP TABLE "+name)
			wantDifference(t, incompatibility(t, conn), "table "+name+" is missing")
		})
	}
}

// A module that this program lacks must not keep it from looking.
func TestUnknownModuleOfAForeignTable(t *testing.T) {
	conn := build(t, schema.Schema+`
		PRAGMA writable_schema = ON;
		INSERT INTO sqlite_schema VALUES ('table', 'a', 'a', 0, 'CREATE VIRTUAL TABLE a USING no_such_module(x)');
		PRAGMA writable_schema = RESET;`)
	wantState(t, conn, Current)
}

func TestCheckFailsWhereItCannotRead(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	state, err := Check(ctx, build(t, schema.Schema))
	var incompatible *Incompatible
	if state != 0 || err == nil || errors.As(err, &incompatible) {
		t.Errorf("state %d, error %v, want the driver's error", state, err)
	}
}

func TestIncompatibleIsBounded(t *testing.T) {
	var ddl strings.Builder
	for i := range 30 {
		fmt.Fprintf(&ddl, "ALTER TABLE events ADD COLUMN extra_%02d TEXT;", i)
	}
	conn := build(t, schema.Schema+ddl.String())
	e := incompatibility(t, conn)
	if len(e.Differences) != 21 || e.Differences[20] != "and 10 more" {
		t.Errorf("have %q", e.Differences)
	}
	if again := incompatibility(t, conn); again.Error() != e.Error() {
		t.Errorf("the order changes: %q, %q", e, again)
	}
}

func TestIncompatibleTellsWhatToDo(t *testing.T) {
	e := &Incompatible{[]string{"table queue is missing", "table events is missing"}}
	want := "not a v1 controller store: table queue is missing; table events is missing. " +
		"Nothing was changed, migrated or deleted. " +
		"Preserve the run bundles that are still needed, then reset the project's controller store."
	if e.Error() != want {
		t.Errorf("have %q", e.Error())
	}
	if !strings.HasSuffix(want, ". "+e.ResetText()) {
		t.Errorf("the reset text is %q", e.ResetText())
	}
}

func BenchmarkCheck(b *testing.B) {
	conn := build(b, schema.Schema)
	for b.Loop() {
		if _, err := Check(context.Background(), conn); err != nil {
			b.Fatal(err)
		}
	}
}
