package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

var seeds = []string{
	``, ` `, `null`, `-0`, `[1e400,1e-400]`, `9007199254740993`, `9223372036854776000`,
	`0.000001e-7`, `1e10000`, `0e10000`, `1.5E+0021`, `123456789012345678901234567890`,
	`{"a":1,"\u0061":2}`, `{"\ud83d\ude00":1,"\ufb33":[{"b":[],"a":{}}]}`,
	`"\ud800\udc00\ud800"`, `"\udc00\ud800"`, `"\b\f\n\r\t\"\\\/\u001f\u2028"`,
	"\"\xff\"", "\"\x01\"", "\ufeff1", "\"\u2028\uffff\U0010ffff\"", `{"":{"":[true,false,null]}}`,
	`[1,]`, `{"a":1,}`, `[1 2]`, `{"a" 1}`, `01`, `1.`, `-`, `"\u12g4"`, `nul`, `[`, `{"`,
	`{"z":1,"y":{"b":"\n","a":2.50},"x":[{"d":1,"c":2}]}`,
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	for _, test := range canonicalTests {
		f.Add([]byte(test.text))
	}
	f.Add([]byte(strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)))
	f.Add([]byte(strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1)))
	f.Fuzz(func(t *testing.T, text []byte) {
		err := Check(text)
		canonical, canonicalErr := Canonical(text)
		members, objectErr := Object(text)
		if err != nil {
			wantRefusal(t, text, err)
			wantError(t, string(text), canonicalErr, *err.(*Error))
			wantError(t, string(text), objectErr, *err.(*Error))
			return
		}
		if canonicalErr != nil {
			t.Fatalf("Check accepts %q, Canonical: %v", text, canonicalErr)
		}
		wantAccepted(t, text)
		wantStable(t, text, canonical)
		wantMembers(t, canonical, members, objectErr)
	})
}

// wantRefusal checks that err, by which text is refused, is well formed and
// one of the reasons the reference finds.
func wantRefusal(t *testing.T, text []byte, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error of type %T", err)
	}
	if e.Offset < 0 || e.Offset > len(text) || e.Path[0] != '$' || len(e.Path) > maxPath {
		t.Fatalf("bad error %+v for %q", *e, text)
	}
	if json.Valid(text) && !reference(text)[e.Reason] {
		t.Fatalf("%q is refused: %v", text, err)
	}
}

func wantAccepted(t *testing.T, text []byte) {
	t.Helper()
	if !json.Valid(text) {
		t.Fatalf("%q is accepted, but encoding/json refuses it", text)
	}
	if reasons := reference(text); len(reasons) > 0 {
		t.Fatalf("%q is accepted in spite of %v", text, reasons)
	}
}

// wantMembers checks that the members, put together again, give the object
// whose canonical form is canonical, or that there are none.
func wantMembers(t *testing.T, canonical []byte, members []Member, err error) {
	t.Helper()
	if KindOf(canonical) != KindObject {
		if e := (*Error)(nil); !errors.As(err, &e) || e.Reason != reasonNotObject {
			t.Fatalf("Object(%q) = %v", canonical, err)
		}
		return
	}
	if err != nil {
		t.Fatalf("Object(%q) = %v", canonical, err)
	}
	text := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(AppendString(text, m.Key), ':')
		text = append(text, m.Value...)
	}
	again, err := Canonical(append(text, '}'))
	if err != nil || !bytes.Equal(again, canonical) {
		t.Fatalf("the members make %q, %v, want %q", again, err, canonical)
	}
}
