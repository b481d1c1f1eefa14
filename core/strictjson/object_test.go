package strictjson

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestObject(t *testing.T) {
	text := []byte(" {\"b\" : [1, {\"x\":2}] ,\n\"\\u0061\\n\":\"s\", \"\": {\"b\":0,\"a\":1} , \"n\":-1.50}\n")
	want := []struct{ key, value string }{
		{"b", `[1, {"x":2}]`},
		{"a\n", `"s"`},
		{"", `{"b":0,"a":1}`},
		{"n", `-1.50`},
	}
	members, err := Object(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(members) != len(want) {
		t.Fatalf("got %d members, want %d", len(members), len(want))
	}
	for i, m := range members {
		if m.Key != want[i].key || string(m.Value) != want[i].value {
			t.Errorf("member %d = %q: %s, want %q: %s", i, m.Key, m.Value, want[i].key, want[i].value)
		}
		if cap(m.Value) != len(m.Value) {
			t.Errorf("member %d: appending to the value would write into the text", i)
		}
	}
	text[8] = '{'
	if members[0].Value[0] != '{' {
		t.Error("the value is not a sub-slice of the text")
	}
}

func TestObjectEmpty(t *testing.T) {
	if members, err := Object([]byte(" {} ")); err != nil || len(members) != 0 {
		t.Errorf("Object({}) = %v, %v", members, err)
	}
}

func TestObjectRefuses(t *testing.T) {
	for _, text := range []string{`[]`, `null`, `1`, `"{}"`, `[{"a":1}]`} {
		_, err := Object([]byte(text))
		wantError(t, text, err, Error{0, "$", reasonNotObject})
	}
	_, err := Object([]byte("\n true"))
	wantError(t, "true", err, Error{2, "$", reasonNotObject})
	_, err = Object([]byte(`{"a":1,"a":1}`))
	wantError(t, "duplicate", err, Error{7, "$.a", reasonDuplicate})
	_, err = Object([]byte(`[1`))
	wantError(t, "cut", err, Error{2, "$", reasonEnd})
	_, err = Object(nil)
	wantError(t, "nil", err, Error{0, "$", reasonEmpty})
}

func TestKindOf(t *testing.T) {
	tests := map[string]Kind{
		"null": KindNull, "true": KindBool, "false": KindBool, "0": KindNumber,
		"9": KindNumber, "-1": KindNumber, `""`: KindString, "[]": KindArray,
		"{}": KindObject, "": KindInvalid, " 1": KindInvalid, "+1": KindInvalid,
	}
	for text, want := range tests {
		if got := KindOf([]byte(text)); got != want {
			t.Errorf("KindOf(%q) = %d, want %d", text, got, want)
		}
	}
}

// manyKeys returns an object of n keys in descending order.
func manyKeys(n int) string {
	var b strings.Builder
	for i := n; i > 0; i-- {
		fmt.Fprintf(&b, `,"key%09d":0`, i)
	}
	return "{" + b.String()[1:] + "}"
}

func TestManyKeys(t *testing.T) {
	const n = 100_000
	text := manyKeys(n)
	got, err := Canonical([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if first := `{"key000000001":0,`; !strings.HasPrefix(string(got), first) || len(got) != len(text) {
		t.Errorf("canonical form begins %.40s", got)
	}
	twice := text[:len(text)-1] + `,"key000050000":1}`
	err = Check([]byte(twice))
	wantError(t, "many keys", err, Error{len(text), "$.key000050000", reasonDuplicate})
}

func TestNoKeyIsDuplicateOfAnotherObject(t *testing.T) {
	text := `{"a":{"b":{"a":1,"b":2},"a":{}},"b":[{"a":1},{"a":2}]}`
	var e *Error
	if err := Check([]byte(text)); errors.As(err, &e) {
		t.Error(e)
	}
}
