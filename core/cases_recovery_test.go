package core_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/db"
)

// host is what a session's host does on each of its triggers: it looks for work,
// then acts on what it saw, which may be out of date by then.
type host struct {
	*fixture
	tokens      int
	activations []string // the tokens under which a run was activated
}

func (h *host) look() []object {
	h.Helper()
	return h.list("listRecoverableRuns", object{"sessionId": "session", "limit": 10})
}

func (h *host) act(saw []object) {
	h.Helper()
	for _, run := range saw {
		h.tokens++
		token := fmt.Sprintf("activation-%d", h.tokens)
		if run.text("status") != "queued" {
			h.Errorf("%v was offered for recovery", run)
			continue
		}
		claimed := h.ok("claimNextRun", object{"sessionId": "session", "runnerId": "runner", "claimToken": token, "leaseMs": leaseMS})
		if claimed != nil {
			h.activations = append(h.activations, token)
		}
	}
}

var triggerOrders = [][]string{
	{"session start", "settle", "timer"}, {"session start", "timer", "settle"},
	{"settle", "session start", "timer"}, {"settle", "timer", "session start"},
	{"timer", "session start", "settle"}, {"timer", "settle", "session start"},
}

// However the triggers come, one of them activates the run, and nobody recovers
// it while that activation's lease lives.
func TestCase10StartUpRecoversALiveRun(t *testing.T) {
	for _, order := range triggerOrders {
		for _, times := range []int{1, 2} {
			t.Run(strings.Join(order, ", ")+" times "+fmt.Sprint(times), func(t *testing.T) {
				h := &host{fixture: open(t)}
				h.queued("run", "session")
				for range order {
					for range times {
						h.act(h.look())
					}
				}
				h.inFlight()
			})
			t.Run(strings.Join(order, ", ")+" at once, times "+fmt.Sprint(times), func(t *testing.T) {
				h := &host{fixture: open(t)}
				h.queued("run", "session")
				var seen [][]object
				for range order {
					for range times {
						seen = append(seen, h.look())
					}
				}
				for _, saw := range seen {
					h.act(saw)
				}
				h.inFlight()
			})
		}
	}
}

// inFlight looks at the one activation, to its end.
func (h *host) inFlight() {
	h.Helper()
	if len(h.activations) != 1 {
		h.Fatalf("activated under %v, want once", h.activations)
	}
	token := h.activations[0]
	for _, finding := range []object{{"kind": "none"}, {"kind": "unreadable"}, {"kind": "waiting"}, {"kind": "running", "runnerId": "runner", "claimToken": "new"}} {
		h.fails("recoverExpiredStartingRun", recovery("run", "session", finding).with(object{"expectedClaimToken": token}), core.CodeClaimLive)
	}
	h.at(lease - 1)
	h.act(h.look())
	h.ok("markPreparedRunRunning", held("run", token))
	h.act(h.look())
	h.fails("takeOverExpiredRun", claim("run", "session", "new"), core.CodeClaimLive)
	equal(h, "activations", len(h.activations), 1)
	equal(h, "feed", h.feed("run"), "queued starting running")
}

// A build that kills its process is started three times, and not a fourth time.
func TestCase21CrashLoopAtEveryStart(t *testing.T) {
	f := open(t)
	f.queued("run", "session")
	next := object{"sessionId": "session", "runnerId": "runner", "claimToken": "tok", "leaseMs": leaseMS}
	for start := 1; start <= 3; start++ {
		if f.ok("claimNextRun", next) == nil {
			t.Fatalf("start %d found nothing", start)
		}
		f.now = f.now.Add(lease)
		run := f.ok("recoverExpiredStartingRun", recovery("run", "session", object{"kind": "none"}))
		equal(t, "status", run.text("status"), map[bool]string{true: "queued", false: "failed"}[start < 3])
	}
	row := f.row("run")
	equal(t, "code", row.text("error_code"), "activation_failed")
	equal(t, "input", row.text("input_json"), "null")
	if run := f.ok("claimNextRun", next); run != nil {
		t.Errorf("a fourth start: %v", run)
	}
	equal(t, "feed", f.feed("run"), "queued starting requeued starting requeued starting launch_failed")
	f.queued("next", "session")
}

func TestCase23ClearedInputIsStillStored(t *testing.T) {
	f := open(t)
	f.starting("run", "session")
	if !strings.Contains(strings.Join(f.dump(), "\n"), "marker-of-private-input") {
		t.Fatal("the launch lost its input before it ran")
	}
	f.ok("markPreparedRunRunning", held("run", "tok"))
	equal(t, "input", f.row("run").text("input_json"), "null")
	for _, line := range f.dump() {
		if strings.Contains(line, "marker-of-private-input") {
			t.Errorf("the input is still stored: %s", line)
		}
	}
}

// A launch that goes back to the queue is still whole.
func TestRequeuedLaunchKeepsInputAndOptions(t *testing.T) {
	f := open(t)
	f.starting("run", "session")
	before := f.row("run")
	f.at(lease)
	f.ok("recoverExpiredStartingRun", recovery("run", "session", object{"kind": "none"}))
	for _, column := range []string{"input_json", "launch_options_json", "started_at", "created_at"} {
		equal(t, column, f.row("run")[column], before[column])
	}
}

// A recovery goes by the arrows, an event each, in one transaction: all of it, or
// nothing.
func TestRecoveryWalksTheArrows(t *testing.T) {
	for name, walk := range map[string]struct {
		finding object
		feed    string
		status  string
		code    string
	}{
		"waiting":   {object{"kind": "waiting"}, "running parked", "parked", ""},
		"done":      {object{"kind": "terminal", "status": "done"}, "running done", "done", ""},
		"failed":    {object{"kind": "terminal", "status": "failed", "code": "interrupted"}, "running failed", "failed", "interrupted"},
		"no code":   {object{"kind": "terminal", "status": "failed"}, "running failed", "failed", "run_failed"},
		"cancelled": {object{"kind": "terminal", "status": "cancelled"}, "running cancelled", "cancelled", ""},
		"running":   {object{"kind": "running", "runnerId": "runner", "claimToken": "new"}, "running claim_transferred", "running", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			f.starting("run", "session")
			f.at(lease)
			run := f.ok("recoverExpiredStartingRun", recovery("run", "session", walk.finding))
			equal(t, "status", run.text("status"), walk.status)
			equal(t, "code", run.text("errorCode"), walk.code)
			equal(t, "feed", f.feed("run"), "queued starting "+walk.feed)
			for _, event := range f.rows("run_events") {
				equal(t, "runner of "+event.text("type"), event["runner_id"], map[bool]any{false: any("runner")}[event["type"] == "queued"])
			}
		})
		t.Run(name+" stops half way", func(t *testing.T) {
			f := open(t)
			f.starting("run", "session")
			last := walk.feed[strings.Index(walk.feed, " ")+1:]
			f.exec("CREATE TEMP TRIGGER full BEFORE INSERT ON run_events WHEN new.type = '" + last + "' BEGIN SELECT RAISE(ABORT, 'full'); END")
			f.at(lease)
			f.fails("recoverExpiredStartingRun", recovery("run", "session", walk.finding), core.CodeStoreUnavailable)
		})
	}
}

// A resume that cannot go on is not lost: it parks again, from starting.
func TestResumeThatCannotGoOnParksAgain(t *testing.T) {
	f := open(t)
	f.parked("run", "session")
	f.ok("resumeParkedRun", claim("run", "session", "tok2"))
	f.ok("parkRunningRun", held("run", "tok2"))
	equal(t, "status", f.row("run").text("status"), "parked")
	equal(t, "feed", f.feed("run"), "queued starting running parked starting running parked")
}

// Without its bundle a run that ran, or was resumed, cannot start once more.
func TestRunThatRanIsNotStartedFromItsLaunchAgain(t *testing.T) {
	f := open(t)
	f.parked("run", "session")
	f.ok("resumeParkedRun", claim("run", "session", "tok"))
	f.at(lease)
	run := f.ok("recoverExpiredStartingRun", recovery("run", "session", object{"kind": "none"}))
	equal(t, "status", run.text("status"), "failed")
	equal(t, "code", run.text("errorCode"), "activation_failed")
}

// The statement refuses by itself what the code before it looks for.
func TestRequeueHasItsWholeGuard(t *testing.T) {
	start := object{"type": "starting", "payload_json": `{"from":"queued"}`}
	for name, c := range map[string]struct {
		feed []object
		want error
	}{
		"two starts":   {[]object{start, start}, nil},
		"three starts": {[]object{start, start, start}, sql.ErrNoRows},
		"ran":          {[]object{start, {"type": "running", "payload_json": "{}"}}, sql.ErrNoRows},
		"resumed":      {[]object{start.with(object{"payload_json": `{"from":"parked"}`})}, sql.ErrNoRows},
	} {
		f := open(t)
		f.plant(object{"run_id": "run", "status": "starting", "claim_token": "tok", "claim_expires_at": epoch.UnixMilli()})
		for _, event := range c.feed {
			f.insert("run_events", event.with(object{"run_id": "run", "workflow_ref": "flow", "recorded_at": stamp(0)}))
		}
		_, err := db.New(f.conn).RunRequeueExpired(context.Background(), db.RunRequeueExpiredParams{
			RunID: "run", ExpectedClaimToken: "tok", NowMS: epoch.UnixMilli(), Now: stamp(0),
		})
		equal(t, name, err, c.want)
	}
}

func TestRecoveryIsItsOwnersAlone(t *testing.T) {
	f := open(t)
	f.starting("owned", "session")
	f.starting("ownerless", "")
	f.at(lease)
	for _, request := range []object{
		recovery("owned", "other", object{"kind": "none"}), recovery("owned", "", object{"kind": "none"}),
		recovery("ownerless", "session", object{"kind": "none"}),
	} {
		f.fails("recoverExpiredStartingRun", request, core.CodeNotOwner)
	}
	equal(t, "session's work", ids(f.list("listRecoverableRuns", object{"sessionId": "session", "limit": 10})), "owned")
	equal(t, "detached work", ids(f.list("listRecoverableRuns", object{"limit": 10})), "ownerless")
}

// ids are the run ids of a list, in order.
func ids(runs []object) string {
	var out []string
	for _, run := range runs {
		out = append(out, run.text("runId"))
	}
	return strings.Join(out, " ")
}

// One that cannot be recovered does not stand in the way of the others.
func TestRowThatCannotBeRecoveredDoesNotStopTheOthers(t *testing.T) {
	f := open(t)
	for _, id := range []string{"one", "two", "three"} {
		f.starting(id, "")
	}
	f.at(lease)
	f.exec("UPDATE workflow_run_queue SET claim_token = 'moved' WHERE run_id = 'two'")
	f.ok("recoverExpiredStartingRun", recovery("one", "", object{"kind": "none"}))
	f.fails("recoverExpiredStartingRun", recovery("two", "", object{"kind": "none"}), core.CodeClaimLost)
	f.ok("recoverExpiredStartingRun", recovery("three", "", object{"kind": "none"}))
}

// A long queue must not hide the runs that nobody holds any more.
func TestExpiredRunsAreListedBeforeQueuedOnes(t *testing.T) {
	f := open(t)
	f.queued("first", "")
	f.queued("second", "")
	f.ok("claimPreparedRun", claim("second", "", "tok"))
	f.at(time.Hour)
	runs := f.list("listRecoverableRuns", object{"limit": 1})
	if len(runs) != 1 || runs[0]["runId"] != "second" || runs[0]["claimToken"] != "tok" {
		t.Errorf("have %v", runs)
	}
}
