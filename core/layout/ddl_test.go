package layout

import (
	"reflect"
	"strings"
	"testing"

	schema "github.com/pi-workflows/wfcore/sql"
)

func TestTokenize(t *testing.T) {
	for sql, want := range map[string]string{
		"":                            "",
		" \t\r\n\f":                   "",
		"a--b\nc":                     "a|c",
		"a/*b*/c/*d":                  "a|c",
		"a/**/b":                      "a|b",
		"/*/ a":                       "",
		"a - b / c":                   "a|-|b|/|c",
		"'it''s' 'b'":                 "'it''s'|'b'",
		"'--' '/*'":                   "'--'|'/*'",
		"'open":                       "'open",
		`"a""b" [c"d] ` + "`e``f`":    `"a""b"|[c"d]|` + "`e``f`",
		"x'ab' X'CD' xx'e'":           "x'ab'|X'CD'|xx|'e'",
		"1 2.5 .5 1e+5 0x1e+5 a.b 1.": "1|2.5|.5|1e+5|0x1e|+|5|a|.|b|1.",
		"a<=b<>c!=d==e||f->>g->h<<i":  "a|<=|b|<>|c|!=|d|==|e||||f|->>|g|->|h|<<|i",
		"größe_$1(a,b)":               "größe_$1|(|a|,|b|)",
		"\xff'\xfe'":                  "\xff|'\xfe'",
	} {
		var texts []string
		for _, token := range tokenize(sql) {
			texts = append(texts, token.text)
		}
		if have := strings.Join(texts, "|"); have != want {
			t.Errorf("%q: have %q, want %q", sql, have, want)
		}
	}
}

func TestCanonical(t *testing.T) {
	columns := map[string]bool{"a": true, "größe": true}
	for expression, want := range map[string]string{
		"a > 0":              "a > 0",
		"A>0":                "a > 0",
		`"A" > 0`:            "a > 0",
		"[a]>0":              "a > 0",
		"((a > 0))":          "a > 0",
		"(a) OR (a)":         "(a) or (a)",
		"((a) OR (a))":       "(a) or (a)",
		"a /* b */ IN('X')":  "a in ('X')",
		`a IS "null"`:        `a is "null"`,
		`a IS NULL`:          `a is null`,
		`a = "x"`:            `a = "x"`,
		"'a' = 1":            "'a' = 1",
		"\u212Aind = 1":      "\u212Aind = 1", // a Kelvin sign, which SQLite does not fold
		`"Größe" = 1`:        "größe = 1",
		"a = x'AB'":          "a = x'AB'",
		"a IN ( 'b' , 'c' )": "a in ('b', 'c')",
		"":                   "",
		"()":                 "()",
		")(":                 ") (",
	} {
		if have := canonical(expression, columns); have != want {
			t.Errorf("%q: have %q, want %q", expression, have, want)
		}
	}
}

func TestParseTable(t *testing.T) {
	have := parseTable(`CREATE TABLE "check (" /* (a CHECK (1)) */ (
		"check" TEXT CHECK (('(' <> "check")) DEFAULT (1 + (2)) COLLATE NoCase,
		[b)] INTEGER CONSTRAINT c CHECK (b IN (1, 2)) NOT NULL ON CONFLICT IGNORE,
		c TEXT AS (length(b)) COLLATE BINARY UNIQUE ON CONFLICT abort,
		PRIMARY KEY (b AUTOINCREMENT) ON CONFLICT FAIL,
		FOREIGN KEY (c) REFERENCES strict (a) NOT DEFERRABLE INITIALLY DEFERRED,
		FOREIGN KEY (c) REFERENCES strict (a) DEFERRABLE INITIALLY DEFERRED,
		CHECK (c) -- CHECK (d)
	) WITHOUT rowid, Strict`)
	want := tableDDL{
		checks:        []string{`'(' <> "check"`, "b IN (1, 2)", "c"},
		clauses:       []string{"COLLATE NoCase", "ON CONFLICT IGNORE", "ON CONFLICT FAIL", "DEFERRABLE INITIALLY DEFERRED"},
		autoincrement: true,
		strict:        true,
		withoutRowID:  true,
	}
	if !reflect.DeepEqual(have, want) {
		t.Errorf("have %+v\nwant %+v", have, want)
	}
	if plain := parseTable("CREATE TABLE strict (rowid, strict)"); plain.strict || plain.withoutRowID {
		t.Errorf("names are taken for options: %+v", plain)
	}
}

func TestParsePredicate(t *testing.T) {
	if have := parsePredicate(`CREATE INDEX "where" ON "where" ("where")`); have != nil {
		t.Errorf("have %q, want none", *have)
	}
	have := parsePredicate(`CREATE INDEX a ON b (c /* WHERE */) WHERE ( c   IS NOT NULL )`)
	if have == nil || *have != "c IS NOT NULL" {
		t.Errorf("have %v", have)
	}
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                   "plain",
		"a\x1b[31m\n\x00\u202eb":  "a?[31m???b",
		"\xff\xfe":                "\uFFFD\uFFFD",
		strings.Repeat("é", 80):   strings.Repeat("é", 80),
		strings.Repeat("é", 81):   strings.Repeat("é", 80) + "…",
		strings.Repeat("é", 8000): strings.Repeat("é", 80) + "…",
	} {
		if have := printable(text); have != want {
			t.Errorf("%q: have %q, want %q", text, have, want)
		}
	}
}

// FuzzDDL reads any text as DDL. Rendering must keep the tokens: the layout
// holds rendered text, which is taken apart again to be compared.
func FuzzDDL(f *testing.F) {
	for _, statement := range strings.Split(schema.Schema, ";") {
		f.Add(statement)
	}
	for _, seed := range []string{"CREATE TABLE a (b CHECK", "CHECK (", "(((", ")))", "'", `"`, "[", "x'", "1e", "0x", "/*", "--", "a WHERE", "(a)(b)", "COLLATE", "(ON CONFLICT"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		tokens := tokenize(sql)
		if again := tokenize(render(tokens)); !reflect.DeepEqual(again, tokens) {
			t.Errorf("%q\n have %v\n want %v", sql, again, tokens)
		}
		columns := map[string]bool{"a": true}
		once := canonical(sql, columns)
		if twice := canonical(once, columns); twice != once {
			t.Errorf("%q: %q, then %q", sql, once, twice)
		}
		parseTable(sql)
		parsePredicate(sql)
	})
}
