package conformance

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

var record = flag.Bool("record", false, "write what the native core answers into the suite; go test again afterwards")

// With -record nothing else is tested: the suite in this binary is the one from before.
func TestMain(m *testing.M) {
	flag.Parse()
	if *record {
		_ = flag.Set("test.run", "^TestRecord$")
	}
	os.Exit(m.Run())
}

// What is written by hand is met, or nothing of the file is recorded.
func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("without -record")
	}
	for _, file := range files(t) {
		cases := load(t, file)
		ok := true
		for i, c := range cases {
			ok = t.Run(file+"/"+c.Name, func(t *testing.T) { cases[i] = play(t, c, openNative) }) && ok
		}
		if !ok {
			continue
		}
		if err := os.WriteFile(filepath.Join("suite", file), layOut(t, cases), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// layOut writes a step on a line, what it answers on the next, and a row of the dump
// on a line, so that a difference can be read.
func layOut(t *testing.T, cases []Case) []byte {
	t.Helper()
	var out bytes.Buffer
	for i, c := range cases {
		fmt.Fprintf(&out, "%s{\"name\": %s, \"steps\": [", []string{"[\n", ",\n\n"}[min(i, 1)], encode(t, c.Name))
		for j, step := range c.Steps {
			answer, failure := step.Answer, step.Error
			step.Answer, step.Error = "", ""
			text := encode(t, step)
			switch {
			case answer != "":
				text = append(text[:len(text)-1], ",\n   \"answer\":"+string(encode(t, answer))+"}"...)
			case failure != "":
				text = append(text[:len(text)-1], ",\n   \"error\":"+string(encode(t, failure))+"}"...)
			}
			fmt.Fprintf(&out, "%s\n  %s", []string{"", ","}[min(j, 1)], text)
		}
		out.WriteString("\n ], \"dump\": {")
		for j, table := range slices.Sorted(maps.Keys(c.Dump)) {
			fmt.Fprintf(&out, "%s\n  %s: [", []string{"", ","}[min(j, 1)], encode(t, table))
			for k, row := range c.Dump[table] {
				fmt.Fprintf(&out, "%s\n   %s", []string{"", ","}[min(k, 1)], encode(t, row))
			}
			out.WriteString("]")
		}
		out.WriteString("\n }}")
	}
	out.WriteString("\n]\n")
	return out.Bytes()
}

func encode(t *testing.T, value any) []byte {
	t.Helper()
	text, err := core.Encode(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
