package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

const coreDir = "../../core"

func generated(t *testing.T) string {
	t.Helper()
	text, err := generate(coreDir)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestOpsTSIsUpToDate(t *testing.T) {
	have, err := os.ReadFile("../src/ops.ts")
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != generated(t) {
		t.Error("ops.ts is out of date: run make generate")
	}
}

// block is the text of one declaration.
func block(t *testing.T, text, head, end string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "\n"+head)
	body, _, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("there is no %s", head)
	}
	return body
}

func TestEveryOpIsTyped(t *testing.T) {
	text := generated(t)
	ops, names := block(t, text, "export interface Ops {", "\n}\n"), block(t, text, "export const opNames = [", "\n]")
	for _, op := range core.Ops {
		answer := op.Answer()
		want := map[string]string{"%s": answer.Name, "%s, or null": answer.Name + " | null", "a list of %s": answer.Name + "[]"}
		if !strings.Contains(ops, "\n\t"+op.Name+"(request") || !strings.Contains(ops, ": "+op.Request.Name()+"): "+want[answer.Phrase]+";") {
			t.Errorf("Ops lacks %s, or it takes or answers something else", op.Name)
		}
		if !strings.Contains(names, "\n\t"+quote(op.Name)+",") {
			t.Errorf("opNames lacks %s", op.Name)
		}
	}
}

func TestEveryFieldIsTypedAsOptionalAsItIs(t *testing.T) {
	text := generated(t)
	for _, op := range core.Ops {
		checkFields(t, text, op.Request.Name(), op.Fields())
		answer := op.Answer()
		if answer.Name == "RunStatus" { // which has those of Run beside its line
			answer.Fields = slices.DeleteFunc(answer.Fields, func(f core.Field) bool { return f.Name != "line" })
		}
		checkFields(t, text, answer.Name, answer.Fields)
	}
}

func checkFields(t *testing.T, text, name string, fields []core.Field) {
	t.Helper()
	head := "export interface " + name
	body := block(t, text, head, "\n}\n")
	for _, f := range fields {
		key := "\n\t" + f.Name + ":"
		if f.Optional {
			key = "\n\t" + f.Name + "?:"
		}
		if !strings.Contains(f.Name, ".") && !strings.Contains(body, key) {
			t.Errorf("%s lacks%s", name, strings.TrimSpace(key))
		}
	}
}

// What a rule lists must be in the constants of its type, or the union is too small.
func TestEveryValueOfARuleIsInATypeOfItsName(t *testing.T) {
	text := generated(t)
	listed := 0
	for _, op := range core.Ops {
		for _, f := range op.Fields() {
			for _, value := range choices(f) {
				listed++
				if !strings.Contains(text, "| "+quote(value)) {
					t.Errorf("%s: %s of %s is in no union", op.Name, value, f.Name)
				}
			}
		}
	}
	if listed == 0 {
		t.Error("no rule lists values: the rules' wording has changed")
	}
}

func TestEveryStatusIsInStatus(t *testing.T) {
	status := block(t, generated(t), "export type Status =", ";")
	for _, s := range core.Statuses {
		if !strings.Contains(status, "\n\t| "+quote(string(s))) {
			t.Errorf("Status lacks %s", s)
		}
	}
}

func TestEveryErrorCodeIsInTypeAndTable(t *testing.T) {
	text := generated(t)
	code, table := block(t, text, "export type Code =", ";\n"), block(t, text, "export const codes", "\n};")
	for _, info := range core.Codes {
		if !strings.Contains(code, "\n\t| "+quote(string(info.Code))) {
			t.Errorf("Code lacks %s", info.Code)
		}
		if !strings.Contains(table, "\n\t"+string(info.Code)+": {") || !strings.Contains(table, quote(info.Meaning)) {
			t.Errorf("codes lacks %s or its meaning", info.Code)
		}
	}
}

// A constant without a row would be a code of the type that the table has not.
func TestEveryConstantOfCodeHasARow(t *testing.T) {
	s, err := readSource(coreDir)
	if err != nil {
		t.Fatal(err)
	}
	codes := []string{}
	for _, info := range core.Codes {
		codes = append(codes, string(info.Code))
	}
	if !sameValues(codes, s.values["Code"]) {
		t.Errorf("the constants of Code are %v, its rows %v", s.values["Code"], codes)
	}
}

func TestEveryOverrideIsOfAField(t *testing.T) {
	text := generated(t)
	for member, of := range overrides {
		name, field, _ := strings.Cut(member, ".")
		body := block(t, text, "export interface "+name+" {", "\n}\n")
		if !strings.Contains(body, "\n\t"+field+": "+of+";") && !strings.Contains(body, "\n\t"+field+"?: "+of+";") {
			t.Errorf("%s is not %s", member, of)
		}
	}
}
