package disk

import (
	"context"
	"errors"
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/hosttest"
	"github.com/pi-workflows/wfcore/prove"
	"github.com/pi-workflows/wfcore/prove/scenario"
)

var every = flag.Bool("every", false, "with -full: fail at each of the thirty thousand calls; an hour")

// A store on a disk that fails anywhere in a scenario, once or for good, says so, keeps what
// it promised, does not try again and again, and goes on once the disk is sound.
func TestFault(t *testing.T) {
	for _, s := range stories(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			sound := s.run(t, s.begin(t), point{})
			for _, p := range s.chosen(t, sound.disk.calls) {
				t.Run(p.String(), func(t *testing.T) { s.try(t, p, sound) })
			}
		})
	}
}

// story is one process, from its start to its end.
type story struct {
	name  string
	begin func(*testing.T) (dir string)
	after time.Duration
	play  func(*scenario.World) error
}

// stories are the scenarios, on a store that stands; the making of a store; and a process
// that finds what another one has left.
func stories(t *testing.T) []story {
	made, left := standing(t), abandoned(t)
	all := []story{
		{"making", func(t *testing.T) string { return prove.Dir(t) }, 0, nothing},
		{"recovery", func(t *testing.T) string { return copied(t, left) }, 3 * scenario.Lease, scenario.Recover},
	}
	for _, s := range scenario.All {
		all = append(all, story{s.Name, func(t *testing.T) string { return copied(t, made) }, 0, s.Play})
	}
	return all
}

// chosen are the points to try.
func (s story) chosen(t *testing.T, calls map[kind]int) (some []point) {
	all := points(calls)
	if *every || !prove.Full() {
		return prove.Sample(t, fewPoints, all)
	}
	draw := prove.Rand(t)
	for _, p := range all {
		if p.telling(s.name) || draw.IntN(len(all)) < morePoints {
			some = append(some, p)
		}
	}
	t.Logf("%d of %d points; all with -full -every", len(some), len(all))
	return some
}

// How many points of a scenario are tried, and how many with -full beside the telling ones.
const (
	fewPoints  = 3
	morePoints = 25
)

// telling says that a point is not like others of its kind: syncs and truncations are few,
// and the writes and openings of the other scenarios are like those of one.
func (p point) telling(story string) bool {
	few := p.of == syncing || p.of == truncating || p.of == growing
	one := story == "making" || story == "recovery" || story == "done"
	return few || one && (p.name == "io_write" || p.of == opening || p.of == deleting)
}

// try fails at a point, lets the next process find a sound disk, and checks what is left.
func (s story) try(t *testing.T, p point, sound *process) {
	dir := s.begin(t)
	failed := s.run(t, dir, p)
	if failed.disk.failures == 0 {
		t.Error("the disk did not fail")
	}
	if failed.ops > 2*sound.ops || failed.disk.failures > 2*failed.ops+10 {
		t.Errorf("%d operations met %d failures, and %d where there are none", failed.ops, failed.disk.failures, sound.ops)
	}
	if failed.opened && !p.forGood && !slices.Equal(failed.acknowledged, sound.acknowledged) {
		t.Errorf("acknowledged %v, want %v: an operation that fails once is tried twice", failed.acknowledged, sound.acknowledged)
	}
	rest(t, dir)
}

// process is one on a disk, and what came of it.
type process struct {
	hosttest.Caller
	t            *testing.T
	disk         *faulty
	opened       bool
	points, ops  int
	acknowledged []string
}

// run plays a story on a disk that fails at a point, and ends in order.
func (s story) run(t *testing.T, dir string, at point) *process {
	t.Helper()
	p := &process{t: t, disk: newFaulty(at)}
	put(t, scenario.Path(dir), p.disk, often)
	defer take(scenario.Path(dir))
	w, err := scenario.Open(dir, scenario.Options{Process: "host", After: s.after, Wait: -1, Stop: p.endless, Through: p.through})
	if p.opened = err == nil; !p.opened {
		p.wantFault("open", err)
		return p
	}
	must(t, s.play(w))
	_ = w.Close() // it may fail as the disk does
	scenario.WantNone(t, dir, scenario.Check)
	p.acknowledged = acknowledged(t, dir)
	return p
}

// endless stops a process that tries again and again; undisturbed none has a hundred points.
func (p *process) endless(string) bool {
	p.points++
	return p.points > 500
}

func (p *process) through(store hosttest.Caller) hosttest.Caller {
	p.Caller = store
	return p
}

// Call looks at what an operation answers. One that did not fail may still be refused: after
// an earlier one that did, the run is not what the host believes.
func (p *process) Call(ctx context.Context, op string, request []byte) ([]byte, error) {
	p.ops++
	before := p.disk.failures
	answer, err := p.Caller.Call(ctx, op, request)
	refused := p.disk.failures == before && slices.Contains(core.FindOp(op).Errors, core.CodeOf(err))
	if err != nil && !refused {
		p.wantFault(op, err)
	}
	return answer, err
}

// wantFault checks an error that the disk is the cause of.
func (p *process) wantFault(op string, err error) {
	p.t.Helper()
	var typed *core.Error
	if !errors.As(err, &typed) {
		p.t.Errorf("%s answered a %T: %v", op, err, err)
		return
	}
	code, _ := typed.Details["sqlite"].(int)
	if typed.Code != core.CodeStoreUnavailable || !typed.Retryable || sqlite3.ErrorCode(code) != p.disk.code {
		p.t.Errorf("%s answered %v, %v: %v", op, typed, typed.Details, typed.Unwrap())
	}
}
