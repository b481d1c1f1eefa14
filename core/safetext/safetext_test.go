package safetext

import (
	"strings"
	"testing"
)

const (
	hex40 = "3f2504e04f8911d39a0c0305e82c3301a1b2c3d4"
	hex64 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	jwt   = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
	pem   = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"
)

// Each case has its secret part; "@@" stands for it in the text.
var canaries = []struct{ text, secret string }{
	// User info of URLs.
	{"fetch https://@@@host/x failed", "alice:hunter2-long"},
	{"fetch https://@@@host failed", "ghtokenwithoutcolon"},
	{"git+https://@@@github.com/o/r.git", "x-oauth:abcdefghij"},
	{"postgres://@@@db:5432/app", "user:p@ss:w@rd99"},
	{"redis://:@@@host:6379", "swordfishes"},
	{"amqp://u:@@@host/v", "pa/ss/word/with/slash"},
	{"proxy %22https%3A%2F%2F@@%40host%2Fx%22", "alice%3Ahunter2long"},
	{`{"url":"https:\/\/@@@host\/x"}`, "alice:hunter2long"},
	{"at https://ok.example/x then (ssh://@@@h)", "bob:hunter22hunter"},
	{"https:\u200b//@@@host", "bob:hunter22hunter"},
	// Authentication schemes.
	{"sent Bearer @@ to host", "abc.def-1234567"},
	{"sent bearer @@", "abcdefgh1234"},
	{"sent BEARER\t@@", "abcdefgh1234"},
	{"sent Bearer\n@@", "abcdefgh1234"},
	{"sent Bearer:@@", "abcdefgh1234"},
	{"sent Bearer%20@@", "abcdefgh1234"},
	{"sent Bearer '@@'", "abcdefgh1234"},
	{`sent \"Bearer\" \"@@\"`, "abcdefgh1234"},
	{`sent Bearer\n@@`, "abcdefgh1234"},
	{"Basic @@ refused", "dXNlcjpwYXNzd29yZA=="},
	{"basic @@ refused", "YWxpY2U6aHVudGVy"},
	{"Token @@ refused", "abcdef0123456789"},
	{"auth=Bearer @@", "swordfishes"},
	{"auth: Bearer @@", "swordfish-99"},
	{"token=Bearer%20@@", "swordfish-99"},
	{`"token": "Bearer @@"`, "swordfishes"},
	{"Bear\x1b[31mer @@", "abcdefgh1234"},
	// Headers.
	{"Authorization: Bearer @@", "abcdefghijkl"},
	{"Authorization: @@\nHost: x", "Custom abcdefgh hijklmno"},
	{"authorization:@@", "abcdefghijkl"},
	{"Proxy-Authorization: Basic @@", "abcdefghijkl"},
	{"Cookie: @@", "sid=abcdefgh; theme=dark; csrf=ijklmnop"},
	{"Set-Cookie: @@", "sid=abcdefgh; Path=/; HttpOnly"},
	{"X-Api-Key: @@", "plainwords only here"},
	{`curl -H "Authorization: Bearer @@" https://x`, "abcdefghijkl"},
	{`curl -H 'X-Api-Key: @@' https://x`, "abcdefghijkl"},
	{`{ authorization: 'Bearer @@', accept: '*/*' }`, "abcdefghijkl"},
	{"map[Authorization:[Bearer @@] Accept:[*/*]]", "abcdefghijkl"},
	{"Authorization: AWS4-HMAC-SHA256 @@", "Credential=abc/2026, Signature=abcdefgh"},
	// Tokens with a known prefix.
	{"key @@ refused", "sk-proj-abcDEF123456ghi"},
	{"key @@ refused", "sk-ant-api03-abc_DEF-123456"},
	{"key @@ refused", "sk_live_abcdefghijklmnop"},
	{"key @@ refused", "rk_live_abcdefghijklmnop"},
	{"key @@ refused", "pk_live_abcdefghijklmnop"},
	{"key @@ refused", "ghp_abcdefghijklmnopqrstuvwxyz"},
	{"key @@ refused", "gho_abcdefghijklmnopqrstuvwxyz"},
	{"key @@ refused", "ghu_abcdefghijklmnopqrstuvwxyz"},
	{"key @@ refused", "ghs_abcdefghijklmnopqrstuvwxyz"},
	{"key @@ refused", "ghr_abcdefghijklmnopqrstuvwxyz"},
	{"key @@ refused", "github_pat_11ABCDEFG0_abcdefg"},
	{"key @@ refused", "glpat-abcdefghijklmnop"},
	{"key @@ refused", "xoxa-2-abcdefgh"},
	{"key @@ refused", "xoxb-1234-abcdefgh"},
	{"key @@ refused", "xoxp-1234-abcdefgh"},
	{"key @@ refused", "xoxr-1234-abcdefgh"},
	{"key @@ refused", "xoxs-1234-abcdefgh"},
	{"key @@ refused", "AKIAIOSFODNN7EXAMPLE"},
	{"key @@ refused", "ASIAIOSFODNN7EXAMPLE"},
	{"key @@ refused", "AIzaSyA-abcdefghijklmnopqrstuv"},
	{"key @@ refused", "ya29.a0AfH6SMBabcdefgh"},
	{"key @@ refused", "npm_abcdefghijklmnopqrstuvwxyz0123"},
	{"key @@ refused", "hf_abcdefghIJKLMNOP"},
	{"key @@ refused", "dop_v1_abcdef0123456789"},
	{"(@@)", "ghp_abcdefghijklmnopqrstuvwxyz"},
	{`x\n@@`, "ghp_abcdefghijklmnopqrstuvwxyz"},
	{"x%3D@@%26", "ghp_abcdefghijklmnopqrstuvwxyz"},
	{"my_@@", "ghp_abcdefghijklmnopqrstuvwxyz"},
	{"got @@ here", jwt},
	{"got @@ here", jwt[:55]},
	{"got @@", jwt[:14]},
	// PEM blocks.
	{"bad key -----BEGIN PRIVATE KEY-----\n@@\nshortend\n-----END PRIVATE KEY-----\nmore", pem},
	{`bad key -----BEGIN RSA PRIVATE KEY-----\n@@\nQUJD\n-----END RSA PRIVATE KEY-----`, pem},
	{"bad key -----BEGIN EC PRIVATE KEY----- @@", pem},
	{"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n@@\n---- END SSH2 ENCRYPTED PRIVATE KEY ----", pem},
	// Keys and values.
	{"GET /x?token=@@&page=2", "swordfishes"},
	{"GET /x?a=1&api_key=@@#top", "swordfishes"},
	{`{"apiKey": "@@", "a": 1}`, "sword fish es"},
	{`{\"password\":\"@@\"}`, "sword fish es"},
	{`{\\\"password\\\":\\\"@@\\\"}`, "sword fish es"},
	{`{"password":"@@","a":1}`, `abcdefgh\"ijklmnop\\\"qrs`},
	{`{\"password\":\"@@\"}`, `abcdefgh\\\"ijklmnop`},
	{"{'secret': '@@'}", "sword fish es"},
	{`{"password":@@}`, "1234567890"},
	{`{"password":"@@`, "cut in the middle of it"},
	{"password: @@", "Hunter2!!"},
	{"password: @@", "swordfish"},
	{"db:\n  password: @@\n  user: bob", "hunter22"},
	{"passphrase: @@", "my-long-words"},
	{"export API_TOKEN=@@", "swordfishes"},
	{"TOKEN='@@' run", "sword fish es"},
	{"TOKEN=\"ab\"@@ run", "cdefghijkl"},
	{"run --token @@ --verbose", "swordfishes"},
	{"run --password=@@", "swordfishes"},
	{`spawn ["--api-key", "@@"]`, "sword fish es"},
	{"Authorization: Basic\n@@", "swordfish99"},
	{"password: |\n  @@", "swordfishes"},
	{"password: 'it''@@'", "swordfishes"},
	{"user%5Bpassword%5D=@@", "swordfishes"},
	{"tokens[0]=@@", "swordfishes"},
	{"aws_access_key_id=@@", "swordfishes"},
	{"<password>@@</password>", "sword fishes"},
	{"GET /x?user=a&pass=@@", "swordfishes"},
	{`{"pass":"@@"}`, "swordfishes"},
	{"curl -u @@ https://x", "alice:hunter22"},
	{"curl -u'@@' https://x", "alice:hunter 22 x"},
	{"curl --user @@ https://x", "alice:hunter22"},
	{"x?token%3D@@%26page%3D1", "swordfishes"},
	{"x?%22password%22%3A%22@@%22%2C%22a", "sword%20fishes"},
	{`x\u0026token=@@\u0026page=1`, "swordfishes"},
	{`{\u0022token\u0022:\u0022@@\u0022}`, "sword fishes"},
	{"&quot;token&quot;:&quot;@@&quot;", "sword fishes"},
	{"accessKey=@@", "swordfishes"},
	{"aws_secret_access_key = @@", "swordfishes"},
	{"client-secret=@@", "swordfishes"},
	{"PGPASSWORD=@@ psql", "swordfishes"},
	{"DB_PASS=@@ psql", "swordfishes"},
	{"privateKey=@@", "swordfishes"},
	{"credentials=@@", "swordfishes"},
	{"X-Amz-Signature=@@&x=1", "swordfishes"},
	{"sig=@@&x=1", "swordfishes"},
	{"api key: @@", "swordfish99"},
	{"access.key=@@", "swordfishes"},
	{`process.env["API_TOKEN"] = "@@"`, "sword fishes"},
	{"token:=@@", "swordfishes"},
	{"token => '@@'", "sword fishes"},
	{"token=b'@@'", "sword fishes"},
	{"secrets=[@@]", "'abcdefgh', 'ijklmnop'"},
	{"password=@@ x", "abc,defghijk;lmnopq"},
	{`dir\token=@@`, "swordfishes"},
	{`a\ntoken=@@`, "swordfishes"},
	{"tok\u200ben\x00=\x1b[1m@@", "swordfishes"},
	{"token=sword\x1b[0mfish\u200bes@@", "abcdefgh"},
	{"token\u00a0=\u2003@@", "swordfishes"},
	// Opaque runs.
	{"got @@ here", hex64},
	{"got @@ here", "Zm9vYmFyYmF6cXV4Zm9v/YmFyYmF6cXV4+Zm9vYmFyYmF6"},
	{"got @@ here", "abcdefghijklmnopqrstuvwxyz0123456789abcdef"},
	{"got @@ here", "Q2x_dGhpcyBpcy-BhIHNlY3JldCB_ZXkgMTIz-NDU2Nzg"},
	{"got " + hex64 + "-token=@@", "swordfishes"},
}

func TestCanaries(t *testing.T) {
	for _, c := range canaries {
		text := strings.ReplaceAll(c.text, "@@", c.secret)
		if strings.Contains(c.text, "@@@") {
			text = strings.Replace(c.text, "@@@", c.secret+"@", 1)
		}
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

var benign = []string{
	"scope must be a non-empty string",
	"Cannot find module './steps/token.ts'",
	"token budget exceeded: 4096 of 2048 tokens",
	"the bearer of this message",
	"Basic validation failed for node build",
	"key must be one of a, b, c",
	"author=alice",
	"monkey: banana",
	"Password field is required",
	"invalid token < at position 7",
	"Unexpected token } in JSON at position 12",
	"Unexpected token '<', \"<!DOCTYPE \"... is not valid JSON",
	"Unexpected token : in JSON at position 3",
	"Unexpected token = in JSON at position 3",
	"secret manager is not reachable",
	"skipped sk- prefix",
	"ENOENT: no such file or directory, open '/home/alice/project/workflow.ts'",
	"https://example.com/docs?page=2#top",
	"https://host/path@1.2",
	"commit " + hex40 + " not found",
	"auth failed for user alice",
	"timeout after 30s (limit=30000)",
	"Token expired",
	"Token: expired",
	"password: must be at least 8 characters",
	"password: required",
	"invalid token: unexpected end of input",
	"Invalid credentials: Access denied",
	"session session-1 is reserved",
	"credentials are missing",
	"Größe ✓ 日本語",
	"emoji 🎉🚀 work",
	"a => b",
	"step at node build failed",
	"@scope/package@1.2.3 is missing",
	"email alice@example.com",
	"sessionId=session-1",
	"image sha256:" + hex64 + " is gone",
	"digest=" + hex64,
	"deferred-turn:" + hex64,
	"turn-source:" + hex64,
	"turn-message:" + hex64,
	"id 3f2504e0-4f89-11d3-9a0c-0305e82c3301 is unknown",
	"run 20260821T081731Z-autoimplement-407480dd failed",
	"open /home/alice/project/runs/20260821T081731Z-autoimplement-407480dd/state/step2.json",
	"open /usr/lib/node_modules20/typescript/lib/very/long/path/made/of/words/index5",
	"task-runner-12 and disk-usage-9",
	"npm_config_registry is not set",
	"maxTokens: 4096, inputTokens=12",
	"tokens: 4096/2048",
	`{"token_type":"bearer","expires_in":3600}`,
	"--- PASS: TestFoo (0.00s)",
	"Token: Invalid",
	"docker run -u 1000:1000 image",
	"WWW-Authenticate: Bearer realm=\"x\", error=\"invalid_token\"",
	"usage: run <token> <file>",
	"usage: --token is required",
	"unknown flag --token",
	"file:///tmp/a@b.ts is missing",
	"http://[::1]:8080/a@b is down",
	"git@github.com:org/repo.git",
	"https://registry.npmjs.org/@scope/pkg",
	"expected one of \"token\", \"password\"",
	"token: null",
	"-----",
	"passed: 12, failed: 3",
	"C:\\temp\\new folder is missing",
	"100% of 5 steps",
	"exit code 1: signal: killed",
	"type error: x.map is not a function",
	"goroutine limit reached",
	"parse error at workflow.yaml:3:5",
	"at least one node is required",
}

func TestBenign(t *testing.T) {
	for _, text := range benign {
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
