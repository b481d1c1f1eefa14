package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// host runs the command on a store of its own.
type host struct {
	t   *testing.T
	dir string
	env map[string]string
}

func newHost(t *testing.T) *host {
	t.Helper()
	dir := t.TempDir()
	return &host{t, dir, map[string]string{"WFCORE_DB": filepath.Join(dir, "store.sqlite")}}
}

// result is what one run of the command said.
type result struct {
	code           int
	stdout, stderr string
}

func (h *host) run(args ...string) result { return h.with(context.Background(), "", args...) }

func (h *host) with(ctx context.Context, stdin string, args ...string) result {
	var out, errs syncBuffer
	code := run(ctx, args, system{strings.NewReader(stdin), &out, &errs, func(k string) string { return h.env[k] }, false})
	return result{code, out.String(), errs.String()}
}

// ok runs the command, which must succeed, and returns its data.
func (h *host) ok(args ...string) string {
	h.t.Helper()
	r := h.run(args...)
	if r.code != 0 {
		h.t.Fatalf("wfcore %v: exit %d: %s", args, r.code, r.stderr)
	}
	return r.stdout
}

// decode reads the JSON that the command printed.
func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var value T
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return value
}

// start queues a run of a source file and returns its id.
func (h *host) start(args ...string) string {
	h.t.Helper()
	source := h.file("greet.workflow", "step: greet\n")
	out := h.ok(append([]string{"start", "greet", "--source", source, "-o", "json"}, args...)...)
	return decode[map[string]any](h.t, out)["runId"].(string)
}

func (h *host) file(name, text string) string {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// status is the state of a run.
func (h *host) status(runID string) string {
	h.t.Helper()
	return decode[map[string]any](h.t, h.ok("status", runID, "-o", "json"))["status"].(string)
}

// fifo is a named pipe: who reads it waits until the other side writes.
func (h *host) fifo(name string) string {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		h.t.Fatal(err)
	}
	return path
}

func (h *host) read(path string) string {
	h.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

// syncBuffer is a buffer that an engine's talk and the command may write at once.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
