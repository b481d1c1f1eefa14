package strictjson

import (
	"encoding/json"
	"slices"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

func TestAppendString(t *testing.T) {
	tests := []struct{ s, want string }{
		{"", `""`},
		{"plain", `"plain"`},
		{`"\/`, `"\"\\/"`},
		{"\b\t\n\f\r\v\x00\x1f\x7f", `"\b\t\n\f\r\u000b\u0000\u001f` + "\x7f\""},
		{"<>&\u2028\u2029", "\"<>&\u2028\u2029\""},
		{"\u00e9\u20ac\U0001f600\ufffd", "\"\u00e9\u20ac\U0001f600\ufffd\""},
		{"a\xffb\xe2\x82c\xed\xa0\x80", "\"a\ufffdb\ufffd\ufffdc\ufffd\ufffd\ufffd\""},
		{"\xff", "\"\ufffd\""},
		{"a\nb\"c", `"a\nb\"c"`},
	}
	for _, test := range tests {
		if got := string(AppendString([]byte("x"), test.s)); got != "x"+test.want {
			t.Errorf("AppendString(%q) = %s, want %s", test.s, got[1:], test.want)
		}
	}
}

func TestAppendStringEveryCharacter(t *testing.T) {
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		text := AppendString(nil, string(r))
		if err := Check(text); err != nil {
			t.Fatalf("%U: %v", r, err)
		}
		var back string
		if err := json.Unmarshal(text, &back); err != nil || back != string(r) {
			t.Fatalf("%U is read back as %q, %v", r, back, err)
		}
	}
}

// boundaries are characters around the borders of the encodings.
var boundaries = []rune{
	0, 1, ' ', 'a', 'b', 0x7f, 0x80, 0xff, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xefff,
	0xf000, 0xfb33, 0xffff, 0x10000, 0x1f600, 0x3ffff, 0x40000, 0xfffff, 0x100000, 0x10ffff,
}

func TestCompareUTF16(t *testing.T) {
	words := []string{""}
	for _, r := range boundaries {
		words = append(words, string(r))
		for _, q := range boundaries {
			words = append(words, string(r)+string(q), "x"+string(r)+string(q))
		}
	}
	for _, a := range words {
		for _, b := range words {
			want := slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
			if got := CompareUTF16(a, b); got != want {
				t.Fatalf("CompareUTF16(%q, %q) = %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestUTF16Len(t *testing.T) {
	for _, r := range boundaries {
		s := "a" + string(r) + "b"
		if got, want := UTF16Len(s), len(utf16.Encode([]rune(s))); got != want {
			t.Errorf("UTF16Len(%q) = %d, want %d", s, got, want)
		}
	}
	if got := UTF16Len("\xff\xe2\x82"); got != 3 {
		t.Errorf("three broken bytes count %d", got)
	}
	if got := UTF16Len(""); got != 0 {
		t.Errorf("the empty string counts %d", got)
	}
}

func TestNoAllocation(t *testing.T) {
	a, b := "prefix \U0001f600", "prefix \ufb33"
	dst := make([]byte, 0, 64)
	allocs := testing.AllocsPerRun(100, func() {
		CompareUTF16(a, b)
		_ = UTF16Len(a)
		AppendString(dst, a)
		AppendFloat(dst, 0.1)
		KindOf(dst)
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
