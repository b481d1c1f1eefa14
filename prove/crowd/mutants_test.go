package crowd

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	schema "github.com/pi-workflows/wfcore/sql"
)

// table is a table of the schema: its columns and constraints, and its indexes. core/layout
// tries more and smaller changes, on a schema in memory; here a file is made of each.
type table struct {
	name    string
	parts   []string
	indexes []string
}

var (
	comment   = regexp.MustCompile(`--[^\n]*`)
	tableHead = regexp.MustCompile(`(?s)CREATE TABLE IF NOT EXISTS (\w+) \((.*)\)$`)
	indexHead = regexp.MustCompile(`(?s)CREATE (UNIQUE )?INDEX IF NOT EXISTS (\w+)\s+ON (\w+)`)
	column    = regexp.MustCompile(`^([a-z_]+) (TEXT|INTEGER)`)
)

// tables takes the schema apart, which has one statement after another.
func tables() (all []table) {
	for _, statement := range strings.Split(comment.ReplaceAllString(schema.Schema, ""), ";") {
		statement = strings.TrimSpace(statement)
		if m := tableHead.FindStringSubmatch(statement); m != nil {
			all = append(all, table{name: m[1], parts: splitParts(m[2])})
		}
		if m := indexHead.FindStringSubmatch(statement); m != nil {
			i := slices.IndexFunc(all, func(t table) bool { return t.name == m[3] })
			all[i].indexes = append(all[i].indexes, statement)
		}
	}
	return all
}

// splitParts splits at the commas that are in no parentheses.
func splitParts(text string) (parts []string) {
	depth, from := 0, 0
	for i, c := range text + "," {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, strings.TrimSpace(text[from:i]))
				from = i + 1
			}
		}
	}
	return parts
}

func (t table) String() string {
	return fmt.Sprintf("CREATE TABLE %s (%s);\n%s;\n", t.name, strings.Join(t.parts, ", "), strings.Join(t.indexes, ";\n"))
}

func columnOf(part string) string {
	if m := column.FindStringSubmatch(part); m != nil {
		return m[1]
	}
	return ""
}

// mutant is a table with one thing changed, and what the refusal names.
type mutant struct {
	name, want string
	table
}

func mutantsOf(t table) (all []mutant) {
	add := func(name, want string, changed table) { all = append(all, mutant{t.name + " " + name, want, changed}) }
	inTable := "table " + t.name + ": "
	add("with one more column", inTable+"column extra", t.with(columnsOf(t), "extra TEXT"))
	for i, part := range t.parts {
		name := columnOf(part)
		if name == "" {
			add("without "+part, inTable, t.without(i))
			continue
		}
		want := inTable + "column " + name
		add("without "+name, want+" is missing", t.withoutColumn(i))
		add(name+" retyped", want, t.replaced(i, retyped(part)))
		add(name+" of the other nullability", want, t.replaced(i, otherNullability(part)))
	}
	for i, part := range t.parts {
		for what, changed := range constraintsOf(part) {
			add(what+" in "+part, inTable, t.replaced(i, changed))
		}
	}
	for i, index := range t.indexes {
		name := indexHead.FindStringSubmatch(index)[2]
		for what, changed := range indexesOf(index) {
			add(name+" "+what, "index "+name, t.withIndex(i, changed))
		}
	}
	slices.SortFunc(all, func(a, b mutant) int { return strings.Compare(a.name, b.name) })
	return all
}

func columnsOf(t table) (n int) {
	for _, part := range t.parts {
		if columnOf(part) != "" {
			n++
		}
	}
	return n
}

func retyped(part string) string {
	if strings.Contains(part, " TEXT") {
		return strings.Replace(part, " TEXT", " BLOB", 1)
	}
	return strings.Replace(strings.Replace(part, " INTEGER", " TEXT", 1), " AUTOINCREMENT", "", 1)
}

func otherNullability(part string) string {
	if strings.Contains(part, " NOT NULL") {
		return strings.Replace(part, " NOT NULL", "", 1)
	}
	return part + " NOT NULL"
}

// constraintsOf are the changes of what else a column or table is bound to.
func constraintsOf(part string) map[string]string {
	changes := map[string]string{
		"no CHECK":         regexp.MustCompile(`(?s) CHECK \(.*\)`).ReplaceAllString(part, ""),
		"a wider CHECK":    strings.Replace(part, "CHECK (", "CHECK (1 OR ", 1),
		"a wider set":      strings.Replace(part, "IN ('", "IN ('other', '", 1),
		"no UNIQUE":        strings.Replace(part, " UNIQUE", "", 1),
		"no AUTOINCREMENT": strings.Replace(part, " AUTOINCREMENT", "", 1),
		"no ON DELETE":     strings.Replace(part, " ON DELETE CASCADE", "", 1),
		"no PRIMARY KEY":   regexp.MustCompile(`(\w) PRIMARY KEY( AUTOINCREMENT)?`).ReplaceAllString(part, "$1"),
	}
	for what, changed := range changes {
		if changed == part {
			delete(changes, what)
		}
	}
	return changes
}

func indexesOf(index string) map[string]string {
	changes := map[string]string{
		"dropped":             "SELECT 1",
		"unique or not":       strings.Replace(index, "CREATE INDEX", "CREATE UNIQUE INDEX", 1),
		"descending":          regexp.MustCompile(`\((\w+)`).ReplaceAllString(index, "($1 DESC"),
		"without a predicate": regexp.MustCompile(`(?s)\s+WHERE .*`).ReplaceAllString(index, ""),
	}
	if strings.Contains(index, "UNIQUE") {
		changes["unique or not"] = strings.Replace(index, "UNIQUE ", "", 1)
	}
	for what, changed := range changes {
		if changed == index {
			delete(changes, what)
		}
	}
	return changes
}

func (t table) with(at int, part string) table {
	t.parts = slices.Insert(slices.Clone(t.parts), at, part)
	return t
}

func (t table) without(i int) table {
	t.parts = slices.Delete(slices.Clone(t.parts), i, i+1)
	return t
}

func (t table) replaced(i int, part string) table {
	t.parts = slices.Clone(t.parts)
	t.parts[i] = part
	return t
}

func (t table) withIndex(i int, index string) table {
	t.indexes = slices.Clone(t.indexes)
	t.indexes[i] = index
	return t
}

// withoutColumn drops a column, and what cannot be without it.
func (t table) withoutColumn(i int) table {
	name := regexp.MustCompile(`\b` + columnOf(t.parts[i]) + `\b`)
	t = t.without(i)
	t.parts = slices.DeleteFunc(t.parts, func(part string) bool { return columnOf(part) == "" && name.MatchString(part) })
	t.indexes = slices.DeleteFunc(slices.Clone(t.indexes), name.MatchString)
	return t
}
