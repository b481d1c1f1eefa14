package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"

	"github.com/pi-workflows/wfcore/core"
)

var ctx = context.Background()

// epoch is when every test starts; no test reads the system's clock.
var epoch = time.Date(2026, 8, 21, 8, 17, 31, 0, time.UTC)

func clockAt(after time.Duration) func() time.Time {
	return func() time.Time { return epoch.Add(after) }
}

// patient waits for a lock for longer than a slow machine needs.
var patient = Options{Now: clockAt(0), Wait: time.Minute}

// childVar names the job that a re-executed test binary does instead of testing.
const childVar = "WFCORE_SQLITE_TEST_CHILD"

var childJobs = map[string]func(args []string) error{
	"open": childOpen,
}

func TestMain(m *testing.M) {
	if name := os.Getenv(childVar); name != "" {
		if err := childJobs[name](os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(t testing.TB, job string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), childVar+"="+job)
	cmd.Stderr = os.Stderr
	return cmd
}

func try(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t testing.TB, err error, code core.Code) {
	t.Helper()
	if core.CodeOf(err) != code {
		t.Fatalf("have error %v, want %s", err, code)
	}
}

// mustOpen opens a store that is closed when the test ends.
func mustOpen(t testing.TB, path string, o Options) *Store {
	t.Helper()
	s, err := Open(ctx, path, o)
	if err != nil {
		t.Fatalf("open %q: %v", path, err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// plain opens a file as another host would: with none of this package's code.
func plain(t testing.TB, path string) *sql.Conn {
	t.Helper()
	db, err := driver.Open(plainDSN(t, path))
	try(t, err)
	conn, err := db.Conn(ctx)
	try(t, err)
	t.Cleanup(func() { conn.Close(); db.Close() })
	return conn
}

// alter runs statements on a file as another host would, and closes it.
func alter(t testing.TB, path, statements string) {
	t.Helper()
	db, err := driver.Open(plainDSN(t, path))
	try(t, err)
	_, err = db.ExecContext(ctx, statements)
	try(t, err)
	try(t, db.Close())
}

func plainDSN(t testing.TB, path string) string {
	t.Helper()
	full, err := filepath.Abs(path)
	try(t, err)
	dsn := url.URL{Scheme: "file", Path: full}
	return dsn.String()
}

func execute(t testing.TB, c *sql.Conn, statements string, args ...any) {
	t.Helper()
	if _, err := c.ExecContext(ctx, statements, args...); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
}

func scan[T any](t testing.TB, c *sql.Conn, query string, args ...any) (value T) {
	t.Helper()
	if err := c.QueryRowContext(ctx, query, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

// raw gives SQLite's own connection.
func raw(c *sql.Conn, use func(*sqlite3.Conn) error) error {
	return c.Raw(func(c any) error { return use(c.(driver.Conn).Raw()) })
}

func request(runID, session string) core.ReserveRequest {
	return core.ReserveRequest{
		RunID: runID, WorkflowName: "build", WorkflowSourceRef: "builtin:build",
		WorkflowSource: json.RawMessage(`{"kind":"builtin"}`), DefinitionDigest: "d",
		OriginSessionID: session,
	}
}

// cycle is the life of a run that nothing disturbs.
func cycle(s *Store, runID, session string) error {
	if _, err := s.ReservePreparedRun(ctx, request(runID, session)); err != nil {
		return err
	}
	claim := core.ClaimRequest{RunID: runID, SessionID: session, RunnerID: "runner", ClaimToken: "token-" + runID}
	if _, err := s.ClaimPreparedRun(ctx, claim); err != nil {
		return err
	}
	return run(s, runID, claim.ClaimToken, func(string) {})
}

// run is what a claimed run still has to do.
func run(s *Store, runID, token string, say func(string)) error {
	if _, err := s.MarkPreparedRunRunning(ctx, core.MarkRunningRequest{RunID: runID, ClaimToken: token}); err != nil {
		return err
	}
	say("node")
	_, err := s.FinishRunningRun(ctx, core.FinishRequest{RunID: runID, ClaimToken: token, Status: core.Done})
	return err
}

func wantStatus(t testing.TB, s *Store, runID string, want core.Status) {
	t.Helper()
	run, err := s.GetRun(ctx, core.GetRunRequest{RunID: runID})
	try(t, err)
	if run.Status != want {
		t.Fatalf("run %s is %s, want %s", runID, run.Status, want)
	}
}

// contents are the bytes of all files under a directory, by their paths.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	try(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(data)
		return err
	}))
	return files
}

// wantUntouched allows only a -shm to come: it is SQLite's scratch.
func wantUntouched(t testing.TB, dir string, before map[string]string) {
	t.Helper()
	after := contents(t, dir)
	for name := range after {
		if _, was := before[name]; !was && strings.HasSuffix(name, "-shm") {
			delete(after, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		data, is := after[name]
		if !strings.HasSuffix(name, "-shm") && (!is || data != before[name]) {
			t.Errorf("file %s was changed or removed", name)
		}
		delete(after, name)
	}
	for name := range after {
		t.Errorf("file %s was made", name)
	}
}

func write(t testing.TB, path, data string) {
	t.Helper()
	try(t, os.WriteFile(path, []byte(data), 0o600))
}

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	try(t, err)
	return string(data)
}
