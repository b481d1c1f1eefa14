package layout

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"

	schema "github.com/pi-workflows/wfcore/sql"
)

// statement makes the object of schema.sql that a number stands for, with another
// text behind its name, and all else that goes with it.
func (d ddl) statement(object byte, text string) (table, make string) {
	d = d.clone()
	n := int(object) % (len(d.tables) + 2*len(d.indexes))
	if n < len(d.tables) {
		table = d.tables[n].name
		whole := d.statements(d.tables[n])
		_, after, _ := strings.Cut(whole, ";\n")
		return table, "CREATE TABLE " + table + " " + text + ";" + after
	}
	n -= len(d.tables)
	index := d.indexes[n/2]
	d.indexes = slices.Delete(d.indexes, n/2, n/2+1)
	of := slices.IndexFunc(d.tables, func(t ddlTable) bool { return t.name == index.table })
	unique := map[bool]string{true: "UNIQUE "}[n%2 == 1]
	return index.table, d.statements(d.tables[of]) + "CREATE " + unique + "INDEX " + index.name + " ON " + text
}

// FuzzSchema writes one table or index of the schema in any words: where Check calls
// that a v1 store, SQLite describes it as it does v1, and it takes and refuses the
// same rows.
func FuzzSchema(f *testing.F) {
	d := parseSchema(f)
	for i, table := range d.tables {
		by := []string{"NOT NULL ON CONFLICT IGNORE", "not null /* ( */", "COLLATE NOCASE NOT NULL", "DEFAULT 1 NOT NULL"}[i%4]
		f.Add(byte(i), "("+strings.Replace(strings.Join(table.parts, ", "), "NOT NULL", by, 1)+")")
	}
	for i, index := range d.indexes {
		_, text, _ := strings.Cut(index.String(), " ON ")
		f.Add(byte(len(d.tables)+2*i+i%2), text)
	}
	conn := build(f, "PRAGMA foreign_keys = ON;"+schema.Schema)
	looks := map[string][]string{}
	f.Fuzz(func(t *testing.T, object byte, text string) {
		table, statements := d.statement(object, text)
		if strings.Contains(text, ";") {
			t.Skip("more than one statement")
		}
		if looks[table] == nil {
			looks[table] = lookOf(t, conn, table)
		}
		execute(t, conn, "BEGIN; DROP TABLE "+table)
		defer execute(t, conn, "ROLLBACK")
		if _, err := conn.ExecContext(context.Background(), statements); err != nil {
			t.Skip(err)
		}
		if state, err := Check(context.Background(), conn); state != Current || err != nil {
			return
		}
		if have := lookOf(t, conn, table); !slices.Equal(have, looks[table]) {
			t.Errorf("%q passes for v1:\nhave %q\nwant %q", statements, have, looks[table])
		}
	})
}

// lookOf is how a table looks to SQLite, and what it does with rows.
func lookOf(t testing.TB, conn *sql.Conn, table string) []string {
	t.Helper()
	return append(described(t, conn, table), behaviour(t, conn, table)...)
}
