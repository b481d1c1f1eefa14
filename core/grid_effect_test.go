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

// wrongEffect compares all that is stored with what it was, but for one run and
// its new events.
func (f *fixture) wrongEffect(before, after []string, row object, events []object) []string {
	var faults []string
	var fed []object
	seen := false
	for _, line := range after {
		table, text, _ := strings.Cut(line, " ")
		stored := decode[object](f, []byte(text))
		switch {
		case table == "workflow_run_queue" && stored["run_id"] == "run":
			seen = true
			faults = append(faults, differences("column", stored, row)...)
		case table == "run_events":
			fed = append(fed, stored)
		case !slices.Contains(before, line):
			faults = append(faults, "wrote "+line)
		}
	}
	if !seen || len(after)-len(fed) != len(before) {
		faults = append(faults, "rows are gone:\n"+changes(before, after))
	}
	if len(fed) != len(events) {
		return append(faults, fmt.Sprintf("have %d events, want %d", len(fed), len(events)))
	}
	for i, want := range events {
		faults = append(faults, f.wrongEvent(fed[i], want)...)
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
