package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

func TestStartAnswersTheContractsObject(t *testing.T) {
	h := newHost(t)
	source := h.file("greet.workflow", "x")
	out := h.ok("start", "greet", "--source", source, "--run-id", "r1", "-o", "json")
	if want := `{"action":"start","workflow":"greet","runId":"r1","queued":true}` + "\n"; out != want {
		t.Errorf("got %s want %s", out, want)
	}
	if out := h.ok("start", "greet", "--source", source, "--run-id", "r1"); out != "Workflow greet queued (run r1).\n" {
		t.Errorf("the repeat said %q", out)
	}
}

func TestStartInputs(t *testing.T) {
	h := newHost(t)
	source := h.file("greet.workflow", "x")
	file := h.file("input.json", ` {"b": 1, "a": 2} `)
	for i, input := range []string{`{"b":1,"a":2}`, "@" + file, "-"} {
		id := "r" + string(rune('0'+i))
		if r := h.with(context.Background(), `{"a":2,"b":1}`, "start", "greet", "--source", source, "--run-id", id, "--input", input); r.code != 0 {
			t.Fatal(r.stderr)
		}
		claimed := h.ok("call", "claimPreparedRun", `{"runId":"`+id+`","runnerId":"me"}`)
		if !strings.Contains(claimed, `"input":{"a":2,"b":1}`) {
			t.Errorf("--input %s: %s", input, claimed)
		}
	}
}

func TestBadArguments(t *testing.T) {
	h := newHost(t)
	h.start()
	source := h.file("greet.workflow", "x")
	for _, args := range [][]string{
		{"nonsense"}, {"runs", "--nonsense"}, {"runs", "extra"}, {"-o", "yaml", "runs"},
		{"runs", "--limit", "0"}, {"runs", "--limit", "101"}, {"runs", "--status", "claimed"},
		{"status"}, {"status", "r", "--session", "s"}, {"show"}, {"cancel"}, {"cancel", ""},
		{"events", "--after", "-1"}, {"recover", "--finding", "running"},
		{"start"}, {"start", "greet"}, {"start", "greet", "--source", filepath.Join(h.dir, "absent")},
		{"start", "greet", "--source", source, "--digest", "d"},
		{"start", "greet", "--source", source, "--input", "{"},
		{"start", "greet", "--source", source, "--input", "@" + filepath.Join(h.dir, "absent")},
		{"start", "greet", "--source", source, "--options", "[]"},
		{"start", "greet", "--source", "https://user:secret@host/x"},
		{"start", "greet", "--source", h.dir},
		{"start", "greet", "--source", "file://" + source}, {"start", "greet", "--source", "./a:b"},
		{"call"}, {"call", "nope"}, {"call", "listRuns", "{"}, {"call", "listRuns", `{"limit":1,"now":"2026-01-01T00:00:00.000Z"}`},
	} {
		if r := h.run(args...); r.code != 2 || r.stdout != "" || r.stderr == "" {
			t.Errorf("%v: exit %d, stdout %q, stderr %q", args, r.code, r.stdout, r.stderr)
		}
	}
	h.env = nil
	if r := h.run("runs"); r.code != 2 || !strings.Contains(r.stderr, "WFCORE_DB") {
		t.Errorf("without a store: exit %d: %s", r.code, r.stderr)
	}
}

// Every code of the table comes out as its exit code.
func TestExitCodes(t *testing.T) {
	h := newHost(t)
	if r := h.run("runs"); r.code != 3 {
		t.Errorf("no store: exit %d: %s", r.code, r.stderr)
	}
	id := h.start("--session", "s")
	text := h.file("not-a-database", "this is a text file, and not a database at all")
	for want, args := range map[int][]string{
		3: {"show", "no-such-run"},
		4: {"cancel", id, "--session", "other"},
		5: {"runs", "--db", "/proc/self/mem/store"},
		6: {"runs", "--db", text},
	} {
		if r := h.run(args...); r.code != want || r.stdout != "" {
			t.Errorf("%v: exit %d, want %d: %s", args, r.code, want, r.stderr)
		}
	}
	r := h.run("start", "greet", "--source", filepath.Join(h.dir, "greet.workflow"), "--session", "s", "-o", "json")
	failure := decode[core.Error](t, r.stderr)
	if r.code != 4 || failure.Code != core.CodeSessionReserved || failure.Details["runId"] != id {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
}

// Case: an empty store, looked at for the first time.
func TestEmptyStore(t *testing.T) {
	h := newHost(t)
	if err := os.WriteFile(h.env["WFCORE_DB"], nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"runs"}, {"intents"}, {"events"}, {"events", "r"}, {"recover"}, {"call", "listRuns", `{"limit":1}`}} {
		if out := h.ok(append(args, "-o", "json")...); out != "[]\n" {
			t.Errorf("%v: %q", args, out)
		}
	}
	if out := h.ok("status", "--session", "s", "-o", "json"); out != "null\n" {
		t.Errorf("status: %q", out)
	}
	for _, op := range core.Ops {
		if r := h.run("call", op.Name, `{}`); r.code > 3 {
			t.Errorf("call %s: exit %d: %s", op.Name, r.code, r.stderr)
		}
	}
}

// Reading works while another process writes, and leaves no write behind.
func TestReadWhileWriting(t *testing.T) {
	h := newHost(t)
	id := h.start()
	ctx := context.Background()
	writer, err := sqlite.Open(ctx, h.env["WFCORE_DB"], sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	if _, err := writer.ClaimPreparedRun(ctx, core.ClaimRequest{RunID: id, RunnerID: "me"}); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"runs"}, {"status", id}, {"show", id}, {"events"}} {
		if out := h.ok(args...); !strings.Contains(out, "starting") {
			t.Errorf("%v: %q", args, out)
		}
	}
}

func TestShowIsATimeline(t *testing.T) {
	h := newHost(t)
	id := h.start("--session", "s")
	h.ok("activate", id, "--session", "s", "--exec", engineOK)
	out := h.ok("show", id)
	last := 0
	for _, want := range []string{"is done", "greet.workflow", "TIME", "queued", "starting", "running", "done"} {
		at := strings.Index(out[last:], want)
		if at < 0 {
			t.Fatalf("%q is missing, or out of order, in\n%s", want, out)
		}
		last += at
	}
	run := decode[shown](t, h.ok("show", id, "-o", "json"))
	if run.RunID != id || len(run.Events) != 4 {
		t.Errorf("got %+v", run)
	}
}

func TestColourOnlyOnATerminal(t *testing.T) {
	h := newHost(t)
	h.start()
	for _, c := range []struct {
		terminal bool
		noColour string
		want     bool
	}{{true, "", true}, {true, "1", false}, {false, "", false}} {
		h.env["NO_COLOR"] = c.noColour
		var out, errs syncBuffer
		run(context.Background(), []string{"runs"}, system{strings.NewReader(""), &out, &errs, func(k string) string { return h.env[k] }, c.terminal})
		if got := strings.Contains(out.String(), "\x1b["); got != c.want {
			t.Errorf("%+v: colour %v", c, got)
		}
	}
}

func TestRecover(t *testing.T) {
	for finding, want := range map[string][2]string{
		"none":          {"queued", "failed"},
		"waiting":       {"parked", "parked"},
		"unreadable":    {"failed", "failed"},
		"sourceChanged": {"failed", "failed"},
		"done":          {"done", "done"},
		"failed":        {"failed", "failed"},
		"cancelled":     {"cancelled", "cancelled"},
	} {
		h := newHost(t)
		past := `,"runnerId":"gone","leaseMs":1,"now":"2020-01-01T00:00:00.000Z"}`
		starting, running := h.start(), h.start()
		h.ok("call", "--test-clock", "claimPreparedRun", `{"runId":"`+starting+`"`+past)
		h.ok("call", "--test-clock", "claimPreparedRun", `{"runId":"`+running+`","claimToken":"t"`+past)
		h.ok("call", "--test-clock", "markPreparedRunRunning", `{"runId":"`+running+`","claimToken":"t","now":"2020-01-01T00:00:00.000Z"}`)
		out := decode[[]recovered](t, h.ok("recover", "--finding", finding, "-o", "json"))
		if len(out) != 2 || out[0].Problem != nil || out[1].Problem != nil {
			t.Errorf("%s: %+v", finding, out)
		}
		if got := [2]string{h.status(starting), h.status(running)}; got != want {
			t.Errorf("%s: got %v want %v", finding, got, want)
		}
		if r := h.run("recover", running); r.code != 4 || !strings.Contains(r.stderr, "invalid_transition") {
			t.Errorf("%s again: exit %d: %s", finding, r.code, r.stderr)
		}
		if r := h.run("recover"); r.code != 0 || !strings.Contains(r.stderr, "nothing to recover") {
			t.Errorf("%s again: exit %d: %s", finding, r.code, r.stderr)
		}
	}
}

// A run that is named says why it cannot be recovered.
func TestRecoverOfALiveOrForeignRun(t *testing.T) {
	h := newHost(t)
	starting, running := h.start("--session", "s1"), h.start("--session", "s2")
	h.ok("call", "claimPreparedRun", `{"runId":"`+starting+`","sessionId":"s1","runnerId":"me"}`)
	h.ok("call", "claimPreparedRun", `{"runId":"`+running+`","sessionId":"s2","runnerId":"me","claimToken":"t"}`)
	h.ok("call", "markPreparedRunRunning", `{"runId":"`+running+`","claimToken":"t"}`)
	for _, c := range []struct{ run, session, code string }{
		{starting, "s1", "claim_live"}, {starting, "s2", "not_owner"}, {running, "s2", "claim_live"}, {running, "s1", "not_owner"},
	} {
		if r := h.run("recover", c.run, "--session", c.session); r.code != 4 || !strings.Contains(r.stderr, c.code) {
			t.Errorf("%+v: exit %d: %s", c, r.code, r.stderr)
		}
	}
}

// Only a start and rpc make a store; a mistyped path must not.
func TestOnlyAStartMakesAStore(t *testing.T) {
	h := newHost(t)
	for _, args := range [][]string{
		{"runs"}, {"events"}, {"show", "r"}, {"status", "r"}, {"cancel", "r"}, {"recover"}, {"activate", "--exec", "true"},
		{"call", "listRuns", `{"limit":1}`}, {"call", "cancelPreparedRun", `{"runId":"r"}`},
	} {
		if r := h.run(args...); r.code != 3 || !strings.Contains(r.stderr, "there is no store at") {
			t.Errorf("%v: exit %d: %s", args, r.code, r.stderr)
		}
	}
	if _, err := os.Stat(h.env["WFCORE_DB"]); err == nil {
		t.Error("a store was made")
	}
}

func TestVersion(t *testing.T) {
	h := newHost(t)
	if a, b := h.ok("version"), h.ok("--version"); a != b {
		t.Errorf("version says %q, --version %q", a, b)
	}
	v := decode[versionInfo](t, h.ok("version", "-o", "json"))
	if v.SQLite == "" || v.Go == "" || v.Commit == "" || v.SchemaID != "pi-workflows.controller-store.v1" {
		t.Errorf("got %+v", v)
	}
}

// The demo's timeline is what the file says, in order, and it ends with the path.
func TestDemo(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	h := newHost(t)
	out := h.ok("demo")
	rest := out
	for _, want := range []string{
		"queued ", "reserved by", "launch_failed", "source_changed", "turn owed", "turn eligible", "failed to start", "free",
		"message", "pi-workflows-deferred-turn: Workflow greet failed to start", "turn given", "by fallback",
		"queued ", "reserved by", "starting ", "running ", "done ", "is done", "free",
		"turn owed", "agentCancelled", "cancelled ", "turn eligible", "pi-workflows-deferred-turn: Workflow greet was cancelled", "turn given", "by fallback",
		"turn owed", "timedOut", "pi-workflows-agent-step: The last attempt", "turn given", "by workflowPrompt", "done ", "and --db:",
	} {
		_, after, ok := strings.Cut(rest, want)
		if !ok {
			t.Fatalf("%q is missing, or out of order, in\n%s", want, out)
		}
		rest = after
	}
	h.env["WFCORE_DB"], _, _ = strings.Cut(strings.TrimSpace(rest), "\n")
	if runs := decode[[]core.Run](t, h.ok("runs", "-o", "json")); len(runs) != 4 {
		t.Errorf("the file holds %d runs", len(runs))
	}
	if told := strings.Count(out, "message        pi-workflows-deferred-turn"); told != 2 {
		t.Errorf("the agent was told %d times", told)
	}
	if out := h.ok("intents", "-o", "json"); out != "[]\n" {
		t.Errorf("owed is %s", out)
	}
	if out := h.ok("intents", "--state", "all"); strings.Count(out, "deferred-turn:") != 3 || strings.Count(out, " fallback ") != 2 {
		t.Errorf("owed was\n%s", out)
	}
}

// The help of every command names what it does.
func TestHelp(t *testing.T) {
	h := newHost(t)
	for _, name := range []string{"", "start", "activate", "cancel", "status", "runs", "show", "events", "intents", "recover", "call", "rpc", "demo", "version"} {
		if out := h.ok(strings.Fields(name + " --help")...); !strings.Contains(out, "Usage:") || len(out) < 100 {
			t.Errorf("%s: %q", name, out)
		}
	}
}
