package core_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/safetext"
)

var allFailures = append(slices.Clone(core.LaunchFailures), core.RunFailures...)

// A message names the check and the action, quotes the detail as data, and is
// bounded whatever the detail is.
func TestFailureMessage(t *testing.T) {
	for _, code := range allFailures {
		bare := core.FailureMessage(code, "")
		if check, action, ok := strings.Cut(bare, "; "); !ok || len(check) < 10 || len(action) < 10 {
			t.Errorf("%s: %q does not name a check and an action", code, bare)
		}
		for _, detail := range []string{
			strings.Repeat("x", 1<<20), strings.Repeat("\u00e9", 3000), strings.Repeat("\U0001f600 ", 2000),
			"two\nlines", "nul\x00 and \x1b[31mred\x1b[0m", "broken \xff\xfe utf-8", `say "hello"`, strings.Repeat(`"`, 5000),
			"Error: x\n    at foo (file.js:1:2)\nCaused by: y",
		} {
			message := core.FailureMessage(code, detail)
			if len(message) > core.MaxMessageBytes || !utf8.ValidString(message) || strings.ContainsAny(message, "\n\x00\x1b") {
				t.Errorf("%s: %d bytes: %.80q", code, len(message), message)
			}
			if !strings.HasPrefix(message, strings.TrimSuffix(bare, ".")) {
				t.Errorf("%s: %.80q lost its check and action", code, message)
			}
			if strings.Count(message, `"`) != 2 {
				t.Errorf("%s: the detail is not quoted once: %.80q", code, message)
			}
		}
		for _, detail := range []string{"Authorization: Bearer abcdef1234567890", "Cookie: a=b; c=d", "password=hunter2hunter2"} {
			message := core.FailureMessage(code, detail)
			if again := safetext.Line(message); again != message {
				t.Errorf("%s: %q reads as %q", code, message, again)
			}
		}
		message := core.FailureMessage(code, "GET https://bob:hunter2hunter2@host failed: Authorization: Bearer abcdef1234567890")
		if strings.Contains(message, "hunter2") || strings.Contains(message, "abcdef12") || !strings.Contains(message, "failed") {
			t.Errorf("%s: %q", code, message)
		}
	}
}

// Every code that a face can be given has its text.
func TestEveryFailureCodeIsTaken(t *testing.T) {
	for _, code := range core.LaunchFailures {
		f := open(t)
		f.starting("run", "s")
		f.ok("failPreparedRun", held("run", "tok").with(object{"errorCode": string(code), "errorMessage": "why"}))
		equal(t, "stored", f.row("run")["error_message"], any(core.FailureMessage(code, "why")))
	}
	for _, code := range core.RunFailures {
		f := open(t)
		f.running("run", "s")
		f.ok("finishRunningRun", held("run", "tok").with(object{"status": "failed", "errorCode": string(code), "errorMessage": "why"}))
		equal(t, "stored", f.row("run")["error_message"], any(core.FailureMessage(code, "why")))
	}
}

// A name that another host wrote may hold a terminal's escapes.
func TestForeignNamesAreMadePlain(t *testing.T) {
	f := open(t)
	f.plant(object{"run_id": "run", "workflow_ref": "flow\x1b[2J\nsecond line", "status": "running", "origin_session_id": "s"})
	line := f.ok("getRun", object{"runId": "run"}).text("line")
	failure := f.fails("reservePreparedRun", start("next", "s"), core.CodeSessionReserved)
	for _, text := range []string{line, failure.Message} {
		if strings.ContainsAny(text, "\x1b\n") || !strings.Contains(text, "flow second line") {
			t.Errorf("got %q", text)
		}
	}
}

// A secret under a telling name goes, whether it is text or a number.
func TestRecordedPayloadIsSafe(t *testing.T) {
	f := open(t)
	f.running("run", "s")
	f.ok("recordRunEvent", object{"runId": "run", "type": "claim_lost", "payload": object{
		"password": "correct-horse", "apiKey": 12345678, "attempt": 3, "note": "token=abcdef1234567890", "held": true, "none": nil,
	}})
	p := f.payload("run")
	equal(t, "password", p["password"], any("[redacted]"))
	equal(t, "apiKey", p["apiKey"], any("[redacted]"))
	equal(t, "attempt", p["attempt"], any(float64(3)))
	equal(t, "held", p["held"], any(true))
	if strings.Contains(p.text("note"), "abcdef12") {
		t.Errorf("note: %q", p["note"])
	}
}
