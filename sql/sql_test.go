package sql

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	unbound, quoted := regexp.MustCompile(`[@:$][A-Za-z_]\w*`), regexp.MustCompile(`'[^']*'`)
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
			text = quoted.ReplaceAllString(text, "''")
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

// statement is a query taken apart, with single spaces.
type statement struct {
	verb, table string
	sets, where []string // what it sets, and the terms that must all hold
	returns     bool     // the whole row
}

var head = regexp.MustCompile(`^(INSERT INTO|UPDATE|SELECT|DELETE FROM)\b(?: \* FROM| i\.\* FROM)? ?(\w*)`)

func parse(t *testing.T, q query) statement {
	t.Helper()
	text := strings.Join(strings.Fields(q.text), " ")
	m := head.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("%s starts like no statement: %.40q", q.name, text)
	}
	text, returns := strings.CutSuffix(text, " RETURNING *")
	clauses := split(text, " WHERE ")
	s := statement{verb: m[1], table: m[2], returns: returns}
	if _, sets, ok := strings.Cut(clauses[0], " SET "); ok {
		s.sets = split(sets, ", ")
	}
	if len(clauses) > 1 {
		where := split(strings.Join(clauses[1:], " WHERE "), " ORDER BY ")[0]
		s.where = split(split(where, " LIMIT ")[0], " AND ")
	}
	return s
}

// split cuts a text, but not within parentheses.
func split(text, at string) []string {
	parts, depth, from := []string{}, 0, 0
	for i := range text {
		switch {
		case text[i] == '(':
			depth++
		case text[i] == ')':
			depth--
		case depth == 0 && i >= from && strings.HasPrefix(text[i:], at):
			parts = append(parts, text[from:i])
			from = i + len(at)
		}
	}
	return append(parts, text[from:])
}

// tables say what each statement that changes a row of a table must ask of it, and
// what it may set: nothing sets what a row is, or where it came from.
var tables = map[string]struct {
	guards []string // a term of WHERE begins with each
	sets   string
	claim  string // prefix of the columns of a claim
}{
	"workflow_run_queue": {
		[]string{"run_id = ", "status "},
		"status runner_id claim_token claim_expires_at started_at updated_at input_json launch_options_json error_code error_message parent_run_id finished_at", "",
	},
	"workflow_turn_intents": {
		[]string{"resolved_at IS NULL"},
		"eligible_at fallback_facts_json resolved_at resolution resolution_message_id delivery_claim_token delivery_claim_expires_at", "delivery_",
	},
	"workflow_notifications": {
		[]string{"delivered_at IS NULL"},
		"delivered_at delivery_claim_token delivery_claim_expires_at", "delivery_",
	},
}

// A reviewer reads the state machine here: every statement says who may call it
// and what no row means, is guarded, and returns the row.
func TestStatementsAreGuardedAndExplained(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	changed := map[string]int{}
	for _, q := range queries(t) {
		if !strings.Contains(string(readme), "`"+q.name+"`") {
			t.Errorf("%s is not in README.md", q.name)
		}
		if strings.TrimSpace(q.comment) == "" {
			t.Errorf("%s has no comment", q.name)
		}
		s := parse(t, q)
		if s.verb == "DELETE FROM" {
			t.Errorf("%s deletes: nothing is ever deleted", q.name)
		}
		if s.verb != "SELECT" && !s.returns {
			t.Errorf("%s does not return the row", q.name)
		}
		mayFail := s.verb == "UPDATE" || strings.Contains(q.text, "ON CONFLICT DO NOTHING")
		if mayFail && !strings.Contains(q.comment, "-- No row: ") {
			t.Errorf("%s does not say what no row means", q.name)
		}
		if s.verb == "UPDATE" {
			changed[s.table]++
			checkGuards(t, q.name, s)
		}
	}
	for table := range tables {
		if changed[table] == 0 {
			t.Errorf("no statement changes %s", table)
		}
	}
}

func checkGuards(t *testing.T, name string, s statement) {
	t.Helper()
	table, ok := tables[s.table]
	if !ok {
		t.Errorf("%s changes %q", name, s.table)
		return
	}
	for _, guard := range table.guards {
		if !slices.ContainsFunc(s.where, func(term string) bool { return strings.HasPrefix(term, guard) }) {
			t.Errorf("%s lacks %q", name, guard)
		}
	}
	for _, set := range s.sets {
		column, _, _ := strings.Cut(set, " = ")
		if !slices.Contains(strings.Fields(table.sets), column) {
			t.Errorf("%s sets %s", name, column)
		}
	}
	if len(s.sets) == 0 {
		t.Errorf("%s sets nothing", name)
	}
}

// A token alone proves nothing: its lease must live, too. A new claim takes the
// place of an expired one only.
func TestClaimsAreAskedForWithTheirLease(t *testing.T) {
	holders, claims := 0, 0
	for _, q := range queries(t) {
		s := parse(t, q)
		prefix := tables[s.table].claim
		token := prefix + "claim_token = CAST(@claim_token AS TEXT)"
		live := "CAST(" + prefix + "claim_expires_at AS INTEGER) > CAST(@now_ms AS INTEGER)"
		if slices.Contains(s.where, token) {
			holders++
			if !slices.Contains(s.where, live) {
				t.Errorf("%s asks for a token, and not for its lease", q.name)
			}
		}
		if prefix != "" && slices.Contains(s.sets, token) {
			claims++
			expired := regexp.MustCompile(`\bAND COALESCE\(CAST\((?:due\.)?delivery_claim_expires_at AS INTEGER\), 0\) <= CAST\(@now_ms AS INTEGER\)`)
			if text := strings.Join(strings.Fields(q.text), " "); !expired.MatchString(text) {
				t.Errorf("%s claims whatever is claimed", q.name)
			}
		}
		if slices.Contains(s.where, live) && !slices.Contains(s.where, token) {
			t.Errorf("%s asks for a lease, and not whose it is", q.name)
		}
	}
	if holders < 14 || claims != 3 {
		t.Errorf("%d statements ask for a token, and %d claim a delivery", holders, claims)
	}
}
