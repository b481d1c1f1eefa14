package core

import (
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/pi-workflows/wfcore/core/safetext"
	"github.com/pi-workflows/wfcore/core/strictjson"
)

// FactsSchema names the form of Facts.
const FactsSchema = "pi-workflows.deferred-turn-facts.v1"

// Facts are what a fallback may say of a stopped turn: observed, bounded, safe.
// See docs/turns.md#facts.
type Facts struct {
	Schema        string  `json:"schema"`
	WorkflowName  string  `json:"workflowName"`
	RunID         string  `json:"runId"`
	ObservedState string  `json:"observedState"`
	Cause         Cause   `json:"cause"`
	NodeID        *string `json:"nodeId"`
	AttemptID     *string `json:"attemptId"`
	// Reason is safe text of at most 8,192 UTF-16 code units.
	Reason *string `json:"reason"`
	// Handoff says that another runner can continue: the run is not called
	// terminal.
	Handoff bool `json:"handoff"`
}

// fact is one field of the facts.
type fact struct {
	name     string
	says     string // completes "must be"
	nullable bool
	ok       func(text string) bool
	set      func(*Facts, string)
}

const keySays = "1 to 512 UTF-16 code units without control characters"

var facts = []fact{
	{"schema", FactsSchema, false, func(s string) bool { return s == FactsSchema }, func(f *Facts, s string) { f.Schema = s }},
	{"workflowName", keySays, false, isKeyText, func(f *Facts, s string) { f.WorkflowName = s }},
	{"runId", "1 to 512 UTF-16 code units", false, func(s string) bool { return isKnown(s) }, func(f *Facts, s string) { f.RunID = s }},
	{"observedState", keySays, false, isKeyText, func(f *Facts, s string) { f.ObservedState = s }},
	{"cause", oneOf(Causes).says, false, func(s string) bool { return slices.Contains(Causes, Cause(s)) }, func(f *Facts, s string) { f.Cause = Cause(s) }},
	{"nodeId", keySays + ", or null", true, isKeyText, func(f *Facts, s string) { f.NodeID = &s }},
	{"attemptId", keySays + ", or null", true, isKeyText, func(f *Facts, s string) { f.AttemptID = &s }},
	{"reason", "at most 8,192 UTF-16 code units, or null", true, isReason, func(f *Facts, s string) { f.Reason = &s }},
}

func isKeyText(s string) bool { return isKey(s) }

func isReason(s string) bool {
	return utf8.ValidString(s) && strictjson.UTF16Len(s) <= MaxReasonUnits
}

// checkFacts reads facts field by field: all of them are there, and no others. It
// returns them with their reason in its safe form.
func checkFacts(path string, raw json.RawMessage) (Facts, error) {
	members, err := strictjson.Object(raw)
	if err != nil {
		return Facts{}, notStrict(path, err)
	}
	given := map[string]json.RawMessage{}
	for _, m := range members {
		if m.Key != "handoff" && !slices.ContainsFunc(facts, func(f fact) bool { return f.name == m.Key }) {
			return Facts{}, badRequest(join(path, bounded(m.Key)), "is not a field of the facts")
		}
		given[m.Key] = m.Value
	}
	var out Facts
	for _, f := range facts {
		if err := f.read(join(path, f.name), given[f.name], &out); err != nil {
			return Facts{}, err
		}
	}
	if given["handoff"] == nil || strictjson.KindOf(given["handoff"]) != strictjson.KindBool {
		return Facts{}, badRequest(join(path, "handoff"), "must be true or false")
	}
	out.Handoff = given["handoff"][0] == 't'
	out.Reason = safeText(out.Reason)
	return out, nil
}

func (f fact) read(path string, value json.RawMessage, out *Facts) error {
	if value == nil {
		return badRequest(path, "is missing")
	}
	kind := strictjson.KindOf(value)
	if f.nullable && kind == strictjson.KindNull {
		return nil
	}
	var text string
	if kind != strictjson.KindString || json.Unmarshal(value, &text) != nil || !f.ok(text) {
		return badRequest(path, "must be %s", f.says)
	}
	f.set(out, text)
	return nil
}

// encode is the canonical JSON of facts.
func (f Facts) encode() (string, error) {
	text, err := canonical(f)
	return string(text), err
}

// readFacts reads stored facts that another host may have written: what is not as
// it should be is taken from the row.
func readFacts(i Intent) Facts {
	f := Facts{NodeID: briefly(i.NodeID), AttemptID: briefly(i.AttemptID)}
	members, _ := strictjson.Object(i.FallbackFacts) // which has none where it is no object
	for _, m := range members {
		if m.Key == "handoff" {
			f.Handoff = string(m.Value) == "true"
		}
		if at := slices.IndexFunc(facts, func(f fact) bool { return f.name == m.Key }); at >= 0 {
			_ = facts[at].read(m.Key, m.Value, &f) // which sets nothing where it is not sound
		}
	}
	f.WorkflowName, f.RunID, f.Cause, f.Reason = i.WorkflowRef, i.RunID, i.Cause, safeText(f.Reason)
	return f
}

// briefly is brief of a column that may be empty.
func briefly(name *string) *string {
	if text(name) == "" {
		return nil
	}
	short := brief(*name)
	return &short
}

// brief makes a stored name fit into facts, also one that another host wrote.
func brief(name string) string {
	name = safetext.Plain(name)
	for strictjson.UTF16Len(name) > MaxKeyUnits {
		name = safetext.Truncate(name, len(name)*3/4)
	}
	return or(name, "unknown")
}
