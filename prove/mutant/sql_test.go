// Package mutant breaks what the core consists of, one fault at a time, and wants
// each fault to be seen: a term of SQL, a constraint of the layout, a cell of the event
// policy, a guard of the coordinators. A fault that nothing sees is a guard that
// nothing tests, or one that is not needed: then equivalent says why.
package mutant

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core/conformance"
	"github.com/pi-workflows/wfcore/prove"
	schema "github.com/pi-workflows/wfcore/sql"
)

// queries are the statements of the core, as they are prepared.
func queries(t *testing.T) (texts []string) {
	t.Helper()
	files, err := filepath.Glob("../../db/*.sql.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil && queryName(text) != "" {
					texts = append(texts, text)
				}
			}
			return true
		})
	}
	return texts
}

// opener opens the store of a case behind a rewriter.
func opener(rewrite func(string) string) func(io.Reader) (conformance.Face, error) {
	return func(random io.Reader) (conformance.Face, error) {
		db, err := openMemory(rewrite)
		if err != nil {
			return nil, err
		}
		return conformance.OnMemory(db, schema.Schema, random)
	}
}

// used is a case of the suite, and what it runs and takes where nothing is broken.
type used struct {
	conformance.Case
	queries map[string]bool
	took    time.Duration
}

// unbroken plays the suite as it is, and returns its cases, the quickest first.
func unbroken(t *testing.T) (cases []used) {
	t.Helper()
	for _, c := range conformance.Cases(t) {
		u := used{Case: c, queries: map[string]bool{}}
		begun := time.Now()
		err := c.Differs(opener(func(text string) string {
			u.queries[queryName(text)] = true
			return text
		}))
		if err != nil {
			t.Fatalf("%s: nothing is broken: %v", c.Name, err)
		}
		u.took = time.Since(begun)
		cases = append(cases, u)
	}
	slices.SortFunc(cases, func(a, b used) int { return int(a.took - b.took) })
	return cases
}

// Each term of each statement of the core is needed.
func TestSQL(t *testing.T) {
	originals, mutants := map[string]string{}, []mutant{}
	for _, text := range queries(t) {
		originals[queryName(text)] = text
		mutants = append(mutants, broken(queryName(text), text)...)
	}
	cases := unbroken(t)
	check(t, mutants, 60, equivalentSQL, func(m mutant) string {
		rewrite := func(text string) string {
			if text == originals[m.statement] {
				return m.sql
			}
			return text
		}
		for _, c := range cases {
			if !c.queries[m.statement] {
				continue
			}
			if err := c.Differs(opener(rewrite)); err != nil {
				return c.Name + ": " + err.Error()
			}
		}
		return ""
	})
}

// check kills the mutants, and wants those to live that are known to be equivalent. kill
// returns what saw the fault.
func check(t *testing.T, mutants []mutant, some int, equivalent map[string]string, kill func(mutant) string) {
	t.Helper()
	names := map[string]bool{}
	for _, m := range mutants {
		names[m.name()] = true
	}
	for name := range equivalent {
		if !names[name] {
			t.Errorf("equivalent has %s, which is no mutant", name)
		}
	}
	for _, m := range prove.Sample(t, some, mutants) {
		t.Run(m.name(), func(t *testing.T) {
			t.Parallel()
			seen, reason := kill(m), equivalent[m.name()]
			t.Logf("%q is seen by %.100q", m.what, seen)
			switch {
			case seen == "" && reason == "":
				t.Errorf("nothing sees that %q is broken", m.what)
			case seen != "" && reason != "":
				t.Errorf("%q is not equivalent: %s", m.what, seen)
			}
		})
	}
}
