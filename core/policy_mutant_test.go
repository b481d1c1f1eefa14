package core_test

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3/driver"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/conformance"
	"github.com/pi-workflows/wfcore/prove"
	schema "github.com/pi-workflows/wfcore/sql"
)

// A wrong cell of the event policy is seen by the suite of every face.
func TestNoCellOfThePolicyCanBeWrong(t *testing.T) {
	cases := turnCases(t)
	for _, fault := range prove.Sample(t, 30, core.PolicyFaults()) {
		t.Run(fault.Name, func(t *testing.T) {
			defer fault.Break()()
			at := slices.IndexFunc(cases, func(c conformance.Case) bool { return c.Differs(onMemory) != nil })
			seen := at >= 0
			if seen { // what sees one fault sees the next one, too
				first := cases[at]
				copy(cases[1:at+1], cases[:at])
				cases[0] = first
			}
			reason := equalPolicies[fault.Name]
			if fault.Unread {
				reason = "no code reads the cell"
			}
			switch {
			case !seen && reason == "":
				t.Error("nothing sees it")
			case seen && reason != "":
				t.Errorf("it is seen, although %s", reason)
			}
		})
	}
}

// equalPolicies are the faults that change nothing, and why.
var equalPolicies = map[string]string{
	"failed/observed=":              stateSays,
	"crashedBeforePrompt/observed=": stateSays,
	"cancelledTerminal/observed=":   stateSays,
}

const stateSays = "the state of the run is the same text, and stands in for an empty cell"

// turnCases are the cases that owe a turn or tell of one, the shortest first.
func turnCases(t *testing.T) []conformance.Case {
	all := slices.DeleteFunc(conformance.Cases(t), func(c conformance.Case) bool {
		tells := slices.ContainsFunc(c.Steps, func(s conformance.Step) bool {
			return strings.Contains(s.Call, "Turn") || s.Call == "parkRunningRun" || s.Call == "finishRunningRun"
		})
		return !tells && c.Dump["workflow_turn_intents"] == nil
	})
	slices.SortStableFunc(all, func(a, b conformance.Case) int { return len(a.Steps) - len(b.Steps) })
	return all
}

func onMemory(random io.Reader) (conformance.Face, error) {
	db, err := driver.Open(":memory:")
	if err != nil {
		return nil, err
	}
	return conformance.OnMemory(db, schema.Schema, random)
}
