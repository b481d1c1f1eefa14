package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

type reply struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int
		Message string
		Data    *core.Error
	}
}

func (h *host) rpc(lines string, flags ...string) []reply {
	h.t.Helper()
	r := h.with(context.Background(), lines, append([]string{"rpc"}, flags...)...)
	if r.code != 0 {
		h.t.Fatalf("exit %d: %s", r.code, r.stderr)
	}
	replies := []reply{}
	for line := range strings.Lines(r.stdout) {
		replies = append(replies, decode[reply](h.t, line))
	}
	return replies
}

const listRuns = `{"jsonrpc":"2.0","id":1,"method":"listRuns","params":{"limit":1}}`

// A malformed line is answered, and the next one is served.
func TestRPCSurvivesMalformedLines(t *testing.T) {
	long := `{"jsonrpc":"2.0","id":9,"method":"` + strings.Repeat("x", maxMessage) + `"}`
	for name, c := range map[string]struct {
		line string
		code int
	}{
		"no json":         {`hello`, rpcParse},
		"cut short":       {`{"jsonrpc":"2.0","id":1,`, rpcParse},
		"two values":      {listRuns + listRuns, rpcParse},
		"duplicate key":   {`{"jsonrpc":"2.0","id":1,"id":2,"method":"listRuns"}`, rpcParse},
		"lone surrogate":  {`{"jsonrpc":"2.0","id":"\ud800","method":"listRuns"}`, rpcParse},
		"invalid UTF-8":   {"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"listRuns\"}", rpcParse},
		"deep":            {strings.Repeat("[", 100_000), rpcParse},
		"too long":        {long, rpcInvalidRequest},
		"batch":           {`[` + listRuns + `]`, rpcInvalidRequest},
		"no version":      {`{"id":1,"method":"listRuns"}`, rpcInvalidRequest},
		"old version":     {`{"jsonrpc":"1.0","id":1,"method":"listRuns"}`, rpcInvalidRequest},
		"no method":       {`{"jsonrpc":"2.0","id":1}`, rpcInvalidRequest},
		"object id":       {`{"jsonrpc":"2.0","id":{},"method":"listRuns"}`, rpcInvalidRequest},
		"unknown member":  {`{"jsonrpc":"2.0","id":1,"method":"listRuns","extra":1}`, rpcInvalidRequest},
		"no such method":  {`{"jsonrpc":"2.0","id":1,"method":"nope"}`, rpcNoMethod},
		"params a list":   {`{"jsonrpc":"2.0","id":1,"method":"listRuns","params":[1]}`, rpcInvalidParams},
		"params missing":  {`{"jsonrpc":"2.0","id":1,"method":"listRuns"}`, rpcInvalidParams},
		"params mistyped": {`{"jsonrpc":"2.0","id":1,"method":"listRuns","params":{"limit":"1"}}`, rpcInvalidParams},
		"now refused":     {`{"jsonrpc":"2.0","id":1,"method":"listRuns","params":{"limit":1,"now":"2026-01-01T00:00:00.000Z"}}`, rpcInvalidParams},
		"refused":         {`{"jsonrpc":"2.0","id":1,"method":"getRun","params":{"runId":"absent"}}`, rpcFailed},
	} {
		t.Run(name, func(t *testing.T) {
			replies := newHost(t).rpc(c.line + "\r\n\n" + listRuns)
			if len(replies) != 2 {
				t.Fatalf("%d replies", len(replies))
			}
			bad, good := replies[0], replies[1]
			if bad.Error == nil || bad.Error.Code != c.code || bad.Error.Data.Code == "" || bad.ID == nil || bad.Version != "2.0" {
				t.Errorf("the malformed line got %+v", bad.Error)
			}
			if good.Error != nil || string(good.Result) != "[]" || string(good.ID) != "1" {
				t.Errorf("the next line got %+v", good)
			}
		})
	}
}

// A message of just 2 MiB is served.
func TestRPCLongestLine(t *testing.T) {
	head, tail := `{"jsonrpc":"2.0","id":"`, `","method":"listRuns","params":{"limit":1}}`
	id := strings.Repeat("i", maxMessage-len(head)-len(tail))
	replies := newHost(t).rpc(head + id + tail + "\n" + listRuns + "\n")
	if len(replies) != 2 || replies[0].Error != nil {
		t.Fatalf("%d replies", len(replies))
	}
}

func TestRPCNotificationsGetNoAnswer(t *testing.T) {
	h := newHost(t)
	replies := h.rpc(`{"jsonrpc":"2.0","method":"reservePreparedRun","params":{"runId":"r1","workflowName":"w","workflowSourceRef":"builtin:w","workflowSource":{},"definitionDigest":"d"}}
{"jsonrpc":"2.0","method":"nope"}
{"jsonrpc":"2.0","id":"x","method":"getRun","params":{"runId":"r1"}}
`)
	if len(replies) != 1 || string(replies[0].ID) != `"x"` || replies[0].Error != nil {
		t.Errorf("got %+v", replies)
	}
}

// The state of a run that lost a race, and its error, cross the face as data.
func TestRPCErrorsCarryOurs(t *testing.T) {
	h := newHost(t)
	id := h.start("--session", "s")
	h.ok("cancel", id)
	replies := h.rpc(`{"jsonrpc":"2.0","id":1,"method":"claimPreparedRun","params":{"runId":"` + id + `","sessionId":"s","runnerId":"me"}}`)
	data := replies[0].Error.Data
	if data.Code != core.CodeInvalidTransition || data.Retryable || data.Details["status"] != "cancelled" {
		t.Errorf("got %+v", data)
	}
}

// A method's name comes from outside, and is not echoed as it is.
func TestRPCDoesNotEchoTheMethod(t *testing.T) {
	r := newHost(t).rpc(`{"jsonrpc":"2.0","id":1,"method":"Bearer sk-live-abcdef1234567890abcdef"}`)[0]
	if r.Error.Code != rpcNoMethod || strings.Contains(r.Error.Message, "abcdef12") {
		t.Errorf("got %d %s", r.Error.Code, r.Error.Message)
	}
}

// With --test-clock a request says what time it is, in our one format.
func TestRPCTestClock(t *testing.T) {
	h := newHost(t)
	call := func(now string) reply {
		return h.rpc(`{"jsonrpc":"2.0","id":1,"method":"newRunId","params":{"workflowName":"w","now":"`+now+`"}}`, "--test-clock")[0]
	}
	if r := call("2026-08-21T08:17:31.000Z"); r.Error != nil || !strings.Contains(string(r.Result), "20260821T081731Z-w-") {
		t.Errorf("got %+v %s", r.Error, r.Result)
	}
	for _, now := range []string{"2026-08-21T08:17:31Z", "2026-08-21T10:17:31.000+02:00", "yesterday", ""} {
		if r := call(now); r.Error == nil || r.Error.Data.Code != core.CodeBadRequest {
			t.Errorf("now %q was taken", now)
		}
	}
}

func FuzzRPC(f *testing.F) {
	for _, seed := range []string{listRuns, `{"jsonrpc":"2.0","method":"x"}`, `[]`, `{`, `{"jsonrpc":"2.0","id":null,"method":"getRun","params":{"runId":"r"}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		h := newHost(t)
		replies := h.rpc(strings.ReplaceAll(line, "\n", " ") + "\n" + listRuns + "\n")
		if n := len(replies); n == 0 || string(replies[n-1].Result) != "[]" && replies[n-1].Error == nil {
			t.Errorf("%q: the next line was not served", line)
		}
	})
}
