package safetext

import (
	"strings"
	"testing"
)

func TestCanaries(t *testing.T) {
	for _, c := range canaries() {
		text := c.text
		for name, out := range map[string]string{"Line": Line(text), "Redact": Redact(text)} {
			if part := leak(out, c.secret); part != "" {
				t.Errorf("%s(%q) = %q shows %q", name, text, out, part)
			}
		}
		checkShape(t, text)
		if Line(text) == "" {
			t.Errorf("Line(%q) is empty", text)
		}
		if !strings.Contains(Redact(text), redacted) {
			t.Errorf("Redact(%q) has no mark", text)
		}
	}
}

// leak returns an 8-byte part of secret that out holds.
func leak(out, secret string) string {
	for i := 0; i+8 <= len(secret); i++ {
		if strings.Contains(out, secret[i:i+8]) {
			return secret[i : i+8]
		}
	}
	return ""
}

func TestBenign(t *testing.T) {
	for _, text := range benign() {
		if out := Line(text); out != text {
			t.Errorf("Line(%q) = %q", text, out)
		}
		if out := Redact(text); out != text {
			t.Errorf("Redact(%q) = %q", text, out)
		}
		spaced := " \n\t" + strings.ReplaceAll(text, " ", " \t ") + "\r\nsecond line"
		if out := Line(spaced); out != text {
			t.Errorf("Line(%q) = %q", spaced, out)
		}
	}
}

func TestHasUserInfo(t *testing.T) {
	for _, ref := range []string{
		"https://user@host", "https://user:pw@host/x", "git+https://u:p@host/r.git", "see (ssh://git@host/x)",
		`{"a":["https://user:pw@host"]}`, `{"a":"https:\/\/user@host"}`, `{"a":"https\u003a//user\u0040host"}`,
		"x?u=https%3A%2F%2Fuser%40host", "https://us\u200ber@host", "npm:x@https://u:p@h", "amqp://u:p/w@h",
	} {
		if !HasUserInfo(ref) {
			t.Errorf("HasUserInfo(%q) = false", ref)
		}
	}
	for _, ref := range []string{
		"", "alice@example.com", "file:///tmp/a@b.ts", "https://host/path@1.2", "https://host:80/@a/b",
		"https://host?x=a@b", "https://host#a@b", "git@github.com:o/r.git", "npm:@scope/pkg@1.2.3",
		"https://host then alice@example.com", `{"a":"https://host","b":"alice@example.com"}`, "http://[::1]:80/a@b",
	} {
		if HasUserInfo(ref) {
			t.Errorf("HasUserInfo(%q) = true", ref)
		}
	}
}

func TestRedactValue(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"password", "plain", redacted},
		{"apiKey", "plain", redacted},
		{"API_TOKEN", "plain", redacted},
		{"x-api-key", "plain", redacted},
		{"Authorization", "plain", redacted},
		{"dbPass", "plain", redacted},
		{"passWord", "plain", redacted},
		{"tokens", "abc", redacted},
		{"tokens", "4096", "4096"},
		{"maxTokens", "4096", "4096"},
		{"token", "", ""},
		{"author", " alice \n bob", "alice"},
		{"monkey", "banana", "banana"},
		{"key", "banana", "banana"},
		{"url", "https://u:p@h/x", "https://" + redacted + "@h/x"},
		{"sourceDigest", hex64, hex64},
		{"note", hex64, redacted},
	} {
		if out := RedactValue(c.key, c.value); out != c.want {
			t.Errorf("RedactValue(%q, %q) = %q, want %q", c.key, c.value, out, c.want)
		}
	}
}
