package core_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
	schema "github.com/pi-workflows/wfcore/sql"
)

// The contract's names of turns and reports, once more and by hand.
const (
	contractCauses      = "agentCancelled timedOut failed launchFailed controllerInterrupted claimLost"
	contractResolutions = "workflowPrompt presentation fallback"
	contractReports     = "progress final"
)

var quotedCamel = regexp.MustCompile(`'([a-zA-Z]+)'`)

// checked are the names that a CHECK of a column takes.
func checked(t *testing.T, table, column string) []string {
	t.Helper()
	_, text, _ := strings.Cut(schema.Schema, "CREATE TABLE IF NOT EXISTS "+table+" (")
	text, _, _ = strings.Cut(text, "\n);")
	check := regexp.MustCompile(`CHECK \(\s*` + column + ` IN \(([^)]*)\)\s*\)`).FindStringSubmatch(text)
	if check == nil {
		t.Fatalf("%s has no CHECK of its %s", table, column)
	}
	var found []string
	for _, m := range quotedCamel.FindAllStringSubmatch(check[1], -1) {
		found = append(found, m[1])
	}
	return found
}

func TestNamesOfTurnsAndReportsInCodeAndSchema(t *testing.T) {
	reports := names([]core.NotificationKind{core.NotifyProgress, core.NotifyFinal})
	for _, c := range []struct{ what, code, contract, table, column string }{
		{"causes", names(core.Causes), contractCauses, "workflow_turn_intents", "cause"},
		{"resolutions", names(core.Resolutions), contractResolutions, "workflow_turn_intents", "resolution"},
		{"kinds of reports", reports, contractReports, "workflow_notifications", "kind"},
	} {
		equal(t, c.what+" of the code", c.code, c.contract)
		same(t, c.what+" of the schema", checked(t, c.table, c.column), strings.Fields(c.contract))
	}
}

// A request takes all of the names, and no others.
func TestNamesOfTurnsAndReportsInRequests(t *testing.T) {
	f := open(t)
	f.plantIntent(nil)
	for _, c := range []struct{ op, field, takes string }{
		{"ensureWorkflowTurnIntent", "cause", contractCauses},
		{"noteTurnEvent", "abortCause", contractCauses},
		{"resolveWorkflowTurnIntent", "resolution", contractResolutions},
		{"enqueueWorkflowNotification", "kind", contractReports},
		{"listWorkflowTurnIntents", "state", "pending eligible resolved"},
	} {
		for _, name := range strings.Fields(contractCauses + " " + contractResolutions + " " + contractReports + " pending eligible resolved launch_failure") {
			_, err := f.call(c.op, agreeing(c.op, c.field, name))
			taken := slices.Contains(strings.Fields(c.takes), name)
			if c.field == "abortCause" && (name == "failed" || name == "launchFailed") {
				taken = false // no abort has these
			}
			equal(t, c.op+" takes "+c.field+" "+name, core.CodeOf(err) != core.CodeBadRequest, taken)
		}
	}
}

func TestKindsOfReportsInTheQueries(t *testing.T) {
	compared := regexp.MustCompile(`\bkind (?:=|IN) (?:'[a-z_]+'|\([^)]*\))`)
	seen := 0
	for name, query := range queries(t) {
		for _, text := range compared.FindAllString(query, -1) {
			seen++
			same(t, "kinds of "+name, quotedNames(text), strings.Fields(contractReports))
		}
	}
	if seen == 0 {
		t.Error("no query asks for the kind of a report")
	}
}

// TestStatesOfTheIntentList: each filter that a request takes is one that the query knows.
func TestStatesOfTheIntentList(t *testing.T) {
	var known []string
	for _, m := range regexp.MustCompile(`WHEN '([a-z]+)' THEN`).FindAllStringSubmatch(queries(t)["IntentList"], -1) {
		known = append(known, m[1])
	}
	same(t, "states of IntentList", known, strings.Fields(names([]core.IntentState{core.IntentPending, core.IntentEligible, core.IntentResolved})))
}

// Some guards look into the payload of an event, as core writes it.
func TestTextsThatQueriesLookForAreWritten(t *testing.T) {
	f := open(t)
	f.parked("resumed", "one")
	f.ok("resumeParkedRun", claim("resumed", "one", "again"))
	f.running("cancelled", "two")
	f.ok("cancelPreparedRun", object{"runId": "cancelled", "origin": "agent"})
	f.running("done", "three")
	f.ok("finishRunningRun", held("done", "tok").with(object{"status": "done", "turnEvent": object{"presentationExpected": true}}))
	written := map[string]string{
		`"from":"parked"`: "resumed starting",
		`"from":"`: "resumed starting, resumed running, resumed parked, resumed starting, " +
			"cancelled starting, cancelled running, cancelled cancelled, done starting, done running, done done",
		`"origin":"agent"`:            "cancelled cancelled",
		`"presentationExpected":true`: "done done",
	}
	looked := map[string]bool{}
	for name, query := range queries(t) {
		for _, m := range regexp.MustCompile(`LIKE '%([^']*)%'`).FindAllStringSubmatch(query, -1) {
			looked[m[1]] = true
			if written[m[1]] == "" {
				t.Errorf("%s looks for %s", name, m[1])
			}
		}
	}
	equal(t, "texts that are looked for", len(looked), len(written))
	for text, by := range written {
		var found []string
		for _, event := range f.rows("run_events") {
			if strings.Contains(event.text("payload_json"), text) {
				found = append(found, event.text("run_id")+" "+event.text("type"))
			}
		}
		same(t, text, found, strings.Split(by, ", "))
	}
}
