package layout

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3/driver"
)

// describing are what SQLite itself says of a table: what the package reads, in other
// queries.
var describing = []string{
	`SELECT type, wr, strict FROM pragma_table_list(?1)`,
	`SELECT name, upper(type), "notnull", quote(dflt_value), pk, hidden FROM pragma_table_xinfo(?1) ORDER BY name`,
	`SELECT "table", "from", "to", seq, on_update, on_delete, "match" FROM pragma_foreign_key_list(?1) ORDER BY "table", seq`,
	`SELECT CASE i.origin WHEN 'c' THEN i.name END, i."unique", i.partial, i.origin, x.seqno, x.name, x."desc", x.coll
		FROM pragma_index_list(?1) AS i JOIN pragma_index_xinfo(i.name) AS x WHERE x."key" ORDER BY 1, 4, x.seqno, x.name`,
	`SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?1`,
}

func described(t testing.TB, conn *sql.Conn, table string) (lines []string) {
	t.Helper()
	for _, query := range describing {
		lines = append(lines, texts(t, conn, query, table)...)
	}
	err := conn.Raw(func(c any) error {
		for _, column := range columnsOf(table) {
			_, collation, _, _, autoincrement, err := c.(driver.Conn).Raw().TableColumnMetadata("main", table, column)
			if err != nil {
				return err
			}
			lines = append(lines, fmt.Sprint(column, " ", strings.ToUpper(collation), " ", autoincrement))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// texts are the rows of a query, a line each.
func texts(t testing.TB, conn *sql.Conn, query string, args ...any) (lines []string) {
	t.Helper()
	rows, err := conn.QueryContext(context.Background(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		cells, into := make([]any, len(names)), make([]any, len(names))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprint(cells...))
	}
	return lines
}

func columnsOf(table string) (names []string) {
	for _, column := range v1().Tables[table].Columns {
		names = append(names, column.Name)
	}
	return names
}

// named are values of columns that take only some.
var named = map[string]string{"status": "'queued'", "cause": "'failed'", "state": "'pending'", "workflow_notifications.kind": "'progress'"}

// literal is a text that a CHECK may name.
var literal = regexp.MustCompile(`'\w+'`)

// valuesFor are tried in a column: of each type, and what a CHECK names, if one speaks
// of the column.
func valuesFor(table, column string) []string {
	values := []string{"NULL", "'y'", "'Y'", "2", "1.5"}
	for _, check := range v1().Tables[table].Checks {
		if mentions(check, column) {
			values = append(append(values, "0", "-1", "''", "'1'", "'FINAL'", "'QUEUED'", "'FAILED'"), literal.FindAllString(check, -1)...)
		}
	}
	return values
}

// base is a row that the table takes, by column.
func base(table string) map[string]string {
	row := map[string]string{}
	for _, column := range v1().Tables[table].Columns {
		value := named[table+"."+column.Name]
		switch {
		case value != "":
		case named[column.Name] != "":
			value = named[column.Name]
		case column.Type == "INTEGER":
			value = "1"
		default:
			value = "'x'"
		}
		if !column.NotNull && column.PrimaryKey == 0 {
			value = "NULL"
		}
		row[column.Name] = value
	}
	return row
}

// insert tells whether a row is taken, and what is then there.
func insert(conn *sql.Conn, table string, names []string, row map[string]string) string {
	cells, quoted := make([]string, len(names)), make([]string, len(names))
	for i, name := range names {
		cells[i], quoted[i] = row[name], "quote("+name+")"
	}
	var stored string
	err := conn.QueryRowContext(context.Background(), "INSERT INTO "+table+" ("+strings.Join(names, ", ")+") VALUES ("+strings.Join(cells, ", ")+
		") RETURNING "+strings.Join(quoted, " || ', ' || ")).Scan(&stored)
	ignored := errors.Is(err, sql.ErrNoRows)
	return fmt.Sprint(cells, " becomes ", stored, " ", ignored, " ", err == nil)
}

// behaviour is what becomes of rows that differ from a sound one in one column, alone
// and beside the sound one.
func behaviour(t testing.TB, conn *sql.Conn, table string) (lines []string) {
	t.Helper()
	execute(t, conn, "SAVEPOINT probing; DELETE FROM "+table)
	defer execute(t, conn, "ROLLBACK TO probing; RELEASE probing")
	if table != "resources" {
		insert(conn, "resources", columnsOf("resources"), base("resources"))
	}
	names := columnsOf(table)
	for _, name := range names {
		row := base(table)
		for _, value := range valuesFor(table, name) {
			row[name] = value
			lines = append(lines, insert(conn, table, names, row))
			execute(t, conn, "DELETE FROM "+table)
		}
	}
	if first := insert(conn, table, names, base(table)); !strings.HasSuffix(first, "true") {
		t.Fatalf("%s does not take a sound row: %s", table, first)
	}
	for _, name := range names {
		row := base(table)
		for _, value := range []string{"'X'", "2"} {
			row[name] = value
			lines = append(lines, insert(conn, table, names, row))
		}
	}
	return append(lines, texts(t, conn, "SELECT count(*) FROM "+table)...)
}
