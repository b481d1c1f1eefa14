package strictjson

import (
	"errors"
	"strings"
	"testing"
)

func TestCheckAccepts(t *testing.T) {
	accepted := []string{
		`null`, `true`, `false`, `0`, `-0`, `""`, `[]`, `{}`,
		" \t\r\n{ \"a\" : [ 1 , 2 ] , \"b\" : { } } \t\r\n",
		`{"a":{"a":1},"b":{"a":1}}`,
		`[{"a":1},{"a":1}]`,
		`{"":0," ":1,"A":2,"a":3}`,
		`"\"\\\/\b\f\n\r\t\u0000\u001F"`,
		`"\ud83d\ude00 \uD83D\uDE00 \ufffe \uffff"`,
		"\"\x7f \u2028 \u2029 \ufeff \ufffe \uffff \U0010ffff\"",
		`[1.5,-1.5e+3,1E-3,0.0,-0.0e9,0e999999,0.000e-999999]`,
		`[9007199254740991,9007199254740992,9007199254740994]`,
		`[-9007199254740992,18446744073709551616,9223372036854775808]`,
		`[9223372036854776000,295147905179352830000,295147905179352825856]`,
		`[5e-324,1.7976931348623157e308,1e00000000005]`,
		"1" + strings.Repeat("0", 22),
		"0." + strings.Repeat("0", 2000) + "1e2000",
		strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth),
		strings.Repeat(`{"a":`, MaxDepth-1) + "[]" + strings.Repeat("}", MaxDepth-1),
	}
	for _, text := range accepted {
		if err := Check([]byte(text)); err != nil {
			t.Errorf("Check(%.60q) = %v", text, err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth)
	tests := []struct {
		text   string
		offset int
		path   string
		reason string
	}{
		{"", 0, "$", reasonEmpty},
		{" \n ", 3, "$", reasonEmpty},
		{"\ufeff{}", 0, "$", reasonBOM},
		{" \ufeff{}", 1, "$", reasonValue},
		{"\xff\xfe{", 0, "$", reasonValue},
		{"\u00a0{}", 0, "$", reasonValue},
		{"\v1", 0, "$", reasonValue},
		{"{} {}", 3, "$", reasonTrailing},
		{"1\x00", 1, "$", reasonTrailing},
		{"nul", 0, "$", reasonValue},
		{"nulL", 0, "$", reasonValue},
		{"truex", 4, "$", reasonTrailing},
		{"NaN", 0, "$", reasonValue},
		{"'a'", 0, "$", reasonValue},
		{"// c\n1", 0, "$", reasonValue},

		{"[", 1, "$[0]", reasonEnd},
		{"[1", 2, "$", reasonEnd},
		{"[1,", 3, "$[1]", reasonEnd},
		{"[1,]", 3, "$[1]", reasonValue},
		{"[,1]", 1, "$[0]", reasonValue},
		{"[1 2]", 3, "$", reasonNext},
		{"[1}", 2, "$", reasonNext},
		{"]", 0, "$", reasonValue},
		{`{`, 1, "$", reasonEnd},
		{`{"a"`, 4, "$.a", reasonEnd},
		{`{"a":`, 5, "$.a", reasonEnd},
		{`{"a":1`, 6, "$", reasonEnd},
		{`{"a":1,`, 7, "$", reasonEnd},
		{`{"a":1,}`, 7, "$", reasonKey},
		{`{a:1}`, 1, "$", reasonKey},
		{`{1:1}`, 1, "$", reasonKey},
		{`{"a" 1}`, 5, "$.a", reasonColon},
		{`{"a":1]`, 6, "$", reasonNext},
		{`{"a":1 "b":2}`, 7, "$", reasonNext},

		{`"a`, 2, "$", reasonEnd},
		{`"\`, 1, "$", reasonEnd},
		{`"\"`, 3, "$", reasonEnd},
		{`"\x"`, 1, "$", reasonEscape},
		{`"\u12"`, 1, "$", reasonEscape},
		{`"\u12g4"`, 1, "$", reasonEscape},
		{`"\U0041"`, 1, "$", reasonEscape},
		{"\"a\nb\"", 2, "$", reasonControl},
		{"\"a\x00b\"", 2, "$", reasonControl},
		{"\"a\x1fb\"", 2, "$", reasonControl},
		{"\"a\xff\"", 2, "$", reasonUTF8},
		{"\"a\xc0\x80\"", 2, "$", reasonUTF8},
		{"\"a\xed\xa0\x80\"", 2, "$", reasonUTF8},
		{"\"a\xe2\x82\"", 2, "$", reasonUTF8},
		{"\"a\xf4\x90\x80\x80\"", 2, "$", reasonUTF8},
		{"{\"\xff\":1}", 2, "$", reasonUTF8},
		{`"a\ud800"`, 2, "$", reasonSurrogate},
		{`"a\udc00"`, 2, "$", reasonSurrogate},
		{`"\ud800a"`, 1, "$", reasonSurrogate},
		{`"\ud800\n"`, 1, "$", reasonSurrogate},
		{`"\ud800\u0041"`, 1, "$", reasonSurrogate},
		{`"\ud800\ud800"`, 1, "$", reasonSurrogate},
		{`"\ude00\ud83d"`, 1, "$", reasonSurrogate},
		{`{"\ud800":1}`, 2, "$", reasonSurrogate},

		{`{"a":1,"a":2}`, 7, "$.a", reasonDuplicate},
		{`{"a":1,"\u0061":2}`, 7, "$.a", reasonDuplicate},
		{`{"\u0061":1,"b":0,"a":2}`, 18, "$.a", reasonDuplicate},
		{`{"b":1,"a":2,"a":3,"b":4}`, 13, "$.a", reasonDuplicate},
		{`{"\/":1,"/":2}`, 8, `$["/"]`, reasonDuplicate},
		{`{"\ud83d\ude00":1,"` + "\U0001f600" + `":2}`, 18, "$[\"\U0001f600\"]", reasonDuplicate},
		{`{"":1,"":1}`, 6, `$[""]`, reasonDuplicate},
		{`{"x":[{"c":1,"b":2,"c":3}]}`, 19, "$.x[0].c", reasonDuplicate},

		{`-`, 1, "$", reasonEnd},
		{`-a`, 1, "$", reasonDigit},
		{`+1`, 0, "$", reasonValue},
		{`.5`, 0, "$", reasonValue},
		{`01`, 0, "$", reasonLeadingZero},
		{`-01`, 1, "$", reasonLeadingZero},
		{`00.5`, 0, "$", reasonLeadingZero},
		{`1.`, 2, "$", reasonEnd},
		{`1.e5`, 2, "$", reasonDigit},
		{`1e`, 2, "$", reasonEnd},
		{`1e+`, 3, "$", reasonEnd},
		{`[1e+]`, 4, "$[0]", reasonDigit},
		{`0x10`, 1, "$", reasonTrailing},
		{`1_000`, 1, "$", reasonTrailing},
		{`[1e400]`, 1, "$[0]", reasonTooLarge},
		{`-1e400`, 0, "$", reasonTooLarge},
		{`1.7976931348623159e308`, 0, "$", reasonTooLarge},
		{`1` + strings.Repeat("0", 309), 0, "$", reasonTooLarge},
		{`1e400000000000000000000`, 0, "$", reasonTooLarge},
		{`1e-400`, 0, "$", reasonTooSmall},
		{`-0.0001e-320`, 0, "$", reasonTooSmall},
		{`2e-324`, 0, "$", reasonTooSmall},
		{`1e-400000000000000000000`, 0, "$", reasonTooSmall},
		{`0.` + strings.Repeat("0", 14999) + `1e150000`, 0, "$", reasonTooLarge},
		{`9007199254740993`, 0, "$", reasonInexact},
		{`-9007199254740993`, 0, "$", reasonInexact},
		{`9223372036854775807`, 0, "$", reasonInexact},
		{`295147905179352825857`, 0, "$", reasonInexact},
		{`100000000000000000000000`, 0, "$", reasonInexact},
		{`{"a":[0,9007199254740993]}`, 8, "$.a[1]", reasonInexact},

		{deep + "[" + deep, MaxDepth, "$" + strings.Repeat("[0]", 65) + "...", reasonDepth},
		{strings.Repeat("[", 1<<20), MaxDepth, "$" + strings.Repeat("[0]", 65) + "...", reasonDepth},
		{strings.Repeat(`{"a":`, 1<<18), 5 * MaxDepth, "$" + strings.Repeat(".a", 98) + "...", reasonDepth},
	}
	for _, test := range tests {
		wantError(t, test.text, Check([]byte(test.text)), Error{test.offset, test.path, test.reason})
		_, err := Canonical([]byte(test.text))
		wantError(t, test.text, err, Error{test.offset, test.path, test.reason})
	}
}

func wantError(t *testing.T, text string, err error, want Error) {
	t.Helper()
	var got *Error
	if !errors.As(err, &got) {
		t.Errorf("%.60q: error %v, want %v", text, err, want)
		return
	}
	if *got != want {
		t.Errorf("%.60q:\n got %+v\nwant %+v", text, *got, want)
	}
}

func TestErrorPath(t *testing.T) {
	long := strings.Repeat("k", 60)
	tests := []struct{ text, path string }{
		{`{"input":{"items":[0,1,2,{"name":?}]}}`, `$.input.items[3].name`},
		{`{"$_a9":?}`, `$.$_a9`},
		{`{"9a":?}`, `$["9a"]`},
		{`{"a-b":?}`, `$["a-b"]`},
		{`{"":?}`, `$[""]`},
		{`{"a\"\\b":?}`, `$["a\"\\b"]`},
		{`{"a\n\u0000\u001b\u007f\u0085\u202e\u2028b":?}`, `$["ab"]`},
		{`{"` + long + `":?}`, `$["` + long[:40] + `..."]`},
		{`{"` + long[:40] + `":?}`, `$.` + long[:40]},
		{`{"\u00f6":?}`, "$[\"\u00f6\"]"},
		{strings.Repeat(`{"`+long+`":`, 5) + "?", "$" + strings.Repeat(`["`+long[:40]+`..."]`, 4) + "..."},
	}
	for _, test := range tests {
		var got *Error
		if err := Check([]byte(test.text)); !errors.As(err, &got) || got.Path != test.path {
			t.Errorf("Check(%q) = %v, want path %s", test.text, err, test.path)
		}
	}
}

func TestErrorText(t *testing.T) {
	err := Check([]byte(`{"secret":[1,"hush]}`))
	want := "invalid JSON at $.secret[1] (byte 20): unexpected end of the text"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
