// Package prove is what the suites that try to break a store share: how much they try,
// from which seed, and how one point of them is tried again. See docs/reliability.md.
package prove

import (
	"flag"
	"math/rand/v2"
	"os"
	"testing"
)

// Every test under prove/ has these flags.
var (
	full = flag.Bool("full", false, "try every point, not a sample of them")
	seed = flag.Uint64("seed", 1, "of the sample, and of what a suite draws")
)

// Full says that every point is to be tried.
func Full() bool { return *full }

// Rand draws from the seed, and says it, so that a failure can be tried again.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	t.Logf("seed %d; repeat with: go test ./prove/... -run '%s' -seed %d", *seed, t.Name(), *seed)
	return rand.New(rand.NewPCG(*seed, 0))
}

// Sample is all of the points where every point is to be tried, and else some of them,
// in their order. A point that a sample left out can be tried alone with -full and -run.
func Sample[T any](t testing.TB, some int, points []T) []T {
	t.Helper()
	if *full || len(points) <= some {
		return points
	}
	t.Logf("%d of %d points of seed %d; all with -full", some, len(points), *seed)
	r := rand.New(rand.NewPCG(*seed, uint64(len(points))))
	sampled := make([]T, 0, some)
	for i, point := range points { // each subset of this size is as likely as another
		if r.IntN(len(points)-i) < some-len(sampled) {
			sampled = append(sampled, point)
		}
	}
	return sampled
}

// memory is where a Linux machine keeps files in memory.
const memory = "/dev/shm"

// Dir is a directory for a test that is not about a disk: in memory, where the machine
// has that, since most of the time would go to waiting for a disk.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(memory, "wfcore-prove-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
