package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pi-workflows/wfcore/core"
)

// describe prints a reference of operations, from the op table: each operation,
// then each kind of answer once.
func (a *app) describe(ops []core.Op) error {
	var b strings.Builder
	for _, op := range ops {
		describeOp(&b, op)
	}
	described := []string{}
	for _, op := range ops {
		if name := op.Answer().Name; !slices.Contains(described, name) {
			described = append(described, name)
			describeAnswer(&b, op.Answer())
		}
	}
	_, err := fmt.Fprint(a.stdout, strings.TrimSuffix(b.String(), "\n"))
	return err
}

func describeOp(b *strings.Builder, op core.Op) {
	fmt.Fprintf(b, "## %s\n\n%s.\n\n", op.Name, strings.ToUpper(op.Doc[:1])+op.Doc[1:])
	b.WriteString("| request field | type | | must be |\n|---|---|---|---|\n")
	for _, f := range op.Fields() {
		need := "required"
		if f.Optional {
			need = "optional"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", f.Name, f.Type, need, f.Says)
	}
	answer := op.Answer()
	fmt.Fprintf(b, "\nAnswers %s.", fmt.Sprintf(answer.Phrase, "`"+answer.Name+"`"))
	if len(op.Errors) > 0 {
		codes := []string{}
		for _, code := range op.Errors {
			codes = append(codes, "`"+string(code)+"`")
		}
		fmt.Fprintf(b, " Errors: %s.", strings.Join(codes, ", "))
	}
	b.WriteString("\n\n")
}

func describeAnswer(b *strings.Builder, answer core.Answer) {
	fmt.Fprintf(b, "## Answer: %s\n\n| field | type |\n|---|---|\n", answer.Name)
	for _, f := range answer.Fields {
		fmt.Fprintf(b, "| `%s` | %s |\n", f.Name, f.Type)
	}
	b.WriteString("\n")
}
