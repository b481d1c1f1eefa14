package core_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pi-workflows/wfcore/core"
)

// effect is the row and the events that an outcome leaves, every column of both.
// Of an event's payload it has what callers rely on; see wrongEffect.
func (c cell) effect(outcome string) (object, []object) {
	row := c.planted().with(object{"updated_at": stamp(0)})
	switch outcome {
	case "renew":
		row["claim_expires_at"] = epoch.Add(lease).UnixMilli()
		return row, nil
	case "release":
		row["claim_expires_at"] = epoch.UnixMilli()
		return row, nil
	case "take":
		return c.claimed(row), []object{event("claim_transferred", "caller", nil)}
	}
	states := strings.Split(outcome, ">")
	var events []object
	for i, to := range states[1:] {
		holder := row["runner_id"]
		payload := object{"from": states[i]}
		row = c.enter(row, to, payload)
		if to == "starting" || c.goesOn() {
			holder = row["runner_id"] // the new claim's
		}
		events = append(events, event(eventOf(states[i], to), holder, payload))
	}
	if c.goesOn() {
		events = append(events, event("claim_transferred", "caller", nil))
	}
	return row, events
}

func (c cell) goesOn() bool { return c.op == "goesOn" || c.op == "again" }

// enter is what a run looks like in the state that it comes to.
func (c cell) enter(row object, to string, payload object) object {
	ran := row["status"] == "running" || row["status"] == "parked"
	row["status"] = to
	switch to {
	case "starting":
		if row["started_at"] == nil {
			row["started_at"] = stamp(0)
		}
		return c.claimed(row)
	case "running":
		row["input_json"] = "null"
		if c.goesOn() {
			return c.claimed(row)
		}
		return row // the claim stays, or is gone with the next arrow
	case "parked":
		row["input_json"] = "null"
	case "done", "failed", "cancelled":
		row["input_json"] = "null"
		row["launch_options_json"] = "{}"
		row["finished_at"] = stamp(0)
	}
	if to == "failed" {
		stored := gridErrors[c.op]
		row["error_code"] = string(stored.code)
		row["error_message"] = core.FailureMessage(stored.code, stored.detail)
	}
	if (to == "failed" || to == "cancelled") && !ran {
		payload["parentRunId"] = row["parent_run_id"]
		row["parent_run_id"] = nil
	}
	return row.with(object{"runner_id": nil, "claim_token": nil, "claim_expires_at": nil})
}

// claimed is a row under the caller's new claim.
func (c cell) claimed(row object) object {
	token := c.token
	switch {
	case c.op == "goesOn":
		token = "next"
	case c.op == "again":
		token = "right"
	case token == "absent":
		token = madeToken
	}
	return row.with(object{"runner_id": "caller", "claim_token": token, "claim_expires_at": epoch.Add(lease).UnixMilli()})
}

// eventOf is the event of an arrow.
func eventOf(from, to string) string {
	switch {
	case to == "failed" && from == "starting":
		return "launch_failed"
	case to == "queued":
		return "requeued"
	}
	return to
}

func event(kind string, runner any, payload object) object {
	return object{"recorded_at": stamp(0), "run_id": "run", "workflow_ref": "flow", "type": kind, "runner_id": runner, "payload": payload}
}

// effect is what a cell leaves of what is its own.
type effect struct {
	run    object
	events []object
	turn   object // nil: none is owed
}

// ownRows are the rows of a cell in a dump, and the lines of all others.
func (f *fixture) ownRows(lines []string) (run, events, turns []object, others []string) {
	for _, line := range lines {
		table, text, _ := strings.Cut(line, " ")
		row := decode[object](f, []byte(text))
		switch {
		case table == "workflow_run_queue" && row["run_id"] == "run":
			run = append(run, row)
		case table == "run_events":
			events = append(events, row)
		case table == "workflow_turn_intents" && !strings.HasPrefix(row.text("intent_id"), "bystander-"):
			turns = append(turns, row)
		default:
			others = append(others, line)
		}
	}
	return run, events, turns, others
}

// wrongEffect compares all that is stored with what it was, but for the run, its new
// events, and its turn.
func (f *fixture) wrongEffect(before, after []string, want effect) []string {
	_, _, _, others := f.ownRows(before)
	run, events, turns, rest := f.ownRows(after)
	var faults []string
	if !slices.Equal(others, rest) {
		faults = append(faults, "other rows changed:\n"+changes(others, rest))
	}
	faults = append(faults, wrongRows("run", run, []object{want.run})...)
	if want.turn == nil {
		faults = append(faults, wrongRows("turn", turns, nil)...)
	} else {
		faults = append(faults, wrongRows("turn", turns, []object{want.turn})...)
	}
	if len(events) != len(want.events) {
		return append(faults, fmt.Sprintf("have %d events, want %d", len(events), len(want.events)))
	}
	for i, event := range want.events {
		faults = append(faults, f.wrongEvent(events[i], event)...)
	}
	return faults
}

func wrongRows(what string, have, want []object) []string {
	if len(have) != len(want) {
		return []string{fmt.Sprintf("have %d of a %s, want %d: %v", len(have), what, len(want), have)}
	}
	var faults []string
	for i, row := range want {
		faults = append(faults, differences("column of the "+what, have[i], row)...)
	}
	return faults
}

// wrongEvent compares an event. Its payload may tell more than is relied on, but
// neither a token nor the private input.
func (f *fixture) wrongEvent(stored, want object) []string {
	text := stored.text("payload_json")
	payload := decode[object](f, []byte(text))
	expected, _ := want["payload"].(object)
	have := stored.with(object{"payload": nil})
	delete(have, "seq")
	delete(have, "payload_json")
	faults := differences("event", have, want.with(object{"payload": nil}))
	for _, key := range []string{"from", "parentRunId"} {
		if payload[key] != expected[key] {
			faults = append(faults, fmt.Sprintf("payload has %s %v, want %v", key, payload[key], expected[key]))
		}
	}
	for _, private := range []string{"private", "right", "wrong", "theirs", "next", madeToken} {
		if strings.Contains(text, `"`+private) {
			faults = append(faults, "the payload tells a secret: "+text)
		}
	}
	return faults
}

func differences(what string, have, want object) []string {
	var faults []string
	for _, key := range slices.Sorted(maps.Keys(have)) {
		if fmt.Sprint(have[key]) != fmt.Sprint(plain(want[key])) {
			faults = append(faults, fmt.Sprintf("%s %s is %v, want %v", what, key, have[key], want[key]))
		}
	}
	if len(have) != len(want) {
		faults = append(faults, fmt.Sprintf("have %d of a %s, want %d", len(have), what, len(want)))
	}
	return faults
}

// plain is a number as JSON gives it back.
func plain(value any) any {
	if n, ok := value.(int64); ok {
		return float64(n)
	}
	return value
}
