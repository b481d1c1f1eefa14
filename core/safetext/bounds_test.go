package safetext

import (
	"strings"
	"testing"
	"unicode/utf8"
)

const million = 1 << 20

func TestLineForms(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{" \r\n\t\u2028\x00\u200b ", ""},
		{"a\x00b\x07c", "abc"},
		{"\x1b[31;1mred\x1b[0m text", "red text"},
		{"\x1b]8;;https://x\x07link\x1b]8;;\x1b\\ end", "link end"},
		{"\u009b31mred", "red"},
		{"a\xff\xfeb", "ab"},
		{"\xe2\x80", ""},
		{"a\u202eb\u2066c\u200bd\ufeffe", "abcde"},
		{"a \u00a0\u3000\tb", "a b"},
		{"\n\n  first\u2028second", "first"},
		{"first\u0085second", "first"},
		{"boom at foo (file.js:1:2) at bar (x.js:3:4)", "boom"},
		{"boom at async Promise.all (index 0)", "boom"},
		{"boom at file:///x:1:2", "boom"},
		{"boom at /a/b.js:10:20", "boom"},
		{"boom at Object.<anonymous> (/a b/c.js:1:2)", "boom"},
		{"boom at Foo.bar [as baz] (node:internal/x:1:2)", "boom"},
		{"boom at com.foo.Bar.baz(Bar.java:12)", "boom"},
		{"boom\n    at foo (file.js:1:2)", "boom"},
		{"panic: x goroutine 1 [running]: main.main()", "panic: x"},
		{"boom Traceback (most recent call last): File", "boom"},
		{"boom Caused by: java.io.IOException: x", "boom"},
		{"Caused by: x at foo (file.js:1:2) Caused by: y", "Caused by: x"},
		{"boom { [cause]: Error: x }", "boom"},
		{"Traceback (most recent call last):\n  File x", traceMark},
		{"at foo (file.js:1:2)", traceMark},
		{"token=" + strings.Repeat("a", million), "token=" + redacted},
		{"token='" + strings.Repeat("a b ", million), "token='" + redacted},
		{"https://u:" + strings.Repeat("a", million) + "@h", "https://" + redacted},
		{"x ghp_" + strings.Repeat("a", million) + " y", "x " + redacted},
		{"-----BEGIN X-----" + strings.Repeat("\nabc", million), redacted},
	} {
		if out := Line(c.text); out != c.want {
			t.Errorf("Line(%.60q) = %q, want %q", c.text, out, c.want)
		}
	}
}

func TestLargeTexts(t *testing.T) {
	for _, unit := range []string{
		"a", "a ", "é", "日", "\x00", "\xff", "\x1b[", "\x1b]", "-", "- ", "=", ":", "://", "a://b:c/", "%", "%3A%2F%2F",
		"\\", "\\\"", "\"", "'token=", "token ", "token: ", "token:[", "token '", "token \"\\", "bearer ", "at ",
		"goroutine 1", "-----BEGIN", "x\ncookie: ", "eyJ", "sk-", "a,", "tokens=1,", "1/", "aB3/", "&", "\u202e", "{", "token=\\\"",
		"\"cookie: a\n\\", "auth: bearer a ", "\"cookie: a", "=bearer", "token=", "curl -u a", "password: b c ", "key: ", "api key ", "commit ",
		"a:", "a:1", "a:1b@/", "scott/a@", "password ", "password '", "token 'a ", "token\\t", "token a1", "auth plain ", "auth is ",
		"identified ", "identified by ", "\"token\" a=", "\"token\" a='b' ", "?code=", "cookie: the a ", "mysql -p", "sshpass -p ", "AC0",
		"--token\n", "--token\nx[ ", "token=\nx y ", "token=\n[ ", "token=-----BEGIN ", "token token ", "-u\na: b ", "bob:a1b2c3@ ",
	} {
		text := "x " + strings.Repeat(unit, million/len(unit))
		checkShape(t, text)
		if out := Redact(text); !utf8.ValidString(out) {
			t.Errorf("Redact of many %q is not valid UTF-8", unit)
		}
		HasUserInfo(text)
	}
}

// A secret that the bound of the scan cuts is not shown either.
func TestScanBound(t *testing.T) {
	const secret = "ghp_abcdefghijklmnopqrstuvwxyz"
	for shift := range 2 * len(secret) {
		text := "token=" + strings.Repeat("a", scanBytes-len(secret)-shift) + " " + secret + " end"
		if part := leak(Line(text), secret); part != "" {
			t.Errorf("shift %d shows %q", shift, part)
		}
	}
}

func TestCutsAtCharacters(t *testing.T) {
	for _, char := range []string{"a", "é", "日", "🎉"} {
		for pad := range 8 {
			text := strings.Repeat("b", MaxBytes-pad) + strings.Repeat(char, 8)
			out := Line(text)
			checkShape(t, text)
			if !strings.HasSuffix(out, ellipsis) || len(out) < MaxBytes-utf8.UTFMax {
				t.Errorf("%q with %d: %d bytes, ends %q", char, pad, len(out), out[len(out)-6:])
			}
		}
	}
	exact := strings.Repeat("b", MaxBytes)
	if Line(exact) != exact {
		t.Error("a text of MaxBytes is cut")
	}
}

func TestTruncate(t *testing.T) {
	for _, c := range []struct {
		text string
		max  int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, ellipsis}, {"abcd", 2, "ab"}, {"abcd", 0, ""}, {"abcd", -1, ""},
		{"日本", 6, "日本"}, {"日本", 5, ellipsis}, {"日本", 2, ""}, {"a日本語", 7, "a日" + ellipsis}, {"", 0, ""},
	} {
		if out := Truncate(c.text, c.max); out != c.want {
			t.Errorf("Truncate(%q, %d) = %q, want %q", c.text, c.max, out, c.want)
		}
	}
	for max := range 20 {
		if out := Truncate("aé日🎉aé日🎉", max); len(out) > max || !utf8.ValidString(out) {
			t.Errorf("Truncate at %d gives %q", max, out)
		}
	}
}

var message = strings.Repeat("step build failed: Cannot find module './steps/token.ts', key must be one of a, b; ", 4)[:300]

func BenchmarkLine(b *testing.B) {
	for name, text := range map[string]string{
		"300B":    message,
		"secrets": `GET https://u:p@host/x?token=abc&a=1 failed: {"apiKey":"abc","b":1} Authorization: Bearer abcdef`,
		"1MB":     strings.Repeat(message+"\n", million/len(message)),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Line(text)
			}
		})
	}
}

func BenchmarkRedact1MB(b *testing.B) {
	text := strings.Repeat(message+"\n", million/len(message))
	b.ReportAllocs()
	for b.Loop() {
		Redact(text)
	}
}
