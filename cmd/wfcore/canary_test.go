package main

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pi-workflows/wfcore/core"
)

const canaryFiles = "../../core/safetext/testdata/"

// canary is a text with the secret part of it.
type canary struct{ text, secret string }

// canaries are those of safetext, in which "§" stands for the secret: every third, of
// each form.
func canaries(h *host) (some []canary) {
	h.t.Helper()
	forms := decode[map[string][][2]string](h.t, h.read(canaryFiles+"canaries.json"))
	for _, form := range slices.Sorted(maps.Keys(forms)) {
		for i := 0; i < len(forms[form]); i += 3 {
			c := forms[form][i]
			some = append(some, canary{strings.Replace(c[0], "§", c[1], 1), c[1]})
		}
	}
	if len(some) < 60 {
		h.t.Fatalf("%d canaries are too few", len(some))
	}
	return some
}

// hides checks that no eight bytes of a secret stand in a text.
func (c canary) hides(t *testing.T, where, text string) {
	t.Helper()
	plain := strings.Replace(c.text, c.secret, "\n", 1)
	for i := 0; i+8 <= len(c.secret); i++ {
		part := c.secret[i : i+8]
		if at := strings.Index(text, part); at >= 0 && !strings.Contains(plain, part) {
			t.Errorf("%s shows %q of %q: %q", where, part, c.text, text[max(0, at-60):min(len(text), at+60)])
			return
		}
	}
}

// files are the bytes of the store and of what SQLite keeps beside it.
func (h *host) files() string {
	h.t.Helper()
	var all strings.Builder
	paths, err := filepath.Glob(h.env["WFCORE_DB"] + "*")
	if err != nil || len(paths) == 0 {
		h.t.Fatalf("there is no store: %v", err)
	}
	for _, path := range paths {
		all.WriteString(h.read(path))
	}
	return all.String()
}

// says is an engine that writes a file on stderr and ends.
func (h *host) says(when string, text string) string {
	return when + "cat " + h.file("said", text) + " >&2; exit 1"
}

const (
	beforeReady = "read -r i; "
	afterGo     = "read -r i; echo ready; read -r g; "
)

// An engine may complain with a secret in it: none is on stderr, in what the command
// prints, or in the files of the store.
func TestActivateShowsACanary(t *testing.T) {
	h := newHost(t)
	all := canaries(h)
	for i, c := range all {
		h.start("--session", "s")
		when := []string{beforeReady, afterGo}[i%2]
		r := h.run("activate", "--session", "s", "--exec", h.says(when, c.text+"\n"), "-o", "json")
		run := decode[core.Run](t, r.stdout)
		code := []core.FailureCode{core.FailureActivationFailed, core.FailureRunFailed}[i%2]
		names := strings.TrimSuffix(core.FailureMessage(code, ""), ".")
		if m := *run.ErrorMessage; !strings.HasPrefix(m, names) || len(m) > core.MaxMessageBytes || !utf8.ValidString(m) || *run.ErrorCode != string(code) {
			t.Errorf("%q is stored as %s: %q", c.text, *run.ErrorCode, m)
		}
		c.hides(t, "stderr", r.stderr)
		c.hides(t, "the answer", r.stdout)
	}
	h.hidesAll(all)
}

// hidesAll looks for secrets in the files of the store, and in what is read of it.
func (h *host) hidesAll(all []canary) {
	h.t.Helper()
	files, told := h.files(), h.ok("intents", "--state", "all", "-o", "json")+h.ok("runs", "-o", "json")+h.ok("events")
	for _, c := range all {
		c.hides(h.t, "the store", files)
		c.hides(h.t, "a list", told)
	}
}

// Nor where the secret stands in many lines before the last, in one of a megabyte, or
// broken by what a terminal does not show.
func TestActivateShowsACanaryAmongLines(t *testing.T) {
	h := newHost(t)
	all := canaries(h)
	var said strings.Builder
	for _, c := range all {
		half := len(c.secret) / 2
		broken := strings.Replace(c.text, c.secret, c.secret[:half]+"\x1b[31m\x00"+c.secret[half:], 1)
		said.WriteString(c.text + "\n\nnext\n" + broken + "\n\n\xe6\x97\n")
	}
	said.WriteString(strings.Repeat("word ", 200_000) + "ghp_abcdefghijklmnopqrstuvwxyz\nthe end\n")
	id := h.start("--session", "s")
	r := h.run("activate", id, "--session", "s", "--exec", h.says(afterGo, said.String()), "-o", "json")
	if !strings.Contains(r.stderr, "engine: next") || !utf8.ValidString(r.stderr) {
		t.Errorf("the engine is not heard: %.200q", r.stderr)
	}
	for _, c := range all {
		c.hides(t, "stderr", r.stderr)
		c.hides(t, "the answer", r.stdout)
	}
	h.hidesAll(all)
}

// What an engine says without a secret in it is heard as it is.
func TestActivateShowsBenignLines(t *testing.T) {
	h := newHost(t)
	texts := strings.Split(strings.TrimSpace(h.read(canaryFiles+"benign.txt")), "\n")
	id := h.start("--session", "s")
	r := h.run("activate", id, "--session", "s", "--exec", h.says(afterGo, strings.Join(texts, "\n\nnext\n\n")+"\n"))
	for _, text := range texts {
		if !strings.Contains(r.stderr, "engine: "+text+"\n") {
			t.Errorf("%q is not heard", text)
		}
	}
}

// Requests that are refused are not quoted with what is secret in them.
func TestRefusedRequestShowsACanary(t *testing.T) {
	h := newHost(t)
	all := canaries(h)
	var lines strings.Builder
	for _, c := range all {
		quoted, err := json.Marshal(c.text)
		if err != nil {
			t.Fatal(err)
		}
		for _, rest := range []string{`"listRuns","params":{%:1}`, `"listRuns","params":{%:1,%:1}`, `"listRuns","params":{"limit":%}`, `"listRuns","params":%`, `%`} {
			lines.WriteString(`{"jsonrpc":"2.0","id":1,"method":` + strings.ReplaceAll(rest, "%", string(quoted)) + "}\n")
		}
		lines.WriteString(strings.ReplaceAll(c.text, "\n", " ") + "\n")
	}
	r := h.with(t.Context(), lines.String(), "rpc")
	if n := strings.Count(r.stdout, `"error":`); n != 6*len(all) {
		t.Errorf("%d of %d are refused", n, 6*len(all))
	}
	for _, c := range all {
		c.hides(t, "an answer", r.stdout)
		c.hides(t, "stderr", r.stderr)
		c.hides(t, "the stderr of call", h.with(t.Context(), "", "call", c.text).stderr)
	}
}
