package strictjson

import (
	"strconv"
	"strings"
)

// Limits on Error.Path, in bytes. A key that is cut, or a path that is, ends
// in three dots; the dots are included in maxPath but not in maxPathKey.
const (
	maxPath    = 200
	maxPathKey = 40
)

// The reasons of refusal.
const (
	reasonEmpty     = "no value"
	reasonBOM       = "byte order mark before the value"
	reasonEnd       = "unexpected end of the text"
	reasonValue     = "expected a value"
	reasonKey       = "expected a key in double quotes"
	reasonColon     = "expected a colon after the key"
	reasonNext      = "expected a comma or the closing bracket"
	reasonTrailing  = "data after the value"
	reasonDepth     = "nested too deeply"
	reasonDuplicate = "duplicate key"
	reasonNotObject = "expected an object"

	reasonUTF8      = "invalid UTF-8 in a string"
	reasonControl   = "raw control character in a string"
	reasonEscape    = "invalid escape in a string"
	reasonSurrogate = "lone surrogate in a string"

	reasonDigit       = "expected a digit in a number"
	reasonLeadingZero = "leading zero in a number"
	reasonTooLarge    = "number too large for a double"
	reasonTooSmall    = "number too small for a double"
	reasonInexact     = "integer not exact as a double"
)

// Error says where and why a text is refused.
type Error struct {
	// Offset is the byte in the text at which the fault shows, from 0 to
	// the length of the text.
	Offset int
	// Path names the value at fault, such as $.input.items[3].name, where $
	// is the whole text. Keys that are not plain identifiers are quoted.
	// Keys are cut to about 40 bytes and the path to 200, and characters
	// that do not print are left out.
	Path string
	// Reason is a short plain text, without any part of the input.
	Reason string
}

// Error returns the reason and the place on one line.
func (e *Error) Error() string {
	return "invalid JSON at " + e.Path + " (byte " + strconv.Itoa(e.Offset) + "): " + e.Reason
}

// locate sets the path of err from the trail, which lists the steps from the
// fault outwards.
func (s *scanner) locate(err *Error) *Error {
	path := "$"
	for i := len(s.trail) - 1; i >= 0; i-- {
		if len(path)+len(s.trail[i]) > maxPath-len("...") {
			path += "..."
			break
		}
		path += s.trail[i]
	}
	err.Path = path
	return err
}

// trailKey adds the step into a member to the trail.
func (s *scanner) trailKey(key string) {
	if len(key) <= maxPathKey && isIdentifier(key) {
		s.trail = append(s.trail, "."+key)
		return
	}
	step := AppendString([]byte{'['}, printable(key))
	s.trail = append(s.trail, string(append(step, ']')))
}

// trailIndex adds the step into an array element to the trail.
func (s *scanner) trailIndex(i int) {
	s.trail = append(s.trail, "["+strconv.Itoa(i)+"]")
}

// printable returns the beginning of key without the characters that do not
// print.
func printable(key string) string {
	var b strings.Builder
	for _, r := range key {
		if !strconv.IsPrint(r) {
			continue
		}
		if b.Len() >= maxPathKey {
			return b.String() + "..."
		}
		b.WriteRune(r)
	}
	return b.String()
}

func isIdentifier(key string) bool {
	for i := 0; i < len(key); i++ {
		c := key[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '$'
		if !letter && (i == 0 || !isDigit(c)) {
			return false
		}
	}
	return key != ""
}
