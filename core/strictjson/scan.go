package strictjson

import "strings"

const byteOrderMark = "\ufeff"

// scanner reads one text from front to back. With emit set it also writes the
// canonical form to out; with source set it also lists the members of the
// outermost object in top.
type scanner struct {
	text  string
	pos   int
	depth int

	// members holds the members read so far of all open objects, innermost
	// last.
	members []member
	// trail is empty until a fault; then each level on the way out adds its
	// step, so that paths cost nothing in texts without faults.
	trail []string

	emit  bool
	out   []byte
	spare []byte

	source []byte
	top    []Member
}

// run reads the whole text. It returns a plain nil or an *Error with its path.
func (s *scanner) run() error {
	// Most texts have few keys open at once; one allocation serves them.
	s.members = make([]member, 0, 16)
	if err := s.document(); err != nil {
		return s.locate(err)
	}
	return nil
}

func (s *scanner) document() *Error {
	if strings.HasPrefix(s.text, byteOrderMark) {
		return s.fail(reasonBOM)
	}
	s.space()
	if s.pos == len(s.text) {
		return s.fail(reasonEmpty)
	}
	if err := s.value(); err != nil {
		return err
	}
	s.space()
	if s.pos < len(s.text) {
		return s.fail(reasonTrailing)
	}
	return nil
}

// value reads the value that begins at pos.
func (s *scanner) value() *Error {
	switch c := s.peek(); {
	case c == '"':
		return s.stringValue()
	case c == '{':
		return s.object()
	case c == '[':
		return s.array()
	case c == '-' || isDigit(c):
		return s.number()
	case c == 't':
		return s.word("true")
	case c == 'f':
		return s.word("false")
	case c == 'n':
		return s.word("null")
	}
	return s.unexpected(reasonValue)
}

func (s *scanner) word(word string) *Error {
	if !strings.HasPrefix(s.text[s.pos:], word) {
		return s.fail(reasonValue)
	}
	s.pos += len(word)
	if s.emit {
		s.out = append(s.out, word...)
	}
	return nil
}

func (s *scanner) stringValue() *Error {
	raw, escaped, err := s.quoted()
	if err != nil {
		return err
	}
	s.putString(raw, escaped)
	return nil
}

func (s *scanner) array() *Error {
	if s.depth == MaxDepth {
		return s.fail(reasonDepth)
	}
	s.depth++
	s.pass('[')
	s.space()
	if s.peek() == ']' {
		return s.leave(']')
	}
	for i := 0; ; i++ {
		if err := s.value(); err != nil {
			s.trailIndex(i)
			return err
		}
		s.space()
		switch s.peek() {
		case ',':
			s.pass(',')
			s.space()
		case ']':
			return s.leave(']')
		default:
			return s.unexpected(reasonNext)
		}
	}
}

// pass moves past the byte c, which the caller has seen at pos.
func (s *scanner) pass(c byte) {
	s.pos++
	if s.emit {
		s.out = append(s.out, c)
	}
}

// leave moves past the closing bracket of an array or object.
func (s *scanner) leave(c byte) *Error {
	s.pass(c)
	s.depth--
	return nil
}

// space passes white space.
func (s *scanner) space() {
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case ' ', '\n', '\r', '\t':
			s.pos++
		default:
			return
		}
	}
}

// peek returns the byte at pos, or 0 at the end of the text; a 0 byte in the
// text is no less of a fault than its end.
func (s *scanner) peek() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

func (s *scanner) fail(reason string) *Error {
	return &Error{Offset: s.pos, Reason: reason}
}

// unexpected fails at pos for reason, unless the text just ends there.
func (s *scanner) unexpected(reason string) *Error {
	if s.pos == len(s.text) {
		return s.fail(reasonEnd)
	}
	return s.fail(reason)
}

func isDigit(c byte) bool { return c-'0' < 10 }
