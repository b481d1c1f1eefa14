package safetext

import (
	"strings"
	"unicode"
)

// maxProse bounds a word of prose in bytes.
const maxProse = 24

// isNumber tells a decimal number, perhaps negative or with a fraction.
func isNumber(s string) bool {
	digits := 0
	for i := range len(s) {
		switch {
		case isDigit(s[i]):
			digits++
		case s[i] != '.' && (s[i] != '-' || i > 0):
			return false
		}
	}
	return digits > 0
}

// isAmount tells a number that may have a unit, a limit or separators: "12k",
// "4096/2048", "1,000".
func isAmount(s string) bool {
	if s == "" || len(s) > 16 || !isDigit(s[0]) {
		return false
	}
	letters := 0
	for i := range len(s) {
		switch {
		case isAlnum(s[i]) && !isDigit(s[i]):
			letters++
		case !isDigit(s[i]) && strings.IndexByte(".,/%", s[i]) < 0:
			return false
		}
	}
	return letters <= 2
}

// isLiteral tells the values that are names of types or of nothing.
func isLiteral(word string) bool {
	return foldedIn(word, "true", "false", "null", "nil", "none", "undefined", "string", "number",
		"boolean", "object", "unknown", "any", "empty", "unset", "required", "optional")
}

// isFunctionWord tells words that make a sentence of what follows a name.
func isFunctionWord(word string) bool {
	return foldedIn(word, "a", "an", "the", "is", "are", "was", "were", "must", "may", "can", "cannot",
		"should", "has", "have", "had", "and", "or", "not", "no", "in", "on", "at", "of", "for", "from",
		"to", "with", "without", "when", "where", "needs", "requires", "does", "but", "by", "as", "it")
}

// isStatusWord tells words that say what is the matter with a value.
func isStatusWord(word string) bool {
	return isFunctionWord(word) || foldedIn(word, "invalid", "wrong", "bad", "absent", "unknown", "weak",
		"mismatch", "failure", "error", "ok", "denied", "unsupported", "forbidden", "incorrect",
		"incomplete", "unauthorized", "unexpected", "insufficient", "short", "long", "default", "hidden",
		"redacted", "stale", "old", "new", "missing", "expired", "needed", "rejected", "failed", "changed")
}

// isProse tells whether the word s[i:end], which follows a key and a colon, is
// the start of a plain sentence: lower-case, and either followed by a further
// word or, alone, a word that tells a status. The value of a soft key may also
// start with a capital and look like a participle.
func isProse(s string, i, end int, hard bool) bool {
	word := s[i:end]
	if len(word) > maxProse {
		return false
	}
	if foldedIn(word, "file", "path", "folder", "directory") && nextPath(s, end) {
		return true
	}
	second := nextProse(s, end)
	if strings.IndexByte(word, '-') >= 0 && (hard || !second) {
		return false
	}
	if !second {
		return isStatusWord(word) || !hard && lowerWord(word) && isParticiple(word)
	}
	if !hard && isUpper(word[0]) && len(word) > 1 {
		word = word[1:]
	}
	return lowerWord(word)
}

func isParticiple(word string) bool {
	for _, end := range [...]string{"ed", "ing", "able", "ible"} {
		if strings.HasSuffix(word, end) {
			return true
		}
	}
	return false
}

// nextProse tells whether a plain word or a small number follows at i.
func nextProse(s string, i int) bool {
	for i < len(s) && strings.IndexByte(",;.:!?", s[i]) >= 0 {
		i++
	}
	if i == len(s) || s[i] != ' ' && s[i] != '\t' {
		return false
	}
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	word := s[i:min(len(s), i+maxProse)]
	if n := strings.IndexAny(word, " \t\r\n"); n >= 0 {
		word = word[:n]
	}
	word = strings.TrimRight(word, ".,;:!?\"'`)")
	return word != "" && word[0] != '-' && (lowerWord(word) || len(word) < 5 && isNumber(word))
}

// nextPath tells whether a path, perhaps in quotation marks, follows at i.
func nextPath(s string, i int) bool {
	at := skipBlanks(s, i)
	return at > i && at < len(s) && strings.IndexByte("/.~'\"", s[at]) >= 0
}

// isSentence tells whether the value of a header is prose about the header: at
// least three plain words, one of which soon makes a sentence of them.
func isSentence(value string) bool {
	value = value[:min(len(value), maxUnmarked)]
	words := strings.Fields(value)
	if len(words) < 3 || strings.IndexByte(value, '=') >= 0 {
		return false
	}
	verb := false
	for n, word := range words[:min(len(words), 8)] {
		word = strings.TrimRight(word, ".,;:!?\"'`)")
		verb = verb || n < 3 && isFunctionWord(word)
		if n == 0 && len(word) > 1 && isUpper(word[0]) {
			word = word[1:]
		}
		if !lowerWord(word) || len(word) > maxProse {
			return false
		}
	}
	return verb
}

// lowerWord tells a word of lower-case letters, hyphens and apostrophes.
func lowerWord(word string) bool {
	letters := false
	for _, c := range word {
		switch {
		case unicode.IsLower(c):
			letters = true
		case c != '-' && c != '\'':
			return false
		}
	}
	return letters
}

// opaque tells whether a word looks like a token rather than like prose.
func opaque(word string) bool {
	word = strings.TrimRight(word, ".,;:!?)'\"")
	if len(word) < 6 {
		return false
	}
	for i := range len(word) {
		c := word[i]
		if isDigit(c) || isUpper(c) && i > 0 || strings.IndexByte("-_.=+/~", c) >= 0 {
			return true
		}
	}
	return len(word) > maxProse
}
