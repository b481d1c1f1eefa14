// Package safetext makes texts that leave the process short, plain and safe:
// one line, valid UTF-8, bounded in bytes and without secrets.
package safetext

import (
	"strings"
	"unicode/utf8"
)

const (
	// MaxBytes is the greatest length of a Line in bytes.
	MaxBytes = 2048

	// scanBytes bounds how much of a text Line looks at, in bytes after cleaning.
	scanBytes = 64 << 10
	// cutMargin is the tail of a text cut at scanBytes that is never shown,
	// because a secret that starts there may be too short to be recognised.
	cutMargin = 1 << 10
	// maxRounds bounds how often Line is applied to its own result.
	maxRounds = 8

	ellipsis = "\u2026"
)

// Line returns the safe form of s: the first non-empty line without secrets,
// control characters, escape sequences and stack traces, with white space
// collapsed. It has at most MaxBytes bytes and is empty only where s shows no
// character. Secrets are looked for in the first 64 KiB, not only in the line
// that is kept. Line(Line(s)) equals Line(s).
func Line(s string) string {
	out := line(s)
	// Redacting, collapsing and cutting can each bring a new match about, so a
	// text counts as safe only once it stays the same.
	for range maxRounds {
		if out == s {
			return out
		}
		s, out = out, line(out)
	}
	return redacted
}

// Plain returns s as one line of printable text of any length: control
// characters and escape sequences are gone, and white space is collapsed. It hides
// no secret; it is for names that another program may have written.
func Plain(s string) string {
	text, _ := clean(s, len(s))
	return strings.Join(strings.Fields(text), " ")
}

// line is one application of the rules of Line.
func line(s string) string {
	text, cut := clean(strings.TrimLeft(s, " \t\r\n"), scanBytes)
	text = firstLine(redact(text, cut))
	return Truncate(cutTrace(collapse(text)), MaxBytes)
}

// Truncate returns s where it has at most max bytes, and otherwise its longest
// start that ends at a character boundary and leaves room for an ellipsis (three
// bytes). Where max is below three the mark is left out. The result has at most
// max bytes; a max of zero or less gives the empty string.
func Truncate(s string, max int) string {
	if len(s) <= max {
		return s
	}
	if max <= 0 {
		return ""
	}
	if max < len(ellipsis) {
		return s[:boundaryBefore(s, max)]
	}
	return s[:boundaryBefore(s, max-len(ellipsis))] + ellipsis
}

// boundaryBefore returns the last character boundary of s at or before n.
func boundaryBefore(s string, n int) int {
	for back := range utf8.UTFMax {
		if n-back <= 0 {
			return 0
		}
		if utf8.RuneStart(s[n-back]) {
			return n - back
		}
	}
	return n
}

// firstLine returns the first line of s that shows a character.
func firstLine(s string) string {
	s = strings.TrimLeft(s, " \t\r\n")
	if end := strings.IndexAny(s, "\r\n"); end >= 0 {
		return s[:end]
	}
	return s
}

// collapse makes each run of blanks one space and trims both ends.
func collapse(s string) string {
	s = strings.Trim(s, " \t")
	if !strings.Contains(s, "\t") && !strings.Contains(s, "  ") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	blank := false
	for i := range len(s) {
		if s[i] == ' ' || s[i] == '\t' {
			blank = true
			continue
		}
		if blank {
			b.WriteByte(' ')
		}
		blank = false
		b.WriteByte(s[i])
	}
	return b.String()
}
