package main

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/wasm/wasmtest"
)

// The limits keep the file from growing without anyone noticing.
const (
	maxSize   = 6_500_000
	maxZipped = 1_700_000
)

func build(t *testing.T) []byte {
	t.Helper()
	code, err := wasmtest.Build()
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func TestSize(t *testing.T) {
	code := build(t)
	var zipped bytes.Buffer
	w, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	_, _ = w.Write(code)
	_ = w.Close()
	t.Logf("%d bytes, %d zipped", len(code), zipped.Len())
	if len(code) > maxSize || zipped.Len() > maxZipped {
		t.Errorf("%d bytes, %d zipped", len(code), zipped.Len())
	}
}

var (
	row  = regexp.MustCompile("(?m)^\\| (`[^|]*`) \\| ([^|]*) \\|")
	name = regexp.MustCompile("`([a-z_0-9.]+)`")
)

// TestABI: docs/abi.md lists exactly what the file exports and imports, with types.
func TestABI(t *testing.T) {
	runtime := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
	defer runtime.Close(t.Context())
	module, err := runtime.CompileModule(t.Context(), build(t))
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]string{}
	for name := range module.ExportedMemories() {
		have[name] = "memory"
	}
	for name, f := range module.ExportedFunctions() {
		have[name] = signature(f)
	}
	for _, f := range module.ImportedFunctions() {
		from, name, _ := f.Import()
		if from == "wfcore_sql" {
			have[from+"."+name] = signature(f)
		} else {
			have[name] = "wasi"
		}
	}
	if told := toldABI(t); fmt.Sprint(told) != fmt.Sprint(have) {
		t.Errorf("told %v\nhave %v", told, have)
	}
}

func signature(f api.FunctionDefinition) string {
	names := func(types []api.ValueType) string {
		all := []string{}
		for _, v := range types {
			all = append(all, api.ValueTypeName(v))
		}
		return strings.Join(all, " ")
	}
	return names(f.ParamTypes()) + ">" + names(f.ResultTypes())
}

// toldABI is what the tables of docs/abi.md say.
func toldABI(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../docs/abi.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]string{}
	for _, heading := range []string{"Exports", "SQL", "WASI"} {
		_, section, _ := strings.Cut(string(page), "\n## "+heading+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		section, _, _ = strings.Cut(section, "\n### ")
		for _, cells := range row.FindAllStringSubmatch(section, -1) {
			for _, n := range name.FindAllStringSubmatch(cells[1], -1) {
				told[n[1]] = "wasi"
				if heading != "WASI" {
					told[n[1]] = signatureOf(cells[2])
				}
			}
		}
	}
	return told
}

var valueType = regexp.MustCompile(`i32|i64|→`)

func signatureOf(cell string) string {
	if cell == "memory" {
		return cell
	}
	params, results, _ := strings.Cut(strings.Join(valueType.FindAllString(cell, -1), " "), "→")
	return strings.TrimSpace(params) + ">" + strings.TrimSpace(results)
}

func start(t *testing.T) (*wasmtest.Core, *sqlite3.Conn) {
	t.Helper()
	conn, err := sqlite3.Open(":memory:")
	if err != nil {
		t.Fatal(err)
	}
	c, err := wasmtest.Start(t.Context(), conn, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		conn.Close()
	})
	return c, conn
}

func wantCode(t *testing.T, c *wasmtest.Core, code core.Code, op, request string) {
	t.Helper()
	if answer, err := c.Call(t.Context(), op, []byte(request)); core.CodeOf(err) != code {
		t.Errorf("%s %s: %s %v, want %s", op, request, answer, err, code)
	}
}

const reserve = `{"runId":"r","workflowName":"w","workflowSourceRef":"b:w","workflowSource":{},"definitionDigest":"d","originSessionId":"s"}`

func TestVersion(t *testing.T) {
	c, _ := start(t)
	if v, err := c.Version(t.Context()); v != abiVersion || err != nil {
		t.Errorf("%d %v", v, err)
	}
}

func TestOpenComesFirst(t *testing.T) {
	c, _ := start(t)
	wantCode(t, c, core.CodeStoreClosed, "getRun", `{"runId":"r"}`)
	wantCode(t, c, core.CodeBadRequest, "open", `{"connection":"mine"}`)
	wantCode(t, c, core.CodeBadRequest, "open", `{"connection":"own","x":1}`)
	wantCode(t, c, "", "open", `{"connection":"look"}`)
	wantCode(t, c, core.CodeStoreClosed, "getRun", `{"runId":"r"}`)
	wantCode(t, c, "", "open", `{"connection":"own"}`)
	wantCode(t, c, "", "reservePreparedRun", reserve)
	wantCode(t, c, core.CodeBadRequest, "noSuchOperation", `{}`)
	wantCode(t, c, core.CodeBadRequest, "", ``)
}

// The host's own transaction is left alone, and ours never stays open.
func TestTransactions(t *testing.T) {
	c, conn := start(t)
	wantCode(t, c, "", "open", `{"connection":"own"}`)
	if err := conn.Exec("BEGIN; CREATE TABLE theirs (x)"); err != nil {
		t.Fatal(err)
	}
	for _, call := range [][2]string{{"reservePreparedRun", reserve}, {"getRun", `{"runId":"r"}`}, {"open", `{"connection":"lent"}`}} {
		wantCode(t, c, core.CodeTransactionOpen, call[0], call[1])
	}
	if err := conn.Exec("COMMIT; SELECT x FROM theirs"); err != nil {
		t.Error(err)
	}
	wantCode(t, c, "", "open", `{"connection":"own"}`)
	c.Fail = func(query string) uint32 {
		if query == "COMMIT" || query == "ROLLBACK" && conn.GetAutocommit() {
			return uint32(sqlite3.FULL)
		}
		return 0
	}
	wantCode(t, c, core.CodeStoreUnavailable, "reservePreparedRun", reserve)
	if !conn.GetAutocommit() {
		t.Error("a transaction is open")
	}
	c.Fail = nil
	wantCode(t, c, "", "reservePreparedRun", reserve)
}

// TestWaits: the host may wait where a transaction begins and in reads, not in the
// middle of a write.
func TestWaits(t *testing.T) {
	c, _ := start(t)
	wantCode(t, c, "", "open", `{"connection":"own"}`)
	for _, step := range []struct {
		op, request string
		begin, rest uint32
	}{
		{"reservePreparedRun", reserve, 1, 0},
		{"getRun", `{"runId":"r"}`, 1, 1},
		{"noteTurnEvent", `{"runId":"r","kind":"agentCancel","nodeId":"n","origin":"agent"}`, 2, 0},
	} {
		c.Ran, c.Waits = nil, nil
		wantCode(t, c, "", step.op, step.request)
		want := slices.Repeat([]uint32{step.rest}, len(c.Waits))
		want[0] = step.begin
		if !slices.Equal(c.Waits, want) {
			t.Errorf("%s: %v of %q", step.op, c.Waits, c.Ran)
		}
	}
}

// What a host with little memory has to give does not grow with the calls.
func TestMemoryStays(t *testing.T) {
	c, _ := start(t)
	wantCode(t, c, "", "open", `{"connection":"own"}`)
	wantCode(t, c, "", "reservePreparedRun", reserve)
	call := func(n int) uint32 {
		for range n {
			wantCode(t, c, "", "getRun", `{"runId":"r"}`)
		}
		return c.MemoryPages()
	}
	before := call(4000)
	if after := call(4000); after > before {
		t.Errorf("%d pages, and then %d", before, after)
	}
}

func TestLargeRequests(t *testing.T) {
	c, _ := start(t)
	wantCode(t, c, "", "open", `{"connection":"own"}`)
	wantCode(t, c, core.CodeBadRequest, "getRun", `{"runId":"`+strings.Repeat("x", 20<<20)+`"}`)
	if _, err := c.Call(t.Context(), "getRun", make([]byte, 65<<20)); err == nil {
		t.Error("65 MiB were taken")
	}
	wantCode(t, c, "", "reservePreparedRun", reserve)
}
