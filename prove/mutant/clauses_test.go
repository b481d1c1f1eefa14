package mutant

import (
	"fmt"
	"slices"
	"strings"
)

// mutant is a statement with one fault.
type mutant struct {
	statement string // its name
	fault     string // which fault, for the name of its test
	what      string // the text that is broken
	sql       string
}

func (m mutant) name() string { return m.statement + "/" + m.fault }

// breaker makes the mutants of one statement. A term is never taken out of the text:
// (1 OR (term)) holds always and has the parameters that it had.
type breaker struct {
	text
	statement string
	mutants   []mutant
	counts    map[string]int
}

// broken are the mutants of a statement.
func broken(name, sql string) []mutant {
	b := &breaker{text: read(sql), statement: name, counts: map[string]int{}}
	b.clauses("", span{0, len(b.tokens)})
	return b.mutants
}

// add makes one mutant, with format in the place of the span, of its text.
func (b *breaker) add(fault string, s span, format string, args ...any) {
	b.counts[fault]++
	what := b.of(s)
	if strings.Contains(format, "%s") && len(args) == 0 {
		args = []any{what}
	}
	b.mutants = append(b.mutants, mutant{
		b.statement, fmt.Sprintf("%s_%d", fault, b.counts[fault]), strings.Join(strings.Fields(what), " "),
		b.sql[:b.tokens[s.from].from] + fmt.Sprintf(format, args...) + b.sql[b.tokens[s.to-1].to:],
	})
}

// openers are the words that begin a clause.
var openers = []string{"SELECT", "FROM", "SET", "VALUES", "ON", "WHERE", "ORDER", "LIMIT", "OFFSET", "RETURNING", "WHEN", "THEN", "ELSE"}

// clauses breaks each clause of what stands between two parentheses, in a CASE or in
// the whole; first is the word that the text begins with or that stands before it.
func (b *breaker) clauses(first string, s span) {
	clause, from := first, s.from
	for i := s.from; i < s.to; i = b.next(i) {
		if slices.Contains(openers, b.tokens[i].text) {
			b.clause(clause, span{from, i})
			clause, from = b.tokens[i].text, i+1
		}
	}
	b.clause(clause, span{from, s.to})
	for i := s.from; i < s.to; i = b.next(i) {
		b.operator(i)
		if end, ok := b.ends[i]; ok {
			b.opened(i, end)
		}
	}
}

// opened breaks a parenthesis or a CASE, by the word before it.
func (b *breaker) opened(at, end int) {
	before := "CASE"
	if at > 0 && b.is(at, "(") {
		before = b.tokens[at-1].text
	}
	inside, call := span{at + 1, end}, span{at - 1, end + 1}
	switch before {
	case "CAST":
		if !strings.HasPrefix(b.tokens[at+1].text, "?") { // a parameter is what it was bound as
			b.add("cast", call, "(%s)", b.of(b.split(inside, "AS")[0]))
		}
	case "MAX", "COALESCE":
		args := b.split(inside, ",")
		b.add("first", call, "CASE WHEN 1 THEN %s ELSE %s END", b.of(args[1]), b.of(args[0]))
		b.add("second", call, "CASE WHEN 1 THEN %s ELSE %s END", b.of(args[0]), b.of(args[1]))
	}
	if !slices.Contains([]string{"CASE", "CHECK", "IN", "VALUES"}, before) {
		before = "("
	}
	b.clauses(before, inside)
}

// operator breaks a comparison by the one value at its border, and an order.
func (b *breaker) operator(at int) {
	borders := map[string]string{"<": "<=", "<=": "<", ">": ">=", ">=": ">", "DESC": "ASC"}
	if other, ok := borders[b.tokens[at].text]; ok {
		b.add("border", span{at, at + 1}, other)
	}
}

func (b *breaker) clause(word string, s span) {
	if s.from == s.to {
		return
	}
	switch word {
	case "WHERE", "WHEN", "CHECK":
		b.terms(strings.ToLower(word), s, true)
	case "ON":
		switch {
		case b.is(s.from, "CONFLICT", "DO", "NOTHING"):
			b.add("conflict", span{s.from - 1, s.from + 3}, "")
		case !b.is(0, "CREATE"): // there it is the table of an index, or ON DELETE
			b.terms("on", s, true)
		}
	case "THEN", "ELSE", "(":
		b.terms("term", s, false)
	case "IN":
		b.items(s)
	case "SET":
		for _, item := range b.split(s, ",") {
			column, value := b.of(span{item.from, item.from + 1}), span{item.from + 2, item.to}
			b.add("set", value, "CASE WHEN 1 THEN %s ELSE %s END", column, b.of(value))
		}
	case "VALUES":
		if b.is(s.from, "(") {
			return // its items are broken inside
		}
		for _, value := range b.split(s, ",") {
			b.add("value", value, "CASE WHEN 1 THEN NULL ELSE %s END")
		}
	case "ORDER":
		b.order(s)
	case "LIMIT":
		b.add("limit", s, "CASE WHEN 1 THEN -1 ELSE %s END")
	case "OFFSET":
		b.add("offset", s, "CASE WHEN 1 THEN 0 ELSE %s END")
	}
}

// terms lets each conjunct hold always, and each disjunct never.
func (b *breaker) terms(fault string, s span, condition bool) {
	either := b.split(s, "OR")
	for _, disjunct := range either {
		if len(either) > 1 {
			b.add("or", disjunct, "(0 AND (%s))")
		}
		all := b.split(disjunct, "AND")
		if len(all) == 1 && (len(either) > 1 || !condition) {
			continue
		}
		for _, conjunct := range all {
			b.add(fault, conjunct, "(1 OR (%s))")
		}
	}
}

// items leaves out each text of a list.
func (b *breaker) items(s span) {
	list := b.split(s, ",")
	if b.tokens[s.from].text[0] != '\'' {
		return // a SELECT
	}
	for _, item := range list {
		b.add("in", item, "NULL")
	}
}

// order leaves out each term of an order.
func (b *breaker) order(s span) {
	for _, term := range b.split(span{s.from + 1, s.to}, ",") {
		if b.is(term.to-1, "DESC") {
			term.to--
		}
		b.add("order", term, "CASE WHEN 1 THEN 0 ELSE %s END")
	}
}
