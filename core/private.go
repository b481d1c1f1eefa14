package core

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// What is shorter is no secret by itself, and would tear words apart.
const (
	minHiddenText   = 6 // bytes
	minHiddenNumber = 5 // digits
)

// InputHider returns a function that takes private input out of a text: the whole
// of it, its texts line by line, and its longer numbers become "[input]". An engine
// may quote its input in an error, and input must not leave that way.
// See docs/contract.md#safe-text.
func InputHider(input json.RawMessage) func(string) string {
	private := []string{}
	hide := func(text string, least int) {
		if text = strings.TrimSpace(text); len(text) >= least {
			private = append(private, text)
		}
	}
	hide(string(input), minHiddenText)
	var value any
	decoder := json.NewDecoder(strings.NewReader(string(input)))
	decoder.UseNumber()
	if decoder.Decode(&value) == nil {
		eachLeaf(value, hide)
	}
	if len(private) == 0 {
		return func(text string) string { return text }
	}
	// The longest first, so that a part does not spoil the whole.
	slices.SortFunc(private, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	pairs := []string{}
	for _, text := range slices.Compact(private) {
		pairs = append(pairs, text, "[input]")
	}
	return strings.NewReplacer(pairs...).Replace
}

func eachLeaf(value any, hide func(text string, least int)) {
	switch v := value.(type) {
	case string:
		for line := range strings.Lines(v) {
			hide(line, minHiddenText)
		}
		// As it stands within JSON, or behind a logger's %q.
		if quoted, err := json.Marshal(v); err == nil {
			hide(string(quoted[1:len(quoted)-1]), minHiddenText)
		}
	case json.Number:
		hide(v.String(), minHiddenNumber)
	case []any:
		for _, element := range v {
			eachLeaf(element, hide)
		}
	case map[string]any:
		for _, member := range v {
			eachLeaf(member, hide)
		}
	}
}
