package sql

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// query is one hand-written statement and the comment above it.
type query struct{ name, comment, text string }

func queries(t *testing.T) []query {
	t.Helper()
	files, err := filepath.Glob("queries/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("no queries: %v", err)
	}
	all := []query{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range strings.Split(string(text), ";\n") {
			comment, rest, ok := strings.Cut(block, "-- name: ")
			if !ok {
				continue
			}
			head, body, _ := strings.Cut(rest, "\n")
			all = append(all, query{strings.Fields(head)[0], comment, body})
		}
	}
	return all
}

// sqlc cuts a query short at a byte beyond ASCII, without a word.
func TestSQLIsASCII(t *testing.T) {
	files, _ := filepath.Glob("queries/*.sql")
	for _, file := range append(files, "schema.sql") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range text {
			if b >= 0x80 {
				t.Errorf("%s: byte %d is %#x", file, i, b)
			}
		}
	}
}

// sqlc leaves a parameter unbound where it does not understand its place.
func TestNoUnboundParameters(t *testing.T) {
	unbound := regexp.MustCompile(`[@:$][A-Za-z_]\w*`)
	files, _ := filepath.Glob("../db/*.sql.go")
	seen := 0
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING || !strings.Contains(lit.Value, "-- name: ") {
				return true
			}
			seen++
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			_, text, _ = strings.Cut(text, "\n")
			if bad := unbound.FindString(text); bad != "" {
				t.Errorf("%s: %s is unbound in %.60q", file, bad, text)
			}
			return true
		})
	}
	if want := len(queries(t)); seen != want {
		t.Errorf("%d generated queries of %d were seen", seen, want)
	}
}

// A reviewer reads the state machine here: every statement says who may call it
// and what no row means, is guarded, and returns the row.
func TestStatementsAreGuardedAndExplained(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range queries(t) {
		if !strings.Contains(string(readme), "`"+q.name+"`") {
			t.Errorf("%s is not in README.md", q.name)
		}
		if strings.TrimSpace(q.comment) == "" {
			t.Errorf("%s has no comment", q.name)
		}
		if !strings.Contains(q.text, "UPDATE ") {
			continue
		}
		_, where, _ := strings.Cut(q.text, "\nWHERE ")
		for _, guard := range []string{"run_id = ", "AND status ", "RETURNING *"} {
			if !strings.Contains(where, guard) {
				t.Errorf("%s lacks %q", q.name, guard)
			}
		}
		if !strings.Contains(q.comment, "-- No row: ") {
			t.Errorf("%s does not say what no row means", q.name)
		}
	}
}
