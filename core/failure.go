package core

import (
	"strings"

	"github.com/pi-workflows/wfcore/core/safetext"
)

// FailureCode says why a run failed. It is data on the run, not an error of an
// operation.
type FailureCode string

const (
	FailureWorkflowNotFound FailureCode = "workflow_not_found"
	FailureWorkflowInvalid  FailureCode = "workflow_invalid"
	FailureInputInvalid     FailureCode = "input_invalid"
	FailureSourceChanged    FailureCode = "source_changed"
	FailureStoreUnavailable FailureCode = "store_unavailable"
	FailureActivationFailed FailureCode = "activation_failed"
	FailureCancelled        FailureCode = "cancelled"

	FailureRunFailed   FailureCode = "run_failed"
	FailureTimedOut    FailureCode = "timed_out"
	FailureInterrupted FailureCode = "interrupted"
)

// LaunchFailures are the codes of a launch that failed before it ran.
var LaunchFailures = []FailureCode{
	FailureWorkflowNotFound, FailureWorkflowInvalid, FailureInputInvalid, FailureSourceChanged, FailureStoreUnavailable, FailureActivationFailed, FailureCancelled,
}

// RunFailures are the codes of a run that failed after it started.
var RunFailures = []FailureCode{FailureRunFailed, FailureTimedOut, FailureInterrupted}

// failureText names the check that failed and the action that corrects it.
var failureText = map[FailureCode]string{
	FailureWorkflowNotFound: "The workflow was not found; check its name and source reference",
	FailureWorkflowInvalid:  "The workflow definition is not valid; correct it",
	FailureInputInvalid:     "The workflow refused its input; correct the input",
	FailureSourceChanged:    "The workflow source changed after the launch was queued; start again from the current source",
	FailureStoreUnavailable: "The run could not be stored; make room or free the store, then start again",
	FailureActivationFailed: "The workflow could not be built or started; inspect its source and the local conditions it needs",
	FailureCancelled:        "The launch was cancelled before it ran; start again only if it is still wanted",
	FailureRunFailed:        "The workflow failed while it ran; inspect the run before a new start",
	FailureTimedOut:         "The workflow ran out of time; inspect the run before a new start",
	FailureInterrupted:      "The workflow was interrupted; inspect the run before a new start",
}

// MaxMessageBytes bounds the stored message of a failure.
const MaxMessageBytes = safetext.MaxBytes

// FailureMessage is the safe text of a failure: the check and the action by code,
// then the redacted detail as quoted data. At most MaxMessageBytes of one line.
// See docs/contract.md#safe-text.
func FailureMessage(code FailureCode, detail string) string {
	text := failureText[code]
	safe := strings.ReplaceAll(safetext.Line(detail), `"`, "'")
	if safe == "" {
		return text + "."
	}
	room := MaxMessageBytes - len(text) - len(`: "".`)
	return text + `: "` + safetext.Truncate(safe, room) + `".`
}
