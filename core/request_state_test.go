package core_test

import (
	"fmt"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// coordinate is a call of a coordinator by name, on a state and what a host saw. A panic
// would end the host's process: here it is an error like others.
func (f *fixture) coordinate(op string, state, seen object) (step object, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	answer, err := f.call(op, object{"state": state, "seen": seen})
	if err != nil {
		return nil, err
	}
	return decode[object](f, answer)["step"].(map[string]any), nil
}

// coordinators are the ops, with the least state and the steps that await a result.
var coordinators = map[string]struct {
	state object
	steps []string
	kinds []string
}{
	"nextTurnStep": {object{"sessionId": "session"},
		[]string{"note", "abort", "report", "record", "sweep", "find", "claim", "look", "send", "renew", "resolve", "release", "wait"},
		[]string{"answered", "refused", "looked", "sent", "sendFailed", "done"}},
	"nextLaunchStep": {object{"runnerId": "runner"},
		[]string{"list", "inspect", "recover", "takeOver", "claim", "build", "writeBundle", "markRunning", "run", "renew", "verify",
			"fail", "finish", "park", "cancel", "stop", "release", "record", "wait"},
		[]string{"answered", "refused", "found", "done", "built", "buildFailed"}},
}

// A state comes from outside: one that no coordinator gave is answered, and ends no
// process.
func TestStatesThatNoCoordinatorGave(t *testing.T) {
	f := open(t)
	for op, c := range coordinators {
		for _, asked := range c.steps {
			t.Run(op+"/"+asked, func(t *testing.T) {
				for _, kind := range c.kinds {
					for _, answer := range []any{nil, object{}, []any{}, []any{object{}}, "text"} {
						seen := object{"kind": kind, "step": asked, "answer": answer, "error": object{"code": "claim_lost"}}
						if op == "nextLaunchStep" {
							seen["finding"] = object{"kind": "none"}
						}
						_, err := f.coordinate(op, c.state.with(object{"asked": asked}), seen)
						if err != nil && core.CodeOf(err) != core.CodeBadRequest {
							t.Fatalf("%s %v: %v", kind, answer, err)
						}
					}
				}
			})
		}
	}
}

// Ops that found nothing answer null, and that is an answer.
func TestNullIsAnAnswer(t *testing.T) {
	f := open(t)
	outbox := []any{object{"messageId": "message", "resolution": "presentation", "runId": "run"}}
	for _, c := range []struct {
		op     string
		state  object
		asked  string
		pass   object
		outbox []any
		then   string
	}{
		{"nextLaunchStep", object{"runnerId": "runner"}, "claim", object{"mayStart": true, "listed": true}, nil, "wait"},
		{"nextTurnStep", object{"sessionId": "session"}, "find", object{"swept": true}, outbox, "send"},
		{"nextTurnStep", object{"sessionId": "session"}, "claim", object{"swept": true, "idle": true}, outbox, "send"},
	} {
		state := c.state.with(object{"asked": c.asked, "pass": c.pass})
		if c.outbox != nil {
			state["outbox"], state["asking"] = c.outbox, "message"
		}
		step, err := f.coordinate(c.op, state, object{"kind": "answered", "step": c.asked, "answer": nil})
		if err != nil || step.text("kind") != c.then {
			t.Errorf("%s, asked for %s: have %v and %v, want %s", c.op, c.asked, step, err, c.then)
		}
	}
}
