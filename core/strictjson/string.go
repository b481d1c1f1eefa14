package strictjson

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// plain marks the ASCII characters that stand for themselves in a string.
var plain = plainTable()

func plainTable() (table [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		table[c] = c != '"' && c != '\\'
	}
	return table
}

// quoted reads the string that begins at pos. It returns the text between the
// quotes and whether that has escapes.
func (s *scanner) quoted() (raw string, escaped bool, err *Error) {
	s.pos++
	start := s.pos
	for {
		i := s.pos
		for i < len(s.text) && plain[s.text[i]] {
			i++
		}
		s.pos = i
		if i == len(s.text) {
			return "", false, s.fail(reasonEnd)
		}
		switch s.text[s.pos] {
		case '"':
			raw = s.text[start:s.pos]
			s.pos++
			return raw, escaped, nil
		case '\\':
			escaped = true
			err = s.escape()
		default:
			err = s.character()
		}
		if err != nil {
			return "", false, err
		}
	}
}

// escape passes one escape sequence, or a pair of them for a surrogate pair.
func (s *scanner) escape() *Error {
	_, size, reason := decodeEscape(s.text[s.pos:])
	if reason != "" {
		return s.fail(reason)
	}
	s.pos += size
	return nil
}

// character passes one character outside ASCII; it refuses what is left, the
// control characters and the bytes that are not UTF-8.
func (s *scanner) character() *Error {
	if s.text[s.pos] < ' ' {
		return s.fail(reasonControl)
	}
	r, size := utf8.DecodeRuneInString(s.text[s.pos:])
	if r == utf8.RuneError && size == 1 {
		return s.fail(reasonUTF8)
	}
	s.pos += size
	return nil
}

// putString writes the canonical form of a string. Text without escapes is
// canonical as it stands.
func (s *scanner) putString(raw string, escaped bool) {
	if !s.emit {
		return
	}
	s.out = append(s.out, '"')
	if escaped {
		s.out = appendEscapes(s.out, raw, appendCharacter)
	} else {
		s.out = append(s.out, raw...)
	}
	s.out = append(s.out, '"')
}

// unescape returns the text that raw, the inside of a checked string, stands
// for.
func unescape(raw string) string {
	return string(appendEscapes(make([]byte, 0, len(raw)), raw, utf8.AppendRune))
}

// appendEscapes appends raw, the inside of a checked string, with each escape
// replaced by what put writes for its character.
func appendEscapes(dst []byte, raw string, put func([]byte, rune) []byte) []byte {
	for {
		i := strings.IndexByte(raw, '\\')
		if i < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:i]...)
		r, size, _ := decodeEscape(raw[i:])
		dst = put(dst, r)
		raw = raw[i+size:]
	}
}

// decodeEscape returns the character that the escape at the beginning of s
// stands for and the length of the escape, or the reason why it stands for
// none.
func decodeEscape(s string) (r rune, size int, reason string) {
	if len(s) < 2 {
		return 0, 0, reasonEnd
	}
	switch s[1] {
	case '"', '\\', '/':
		return rune(s[1]), 2, ""
	case 'b':
		return '\b', 2, ""
	case 'f':
		return '\f', 2, ""
	case 'n':
		return '\n', 2, ""
	case 'r':
		return '\r', 2, ""
	case 't':
		return '\t', 2, ""
	case 'u':
		return decodeUnicode(s)
	}
	return 0, 0, reasonEscape
}

// decodeUnicode is decodeEscape for escapes that begin with \u.
func decodeUnicode(s string) (r rune, size int, reason string) {
	first, ok := codeUnit(s)
	if !ok {
		return 0, 0, reasonEscape
	}
	if !utf16.IsSurrogate(first) {
		return first, 6, ""
	}
	second, ok := codeUnit(s[6:])
	r = utf16.DecodeRune(first, second)
	if !ok || r == utf8.RuneError {
		return 0, 0, reasonSurrogate
	}
	return r, 12, ""
}

// codeUnit reads the \uXXXX at the beginning of s.
func codeUnit(s string) (unit rune, ok bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	for _, c := range []byte(s[2:6]) {
		switch {
		case isDigit(c):
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = (c | 0x20) - 'a' + 10
		default:
			return 0, false
		}
		unit = unit<<4 | rune(c)
	}
	return unit, true
}

// AppendString appends s to dst as a JSON string in canonical form, as
// JSON.stringify writes it: only the quote, the backslash and the characters
// below U+0020 are escaped. s should be valid UTF-8; each byte that is not
// part of it becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0
	for i := 0; i < len(s); {
		if plain[s[i]] {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		if size > 1 {
			continue
		}
		dst = append(dst, s[done:i-1]...)
		dst = appendCharacter(dst, r)
		done = i
	}
	dst = append(dst, s[done:]...)
	return append(dst, '"')
}

// appendCharacter appends r as it is written inside a canonical string.
func appendCharacter(dst []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	switch {
	case r == '"' || r == '\\':
		return append(dst, '\\', byte(r))
	case r >= ' ':
		return utf8.AppendRune(dst, r)
	case r == '\b':
		return append(dst, `\b`...)
	case r == '\t':
		return append(dst, `\t`...)
	case r == '\n':
		return append(dst, `\n`...)
	case r == '\f':
		return append(dst, `\f`...)
	case r == '\r':
		return append(dst, `\r`...)
	}
	return append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
}
