package safetext

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzLine: whatever a text holds, what is made of it can be shown.
func FuzzLine(f *testing.F) {
	for _, c := range canaries() {
		f.Add(c.text)
	}
	for _, text := range benign() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkShape(t, text)
		plain := Plain(text)
		if !utf8.ValidString(plain) || strings.ContainsFunc(plain, unicode.IsControl) || Plain(plain) != plain {
			t.Fatalf("Plain(%q) = %q", text, plain)
		}
		out := Redact(text)
		shown := strings.NewReplacer("\n", "", "\r", "", "\t", "").Replace(out)
		if !utf8.ValidString(out) || strings.ContainsFunc(shown, unicode.IsControl) {
			t.Fatalf("Redact(%q) = %q", text, out)
		}
		if value := RedactValue(text, text); Line(value) != value {
			t.Fatalf("RedactValue of %q is %q", text, value)
		}
		HasUserInfo(text)
	})
}

// surrounds part a canary from what stands around it, since what stands on its line
// can change what it means. So can a string or an escape sequence that an earlier line
// leaves open, hence neither there, plain or encoded.
var surrounds = []string{"\n", "\r\n", "\u2028", "\n\t", "\x00\n", "\n\x1b[31m"}

// FuzzCanary: whatever stands in the lines before and after a canary, its secret does
// not come out.
func FuzzCanary(f *testing.F) {
	canaries, benign := canaries(), benign()
	for i := range canaries {
		before, after := benign[i%len(benign)], canaries[(i*7)%len(canaries)].text
		f.Add(uint16(i), byte(i), before, after)
	}
	f.Fuzz(func(t *testing.T, which uint16, surround byte, before, after string) {
		c := canaries[int(which)%len(canaries)]
		border := surrounds[int(surround)%len(surrounds)]
		before, _ = clean(before, len(before))
		before = strings.NewReplacer("'", "", `"`, "", "`", "", "%", "", "&", "", `\`, "").Replace(before)
		text := before + border + c.text + border + after
		around := " " + Plain(before) + " \n " + Plain(after) + " "
		checkShape(t, text)
		for _, out := range []string{Line(text), Redact(text)} {
			part := leak(out, c.secret)
			if part != "" && !strings.Contains(around, part) {
				t.Fatalf("%q shows %q in %q", text, part, out)
			}
		}
	})
}

// checkShape checks what holds for the Line of every text.
func checkShape(t *testing.T, text string) {
	t.Helper()
	out := Line(text)
	switch {
	case !utf8.ValidString(out):
		t.Fatalf("Line(%.200q) = %q is not valid UTF-8", text, out)
	case len(out) > MaxBytes:
		t.Fatalf("Line(%.200q) has %d bytes", text, len(out))
	case strings.ContainsFunc(out, unicode.IsControl) || strings.ContainsAny(out, "\u2028\u2029\u200b\u202e\ufeff"):
		t.Fatalf("Line(%.200q) = %q is not one plain line", text, out)
	case Line(out) != out:
		t.Fatalf("Line(%.200q) = %q becomes %q", text, out, Line(out))
	}
}
