package mutant

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3/driver"

	schema "github.com/pi-workflows/wfcore/sql"
)

// brokenLayout are the mutants of a CREATE: its CHECKs and predicates, and the
// constraints that are no terms.
func brokenLayout(statement string) []mutant {
	words := read(statement)
	at := slices.IndexFunc(words.tokens, func(l lexeme) bool { return l.text == "EXISTS" }) + 1
	b := &breaker{text: words, statement: words.sql[words.tokens[at].from:words.tokens[at].to], counts: map[string]int{}}
	b.clauses("", span{0, len(b.tokens)})
	for i := range b.tokens {
		b.constraint(i)
	}
	return b.mutants
}

// noConstraint is what stands for one of a table.
const noConstraint = "CHECK (1)"

func (b *breaker) constraint(at int) {
	if at == 0 || b.is(at-1, "IS") {
		return
	}
	switch {
	case b.is(at, "UNIQUE", "INDEX"):
		b.add("unique", span{at, at + 1}, "")
		columns := slices.IndexFunc(b.tokens, func(l lexeme) bool { return l.text == "(" })
		b.columns(span{columns + 1, b.ends[columns]})
	case b.is(at, "UNIQUE", "("), b.is(at, "PRIMARY", "KEY", "("):
		columns := at + 1
		if b.is(at, "PRIMARY") {
			columns++
		}
		b.add("unique", span{at, b.ends[columns] + 1}, noConstraint)
		b.columns(span{columns + 1, b.ends[columns]})
	case b.is(at, "UNIQUE"):
		b.add("unique", span{at, at + 1}, "")
	case b.is(at, "PRIMARY", "KEY", "AUTOINCREMENT"):
		b.add("unique", span{at, at + 3}, "")
		b.add("again", span{at + 2, at + 3}, "")
	case b.is(at, "PRIMARY", "KEY"):
		b.add("unique", span{at, at + 2}, "")
	case b.is(at, "NOT", "NULL"):
		b.add("null", span{at, at + 2}, "")
	case b.is(at, "FOREIGN", "KEY"):
		end := at
		for !b.is(end, "CASCADE") {
			end++
		}
		b.add("foreign", span{at, end + 1}, noConstraint)
		b.add("cascade", span{end - 2, end + 1}, "")
	}
}

// columns leaves one column out of a key of several.
func (b *breaker) columns(s span) {
	if all := b.split(s, ","); len(all) > 1 {
		for i := range all {
			rest := []string{}
			for _, column := range slices.Delete(slices.Clone(all), i, i+1) {
				rest = append(rest, b.of(column))
			}
			b.add("key", s, "%s", strings.Join(rest, ", "))
		}
	}
}

// Each constraint of the layout is needed: without it the file takes a row that it
// must refuse, or refuses one that it must take, whoever writes.
func TestLayout(t *testing.T) {
	statements, mutants := schema.Statements(), []mutant{}
	for _, statement := range statements {
		if strings.HasPrefix(statement, "CREATE") {
			mutants = append(mutants, brokenLayout(statement)...)
		}
	}
	if wrong := misjudged(statements); wrong != "" {
		t.Fatal(wrong)
	}
	check(t, mutants, 60, equivalentLayout, func(m mutant) string {
		layout := slices.Clone(statements)
		for i, statement := range statements {
			if strings.Contains(statement, "IF NOT EXISTS "+m.statement+"\n") || strings.Contains(statement, "IF NOT EXISTS "+m.statement+" ") {
				layout[i] = m.sql
			}
		}
		return misjudged(layout)
	})
}

// misjudged makes a file of a layout and returns the first statement that it takes
// or refuses wrongly.
func misjudged(layout []string) string {
	db, err := driver.Open(":memory:")
	if err != nil {
		return err.Error()
	}
	defer db.Close()
	conn, err := db.Conn(context.Background())
	if err != nil {
		return err.Error()
	}
	run := func(text string) error {
		_, err := conn.ExecContext(context.Background(), text)
		return err
	}
	for _, text := range append(append([]string{"PRAGMA foreign_keys=ON"}, layout...), rows...) {
		if err := run(text); err != nil {
			return fmt.Sprintf("%s: %v", text, err)
		}
	}
	for _, text := range refuses() {
		if attempt(run, text) == nil {
			return "is taken: " + text
		}
	}
	for _, text := range takes {
		if err := attempt(run, text); err != nil {
			return fmt.Sprintf("is refused: %s: %v", text, err)
		}
	}
	return ""
}

// attempt runs a text and takes it back.
func attempt(run func(string) error, text string) error {
	if err := run("SAVEPOINT attempt"); err != nil {
		return err
	}
	err := run(text)
	if back := run("ROLLBACK TO attempt; RELEASE attempt"); err == nil {
		err = back
	}
	return err
}
