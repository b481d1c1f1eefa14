package layout

import (
	"fmt"
	"slices"
	"strings"
)

// compare tells how each of our tables differs from v1.
func (s store) compare() map[string][]string {
	found := map[string][]string{}
	for _, name := range tableNames {
		if s.object(name) == nil && name != intentsTable {
			found[name] = []string{"table " + name + " is missing"}
			continue
		}
		found[name] = append(s.tableDifferences(name), s.takenNames(name)...)
	}
	return found
}

func (s store) hasOurTables() bool {
	for _, name := range tableNames {
		if s.object(name) != nil {
			return true
		}
	}
	return false
}

// tableDifferences compares one table, if it is there.
func (s store) tableDifferences(name string) []string {
	o := s.object(name)
	if o == nil {
		return nil
	}
	if o.kind != "table" {
		return []string{fmt.Sprintf("table %s is a %s", name, o.kind)}
	}
	c := newComparison(name, v1().Tables[name], s.layout.Tables[name])
	if o.name != name {
		c.add("the name is written %s", printable(o.name))
	}
	c.compareColumns()
	c.compareOptions()
	c.compareChecks()
	c.compareForeignKeys()
	c.compareConstraints()
	c.compareIndexes()
	for _, trigger := range c.have.Triggers {
		c.add("trigger %s is not part of v1", printable(trigger))
	}
	return c.differences
}

// takenNames finds objects that bear the name of one of the table's indexes:
// `CREATE INDEX IF NOT EXISTS` would fail on them, or make nothing.
func (s store) takenNames(table string) []string {
	var differences []string
	for _, index := range created(v1().Tables[table].Indexes) {
		for _, o := range s.objects {
			taken := lower(o.name) == index.Name && o.kind != "trigger"
			if taken && (o.kind != "index" || lower(o.table) != table) {
				differences = append(differences, fmt.Sprintf("index %s: another %s has its name", index.Name, o.kind))
			}
		}
	}
	return differences
}

// comparison collects how a table differs from v1.
type comparison struct {
	table       string
	want, have  Table
	columns     map[string]bool // names in have, in lower case
	differences []string
}

func newComparison(table string, want, have Table) *comparison {
	c := &comparison{table: table, want: want, have: have, columns: map[string]bool{}}
	for _, column := range have.Columns {
		c.columns[lower(column.Name)] = true
	}
	return c
}

// add notes a difference of the table.
func (c *comparison) add(format string, args ...any) {
	c.differences = append(c.differences, "table "+c.table+": "+fmt.Sprintf(format, args...))
}

func (c *comparison) compareColumns() {
	for _, want := range c.want.Columns {
		have := find(c.have.Columns, want.Name)
		if have == nil {
			c.add("column %s is missing", want.Name)
			continue
		}
		c.compareColumn(want, *have)
	}
	for _, have := range c.have.Columns {
		if find(c.want.Columns, have.Name) == nil {
			c.add("column %s is not part of v1", printable(have.Name))
		}
	}
}

// compareColumn is strict about the letters of a name, because hosts get rows
// by column name, and lax about those of a type.
func (c *comparison) compareColumn(want, have Column) {
	if lower(have.Type) != lower(want.Type) {
		c.add("column %s has type %q, not %s", want.Name, printable(have.Type), want.Type)
	}
	if have.NotNull && !want.NotNull {
		c.add("column %s is NOT NULL", want.Name)
	}
	if !have.NotNull && want.NotNull {
		c.add("column %s is not NOT NULL", want.Name)
	}
	if !equal(have.Default, want.Default, verbatim) {
		c.add("column %s has default %s, not %s", want.Name, printable(orNone(have.Default)), orNone(want.Default))
	}
	if have.PrimaryKey != want.PrimaryKey {
		c.add("column %s has place %d in the primary key, not %d", want.Name, have.PrimaryKey, want.PrimaryKey)
	}
	if have.Generated && !want.Generated {
		c.add("column %s is generated", want.Name)
	}
}

func (c *comparison) compareOptions() {
	c.compareOption("AUTOINCREMENT", c.want.Autoincrement, c.have.Autoincrement)
	c.compareOption("STRICT", c.want.Strict, c.have.Strict)
	c.compareOption("WITHOUT ROWID", c.want.WithoutRowID, c.have.WithoutRowID)
	for _, clause := range c.have.Clauses { // v1 has none
		c.add("%s is not part of v1", printable(clause))
	}
}

func (c *comparison) compareOption(name string, want, have bool) {
	if want && !have {
		c.add("%s is missing", name)
	}
	if have && !want {
		c.add("%s is not part of v1", name)
	}
}

// Early hosts still wrote launch_failure notifications. Their CHECK is wider,
// which harms nobody once those rows are delivered.
const (
	notificationKinds      = "kind in ('progress', 'final')"
	earlyNotificationKinds = "kind in ('progress', 'final', 'launch_failure')"
)

func (c *comparison) compareChecks() {
	missing, extra := unmatched(c.want.Checks, c.have.Checks, c.checkKey)
	for _, check := range missing {
		c.add("CHECK (%s) is missing", check)
	}
	for _, check := range extra {
		c.add("%shas CHECK (%s), which is not part of v1", c.subject(check), printable(check))
	}
}

func (c *comparison) checkKey(check string) string {
	key := canonical(check, c.columns)
	if c.table == "workflow_notifications" && key == earlyNotificationKinds {
		return notificationKinds
	}
	return key
}

// subject names the column that a CHECK begins with, if it does.
func (c *comparison) subject(check string) string {
	tokens := tokenize(check)
	if len(tokens) == 0 || !c.columns[tokens[0].name()] {
		return ""
	}
	return "column " + printable(tokens[0].name()) + " "
}

func (c *comparison) compareForeignKeys() {
	missing, extra := unmatched(describeForeignKeys(c.want), describeForeignKeys(c.have), lower)
	for _, key := range missing {
		c.add("foreign key %s is missing", key)
	}
	for _, key := range extra {
		c.add("foreign key %s is not part of v1", printable(key))
	}
}

// describeForeignKeys writes each key of a table as one text, because the
// numbers of the groups mean nothing.
func describeForeignKeys(t Table) []string {
	var keys []string
	for i := 0; i < len(t.ForeignKeys); {
		first := t.ForeignKeys[i]
		var from, to []string
		for ; i < len(t.ForeignKeys) && t.ForeignKeys[i].Group == first.Group; i++ {
			from = append(from, t.ForeignKeys[i].From)
			to = append(to, t.ForeignKeys[i].To)
		}
		keys = append(keys, fmt.Sprintf("(%s) to %s (%s) ON DELETE %s ON UPDATE %s",
			strings.Join(from, ", "), first.Table, strings.Join(to, ", "), first.OnDelete, first.OnUpdate))
	}
	return keys
}

// unmatched gives what only want and what only have holds, each as often as it
// is there. Two are equal where their keys are.
func unmatched(want, have []string, key func(string) string) (missing, extra []string) {
	left := make([]string, len(have))
	for i, h := range have {
		left[i] = key(h)
	}
	extra = slices.Clone(have)
	for _, w := range want {
		i := slices.Index(left, key(w))
		if i < 0 {
			missing = append(missing, w)
			continue
		}
		left = slices.Delete(left, i, i+1)
		extra = slices.Delete(extra, i, i+1)
	}
	return missing, extra
}

func find(columns []Column, name string) *Column {
	for i := range columns {
		if columns[i].Name == name {
			return &columns[i]
		}
	}
	return nil
}

// equal compares texts that may be absent by their keys.
func equal(a, b *string, key func(string) string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return key(*a) == key(*b)
}

func verbatim(s string) string { return s }

func orNone(s *string) string {
	if s == nil {
		return "none"
	}
	return *s
}
