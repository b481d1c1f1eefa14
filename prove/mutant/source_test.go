package mutant

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// guard is a place in a file of core with faults in it: at stands there once, with
// each expression that can be wrong in ‹› and each statement in «», and wrong says in
// their order what stands there instead. "Status: Failed" is of that type, and what
// has none is a bool; several wrong ones of one place are parted by |.
type guard struct {
	file, name, at string
	wrong          []string
}

// edit is one place of a file, and what is there with a switch.
type edit struct {
	from, to int
	text     string
}

var marked = regexp.MustCompile(`‹([^›]*)›|«([^»]*)»`)

// switches puts right and wrong beside one another, so that one build has all
// faults: WFCORE_FAULT names the one that is on.
func (g guard) switches(source string) (edits []edit, faults []mutant, err error) {
	plain := marked.ReplaceAllString(g.at, "$1$2")
	if strings.Count(source, plain) != 1 {
		return nil, nil, fmt.Errorf("%s: %q is there %d times", g.file, plain, strings.Count(source, plain))
	}
	at, gone := strings.Index(source, plain), 0
	places := marked.FindAllStringSubmatchIndex(g.at, -1)
	if len(places) != len(g.wrong) {
		return nil, nil, fmt.Errorf("%s: %q has %d places and %d faults", g.file, plain, len(places), len(g.wrong))
	}
	for i, p := range places {
		expression := p[2] >= 0
		right := marked.ReplaceAllString(g.at[p[0]:p[1]], "$1$2")
		from := at + p[0] - gone
		gone += p[1] - p[0] - len(right)
		text := right
		for _, wrong := range strings.Split(g.wrong[i], "|") {
			wrong = strings.TrimSpace(wrong)
			m := mutant{strings.TrimSuffix(g.file, ".go"), fmt.Sprintf("%s_%d", g.name, len(faults)+1), right + " -> " + wrong, ""}
			faults = append(faults, m)
			text = m.choice(expression, text, wrong)
		}
		edits = append(edits, edit{from, from + len(right), text})
	}
	return edits, faults, nil
}

func (m mutant) choice(expression bool, right, wrong string) string {
	if !expression {
		return fmt.Sprintf("if fault == %q { %s } else { %s }", m.name(), wrong, right)
	}
	kind, value, ok := strings.Cut(wrong, ": ")
	if !ok {
		kind, value = "bool", wrong
	}
	return fmt.Sprintf("choice(%q, func() %s { return %s }, func() %s { return %s })", m.name(), kind, right, kind, value)
}

const switchSource = `package core

import "os"

var fault = os.Getenv("WFCORE_FAULT")

func choice[T any](name string, right, wrong func() T) T {
	if fault == name {
		return wrong()
	}
	return right()
}
`

// overlay writes the files of core with their switches, and returns what go build
// takes in their place.
func overlay(t *testing.T, guards []guard) (path string, faults []mutant) {
	t.Helper()
	dir, core := t.TempDir(), absolute(t, "../../core")
	replace := map[string]string{filepath.Join(core, "fault_switch.go"): filepath.Join(dir, "fault_switch.go")}
	write(t, filepath.Join(dir, "fault_switch.go"), switchSource)
	byFile := map[string][]edit{}
	for _, g := range guards {
		source, err := os.ReadFile(filepath.Join(core, g.file))
		if err != nil {
			t.Fatal(err)
		}
		edits, more, err := g.switches(string(source))
		if err != nil {
			t.Error(err)
			continue
		}
		byFile[g.file] = append(byFile[g.file], edits...)
		faults = append(faults, more...)
	}
	for file, edits := range byFile {
		source, err := os.ReadFile(filepath.Join(core, file))
		if err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(core, file)] = filepath.Join(dir, file)
		write(t, filepath.Join(dir, file), edited(t, string(source), edits))
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "overlay.json")
	write(t, path, string(text))
	return path, faults
}

func edited(t *testing.T, source string, edits []edit) string {
	t.Helper()
	slices.SortFunc(edits, func(a, b edit) int { return b.from - a.from })
	for i, e := range edits {
		if i > 0 && e.to > edits[i-1].from {
			t.Fatalf("two guards stand at %q", source[e.from:e.to])
		}
		source = source[:e.from] + e.text + source[e.to:]
	}
	return source
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	full, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return full
}

// killer is a test binary of a package that has the faults, and how it is run.
type killer struct {
	dir, binary string
	args        []string
}

func build(t *testing.T, overlay, dir string) killer {
	t.Helper()
	k := killer{absolute(t, dir), filepath.Join(t.TempDir(), filepath.Base(dir)+".test"), nil}
	said, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", k.binary, dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return k
}

// runs is the killer with some of its tests.
func (k killer) runs(tests string, but ...string) killer {
	k.args = []string{"-test.run=" + tests}
	for _, skipped := range but {
		k.args = append(k.args, "-test.skip="+skipped)
	}
	return k
}

// kill runs the tests with a fault, and returns the first line that saw it.
func (k killer) kill(fault string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, k.binary, append([]string{"-test.failfast", "-test.timeout=110s"}, k.args...)...)
	cmd.Dir, cmd.Env = k.dir, append(os.Environ(), "WFCORE_FAULT="+fault)
	said, err := cmd.CombinedOutput()
	if err == nil {
		return ""
	}
	for line := range strings.Lines(string(said)) {
		if strings.Contains(line, "--- FAIL") || strings.HasPrefix(line, "panic") {
			return strings.TrimSpace(line)
		}
	}
	return err.Error()
}

// slow are the tests of hosttest that try every point of a long story: what they
// see, shorter ones see too.
const slow = "TwoCrashes|AStorageError|AKilled|ARunActs|ARestart|TwoLive|OneFailedCall|JSON|HugeFacts|ATornState|AResult|WithinAStep|AReplacedSleeper"

// Each guard of the coordinators, of the recovery and of the policy is needed.
func TestGuards(t *testing.T) {
	path, faults := overlay(t, slices.Concat(turnGuards, launchGuards, policyGuards))
	if t.Failed() {
		return
	}
	suite, host := build(t, path, "../../core/conformance"), build(t, path, "../../core/hosttest")
	killers := map[string][]killer{
		"launch": {host.runs("AGuardIsGone"), suite.runs("^TestMemory$/^coordinators$"), host.runs("^TestLaunch", slow)},
		"turns":  {host.runs(states), suite.runs("^TestMemory$/^coordinators$"), host.runs("^TestTurn", slow)},
		"":       {suite.runs("^TestMemory$/^(crowds|grid|policy|recovery|turns)$"), host.runs("^Test", slow)},
	}
	for _, k := range append(killers["turns"], killers[""]...) {
		if seen := k.kill(""); seen != "" {
			t.Fatalf("%s: nothing is wrong: %s", k.dir, seen)
		}
	}
	check(t, faults, 2, equivalentGuards, func(m mutant) string {
		kind, _, of := strings.Cut(m.statement, "_")
		if !of {
			kind = ""
		}
		order := killers[kind]
		if equivalentGuards[m.name()] != "" { // what nothing sees would run the long stories to their end
			order = order[:len(order)-1]
		}
		for _, k := range order {
			if seen := k.kill(m.name()); seen != "" {
				return seen
			}
		}
		return ""
	})
}

// states are the tests of hosttest that are one step each.
const states = "AGuardIsGone|OutOfHand|ASleepCounts|AnAbortIsTakenTwice|AResolvedMessage"
