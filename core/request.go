package core

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/pi-workflows/wfcore/core/strictjson"
)

// A request is a struct whose fields say all there is to know of them: the `json`
// tag gives the name, and `omitempty` makes it optional; the `check` tag names the
// rule of limits.go. The zero value of an optional field means absent.

type field struct {
	name     string
	index    int
	optional bool
	rule     string
	nested   *plan // of a pointer to a struct
}

type plan struct{ fields []field }

var plans sync.Map // reflect.Type -> *plan

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := &plan{}
	for i := range t.NumField() {
		sf := t.Field(i)
		name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
		f := field{name: name, index: i, optional: options == "omitempty", rule: sf.Tag.Get("check")}
		if sf.Type.Kind() == reflect.Pointer {
			f.nested = planOf(sf.Type.Elem())
		}
		p.fields = append(p.fields, f)
	}
	plans.Store(t, p)
	return p
}

func (p *plan) find(name string) *field {
	for i := range p.fields {
		if p.fields[i].name == name {
			return &p.fields[i]
		}
	}
	return nil
}

// bind decodes a strict JSON object into the request: names match exactly,
// unknown ones are refused, null means absent but where it is a value.
func bind(data []byte, request any) error {
	v := reflect.ValueOf(request).Elem()
	return planOf(v.Type()).bind("", data, v)
}

func (p *plan) bind(path string, data []byte, dst reflect.Value) error {
	members, err := strictjson.Object(data)
	if err != nil {
		return notStrict(path, err)
	}
	for _, m := range members {
		name := join(path, m.Key)
		f := p.find(m.Key)
		if f == nil {
			return badRequest(join(path, bounded(m.Key)), "is not a field of this request")
		}
		if strictjson.KindOf(m.Value) == strictjson.KindNull && f.rule != "input" && f.rule != "answer" {
			continue
		}
		if err := f.set(name, m.Value, dst.Field(f.index)); err != nil {
			return err
		}
	}
	return nil
}

func (f *field) set(name string, value []byte, dst reflect.Value) error {
	kind := strictjson.KindOf(value)
	switch dst.Kind() {
	case reflect.String:
		if kind != strictjson.KindString {
			return badRequest(name, "must be a string")
		}
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			return badRequest(name, "must be a string")
		}
		if reason := rules[f.rule].allows(text); text == "" && reason != "" {
			return badRequest(name, "%s", reason)
		}
		dst.SetString(text)
	case reflect.Int64:
		n, ok := integer(value)
		if kind != strictjson.KindNumber || !ok {
			return badRequest(name, "must be an integer")
		}
		if reason := rules[f.rule].allows(n); n == 0 && reason != "" {
			return badRequest(name, "%s", reason)
		}
		dst.SetInt(n)
	case reflect.Bool:
		if kind != strictjson.KindBool {
			return badRequest(name, "must be true or false")
		}
		dst.SetBool(value[0] == 't')
	case reflect.Pointer:
		if kind != strictjson.KindObject {
			return badRequest(name, "must be an object")
		}
		dst.Set(reflect.New(dst.Type().Elem()))
		return f.nested.bind(name, value, dst.Elem())
	default: // json.RawMessage
		dst.SetBytes(value)
	}
	return nil
}

func integer(value []byte) (int64, bool) {
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// check validates a request, from Go or from JSON, and brings its JSON fields
// into canonical form.
func check(request any) error {
	v := reflect.ValueOf(request).Elem()
	return planOf(v.Type()).check("", v)
}

func (p *plan) check(path string, v reflect.Value) error {
	for i := range p.fields {
		f := &p.fields[i]
		if err := f.check(join(path, f.name), v.Field(f.index)); err != nil {
			return err
		}
	}
	return nil
}

func (f *field) check(name string, v reflect.Value) error {
	if v.IsZero() {
		switch {
		case f.optional:
			return nil
		case v.Kind() == reflect.Int64:
			return badRequest(name, "is missing, or 0: it must be %s", rules[f.rule].says)
		}
		return badRequest(name, "is missing")
	}
	if f.nested != nil {
		return f.nested.check(name, v.Elem())
	}
	if raw, ok := v.Interface().(json.RawMessage); ok {
		canonical, err := strictjson.Canonical(raw)
		if err != nil {
			return notStrict(name, err)
		}
		v.SetBytes(canonical)
	}
	if reason := rules[f.rule].allows(value(v)); reason != "" {
		return badRequest(name, "%s", reason)
	}
	return nil
}

// value is what a rule takes: string kinds as string, others as they are.
func value(v reflect.Value) any {
	if v.Kind() == reflect.String {
		return v.String()
	}
	return v.Interface()
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// fieldIn is the field of a request in which a path like $.input.name leads. What
// is within it may be private, so its names are not told.
func fieldIn(path, inner string) string {
	if path != "" {
		return path
	}
	name := strings.TrimPrefix(strings.TrimPrefix(inner, "$"), ".")
	if end := strings.IndexAny(name, ".["); end >= 0 {
		name = name[:end]
	}
	return bounded(name)
}

// notStrict names the field in which a text is not strict JSON.
func notStrict(path string, err error) error {
	reason := err.Error()
	var strict *strictjson.Error
	if errors.As(err, &strict) {
		reason = strict.Reason
		path = fieldIn(path, strict.Path)
	}
	if path == "" {
		path = "request"
	}
	return badRequest(path, "is not strict JSON: %s", reason)
}
