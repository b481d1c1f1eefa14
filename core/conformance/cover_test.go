package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/strictjson"
)

// Each op succeeds somewhere, and fails with bad_request and with each code that it
// declares: there is no exception. The codes of the store itself (busy, closed, not v1)
// are each face's own to test.
func TestSuiteMeetsEachOpAndCode(t *testing.T) {
	type pair struct {
		op   string
		code core.Code
	}
	met := map[pair]bool{}
	for _, file := range files(t) {
		for _, c := range load(t, file) {
			for _, step := range c.Steps {
				met[pair{step.Call, step.Code}] = true
			}
		}
	}
	for _, op := range core.Ops {
		for _, code := range append([]core.Code{"", core.CodeBadRequest}, op.Errors...) {
			if !met[pair{op.Name, code}] {
				t.Errorf("no case meets %s with code %q", op.Name, code)
			}
		}
	}
	for p := range met {
		op := core.FindOp(p.op)
		if op != nil && p.code != "" && p.code != core.CodeBadRequest && !slices.Contains(op.Errors, p.code) {
			t.Errorf("%s does not declare %s", p.op, p.code)
		}
	}
}

// What a runner in another language relies on.
func TestSuiteIsWellFormed(t *testing.T) {
	names := map[string]bool{}
	for _, file := range files(t) {
		for _, c := range load(t, file) {
			if names[c.Name] || c.Name == "" || c.Dump["schema_info"] == nil {
				t.Errorf("%s: %q is there twice, has no name or was not recorded", file, c.Name)
			}
			names[c.Name] = true
			for i, s := range c.Steps {
				called := s.Call != "" || s.Raw != nil
				switch {
				case called != (s.SQL == ""), called != ((s.Raw != nil) != (s.Request != nil)):
					t.Errorf("%s: step %d is not one thing", c.Name, i)
				case called && (s.Answer != "") != (s.Code == ""), called && (s.Error != "") != (s.Code != ""):
					t.Errorf("%s: step %d was not recorded", c.Name, i)
				}
				if s.Request != nil && strictjson.Check(s.Request) != nil {
					t.Errorf("%s: step %d has a request that not every language can hold: use raw", c.Name, i)
				}
				var fields map[string]json.RawMessage
				if json.Unmarshal(s.Request, &fields) == nil && fields["now"] != nil {
					t.Errorf("%s: step %d says now in its request", c.Name, i)
				}
			}
		}
	}
}

// The dump shows every column of every table.
func TestDumpIsWhole(t *testing.T) {
	face := openNative(t, &noise{})
	defer face.Close()
	rows, err := face.Query(`SELECT t.name || ' ' || group_concat('quote(' || c.name || ')', ' || '', '' || ')
		FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
		WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%' GROUP BY t.name ORDER BY t.name`)
	if err != nil {
		t.Fatal(err)
	}
	// A text of quote() ends at a NUL, so the content comes with its length.
	length := strings.NewReplacer("quote(content)", "quote(content) || ', ' || length(CAST(content AS BLOB))")
	want := map[string]string{}
	for _, row := range rows {
		table, columns, _ := strings.Cut(row, " ")
		want[table] = fmt.Sprintf("SELECT %s FROM %s ORDER BY rowid", length.Replace(columns), table)
	}
	have := tables(t)
	for _, table := range slices.Sorted(maps.Keys(want)) {
		same(t, table, have[table], want[table])
	}
	if len(have) != len(want) {
		t.Errorf("have %d tables, want %d", len(have), len(want))
	}
}

// The tokens and run ids of the suite come from this source.
func TestRandomSource(t *testing.T) {
	have := make([]byte, 40)
	if _, err := io.ReadFull(&noise{}, have); err != nil || have[0] != 3 || have[1] != 10 || have[37] != 6 {
		t.Errorf("have %v, %v", have, err)
	}
}
