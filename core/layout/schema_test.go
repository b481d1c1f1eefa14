package layout

import (
	"context"
	"database/sql"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "github.com/ncruces/go-sqlite3/driver"

	schema "github.com/pi-workflows/wfcore/sql"
)

// connect gives the one connection of a database in memory.
func connect(t testing.TB) *sql.Conn {
	t.Helper()
	db, err := sql.Open("sqlite3", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func execute(t testing.TB, conn *sql.Conn, statements string) {
	t.Helper()
	if _, err := conn.ExecContext(context.Background(), statements); err != nil {
		t.Fatal(err)
	}
}

// build makes a database in memory from DDL.
func build(t testing.TB, statements string) *sql.Conn {
	t.Helper()
	conn := connect(t)
	execute(t, conn, statements)
	return conn
}

// ddl is schema.sql taken apart, so that a test can change one thing in it.
type ddl struct {
	tables  []ddlTable
	indexes []ddlIndex
	insert  string
}

// ddlTable holds the columns and constraints between the parentheses.
type ddlTable struct {
	name    string
	parts   []string
	options string
}

type ddlIndex struct {
	name, table string
	unique      bool
	columns     []string
	where       string
}

var (
	sqlComment  = regexp.MustCompile(`--[^\n]*`)
	createTable = regexp.MustCompile(`(?s)^CREATE TABLE IF NOT EXISTS (\w+) \((.*)\)$`)
	createIndex = regexp.MustCompile(`(?s)^CREATE (UNIQUE )?INDEX IF NOT EXISTS (\w+)\s+ON (\w+) \(([^)]*)\)(?:\s+WHERE (.*))?$`)
)

// parseSchema takes schema.sql apart, without the code under test.
func parseSchema(t testing.TB) ddl {
	t.Helper()
	var d ddl
	for _, statement := range strings.Split(sqlComment.ReplaceAllString(schema.Schema, ""), ";") {
		statement = strings.TrimSpace(statement)
		if m := createTable.FindStringSubmatch(statement); m != nil {
			d.tables = append(d.tables, ddlTable{name: m[1], parts: splitTop(m[2])})
			continue
		}
		if m := createIndex.FindStringSubmatch(statement); m != nil {
			d.indexes = append(d.indexes, ddlIndex{m[2], m[3], m[1] != "", splitTop(m[4]), m[5]})
			continue
		}
		d.insert += statement
	}
	if len(d.tables) != 10 || len(d.indexes) != 10 || !strings.HasPrefix(d.insert, "INSERT INTO schema_info") {
		t.Fatalf("schema.sql is not understood: %+v", d)
	}
	return d
}

// splitTop splits at the commas outside of parentheses.
func splitTop(s string) []string {
	var parts []string
	depth, start := 0, 0
	for i, r := range s {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth == 0:
			parts = append(parts, strings.TrimSpace(s[start:i]))
			start = i + 1
		}
	}
	return append(parts, strings.TrimSpace(s[start:]))
}

func (d ddl) clone() ddl {
	d.tables = slices.Clone(d.tables)
	for i := range d.tables {
		d.tables[i].parts = slices.Clone(d.tables[i].parts)
	}
	d.indexes = slices.Clone(d.indexes)
	for i := range d.indexes {
		d.indexes[i].columns = slices.Clone(d.indexes[i].columns)
	}
	return d
}

func (d ddl) String() string {
	var b strings.Builder
	for _, table := range d.tables {
		b.WriteString(d.statements(table))
	}
	return b.String()
}

// statements makes one table with its indexes and rows.
func (d ddl) statements(table ddlTable) string {
	s := "CREATE TABLE " + table.name + " (" + strings.Join(table.parts, ", ") + ") " + table.options + ";\n"
	for _, index := range d.indexes {
		if index.table == table.name {
			s += index.String() + ";\n"
		}
	}
	if table.name == "schema_info" {
		s += d.insert + ";\n"
	}
	return s
}

func (i ddlIndex) String() string {
	s := "CREATE INDEX "
	if i.unique {
		s = "CREATE UNIQUE INDEX "
	}
	s += i.name + " ON " + i.table + " (" + strings.Join(i.columns, ", ") + ")"
	if i.where != "" {
		s += " WHERE " + i.where
	}
	return s
}

// isColumn tells a column from a table constraint.
func isColumn(part string) bool {
	return regexp.MustCompile(`^[a-z]`).MatchString(part)
}

func columnName(part string) string {
	return strings.Fields(part)[0]
}

// mentions tells whether the column's name stands in the text.
func mentions(text, column string) bool {
	return regexp.MustCompile(`\b` + column + `\b`).MatchString(text)
}
