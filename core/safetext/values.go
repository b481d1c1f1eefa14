package safetext

import "strings"

// value returns the secret part of the value that starts at i.
func (r *redactor) value(i int, class keyClass, op operator, hard bool) (start, end int) {
	s := r.s
	if strings.HasPrefix(s[i:], redacted) {
		return i, r.appended(i + len(redacted))
	}
	// Python and shells put a letter or a dollar sign before some strings.
	if i+1 < len(s) && isQuote(s[i+1]) && (isAlnum(s[i]) || s[i] == '$') {
		i++
	}
	if q, w := quoteAt(s, i); w > 0 {
		return r.quoted(i+w, q)
	}
	if i < len(s) && (s[i] == '[' || s[i] == '{') {
		return r.bracketed(i, op)
	}
	if at := skipScheme(s, i); at > i {
		return r.schemed(at, op)
	}
	end = bareEnd(s, i)
	word := s[i:end]
	if word == "" || isLiteral(word) || class == keyMeasure && isAmount(word) {
		return -1, 0
	}
	// Failed requests are told as "cannot fetch token: 401".
	if op.char == ':' && !hard && len(word) == 3 && isNumber(word) {
		return -1, 0
	}
	if op.char == '=' && !(op.loose && isFunctionWord(word)) || op.char == ':' && !isProse(s, i, end, hard) {
		return i, end
	}
	return -1, 0
}

// schemed returns the token at i, which stands behind a key and the name of an
// authentication scheme.
func (r *redactor) schemed(i int, op operator) (start, end int) {
	if !r.mayBeToken(i) {
		return -1, 0
	}
	end = bareEnd(r.s, i)
	if op.char != '=' && !opaque(r.s[i:end]) {
		return -1, 0
	}
	return i, end
}

// quoted returns the content of a string that starts at i, without the
// name of an authentication scheme.
func (r *redactor) quoted(i int, q quote) (start, end int) {
	s := r.s
	end, after := closeQuote(s, i, q)
	if i == end {
		return -1, 0
	}
	// YAML and SQL double a mark that is part of the content.
	for after+1 < len(s) && s[after] == '\'' && q.mark == "'" && isAlnum(s[after+1]) {
		end, after = closeQuote(s, after+1, q)
	}
	start = i
	if at := skipScheme(s[:end], i); at < end {
		start = at
	}
	if tail := r.appended(after); tail > after {
		end = tail
	}
	return start, end
}

// bracketed returns a list or an object up to its last bracket, or up to the
// end of the text where it is left open.
func (r *redactor) bracketed(i int, op operator) (start, end int) {
	s := r.s
	if op.char == ':' && (i+1 == len(s) || isSpace(s[i+1])) {
		return -1, 0
	}
	depth := 0
	for end = i; end < len(s); end++ {
		switch s[end] {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		if depth == 0 {
			return i, r.appended(end + 1)
		}
	}
	return i, end
}

// appended returns the end of what follows a value at i without a border, as a
// shell allows. What is assigned to that is covered as well: the value may have
// been closed by the opening mark of a key.
func (r *redactor) appended(i int) int {
	s := r.s
	for i < len(s) && isAlnum(s[i]) {
		key := i
		i = bareEnd(s, i)
		op, quoted := r.operator(i)
		if op.width == 0 {
			if start, end := r.attribute(key, i, op.at); quoted && start >= 0 {
				return end
			}
			return i
		}
		after := op.at + op.width
		at := skipSpace(s, after)
		q, w := quoteAt(s, at)
		if w == 0 && at > after {
			return i
		}
		if w == 0 {
			return bareEnd(s, at)
		}
		_, i = closeQuote(s, at+w, q)
	}
	return i
}

// bareEnd returns the end of the unquoted value that starts at i, without the
// punctuation of a sentence around it.
func bareEnd(s string, i int) int {
	end := i
	for end < len(s) {
		if isAlnum(s[end]) {
			end++
			continue
		}
		w := bareWidth(s, end)
		if w == 0 {
			break
		}
		end += w
	}
	for end > i && strings.IndexByte(".:!?", s[end-1]) >= 0 {
		end--
	}
	return end
}

// bareWidth returns the width of the character at i as a part of an unquoted
// value; 0 where it ends the value.
func bareWidth(s string, i int) int {
	if _, w := quoteAt(s, i); w > 0 {
		// A mark before a letter cannot be a closing one.
		if i+w < len(s) && isAlnum(s[i+w]) {
			return w
		}
		return 0
	}
	c, w := charAt(s, i)
	ends := false
	switch {
	case w == 1 && isSpace(c):
		ends = true
	case c == '&':
		ends = endsValue(s, i+w) || startsPair(s, i+w)
	case c == ',' || c == ';':
		ends = endsValue(s, i+w) || startsPair(s, i+w)
	case c == ')' || c == ']' || c == '}' || c == '>' || c == '|':
		ends = endsValue(s, i+w)
	case c == '<':
		ends = i+w < len(s) && s[i+w] == '/'
	}
	if ends {
		return 0
	}
	return w
}

// endsValue tells whether nothing of a value can stand at i.
func endsValue(s string, i int) bool {
	return i >= len(s) || isSpace(s[i]) || strings.IndexByte(",;)]}>.:\"'`\\", s[i]) >= 0
}

// maxName bounds the name of a key in bytes.
const maxName = 64

// startsPair tells whether the next key with its operator stands at i.
func startsPair(s string, i int) bool {
	end := wordEnd(s[:min(len(s), i+maxName)], i)
	if end == i {
		return false
	}
	c, _ := charAt(s, end)
	return c == '=' || c == ':'
}
