package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// engineOK follows the protocol and does nothing.
const engineOK = `read -r input; echo ready; read -r go; test "$go" = go`

func TestActivateRunsTheEngine(t *testing.T) {
	h := newHost(t)
	id := h.start("--session", "s", "--input", `{"who":"world"}`)
	got := filepath.Join(h.dir, "got")
	engine := `read -r input; echo ready; read -r go; echo "$input $go" > ` + got
	if out := h.ok("activate", "--session", "s", "--exec", engine); !strings.Contains(out, "is done (run "+id) {
		t.Errorf("activate said %q", out)
	}
	if text := h.read(got); text != `{"who":"world"} go`+"\n" {
		t.Errorf("the engine got %q", text)
	}
	var types []string
	for _, e := range decode[[]map[string]any](t, h.ok("events", id, "-o", "json")) {
		types = append(types, e["type"].(string))
	}
	if want := "queued starting running done"; strings.Join(types, " ") != want {
		t.Errorf("events %v, want %s", types, want)
	}
}

// Input must be in no place that other users can see.
func TestActivateHidesInputFromArgumentsAndEnvironment(t *testing.T) {
	h := newHost(t)
	h.start("--input", `"private-marker"`)
	seen := filepath.Join(h.dir, "seen")
	engine := `cat /proc/$$/environ /proc/$$/cmdline > ` + seen + `; ` + engineOK
	h.ok("activate", "--exec", engine)
	if text := h.read(seen); text == "" || strings.Contains(text, "private-marker") {
		t.Errorf("the child's arguments or environment hold the input: %q", text)
	}
}

func TestActivateFailures(t *testing.T) {
	for name, c := range map[string]struct {
		engine, code, status, detail string
	}{
		"ended before ready":   {"read -r i; echo 'no module x' >&2; exit 3", "activation_failed", "failed", "no module x"},
		"exit 0 before ready":  {"exit 0", "activation_failed", "failed", "ended before it was ready"},
		"no such engine":       {"/nonexistent/engine", "activation_failed", "failed", "nonexistent"},
		"failed after go":      {"read -r i; echo ready; read -r g; echo 'first' >&2; echo 'disk gone' >&2; exit 1", "run_failed", "failed", "disk gone"},
		"silent failure":       {"read -r i; echo ready; read -r g; exit 7", "run_failed", "failed", "exit status 7"},
		"killed":               {"read -r i; echo ready; read -r g; kill -9 $$", "run_failed", "failed", "killed"},
		"never reads anything": {"exit 9", "activation_failed", "failed", "exit status 9"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			id := h.start("--session", "s")
			r := h.run("activate", id, "--session", "s", "--exec", c.engine, "-o", "json")
			if r.code != 1 {
				t.Errorf("exit %d: %s", r.code, r.stderr)
			}
			run := decode[map[string]any](t, r.stdout)
			if run["errorCode"] != c.code || run["status"] != c.status || !strings.Contains(run["errorMessage"].(string), c.detail) {
				t.Errorf("the run is %v %v: %v", run["status"], run["errorCode"], run["errorMessage"])
			}
			h.start("--session", "s") // the session is free
		})
	}
}

func TestActivateSourceChanges(t *testing.T) {
	for name, c := range map[string]struct {
		change func(h *host, source string)
		code   string
	}{
		"changed": {func(h *host, source string) { h.file("greet.workflow", "step: other\n") }, "source_changed"},
		"removed": {func(h *host, source string) { _ = os.Remove(source) }, "workflow_not_found"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			id := h.start("--session", "s")
			c.change(h, filepath.Join(h.dir, "greet.workflow"))
			ran := filepath.Join(h.dir, "ran")
			if r := h.run("activate", id, "--session", "s", "--exec", "touch "+ran+"; "+engineOK); r.code != 1 {
				t.Errorf("exit %d: %s", r.code, r.stderr)
			}
			if run := decode[map[string]any](t, h.ok("status", id, "-o", "json")); run["errorCode"] != c.code {
				t.Errorf("errorCode %v", run["errorCode"])
			}
			if _, err := os.Stat(ran); err == nil {
				t.Error("the engine ran")
			}
		})
	}
}

// The source changes while the engine builds: the final fence sees it.
func TestActivateSourceChangesWhileBuilding(t *testing.T) {
	h := newHost(t)
	id := h.start()
	ran := filepath.Join(h.dir, "ran")
	engine := `read -r input; echo other > ` + filepath.Join(h.dir, "greet.workflow") + `; echo ready; read -r go && touch ` + ran
	h.run("activate", id, "--exec", engine)
	if run := decode[map[string]any](t, h.ok("status", id, "-o", "json")); run["errorCode"] != "source_changed" {
		t.Errorf("errorCode %v", run["errorCode"])
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the engine was released")
	}
}

// A run that is cancelled while its engine works ends the engine.
func TestActivateCancelled(t *testing.T) {
	h := newHost(t)
	id := h.start("--session", "s")
	at := h.fifo("at")
	engine := `read -r i; echo ready; read -r g; echo step > ` + at + `; read -r never`
	ended := make(chan result)
	go func() {
		ended <- h.run("activate", id, "--session", "s", "--poll", "1ms", "--exec", engine)
	}()
	h.read(at)
	h.ok("cancel", id)
	if r := <-ended; r.code != 1 || !strings.Contains(r.stdout, "is cancelled") {
		t.Errorf("exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	if s := h.status(id); s != "cancelled" {
		t.Errorf("the run is %s", s)
	}
}

// A signal lets the claim expire at once; the next process need not wait.
func TestActivateStopped(t *testing.T) {
	for name, c := range map[string]struct{ engine, status, after string }{
		"while building": {`echo build > %; read -r i; read -r never`, "starting", "done"},
		"while running":  {`read -r i; echo ready; read -r g; echo step > %; read -r never`, "running", "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			id := h.start("--session", "s")
			at := h.fifo("at")
			ctx, stop := context.WithCancel(context.Background())
			ended := make(chan result)
			go func() {
				ended <- h.with(ctx, "", "activate", id, "--session", "s", "--exec", strings.ReplaceAll(c.engine, "%", at))
			}()
			h.read(at)
			stop()
			if r := <-ended; r.code != 130 || !strings.Contains(r.stderr, "can be recovered at once") {
				t.Errorf("exit %d: %s", r.code, r.stderr)
			}
			if s := h.status(id); s != c.status {
				t.Errorf("the run is %s, want %s", s, c.status)
			}
			h.run("activate", "--session", "s", "--exec", engineOK)
			if s := h.status(id); s != c.after {
				t.Errorf("the next activation left it %s, want %s", s, c.after)
			}
		})
	}
}

// Another runner takes the run over: the first one stops and records the loss.
func TestActivateClaimLost(t *testing.T) {
	h := newHost(t)
	id := h.start()
	at := h.fifo("at")
	ended := make(chan result)
	go func() {
		ended <- h.run("activate", id, "--poll", "1ms", "--exec", `read -r i; echo ready; read -r g; echo step > `+at+`; read -r never`)
	}()
	h.read(at)
	h.ok("call", "--test-clock", "takeOverExpiredRun", `{"runId":"`+id+`","runnerId":"other","now":"2100-01-01T00:00:00.000Z"}`)
	if r := <-ended; r.code != 4 || !strings.Contains(r.stderr, "claim_lost") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
	if out := h.ok("events", id); !strings.Contains(out, "claim_lost") {
		t.Errorf("the feed does not say so:\n%s", out)
	}
}

// An engine that is stuck does not hold its session for ever.
func TestActivateTimeouts(t *testing.T) {
	for name, c := range map[string]struct{ flag, engine, code string }{
		"never ready": {"--build-timeout", "read -r i; read -r never", "activation_failed"},
		"never ends":  {"--timeout", "read -r i; echo ready; read -r g; read -r never", "timed_out"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			id := h.start("--session", "s")
			if r := h.run("activate", id, "--session", "s", c.flag, "1ms", "--exec", c.engine); r.code != 1 {
				t.Errorf("exit %d: %s", r.code, r.stderr)
			}
			if run := decode[map[string]any](t, h.ok("status", id, "-o", "json")); run["errorCode"] != c.code {
				t.Errorf("errorCode %v", run["errorCode"])
			}
		})
	}
}

// The engine is told which run it is, and nothing private.
func TestActivateEnvironment(t *testing.T) {
	h := newHost(t)
	id := h.start("--session", "s")
	seen := filepath.Join(h.dir, "seen")
	engine := `echo "$WFCORE_RUN_ID $WFCORE_WORKFLOW $WFCORE_SOURCE $WFCORE_SESSION" > ` + seen + `; ` + engineOK
	h.ok("activate", "--session", "s", "--exec", engine)
	if want := id + " greet " + filepath.Join(h.dir, "greet.workflow") + " s\n"; h.read(seen) != want {
		t.Errorf("got %q want %q", h.read(seen), want)
	}
}

func TestActivateNothing(t *testing.T) {
	h := newHost(t)
	h.ok("cancel", h.start())
	if r := h.run("activate", "--exec", engineOK); r.code != 3 || r.stdout != "" || !strings.Contains(r.stderr, "nothing is queued") {
		t.Errorf("exit %d: %q", r.code, r.stderr)
	}
	for _, args := range [][]string{{"activate"}, {"activate", "--exec", "true", "--lease", "0s"}, {"activate", "--exec", "true", "--lease", "2h"}, {"activate", "--exec", "true", "--poll", "0s"}, {"activate", "--exec", "true", "--timeout", "-1s"}} {
		if r := h.run(args...); r.code != 2 {
			t.Errorf("%v: exit %d", args, r.code)
		}
	}
	if r := h.run("activate", "no-such-run", "--exec", engineOK); r.code != 3 {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
}

// What an engine writes may be long, or hold a secret or a terminal's escapes.
func TestActivateEngineTalk(t *testing.T) {
	h := newHost(t)
	h.start()
	engine := `read -r i; echo "Authorization: Bearer abcdef1234567890"; echo ready; read -r g
head -c 200000 /dev/zero | tr '\0' x; echo; printf '\033[31mred password=hunter2hunter2' >&2; exit 1`
	r := h.run("activate", "--exec", engine)
	for _, text := range []string{r.stdout, r.stderr, h.ok("events", "-o", "json")} {
		for _, secret := range []string{"abcdef1234567890", "hunter2hunter2", "\x1b"} {
			if strings.Contains(text, secret) {
				t.Errorf("%q came through in %.200q", secret, text)
			}
		}
		if len(text) > 10_000 {
			t.Errorf("%d bytes of talk", len(text))
		}
	}
	if !strings.Contains(r.stderr, "red password=") {
		t.Errorf("the reason is not readable: %q", r.stderr)
	}
}
