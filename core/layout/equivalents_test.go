package layout

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	schema "github.com/pi-workflows/wfcore/sql"
)

// TestEquivalents writes v1 in other ways: each is still v1.
func TestEquivalents(t *testing.T) {
	d := parseSchema(t)
	for name, statements := range map[string]string{
		"keywords in small letters":    smallKeywords(d.String()),
		"one token a line":             respaced(d.String(), "\n\t"),
		"comments between tokens":      respaced(d.String(), " /* CHECK (x > ')' */ -- CHECK (\n"),
		"double quotes":                quoted(d, `"`, `"`),
		"brackets":                     quoted(d, "[", "]"),
		"backticks":                    quoted(d, "`", "`"),
		"columns in reverse order":     reversed(d).String(),
		"CHECKs of the table":          hoisted(d, "CHECK "),
		"named CHECKs of the table":    hoisted(d, "CONSTRAINT [check (] CHECK "),
		"parentheses around CHECKs":    regexp.MustCompile(`CHECK (\([^()]*(\([^()]*\))?[^()]*\))`).ReplaceAllString(d.String(), "CHECK (($1))"),
		"parentheses around WHERE":     regexp.MustCompile(`WHERE ([^;]*)`).ReplaceAllString(d.String(), "WHERE (($1))"),
		"keys of the table":            hoistedKeys(d),
		"explicit collation":           strings.ReplaceAll(d.String(), "TEXT NOT NULL", "TEXT COLLATE binary NOT NULL"),
		"explicit conflict clauses":    strings.ReplaceAll(d.String(), "TEXT NOT NULL", "TEXT NOT NULL ON CONFLICT ABORT"),
		"explicit NULL":                strings.ReplaceAll(d.String(), "runner_id TEXT,", "runner_id TEXT NULL,"),
		"explicit foreign key clauses": strings.ReplaceAll(d.String(), "CASCADE", "CASCADE ON UPDATE NO ACTION NOT DEFERRABLE INITIALLY DEFERRED"),
		"explicit order of an index":   strings.ReplaceAll(d.String(), "(run_id)", "(run_id ASC)"),
		"types in small letters":       strings.ReplaceAll(d.String(), " TEXT", " text"),
		"rebuilt by ALTER TABLE": d.String() + `ALTER TABLE run_events RENAME TO x; ALTER TABLE x RENAME TO run_events;
			ALTER TABLE events RENAME COLUMN type TO x; ALTER TABLE events RENAME COLUMN x TO type;
			ALTER TABLE workflow_run_queue DROP COLUMN finished_at; ALTER TABLE workflow_run_queue ADD COLUMN finished_at TEXT`,
	} {
		t.Run(name, func(t *testing.T) {
			if name != "rebuilt by ALTER TABLE" && statements == d.String() {
				t.Fatal("nothing was rewritten")
			}
			wantState(t, build(t, statements), Current)
		})
	}
}

// TestTolerated adds to v1 what harms nobody.
func TestTolerated(t *testing.T) {
	for name, more := range map[string]string{
		"other tables":                        "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT UNIQUE CHECK (name <> ''))",
		"a table that refers to ours":         "CREATE TABLE notes (run_id TEXT REFERENCES workflow_run_queue ON DELETE CASCADE)",
		"a view of our table":                 "CREATE VIEW runs AS SELECT * FROM workflow_run_queue",
		"a broken view":                       "CREATE VIEW runs AS SELECT * FROM no_such_table",
		"a trigger on another table":          "CREATE TABLE x (a); CREATE TRIGGER t AFTER INSERT ON x BEGIN DELETE FROM events; END",
		"a trigger on a view":                 "CREATE VIEW v AS SELECT 1 AS a; CREATE TRIGGER t INSTEAD OF INSERT ON v BEGIN DELETE FROM events; END",
		"a trigger named like an index":       "CREATE TABLE x (a); CREATE TRIGGER queue_ready AFTER INSERT ON x BEGIN SELECT 1; END",
		"a further index":                     "CREATE INDEX x ON workflow_run_queue (created_at)",
		"a further partial index":             "CREATE INDEX x ON workflow_run_queue (created_at) WHERE status = 'done'",
		"a further index of an expression":    "CREATE INDEX x ON run_events (lower(type))",
		"a unique index on another table":     "CREATE TABLE x (a); CREATE UNIQUE INDEX y ON x (a)",
		"a table named like ours with a tail": "CREATE TABLE queue_2 (a UNIQUE)",
	} {
		t.Run(name, func(t *testing.T) { wantState(t, build(t, schema.Schema+more), Current) })
	}
}

func TestEarlyNotificationKinds(t *testing.T) {
	widened := func(by string) string {
		statements := strings.Replace(schema.Schema, "kind IN ('progress', 'final')", by, 1)
		if statements == schema.Schema {
			t.Fatal("nothing was rewritten")
		}
		return statements
	}
	const (
		early = "kind IN ('progress', 'final', 'launch_failure')"
		row   = `INSERT INTO workflow_notifications VALUES ('n', 'r', 'n', 'a', 1, 's', 'launch_failure', 'c', 'now', NULL, NULL, `
	)
	wantState(t, build(t, widened(early)), Current)
	wantState(t, build(t, widened(early)+row+"'now')"), Current)
	wantDifference(t, incompatibility(t, build(t, widened(early)+row+"NULL)")), "1 pending launch_failure notification")

	const want = "table workflow_notifications: column kind has CHECK (kind IN ("
	wantDifference(t, incompatibility(t, build(t, widened("kind IN ('progress', 'final', 'launch')"))), want)
	wantDifference(t, incompatibility(t, build(t, widened("kind IN ('progress', 'final', 'LAUNCH_FAILURE')"))), want)
	wantDifference(t, incompatibility(t, build(t, widened(early+") CHECK ("+early))), want)
}

// smallKeywords lowers all letters outside of texts; our names have no others.
func smallKeywords(statements string) string {
	parts := strings.Split(statements, "'")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.ToLower(parts[i])
	}
	return strings.Join(parts, "'")
}

var sqlToken = regexp.MustCompile(`'[^']*'|\w+|[<>=]+|[(),;]`)

// respaced puts the blank between all tokens.
func respaced(statements, blank string) string {
	return strings.Join(sqlToken.FindAllString(statements, -1), blank)
}

// quoted quotes the names of all columns and tables.
func quoted(d ddl, open, shut string) string {
	names := map[string]bool{}
	for _, table := range d.tables {
		names[table.name] = true
		for _, part := range table.parts {
			if isColumn(part) {
				names[columnName(part)] = true
			}
		}
	}
	return sqlToken.ReplaceAllStringFunc(d.String(), func(token string) string {
		if names[token] {
			return open + token + shut
		}
		return token
	})
}

func reversed(d ddl) ddl {
	d = d.clone()
	for _, table := range d.tables {
		slices.Reverse(table.parts)
		slices.SortStableFunc(table.parts, func(a, b string) int {
			switch {
			case isColumn(a) && !isColumn(b):
				return -1
			case isColumn(b) && !isColumn(a):
				return 1
			}
			return 0
		})
	}
	return d
}

// hoisted moves constraints from the columns to the table.
func hoisted(d ddl, keyword string) string {
	d = d.clone()
	for i, table := range d.tables {
		for j, part := range table.parts {
			if at := strings.Index(part, " CHECK ("); isColumn(part) && at >= 0 {
				d.tables[i].parts[j] = part[:at]
				d.tables[i].parts = append(d.tables[i].parts, keyword+part[at+len(" CHECK "):])
			}
		}
	}
	return d.String()
}

// hoistedKeys moves PRIMARY KEY and UNIQUE from the columns to the table.
func hoistedKeys(d ddl) string {
	d = d.clone()
	for i, table := range d.tables {
		for j, part := range table.parts {
			for _, key := range []string{" PRIMARY KEY", " UNIQUE"} {
				if rest, found := strings.CutSuffix(part, key); found {
					d.tables[i].parts[j] = rest
					d.tables[i].parts = append(d.tables[i].parts, key+" ("+columnName(part)+")")
				}
				if rest, found := strings.CutSuffix(part, key+" AUTOINCREMENT"); found {
					d.tables[i].parts[j] = rest
					d.tables[i].parts = append(d.tables[i].parts, key+" ("+columnName(part)+" AUTOINCREMENT)")
				}
			}
		}
	}
	return d.String()
}
