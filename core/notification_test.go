package core_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
)

const (
	enqueueOp  = "enqueueWorkflowNotification"
	claimNews  = "claimPendingWorkflowNotifications"
	deliverOp  = "markWorkflowNotificationDelivered"
	listNewsOp = "listWorkflowNotifications"
)

// report is a passive report of the run "run" to the session "own".
func report(index int, more object) object {
	return object{
		"runId": "run", "nodeId": "report", "attemptId": "1", "notificationIndex": index, "targetSessionId": "own", "kind": "progress",
		"content": fmt.Sprint("report ", index),
	}.with(more)
}

// reported stores a report and returns its id.
func (f *fixture) reported(index int, more object) string {
	f.Helper()
	return f.ok(enqueueOp, report(index, more)).text("notificationId")
}

// news claims reports under a token and names their contents.
func (f *fixture) news(token string, limit int) string {
	f.Helper()
	return contents(f.list(claimNews, claimDue(token, limit)))
}

func contents(reports []object) string {
	texts := []string{}
	for _, r := range reports {
		texts = append(texts, strings.TrimPrefix(r.text("content"), "report "))
	}
	return strings.Join(texts, " ")
}

func delivered(id, token string) object { return object{"notificationId": id, "claimToken": token} }

// plantReport stores a report as another host might have.
func (f *fixture) plantReport(row object) {
	f.Helper()
	f.insert("workflow_notifications", object{
		"notification_id": "n", "run_id": "run", "node_id": "report", "attempt_id": "1", "notification_index": 1,
		"target_session_id": "own", "kind": "progress", "content": "report 1", "created_at": stamp(0),
	}.with(row))
}

func TestReportIsNotStoredWhole(t *testing.T) {
	for _, kind := range []string{"progress", "final"} {
		f := open(t)
		have := f.ok(enqueueOp, report(1, object{"kind": kind, "content": "two\nlines"}))
		f.wants("answer", have, object{
			"runId": "run", "nodeId": "report", "attemptId": "1", "notificationIndex": 1, "targetSessionId": "own", "kind": kind,
			"content": "two\nlines", "createdAt": stamp(0), "deliveryClaimExpiresAt": nil, "deliveredAt": nil,
		})
		f.wants("row", f.rows("workflow_notifications")[0], object{
			"notification_id": have["notificationId"], "run_id": "run", "node_id": "report", "attempt_id": "1", "notification_index": 1,
			"target_session_id": "own", "kind": kind, "content": "two\nlines", "created_at": stamp(0), "delivery_claim_token": nil,
			"delivery_claim_expires_at": nil, "delivered_at": nil,
		})
		if id := have.text("notificationId"); id == "" || len(id) > 512 {
			t.Errorf("the id is %q", id)
		}
	}
}

// The same run, node and index is the same report, however it is told.
func TestReportIsStoredTwice(t *testing.T) {
	f := open(t)
	id := f.reported(1, nil)
	before := f.dump()
	f.at(time1)
	for _, more := range []object{nil, {"content": "another"}, {"attemptId": "2"}, {"kind": "final"}, {"targetSessionId": "other"}} {
		f.wants("again", f.ok(enqueueOp, report(1, more)), object{"notificationId": id, "content": "report 1", "createdAt": stamp(0), "targetSessionId": "own"})
	}
	if !slices.Equal(before, f.dump()) {
		t.Errorf("a repeat changed:\n%s", changes(before, f.dump()))
	}
	seen := map[string]bool{id: true}
	for _, more := range []object{{"notificationIndex": 2}, {"nodeId": "other"}, {"runId": "run2"}, {"nodeId": `report","1`}} {
		other := f.reported(1, more)
		if seen[other] {
			t.Errorf("%v is the same report", more)
		}
		seen[other] = true
		equal(t, fmt.Sprint(more, " again"), f.reported(1, more), other)
	}
	equal(t, "the first again", f.reported(1, nil), id)
	f.news("t", 10)
	f.ok(deliverOp, delivered(id, "t"))
	f.wants("once delivered", f.ok(enqueueOp, report(1, nil)), object{"notificationId": id, "deliveredAt": stamp(time1)})
	// Another host named it otherwise.
	f = open(t)
	f.plantReport(object{"content": "theirs"})
	f.wants("theirs", f.ok(enqueueOp, report(1, nil)), object{"notificationId": "n", "content": "theirs"})
}

func TestReportOutOfBounds(t *testing.T) {
	f := open(t)
	for field, values := range map[string][]any{
		"notificationIndex": {0, -1, "1", 1.5, nil}, "kind": {"launch_failure", "Progress", "", nil}, "nodeId": {"", nil, "a\nb"},
		"attemptId": {"", nil}, "targetSessionId": {"", nil}, "runId": {"", nil}, "content": {strings.Repeat("a", 64<<10+1), nil, 1},
	} {
		for _, value := range values {
			f.refusesFact(enqueueOp, report(1, object{field: value}), field)
		}
	}
	f.reported(1, object{"content": strings.Repeat("a", 64<<10)})
	for _, limit := range []any{0, 101, nil} {
		f.refusesFact(claimNews, claimDue("t", 1).with(object{"limit": limit}), "limit")
		f.refusesFact(listNewsOp, object{"runId": "run", "limit": limit}, "limit")
	}
}

// A report starts no turn: nothing but its own row changes, in its whole life.
func TestReportStartsATurn(t *testing.T) {
	f := openTurns(t)
	f.running("run", "own")
	before := f.dump()
	for i, kind := range []string{"progress", "final"} {
		id := f.reported(i+1, object{"kind": kind})
		f.news("t", 10)
		f.ok(deliverOp, delivered(id, "t"))
	}
	f.list("sweepTurnIntents", object{"limit": 10})
	for _, line := range strings.Split(strings.TrimSpace(changes(before, f.dump())), "\n") {
		if !strings.HasPrefix(line, "+ workflow_notifications ") {
			t.Errorf("a report changed %s", line)
		}
	}
	f.noIntent()
	equal(t, "due", f.due("t", 10), "")
}

func TestReportIsClaimedOutOfTurn(t *testing.T) {
	f := open(t)
	f.reported(9, object{"targetSessionId": "other"})
	for i, index := range []int{2, 1, 3} {
		f.at(time.Duration(i/2) * time.Second) // the first two at one instant
		f.reported(index, nil)
	}
	others := f.rows("workflow_notifications")[0]
	claimed := f.list(claimNews, claimDue("t1", 2))
	equal(t, "the oldest two", contents(claimed), "1 2")
	f.wants("answer", claimed[0], object{"claimToken": "t1", "deliveryClaimExpiresAt": stamp(time.Second + lease), "deliveredAt": nil})
	equal(t, "again", f.news("t1", 2), "1 2")
	equal(t, "the next", f.news("t2", 10), "3")
	equal(t, "none", f.news("t3", 10), "")
	f.wants("another session's", f.rows("workflow_notifications")[0], others)
	equal(t, "one of two", f.news("t1", 1), "2")
	f.at(time.Second + lease)
	equal(t, "lapsed", f.news("t1", 1), "2")
	f.wants("claimed anew", f.rows("workflow_notifications")[1], object{"delivery_claim_token": "t1", "delivery_claim_expires_at": millis(time.Second + 2*lease)})
	equal(t, "the others", f.news("t3", 10), "1 3")
	equal(t, "another session's", contents(f.list(claimNews, claimDue("t1", 1).with(object{"sessionId": "other"}))), "9")
	f.at(time.Minute + lease)
	f.ok(enqueueOp, report(4, nil))
	equal(t, "the oldest, though it was held", f.news("t4", 1), "2")
	made := f.list(claimNews, object{"sessionId": "other", "limit": 1})
	f.wants("made token", made[0], object{"claimToken": madeToken, "deliveryClaimExpiresAt": stamp(time.Minute + lease + 30*time.Second)})
}

// Reports of one instant come in the order of their index.
func TestReportsOfOneInstantAreShuffled(t *testing.T) {
	f := open(t)
	for _, index := range []int{6, 2, 5, 1, 4, 3} {
		f.reported(index, nil)
	}
	equal(t, "claimed", f.news("t", 10), "1 2 3 4 5 6")
}

// Only the holder of the live claim delivers, and once.
func TestReportIsDeliveredUnderAStaleToken(t *testing.T) {
	f := open(t)
	id, other := f.reported(1, nil), f.reported(2, nil)
	f.fails(deliverOp, delivered(id, "t"), core.CodeClaimLost)
	f.news("t", 10)
	bystander := f.rows("workflow_notifications")[1]
	f.fails(deliverOp, delivered(id, "other"), core.CodeClaimLost)
	f.fails(deliverOp, delivered("none", "t"), core.CodeNotFound)
	for _, after := range []time.Duration{lease, lease + time.Second} {
		f.at(after)
		err := f.fails(deliverOp, delivered(id, "t"), core.CodeClaimLost)
		f.wants("details", object(err.Details), object{"notificationId": id, "claimExpiresAt": stamp(lease)})
	}
	f.at(lease - time.Millisecond)
	before := f.rows("workflow_notifications")[0]
	have := f.ok(deliverOp, delivered(id, "t"))
	at := stamp(lease - time.Millisecond)
	f.wants("answer", have, object{"notificationId": id, "deliveredAt": at, "deliveryClaimExpiresAt": nil})
	if _, told := have["claimToken"]; told {
		t.Error("the token is told")
	}
	f.wants("row", f.rows("workflow_notifications")[0], before.with(object{"delivered_at": at, "delivery_claim_token": nil, "delivery_claim_expires_at": nil}))
	f.wants("another", f.rows("workflow_notifications")[1], bystander)
	for _, token := range []string{"t", "other"} {
		err := f.fails(deliverOp, delivered(id, token), core.CodeIntentResolved)
		equal(t, "delivered at", err.Details["deliveredAt"], any(at))
	}
	f.at(2 * lease)
	equal(t, "claimed again", f.news("t2", 10), "2")
	f.fails(deliverOp, delivered(other, "t"), core.CodeClaimLost)
	f.ok(deliverOp, delivered(other, "t2"))
	equal(t, "all delivered", f.news("t2", 10), "")
}

// A delivered report never changes again, whatever its row says of a claim.
func TestDeliveredReportIsClaimed(t *testing.T) {
	f := open(t)
	f.plantReport(object{"delivered_at": stamp(0), "delivery_claim_token": "t", "delivery_claim_expires_at": epoch.Add(lease).UnixMilli()})
	f.plantReport(object{"notification_id": "n2", "notification_index": 2, "delivered_at": stamp(0)})
	before := f.dump()
	equal(t, "held", f.news("t", 10), "")
	f.fails(deliverOp, delivered("n", "t"), core.CodeIntentResolved)
	equal(t, "free", f.news("t2", 10), "")
	equal(t, "store", strings.Join(f.dump(), "\n"), strings.Join(before, "\n"))
}

func TestReportsOfARunAreListedWithOthers(t *testing.T) {
	f := open(t)
	for _, index := range []int{3, 1, 2} {
		f.reported(index, nil)
		f.reported(index, object{"runId": "run2", "content": "report 9"})
	}
	f.news("t", 1)
	list := func(request object) string {
		return contents(f.list(listNewsOp, object{"runId": "run", "limit": 100}.with(request)))
	}
	equal(t, "all", list(nil), "3 1 2")
	equal(t, "two", list(object{"limit": 2}), "3 1")
	equal(t, "after two", list(object{"skip": 2}), "2")
	equal(t, "after one", list(object{"skip": 1, "limit": 1}), "1")
	equal(t, "none", list(object{"skip": 3}), "")
	equal(t, "of none", list(object{"runId": "none"}), "")
	for _, r := range f.list(listNewsOp, object{"runId": "run", "limit": 100}) {
		if _, told := r["claimToken"]; told {
			t.Error("a list tells a token")
		}
	}
}

// Another host's rows: odd leases, times in other formats, and rows without a name.
func TestOddReportStopsTheOthers(t *testing.T) {
	for name, end := range oddClaims {
		f := open(t)
		f.plantReport(object{"delivery_claim_token": "theirs", "delivery_claim_expires_at": end})
		if _, err := f.call(deliverOp, delivered("n", "theirs")); core.CodeOf(err) != core.CodeClaimLost {
			t.Errorf("%s: %v", name, err)
		}
		f.list(listNewsOp, object{"runId": "run", "limit": 1})
		equal(t, name, f.news("theirs", 1), "1")
		f.wants(name, f.rows("workflow_notifications")[0], object{"delivery_claim_expires_at": millis(lease)})
	}
	f := open(t)
	f.plantReport(object{"delivery_claim_token": "theirs", "delivery_claim_expires_at": millis(lease) + 0.5})
	equal(t, "a real lease", f.news("t", 1), "")
	equal(t, "repeated", f.news("theirs", 1), "1")
	f.ok(deliverOp, delivered("n", "theirs"))

	f = open(t)
	for i, id := range []any{nil, "", []byte("blob")} {
		f.plantReport(object{"notification_id": id, "notification_index": 5 + i})
	}
	for i, at := range []string{"2026-08-21T08:17:31.500Z", "2026-08-21T08:17:31Z", "2026-08-21T10:17:30+02:00"} {
		f.plantReport(object{"notification_id": fmt.Sprint("n", i), "notification_index": i + 1, "content": fmt.Sprint(i), "created_at": at})
	}
	equal(t, "listed", contents(f.list(listNewsOp, object{"runId": "run", "limit": 100})), "0 1 2")
	equal(t, "claimed", f.news("t", 100), "2 1 0")
	f.ok(deliverOp, delivered("n2", "t"))
}

// A delivered failure of the earlier contract is neither told as a report nor
// changed. Only a file made before can hold one.
func TestLaunchFailureOfTheEarlierContractIsDelivered(t *testing.T) {
	f := open(t)
	f.exec("PRAGMA ignore_check_constraints = ON")
	f.plantReport(object{"kind": "launch_failure"})
	f.exec("PRAGMA ignore_check_constraints = OFF")
	before := f.dump()
	equal(t, "claimed", f.news("t", 10), "")
	equal(t, "store", strings.Join(f.dump(), "\n"), strings.Join(before, "\n"))
}
