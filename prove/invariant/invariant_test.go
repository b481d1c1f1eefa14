package invariant

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/prove"
)

// sound is a store in which all holds: a run that failed and whose turn was told, one that
// runs, one that waits in the queue, and a report.
func sound() Look {
	run := func(id, session, status string, more Row) Row {
		row := Row{"run_id": id, "origin_session_id": session, "status": status, "input_json": "null", "launch_options_json": "{}"}
		maps.Copy(row, more)
		return row
	}
	event := func(seq, runID, kind string) Row { return Row{"seq": seq, "run_id": runID, "type": kind} }
	message := core.MessageID("intent", core.ByFallback)
	return Look{
		Runs: []Row{
			run("failed", "a", "failed", Row{"error_code": "input_invalid", "finished_at": "t"}),
			run("runs", "a", "running", Row{"claim_token": "k", "claim_expires_at": "9", "parent_run_id": "p"}),
			run("queued", "b", "queued", Row{"input_json": "1"}),
		},
		Intents: []Row{{
			"intent_id": "intent", "run_id": "failed", "target_session_id": "a", "cause": "launchFailed", "node_id": "$launch", "eligible_at": "t",
			"resolved_at": "t", "resolution": "fallback", "resolution_message_id": message,
		}},
		Reports: []Row{{"notification_id": "n", "delivered_at": "t"}},
		Events: []Row{
			event("1", "failed", "queued"), event("2", "failed", "starting"), event("3", "failed", "launch_failed"),
			event("4", "runs", "queued"), event("5", "runs", "starting"), event("6", "runs", "running"), event("7", "runs", "claim_transferred"),
			event("8", "queued", "queued"),
		},
		Messages: []Message{{"a", "intent", core.TypeDeferredTurn}},
	}
}

// Each promise that is broken is seen, by what is said of it.
func TestCheck(t *testing.T) {
	if wrong := Check(sound()); len(wrong) > 0 {
		t.Fatalf("a sound store is wrong: %q", wrong)
	}
	for want, breaks := range map[string]func(*Look){
		"two live runs":             func(l *Look) { l.Runs[2]["origin_session_id"] = "a" },
		"two continuations":         func(l *Look) { l.Runs[2]["parent_run_id"] = "p" },
		"and claimed by":            func(l *Look) { delete(l.Runs[1], "claim_token") },
		"finished at":               func(l *Look) { delete(l.Runs[0], "finished_at") },
		"with error":                func(l *Look) { l.Runs[1]["error_code"] = "run_failed" },
		"keeps its private input":   func(l *Look) { l.Runs[1]["input_json"] = "1" },
		"the ended run failed":      func(l *Look) { l.Runs[0]["launch_options_json"] = `{"a":1}` },
		"by event running":          func(l *Look) { l.Events[4]["type"] = "cancelled" },
		"leads to":                  func(l *Look) { l.Events = l.Events[:5] },
		"is owed no turn":           func(l *Look) { l.Intents = nil },
		"to the session":            func(l *Look) { l.Intents[0]["target_session_id"] = "b" },
		"owes a turn for a failure": func(l *Look) { l.Runs[0]["status"] = "cancelled" },
		"turns at once": func(l *Look) {
			l.Intents = append(l.Intents, pending("1"), pending("2"))
		},
		"is resolved in part":         func(l *Look) { delete(l.Intents[0], "resolution") },
		"the resolved intent":         func(l *Look) { l.Intents[0]["delivery_claim_token"] = "k" },
		"has half a claim":            func(l *Look) { l.Intents[0]["delivery_claim_expires_at"] = "9" },
		"was told by":                 func(l *Look) { l.Messages[0].CustomType = core.TypeAgentStep },
		"was told 2 times":            func(l *Look) { l.Messages = append(l.Messages, l.Messages[0]) },
		"no message tells it":         func(l *Look) { l.Messages = []Message{} },
		"has the message id":          func(l *Look) { l.Intents[0]["resolution_message_id"] = "m" },
		"the delivered report":        func(l *Look) { l.Reports[0]["delivery_claim_token"] = "k" },
		"run unknown is running, and": func(l *Look) { l.Runs[1]["run_id"] = "unknown" },
	} {
		look := sound()
		breaks(&look)
		if wrong := strings.Join(Check(look), "; "); !strings.Contains(wrong, want) {
			t.Errorf("%q is not seen: %q", want, wrong)
		}
	}
}

func pending(id string) Row { return Row{"intent_id": id, "run_id": "runs", "target_session_id": "a"} }

// Rows of another host promise less, and not nothing.
func TestForeign(t *testing.T) {
	look := sound()
	look.Foreign = func(runID string) bool { return runID == "runs" }
	look.Runs[1]["input_json"], look.Events = "1", slices.DeleteFunc(look.Events, func(e Row) bool { return e["run_id"] == "runs" })
	if wrong := Check(look); len(wrong) > 0 {
		t.Errorf("another host's run is wrong: %q", wrong)
	}
	delete(look.Runs[1], "claim_token")
	if len(Check(look)) == 0 {
		t.Error("another host's running run has half a claim, and that is not seen")
	}
}

func TestBetween(t *testing.T) {
	if wrong := Between(sound(), sound()); len(wrong) > 0 {
		t.Fatalf("nothing happened, and that is wrong: %q", wrong)
	}
	for want, breaks := range map[string]func(*Look){
		"run runs is gone":        func(l *Look) { l.Runs = slices.Delete(l.Runs, 1, 2) },
		"run runs changed":        func(l *Look) { l.Runs[1]["origin_session_id"] = "c" },
		"run failed had ended":    func(l *Look) { l.Runs[0]["error_message"] = "other" },
		"intent intent is gone":   func(l *Look) { l.Intents = nil },
		"intent intent changed":   func(l *Look) { l.Intents[0]["cause"] = "failed" },
		"became eligible again":   func(l *Look) { l.Intents[0]["eligible_at"] = "u" },
		"was resolved, and chang": func(l *Look) { l.Intents[0]["resolution"] = "presentation" },
		"event 8 changed":         func(l *Look) { l.Events = l.Events[:7] },
		"event 1 changed":         func(l *Look) { l.Events[0]["payload_json"] = "{}" },
	} {
		look := sound()
		breaks(&look)
		if wrong := strings.Join(Between(sound(), look), "; "); !strings.Contains(wrong, want) {
			t.Errorf("%q is not seen: %q", want, wrong)
		}
		if len(Unchanged(sound(), look)) == 0 {
			t.Errorf("%q is no change", want)
		}
	}
}

func TestWatch(t *testing.T) {
	watch := Watch{Acknowledged: []string{"queued"}}
	if wrong := watch.Look(sound()); len(wrong) > 0 {
		t.Fatalf("a sound store is wrong: %q", wrong)
	}
	look := sound()
	look.Runs = look.Runs[:2]
	if wrong := strings.Join(watch.Look(look), "; "); !strings.Contains(wrong, "acknowledged") || !strings.Contains(wrong, "run queued is gone") {
		t.Errorf("an acknowledged run is gone, and that is not seen: %q", wrong)
	}
}

func TestFiles(t *testing.T) {
	dir := prove.Dir(t)
	path := filepath.Join(dir, "store")
	for name, mode := range map[string]os.FileMode{"store": 0o600, "store-wal": 0o640, "other": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("a marker"), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	wide, err := Private(path)
	if err != nil || len(wide) != 1 || !strings.Contains(wide[0], "store-wal") {
		t.Errorf("others may read %q, %v", wide, err)
	}
	found, err := Absent(dir, "marker")
	if err != nil || len(found) != 3 {
		t.Errorf("the text is found in %q, %v", found, err)
	}
}
