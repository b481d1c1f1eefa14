package strictjson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

// canonicalTests are texts with their canonical forms. The first two are the
// examples of RFC 8785, sections 3.2.2 and 3.2.3.
var canonicalTests = []struct{ text, want string }{
	{
		`{
		  "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
		  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
		  "literals": [null, true, false]
		}`,
		`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],` +
			`"string":"` + "\u20ac" + `$\u000f\nA'B\"\\\\\"/"}`,
	},
	{
		`{
		  "\u20ac": "Euro Sign",
		  "\r": "Carriage Return",
		  "\ufb33": "Hebrew Letter Dalet With Dagesh",
		  "1": "One",
		  "\ud83d\ude00": "Emoji: Grinning Face",
		  "\u0080": "Control",
		  "\u00f6": "Latin Small Letter O With Diaeresis"
		}`,
		`{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control","` +
			"\u00f6" + `":"Latin Small Letter O With Diaeresis","` +
			"\u20ac" + `":"Euro Sign","` +
			"\U0001f600" + `":"Emoji: Grinning Face","` +
			"\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`,
	},
	{" [ ] ", "[]"},
	{" { } ", "{}"},
	{`[ 1 , [ 2 ] , { "a" : 3 } ]`, `[1,[2],{"a":3}]`},
	{`{"b":{"d":1,"c":[{"f":1,"e":2}]},"a":0}`, `{"a":0,"b":{"c":[{"e":2,"f":1}],"d":1}}`},
	{`{"10":0,"9":1,"":2,"a":3,"A":4,"aa":5}`, `{"":2,"10":0,"9":1,"A":4,"a":3,"aa":5}`},
	{`{"b\/":1,"a\u0062":2}`, `{"ab":2,"b/":1}`},
	{`"\u003c\u003e\u0026\u2028\u2029\u007f\u0000\u001f\b\t\n\f\r"`,
		"\"<>&\u2028\u2029\x7f" + `\u0000\u001f\b\t\n\f\r"`},
	{`"\uD83D\uDE00\u00e9"`, "\"\U0001f600\u00e9\""},
	{`[-0,-0.0,-0e5,0.0,0e999999]`, `[0,0,0,0,0]`},
	{`[10.0,1e2,1.5E1,100e-2]`, `[10,100,15,1]`},
	{`[1e20,1e21,1e-6,1e-7,0.0000012,123456789012345680000]`,
		`[100000000000000000000,1e+21,0.000001,1e-7,0.0000012,123456789012345680000]`},
	{`[295147905179352825856,9223372036854775808,1000000000000000]`,
		`[295147905179352830000,9223372036854776000,1000000000000000]`},
}

func TestCanonical(t *testing.T) {
	for _, test := range canonicalTests {
		got, err := Canonical([]byte(test.text))
		if err != nil {
			t.Errorf("Canonical(%s): %v", test.text, err)
			continue
		}
		if string(got) != test.want {
			t.Errorf("Canonical(%s)\n got %s\nwant %s", test.text, got, test.want)
		}
		wantStable(t, []byte(test.text), got)
	}
}

// wantStable checks that canonical is its own canonical form and decodes to
// the value of text.
func wantStable(t *testing.T, text, canonical []byte) {
	t.Helper()
	again, err := Canonical(canonical)
	if err != nil {
		t.Fatalf("the canonical form %s of %s is refused: %v", canonical, text, err)
	}
	if !bytes.Equal(again, canonical) {
		t.Fatalf("not idempotent: %s becomes %s", canonical, again)
	}
	var a, b any
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatalf("encoding/json refuses %q: %v", text, err)
	}
	if err := json.Unmarshal(canonical, &b); err != nil {
		t.Fatalf("encoding/json refuses the canonical form %q: %v", canonical, err)
	}
	if !reflect.DeepEqual(a, b) {
		t.Fatalf("%q and its canonical form %q differ in value", text, canonical)
	}
}

func TestCanonicalLeavesInputAlone(t *testing.T) {
	text := []byte(`{"b":1,"a":[2,1.0]}`)
	before := bytes.Clone(text)
	got, err := Canonical(text)
	if err != nil {
		t.Fatal(err)
	}
	got[0] = '?'
	if !bytes.Equal(text, before) {
		t.Errorf("the input became %s", text)
	}
}
