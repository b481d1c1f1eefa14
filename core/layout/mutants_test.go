package layout

import (
	"context"
	"database/sql"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// mutant is schema.sql with one thing changed.
type mutant struct {
	name string
	ddl  ddl
	more string // statements to run after the DDL
	want string // what a difference must name
}

// TestMutants changes one thing after another in schema.sql: each must be
// refused, and the refusal must name the table or index.
func TestMutants(t *testing.T) {
	d := parseSchema(t)
	wantState(t, build(t, d.String()), Current) // else all would be refused for nothing

	var tried, skipped atomic.Int32
	t.Run("all", func(t *testing.T) {
		for i, table := range d.tables {
			t.Run(table.name, func(t *testing.T) {
				t.Parallel()
				conn := build(t, d.String()+"PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON")
				for _, m := range mutantsOf(d, i) {
					t.Run(m.name, func(t *testing.T) {
						skipped.Add(1)
						try(t, conn, "DROP TABLE "+table.name+"; "+m.ddl.statements(m.ddl.tables[i])+m.more, m.want)
						skipped.Add(-1)
						tried.Add(1)
					})
				}
			})
		}
	})

	const wantTried, wantSkipped = 1742, 30
	if tried.Load() != wantTried || skipped.Load() != wantSkipped {
		t.Errorf("%d mutants tried and %d not built, want %d and %d", tried.Load(), skipped.Load(), wantTried, wantSkipped)
	}
}

// try makes a mutant of the store and rolls it back, which is faster than to
// make a new one.
func try(t *testing.T, conn *sql.Conn, statements, want string) {
	execute(t, conn, "BEGIN")
	defer execute(t, conn, "ROLLBACK")
	if _, err := conn.ExecContext(context.Background(), statements); err != nil {
		t.Skip(err)
	}
	wantDifference(t, incompatibility(t, conn), want)
}

func mutantsOf(d ddl, table int) []mutant {
	mutants := tableMutants(d, table)
	for part, text := range d.tables[table].parts {
		if isColumn(text) {
			mutants = append(mutants, columnMutants(d, table, part)...)
		}
		mutants = append(mutants, constraintMutants(d, table, part)...)
	}
	for i, index := range d.indexes {
		if index.table == d.tables[table].name {
			mutants = append(mutants, indexMutants(d, i)...)
		}
	}
	return mutants
}

func tableMutants(d ddl, table int) []mutant {
	name := d.tables[table].name
	first := columnName(d.tables[table].parts[0])
	return []mutant{
		{name + " with one more column", d.with(table, "extra TEXT"), "", "table " + name + ": column extra "},
		{name + " with a generated column", d.with(table, "extra TEXT AS ('x') STORED"), "", "table " + name + ": column extra "},
		{name + " with one more CHECK", d.with(table, "CHECK ("+first+" <> 'x')"), "", "table " + name + ": column " + first + " has CHECK"},
		{name + " with one more UNIQUE", d.with(table, "UNIQUE ("+first+", "+first+" COLLATE NOCASE)"), "", "table " + name + ": UNIQUE"},
		{name + " with one more foreign key", d.with(table, "FOREIGN KEY ("+first+") REFERENCES resources (uid)"), "",
			"table " + name + ": foreign key"},
		{name + " STRICT", d.option(table, "STRICT"), "", "table " + name + ": STRICT"},
		{name + " WITHOUT ROWID", d.option(table, "WITHOUT ROWID"), "", "table " + name + ": WITHOUT ROWID"},
		{name + " with a trigger", d, "CREATE TRIGGER x AFTER UPDATE ON " + name + " BEGIN SELECT 1; END", "table " + name + ": trigger x"},
		{name + " with a unique index", d, "CREATE UNIQUE INDEX x ON " + name + " (" + first + ")", "table " + name + ": unique index x"},
		{name + " with a unique partial index", d, "CREATE UNIQUE INDEX x ON " + name + " (" + first + ") WHERE 0",
			"table " + name + ": unique index x"},
		{name + " with a unique index of an expression", d, "CREATE UNIQUE INDEX x ON " + name + " (lower(" + first + "))",
			"table " + name + ": unique index x"},
		{name + " as a view", d, "ALTER TABLE " + name + " RENAME TO x; CREATE VIEW " + name + " AS SELECT * FROM x", "table " + name + " is a view"},
	}
}

var (
	typeOf        = regexp.MustCompile(`^(\w+) (TEXT|INTEGER)`)
	primaryKey    = regexp.MustCompile(` PRIMARY KEY`)
	autoincrement = regexp.MustCompile(` AUTOINCREMENT`)
	notNull       = regexp.MustCompile(` NOT NULL`)
	unique        = regexp.MustCompile(` UNIQUE`)
	check         = regexp.MustCompile(`(?s) CHECK \(.*\)$`)
	inSet         = regexp.MustCompile(`IN \(('\w+'), `)
	bound         = regexp.MustCompile(`(>=?|=) (\d)`)
	cascade       = regexp.MustCompile(` ON DELETE CASCADE`)
	referenced    = regexp.MustCompile(`REFERENCES resources`)
)

func columnMutants(d ddl, table, part int) []mutant {
	name, column := d.tables[table].name, columnName(d.tables[table].parts[part])
	subject := name + "." + column
	want := "table " + name + ": column " + column
	replaced := func(what string, pattern *regexp.Regexp, by string) mutant {
		return mutant{subject + " " + what, d.replaced(table, part, pattern, by), "", want}
	}
	suffixed := func(what, by string) mutant {
		return mutant{subject + " " + what, d.replaced(table, part, typeOf, "$0 "+by), "", want}
	}
	mutants := []mutant{
		{subject + " missing", d.withoutColumn(table, part), "", want + " is missing"},
		replaced("as a BLOB", typeOf, "$1 BLOB"),
		replaced("as REAL", typeOf, "$1 REAL"),
		replaced("without a type", typeOf, "$1"),
		replaced("in capitals", regexp.MustCompile(`^\w+`), strings.ToUpper(column)),
		suffixed("with a default", "DEFAULT 7"),
		suffixed("with a default that is NULL", "DEFAULT NULL"),
		suffixed("generated", "AS (1)"),
		{subject + " with a collation", d.replaced(table, part, typeOf, "$0 COLLATE NOCASE"), "", "table " + name + ": COLLATE NOCASE"},
		{subject + " with a further CHECK", d.replaced(table, part, typeOf, "$0 CHECK ("+column+" <> 9)"), "", want + " has CHECK"},
		{subject + " with a foreign key", d.replaced(table, part, typeOf, "$0 REFERENCES resources (uid)"), "", "table " + name + ": foreign key"},
	}
	if !unique.MatchString(d.tables[table].parts[part]) && !primaryKey.MatchString(d.tables[table].parts[part]) {
		mutants = append(mutants, mutant{subject + " UNIQUE", d.replaced(table, part, typeOf, "$0 UNIQUE"), "",
			"table " + name + ": UNIQUE (" + column + ")"})
	}
	if notNull.MatchString(d.tables[table].parts[part]) {
		return append(mutants, replaced("nullable", notNull, ""),
			mutant{subject + " with a conflict clause", d.replaced(table, part, notNull, " NOT NULL ON CONFLICT IGNORE"), "",
				"table " + name + ": ON CONFLICT IGNORE"})
	}
	return append(mutants, suffixed("NOT NULL", "NOT NULL"))
}

// constraintMutants changes the constraints in one part, a column or not.
func constraintMutants(d ddl, table, part int) []mutant {
	name := d.tables[table].name
	text := d.tables[table].parts[part]
	label := name + ": " + strings.Join(strings.Fields(text)[:1], "")
	var mutants []mutant
	change := func(what string, pattern *regexp.Regexp, by, want string) {
		if pattern.MatchString(text) {
			mutants = append(mutants, mutant{label + " " + what, d.replaced(table, part, pattern, by), "", "table " + name + ": " + want})
		}
	}
	change("loses CHECK", check, "", "CHECK (")
	change("has a wider set", inSet, "IN ('other', $1, ", "")
	change("has a narrower set", inSet, "IN (", "")
	change("has a set in other letters", regexp.MustCompile(`IN \('(\w)`), "IN ('_$1", "")
	change("has another bound", bound, "$1 1$2", "")
	change("has another comparison", bound, "< $2", "")
	change("has a disjunction", check, "$0 CHECK (1)", "has CHECK (1)")
	change("has another OR", regexp.MustCompile(`\) OR`), ") AND", "CHECK (")
	change("has another null test", regexp.MustCompile(`resolution IS NULL`), "resolution IS NOT NULL", "CHECK (")
	change("quotes the column as a text", regexp.MustCompile(`\((\w+) IN`), "('$1' IN", "CHECK (")
	change("loses PRIMARY KEY", primaryKey, "", "")
	change("has PRIMARY KEY DESC", primaryKey, " PRIMARY KEY DESC", "")
	change("has PRIMARY KEY ON CONFLICT", primaryKey, " PRIMARY KEY ON CONFLICT REPLACE", "ON CONFLICT REPLACE")
	change("loses AUTOINCREMENT", autoincrement, "", "AUTOINCREMENT is missing")
	change("gains AUTOINCREMENT", regexp.MustCompile(`INTEGER PRIMARY KEY`), "$0 AUTOINCREMENT", "AUTOINCREMENT is not part of v1")
	change("loses UNIQUE", unique, "", "UNIQUE (")
	change("loses ON DELETE", cascade, "", "foreign key")
	change("has another ON DELETE", cascade, " ON DELETE SET NULL", "foreign key")
	change("has ON UPDATE", cascade, "$0 ON UPDATE CASCADE", "foreign key")
	change("references another table", referenced, "REFERENCES effects", "foreign key")
	change("defers its foreign key", cascade, "$0 DEFERRABLE INITIALLY DEFERRED", "DEFERRABLE INITIALLY DEFERRED")
	if isColumn(text) {
		return mutants
	}
	dropped := d.clone()
	dropped.tables[table].parts = slices.Delete(dropped.tables[table].parts, part, part+1)
	mutants = append(mutants, mutant{label + " dropped", dropped, "", "table " + name + ": "})
	change("in another order", regexp.MustCompile(`^([A-Z ]+)\((\w+), (.*?)\)`), "$1($3, $2)", "")
	change("of fewer columns", regexp.MustCompile(`^([A-Z ]+)\((\w+), (.*?)\)`), "$1($2)", "")
	change("descending", regexp.MustCompile(`^(PRIMARY KEY|UNIQUE) \((\w+),`), "$1 ($2 DESC,", "")
	change("with a collation", regexp.MustCompile(`^(PRIMARY KEY|UNIQUE) \((\w+),`), "$1 ($2 COLLATE NOCASE,", "")
	return mutants
}

func indexMutants(d ddl, index int) []mutant {
	name, table := d.indexes[index].name, d.indexes[index].table
	var mutants []mutant
	change := func(what string, edit func(*ddlIndex)) {
		changed := d.clone()
		edit(&changed.indexes[index])
		mutants = append(mutants, mutant{"index " + name + " " + what, changed, "", "index " + name + " "})
	}
	dropped := d.clone()
	dropped.indexes = slices.Delete(dropped.indexes, index, index+1)
	mutants = append(mutants, mutant{"index " + name + " dropped", dropped, "", "index " + name + " is missing"})

	change("with the other uniqueness", func(i *ddlIndex) { i.unique = !i.unique })
	change("with one more column", func(i *ddlIndex) { i.columns = append(i.columns, i.columns[0]+" || ''") })
	change("descending", func(i *ddlIndex) { i.columns[0] += " DESC" })
	change("with a collation", func(i *ddlIndex) { i.columns[0] += " COLLATE NOCASE" })
	change("of an expression", func(i *ddlIndex) { i.columns[0] = "lower(" + i.columns[0] + ")" })
	change("of a column twice", func(i *ddlIndex) { i.columns = append(i.columns, i.columns[0]) })
	change("under another name", func(i *ddlIndex) { i.name += "_2" })
	elsewhere := d.indexes[index]
	elsewhere.table = "elsewhere"
	mutants = append(mutants, mutant{"index " + name + " on another table", dropped,
		"CREATE TABLE elsewhere AS SELECT * FROM " + table + "; " + elsewhere.String(), "index " + name + ": another index has its name"})

	if columns := d.indexes[index].columns; len(columns) > 1 {
		change("in another order", func(i *ddlIndex) { slices.Reverse(i.columns) })
		for j, column := range columns {
			change("without "+column, func(i *ddlIndex) { i.columns = slices.Delete(i.columns, j, j+1) })
			if ascending, found := strings.CutSuffix(column, " DESC"); found {
				change("ascending", func(i *ddlIndex) { i.columns[j] = ascending })
			}
		}
	}
	if d.indexes[index].where == "" {
		change("with a predicate", func(i *ddlIndex) { i.where = columnName(i.columns[0]) + " IS NOT NULL" })
		return mutants
	}
	change("without a predicate", func(i *ddlIndex) { i.where = "" })
	change("with the opposite predicate", func(i *ddlIndex) { i.where = "NOT (" + i.where + ")" })
	change("with a narrower predicate", func(i *ddlIndex) { i.where += " AND rowid > 0" })
	change("with another null test", func(i *ddlIndex) {
		i.where = strings.NewReplacer("IS NOT NULL", "IS NULL", "IS NULL", "IS NOT NULL").Replace(i.where)
	})
	return mutants
}

// with adds a part to a table.
func (d ddl) with(table int, part string) ddl {
	d = d.clone()
	parts := d.tables[table].parts
	at := slices.IndexFunc(parts, func(p string) bool { return !isColumn(p) })
	if at < 0 || !isColumn(part) {
		at = len(parts)
	}
	d.tables[table].parts = slices.Insert(parts, at, part)
	return d
}

func (d ddl) option(table int, option string) ddl {
	d = d.clone()
	d.tables[table].options = option
	return d
}

func (d ddl) replaced(table, part int, pattern *regexp.Regexp, by string) ddl {
	d = d.clone()
	parts := d.tables[table].parts
	parts[part] = pattern.ReplaceAllString(parts[part], by)
	return d
}

// withoutColumn drops a column and what cannot be built without it.
func (d ddl) withoutColumn(table, part int) ddl {
	d = d.clone()
	name, column := d.tables[table].name, columnName(d.tables[table].parts[part])
	d.tables[table].parts = slices.DeleteFunc(d.tables[table].parts, func(p string) bool {
		return columnName(p) == column || !isColumn(p) && mentions(p, column)
	})
	d.indexes = slices.DeleteFunc(d.indexes, func(i ddlIndex) bool {
		return i.table == name && mentions(i.String(), column)
	})
	if name == "schema_info" {
		d.insert = ""
	}
	return d
}
