package core

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/pi-workflows/wfcore/core/safetext"
	"github.com/pi-workflows/wfcore/core/strictjson"
)

// Call runs an op by name on a JSON request object and returns its JSON answer.
// The request is strict JSON: unknown, duplicate and mistyped fields are refused.
// On a store with a test clock it may carry `now`, an ISO 8601 time in UTC with
// milliseconds; on any other that is bad_request. Every error is an *Error.
func (s *Store) Call(ctx context.Context, op string, request []byte) ([]byte, error) {
	found := FindOp(op)
	if found == nil {
		return nil, badRequest("op", "%q is not an operation", bounded(op))
	}
	ctx, request, err := s.takeInstant(ctx, request)
	if err != nil {
		return nil, err
	}
	answer, err := found.call(ctx, s, request)
	if err != nil {
		return nil, err
	}
	return Encode(answer)
}

// Encode writes JSON as every face does: one line, no HTML escapes.
func Encode(value any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// takeInstant takes `now` out of a request on a test clock.
func (s *Store) takeInstant(ctx context.Context, request []byte) (context.Context, []byte, error) {
	if !s.cfg.TestClock {
		return ctx, request, nil // bind refuses now as unknown
	}
	members, err := strictjson.Object(request)
	if err != nil {
		return ctx, nil, notStrict("", err)
	}
	rest := []byte{'{'}
	for _, m := range members {
		if m.Key == "now" && strictjson.KindOf(m.Value) == strictjson.KindNull {
			continue
		}
		if m.Key == "now" {
			if ctx, err = withInstant(ctx, m.Value); err != nil {
				return ctx, nil, err
			}
			continue
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(strictjson.AppendString(rest, m.Key), ':')
		rest = append(rest, m.Value...)
	}
	return ctx, append(rest, '}'), nil
}

func withInstant(ctx context.Context, value []byte) (context.Context, error) {
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return ctx, badRequest("now", "must be a string")
	}
	at, ok := parseTime(text)
	if !ok || formatTime(at) != text {
		return ctx, badRequest("now", "must be a time like 2026-08-21T08:17:31.000Z")
	}
	return context.WithValue(ctx, instantKey{}, at), nil
}

// bounded makes a name from outside safe and short for a message.
func bounded(name string) string { return safetext.Truncate(safetext.Line(name), 80) }
