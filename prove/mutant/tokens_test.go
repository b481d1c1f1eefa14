package mutant

import (
	"regexp"
	"slices"
	"strings"
)

// lexeme is a word, a number, a parameter, a string or an operator of a statement.
type lexeme struct {
	text     string // in upper case, but for a string
	from, to int
}

var lexer = regexp.MustCompile(`--[^\n]*|'(?:[^']|'')*'|[?@]?\w+|<=|>=|<>|\|\||[^\s\w]`)

// text is a statement in tokens; ends has the closing token of each parenthesis and
// CASE.
type text struct {
	sql    string
	tokens []lexeme
	ends   map[int]int
}

func read(sql string) text {
	t := text{sql: sql, ends: map[int]int{}}
	open := []int{}
	for _, at := range lexer.FindAllStringIndex(sql, -1) {
		word := sql[at[0]:at[1]]
		if strings.HasPrefix(word, "--") {
			continue
		}
		if word[0] != '\'' {
			word = strings.ToUpper(word)
		}
		switch word {
		case "(", "CASE":
			open = append(open, len(t.tokens))
		case ")", "END":
			t.ends[open[len(open)-1]] = len(t.tokens)
			open = open[:len(open)-1]
		}
		t.tokens = append(t.tokens, lexeme{word, at[0], at[1]})
	}
	return t
}

// is says whether the tokens from one on are these.
func (t text) is(at int, words ...string) bool {
	for i, word := range words {
		if at+i < 0 || at+i >= len(t.tokens) || t.tokens[at+i].text != word {
			return false
		}
	}
	return true
}

// next is the token after one, or after all of what it opens.
func (t text) next(at int) int {
	if end, ok := t.ends[at]; ok {
		return end + 1
	}
	return at + 1
}

// span is some tokens, the last one not included.
type span struct{ from, to int }

// of is the text of a span.
func (t text) of(s span) string { return t.sql[t.tokens[s.from].from:t.tokens[s.to-1].to] }

// split cuts a span at words, but not within parentheses or CASE.
func (t text) split(s span, words ...string) (parts []span) {
	from := s.from
	for i := s.from; i < s.to; i = t.next(i) {
		if slices.Contains(words, t.tokens[i].text) {
			parts = append(parts, span{from, i})
			from = i + 1
		}
	}
	return append(parts, span{from, s.to})
}
