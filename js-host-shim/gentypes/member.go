package main

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"

	"github.com/pi-workflows/wfcore/core"
)

// member writes one field. In a request null is as good as absent; in an answer a
// pointer that is always there may be null.
func (g *generator) member(owner reflect.Type, field reflect.StructField, in scope) string {
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	optional, rule := options == "omitempty", in.rule(name)
	of := g.typeOf(field.Type, typeName(owner)+"."+name, rule, scope{in.rules, in.path + name + "."})
	key := name
	if optional {
		key += "?"
	}
	nullable := field.Type.Kind() == reflect.Pointer && !optional
	if in.rules != nil {
		nullable = optional && !takesNull(of)
	}
	if nullable {
		of += " | null"
	}
	return comment("\t", g.memberDoc(owner, field, rule)) + declare(key, of)
}

func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

func takesNull(of string) bool { return of == "Json" || strings.HasPrefix(of, "Json |") }

// declare breaks a union that is too long for one line.
func declare(key, of string) string {
	line := "\t" + key + ": " + of + ";\n"
	if width(line) <= maxWidth {
		return line
	}
	return "\t" + key + ":\n\t\t| " + strings.ReplaceAll(of, " | ", "\n\t\t| ") + ";\n"
}

// typeOf is the TypeScript type of a Go type, and writes those that it names.
func (g *generator) typeOf(t reflect.Type, member string, rule core.Field, in scope) string {
	if of, ok := overrides[member]; ok {
		return of
	}
	switch {
	case t == reflect.TypeFor[json.RawMessage]() && strings.HasPrefix(rule.Says, "an object"):
		return "JsonObject"
	case t == reflect.TypeFor[json.RawMessage]():
		return "Json"
	case t.Kind() == reflect.Map:
		return "JsonObject"
	case t.Kind() == reflect.Pointer:
		return g.typeOf(t.Elem(), "", rule, in)
	case t.Kind() == reflect.Slice:
		return g.typeOf(t.Elem(), "", rule, in) + "[]"
	case t.Kind() == reflect.Struct:
		g.object(t, in)
		return typeName(t)
	case t.Kind() == reflect.Bool:
		return "boolean"
	case t.Kind() == reflect.Int64:
		return "number"
	case t.PkgPath() == "":
		return "string"
	}
	return g.choice(t, rule)
}

// choice is a string type, or the part of its values that a request may hold.
func (g *generator) choice(t reflect.Type, rule core.Field) string {
	g.enum(t)
	permitted := choices(rule)
	if len(permitted) == 0 || sameValues(permitted, g.source.values[t.Name()]) {
		return t.Name()
	}
	for i, value := range permitted {
		permitted[i] = quote(value)
	}
	return strings.Join(permitted, " | ")
}

// choices are the values that a rule lists.
func choices(rule core.Field) []string {
	list, ok := strings.CutPrefix(rule.Says, "one of ")
	if !ok {
		return nil
	}
	return strings.Split(list, ", ")
}

var goName = regexp.MustCompile(`\b[A-Z]\w*\b`)

// memberDoc is the comment of a field, with fields named as in JSON, and its rule
// where the type does not say it already.
func (g *generator) memberDoc(owner reflect.Type, field reflect.StructField, rule core.Field) string {
	doc := goName.ReplaceAllStringFunc(g.source.docs[owner.Name()+"."+field.Name], func(word string) string {
		if named, ok := owner.FieldByName(word); ok {
			return jsonName(named)
		}
		return word
	})
	_, stated := overrides[typeName(owner)+"."+jsonName(field)]
	if rule.Says == "" || rule.Type == "boolean" || stated || choices(rule) != nil {
		return doc
	}
	return strings.TrimSpace(doc + " Must be " + rule.Says + ".")
}
