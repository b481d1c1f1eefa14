package strictjson

import (
	"slices"
	"strings"
)

// member is one member of an object that is still open.
type member struct {
	key string
	at  int // offset of the key in the text
	// The canonical form of the member, as a range of scanner.out.
	from, to int
}

func (s *scanner) object() *Error {
	if s.depth == MaxDepth {
		return s.fail(reasonDepth)
	}
	s.depth++
	s.pass('{')
	base, start := len(s.members), len(s.out)
	s.space()
	if s.peek() == '}' {
		return s.leave('}')
	}
	for {
		if err := s.member(); err != nil {
			return err
		}
		s.space()
		switch s.peek() {
		case ',':
			s.pass(',')
			s.space()
		case '}':
			if err := s.settle(base, start); err != nil {
				return err
			}
			return s.leave('}')
		default:
			return s.unexpected(reasonNext)
		}
	}
}

// member reads one key and its value.
func (s *scanner) member() *Error {
	if s.peek() != '"' {
		return s.unexpected(reasonKey)
	}
	m := member{at: s.pos, from: len(s.out)}
	raw, escaped, err := s.quoted()
	if err != nil {
		return err
	}
	m.key = raw
	if escaped {
		m.key = unescape(raw)
	}
	s.putString(raw, escaped)
	if err := s.memberValue(m.key); err != nil {
		s.trailKey(m.key)
		return err
	}
	m.to = len(s.out)
	s.members = append(s.members, m)
	return nil
}

// memberValue reads the colon and the value that follow a key.
func (s *scanner) memberValue(key string) *Error {
	s.space()
	if s.peek() != ':' {
		return s.unexpected(reasonColon)
	}
	s.pass(':')
	s.space()
	start := s.pos
	if err := s.value(); err != nil {
		return err
	}
	if s.source != nil && s.depth == 1 {
		// The clone keeps a key from holding on to the whole text.
		value := s.source[start:s.pos:s.pos]
		s.top = append(s.top, Member{Key: strings.Clone(key), Value: value})
	}
	return nil
}

// settle closes the list of members from base on: it refuses duplicate keys
// and brings the canonical form, which begins at start in out, in order.
func (s *scanner) settle(base, start int) *Error {
	members := s.members[base:]
	s.members = s.members[:base]
	if ascending(members) {
		return nil
	}
	slices.SortFunc(members, compareMembers)
	if m := firstDuplicate(members); m != nil {
		s.trailKey(m.key)
		return &Error{Offset: m.at, Reason: reasonDuplicate}
	}
	if s.emit {
		s.reorder(members, start)
	}
	return nil
}

// reorder rewrites the members of an object, which begin at start in out, in
// the order given. With nesting bounded, the bytes moved stay linear in the
// length of the text.
func (s *scanner) reorder(members []member, start int) {
	s.spare = append(s.spare[:0], s.out[start:]...)
	s.out = s.out[:start]
	for i, m := range members {
		if i > 0 {
			s.out = append(s.out, ',')
		}
		s.out = append(s.out, s.spare[m.from-start:m.to-start]...)
	}
}

// ascending reports whether the keys are in canonical order already, which
// also means that they are distinct.
func ascending(members []member) bool {
	for i := 1; i < len(members); i++ {
		if CompareUTF16(members[i-1].key, members[i].key) >= 0 {
			return false
		}
	}
	return true
}

func compareMembers(a, b member) int {
	if c := CompareUTF16(a.key, b.key); c != 0 {
		return c
	}
	return a.at - b.at
}

// firstDuplicate returns the member that comes first in the text among those
// whose key an earlier member has, or nil. The members must be sorted.
func firstDuplicate(members []member) *member {
	var first *member
	for i := 1; i < len(members); i++ {
		m := &members[i]
		if m.key == members[i-1].key && (first == nil || m.at < first.at) {
			first = m
		}
	}
	return first
}
