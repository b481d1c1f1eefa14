package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/safetext"
)

// maxEngineLine bounds what is kept of a line that an engine writes.
const maxEngineLine = 64 << 10

// engine is a child that runs a workflow: it gets the input, says "ready", is told
// "go", and ends.
type engine struct {
	cmd      *exec.Cmd
	ready    chan struct{} // closed when it said ready
	released chan struct{} // closed to tell it go
	done     chan struct{} // closed when it ended
	err      error         // how it ended; set before done is closed
	mu       sync.Mutex
	last     string // its last line on stderr, safe
}

// startEngine starts the child in a process group of its own, so that kill reaches
// what it started. Input goes by stdin only: arguments and environment can be seen
// by others. The environment says which run it is.
func startEngine(command string, run core.Run, say func(string, ...any)) (*engine, error) {
	e := &engine{
		cmd:   exec.Command("sh", "-c", command),
		ready: make(chan struct{}), released: make(chan struct{}), done: make(chan struct{}),
	}
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	e.cmd.Env = append(os.Environ(),
		"WFCORE_RUN_ID="+run.RunID, "WFCORE_WORKFLOW="+run.WorkflowName, "WFCORE_SOURCE="+run.WorkflowSourceRef)
	if run.OriginSessionID != nil {
		e.cmd.Env = append(e.cmd.Env, "WFCORE_SESSION="+*run.OriginSessionID)
	}
	e.cmd.WaitDelay = time.Second // for what it started and left with its stdout open
	stdin, err := e.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	hide := core.InputHider(run.Input)
	out, errs := &lineWriter{do: e.heard(talk(say, hide))}, &lineWriter{do: e.complained(talk(say, hide))}
	e.cmd.Stdout, e.cmd.Stderr = out, errs
	if err := e.cmd.Start(); err != nil {
		return nil, err
	}
	go e.feed(stdin, run.Input)
	go e.await(out, errs)
	return e, nil
}

// feed alone writes to the child: one that does not read must not hold us up, and
// one that is gone says so by its exit.
func (e *engine) feed(stdin io.Writer, input []byte) {
	if _, err := stdin.Write(append(slices.Clone(input), '\n')); err != nil {
		return
	}
	select {
	case <-e.released:
		_, _ = io.WriteString(stdin, "go\n")
	case <-e.done:
	}
}

func (e *engine) await(out, errs *lineWriter) {
	defer close(e.done)
	e.err = e.cmd.Wait()
	// What it left behind in its group goes with it.
	_ = syscall.Kill(-e.cmd.Process.Pid, syscall.SIGKILL)
	if errors.Is(e.err, exec.ErrWaitDelay) {
		e.err = nil
		return // someone still writes, or nobody reads our talk: it is not waited for
	}
	out.flush()
	errs.flush()
}

// talkWindow is how many bytes of earlier lines a line is redacted with, since a
// secret may have begun there.
const talkWindow = 2 << 10

// talk passes on what a child says, line by line and safe, and returns each line
// as it was passed on.
func talk(say func(string, ...any), hide func(string) string) func(string) string {
	recent := ""
	return func(line string) string {
		recent = recent[max(0, len(recent)-talkWindow):] + "\n" + line
		redacted := safetext.Redact(hide(recent))
		safe := safetext.Line(redacted[strings.LastIndexByte(redacted, '\n')+1:])
		say("engine: %s", safe)
		return safe
	}
}

// heard takes a line of stdout: the first "ready" counts, the rest is talk.
func (e *engine) heard(talk func(string) string) func(string) {
	ready := false
	return func(line string) {
		if !ready && strings.TrimSpace(line) == "ready" {
			ready = true
			close(e.ready)
			return
		}
		talk(line)
	}
}

// complained takes a line of stderr; the last one is the reason of a failure.
func (e *engine) complained(talk func(string) string) func(string) {
	return func(line string) {
		if safe := talk(line); safe != "" {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.last = safe
		}
	}
}

// release tells the child to act.
func (e *engine) release() { close(e.released) }

// isReleased says whether it was told to.
func (e *engine) isReleased() bool { return isClosed(e.released) }

// ended says whether the child is gone.
func (e *engine) ended() bool { return isClosed(e.done) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// reason is why a child that ended failed: its last line on stderr, else its exit.
func (e *engine) reason() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.last != "" {
		return e.last
	}
	if e.err != nil {
		return "the engine ended with " + e.err.Error()
	}
	return "the engine ended before it was ready"
}

// kill ends the child and all that it started, and waits for it.
func (e *engine) kill() {
	if !e.ended() {
		_ = syscall.Kill(-e.cmd.Process.Pid, syscall.SIGKILL)
	}
	<-e.done
}

// lineWriter calls do for each line; what a line has beyond the bound is dropped.
type lineWriter struct {
	do   func(string)
	line []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		part, after, whole := bytes.Cut(rest, []byte("\n"))
		w.line = append(w.line, part[:min(len(part), maxEngineLine-len(w.line))]...)
		if whole {
			w.emit()
		}
		rest = after
	}
	return len(p), nil
}

// flush emits a last line that has no newline.
func (w *lineWriter) flush() {
	if len(w.line) > 0 {
		w.emit()
	}
}

func (w *lineWriter) emit() {
	w.do(strings.TrimSuffix(string(w.line), "\r"))
	w.line = w.line[:0]
}
