package safetext

import "strings"

// keyClass tells how surely a key's name makes its value a secret.
type keyClass int

const (
	keyPlain keyClass = iota
	// keyMeasure names an amount of something secret ("tokenBudget", "tokens"),
	// or what may be one ("pass"): its numbers are no secrets.
	keyMeasure
	keySecret
)

// secretEnds are names that are also written without a border between their
// words ("PGPASSWORD", "authtoken", "api-key").
var secretEnds = [...]string{
	"password", "passwd", "passphrase", "secret", "token", "apikey", "accesskey", "accesskeyid",
	"privatekey", "secretkey", "signingkey", "encryptionkey", "accountkey",
	"masterkey", "authkey", "credential",
}

// classify tells what a key's name says about its value. It compares the
// name's words, so that "author" and "monkey" are plain.
func classify(name string) keyClass {
	name = strings.Trim(name, "-_")
	secret := endsSecret(name)
	words, last := 0, ""
	for rest := name; rest != ""; {
		var word string
		word, rest = nextWord(rest)
		if word == "" {
			break
		}
		words++
		last = word
		secret = secret || secretWord(word)
	}
	if !secret {
		secret = words > 1 && foldedIn(last, "pass")
	}
	switch {
	case foldedIn(name, "pass"):
		return keyMeasure
	case !secret || foldedIn(last, "type", "kind"):
		return keyPlain
	case foldedIn(last, "tokens", "count", "counts", "budget", "limit", "limits", "length", "size",
		"max", "min", "usage", "used", "total", "left", "remaining", "ttl", "expiry", "expires", "timeout",
		"age", "ms", "seconds", "attempts", "retries", "bucket", "cost", "price", "version", "status"):
		return keyMeasure
	}
	return keySecret
}

// endsSecret tells whether name, without its separators, ends with one of
// secretEnds, perhaps in the plural or numbered.
func endsSecret(name string) bool {
	name = strings.TrimRight(name, "0123456789-_")
	if n := len(name); n > 0 && name[n-1]|0x20 == 's' {
		name = name[:n-1]
	}
	for _, end := range secretEnds {
		if hasSuffixFold(name, end) {
			return true
		}
	}
	return false
}

// hasSuffixFold compares in lower case and skips the separators in name.
func hasSuffixFold(name, suffix string) bool {
	n := len(name)
	for i := len(suffix) - 1; i >= 0; i-- {
		for n > 0 && (name[n-1] == '-' || name[n-1] == '_') {
			n--
		}
		if n == 0 || name[n-1]|0x20 != suffix[i] {
			return false
		}
		n--
	}
	return true
}

// secretWord tells whether one word of a name makes it secret.
func secretWord(word string) bool {
	if n := len(word); n > 3 && word[n-1]|0x20 == 's' {
		word = word[:n-1]
	}
	return foldedIn(word, "password", "passwd", "pwd", "passphrase", "secret", "token", "apikey",
		"credential", "auth", "authorization", "cookie", "signature", "sig", "bearer", "jwt")
}

// hardName tells the names whose value is a secret even where it is one plain
// word.
func hardName(name string) bool {
	for _, soft := range [...]string{"token", "auth", "authorization", "credential", "credentials",
		"signature", "sig", "cookie", "bearer"} {
		if hasSuffixFold(name, soft) {
			return false
		}
	}
	return true
}

// foldedIn tells whether word is one of the lower-case names.
func foldedIn(word string, names ...string) bool {
	for _, name := range names {
		if len(word) == len(name) && strings.EqualFold(word, name) {
			return true
		}
	}
	return false
}

// nextWord splits the first word off a name written in camelCase, snake_case
// or kebab-case; a number is a word of its own.
func nextWord(name string) (word, rest string) {
	start := 0
	for start < len(name) && !isAlnum(name[start]) {
		start++
	}
	end := start
	for end < len(name) && isAlnum(name[end]) && (end == start || !wordBorder(name, end)) {
		end++
	}
	return name[start:end], name[end:]
}

// lastWord returns the last word of a name that is no number.
func lastWord(name string) string {
	last := ""
	for rest := name; rest != ""; {
		var word string
		word, rest = nextWord(rest)
		if word != "" && !isNumber(word) {
			last = word
		}
	}
	return last
}

// wordBorder tells whether a word of a camelCase name starts at i > 0: "apiKey",
// "APIKey" and "key2" have one each.
func wordBorder(name string, i int) bool {
	before, c := name[i-1], name[i]
	if isDigit(before) != isDigit(c) {
		return true
	}
	if !isUpper(c) {
		return false
	}
	return isLower(before) || i+1 < len(name) && isLower(name[i+1])
}

// RedactValue returns the Line form of value, or "[redacted]" where the name of
// key alone makes a value that is not empty a secret (password, apiKey, token).
// It is meant for flat JSON payloads.
func RedactValue(key, value string) string {
	if value == "" {
		return ""
	}
	switch classify(key) {
	case keySecret:
		return redacted
	case keyMeasure:
		if !isAmount(value) {
			return redacted
		}
	}
	if isDigest(value) && hashName(key) {
		return value
	}
	return Line(value)
}
