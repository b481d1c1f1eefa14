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
			if _, has := lookup(request, name); !has && !notAtOnce(op.Name, name) {
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

func TestBadRequests(t *testing.T) {
	for _, op := range core.Ops {
		t.Run(op.Name, func(t *testing.T) {
			f := open(t)
			f.plantIntent(nil)
			for name, field := range fieldsOf(op.Request, "") {
				request, rule := soundWith(op.Name, name), field.Tag.Get("check")
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
		f.plantIntent(nil)
		for name, field := range fieldsOf(op.Request, "") {
			for _, value := range goodValues[field.Tag.Get("check")] {
				if _, err := f.call(op.Name, agreeing(op.Name, name, value)); core.CodeOf(err) == core.CodeBadRequest && !notAtOnce(op.Name, name) {
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
	natural := func(fields object) object {
		seen := object{"kind": "natural", "messageId": "message", "runId": "run", "resolution": "presentation"}
		return object{"state": object{"sessionId": "session"}, "seen": seen.with(fields)}
	}
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
		{"ensureWorkflowTurnIntent", sound["ensureWorkflowTurnIntent"].with(object{"runId": "other"}), "fallbackFacts.runId"},
		{"ensureWorkflowTurnIntent", sound["ensureWorkflowTurnIntent"].with(object{"workflowRef": "other"}), "fallbackFacts.workflowName"},
		{"ensureWorkflowTurnIntent", sound["ensureWorkflowTurnIntent"].with(object{"cause": "timedOut"}), "fallbackFacts.cause"},
		{"nextLaunchStep", object{"state": object{"runnerId": "runner"}, "seen": object{"kind": "ended"}}, "seen.outcome"},
		{"nextTurnStep", object{"state": object{"sessionId": "session"}, "seen": object{"kind": "abort"}}, "seen.note"},
		{"nextTurnStep", natural(object{"messageId": nil}), "seen.messageId"},
		{"nextTurnStep", natural(object{"runId": nil}), "seen.runId"},
		{"nextTurnStep", natural(object{"resolution": nil}), "seen.resolution"},
		{"nextTurnStep", natural(object{"resolution": "fallback"}), "seen.resolution"},
	} {
		f.refuses(c.op, c.request, c.field)
	}
}

// What is wrong with a request is told before what is not there.
func TestBadRequestComesBeforeNotFound(t *testing.T) {
	f := open(t)
	for _, facts := range []object{{}, soundFacts.with(object{"extra": 1}), soundFacts.with(object{"reason": units(8193)})} {
		f.refuses("makeWorkflowTurnIntentEligible", object{"intentId": "intent", "fallbackFacts": facts}, "fallbackFacts")
	}
}

func TestUnknownOp(t *testing.T) {
	f := open(t)
	for _, op := range []string{"", "claimpreparedrun", "claimPreparedRun ", "drop\x00table", strings.Repeat("é", 1000)} {
		f.refuses(op, object{}, "op")
	}
}
