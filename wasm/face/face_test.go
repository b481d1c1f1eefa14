package face

import (
	"crypto/rand"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/wasm/hostsql"
	"github.com/pi-workflows/wfcore/wasm/wasmtest"
)

type host struct{ *wasmtest.SQL }

func (h host) Run(id uint32, args []byte, wait hostsql.Wait) []byte {
	return h.SQL.Run(id, args, uint32(wait))
}

// clock is a time that can fail.
type clock struct{ panics bool }

func (c *clock) now() time.Time {
	if c.panics {
		panic("no time")
	}
	return time.Date(2026, 8, 21, 8, 17, 31, 0, time.UTC)
}

func newFace(t *testing.T, dsn string) (*Face, *clock, host, *sqlite3.Conn) {
	t.Helper()
	conn, err := sqlite3.Open(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	h, c := host{wasmtest.NewSQL(conn)}, &clock{}
	t.Cleanup(h.Close)
	f, err := New(h, c.now, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return f, c, h, conn
}

type reply struct {
	Answer json.RawMessage
	Error  *core.Error
}

func call(t *testing.T, f *Face, op, request string) reply {
	t.Helper()
	var r reply
	if err := json.Unmarshal(f.Call(op, []byte(request)), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func must(t *testing.T, f *Face, op, request string) json.RawMessage {
	t.Helper()
	r := call(t, f, op, request)
	if r.Error != nil {
		t.Fatalf("%s: %v", op, r.Error)
	}
	return r.Answer
}

func want(t *testing.T, f *Face, code core.Code, op, request string) *core.Error {
	t.Helper()
	r := call(t, f, op, request)
	if r.Error == nil || r.Error.Code != code {
		t.Fatalf("%s: %v %s, want %s", op, r.Error, r.Answer, code)
	}
	return r.Error
}

const reserve = `{"runId":"r","workflowName":"w","workflowSourceRef":"b:w","workflowSource":{},"definitionDigest":"d","originSessionId":"s"}`

// A panic in the middle of a transaction is told, and nothing stays open.
func TestPanic(t *testing.T) {
	f, c, _, conn := newFace(t, ":memory:")
	must(t, f, "open", `{"connection":"own"}`)
	c.panics = true
	if e := want(t, f, core.CodeCoreCrashed, "reservePreparedRun", reserve); !e.Retryable {
		t.Error("a crash cannot be repeated")
	}
	if !conn.GetAutocommit() {
		t.Error("a transaction is open")
	}
	want(t, f, core.CodeStoreClosed, "getRun", `{"runId":"r"}`)
	c.panics = false
	must(t, f, "open", `{"connection":"own"}`)
	must(t, f, "reservePreparedRun", reserve)
}

// A host that calls while it serves a statement is refused, and the outer call goes on.
func TestCallWithinCall(t *testing.T) {
	f, _, h, _ := newFace(t, ":memory:")
	must(t, f, "open", `{"connection":"own"}`)
	inner := 0
	h.Fail = func(string) uint32 {
		inner++
		want(t, f, core.CodeStoreUnavailable, "getRun", `{"runId":"r"}`)
		return 0
	}
	must(t, f, "reservePreparedRun", reserve)
	if inner == 0 {
		t.Error("nothing called")
	}
}

// Nobody but its owner sets a lent connection.
func TestLent(t *testing.T) {
	f, _, h, conn := newFace(t, "file:"+t.TempDir()+"/store")
	if err := conn.Exec("PRAGMA query_only=ON; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=OFF"); err != nil {
		t.Fatal(err)
	}
	for _, p := range core.PragmasFile[:4] {
		e := want(t, f, core.CodeStoreMisconfigured, "open", `{"connection":"lent"}`)
		if e.Details["pragma"] != p.Name {
			t.Errorf("%v, want %s", e.Details, p.Name)
		}
		if err := conn.Exec("PRAGMA " + p.Name + "=" + p.Set); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Exec("PRAGMA secure_delete=OFF; PRAGMA synchronous=EXTRA"); err != nil {
		t.Fatal(err)
	}
	h.Ran = nil
	var answer OpenResponse
	if err := json.Unmarshal(must(t, f, "open", `{"connection":"lent"}`), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Layout != "new" || len(answer.Warnings) != 1 || answer.Warnings[0].Code != "secure_delete" {
		t.Errorf("%+v", answer)
	}
	for _, query := range h.Ran {
		if strings.HasPrefix(query, "PRAGMA") && strings.Contains(query, "=") {
			t.Errorf("%q on a lent connection", query)
		}
	}
	must(t, f, "reservePreparedRun", reserve)
	want(t, f, core.CodeBadRequest, "getRun", `{"runId":"r","now":"2026-08-21T08:17:31.000Z"}`)
}

// A look writes nothing, and a refusal neither.
func TestLook(t *testing.T) {
	f, _, h, conn := newFace(t, ":memory:")
	if answer := must(t, f, "open", `{"connection":"look"}`); !strings.Contains(string(answer), `"layout":"new"`) {
		t.Errorf("%s", answer)
	}
	if err := conn.Exec("CREATE TABLE workflow_run_queue (x)"); err != nil {
		t.Fatal(err)
	}
	h.Ran = nil
	for _, whose := range []string{"look", "own", "lent"} {
		e := want(t, f, core.CodeLayoutIncompatible, "open", `{"connection":"`+whose+`"}`)
		if e.Details["differences"] == nil || !strings.Contains(e.Message, "Preserve the run bundles") {
			t.Errorf("%v", e)
		}
	}
	for _, query := range h.Ran {
		if query != "BEGIN" && query != "ROLLBACK" && !strings.Contains(query, "SELECT") {
			t.Errorf("%q", query)
		}
	}
}

func TestReadOnly(t *testing.T) {
	f, _, _, conn := newFace(t, "file:"+t.TempDir()+"/store")
	must(t, f, "open", `{"connection":"own"}`)
	if err := conn.Exec("DROP TABLE workflow_turn_intents"); err != nil {
		t.Fatal(err)
	}
	if answer := must(t, f, "open", `{"connection":"own","readOnly":true}`); !strings.Contains(string(answer), `"noIntents"`) {
		t.Errorf("%s", answer)
	}
	must(t, f, "listWorkflowTurnIntents", `{"limit":1}`)
	want(t, f, core.CodeStoreMisconfigured, "reservePreparedRun", reserve)
}

// A connection that was read from can be opened for writing.
func TestReadOnlyAndThenNot(t *testing.T) {
	f, _, _, _ := newFace(t, "file:"+t.TempDir()+"/store")
	must(t, f, "open", `{"connection":"own"}`)
	must(t, f, "open", `{"connection":"own","readOnly":true}`)
	must(t, f, "open", `{"connection":"own"}`)
	must(t, f, "reservePreparedRun", reserve)
}

// Where even the rollback fails the host is told that the instance is lost.
func TestRollbackFails(t *testing.T) {
	f, _, h, conn := newFace(t, ":memory:")
	must(t, f, "open", `{"connection":"own"}`)
	h.Fail = func(query string) uint32 {
		if query == "COMMIT" || query == "ROLLBACK" {
			return uint32(sqlite3.IOERR)
		}
		return 0
	}
	want(t, f, core.CodeCoreCrashed, "reservePreparedRun", reserve)
	h.Fail = nil
	if err := conn.Exec("ROLLBACK"); err != nil {
		t.Error(err)
	}
	must(t, f, "open", `{"connection":"own"}`)
	must(t, f, "reservePreparedRun", reserve)
}

// A host that does not keep to docs/abi.md is told so.
func TestReplyThatCannotBeRead(t *testing.T) {
	f, _, h, _ := newFace(t, ":memory:")
	f.conn.Host = broken{h}
	want(t, f, core.CodeStoreMisconfigured, "open", `{"connection":"own"}`)
}

type broken struct{ host }

func (b broken) Run(id uint32, args []byte, wait hostsql.Wait) []byte {
	return append(b.host.Run(id, args, wait), 0)
}

func TestTestClock(t *testing.T) {
	f, _, _, _ := newFace(t, ":memory:")
	must(t, f, "open", `{"connection":"own","testClock":true}`)
	must(t, f, "reservePreparedRun", strings.Replace(reserve, "{", `{"now":"2026-08-21T09:17:31.000Z",`, 1))
	if run := must(t, f, "getRun", `{"runId":"r"}`); !strings.Contains(string(run), "09:17:31.000Z") {
		t.Errorf("%s", run)
	}
}

func TestLosesWrites(t *testing.T) {
	for version, want := range map[string]bool{
		"3.6.23": false, "3.7.0": true, "3.44.5": true, "3.44.6": false, "3.45.0": true, "3.50.6": true, "3.50.7": false,
		"3.51.2": true, "3.51.3": false, "3.52.0": false, "4.0.0": false, "x": false, "": false, "3.51": false,
	} {
		if losesWrites(version) != want {
			t.Errorf("%s: %v", version, !want)
		}
	}
}
