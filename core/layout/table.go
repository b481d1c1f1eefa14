package layout

// tableDDL is what only the text of a CREATE TABLE tells.
type tableDDL struct {
	checks        []string
	clauses       []string
	autoincrement bool
	strict        bool
	withoutRowID  bool
}

func parseTable(sql string) tableDDL {
	tokens := tokenize(sql)
	open := 0
	for open < len(tokens) && !tokens[open].is("(") {
		open++
	}
	end := closing(tokens, open)

	ddl := tableDDL{checks: []string{}}
	for i := open + 1; i < end; i++ {
		t := tokens[i]
		switch {
		case t.is("("):
			i = ddl.skip(tokens, i)
		case t.isWord("check") && i+1 < end && tokens[i+1].is("("):
			stop := closing(tokens, i+1)
			ddl.checks = append(ddl.checks, render(unwrap(tokens[i+2:stop])))
			i = stop
		case t.isWord("autoincrement"):
			ddl.autoincrement = true
		default:
			ddl.addClause(tokens[i:end], i > 0 && tokens[i-1].isWord("not"))
		}
	}
	for i := end + 1; i < len(tokens); i++ {
		ddl.strict = ddl.strict || tokens[i].isWord("strict")
		ddl.withoutRowID = ddl.withoutRowID || tokens[i].isWord("rowid")
	}
	return ddl
}

// skip passes over a parenthesis. The key columns of a table may hold
// AUTOINCREMENT there; all else in it is seen by a pragma.
func (d *tableDDL) skip(tokens []token, open int) int {
	end := closing(tokens, open)
	for _, t := range tokens[open:end] {
		d.autoincrement = d.autoincrement || t.isWord("autoincrement")
	}
	return end
}

func (d *tableDDL) addClause(tokens []token, negated bool) {
	switch {
	case startsWith(tokens, "collate") && len(tokens) > 1 && tokens[1].name() != "binary":
		d.clauses = append(d.clauses, render(tokens[:2]))
	case startsWith(tokens, "on", "conflict") && len(tokens) > 2 && !tokens[2].isWord("abort"):
		d.clauses = append(d.clauses, render(tokens[:3]))
	case startsWith(tokens, "deferrable", "initially", "deferred") && !negated:
		d.clauses = append(d.clauses, render(tokens[:3]))
	}
}

func startsWith(tokens []token, keywords ...string) bool {
	if len(tokens) < len(keywords) {
		return false
	}
	for i, keyword := range keywords {
		if !tokens[i].isWord(keyword) {
			return false
		}
	}
	return true
}

// parsePredicate gives the WHERE of a CREATE INDEX, or nil.
func parsePredicate(sql string) *string {
	tokens := tokenize(sql)
	for i, t := range tokens {
		if t.isWord("where") {
			predicate := render(unwrap(tokens[i+1:]))
			return &predicate
		}
	}
	return nil
}
