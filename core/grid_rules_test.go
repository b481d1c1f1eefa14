package core_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The state machine, written out by hand. A cell is an op, the state of a run, its
// claim, the token that the caller shows, and who the caller is. Each cell has
// exactly one rule.
//
//	claim   none     no claim is stored
//	        live     the caller's token, and the lease is not over
//	        expired  the caller's token, and the lease is over
//	        foreign  another's token, and the lease is not over
//	token   right    the caller's, wrong: one that nobody has, absent: none given.
//	                 An op that sets a claim takes it as the new token; recovery
//	                 takes it as the expected one.
//	caller  owner    the run's session, or a detached host on an ownerless run
//	        detached a detached host on a run that a session owns
//	        stranger a session on a run of another, or on an ownerless one
//
// What is owed to the run's session holds no run up, so no rule asks for it: a cell
// that is no error runs where no turn is owed, and again where one is. What becomes
// of the turn is in gridTurns.
//
// A set is names, `*` for all, or `-` and names for all others. Ops that move one
// run by a claim take no session: their caller is `*`.
//
// The outcome is an error, or null, or same (success, and nothing changed), or a
// claim move, or the states passed with an arrow each.
const gridRules = `
op                          | state                         | claim        | token        | caller            | outcome

# The holder of the live claim.
mark fail park done failed renew verify release | *         | *            | absent       | *                 | bad_request
mark                        | starting                      | live         | right        | *                 | starting>running
mark                        | running                       | live         | right        | *                 | same
mark                        | running                       | live         | wrong        | *                 | invalid_transition
mark                        | running                       | -live        | right wrong  | *                 | invalid_transition
mark                        | queued parked done failed cancelled | *      | right wrong  | *                 | invalid_transition
fail                        | starting                      | live         | right        | *                 | starting>failed
fail                        | -starting                     | *            | right wrong  | *                 | invalid_transition
mark fail                   | starting                      | live         | wrong        | *                 | claim_lost
mark fail                   | starting                      | -live        | right wrong  | *                 | claim_lost
done                        | running                       | live         | right        | *                 | running>done
failed                      | running                       | live         | right        | *                 | running>failed
done failed                 | running                       | live         | wrong        | *                 | claim_lost
done failed                 | running                       | -live        | right wrong  | *                 | claim_lost
done failed                 | -running                      | *            | right wrong  | *                 | invalid_transition
park                        | running                       | live         | right        | *                 | running>parked
park                        | starting                      | live         | right        | *                 | starting>running>parked
renew                       | starting running              | live         | right        | *                 | renew
verify                      | starting running              | live         | right        | *                 | same
release                     | starting running              | live         | right        | *                 | release
park renew verify release   | starting running              | live         | wrong        | *                 | claim_lost
park renew verify release   | starting running              | -live        | right wrong  | *                 | claim_lost
park renew verify release   | -starting running             | *            | right wrong  | *                 | invalid_transition

# The owner, with a new claim.
claim resume take           | *                             | *            | *            | -owner            | not_owner
claim                       | queued                        | *            | *            | owner             | queued>starting
resume                      | parked                        | *            | *            | owner             | parked>starting
claim resume                | starting                      | live         | right        | owner             | same
claim resume                | starting                      | live         | -right       | owner             | invalid_transition
claim resume                | starting                      | -live        | *            | owner             | invalid_transition
claim                       | -queued starting              | *            | *            | owner             | invalid_transition
resume                      | -parked starting              | *            | *            | owner             | invalid_transition
next                        | queued                        | *            | *            | owner             | queued>starting
next                        | starting                      | live         | right        | owner             | same
next                        | starting                      | live         | -right       | owner             | null
next                        | starting                      | -live        | *            | owner             | null
next                        | -queued starting              | *            | *            | owner             | null
next                        | *                             | *            | *            | -owner            | null
take                        | running                       | none expired | *            | owner             | take
take                        | running                       | live         | right        | owner             | same
take                        | running                       | live         | -right       | owner             | claim_live
take                        | running                       | foreign      | *            | owner             | claim_live
take                        | -running                      | *            | *            | owner             | invalid_transition

# The user, whoever holds the claim.
cancel                      | *                             | *            | *            | stranger          | not_owner
cancel                      | done failed cancelled         | *            | *            | -stranger         | invalid_transition
cancel                      | queued                        | *            | absent       | -stranger         | queued>cancelled
cancel                      | queued                        | live         | right        | -stranger         | queued>cancelled
cancel                      | starting                      | *            | absent       | -stranger         | starting>cancelled
cancel                      | starting                      | live         | right        | -stranger         | starting>cancelled
cancel                      | running                       | *            | absent       | -stranger         | running>cancelled
cancel                      | running                       | live         | right        | -stranger         | running>cancelled
cancel                      | parked                        | *            | absent       | -stranger         | parked>cancelled
cancel                      | parked                        | live         | right        | -stranger         | parked>cancelled
cancel                      | queued starting running parked | live        | wrong        | -stranger         | claim_lost
cancel                      | queued starting running parked | -live       | right wrong  | -stranger         | claim_lost

# Recovery: the owner, the token that it saw, and what it found.
FOUND startFailed again     | *                             | *            | *            | -owner            | not_owner
FOUND startFailed           | -starting                     | *            | *            | owner             | invalid_transition
again                       | -starting running             | *            | *            | owner             | invalid_transition
again                       | running                       | -live        | *            | owner             | invalid_transition
again                       | running                       | live         | *            | owner             | same
startFailed                 | starting                      | live expired | right        | owner             | starting>failed
startFailed                 | starting                      | live expired | -right       | owner             | claim_lost
startFailed                 | starting                      | none foreign | *            | owner             | claim_lost
FOUND again                 | starting                      | live foreign | *            | owner             | claim_live
FOUND again                 | starting                      | expired      | -right       | owner             | claim_lost
FOUND again                 | starting                      | none         | -absent      | owner             | claim_lost
unreadable sourceChanged    | starting                      | expired      | right        | owner             | starting>failed
unreadable sourceChanged    | starting                      | none         | absent       | owner             | starting>failed
wasDone                     | starting                      | expired      | right        | owner             | starting>running>done
wasDone                     | starting                      | none         | absent       | owner             | starting>running>done
wasFailed                   | starting                      | expired      | right        | owner             | starting>running>failed
wasFailed                   | starting                      | none         | absent       | owner             | starting>running>failed
wasCancelled                | starting                      | expired      | right        | owner             | starting>running>cancelled
wasCancelled                | starting                      | none         | absent       | owner             | starting>running>cancelled
waiting                     | starting                      | expired      | right        | owner             | starting>running>parked
waiting                     | starting                      | none         | absent       | owner             | starting>running>parked
goesOn again                | starting                      | expired      | right        | owner             | starting>running
goesOn again                | starting                      | none         | absent       | owner             | starting>running
noBundle                    | starting                      | expired      | right        | owner             | starting>queued
noBundle                    | starting                      | none         | absent       | owner             | starting>queued
`

// The values of each dimension of the grid.
var (
	gridStates   = strings.Fields("queued starting running parked done failed cancelled")
	gridClaims   = strings.Fields("none live expired foreign")
	gridTokens   = strings.Fields("right wrong absent")
	gridSessions = strings.Fields("own other none")
	gridRuns     = strings.Fields("owned ownerless")
	gridCallers  = strings.Fields("owner detached stranger")
	gridFound    = strings.Fields("unreadable wasDone wasFailed wasCancelled sourceChanged waiting goesOn noBundle")
)

// callerOf says who a caller with this session is to this run.
func callerOf(session, run string) string {
	switch {
	case session == "own" && run == "owned", session == "none" && run == "ownerless":
		return "owner"
	case session == "none":
		return "detached"
	}
	return "stranger"
}

type gridRule struct {
	line                              int
	ops, states, claims, tokens, whos []string
	outcome                           string
	hits                              int
}

func (r *gridRule) matches(c cell) bool {
	return slices.Contains(r.ops, c.op) && slices.Contains(r.states, c.state) && slices.Contains(r.claims, c.claim) &&
		slices.Contains(r.tokens, c.token) && slices.Contains(r.whos, callerOf(c.session, c.run))
}

func parseGridRules(t *testing.T) []*gridRule {
	t.Helper()
	ops := make([]string, len(gridOps))
	for i, op := range gridOps {
		ops[i] = op.name
	}
	var rules []*gridRule
	for i, line := range strings.Split(gridRules, "\n") {
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "op ") {
			continue
		}
		columns := strings.Split(line, "|")
		if len(columns) != 6 {
			t.Fatalf("rule line %d has %d columns", i, len(columns))
		}
		set := func(column int, of []string) []string {
			names, err := parseSet(columns[column], of)
			if err != nil {
				t.Fatalf("rule line %d: %v", i, err)
			}
			return names
		}
		rules = append(rules, &gridRule{
			line: i, ops: set(0, ops), states: set(1, gridStates), claims: set(2, gridClaims),
			tokens: set(3, gridTokens), whos: set(4, gridCallers), outcome: strings.TrimSpace(columns[5]),
		})
	}
	return rules
}

// parseSet reads a set. FOUND stands for the findings of gridFound.
func parseSet(text string, of []string) ([]string, error) {
	text = strings.ReplaceAll(strings.TrimSpace(text), "FOUND", strings.Join(gridFound, " "))
	if text == "*" {
		return of, nil
	}
	text, others := strings.CutPrefix(text, "-")
	names := strings.Fields(text)
	for _, name := range names {
		if !slices.Contains(of, name) {
			return nil, fmt.Errorf("%q is not one of %v", name, of)
		}
	}
	if others {
		names = slices.DeleteFunc(slices.Clone(of), func(s string) bool { return slices.Contains(names, s) })
	}
	return names, nil
}
