package disk

import (
	"os"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/prove"
	"github.com/pi-workflows/wfcore/prove/scenario"
)

// done is the scenario in which nothing goes wrong.
var done = scenario.All[0]

func nothing(*scenario.World) error { return nil }

// standing is a directory with a store in which nothing is.
func standing(t *testing.T) string {
	dir := prove.Dir(t)
	play(t, dir, scenario.Options{Process: "maker"}, nothing)
	return dir
}

// abandoned is a directory of a process that was cut short in the middle of a scenario, with
// all that it did in the log.
func abandoned(t *testing.T) string {
	dir := standing(t)
	r := newRecorder(t, dir)
	put(t, scenario.Path(dir), r, seldom)
	play(t, dir, scenario.Options{Process: "host", Stop: r.point}, done.Play)
	take(scenario.Path(dir))
	left := prove.Dir(t)
	r.moments[len(r.moments)/2].image(t, left, nil)
	return left
}

// copied is a directory like another.
func copied(t *testing.T, from string) string {
	t.Helper()
	dir := prove.Dir(t)
	must(t, os.CopyFS(dir, os.DirFS(from)))
	return dir
}

// play is a process that nothing disturbs.
func play(t *testing.T, dir string, o scenario.Options, script func(*scenario.World) error) {
	t.Helper()
	w, err := scenario.Open(dir, o)
	must(t, err)
	must(t, script(w))
	for _, problem := range w.Problems {
		t.Error(problem)
	}
	must(t, w.Close())
}

// rest is what holds of a directory once its disk is sound: another process goes on with
// what it finds, nothing private is left, and the session can start the next run. It comes
// when the leases of all before it are over, of which a recovery is one.
func rest(t *testing.T, dir string) {
	t.Helper()
	play(t, dir, scenario.Options{Process: "rescue", After: 6 * scenario.Lease}, scenario.Recover)
	scenario.WantNone(t, dir, scenario.Settled)
	scenario.WantNone(t, dir, scenario.Secret)
	play(t, dir, scenario.Options{Process: "again", After: time.Hour}, scenario.Again)
	scenario.WantNone(t, dir, scenario.Check)
	scenario.WantNone(t, dir, scenario.Secret)
}

func acknowledged(t *testing.T, dir string) []string {
	t.Helper()
	_, acknowledged, err := scenario.Look(dir)
	must(t, err)
	return acknowledged
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
