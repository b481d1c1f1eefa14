package core_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
)

// ourForm is the one form in which the store writes times, anyForm any of RFC 3339.
var (
	ourForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
	anyForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)
)

// instantOf is the instant of a text in RFC 3339 that our form can write.
func instantOf(text string) (time.Time, bool) {
	at, err := time.Parse(time.RFC3339Nano, text)
	at = at.UTC()
	return at, err == nil && anyForm.MatchString(text) && at.Year() >= 0 && at.Year() <= 9999
}

// FuzzTime stores any text as the times of another host and gives it as `now`: it is
// shown in our form where it is an instant and as it stands where it is none, and
// `now` is refused in any form but ours.
func FuzzTime(f *testing.F) {
	for _, text := range []string{
		stamp(0), "2026-08-21T08:17:31Z", "2026-08-21T08:17:31.5Z", "2026-08-21T08:17:31.123456789Z", "2026-08-21T10:17:31+02:00",
		"2026-08-21T23:17:31+15:00", "0000-01-01T00:00:00+23:59", "9999-12-31T23:59:59.999-23:59", "99999-01-01T00:00:00Z", "-0001-01-01T00:00:00Z",
		"2026-08-21T08:17:31.000Z\x00", "2026-08-21\x0008:17:31Z", "2026-02-30T00:00:00Z", "2026-08-21T24:00:00Z", "2026-08-21T08:17:60Z",
		"2026-08-21T8:17:31Z", "2026-08-21T08:17:31,5Z", "2026-08-21t08:17:31z", "2026-08-21 08:17:31", "1787300251000", "now", "", "\xff",
		"2026-08-21T08:17:31+24:00", "2026-08-21T08:17:31.Z", "2026-08-21T08:17:31.9999Z", " 2026-08-21T08:17:31Z",
	} {
		f.Add(text)
	}
	s := open(f)
	f.Fuzz(func(t *testing.T, text string) {
		s.TB = t
		s.exec("DELETE FROM workflow_run_queue")
		s.plant(object{"run_id": "run", "status": "queued", "created_at": text, "updated_at": text, "started_at": text, "finished_at": text})
		at, known := instantOf(text)
		want := text
		if known {
			want = at.Format("2006-01-02T15:04:05.000Z")
		}
		shown, err := s.store.GetRun(t.Context(), core.GetRunRequest{RunID: "run"})
		must(t, err)
		for _, have := range []string{shown.CreatedAt, shown.UpdatedAt, *shown.StartedAt, *shown.FinishedAt} {
			if have != want || known && !ourForm.MatchString(have) {
				t.Fatalf("%q is shown as %q, want %q", text, have, want)
			}
		}
		quoted, err := json.Marshal(text)
		must(t, err)
		_, err = s.call("getRun", `{"runId":"run","now":`+string(quoted)+`}`)
		if taken := known && want == text; taken != (err == nil) || !taken && core.CodeOf(err) != core.CodeBadRequest {
			t.Fatalf("now %q: %v", text, err)
		}
	})
}

// timeForms are ways to write an instant of whole milliseconds.
var timeForms = []string{
	"2006-01-02T15:04:05.000Z07:00", "2006-01-02T15:04:05.000000Z07:00", "2006-01-02T15:04:05.999Z07:00", "2006-01-02T15:04:05.999999999Z07:00",
}

// writtenAs is the instant as a host in some zone and form might write it. SQLite
// knows zones of up to fourteen hours.
func writtenAs(ms int64, form uint16) string {
	const years = 9000 * 365 * 24 * int64(time.Hour/time.Millisecond)
	minutes := int(form)/len(timeForms)%(28*60+1) - 14*60
	zone := time.FixedZone("", minutes*60)
	return time.UnixMilli(ms % (years / 2)).In(zone).Format(timeForms[int(form)%len(timeForms)])
}

// FuzzTimeOrder: what is eligible for longest is claimed first, and listed first,
// however its time is written; equal instants go by id.
func FuzzTimeOrder(f *testing.F) {
	now := epoch.UnixMilli()
	for i, other := range []int64{now, now + 1, now - 1, now + 1000, 0, -1, -62135596800000, 1 << 62, -1 << 62} {
		f.Add(now, other, uint16(i), uint16(7919*i))
	}
	s := open(f)
	f.Fuzz(func(t *testing.T, a, b int64, formA, formB uint16) {
		s.TB = t
		texts := []string{writtenAs(a, formA), writtenAs(b, formB)}
		for _, text := range texts {
			if _, known := instantOf(text); !known {
				t.Skip("a year of five digits")
			}
		}
		want := []string{"i0", "i1"}
		first, _ := instantOf(texts[0])
		if second, _ := instantOf(texts[1]); second.Before(first) {
			slices.Reverse(want)
		}
		for limit := 1; limit <= 2; limit++ {
			s.exec("DELETE FROM workflow_turn_intents")
			for i, text := range texts {
				s.plantTurn(object{"intent_id": fmt.Sprint("i", i), "run_id": fmt.Sprint("r", i), "eligible_at": text})
			}
			var have []string
			for _, intent := range s.list(forFallback, claimDue("tok", limit)) {
				have = append(have, intent.text("intentId"))
			}
			if !slices.Equal(have, want[:limit]) {
				t.Fatalf("%q: claimed %q, want %q", texts, have, want[:limit])
			}
		}
	})
}
