// Package strictjson checks and canonicalises JSON texts.
//
// Every JSON text that enters the program passes Check (or Canonical or
// Object, which include it) before anything decodes it. A text that passes
// means the same thing to every decoder: no duplicate keys, no broken
// strings, no numbers a double cannot hold, bounded nesting. Stored JSON is
// stored in the canonical form of RFC 8785, so that hosts written in Go and
// in JavaScript agree on it byte for byte.
//
// The package uses no reflection and reads each text once. It puts no limit
// on the length of a text; callers do. All functions are safe for concurrent
// use and keep no reference to their arguments unless they say so.
package strictjson

// MaxDepth is the greatest number of arrays and objects that may be open at
// once in an accepted text: 128 nested arrays pass, 129 do not.
const MaxDepth = 128

// Kind is the type of a JSON value.
type Kind uint8

// The kinds of JSON values. KindInvalid is the kind of bytes that cannot
// begin a value.
const (
	KindInvalid Kind = iota
	KindNull
	KindBool
	KindNumber
	KindString
	KindArray
	KindObject
)

// Member is one member of a JSON object.
type Member struct {
	// Key is the member's name with its escapes resolved.
	Key string
	// Value is the raw text of the member's value, without white space
	// around it. It is a sub-slice of the text given to Object, with its
	// capacity cut to its length.
	Value []byte
}

// Check reports whether data is exactly one JSON value, with nothing but JSON
// white space around it, that every decoder understands alike. It returns nil
// or an *Error that says where and why data is refused:
//
//   - no value, a byte order mark, a syntax error, or data after the value;
//   - in a string, invalid UTF-8, a raw control character (below U+0020), an
//     unknown escape, or a surrogate escape that is not half of a pair;
//   - the same key twice in one object, compared with escapes resolved;
//   - a number whose nearest double is infinite, or is zero although the
//     number is not;
//   - an integer literal (no fraction, no exponent) above 2^53 that is neither
//     the exact value of a double nor the canonical form of one;
//   - a number that is not zero and has an exponent part of 10000 or more, of
//     either sign;
//   - nesting deeper than MaxDepth.
//
// Where data has several faults, the one reported is not always the first:
// duplicate keys show only when their object closes.
func Check(data []byte) error {
	s := scanner{text: string(data)}
	return s.run()
}

// Canonical returns the canonical form (RFC 8785) of data in a new slice, or
// the *Error of Check. The result passes Check and is its own canonical form.
// It can be longer than data, by a factor of about five: 1e20 is written with
// 21 digits.
func Canonical(data []byte) ([]byte, error) {
	s := scanner{text: string(data), emit: true, out: make([]byte, 0, len(data))}
	if err := s.run(); err != nil {
		return nil, err
	}
	return s.out, nil
}

// Object returns the members of the object that data holds, in the order of
// the text. The values are sub-slices of data, so data must not change while
// they are in use. It returns the *Error of Check when Check refuses data, and
// an *Error when the value is not an object.
func Object(data []byte) ([]Member, error) {
	s := scanner{text: string(data), source: data}
	if err := s.run(); err != nil {
		return nil, err
	}
	s.pos = 0
	s.space()
	if s.peek() != '{' {
		return nil, s.locate(s.fail(reasonNotObject))
	}
	return s.top, nil
}

// KindOf returns the kind of a raw JSON value, such as Member.Value, by its
// first byte alone. A value that is empty or begins with white space is
// KindInvalid.
func KindOf(value []byte) Kind {
	if len(value) == 0 {
		return KindInvalid
	}
	switch c := value[0]; {
	case c == '{':
		return KindObject
	case c == '[':
		return KindArray
	case c == '"':
		return KindString
	case c == '-' || isDigit(c):
		return KindNumber
	case c == 't' || c == 'f':
		return KindBool
	case c == 'n':
		return KindNull
	}
	return KindInvalid
}
