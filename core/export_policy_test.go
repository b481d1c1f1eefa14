package core

import (
	"fmt"
	"slices"
)

// PolicyFault is the event policy with one wrong cell.
type PolicyFault struct {
	Name string
	// Unread says that no code reads the cell: its row makes no intent, or does nothing.
	Unread bool
	// Break puts the wrong value in, and returns what puts the right one back.
	Break func() (mend func())
}

// PolicyFaults are the policy with each other value in each cell.
func PolicyFaults() (all []PolicyFault) {
	for i := range policy {
		row := &policy[i]
		makes := row.creates != "" && row.creates != createsNever
		all = append(all, statesFaults(row)...)
		all = append(all, faults(row, "creates", &row.creates, true, "", createsNever, createsForStep, createsForAgentsStep, createsUnlessAborted)...)
		all = append(all, faults(row, "eligible", &row.eligible, row.creates != "", eligibleNever, eligibleAtOnce, eligibleAlone, eligibleHandoff, eligibleForAgent)...)
		all = append(all, faults(row, "observed", &row.observed, row.creates != "", "", "wrong")...)
		all = append(all, faults(row, "cause", &row.cause, makes, Causes...)...)
		all = append(all, faults(row, "source", &row.source, makes, SourceAgentStepAbort, SourceTerminal, SourceQueuedLaunch)...)
		all = append(all, faults(row, "node", &row.node, makes, "", NodeTerminal, NodeLaunch)...)
	}
	return all
}

// faults are the other values of a cell; of one that is not read one is enough.
func faults[T ~string](row *policyRow, name string, cell *T, read bool, values ...T) (all []PolicyFault) {
	right := *cell
	for _, wrong := range values {
		if wrong == right || wrong == "" && !read {
			continue
		}
		all = append(all, PolicyFault{fmt.Sprintf("%s/%s=%s", row.kind, name, wrong), !read, func() func() {
			*cell = wrong
			return func() { *cell = right }
		}})
		if !read {
			break
		}
	}
	return all
}

func statesFaults(row *policyRow) (all []PolicyFault) {
	right := row.in
	for _, wrong := range [][]Status{nil, active, hasFailed, wasCancelled, doneOrWaiting, {Done}, {Parked}} {
		if slices.Equal(wrong, right) {
			continue
		}
		all = append(all, PolicyFault{fmt.Sprintf("%s/in=%s", row.kind, wrong), false, func() func() {
			row.in = wrong
			return func() { row.in = right }
		}})
	}
	return all
}
