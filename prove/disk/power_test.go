package disk

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pi-workflows/wfcore/prove"
	"github.com/pi-workflows/wfcore/prove/invariant"
	"github.com/pi-workflows/wfcore/prove/scenario"
)

// A loss of power at any moment of a scenario leaves a sound store, in which all is that
// somebody was told is done; and another process goes on with it.
func TestPowerLoss(t *testing.T) {
	made := standing(t)
	for i, s := range scenario.All {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			powerLosses(t, s, copied(t, made), []int{often, seldom}[i%2])
		})
	}
}

// The same while the store is made.
func TestPowerLossOfMaking(t *testing.T) {
	t.Parallel()
	powerLosses(t, done, prove.Dir(t), often)
}

func powerLosses(t *testing.T, s scenario.Scenario, dir string, checkpoint int) {
	r := newRecorder(t, dir)
	put(t, scenario.Path(dir), r, checkpoint)
	play(t, dir, scenario.Options{Process: "host", Stop: r.point}, s.Play)
	r.moment(true)
	take(scenario.Path(dir))
	for _, l := range prove.Sample(t, someLosses, losses(t, r)) {
		t.Run(l.String(), func(t *testing.T) { l.try(t) })
	}
}

const someLosses = 2

// loss is one way in which power is lost: nothing pending is left of it, or what is drawn.
type loss struct {
	moment
	at   int
	draw uint64
}

func (l loss) String() string {
	if l.draw == 0 {
		return fmt.Sprintf("%d/synced", l.at)
	}
	return fmt.Sprintf("%d/torn/%d", l.at, l.draw)
}

// losses are two in which parts are left, and one in which nothing is, at each moment right
// before a sync, and at some of the others.
func losses(t *testing.T, r *recorder) (all []loss) {
	draw := prove.Rand(t)
	for at, m := range r.moments {
		if !m.sync && draw.IntN(len(r.moments)) >= 10 {
			continue
		}
		for n := range uint64(3) {
			all = append(all, loss{m, at, n})
		}
	}
	return all
}

func (l loss) try(t *testing.T) {
	var draw *rand.Rand
	if l.draw > 0 {
		draw = rand.New(rand.NewPCG(prove.Rand(t).Uint64(), uint64(l.at)<<8|l.draw))
	}
	dir := prove.Dir(t)
	l.image(t, dir, draw)
	play(t, dir, scenario.Options{Process: "rescue", After: 3 * scenario.Lease}, func(w *scenario.World) error {
		scenario.WantNone(t, dir, scenario.Check)
		look, _, err := scenario.Look(dir)
		must(t, err)
		for _, wrong := range invariant.Between(l.known, ours(look)) {
			t.Error(wrong)
		}
		if err := scenario.Recover(w); err != nil {
			return err
		}
		scenario.WantNone(t, dir, scenario.Settled)
		return nil
	})
	scenario.WantNone(t, dir, scenario.Check)
}
