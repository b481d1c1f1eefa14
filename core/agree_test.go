package core_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
	schema "github.com/pi-workflows/wfcore/sql"
)

// The contract's states and arrows, with the event of each, once more and by
// hand: code, SQL and documents are held against these.
const (
	contractStates = "queued starting running parked done failed cancelled"
	contractArrows = `queued --> starting: starting
queued --> cancelled: cancelled
starting --> running: running
starting --> failed: launch_failed
starting --> cancelled: cancelled
starting --> queued: requeued
running --> parked: parked
running --> done: done
running --> failed: failed
running --> cancelled: cancelled
parked --> starting: starting
parked --> cancelled: cancelled`
)

func contractLines() []string {
	return slices.Sorted(slices.Values(strings.Split(contractArrows, "\n")))
}

func names[T ~string](values []T) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return strings.Join(out, " ")
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

func same(t *testing.T, what string, have, want []string) {
	t.Helper()
	if !slices.Equal(have, want) {
		t.Errorf("%s:\nhave %q\nwant %q", what, have, want)
	}
}

func TestStatesOfTheCode(t *testing.T) {
	equal(t, "core.Statuses", names(core.Statuses), contractStates)
	for _, state := range core.Statuses {
		leaves := slices.ContainsFunc(core.Arrows, func(a core.Arrow) bool { return a.From == state })
		equal(t, string(state)+" is terminal", state.Terminal(), !leaves)
	}
}

func TestArrowsOfTheCode(t *testing.T) {
	var have []string
	for _, a := range core.Arrows {
		have = append(have, string(a.From)+" --> "+string(a.To)+": "+string(a.Event))
	}
	slices.Sort(have)
	same(t, "core.Arrows", have, contractLines())
}

func TestArrowsOfTheDiagram(t *testing.T) {
	doc := readFile(t, "../docs/state-machine.md")
	_, diagram, ok := strings.Cut(doc, "```mermaid\nstateDiagram-v2\n")
	diagram, _, closed := strings.Cut(diagram, "```")
	if !ok || !closed {
		t.Fatal("there is no state diagram")
	}
	var arrows, begins, ends []string
	for line := range strings.Lines(diagram) {
		line = strings.TrimSpace(line)
		if to, ok := strings.CutPrefix(line, "[*] --> "); ok {
			begins = append(begins, to)
		} else if from, ok := strings.CutSuffix(line, " --> [*]"); ok {
			ends = append(ends, from)
		} else {
			arrows = append(arrows, line)
		}
	}
	slices.Sort(arrows)
	same(t, "arrows of the diagram", arrows, contractLines())
	same(t, "first states of the diagram", begins, []string{"queued"})
	same(t, "last states of the diagram", ends, []string{"done", "failed", "cancelled"})
}

var quoted = regexp.MustCompile(`'([a-z]+)'`)

func quotedNames(text string) (found []string) {
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}

func TestStatesOfTheSchema(t *testing.T) {
	_, table, _ := strings.Cut(schema.Schema, "CREATE TABLE IF NOT EXISTS workflow_run_queue (")
	check := regexp.MustCompile(`CHECK \(\s*status IN \(([^)]*)\)`).FindStringSubmatch(table)
	if check == nil {
		t.Fatal("the launch queue has no CHECK of its states")
	}
	same(t, "states of the CHECK", quotedNames(check[1]), strings.Fields(contractStates))

	index := regexp.MustCompile(`session_reservation\s[^;]*status IN \(([^)]*)\)`).FindStringSubmatch(table)
	if index == nil {
		t.Fatal("the session reservation has no index")
	}
	var reserving []string
	for _, state := range core.Statuses {
		if state.Reserves() {
			reserving = append(reserving, string(state))
		}
	}
	same(t, "states of the session reservation", quotedNames(index[1]), reserving)
}

// queries are the statements of sql/queries by name, without comments and with
// single spaces.
func queries(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../sql/queries/*.sql")
	must(t, err)
	if len(files) == 0 {
		t.Fatal("there are no queries")
	}
	found := map[string]string{}
	for _, file := range files {
		for _, part := range strings.Split(readFile(t, file), "-- name: ")[1:] {
			head, body, _ := strings.Cut(part, "\n")
			body = regexp.MustCompile(`(?m)--.*$`).ReplaceAllString(body, "")
			found[strings.Fields(head)[0]] = strings.Join(strings.Fields(body), " ")
		}
	}
	return found
}

// TestArrowsOfTheQueries reads each statement that sets a state, and the states
// that its guard takes.
func TestArrowsOfTheQueries(t *testing.T) {
	set := regexp.MustCompile(`\bSET (?:.*, )?status = ('[a-z]+')`)
	var have []string
	for name, query := range queries(t) {
		if !strings.HasPrefix(query, "UPDATE workflow_run_queue ") {
			continue
		}
		clauses := split(strings.TrimSuffix(query, " RETURNING *;"), " WHERE ")
		if len(clauses) != 2 {
			t.Errorf("%s has %d guards", name, len(clauses)-1)
			continue
		}
		from := guardedStates(clauses[1])
		if len(from) == 0 {
			t.Errorf("%s changes a run in whatever state", name)
		}
		to := set.FindStringSubmatch(clauses[0])
		if to == nil {
			if strings.Contains(clauses[0], "status =") {
				t.Errorf("%s sets a state that is not written out", name)
			}
			continue
		}
		for _, state := range from {
			arrow := state + " --> " + strings.Trim(to[1], "'")
			at := slices.IndexFunc(contractLines(), func(line string) bool { return strings.HasPrefix(line, arrow+":") })
			if at < 0 {
				t.Errorf("%s takes %s, which is no arrow", name, arrow)
				continue
			}
			have = append(have, contractLines()[at])
		}
	}
	slices.Sort(have)
	same(t, "arrows of the queries", slices.Compact(have), contractLines())
}

// guardedStates are the states that a WHERE clause takes.
func guardedStates(where string) []string {
	for _, term := range split(where, " AND ") {
		if strings.HasPrefix(term, "status = '") || strings.HasPrefix(term, "status IN (") {
			return quotedNames(term)
		}
	}
	return nil
}

// split cuts a query at a keyword, but not inside parentheses.
func split(query, at string) []string {
	var parts []string
	depth, from := 0, 0
	for i := range query {
		switch {
		case query[i] == '(':
			depth++
		case query[i] == ')':
			depth--
		case depth == 0 && i >= from && strings.HasPrefix(query[i:], at):
			parts = append(parts, query[from:i])
			from = i + len(at)
		}
	}
	return append(parts, query[from:])
}

func TestStatesOfTheQueriesAreStates(t *testing.T) {
	compared := regexp.MustCompile(`status (?:=|IN) (?:'[a-z]+'|\([^)]*\))`)
	for name, query := range queries(t) {
		for _, text := range compared.FindAllString(query, -1) {
			for _, state := range quotedNames(text) {
				if !slices.Contains(strings.Fields(contractStates), state) {
					t.Errorf("%s knows a state %q", name, state)
				}
			}
		}
	}
}

func TestCodesOfErrors(t *testing.T) {
	want := map[core.Code]struct {
		retryable bool
		exit      int
	}{
		"bad_request":         {false, 2},
		"not_found":           {false, 3},
		"not_owner":           {false, 4},
		"invalid_transition":  {false, 4},
		"source_changed":      {false, 4},
		"claim_lost":          {false, 4},
		"claim_live":          {true, 4}, // later: once the lease is over
		"session_reserved":    {false, 4},
		"parent_reserved":     {false, 4},
		"run_conflict":        {false, 4},
		"intent_conflict":     {false, 4},
		"intent_pending":      {false, 4},
		"intent_resolved":     {false, 4},
		"store_unavailable":   {true, 5},
		"layout_incompatible": {false, 6},
		"store_misconfigured": {false, 1},
		"transaction_open":    {false, 1},
		"store_closed":        {false, 1},
		"abi_mismatch":        {false, 1},
		"core_crashed":        {true, 1},
	}
	seen := map[core.Code]bool{}
	for _, info := range core.Codes {
		row, ok := want[info.Code]
		if !ok || seen[info.Code] {
			t.Errorf("%s is not a code, or twice", info.Code)
		}
		seen[info.Code] = true
		equal(t, string(info.Code)+" is retryable", info.Retryable, row.retryable)
		equal(t, string(info.Code)+" exits", info.Exit, row.exit)
		equal(t, string(info.Code)+" has an error of its own", core.NewError(info.Code, nil, "x").Retryable, row.retryable)
		if info.Meaning == "" {
			t.Errorf("%s has no meaning", info.Code)
		}
	}
	for _, op := range core.Ops {
		for _, code := range op.Errors {
			if !seen[code] {
				t.Errorf("%s answers %s, which is not in the table", op.Name, code)
			}
		}
	}
}
