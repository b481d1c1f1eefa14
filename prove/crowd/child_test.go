// Package crowd puts many processes on one file: they work, wait, are killed, open and
// close it, and find files that are no store.
package crowd

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3/driver"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
	"github.com/pi-workflows/wfcore/prove/scenario"
)

var ctx = context.Background()

// jobVar names what a re-executed test binary does instead of testing.
const jobVar = "WFCORE_CROWD_JOB"

var jobs = map[string]func(args []string) error{
	"work": work, "live": live, "meetLock": meetLock, "reopen": reopen, "reopenPlain": reopenPlain, "openEach": openEach,
}

func TestMain(m *testing.M) {
	job, is := os.LookupEnv(jobVar)
	if !is {
		os.Exit(m.Run())
	}
	if err := jobs[job](os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child is a process. It and the test talk in lines.
type child struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func start(t *testing.T, job string, args ...any) *child {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	c := &child{Cmd: exec.Command(self)}
	for _, arg := range args {
		c.Args = append(c.Args, fmt.Sprint(arg))
	}
	c.Env = append(os.Environ(), jobVar+"="+job)
	c.Stderr = os.Stderr
	c.in, err = c.StdinPipe()
	must(t, err)
	out, err := c.StdoutPipe()
	must(t, err)
	c.out = bufio.NewScanner(out)
	must(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c
}

// hear is the next line of the child.
func (c *child) hear(t *testing.T) string {
	t.Helper()
	if !c.out.Scan() {
		t.Fatalf("the child has ended: %v", c.Wait())
	}
	return c.out.Text()
}

func (c *child) tell(t *testing.T, line string) {
	t.Helper()
	_, err := io.WriteString(c.in, line+"\n")
	must(t, err)
}

// patient waits for a lock for longer than a slow machine needs.
func patient(after time.Duration) sqlite.Options {
	return sqlite.Options{Now: func() time.Time { return scenario.Epoch.Add(after) }, Wait: time.Minute}
}

func request(runID, session string) core.ReserveRequest {
	return core.ReserveRequest{
		RunID: runID, WorkflowName: "build", WorkflowSourceRef: "builtin:build", WorkflowSource: []byte(`{"kind":"builtin"}`),
		DefinitionDigest: "unavailable", Input: []byte(`{"task":"` + scenario.Marker + `"}`), OriginSessionID: session,
	}
}

// plain opens a file as another host does.
func plain(path, mode string) (*sql.DB, error) {
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: "mode=" + mode}
	db, err := driver.Open(dsn.String())
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
