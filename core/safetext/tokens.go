package safetext

import "strings"

// A prefix is the start of well-known tokens. A loose one also starts ordinary
// names ("npm_config"), so what follows it must look random.
type prefix struct {
	text  string
	loose bool
}

// prefixes are grouped by their first character.
var prefixes = [128][]prefix{
	'A': {{"AIza", false}},
	'd': {{"dop_v1_", false}, {"dckr_pat_", false}, {"dckr_oat_", false}},
	'e': {{"eyJ", false}},
	'g': {
		{"ghp_", false}, {"gho_", false}, {"ghu_", false}, {"ghs_", false}, {"ghr_", false},
		{"github_pat_", false}, {"glpat-", false},
	},
	'h': {{"hf_", true}},
	'n': {{"npm_", true}},
	'p': {{"pk_live_", false}, {"pk_test_", false}},
	'r': {{"rk_live_", false}, {"rk_test_", false}},
	's': {{"sk-", true}, {"sk_live_", false}, {"sk_test_", false}},
	'w': {{"whsec_", false}},
	'x': {{"xoxa-", false}, {"xoxb-", false}, {"xoxp-", false}, {"xoxr-", false}, {"xoxs-", false}},
	'y': {{"ya29.", false}},
}

// tokenEnd returns the end of the token with a well-known prefix at i, or -1.
// The character at i is a letter or a digit.
func tokenEnd(s string, i int) int {
	if rest := s[i:]; rest[0] == 'A' && (strings.HasPrefix(rest, "AKIA") || strings.HasPrefix(rest, "ASIA")) {
		return accessKeyEnd(s, i+len("AKIA"))
	}
	if strings.HasPrefix(s[i:], "AC") {
		return accountEnd(s, i)
	}
	for _, p := range prefixes[s[i]&0x7f] {
		if strings.HasPrefix(s[i:], p.text) {
			return prefixedEnd(s, i+len(p.text), p.loose)
		}
	}
	return -1
}

// accessKeyEnd returns the end of an AWS access key id whose prefix ends at i.
func accessKeyEnd(s string, i int) int {
	end, digits := i, 0
	for end < len(s) && (isUpper(s[end]) || isDigit(s[end])) {
		if isDigit(s[end]) {
			digits++
		}
		end++
	}
	if end-i == 16 || end-i >= 8 && digits > 0 {
		return end
	}
	return -1
}

// accountEnd returns the end of the pair of an account ("AC" and a hash) and its
// token (another hash) at i, or -1.
func accountEnd(s string, i int) int {
	const hash = 32
	colon := i + len("AC") + hash
	end := colon + 1 + hash
	if end > len(s) || s[colon] != ':' || end < len(s) && isAlnum(s[end]) ||
		!isDigest(s[colon-hash:colon]) || !isDigest(s[end-hash:end]) {
		return -1
	}
	return end
}

// prefixedEnd returns the end of a token whose prefix ends at i, or -1 where
// too little follows.
func prefixedEnd(s string, i int, loose bool) int {
	end := i
	random := false
	for end < len(s) && (isWordByte(s[end]) || strings.IndexByte(".=+/~", s[end]) >= 0) {
		random = random || isDigit(s[end]) || isUpper(s[end])
		end++
	}
	for end > i && s[end-1] == '.' {
		end--
	}
	if end-i < 4 || loose && !random && end-i < maxProse {
		return -1
	}
	return end
}

// keyBlockEnd returns the end of the PEM block that starts with the dashes at
// i, or -1. A block without an END line goes to the end of the text.
func keyBlockEnd(s string, i int) int {
	at := i
	for at < len(s) && s[at] == '-' {
		at++
	}
	if at-i < 4 {
		return -1
	}
	if at < len(s) && s[at] == ' ' {
		at++
	}
	if !strings.HasPrefix(s[at:], "BEGIN") {
		return -1
	}
	n := strings.Index(s[at:], "-END ")
	if n < 0 {
		n = strings.Index(s[at:], "- END ")
	}
	if n < 0 {
		return len(s)
	}
	at += n + len("-END ")
	line := s[at:indexFrom(s, at, "\r\n")]
	if n := strings.Index(line, "----"); n >= 0 {
		at += n
		for at < len(s) && s[at] == '-' {
			at++
		}
		return at
	}
	return at + len(line)
}

// blockEnd returns the end of the PEM block that starts in the secret s[start:end],
// of which a key or a flag announces no more than its first word; else end.
func blockEnd(s string, start, end int) int {
	window := s[start:min(len(s), end+len(" BEGIN"))]
	for _, mark := range [...]string{"----BEGIN", "---- BEGIN"} {
		if n := strings.Index(window, mark); n >= 0 {
			end = max(end, keyBlockEnd(s, start+n))
		}
	}
	return end
}

const (
	// minBlob is the least length in bytes of an opaque run of base64 or hex.
	minBlob = 40
	// minRandom is how many bytes of such a run must look random.
	minRandom = 20
	// idBytes is the length of a hash in hex as a part of an id.
	idBytes = 64
)

// blobEnd returns the end of the run of base64 and hex characters at i, with
// percent-encoded ones, and whether it is an opaque secret.
func blobEnd(s string, i int) (end int, secret bool) {
	for end = i; end < len(s); {
		if isBlobByte(s[end]) {
			end++
			continue
		}
		if s[end] != '%' {
			break
		}
		c, w := percentAt(s, end)
		if c != '+' && c != '/' {
			break
		}
		end += w
	}
	run := s[i:end]
	if len(run) < minBlob || !isMixed(run) || isKnownHash(s, i, end) {
		return end, false
	}
	return end, randomBytes(run) >= minRandom
}

// isMixed tells a run with both letters and digits.
func isMixed(s string) bool {
	seen := byte(0)
	for i := range len(s) {
		seen |= kinds[s[i]]
	}
	return seen&kindDigit != 0 && seen&(kindUpper|kindLower) != 0
}

// isKnownHash tells whether the run s[i:end] is a hash that its context names:
// "sha256:<hex>", "commit <hex>", "turn-source:<hex>".
func isKnownHash(s string, i, end int) bool {
	if !isDigest(s[i:end]) || i == 0 {
		return false
	}
	const between = " \t:=(\"'`"
	at := i
	for at > 0 && i-at < 8 && strings.IndexByte(between, s[at-1]) >= 0 {
		at--
	}
	start := at
	for start > 0 && at-start < maxName && isWordByte(s[start-1]) {
		start--
	}
	name := s[start:at]
	if hashName(name) {
		return true
	}
	return end-i == idBytes && s[i-1] == ':' && foldedIn(name, "deferred-turn", "turn-source", "turn-message")
}

// isDigest tells a hash in hex of at least 32 and at most 128 digits.
func isDigest(s string) bool {
	if len(s) < 32 || len(s) > 128 {
		return false
	}
	for i := range len(s) {
		if !isHex(s[i]) {
			return false
		}
	}
	return true
}

// hashName tells whether the last word of a name says that a hash follows.
func hashName(name string) bool {
	return foldedIn(lastWord(name), "commit", "sha", "digest", "hash", "checksum", "revision", "rev", "md", "blob", "tree")
}

// randomBytes counts the bytes of the segments of a run that look random. The
// words and numbers of a path, times, UUIDs and named hashes do not.
func randomBytes(run string) int {
	count := 0
	before := ""
	for run != "" {
		if startsUUID(run) {
			run = run[36:]
			continue
		}
		end := alnumEnd(run, 0)
		segment := run[:end]
		switch {
		case isDigest(segment) && hashName(before):
		case !isWordy(segment) && !isTime(segment):
			count += len(segment)
		}
		if segment != "" {
			before = segment
		}
		run = run[min(len(run), end+1):]
	}
	return count
}

// startsUUID tells whether a run starts with a UUID.
func startsUUID(run string) bool {
	if len(run) < 36 || len(run) > 36 && isAlnum(run[36]) {
		return false
	}
	for i := range 36 {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if run[i] != '-' {
				return false
			}
		} else if !isHex(run[i]) {
			return false
		}
	}
	return true
}

// isTime tells a time like 20260821T081731Z.
func isTime(s string) bool {
	if len(s) != 16 || s[8] != 'T' || s[15] != 'Z' {
		return false
	}
	return isNumber(s[:8]) && isNumber(s[9:15])
}

// isWordy tells whether a segment looks like words and numbers: its kinds of
// characters seldom change.
func isWordy(s string) bool {
	if len(s) >= maxProse && strings.ContainsAny(s, "0123456789") {
		return false
	}
	changes := 0
	for i := 1; i < len(s); i++ {
		if wordBorder(s, i) {
			changes++
		}
	}
	return changes <= 1+len(s)/5
}
