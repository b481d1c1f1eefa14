package layout

import "strings"

// No pragma shows the CHECKs of a table or the predicate of an index, so they
// are read from the DDL that SQLite keeps. That text has been parsed by SQLite:
// it is well formed, and a bare reserved word in it is always a keyword.

type tokenKind int

const (
	wordToken   tokenKind = iota // a keyword or a bare identifier
	quotedToken                  // a quoted identifier
	otherToken                   // a literal, an operator, punctuation
)

// token is one token of SQL, as written.
type token struct {
	kind tokenKind
	text string
}

// isWord tells whether t is this keyword (given in lower case).
func (t token) isWord(keyword string) bool {
	return t.kind == wordToken && len(t.text) == len(keyword) && strings.EqualFold(t.text, keyword)
}

func (t token) is(punctuation string) bool {
	return t.kind == otherToken && t.text == punctuation
}

// name gives the identifier in t without its quotes, in lower case.
func (t token) name() string {
	if t.kind != quotedToken || len(t.text) < 2 {
		return lower(t.text)
	}
	quote := t.text[len(t.text)-1:]
	inner := t.text[1 : len(t.text)-1]
	if quote != "]" {
		inner = strings.ReplaceAll(inner, quote+quote, quote)
	}
	return lower(inner)
}

// tokenize splits SQL into tokens and drops comments and white space.
func tokenize(sql string) []token {
	var tokens []token
	for sql != "" {
		kind, size := scan(sql)
		if size > 0 {
			tokens = append(tokens, token{kind, sql[:size]})
			sql = sql[size:]
			continue
		}
		sql = sql[blankLength(sql):]
	}
	return tokens
}

// scan measures the token that sql begins with; 0 is a comment or white space.
func scan(sql string) (tokenKind, int) {
	c := sql[0]
	switch {
	case blankLength(sql) > 0:
		return otherToken, 0
	case c == '\'':
		return otherToken, quotedLength(sql, '\'')
	case c == '"' || c == '`':
		return quotedToken, quotedLength(sql, c)
	case c == '[':
		return quotedToken, lengthThrough(sql, "]")
	case (c == 'x' || c == 'X') && strings.HasPrefix(sql[1:], "'"):
		return otherToken, 1 + quotedLength(sql[1:], '\'')
	case isDigit(c) || c == '.' && len(sql) > 1 && isDigit(sql[1]):
		return otherToken, numberLength(sql)
	case isWordByte(c):
		return wordToken, wordLength(sql)
	}
	return otherToken, operatorLength(sql)
}

// blankLength measures one comment or one byte of white space.
func blankLength(sql string) int {
	switch {
	case strings.HasPrefix(sql, "--"):
		return lengthThrough(sql, "\n")
	case strings.HasPrefix(sql, "/*"):
		return 2 + lengthThrough(sql[2:], "*/")
	case strings.IndexByte(" \t\n\f\r", sql[0]) >= 0:
		return 1
	}
	return 0
}

// lengthThrough measures up to and with the first end, or to the end of sql.
func lengthThrough(sql, end string) int {
	if i := strings.Index(sql, end); i >= 0 {
		return i + len(end)
	}
	return len(sql)
}

// quotedLength measures a quoted text, in which a doubled quote stands for one.
func quotedLength(sql string, quote byte) int {
	for i := 1; i < len(sql); i++ {
		if sql[i] != quote {
			continue
		}
		if i+1 == len(sql) || sql[i+1] != quote {
			return i + 1
		}
		i++
	}
	return len(sql)
}

func numberLength(sql string) int {
	hex := strings.HasPrefix(lower(sql[:min(2, len(sql))]), "0x")
	for i := 1; i < len(sql); i++ {
		signOfExponent := !hex && (sql[i] == '+' || sql[i] == '-') && lower(sql[i-1:i]) == "e"
		if !isWordByte(sql[i]) && sql[i] != '.' && !signOfExponent {
			return i
		}
	}
	return len(sql)
}

func wordLength(sql string) int {
	for i := 1; i < len(sql); i++ {
		if !isWordByte(sql[i]) {
			return i
		}
	}
	return len(sql)
}

func operatorLength(sql string) int {
	for _, operator := range [...]string{"->>", "->", "<=", "<>", "<<", ">=", ">>", "==", "!=", "||"} {
		if strings.HasPrefix(sql, operator) {
			return len(operator)
		}
	}
	return 1
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWordByte(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '$' || c >= 0x80
}

// lower folds ASCII only, as SQLite does: the Kelvin sign is no k.
func lower(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return 'A' <= r && r <= 'Z' }) {
		return s
	}
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// render writes tokens with normal white space, letters as they were written.
func render(tokens []token) string {
	var b strings.Builder
	for i, t := range tokens {
		if i > 0 && !tokens[i-1].is("(") && !t.is(")") && !t.is(",") {
			b.WriteByte(' ')
		}
		b.WriteString(t.text)
	}
	return b.String()
}

// closing finds the parenthesis that closes the one at open, or the end.
func closing(tokens []token, open int) int {
	depth := 0
	for i := open; i < len(tokens); i++ {
		if tokens[i].is("(") {
			depth++
		}
		if tokens[i].is(")") {
			depth--
		}
		if depth == 0 {
			return i
		}
	}
	return len(tokens)
}

// unwrap drops parentheses around the whole expression.
func unwrap(tokens []token) []token {
	for len(tokens) > 2 && tokens[0].is("(") && closing(tokens, 0) == len(tokens)-1 {
		tokens = tokens[1 : len(tokens)-1]
	}
	return tokens
}

// canonical writes an expression so that two are equal where only their
// formatting differs. Quotes are dropped around column names only: in
// `x IS "null"` they are not redundant.
func canonical(expression string, columns map[string]bool) string {
	tokens := unwrap(tokenize(expression))
	for i, t := range tokens {
		if t.kind == wordToken || t.kind == quotedToken && columns[t.name()] {
			tokens[i] = token{wordToken, t.name()}
		}
	}
	return render(tokens)
}
