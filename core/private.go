package core

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/pi-workflows/wfcore/core/strictjson"
)

// What is shorter is no secret by itself, and would tear words apart.
const (
	minHiddenText   = 6 // bytes
	minHiddenNumber = 5 // digits
)

// A part of a longer text is found by windows of it: every window at a multiple of
// the step is known, so each part of windowBytes+windowStep bytes holds one.
const (
	windowBytes = 16
	windowStep  = 8
)

// hidden is what is known of private input.
type hidden struct {
	texts   []string        // all of it
	windows map[string]spot // windows of the texts
	short   map[string]bool // texts too short to be found by a window
	lengths []int           // of the short ones
}

type spot struct{ text, at int }

// InputHider returns a function that takes private input out of a text: each of
// its texts, longer numbers and telling keys, and each longer part of the whole,
// becomes "[input]". An engine may quote its input in an error, and input must not
// leave that way. See docs/contract.md#safe-text.
func InputHider(input json.RawMessage) func(string) string {
	h := &hidden{windows: map[string]spot{}, short: map[string]bool{}}
	h.add(string(input), minHiddenText)
	decoder := json.NewDecoder(strings.NewReader(string(input)))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) == nil {
		h.addLeaves(value)
	}
	if len(h.texts) == 0 {
		return func(text string) string { return text }
	}
	return h.hide
}

func (h *hidden) add(text string, least int) {
	text = strings.TrimSpace(text)
	if len(text) < least {
		return
	}
	h.texts = append(h.texts, text)
	if len(text) < windowBytes+windowStep {
		h.short[text] = true
		if !slices.Contains(h.lengths, len(text)) {
			h.lengths = append(h.lengths, len(text))
		}
		return
	}
	for at := 0; at+windowBytes <= len(text); at += windowStep {
		h.windows[text[at:at+windowBytes]] = spot{len(h.texts) - 1, at}
	}
}

func (h *hidden) addLeaves(value any) {
	switch v := value.(type) {
	case string:
		h.addText(v)
	case json.Number:
		h.add(v.String(), minHiddenNumber)
	case []any:
		for _, element := range v {
			h.addLeaves(element)
		}
	case map[string]any:
		for key, member := range v {
			if isTelling(key) {
				h.addText(key)
			}
			h.addLeaves(member)
		}
	}
}

// addText adds a text line by line, and as JSON and loggers escape it.
func (h *hidden) addText(text string) {
	for line := range strings.Lines(text) {
		h.add(line, minHiddenText)
	}
	quoted := string(strictjson.AppendString(nil, text))
	for _, escaped := range []string{quoted, strconv.QuoteToASCII(text)} {
		if inner := escaped[1 : len(escaped)-1]; inner != text {
			h.add(inner, minHiddenText)
		}
	}
}

// isTelling tells a key that is data, like an address, from the name of a field,
// which an error has to name.
func isTelling(key string) bool {
	return strings.ContainsFunc(key, func(r rune) bool { return !isRunIDRune(r) && r != '$' })
}

// hide replaces each stretch of the text that is private.
func (h *hidden) hide(text string) string {
	var out strings.Builder
	from, end := 0, 0 // text[:from] is written; text[from:end] is private
	for i := 0; i < len(text); i++ {
		// What a stretch holds is settled but for its last window, so each byte is
		// looked at a bounded number of times.
		i = max(i, end-windowBytes+1)
		start, stop := h.privateAt(text, i, max(from, end))
		if stop <= end {
			continue
		}
		if start > end || end == 0 {
			h.flush(&out, text, &from, start, end)
		}
		end = stop
	}
	h.flush(&out, text, &from, len(text), end)
	return out.String()
}

// flush writes the private stretch that ends at end, and what is plain up to next.
func (h *hidden) flush(out *strings.Builder, text string, from *int, next, end int) {
	if end > *from {
		out.WriteString("[input]")
		*from = end
	}
	out.WriteString(text[*from:next])
	*from = next
}

// privateAt returns the private stretch around i, from not before from, or nothing.
func (h *hidden) privateAt(text string, i, from int) (start, stop int) {
	if i+windowBytes <= len(text) {
		if s, ok := h.windows[text[i:i+windowBytes]]; ok {
			return h.extend(text, i, from, s)
		}
	}
	for _, n := range h.lengths {
		if i+n <= len(text) && h.short[text[i:i+n]] {
			stop = max(stop, i+n)
		}
	}
	return i, stop
}

// extend widens a window to all that the text and the private one share.
func (h *hidden) extend(text string, i, from int, s spot) (start, stop int) {
	private := h.texts[s.text]
	start, at := i, s.at
	for start > from && at > 0 && text[start-1] == private[at-1] {
		start, at = start-1, at-1
	}
	stop, at = i+windowBytes, s.at+windowBytes
	for stop < len(text) && at < len(private) && text[stop] == private[at] {
		stop, at = stop+1, at+1
	}
	return start, stop
}
