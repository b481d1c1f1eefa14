package main

import (
	"regexp"
	"strings"

	"github.com/pi-workflows/wfcore/core"
)

// maxWidth is how wide a line may be, with tabs of four.
const maxWidth = 120

func width(line string) int {
	line = strings.TrimSuffix(line, "\n")
	return len([]rune(line)) + 3*strings.Count(line, "\t")
}

// quote writes a string as JSON does, which is TypeScript too.
func quote(text string) string {
	quoted, err := core.Encode(text)
	if err != nil {
		panic(err) // a string has a JSON form
	}
	return string(quoted)
}

// comment writes paragraphs as one doc comment, or nothing.
func comment(indent string, paragraphs ...string) string {
	text := strings.ReplaceAll(strings.Join(paragraphs, "\n\n"), "*/", "*\\/")
	if text == "" {
		return ""
	}
	if line := indent + "/** " + text + " */\n"; len(paragraphs) == 1 && width(line) <= maxWidth {
		return line
	}
	var b strings.Builder
	b.WriteString(indent + "/**\n")
	for _, line := range wrap(text, maxWidth-width(indent)-len(" * ")) {
		b.WriteString(strings.TrimRight(indent+" * "+line, " ") + "\n")
	}
	return b.String() + indent + " */\n"
}

// wrap breaks every line of a text between words.
func wrap(text string, most int) (lines []string) {
	for _, paragraph := range strings.Split(text, "\n") {
		line := ""
		for _, word := range strings.Fields(paragraph) {
			if line != "" && len([]rune(line+" "+word)) > most {
				lines, line = append(lines, line), ""
			}
			line = strings.TrimSpace(line + " " + word)
		}
		lines = append(lines, line)
	}
	return lines
}

var markdownLink = regexp.MustCompile(`\[[^\]]*\]\(([^)]*)\)`)

// opDoc is an op's sentence, and what it may fail with.
func opDoc(op core.Op) []string {
	doc := markdownLink.ReplaceAllString(op.Doc, "docs/$1")
	doc = strings.ToUpper(doc[:1]) + doc[1:] + "."
	if len(op.Errors) == 0 {
		return []string{doc}
	}
	errors := make([]string, len(op.Errors))
	for i, code := range op.Errors {
		errors[i] = string(code)
	}
	return []string{doc, "Errors: " + strings.Join(errors, ", ") + "."}
}
