package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

func readDoc(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blocks are the fenced blocks of a language in a document.
func blocks(t *testing.T, doc, language string) []string {
	t.Helper()
	found := []string{}
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(readDoc(t, doc), -1) {
		found = append(found, m[1])
	}
	return found
}

func TestReadmeProgramRuns(t *testing.T) {
	programs := blocks(t, "README.md", "go")
	if len(programs) != 1 {
		t.Fatalf("%d programs", len(programs))
	}
	main := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(main, []byte(programs[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "run", main)
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.CombinedOutput()
	want := "Workflow greet queued (run greet-1).\nthe step got {\"who\":\"world\"}\nthe run is done\n"
	if err != nil || string(out) != want {
		t.Errorf("%v: got %s", err, out)
	}
}

func TestReadmeCommandsRun(t *testing.T) {
	scripts := blocks(t, "README.md", "sh")
	script := scripts[len(scripts)-1]
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "wfcore"), ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command("sh", "-e", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "TMPDIR="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"queued (run ", "is queued", `hello from {"who":"world"}`, "is done", "running"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in %s", want, out)
		}
	}
}

// The messages that operations.md shows are a launch cycle that works.
func TestDocumentedMessagesWork(t *testing.T) {
	lines := blocks(t, "docs/operations.md", "json")
	if len(lines) != 1 {
		t.Fatalf("%d blocks", len(lines))
	}
	for i, r := range newHost(t).rpc(lines[0]) {
		if r.Error != nil {
			t.Errorf("message %d: %+v", i+1, r.Error.Data)
		}
	}
}

// Links to headings, in documents and in docstrings, must lead somewhere.
func TestLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\b(docs/[a-z-]+\.md)(?:#([a-z-]+))?`)
	root := filepath.Join("..", "..")
	seen := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if d.Name() == "node_modules" {
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() || !(strings.HasSuffix(path, ".go") || strings.HasSuffix(path, ".md")) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			seen++
			if !hasHeading(t, m[1], m[2]) {
				t.Errorf("%s links to %s", path, m[0])
			}
		}
		return nil
	})
	if err != nil || seen < 20 {
		t.Errorf("%d links: %v", seen, err)
	}
}

func hasHeading(t *testing.T, doc, anchor string) bool {
	for line := range strings.Lines(readDoc(t, doc)) {
		heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if anchor == "" || ok && line[0] == '#' && slug(heading) == anchor {
			return true
		}
	}
	return false
}

func slug(heading string) string {
	kept := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r >= 'a' && r <= 'z' || r == '-':
			return r
		}
		return -1
	}, strings.ToLower(strings.TrimSpace(heading)))
	return kept
}

func TestErrorTableIsTheCodes(t *testing.T) {
	doc := readDoc(t, "docs/operations.md")
	for _, info := range core.Codes {
		retryable := map[bool]string{true: "yes", false: "no"}[info.Retryable]
		row := fmt.Sprintf("| `%s` | %s | %s | %d |\n", info.Code, info.Meaning, retryable, info.Exit)
		if !strings.Contains(doc, row) {
			t.Errorf("docs/operations.md lacks %s", row)
		}
	}
	if rows := strings.Count(doc, " | yes | ") + strings.Count(doc, " | no | "); rows != len(core.Codes) {
		t.Errorf("docs/operations.md has %d codes, core has %d", rows, len(core.Codes))
	}
}

func TestReferenceIsTheOpTable(t *testing.T) {
	if out := newHost(t).ok("call", "--describe"); out != readDoc(t, "docs/reference.md") {
		t.Error("docs/reference.md is out of date: run make generate")
	}
}

func TestEveryOperationIsInTheContract(t *testing.T) {
	doc := readDoc(t, "docs/contract.md") + readDoc(t, "docs/turns.md")
	for _, op := range core.Ops {
		if !strings.Contains(doc, "`"+op.Name+"`") {
			t.Errorf("neither docs/contract.md nor docs/turns.md speaks of %s", op.Name)
		}
	}
}

// Every test that conformance.md names exists.
func TestConformanceNamesRealTests(t *testing.T) {
	real := []string{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Example|Fuzz)\w*)\(`)
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if d.Name() == "node_modules" {
			return filepath.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(path, ".test.ts") {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "\ttest(") || strings.Contains(string(text), "\ntest(") {
			real = append(real, d.Name()) // a file without a test passes
		}
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			real = append(real, m[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:Test|Example|Fuzz)\\w*|\\w+\\.test\\.ts)`").FindAllStringSubmatch(readDoc(t, "docs/conformance.md"), -1)
	for _, m := range named {
		if !slices.Contains(real, m[1]) {
			t.Errorf("docs/conformance.md names %s, which is no test", m[1])
		}
	}
	if len(named) < 30 {
		t.Errorf("only %d tests are named", len(named))
	}
}
