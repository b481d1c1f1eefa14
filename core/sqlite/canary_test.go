package sqlite

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/pi-workflows/wfcore/core"
)

// canary is a text with the secret part of it.
type canary struct{ text, secret string }

// canaries are those of safetext, in which "§" stands for the secret.
func canaries(t testing.TB) (all []canary) {
	t.Helper()
	var forms map[string][][2]string
	try(t, json.Unmarshal([]byte(read(t, "../safetext/testdata/canaries.json")), &forms))
	for _, form := range slices.Sorted(maps.Keys(forms)) {
		for _, c := range forms[form] {
			all = append(all, canary{strings.Replace(c[0], "§", c[1], 1), c[1]})
		}
	}
	if len(all) < 60 {
		t.Fatalf("%d canaries are too few", len(all))
	}
	return all
}

// shapes are what may be around or within a canary.
var shapes = []func(c canary) string{
	func(c canary) string { return broken(c, "\x00") },
	func(c canary) string { return broken(c, "\x1b[31m") },
	func(c canary) string { return broken(c, "\u200b") },
	func(c canary) string { return strings.Repeat("word ", 200_000) + "\n" + c.text },
	func(c canary) string { return c.text + "\n" + strings.Repeat("word ", 200_000) },
	func(c canary) string { return c.text + " " + strings.Repeat("日", 2000) },
	func(c canary) string { return c.text + "\xe6\x97" },
	func(c canary) string { return "\xe6\x97\n" + c.text },
}

// broken has something in the middle of the secret that a reader does not see.
func broken(c canary, by string) string {
	half := len(c.secret) / 2
	return strings.Replace(c.text, c.secret, c.secret[:half]+by+c.secret[half:], 1)
}

// windows are all runs of eight bytes of all secrets.
type windows struct {
	maybe [1 << 16]bool     // by their last two bytes, since a file is long
	of    map[string]string // the texts that they are of
}

// windowsOf leaves out what is no secret elsewhere, like the word "password".
func windowsOf(all []canary) *windows {
	w := &windows{of: map[string]string{}}
	var plain strings.Builder
	for _, c := range all {
		plain.WriteString(strings.Replace(c.text, c.secret, "\n", 1) + "\n")
	}
	for _, code := range slices.Concat(core.LaunchFailures, core.RunFailures) {
		plain.WriteString(core.FailureMessage(code, ""))
	}
	for _, c := range all {
		for i := 0; i+8 <= len(c.secret); i++ {
			if strings.Contains(plain.String(), c.secret[i:i+8]) {
				continue
			}
			w.of[c.secret[i:i+8]] = c.text
			w.maybe[binary.LittleEndian.Uint16([]byte(c.secret[i+6:]))] = true
		}
	}
	return w
}

// absent checks that a text shows no part of any secret.
func (w *windows) absent(t testing.TB, where, text string) {
	t.Helper()
	for i := 8; i <= len(text); i++ {
		if !w.maybe[uint16(text[i-2])|uint16(text[i-1])<<8] {
			continue
		}
		if from, is := w.of[text[i-8:i]]; is {
			t.Errorf("%s shows %q of %q: %q", where, text[i-8:i], from, text[max(0, i-80):min(len(text), i+40)])
			return
		}
	}
}

// leaks is a store on which free texts are tried, with all that it answered.
type leaks struct {
	*Store
	t       *testing.T
	path    string
	runs    int
	answers strings.Builder
}

func openLeaks(t *testing.T) *leaks {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store")
	l := &leaks{Store: mustOpen(t, path, patient), t: t, path: path}
	// Each version of each page stays in the log to be looked at.
	execute(t, l.conn, "PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = OFF")
	return l
}

// starting is a run of a session of its own, claimed with "token".
func (l *leaks) starting(input string) (runID string) {
	l.t.Helper()
	l.runs++
	runID = fmt.Sprint("run-", l.runs)
	req := request(runID, runID)
	req.Input = json.RawMessage(input)
	_, err := l.ReservePreparedRun(ctx, req)
	try(l.t, err)
	_, err = l.ClaimPreparedRun(ctx, core.ClaimRequest{RunID: runID, SessionID: runID, RunnerID: "runner", ClaimToken: "token"})
	try(l.t, err)
	return runID
}

func (l *leaks) running() (runID string) {
	l.t.Helper()
	runID = l.starting("null")
	_, err := l.MarkPreparedRunRunning(ctx, core.MarkRunningRequest{RunID: runID, ClaimToken: "token"})
	try(l.t, err)
	return runID
}

// says keeps an answer or error to be looked at.
func (l *leaks) says(answer any, err error) {
	l.t.Helper()
	if own := (*core.Error)(nil); errors.As(err, &own) {
		answer = own
	} else {
		try(l.t, err)
	}
	text, err := core.Encode(answer)
	try(l.t, err)
	l.answers.Write(append(text, '\n'))
}

// told keeps all that readers of the run are told, and the message that it owes.
func (l *leaks) told(runID string) core.RunStatus {
	l.t.Helper()
	run, err := l.GetRun(ctx, core.GetRunRequest{RunID: runID})
	l.says(run, err)
	events, err := l.ListRunEvents(ctx, core.ListEventsRequest{RunID: runID, Limit: 100})
	l.says(events, err)
	intent, err := l.FindPendingWorkflowTurnIntent(ctx, core.OwedRequest{RunID: runID, SessionID: runID})
	l.says(intent, err)
	if intent != nil {
		l.says(core.FallbackMessage(*intent), nil)
	}
	return *run
}

// failed checks the message of a failure: it is short, plain, and names check and action.
func (l *leaks) failed(what, runID string, code core.FailureCode) string {
	l.t.Helper()
	message := *l.told(runID).ErrorMessage
	names := strings.TrimSuffix(core.FailureMessage(code, ""), ".")
	if len(message) > core.MaxMessageBytes || !utf8.ValidString(message) || strings.ContainsFunc(message, unicode.IsControl) ||
		!strings.HasPrefix(message, names+": \"") || strings.Count(names, ";") != 1 {
		l.t.Errorf("%s stores %q", what, message)
	}
	return strings.TrimSuffix(strings.TrimPrefix(message, names+`: "`), `".`)
}

// scan looks for secrets in all that was answered, in the file and in its log, then
// once more after a checkpoint.
func (l *leaks) scan(w *windows) {
	l.t.Helper()
	w.absent(l.t, "an answer", l.answers.String())
	w.absent(l.t, "the log", read(l.t, l.path+"-wal"))
	w.absent(l.t, "the file", read(l.t, l.path))
	l.scanRested(w)
}

func (l *leaks) scanRested(w *windows) {
	l.t.Helper()
	checkpoint(l.t, l.Store)
	w.absent(l.t, "the file at rest", read(l.t, l.path))
}
