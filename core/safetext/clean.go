package safetext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	escape = 0x1b
	bell   = 0x07
)

// clean returns s as valid UTF-8 without control characters, escape sequences
// and invisible format characters, so that none of them can split a secret or
// part a key from its value. Line breaks become \n or \r, other white space
// becomes a space or a tab. It stops at max bytes, where cut is true.
func clean(s string, max int) (text string, cut bool) {
	i := plainPrefix(s, max)
	if i == len(s) {
		return s, false
	}
	if i >= max {
		return s[:i], true
	}
	var b strings.Builder
	b.Grow(min(len(s), max) + utf8.UTFMax)
	b.WriteString(s[:i])
	for i < len(s) {
		if b.Len() >= max {
			return b.String(), true
		}
		r, width := utf8.DecodeRuneInString(s[i:])
		if n := sequence(s[i:], r, width); n > 0 {
			i += n
			continue
		}
		if keep, ok := replacement(r, width); ok {
			b.WriteRune(keep)
		}
		i += width
	}
	return b.String(), false
}

// plainPrefix returns the length of the start of s that clean leaves as it is;
// it stops at the first character boundary at or after max.
func plainPrefix(s string, max int) int {
	for i := 0; i < len(s); {
		if i >= max {
			return i
		}
		if s[i] >= ' ' && s[i] < 0x7f {
			i++
			continue
		}
		r, width := utf8.DecodeRuneInString(s[i:])
		if keep, ok := replacement(r, width); !ok || keep != r {
			return i
		}
		i += width
	}
	return len(s)
}

// replacement returns what stands for r in a clean text; ok is false where r
// is dropped.
func replacement(r rune, width int) (keep rune, ok bool) {
	switch {
	case r == '\n' || r == '\r' || r == '\t':
		return r, true
	case r >= ' ' && r < 0x7f:
		return r, true
	case r == 0x85 || r == 0x2028 || r == 0x2029:
		return '\n', true
	case r == '\v' || r == '\f' || r >= 0x80 && unicode.IsSpace(r):
		return ' ', true
	case r < 0xa0 || r == utf8.RuneError && width == 1 || invisible(r):
		return 0, false
	}
	return r, true
}

// invisible tells the format characters that show nothing: zero-width ones,
// bidi marks, overrides and isolates, the soft hyphen, byte order marks, tags.
func invisible(r rune) bool {
	switch {
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e:
		return true
	case r >= 0x2060 && r <= 0x206f, r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return r == 0xfeff || r == 0xad || r == 0x61c || r == 0x180e
}

// sequence returns the length of the terminal escape sequence at the start of
// s, whose first character is r; 0 where there is none.
func sequence(s string, r rune, width int) int {
	switch r {
	case 0x9b:
		return controlSequence(s, width)
	case 0x90, 0x98, 0x9d, 0x9e, 0x9f:
		return stringSequence(s, width)
	case escape:
		return escapeSequence(s)
	}
	return 0
}

// escapeSequence measures a sequence that starts with ESC. A letter after ESC
// stays, since it may be the first one of a secret.
func escapeSequence(s string) int {
	if len(s) < 2 {
		return 1
	}
	switch s[1] {
	case '[':
		return controlSequence(s, 2)
	case ']', 'P', 'X', '^', '_':
		return stringSequence(s, 2)
	case '7', '8', '=', '>':
		return 2
	case '(', ')':
		if len(s) > 2 && (s[2] == 'B' || s[2] == '0') {
			return 3
		}
	}
	return 1
}

// controlSequence measures a CSI sequence whose parameters start at i. A blank
// belongs to one only before the q that sets the cursor's style; otherwise the
// sequence is broken and what follows the blank is text.
func controlSequence(s string, i int) int {
	for i < len(s) && s[i] >= 0x30 && s[i] <= 0x3f {
		i++
	}
	if strings.HasPrefix(s[i:], " q") {
		return i + 2
	}
	for i < len(s) && s[i] > ' ' && s[i] <= 0x2f {
		i++
	}
	if i < len(s) && s[i] >= 0x40 && s[i] <= 0x7e {
		i++
	}
	return i
}

// stringSequence measures an OSC, DCS or similar sequence whose content starts
// at i. It ends with BEL, ST or, where it is left open, before the line's end.
func stringSequence(s string, i int) int {
	for ; i < len(s); i++ {
		switch {
		case s[i] == bell:
			return i + 1
		case strings.HasPrefix(s[i:], "\x1b\\") || strings.HasPrefix(s[i:], "\u009c"):
			return i + 2
		case s[i] == '\n' || s[i] == '\r':
			return i
		}
	}
	return i
}
