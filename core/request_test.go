package core_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// sound is a request of every op that is taken: it has all fields.
var sound = map[string]object{
	"newRunId": {"workflowName": "flow"},
	"reservePreparedRun": {
		"runId": "run", "workflowName": "flow", "workflowSourceRef": "file:flow", "workflowSource": object{"id": "flow"},
		"definitionDigest": "digest-1", "input": object{"a": 1}, "launchOptions": object{"b": 2},
		"affinityRunnerId": "home", "originSessionId": "session", "parentRunId": "parent",
	},
	"claimPreparedRun":       soundClaim,
	"claimNextRun":           {"sessionId": "session", "runnerId": "runner", "claimToken": "tok", "leaseMs": leaseMS},
	"resumeParkedRun":        soundClaim,
	"takeOverExpiredRun":     soundClaim,
	"markPreparedRunRunning": {"runId": "run", "claimToken": "tok", "definitionDigest": "digest-1"},
	"failPreparedRun":        {"runId": "run", "claimToken": "tok", "errorCode": "input_invalid", "errorMessage": "no", "turnEvent": soundTurn},
	"cancelPreparedRun":      {"runId": "run", "sessionId": "session", "claimToken": "tok", "origin": "user", "turnEvent": soundTurn},
	"parkRunningRun":         {"runId": "run", "claimToken": "tok"},
	"finishRunningRun":       {"runId": "run", "claimToken": "tok", "status": "failed", "errorCode": "timed_out", "errorMessage": "no", "turnEvent": soundTurn},
	"renewRunClaim":          {"runId": "run", "claimToken": "tok", "leaseMs": leaseMS},
	"verifyRunClaim":         {"runId": "run", "claimToken": "tok"},
	"releaseRunClaim":        {"runId": "run", "claimToken": "tok"},
	"recoverExpiredStartingRun": {"runId": "run", "sessionId": "session", "expectedClaimToken": "tok", "turnEvent": soundTurn,
		"finding": object{"kind": "running", "runnerId": "runner", "claimToken": "new", "leaseMs": leaseMS}},
	"findSessionReservation": {"sessionId": "session"},
	"listRecoverableRuns":    {"sessionId": "session", "runId": "run", "limit": 10},
	"getRun":                 {"runId": "run"},
	"listRuns":               {"sessionId": "session", "status": "queued", "beforeRunId": "run", "limit": 10},
	"recordRunEvent":         {"runId": "run", "type": "claim_lost", "runnerId": "runner", "payload": object{"a": 1}},
	"listRunEvents":          {"runId": "run", "afterSeq": 1, "limit": 10},
}

var (
	soundClaim = object{"runId": "run", "sessionId": "session", "runnerId": "runner", "claimToken": "tok", "leaseMs": leaseMS}
	soundTurn  = object{"nodeId": "node", "attemptId": "1", "held": true, "closing": true, "recoveryExpected": true, "presentationExpected": true}
)

// The fields of what a finding must not mix, and of getRun, which takes one of two.
var notAtOnce = []string{"finding.status", "finding.code", "finding.message", "getRun.sessionId"}

// TestSoundRequestsHaveAllFields keeps the table above whole, and shows that what
// the other tests refuse is refused for its one fault.
func TestSoundRequestsHaveAllFields(t *testing.T) {
	f := open(t)
	for _, op := range core.Ops {
		request := sound[op.Name]
		if request == nil {
			t.Errorf("%s has no request", op.Name)
			continue
		}
		for name := range fieldsOf(op.Request, "") {
			if _, has := lookup(request, name); !has && !slices.Contains(notAtOnce, name) && !slices.Contains(notAtOnce, op.Name+"."+name) {
				t.Errorf("the request of %s does not have %s", op.Name, name)
			}
		}
		if _, err := f.call(op.Name, request); core.CodeOf(err) == core.CodeBadRequest {
			t.Errorf("%s: %v", op.Name, err)
		}
	}
}

// fieldsOf are the fields of a request by path, with those of objects in it.
func fieldsOf(typ reflect.Type, path string) map[string]reflect.StructField {
	fields := map[string]reflect.StructField{}
	for i := range typ.NumField() {
		field := typ.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		fields[path+name] = field
		if field.Type.Kind() == reflect.Pointer {
			maps.Copy(fields, fieldsOf(field.Type.Elem(), path+name+"."))
		}
	}
	return fields
}

func lookup(request object, path string) (any, bool) {
	outer, inner, nested := strings.Cut(path, ".")
	if nested {
		next, ok := request[outer].(object)
		if !ok {
			return nil, false
		}
		return lookup(next, inner)
	}
	value, ok := request[path]
	return value, ok
}

// replaced is a request with another value at a path; absent takes it out.
func replaced(request object, path string, value any) object {
	outer, inner, nested := strings.Cut(path, ".")
	if nested {
		next, _ := request[outer].(object)
		value = replaced(next, inner, value)
	}
	out := request.with(object{outer: value})
	if value == absent {
		delete(out, outer)
	}
	return out
}

type nothing struct{}

var absent any = nothing{}

// refuses sends a request that must be refused for this field.
func (f *fixture) refuses(op string, request any, field string) {
	f.Helper()
	e := f.fails(op, request, core.CodeBadRequest)
	named, _ := e.Details["field"].(string)
	if rest, ok := strings.CutPrefix(named, field); !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
		f.Errorf("%s: details name %q, want %q, in %.80v", op, named, field, request)
	}
	if reason, _ := e.Details["reason"].(string); reason == "" {
		f.Errorf("%s: no reason, in %.80v", op, request)
	}
}

func units(n int) string { return strings.Repeat("k", n) }

// badValues are values that no field of a rule takes, by the rule's name.
var badValues = map[string][]any{
	"key":     {"", units(513), strings.Repeat("\U0001F600", 256) + "k", "a\x00b", "a\nb", "a\x1bb", "a\x7fb", "a\u0085b"},
	"known":   {"", units(513)},
	"seen":    {1, true},
	"runid":   {"", "-run", ".run", "_run", "a/b", "a b", "é", "run\n", units(201)},
	"ref":     {"", units(513), "a\nb", "https://user:tok@host/x", "https://tok@host/x"},
	"source":  {"https://user:tok@host/x", object{"deep": []any{object{"url": "https://user:tok@host/x"}}}, object{"x": units(64 << 10)}},
	"input":   {units(1<<20 - 1)}, // with its quotes a byte too much
	"options": {[]int{}, "text", 1, object{"x": units(64 << 10)}},
	"payload": {[]int{}, "text", 1, object{"x": units(8 << 10)}},
	"detail":  {units(1<<20 + 1)},
	"lease":   {0, -1, 3_600_001, 1.5, 1e300},
	"limit":   {0, -1, 101, 1.5},
	"seq":     {-1, 0.5, 1e17},
	"flag":    {0, "true"},
	"status":  {"", "claimed", "Queued"}, "launch": {"", "other", "run_failed"}, "failure": {"", "other", "input_invalid"},
	"anycode": {"", "other"}, "outcome": {"", "cancelled", "parked"}, "ended": {"", "parked"}, "event": {"", "running", "other"},
	"origin": {"", "host"}, "finding": {"", "lost"},
}

// goodValues are the greatest that a rule takes.
var goodValues = map[string][]any{
	"key":    {"k", units(512), strings.Repeat("\U0001F600", 256), "a b/é\u00a0"},
	"known":  {"k", units(512), "run:1/x", "a\nb"},
	"runid":  {"r", "0._-Z", units(200)},
	"ref":    {units(512), "builtin:monitor", "https://host/x?a=b@c", "/a/user@host/x"},
	"source": {"text", []any{}, object{"x": units(64<<10 - 8)}},
	"input":  {nil, 1, "text", []int{}, units(1<<20 - 2)},
	"lease":  {1, 3_600_000, 1e3},
	"limit":  {1, 100},
}

func TestBadRequests(t *testing.T) {
	for _, op := range core.Ops {
		t.Run(op.Name, func(t *testing.T) {
			f := open(t)
			for name, field := range fieldsOf(op.Request, "") {
				request, rule := sound[op.Name], field.Tag.Get("check")
				if rule == "anycode" || name == "finding.status" || name == "finding.message" {
					request = replaced(request, "finding", object{"kind": "terminal", "status": "failed"})
				}
				if rule != "" && badValues[rule] == nil {
					t.Errorf("the rule %s has no bad values", rule)
				}
				for _, value := range append(slices.Clone(badValues[rule]), wrongTypes(field)...) {
					f.refuses(op.Name, replaced(request, name, value), name)
				}
				if !strings.Contains(field.Tag.Get("json"), ",omitempty") {
					f.refuses(op.Name, replaced(request, name, absent), name)
				}
			}
			for _, unknown := range []string{"extra", "RunId", "runID", ""} {
				f.refuses(op.Name, sound[op.Name].with(object{unknown: 1}), unknown)
			}
			for _, text := range []string{"", "null", "[]", "1", `"text"`, "{", "{}{}", "{'a':1}", "\ufeff{}", "{\"a\":1,}"} {
				f.refuses(op.Name, text, "request")
			}
		})
	}
}

// wrongTypes are values of other types than the field's.
func wrongTypes(field reflect.StructField) []any {
	switch field.Type.Kind() {
	case reflect.String:
		return []any{1, true, object{}, []any{}}
	case reflect.Int64:
		return []any{"1", true, object{}, []any{}}
	case reflect.Bool:
		return []any{1, "true", object{}, []any{}}
	case reflect.Pointer:
		return []any{1, "text", true, []any{}, object{"extra": 1}}
	}
	return nil // any JSON, as its rule has it
}

func TestGreatestGoodValues(t *testing.T) {
	for _, op := range core.Ops {
		f := open(t)
		for name, field := range fieldsOf(op.Request, "") {
			for _, value := range goodValues[field.Tag.Get("check")] {
				if _, err := f.call(op.Name, replaced(sound[op.Name], name, value)); core.CodeOf(err) == core.CodeBadRequest && !slices.Contains(notAtOnce, op.Name+"."+name) && !slices.Contains(notAtOnce, name) {
					t.Errorf("%s with %s %.60v: %v", op.Name, name, value, err)
				}
			}
		}
	}
}

// What two decoders could read in two ways is refused, wherever it stands.
func TestTextsThatAreNotStrictJSON(t *testing.T) {
	unclear := []string{`"\ud800"`, `"\udc00x"`, "\"\xff\"", "\"a\x01\"", "1e400", "1e-400", "9007199254740993", `{"a":1,"a":1}`, `["\ud83d"]`}
	for _, op := range core.Ops {
		t.Run(op.Name, func(t *testing.T) {
			f := open(t)
			for name := range sound[op.Name] {
				rest, err := json.Marshal(sound[op.Name])
				must(t, err)
				f.refuses(op.Name, fmt.Sprintf(`{"%s":1,%s`, name, rest[1:]), name)
				for _, value := range unclear {
					text, err := json.Marshal(sound[op.Name].with(object{name: "VALUE"}))
					must(t, err)
					f.refuses(op.Name, strings.Replace(string(text), `"VALUE"`, value, 1), name)
				}
			}
		})
	}
}

// Facts that go together, or do not.
func TestFieldsThatDoNotBelongTogether(t *testing.T) {
	f := open(t)
	finding := func(fields object) object { return recovery("run", "session", fields) }
	for _, c := range []struct {
		op      string
		request object
		field   string
	}{
		{"getRun", object{}, "runId"},
		{"getRun", object{"runId": "run", "sessionId": "session"}, "runId"},
		{"finishRunningRun", held("run", "tok").with(object{"status": "failed"}), "errorCode"},
		{"finishRunningRun", held("run", "tok").with(object{"status": "done", "errorCode": "run_failed"}), "errorCode"},
		{"finishRunningRun", held("run", "tok").with(object{"status": "done", "errorMessage": "no"}), "errorMessage"},
		{"recoverExpiredStartingRun", finding(object{"kind": "startFailed"}), "finding.code"},
		{"recoverExpiredStartingRun", finding(object{"kind": "startFailed", "code": "timed_out"}), "finding.code"},
		{"recoverExpiredStartingRun", finding(object{"kind": "terminal"}), "finding.status"},
		{"recoverExpiredStartingRun", finding(object{"kind": "terminal", "status": "failed", "code": "input_invalid"}), "finding.code"},
		{"recoverExpiredStartingRun", finding(object{"kind": "terminal", "status": "done", "code": "run_failed"}), "finding.code"},
		{"recoverExpiredStartingRun", finding(object{"kind": "running"}), "finding.runnerId"},
		{"recoverExpiredStartingRun", finding(object{"kind": "none", "claimToken": "tok"}), "finding"},
		{"recoverExpiredStartingRun", finding(object{"kind": "waiting", "status": "done"}), "finding"},
	} {
		f.refuses(c.op, c.request, c.field)
	}
}

func TestUnknownOp(t *testing.T) {
	f := open(t)
	for _, op := range []string{"", "claimpreparedrun", "claimPreparedRun ", "drop\x00table", strings.Repeat("é", 1000)} {
		f.refuses(op, object{}, "op")
	}
}
