package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

// An engine that is ready before it reads a large input must not hold us up: a
// cancellation and a signal still end it.
func TestActivateEngineThatDoesNotRead(t *testing.T) {
	for name, end := range map[string]func(h *host, id string, stop func()){
		"cancelled": func(h *host, id string, _ func()) { h.ok("cancel", id) },
		"stopped":   func(_ *host, _ string, stop func()) { stop() },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			id := h.start("--input", "@"+h.file("big.json", `"`+strings.Repeat("x", 900_000)+`"`))
			at := h.fifo("at")
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			ended := make(chan result)
			go func() {
				ended <- h.with(ctx, "", "activate", id, "--poll", "1ms", "--exec", `trap "" PIPE; echo ready; while :; do echo at > `+at+`; done 2>/dev/null`)
			}()
			for range 3 { // it is released, and goes on
				h.read(at)
			}
			end(h, id, stop)
			go func() { // let it past the pipe until it is gone
				for {
					if _, err := os.ReadFile(at); err != nil {
						return
					}
				}
			}()
			if r := <-ended; r.code == 0 {
				t.Errorf("exit %d: %s", r.code, r.stderr)
			}
		})
	}
}

// waitFor is a writer that says when a text went through it.
type waitFor struct {
	syncBuffer
	text string
	seen chan struct{}
}

func (w *waitFor) Write(p []byte) (int, error) {
	n, err := w.syncBuffer.Write(p)
	if strings.Contains(string(p), w.text) {
		close(w.seen)
	}
	return n, err
}

// sleeper is an activation whose machine can sleep past its lease.
func (h *host) sleeper(talk io.Writer, poll time.Duration) (act *activation, sleep func()) {
	h.t.Helper()
	app := &app{system: system{stdout: &syncBuffer{}, stderr: talk, getenv: os.Getenv}}
	app.out = printer{w: app.stdout}
	var slept atomic.Int64
	store, err := sqlite.Open(context.Background(), h.env["WFCORE_DB"], sqlite.Options{
		Now: func() time.Time { return time.Now().Add(time.Duration(slept.Load())) },
	})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { store.Close() })
	return &activation{app: app, store: store, lease: core.MaxLease, poll: poll}, func() { slept.Store(int64(2 * core.MaxLease)) }
}

// After a sleep an owner whose lease lapsed and whom nobody replaced goes on.
func TestActivateGoesOnAfterASleep(t *testing.T) {
	h := newHost(t)
	id := h.start("--session", "s")
	at, more := h.fifo("at"), h.fifo("more")
	talk := &waitFor{text: "it is held again", seen: make(chan struct{})}
	act, sleep := h.sleeper(talk, time.Millisecond)
	ended := make(chan error)
	go func() {
		ended <- act.activate(context.Background(), id, "s", "me", `read -r i; echo ready; read -r g; echo at > `+at+`; cat `+more)
	}()
	h.read(at)
	sleep()
	<-talk.seen
	if err := os.WriteFile(more, nil, 0); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("%v: %s", err, talk.String())
	}
	if s := h.status(id); s != "done" {
		t.Errorf("the run is %s", s)
	}
}

// How the run ended is stored, also where the lease lapsed before that.
func TestActivateEndsAfterASleep(t *testing.T) {
	for name, c := range map[string]struct{ before, after, status, code string }{
		"after go":     {"read -r i; echo ready; read -r g", "exit 0", "done", ""},
		"failed":       {"read -r i; echo ready; read -r g", "exit 1", "failed", "run_failed"},
		"before ready": {"read -r i", "echo ready; read -r g", "failed", "activation_failed"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			id := h.start("--session", "s")
			at, more := h.fifo("at"), h.fifo("more")
			act, sleep := h.sleeper(&syncBuffer{}, time.Hour)
			ended := make(chan error)
			go func() {
				ended <- act.activate(context.Background(), id, "s", "me", c.before+`; echo at > `+at+`; cat `+more+`; `+c.after)
			}()
			h.read(at)
			sleep()
			if err := os.WriteFile(more, nil, 0); err != nil {
				t.Fatal(err)
			}
			<-ended
			run := decode[map[string]any](t, h.ok("status", id, "-o", "json"))
			if code, _ := run["errorCode"].(string); run["status"] != c.status || code != c.code {
				t.Errorf("the run is %v %v", run["status"], run["errorCode"])
			}
		})
	}
}

// An engine may quote its input, or a secret over several lines.
func TestActivateTalkIsSafe(t *testing.T) {
	h := newHost(t)
	h.start("--input", `{"prompt":"summarise the ACME merger memo","salary":91234}`)
	key := "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAz\nq83hVJx0Zk\n-----END RSA PRIVATE KEY-----"
	engine := `read -r i; echo ready; read -r g; cat ` + h.file("key", key) + ` >&2
printf 'password:\nhunter2secret99\n' >&2; echo "TypeError: cannot handle $i" >&2; exit 1`
	r := h.run("activate", "--exec", engine)
	everything := r.stdout + r.stderr + h.ok("events") + h.ok("runs", "-o", "json")
	for _, private := range []string{"ACME", "91234", "q83hVJx0Zk", "MIIEowIB", "hunter2secret99"} {
		if strings.Contains(everything, private) {
			t.Errorf("%s came through in %s", private, everything)
		}
	}
	if !strings.Contains(r.stdout, "TypeError: cannot handle [input]") {
		t.Errorf("the reason is not readable: %s", r.stdout)
	}
}

// A store that another process was killed in is settled, and a run that cannot be
// is named.
func TestActivateSaysWhatItRecovers(t *testing.T) {
	h := newHost(t)
	id := h.start()
	h.ok("call", "--test-clock", "claimPreparedRun", `{"runId":"`+id+`","runnerId":"gone","leaseMs":1,"now":"2020-01-01T00:00:00.000Z"}`)
	if r := h.run("activate", "--exec", engineOK); r.code != 0 || !strings.Contains(r.stderr, "was starting with its runner gone, and is now queued") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
}

// A run whose source became a pipe must not be waited for.
func TestActivateSourceThatIsNoFile(t *testing.T) {
	h := newHost(t)
	id := h.start()
	if err := os.Remove(filepath.Join(h.dir, "greet.workflow")); err != nil {
		t.Fatal(err)
	}
	h.fifo("greet.workflow")
	h.run("activate", id, "--exec", engineOK)
	if s := h.status(id); s != "failed" {
		t.Errorf("the run is %s", s)
	}
	if r := h.run("start", "greet", "--source", filepath.Join(h.dir, "greet.workflow")); r.code != 2 {
		t.Errorf("start: exit %d: %s", r.code, r.stderr)
	}
}

// A reader that blocks for ever does not outlive a signal.
func TestSignalEndsABlockedRead(t *testing.T) {
	for _, args := range [][]string{{"rpc"}, {"start", "greet", "--source", "builtin:x", "--input", "-"}, {"call", "listRuns", "-"}} {
		h := newHost(t)
		h.start()
		in, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		stop()
		var said syncBuffer
		run(ctx, args, system{in, &said, &said, func(k string) string { return h.env[k] }, false})
		out.Close()
		in.Close()
	}
}

// An empty flag is an unset variable of a shell, and not "any".
func TestEmptyFlagsAreRefused(t *testing.T) {
	h := newHost(t)
	id := h.start("--session", "s")
	for _, args := range [][]string{{"cancel", id, "--session", ""}, {"activate", "--session", "", "--exec", "true"}, {"runs", "--session", ""}, {"runs", "--db", ""}} {
		if r := h.run(args...); r.code != 2 || !strings.Contains(r.stderr, "must not be empty") {
			t.Errorf("%v: exit %d: %s", args, r.code, r.stderr)
		}
	}
	if s := h.status(id); s != "queued" {
		t.Errorf("the run is %s", s)
	}
}

// What cannot be written was not said.
func TestStdoutThatFails(t *testing.T) {
	h := newHost(t)
	id := h.start()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full")
	}
	defer full.Close()
	for _, args := range [][]string{{"runs"}, {"events"}, {"show", id}, {"status", id}, {"version"}} {
		var errs syncBuffer
		if code := run(context.Background(), args, system{strings.NewReader(""), full, &errs, func(k string) string { return h.env[k] }, false}); code != 1 {
			t.Errorf("%v: exit %d: %s", args, code, errs.String())
		}
	}
}
