package core

import (
	"context"
	"encoding/json"

	"github.com/pi-workflows/wfcore/core/safetext"
	"github.com/pi-workflows/wfcore/core/strictjson"
	"github.com/pi-workflows/wfcore/db"
)

// Event is one row of a run's feed.
type Event struct {
	Seq          int64           `json:"seq"`
	RecordedAt   string          `json:"recordedAt"`
	RunID        string          `json:"runId"`
	WorkflowName string          `json:"workflowName"`
	Type         string          `json:"type"`
	RunnerID     *string         `json:"runnerId"`
	Payload      json.RawMessage `json:"payload"`
}

func eventOf(row db.RunEvent) Event {
	return Event{row.Seq, readTime(row.RecordedAt), row.RunID, row.WorkflowRef, row.Type, row.RunnerID, readPayload(row.PayloadJSON)}
}

// readPayload makes a payload safe that another host may have written: a flat
// object member by member, anything else as one text.
func readPayload(stored string) json.RawMessage {
	if safe, err := safePayload(json.RawMessage(stored)); err == nil {
		return safe
	}
	quoted, _ := canonical(safetext.Line(stored))
	return quoted
}

// ListEventsRequest asks for the feed of a run, or of all.
type ListEventsRequest struct {
	RunID string `json:"runId,omitempty" check:"known"`
	// AfterSeq continues a list after its last event.
	AfterSeq int64 `json:"afterSeq,omitempty" check:"seq"`
	Limit    int64 `json:"limit" check:"limit"`
}

// ListRunEvents lists events, oldest first. A run without events, or that does not
// exist, has none. See docs/contract.md#events.
func (s *Store) ListRunEvents(ctx context.Context, req ListEventsRequest) ([]Event, error) {
	if err := check(&req); err != nil {
		return nil, err
	}
	return answer(ctx, s.read, func(t *tx) ([]Event, error) {
		rows, err := t.feed(req)
		events := make([]Event, len(rows))
		for i, row := range rows {
			events[i] = eventOf(row)
		}
		return events, err
	})
}

func (t *tx) feed(req ListEventsRequest) ([]db.RunEvent, error) {
	if req.RunID == "" {
		return t.RunEventList(t, db.RunEventListParams{AfterSeq: req.AfterSeq, Limit: req.Limit})
	}
	return t.RunEventListOfRun(t, db.RunEventListOfRunParams{RunID: req.RunID, AfterSeq: req.AfterSeq, Limit: req.Limit})
}

// RecordEventRequest is an event that only a host can know of.
type RecordEventRequest struct {
	RunID string `json:"runId" check:"known"`
	// Type is claim_lost or turn_intent_failed; state events are written by their
	// transitions alone.
	Type     EventType `json:"type" check:"event"`
	RunnerID string    `json:"runnerId,omitempty" check:"key"`
	// Payload is a flat object of strings, numbers, booleans and null, at most
	// 8 KiB; strings are stored in their safe form.
	Payload json.RawMessage `json:"payload,omitempty" check:"payload"`
}

// RecordRunEvent appends a host's event to the feed of a run. Errors: not_found.
// See docs/contract.md#events.
func (s *Store) RecordRunEvent(ctx context.Context, req RecordEventRequest) (Event, error) {
	if err := check(&req); err != nil {
		return Event{}, err
	}
	safe, err := safePayload(req.Payload)
	if err != nil {
		return Event{}, err
	}
	return answer(ctx, s.write, func(t *tx) (Event, error) {
		run, err := t.get(req.RunID)
		if err != nil {
			return Event{}, err
		}
		row, err := t.record(run, req.Type, column(req.RunnerID), safe)
		return eventOf(row), err
	})
}

// safePayload makes a host's payload short, plain and safe.
func safePayload(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return json.RawMessage("{}"), nil
	}
	members, err := strictjson.Object(raw)
	if err != nil {
		return nil, notStrict("payload", err)
	}
	out := map[string]any{}
	for _, m := range members {
		value, err := safeMember(m)
		if err != nil {
			return nil, err
		}
		out[safetext.Line(m.Key)] = value
	}
	return canonical(out)
}

func safeMember(m strictjson.Member) (any, error) {
	switch strictjson.KindOf(m.Value) {
	case strictjson.KindObject, strictjson.KindArray:
		return nil, badRequest("payload", "must be flat: strings, numbers, booleans and null")
	case strictjson.KindString:
		var s string
		if err := json.Unmarshal(m.Value, &s); err != nil {
			return nil, badRequest("payload", "holds a string that cannot be read")
		}
		return safetext.RedactValue(m.Key, s), nil
	}
	// A secret can be a number.
	if safe := safetext.RedactValue(m.Key, string(m.Value)); safe != string(m.Value) {
		return safe, nil
	}
	return json.RawMessage(m.Value), nil
}
