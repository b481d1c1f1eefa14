package scenario

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/prove"
	"github.com/pi-workflows/wfcore/prove/invariant"
)

// want is what each scenario comes to where nothing disturbs it: the feed of our run, and
// the paths on which its turns were told.
var want = map[string]struct{ feed, told string }{
	"done":                            {"queued starting running done", ""},
	"build fails":                     {"queued starting launch_failed", "fallback"},
	"bundle cannot be written":        {"queued starting launch_failed", "fallback"},
	"source changed":                  {"queued starting launch_failed", "fallback"},
	"fails after it ran":              {"queued starting running failed", "fallback"},
	"times out":                       {"queued starting running failed", "fallback"},
	"agent cancels its step":          {"queued starting running cancelled", "fallback"},
	"user cancels what is queued":     {"queued cancelled", ""},
	"user cancels what runs":          {"queued starting running cancelled", ""},
	"user cancels after an interrupt": {"queued starting running cancelled", ""}, // owed, and never due
	"recovery prompt after a timeout": {"queued starting running done", "workflowPrompt"},
	"fails after its recovery prompt": {"queued starting running failed", "workflowPrompt"},
	"presentation after an interrupt": {"queued starting running done", "presentation"},
	"quiet end after an interrupt":    {"queued starting running done", "fallback"},
	"message is shown late":           {"queued starting launch_failed", "fallback"},
	"message is lost":                 {"queued starting launch_failed", "fallback"},
	"parked and resumed":              {"queued starting running parked starting running done", ""},
	"shutdown and restart":            {"queued starting running claim_transferred done", ""},
	"claim lost to another runner":    {"queued starting running claim_transferred claim_lost done", "workflowPrompt"},
	"launch is lost three times":      {"queued starting requeued starting requeued starting launch_failed", "fallback"},
	"another host left a launch":      {"requeued starting running done", ""},
	"another host left a run":         {"claim_transferred done", ""},
	"another host fails our run":      {"queued starting running", "fallback"},
	"another host cancels our run":    {"queued starting running", ""},
	"report":                          {"queued starting running done", ""},
}

// Undisturbed, each scenario goes as it is meant to, breaks no invariant, and leaves
// nothing to recover but what a process does at every start.
func TestScenarios(t *testing.T) {
	for _, s := range All {
		if _, ok := want[s.Name]; !ok {
			t.Errorf("want does not say what %q comes to", s.Name)
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			dir := prove.Dir(t)
			check := Watch(dir)
			checked := func(string) bool { WantNone(t, dir, func(string) ([]string, error) { return check() }); return false }
			play(t, dir, Options{Process: "host", Stop: checked}, s.Play)
			play(t, dir, Options{Process: "rescue", After: 3 * Lease}, Recover)
			checked("recovered")
			WantNone(t, dir, Settled)
			look, _, err := Look(dir)
			must(t, err)
			feed := strings.Join(append(look.Feed(Run), look.Feed(sharedPrefix+Run)...), " ")
			if feed != want[s.Name].feed {
				t.Errorf("the feed is %q, want %q", feed, want[s.Name].feed)
			}
			told := []string{}
			for _, intent := range look.Intents {
				if intent["target_session_id"] == Session {
					told = append(told, intent["resolution"])
				}
			}
			if have := strings.Join(told, " "); have != want[s.Name].told {
				t.Errorf("turns were told by %q, want %q", have, want[s.Name].told)
			}
			play(t, dir, Options{Process: "again", After: time.Hour}, Again)
			WantNone(t, dir, Check)
			WantNone(t, dir, Secret)
		})
	}
}

// play is a process that nothing disturbs.
func play(t *testing.T, dir string, o Options, script func(*World) error) {
	t.Helper()
	w, err := Open(dir, o)
	must(t, err)
	must(t, script(w))
	for _, problem := range w.Problems {
		t.Error(problem)
	}
	must(t, w.Close())
}

// The other host makes moves of each kind beside every scenario, and is seen.
func TestOtherHostLives(t *testing.T) {
	dir := prove.Dir(t)
	done, _ := Find("done")
	play(t, dir, Options{Process: "host"}, done.Play)
	play(t, dir, Options{Process: "rescue", After: 3 * Lease}, Recover)
	look, _, err := Look(dir)
	must(t, err)
	intents := slices.DeleteFunc(look.Intents, func(r invariant.Row) bool { return r["resolution_message_id"] != "turn-message:theirs" })
	if len(look.Runs) < 3 || len(intents) < 2 || look.Run(foreignPrefix + "0")["status"] != string(core.Failed) {
		t.Errorf("the other host did not live:\n%s", look)
	}
}

// Each statement of a store is seen before it runs.
func TestOnStatement(t *testing.T) {
	dir := prove.Dir(t)
	var seen []string
	defer OnStatement(Path(dir), func(s string) { seen = append(seen, s) })()
	play(t, dir, Options{Process: "host"}, starts)
	if !slices.Contains(seen, "BEGIN IMMEDIATE") || !slices.ContainsFunc(seen, func(s string) bool { return strings.Contains(s, "RunReserve") }) {
		t.Errorf("saw %q", seen)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
