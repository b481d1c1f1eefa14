package core_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// gridOp is one op of the grid, or one finding of a recovery.
type gridOp struct {
	name    string // in gridRules
	op      string
	request object
	// session says that the op takes the caller's session, and token under which
	// name it takes the token.
	session bool
	token   string
	answer  string // the private fields that its answer has
}

var gridOps = []gridOp{
	{"claim", "claimPreparedRun", newClaim, true, "claimToken", "claimToken input"},
	{"next", "claimNextRun", object{"runnerId": "caller", "leaseMs": leaseMS}, true, "claimToken", "claimToken input"},
	{"resume", "resumeParkedRun", newClaim, true, "claimToken", "claimToken input"},
	{"mark", "markPreparedRunRunning", object{"runId": "run"}, false, "claimToken", ""},
	{"fail", "failPreparedRun", object{"runId": "run", "errorCode": "input_invalid", "errorMessage": "no"}, false, "claimToken", ""},
	{"cancel", "cancelPreparedRun", object{"runId": "run"}, true, "claimToken", ""},
	{"park", "parkRunningRun", object{"runId": "run"}, false, "claimToken", ""},
	{"done", "finishRunningRun", object{"runId": "run", "status": "done"}, false, "claimToken", ""},
	{"failed", "finishRunningRun", object{"runId": "run", "status": "failed", "errorCode": "timed_out", "errorMessage": "no"}, false, "claimToken", ""},
	{"renew", "renewRunClaim", object{"runId": "run", "leaseMs": leaseMS}, false, "claimToken", ""},
	{"verify", "verifyRunClaim", object{"runId": "run"}, false, "claimToken", ""},
	{"release", "releaseRunClaim", object{"runId": "run"}, false, "claimToken", ""},
	{"take", "takeOverExpiredRun", newClaim, true, "claimToken", "claimToken"},
	found("startFailed", object{"kind": "startFailed", "code": "workflow_invalid", "message": "no"}, ""),
	found("unreadable", object{"kind": "unreadable"}, ""),
	found("wasDone", object{"kind": "terminal", "status": "done"}, ""),
	found("wasFailed", object{"kind": "terminal", "status": "failed", "code": "timed_out", "message": "no"}, ""),
	found("wasCancelled", object{"kind": "terminal", "status": "cancelled"}, ""),
	found("sourceChanged", object{"kind": "sourceChanged"}, ""),
	found("waiting", object{"kind": "waiting"}, ""),
	found("goesOn", object{"kind": "running", "runnerId": "caller", "claimToken": "next", "leaseMs": leaseMS}, "claimToken"),
	// A repeat: the new token is the one that the caller has already.
	found("again", object{"kind": "running", "runnerId": "caller", "claimToken": "right", "leaseMs": leaseMS}, "claimToken"),
	found("noBundle", object{"kind": "none"}, ""),
}

var newClaim = object{"runId": "run", "runnerId": "caller", "leaseMs": leaseMS}

func found(name string, finding object, answer string) gridOp {
	return gridOp{name, "recoverExpiredStartingRun", object{"runId": "run", "finding": finding}, true, "expectedClaimToken", answer}
}

// gridErrors is what an op stores of a failed run: the code, and the detail of
// the message.
var gridErrors = map[string]struct {
	code   core.FailureCode
	detail string
}{
	"fail":          {core.FailureInputInvalid, "no"},
	"failed":        {core.FailureTimedOut, "no"},
	"startFailed":   {core.FailureWorkflowInvalid, "no"},
	"unreadable":    {core.FailureActivationFailed, "the run bundle cannot be read"},
	"wasFailed":     {core.FailureTimedOut, "no"},
	"sourceChanged": {core.FailureSourceChanged, ""},
}

// cell is one situation of the grid.
type cell struct{ op, state, claim, token, session, run, owed string }

func (c cell) String() string {
	return fmt.Sprintf("%s on a %s %s run, claim %s, token %s, session %s, owed %s", c.op, c.run, c.state, c.claim, c.token, c.session, c.owed)
}

// request is what the caller asks for.
func (c cell) request(op gridOp) object {
	request := op.request.with(nil)
	if c.token != "absent" {
		request[op.token] = c.token
	}
	if op.session && c.session != "none" {
		request["sessionId"] = c.session
	}
	return request
}

// planted is the run of a cell. Its feed is empty: another host wrote it.
func (c cell) planted() object {
	row := object{
		"run_id": "run", "workflow_ref": "flow", "workflow_path": "file:flow", "workflow_source_json": `{"id":"flow"}`,
		"definition_digest": "digest-1", "input_json": `{"private":1}`, "launch_options_json": `{"opt":true}`,
		"status": c.state, "runner_id": nil, "claim_token": nil, "claim_expires_at": nil,
		"affinity_runner_id": "home", "origin_session_id": nil, "parent_run_id": "parent",
		"error_code": nil, "error_message": nil,
		"created_at": stamp(-4 * lease), "updated_at": stamp(-2 * lease), "started_at": stamp(-3 * lease), "finished_at": nil,
	}
	if c.run == "owned" {
		row["origin_session_id"] = "own"
	}
	switch c.claim {
	case "live":
		row = row.with(object{"runner_id": "caller", "claim_token": "right", "claim_expires_at": epoch.UnixMilli() + 1})
	case "expired":
		row = row.with(object{"runner_id": "caller", "claim_token": "right", "claim_expires_at": epoch.UnixMilli()})
	case "foreign":
		row = row.with(object{"runner_id": "other", "claim_token": "theirs", "claim_expires_at": epoch.Add(lease).UnixMilli()})
	}
	switch c.state {
	case "queued":
		row["started_at"] = nil
	case "failed":
		row = row.with(object{"error_code": "run_failed", "error_message": "It failed."})
		fallthrough
	case "done", "cancelled":
		row["finished_at"] = stamp(-2 * lease)
	}
	return row
}

// bystanders are runs of other sessions under the caller's own token, which no
// cell may touch.
func (f *fixture) bystanders() {
	for _, state := range gridStates {
		row := cell{state: state, claim: "live", run: "owned"}.planted()
		f.insert("workflow_run_queue", row.with(object{
			"run_id": "bystander-" + state, "origin_session_id": "session-" + state, "parent_run_id": nil,
		}))
	}
	f.bystandingTurns()
}

func TestGrid(t *testing.T) {
	rules := parseGridRules(t)
	if len(rules) > 80 {
		t.Errorf("%d rules are too many to read", len(rules))
	}
	cells := 0
	for _, op := range gridOps {
		outcomes, todo := map[cell]string{}, cellsOf(op.name)
		for _, c := range todo {
			outcomes[c] = ruleOf(t, rules, c).outcome
			if !isCode(outcomes[c]) {
				also := c
				also.owed = "pending"
				outcomes[also] = outcomes[c]
				todo = append(todo, also)
			}
		}
		cells += len(todo)
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			f := open(t)
			f.bystanders()
			for _, c := range todo {
				f.exec("DELETE FROM workflow_run_queue WHERE run_id = 'run'")
				f.exec("DELETE FROM run_events")
				f.insert("workflow_run_queue", c.planted())
				f.gridOwe(c)
				for _, fault := range f.check(c, op, outcomes[c]) {
					t.Errorf("%v, want %s: %s", c, outcomes[c], fault)
				}
			}
		})
	}
	for _, rule := range rules {
		if rule.hits == 0 {
			t.Errorf("no cell has the rule of line %d, with outcome %s", rule.line, rule.outcome)
		}
	}
	t.Logf("%d cells, %d rules", cells, len(rules))
}

func cellsOf(op string) (cells []cell) {
	for _, state := range gridStates {
		for _, claim := range gridClaims {
			for _, token := range gridTokens {
				for _, session := range gridSessions {
					for _, run := range gridRuns {
						cells = append(cells, cell{op, state, claim, token, session, run, "nothing"})
					}
				}
			}
		}
	}
	return cells
}

func ruleOf(t *testing.T, rules []*gridRule, c cell) *gridRule {
	t.Helper()
	var found *gridRule
	for _, rule := range rules {
		if !rule.matches(c) {
			continue
		}
		if found != nil {
			t.Fatalf("%v has two rules, of lines %d and %d", c, found.line, rule.line)
		}
		found = rule
	}
	if found == nil {
		t.Fatalf("%v has no rule", c)
	}
	found.hits++
	return found
}

// check runs a cell and says what is not as its outcome has it.
func (f *fixture) check(c cell, op gridOp, outcome string) []string {
	before := f.dump()
	answer, err := f.call(op.op, c.request(op))
	after := f.dump()
	if isCode(outcome) {
		return append(wrongError(c, err, core.Code(outcome)), unchanged(before, after)...)
	}
	if err != nil {
		return append([]string{err.Error()}, unchanged(before, after)...)
	}
	if outcome == "null" {
		if string(answer) != "null" {
			return []string{"answered " + string(answer)}
		}
		return unchanged(before, after)
	}
	faults := f.wrongAnswer(op, answer, outcome)
	if outcome == "same" {
		return append(faults, unchanged(before, after)...)
	}
	row, events := c.effect(outcome)
	return append(faults, f.wrongEffect(before, after, effect{row, events, c.turn(outcome)})...)
}

// isCode says that an outcome is an error.
func isCode(outcome string) bool {
	return slices.ContainsFunc(core.Codes, func(info core.CodeInfo) bool { return string(info.Code) == outcome })
}

func unchanged(before, after []string) []string {
	if slices.Equal(before, after) {
		return nil
	}
	return []string{"the store changed:\n" + changes(before, after)}
}

// wrongError looks at the code, and at the facts that a caller acts on.
func wrongError(c cell, err error, want core.Code) []string {
	e, ok := err.(*core.Error)
	if !ok || e.Code != want {
		return []string{fmt.Sprintf("have error %v", err)}
	}
	facts := map[core.Code]object{
		core.CodeBadRequest:        {"field": "claimToken"},
		core.CodeNotOwner:          {"runId": "run"},
		core.CodeInvalidTransition: {"runId": "run", "status": c.state},
		core.CodeClaimLost:         {"runId": "run"},
		core.CodeClaimLive:         {"runId": "run", "runnerId": c.planted()["runner_id"]},
	}
	var faults []string
	for key, value := range facts[want] {
		if e.Details[key] != value {
			faults = append(faults, fmt.Sprintf("details have %s %v, want %v", key, e.Details[key], value))
		}
	}
	return faults
}

// wrongAnswer looks for the state, and for private fields: only claim and resume
// return input, and only the op that set a token returns it.
func (f *fixture) wrongAnswer(op gridOp, answer []byte, outcome string) []string {
	run := decode[object](f, answer)
	var faults []string
	for _, private := range []string{"claimToken", "input"} {
		_, has := run[private]
		if has != strings.Contains(op.answer, private) {
			faults = append(faults, fmt.Sprintf("the answer has %s: %t", private, has))
		}
	}
	if states := strings.Split(outcome, ">"); len(states) > 1 && run["status"] != states[len(states)-1] {
		faults = append(faults, fmt.Sprintf("answered with status %v", run["status"]))
	}
	return faults
}
