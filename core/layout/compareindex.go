package layout

import (
	"fmt"
	"slices"
	"strings"
)

// compareConstraints compares the indexes that SQLite made for PRIMARY KEY and
// UNIQUE. Their names only number them, so they are not looked at.
func (c *comparison) compareConstraints() {
	missing, extra := unmatched(describeConstraints(c.want), describeConstraints(c.have), verbatim)
	for _, constraint := range missing {
		c.add("%s is missing", constraint)
	}
	for _, constraint := range extra {
		c.add("%s is not part of v1", printable(constraint))
	}
}

func describeConstraints(t Table) []string {
	var constraints []string
	for _, index := range t.Indexes {
		if index.Origin != originCreate {
			constraints = append(constraints, index.Origin+" "+list(index.Columns))
		}
	}
	return constraints
}

// compareIndexes lets further indexes pass that constrain nothing.
func (c *comparison) compareIndexes() {
	want, have := created(c.want.Indexes), created(c.have.Indexes)
	for _, w := range want {
		i := slices.IndexFunc(have, func(h Index) bool { return h.Name == w.Name })
		if i < 0 {
			c.differences = append(c.differences, fmt.Sprintf("index %s is missing", w.Name))
			continue
		}
		c.compareIndex(w, have[i])
	}
	for _, h := range have {
		known := slices.ContainsFunc(want, func(w Index) bool { return h.Name == w.Name })
		if h.Unique && !known {
			c.add("unique index %s is not part of v1", printable(h.Name))
		}
	}
}

func (c *comparison) compareIndex(want, have Index) {
	add := func(format string, args ...any) {
		c.differences = append(c.differences, "index "+want.Name+" "+fmt.Sprintf(format, args...))
	}
	if have.Unique && !want.Unique {
		add("is UNIQUE")
	}
	if !have.Unique && want.Unique {
		add("is not UNIQUE")
	}
	if !slices.Equal(have.Columns, want.Columns) {
		add("is on %s, not %s", printable(list(have.Columns)), list(want.Columns))
	}
	if !equal(have.Where, want.Where, c.predicateKey) {
		add("has predicate %s, not %s", printable(orNone(have.Where)), orNone(want.Where))
	}
}

func (c *comparison) predicateKey(predicate string) string {
	return canonical(predicate, c.columns)
}

func created(indexes []Index) []Index {
	return slices.DeleteFunc(slices.Clone(indexes), func(i Index) bool { return i.Origin != originCreate })
}

func list(columns []string) string {
	return "(" + strings.Join(columns, ", ") + ")"
}
