package safetext

import "strings"

// The kinds of ASCII characters, as bits of kinds.
const (
	kindUpper = 1 << iota
	kindLower
	kindDigit
	kindHex
	kindJoin // "_" and "-", which join the words of a name
	kindBase // "+" and "/", which base64 has besides
	kindSpace
	kindQuote
)

var kinds = charKinds()

func charKinds() (table [256]byte) {
	mark := func(kind byte, chars string) {
		for i := range len(chars) {
			table[chars[i]] |= kind
		}
	}
	mark(kindUpper, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	mark(kindLower, "abcdefghijklmnopqrstuvwxyz")
	mark(kindDigit, "0123456789")
	mark(kindHex, "0123456789abcdefABCDEF")
	mark(kindJoin, "_-")
	mark(kindBase, "+/")
	mark(kindSpace, " \t\r\n")
	mark(kindQuote, "\"'`")
	return table
}

const kindAlnum = kindUpper | kindLower | kindDigit

func isSpace(c byte) bool { return kinds[c]&kindSpace != 0 }
func isDigit(c byte) bool { return kinds[c]&kindDigit != 0 }
func isUpper(c byte) bool { return kinds[c]&kindUpper != 0 }
func isLower(c byte) bool { return kinds[c]&kindLower != 0 }
func isAlnum(c byte) bool { return kinds[c]&kindAlnum != 0 }
func isQuote(c byte) bool { return kinds[c]&kindQuote != 0 }
func isHex(c byte) bool   { return kinds[c]&kindHex != 0 }

// isWordByte tells the characters of a key's name.
func isWordByte(c byte) bool { return kinds[c]&(kindAlnum|kindJoin) != 0 }

// isBlobByte tells the characters of base64 in both alphabets, and of hex.
func isBlobByte(c byte) bool { return kinds[c]&(kindAlnum|kindJoin|kindBase) != 0 }

func alnumEnd(s string, i int) int {
	for i < len(s) && isAlnum(s[i]) {
		i++
	}
	return i
}

func wordEnd(s string, i int) int {
	for i < len(s) && isWordByte(s[i]) {
		i++
	}
	return i
}

// indexFrom returns the index of the first of chars in s at or after i, or
// len(s).
func indexFrom(s string, i int, chars string) int {
	if n := strings.IndexAny(s[i:], chars); n >= 0 {
		return i + n
	}
	return len(s)
}

// charAt decodes the ASCII character at i, which may be percent-encoded (once
// or twice) or written as a JSON escape or an HTML entity. It returns the
// character and its width in s; the width is 0 at the end of s.
func charAt(s string, i int) (c byte, width int) {
	if i >= len(s) {
		return 0, 0
	}
	switch s[i] {
	case '%':
		return percentAt(s, i)
	case '\\':
		return escapeAt(s, i)
	case '&':
		return entityAt(s, i)
	}
	return s[i], 1
}

func percentAt(s string, i int) (c byte, width int) {
	c, ok := hexByte(s, i+1)
	if !ok {
		return '%', 1
	}
	if c != '%' {
		return c, 3
	}
	if twice, ok := hexByte(s, i+3); ok {
		return twice, 5
	}
	return c, 3
}

func escapeAt(s string, i int) (c byte, width int) {
	if i+1 == len(s) {
		return '\\', 1
	}
	switch s[i+1] {
	case 'n', 'r':
		return '\n', 2
	case 't':
		return '\t', 2
	case '/':
		return '/', 2
	case 'u':
		if high, ok := hexByte(s, i+2); ok && high == 0 {
			if low, ok := hexByte(s, i+4); ok {
				return low, 6
			}
		}
	}
	return '\\', 1
}

func entityAt(s string, i int) (c byte, width int) {
	rest := s[i:min(len(s), i+6)]
	switch {
	case rest == "&quot;":
		return '"', 6
	case strings.HasPrefix(rest, "&#34;"):
		return '"', 5
	case strings.HasPrefix(rest, "&#39;"):
		return '\'', 5
	}
	return '&', 1
}

// hexByte reads the two hex digits at i.
func hexByte(s string, i int) (c byte, ok bool) {
	if i+2 > len(s) || !isHex(s[i]) || !isHex(s[i+1]) {
		return 0, false
	}
	return hexValue(s[i])<<4 | hexValue(s[i+1]), true
}

func hexValue(c byte) byte {
	if isDigit(c) {
		return c - '0'
	}
	return (c | 0x20) - 'a' + 10
}

// skipSpace returns the index of the first character at or after i that is not
// white space, plain or encoded.
func skipSpace(s string, i int) int {
	for {
		c, width := charAt(s, i)
		if width == 0 || !isSpace(c) {
			return i
		}
		i += width
	}
}

// quote is an opening quotation mark as it is written in a text.
type quote struct {
	mark    string // the mark itself, perhaps encoded
	escapes int    // how many backslashes stand before it
}

// maxEscapes bounds the backslashes before a quotation mark: four levels of
// JSON in JSON.
const maxEscapes = 15

// quoteAt reads the quotation mark at i with the backslashes before it. The
// width is 0 where there is none.
func quoteAt(s string, i int) (q quote, width int) {
	for at := i; q.escapes <= maxEscapes; q.escapes++ {
		c, w := charAt(s, at)
		if isQuote(c) {
			q.mark = s[at : at+w]
			return q, at + w - i
		}
		if c != '\\' {
			break
		}
		at += w
	}
	return quote{}, 0
}

// closeQuote finds the mark that closes q in s from i on. It returns where the
// content ends and where the text goes on; both are len(s) for an open quote.
func closeQuote(s string, i int, q quote) (end, after int) {
	for at := i; ; {
		n := strings.Index(s[at:], q.mark)
		if n < 0 {
			return len(s), len(s)
		}
		at += n
		escapes, unit := escapesBefore(s, i, at)
		if q.closedBy(escapes) {
			return at - min(escapes, q.escapes)*unit, at + len(q.mark)
		}
		at += len(q.mark)
	}
}

// closedBy tells whether a mark behind the given number of backslashes closes
// q: one that is escaped once more than q is part of the content.
func (q quote) closedBy(escapes int) bool {
	if escapes <= q.escapes {
		return true
	}
	for level := q.escapes; level > 0; level /= 2 {
		escapes = (escapes - 1) / 2
	}
	return escapes%2 == 0
}

// escapesBefore counts the backslashes that stand in s[from:at] right before
// at; unit is the width of one.
func escapesBefore(s string, from, at int) (count, unit int) {
	slash := "\\"
	if at-3 >= from && strings.EqualFold(s[at-3:at], "%5c") {
		slash = s[at-3 : at]
	}
	for strings.HasSuffix(s[from:at], slash) {
		at -= len(slash)
		count++
	}
	return count, len(slash)
}
