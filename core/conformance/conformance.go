// Package conformance is the one suite that every face of the core has to pass: the
// native one, and the same core as WebAssembly in other hosts. It is data, in
// suite/*.json, so that a face in another language runs the very same cases:
//
//   - A file is a list of cases. A case starts on a new store with a test clock, and
//     byte n of its random source is (n*7+3)&0xff.
//   - A step calls an op with a request, or with the exact text in raw; or it runs
//     sql on the file of the store, as another host would.
//   - now, sticky from step to step, is put at the end of a request, but of no raw one.
//     It starts as Epoch.
//   - In a request the string "$2.run.runId" stands for a value in the answer, or error,
//     of step 2 of the case (the first is 0), "$-1" for all of that of the step before,
//     and "$x20" for twenty x.
//   - answer and error are exact texts; code is the code that the error has to have.
//   - dump is all rows of the tables that are not empty, each as the one text that the
//     statement of suite/dump.json makes of it.
//
// What a step asks for, its code and its want, which is a part of the answer, are
// written by hand; answer, error and dump are recorded with
// `go test ./core/conformance -record` and reviewed.
package conformance

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// Epoch is the time at which each case starts.
const Epoch = "2026-08-21T08:17:31.000Z"

// Face is a store behind one face, opened empty and with a test clock.
type Face interface {
	// Call answers as core.Store.Call does; its errors are *core.Error.
	Call(ctx context.Context, op string, request []byte) ([]byte, error)
	// Exec runs SQL on the store's file or memory, beside the face.
	Exec(sql string) error
	// Query returns the one column of a SELECT.
	Query(sql string) ([]string, error)
	Close() error
}

// Open opens a face on a new store that takes its random numbers from random.
type Open func(t *testing.T, random io.Reader) Face

//go:embed suite
var suite embed.FS

// Case is one case of the suite.
type Case struct {
	Name  string              `json:"name"`
	Steps []Step              `json:"steps"`
	Dump  map[string][]string `json:"dump"`
}

// Step is one step of a case.
type Step struct {
	Now     string          `json:"now,omitempty"`
	SQL     string          `json:"sql,omitempty"`
	Call    string          `json:"call,omitempty"`
	Request json.RawMessage `json:"request,omitempty"`
	Raw     *string         `json:"raw,omitempty"`
	Code    core.Code       `json:"code,omitempty"`
	Want    json.RawMessage `json:"want,omitempty"`
	Answer  string          `json:"answer,omitempty"`
	Error   string          `json:"error,omitempty"`
}

// Run runs the whole suite, a subtest a case, and says how much that was, so that
// faces can be compared.
func Run(t *testing.T, open Open) {
	cases, calls := 0, 0
	for _, file := range files(t) {
		for _, c := range load(t, file) {
			t.Run(strings.TrimSuffix(file, ".json")+"/"+c.Name, func(t *testing.T) {
				have := play(t, c, open)
				for i, step := range c.Steps {
					same(t, fmt.Sprintf("step %d: answer", i), have.Steps[i].Answer, step.Answer)
					same(t, fmt.Sprintf("step %d: error", i), have.Steps[i].Error, step.Error)
				}
				for table := range tables(t) {
					same(t, table, strings.Join(have.Dump[table], "\n"), strings.Join(c.Dump[table], "\n"))
				}
			})
			cases++
			for _, step := range c.Steps {
				if step.Call != "" {
					calls++
				}
			}
		}
	}
	t.Logf("conformance: %d cases, %d calls", cases, calls)
}

// same shows two texts from a little before where they differ.
func same(t *testing.T, what, have, want string) {
	t.Helper()
	if have == want {
		return
	}
	at := 0
	for at < min(len(have), len(want)) && have[at] == want[at] {
		at++
	}
	part := func(text string) string { return text[max(at-60, 0):min(at+200, len(text))] }
	t.Errorf("%s, from byte %d:\nhave …%s\nwant …%s", what, max(at-60, 0), part(have), part(want))
}

// play runs a case and returns it with what came of it.
func play(t *testing.T, c Case, open Open) Case {
	t.Helper()
	face := open(t, &noise{})
	defer func() {
		if err := face.Close(); err != nil {
			t.Error(err)
		}
	}()
	played, err := c.play(face, tables(t), func(int, Step) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return played
}

// play stops where a hand-written code or want is not met, or where look, which sees
// what came of each step, says so.
func (c Case) play(face Face, tables map[string]string, look func(i int, have Step) error) (Case, error) {
	c.Steps = slices.Clone(c.Steps)
	now, given := Epoch, []json.RawMessage{}
	for i := range c.Steps {
		step := &c.Steps[i]
		if step.Now != "" {
			now = step.Now
		}
		err := step.play(face, now, given)
		if err == nil {
			err = look(i, *step)
		}
		if err != nil {
			return c, fmt.Errorf("step %d: %s: %w", i, step.Call, err)
		}
		given = append(given, json.RawMessage(step.Answer+step.Error))
	}
	c.Dump = map[string][]string{}
	for table, query := range tables {
		rows, err := face.Query(query)
		if err != nil {
			return c, fmt.Errorf("%s: %w", query, err)
		}
		if len(rows) > 0 {
			c.Dump[table] = rows
		}
	}
	return c, nil
}

func (s *Step) play(face Face, now string, given []json.RawMessage) error {
	s.Answer, s.Error = "", ""
	if s.Call == "" {
		return face.Exec(s.SQL)
	}
	request, err := s.text(now, given)
	if err != nil {
		return err
	}
	answer, err := face.Call(context.Background(), s.Call, request)
	if code := core.CodeOf(err); code != s.Code || err != nil && code == "" {
		return fmt.Errorf("have %s, error %v, want code %q", answer, err, s.Code)
	}
	if err != nil {
		text, encodeErr := core.Encode(err)
		s.Error = string(text)
		return encodeErr
	}
	s.Answer = string(answer)
	return within(answer, s.Want)
}

// noise is the random source of a case.
type noise struct{ at int }

func (n *noise) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(n.at*7 + 3)
		n.at++
	}
	return len(p), nil
}

func files(t *testing.T) (names []string) {
	t.Helper()
	entries, err := suite.ReadDir("suite")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.Name() != "dump.json" {
			names = append(names, entry.Name())
		}
	}
	return names
}

func load(t *testing.T, file string) (cases []Case) {
	t.Helper()
	read(t, file, &cases)
	return cases
}

// tables is the statement that dumps each table.
func tables(t *testing.T) (queries map[string]string) {
	t.Helper()
	read(t, "dump.json", &queries)
	return queries
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	if err := decode(file, into); err != nil {
		t.Fatal(err)
	}
}

func decode(file string, into any) error {
	text, err := suite.ReadFile("suite/" + file)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
