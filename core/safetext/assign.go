package safetext

import "strings"

// assigned returns the secret part [start, end) of the value that is given to
// the key at s[key:keyEnd]. A start below zero says that there is no value or
// that it is no secret.
func (r *redactor) assigned(key, keyEnd int) (start, end int) {
	s := r.s
	// Most words are followed by another one, or by the end of a sentence.
	if keyEnd+1 >= len(s) || !startsOperator(s[keyEnd]) {
		return -1, 0
	}
	if s[keyEnd] == ' ' && isAlnum(s[keyEnd+1]) && (key == 0 || s[key-1] != '-') {
		return r.spaced(key, keyEnd)
	}
	if s[keyEnd] == '>' {
		return r.element(key, keyEnd)
	}
	op, quoted := r.operator(keyEnd)
	if op.width == 0 {
		return r.unassigned(key, keyEnd, op.at, quoted)
	}
	class := r.classAt(key, keyEnd)
	if class == keyPlain {
		return r.code(key, keyEnd, op)
	}
	// Test reports say "PASS: name".
	if op.char == ':' && !quoted && foldedIn(s[key:keyEnd], "pass") {
		return -1, 0
	}
	after := op.at + op.width
	at := skipYAML(s, skipSpace(s, after))
	if op.char == ':' && !quoted && headerName(s[key:keyEnd]) {
		if _, w := quoteAt(s, at); w == 0 {
			return r.header(key, at)
		}
	}
	if at > after && (r.startsKey(at) || r.startsField(at) || r.startsOtherLine(at)) {
		return -1, 0
	}
	return r.value(at, class, op, hardName(s[key:keyEnd]))
}

// unassigned returns the value of the key s[key:keyEnd] that no operator
// follows; i is where the text goes on, and quoted tells that the key's closing
// quotation mark stands between.
func (r *redactor) unassigned(key, keyEnd, i int, quoted bool) (start, end int) {
	if start, end = r.flag(key, keyEnd, i, quoted); start >= 0 {
		return start, end
	}
	if quoted {
		return r.attribute(key, keyEnd, i)
	}
	return r.spaced(key, keyEnd)
}

// startsKey tells whether the text at i, where a secret is expected behind a
// blank, is a flag or a secret key, which has its own value.
func (r *redactor) startsKey(i int) bool {
	s := r.s
	if strings.HasPrefix(s[i:], "--") {
		return i+2 < len(s) && isAlnum(s[i+2])
	}
	_, mark := quoteAt(s, i)
	i += mark
	end := wordEnd(s, i)
	if end == i {
		return false
	}
	op, quoted := r.operator(end)
	return op.width > 0 && (mark == 0 || quoted) && r.classAt(i, end) != keyPlain
}

// startsAssignment tells whether "key=value" with a secret key stands at i.
func (r *redactor) startsAssignment(i int) bool {
	end := wordEnd(r.s, i)
	return end > i && end < len(r.s) && r.s[end] == '=' && r.classAt(i, end) != keyPlain
}

// startsField tells whether the text at i is "name: value" on its own line.
func (r *redactor) startsField(i int) bool {
	s := r.s
	end := wordEnd(s, i)
	return end > i && end+1 < len(s) && s[end] == ':' && isSpace(s[end+1]) && startsLine(s, i)
}

// startsOtherLine tells whether a line starts at i that is no value of what stands on
// the line before: more than one word stands there, and the first one is a key, or
// may hold one or a list.
func (r *redactor) startsOtherLine(i int) bool {
	s := r.s
	if !startsLine(s, i) {
		return false
	}
	stop := indexFrom(s, i, "\r\n")
	if _, w := quoteAt(s, i); w > 0 || strings.Trim(s[bareEnd(s, i):stop], " \t.,;") == "" {
		return r.startsKey(i)
	}
	first, _, _ := strings.Cut(s[i:stop], " ")
	return r.startsKey(i) || strings.ContainsAny(first, "[{(<=:\"'`%&?\\")
}

// startsLine tells whether only blanks stand between i and a line break before.
func startsLine(s string, i int) bool {
	for i > 0 && (s[i-1] == ' ' || s[i-1] == '\t') {
		i--
	}
	return i > 0 && (s[i-1] == '\n' || s[i-1] == '\r')
}

// element returns the content of the XML element whose opening tag has the name
// s[key:keyEnd]. A blank behind the tag says that it is a placeholder.
func (r *redactor) element(key, keyEnd int) (start, end int) {
	s := r.s
	start = keyEnd + 1
	if !opensTag(s, key) || isSpace(s[start]) || s[start] == '<' || classify(s[key:keyEnd]) == keyPlain {
		return -1, 0
	}
	return start, indexFrom(s, start, "<\r\n")
}

// opensTag tells whether the name of an XML element starts at i, perhaps behind
// the prefix of a namespace.
func opensTag(s string, i int) bool {
	if i > 0 && s[i-1] == ':' {
		for low := max(1, i-maxName); i > low && (s[i-1] == ':' || isWordByte(s[i-1])); {
			i--
		}
	}
	return i > 0 && s[i-1] == '<'
}

// startsOperator tells the characters that may follow a key.
func startsOperator(c byte) bool {
	switch c {
	case '=', ':', '%', '&', '\\', '[', ']', '>':
		return true
	}
	return isSpace(c) || isQuote(c)
}

// operator is what stands between a key and its value.
type operator struct {
	char  byte // '=' or ':'
	at    int
	width int  // zero where there is none
	loose bool // white space stands before it
}

// operator reads the operator behind a key that ends at i; quoted tells that
// the key's closing quotation mark stands between.
func (r *redactor) operator(i int) (op operator, quoted bool) {
	s := r.s
	if i < len(s) && isSpace(s[i]) {
		op.loose = true
	} else if _, w := quoteAt(s, i); w > 0 {
		quoted = true
		i += w
	}
	i = skipSpace(s, skipIndex(s, i))
	op.at = i
	c, w := charAt(s, i)
	if c != '=' && c != ':' {
		return op, quoted
	}
	op.char, op.width = c, w
	// ":=", "==" and "=>" are operators too.
	for i += w; i < len(s) && (s[i] == '=' || s[i] == '>' || s[i] == ':'); i++ {
		op.width++
	}
	return op, quoted
}

// skipIndex skips the bracket that closes behind a key ("env[TOKEN]"), or an
// index of one ("token[0]").
func skipIndex(s string, i int) int {
	if i < len(s) && s[i] == '[' {
		i = alnumEnd(s[:min(len(s), i+maxName)], i+1)
	}
	if c, w := charAt(s, i); c == ']' {
		return i + w
	}
	return i
}

// classAt classifies the key at s[key:keyEnd]; "key" alone counts with the word
// before it ("api key", "access.key").
func (r *redactor) classAt(key, keyEnd int) keyClass {
	s := r.s
	name := s[key:keyEnd]
	if !foldedIn(name, "key", "keys") {
		return classify(name)
	}
	if key < 2 || s[key-1] != ' ' && s[key-1] != '.' {
		return keyPlain
	}
	before := s[max(0, key-12) : key-1]
	for _, word := range [...]string{"api", "access", "private", "secret", "signing", "encryption"} {
		if hasSuffixFold(before, word) {
			return keySecret
		}
	}
	return keyPlain
}

// headerName tells the HTTP headers whose whole value is a secret.
func headerName(name string) bool {
	return foldedIn(name, "authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key")
}

// header returns the secret part of a header's value that starts at i: up to
// the end of the line, or to the quotation mark that was opened right before
// the key. The name of an authentication scheme stays.
func (r *redactor) header(key, i int) (start, end int) {
	s := r.s
	end = r.lineEnd(i)
	if mark := key - 1; mark >= 0 && isQuote(s[mark]) {
		escapes, _ := escapesBefore(s, 0, mark)
		var after int
		end, after = closeQuote(s[:end], i, quote{s[mark:key], escapes})
		// What closed the value may have been the opening mark of another one.
		if tail := r.appended(after); tail > after {
			end = tail
		}
	}
	if isSentence(s[i:end]) {
		return -1, 0
	}
	if at := skipScheme(s, i); at > end && r.mayBeToken(at) {
		return at, bareEnd(s, at)
	}
	i = skipScheme(s[:end], i)
	// Nothing is left of a value that is redacted already but the marks behind it.
	rest, done := strings.CutPrefix(s[i:end], redacted)
	if i == end || done && strings.Trim(rest, " \t\"'`.,;)") == "" {
		return -1, 0
	}
	return i, end
}

// skipScheme returns where the token behind an authentication scheme at i
// starts, or i. The key's own name may stand before that of the scheme.
func skipScheme(s string, i int) int {
	for n := range 2 {
		end := alnumEnd(s, i)
		if !foldedIn(s[i:end], "bearer", "basic", "token", "digest", "negotiate", "apikey") {
			return i
		}
		at := skipSeparators(s, end)
		if at == end || at == len(s) {
			return i
		}
		if n > 0 && strings.Trim(s[end:at], " \t\r\n") != "" {
			return i // perhaps a key with its own value
		}
		i = at
	}
	return i
}

// skipSeparators skips what may stand between an authentication scheme and its
// token.
func skipSeparators(s string, i int) int {
	for {
		if _, w := quoteAt(s, i); w > 0 {
			i += w
			continue
		}
		c, w := charAt(s, i)
		if w == 0 || !isSpace(c) && c != ':' && c != '=' && c != '+' {
			return i
		}
		i += w
	}
}

// flag returns the value of a command line flag ("--token x", "'--token', 'x'")
// whose name is s[key:keyEnd]; i is where the text goes on behind the name.
func (r *redactor) flag(key, keyEnd, i int, quoted bool) (start, end int) {
	s := r.s
	if key == 0 || s[key-1] != '-' || i == keyEnd || classify(s[key:keyEnd]) == keyPlain {
		return -1, 0
	}
	return r.flagValue(i, quoted)
}

// flagValue returns the value at i behind the name of a flag; quoted tells that
// the name is a string of its own.
func (r *redactor) flagValue(i int, quoted bool) (start, end int) {
	s := r.s
	if quoted && i < len(s) && s[i] == ',' {
		i = skipSpace(s, i+1)
		if _, w := quoteAt(s, i); w == 0 {
			return -1, 0
		}
	}
	if strings.HasPrefix(s[i:], "--") || r.startsAssignment(i) || r.startsOtherLine(i) {
		return -1, 0
	}
	return r.value(i, keySecret, operator{char: '=', loose: true}, true)
}

// skipYAML skips the mark of a list or of a block of lines before a value.
func skipYAML(s string, i int) int {
	if strings.HasPrefix(s[i:], "- ") {
		return skipSpace(s, i+1)
	}
	if i == len(s) || s[i] != '|' && s[i] != '>' {
		return i
	}
	end := i + 1
	if end < len(s) && (s[end] == '-' || s[end] == '+') {
		end++
	}
	if end < len(s) && isSpace(s[end]) {
		return skipSpace(s, end)
	}
	return i
}
