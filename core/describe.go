package core

import (
	"encoding/json"
	"reflect"
	"strings"
)

// Field describes one field of a request.
type Field struct {
	// Name is dotted for a field of a nested object.
	Name     string
	Type     string // string, integer, boolean, object or JSON
	Optional bool
	// Says is what the field must be.
	Says string
}

// Fields lists the fields of the op's request, nested ones after their object.
func (o *Op) Fields() []Field { return planOf(o.Request).describe("", o.Request) }

func (p *plan) describe(path string, t reflect.Type) []Field {
	fields := []Field{}
	for _, f := range p.fields {
		of := t.Field(f.index).Type
		described := Field{join(path, f.name), typeName(of), f.optional, rules[f.rule].says}
		fields = append(fields, described)
		if f.nested != nil {
			fields = append(fields, f.nested.describe(described.Name, of.Elem())...)
		}
	}
	return fields
}

func typeName(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return "JSON"
	case t.Kind() == reflect.String:
		return "string"
	case t.Kind() == reflect.Int64:
		return "integer"
	case t.Kind() == reflect.Bool:
		return "boolean"
	}
	return "object"
}

// Answer describes what an op answers with.
type Answer struct {
	// Name is that of the object.
	Name string
	// Phrase has one %s for the name: "a %s", "a %s, or null", "a list of %s".
	Phrase string
	Fields []Field
}

// Answer describes what the op answers with.
func (o *Op) Answer() Answer {
	t, phrase := o.Response, "%s"
	switch t.Kind() {
	case reflect.Slice:
		t, phrase = t.Elem(), "a list of %s"
	case reflect.Pointer:
		t, phrase = t.Elem(), "%s, or null"
	}
	return Answer{t.Name(), phrase, answerFields("", t)}
}

// answerFields are those of an answer, nested ones after their object. A record that
// an op of its own answers with is not spelled out again.
func answerFields(path string, t reflect.Type) []Field {
	fields := []Field{}
	for i := range t.NumField() {
		sf := t.Field(i)
		if sf.Anonymous {
			fields = append(fields, answerFields(path, sf.Type)...)
			continue
		}
		name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
		of := sf.Type
		f := Field{Name: join(path, name), Type: typeName(of), Optional: options == "omitempty"}
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
			f.Type = typeName(of)
			if !f.Optional {
				f.Type += " or null"
			}
		}
		fields = append(fields, f)
		if of.Kind() == reflect.Struct && of != reflect.TypeFor[Run]() && of != reflect.TypeFor[Intent]() {
			fields = append(fields, answerFields(f.Name, of)...)
		}
	}
	return fields
}
