package core_test

import (
	"context"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
)

// An operation that waited for the lock is of the time at which it got it: its lease is
// whole, and one that has lapsed meanwhile is over.
func TestTimeIsReadBeforeTheLockIsHeld(t *testing.T) {
	var f *fixture
	waits := time.Duration(0)
	f = open(t, func(c *core.Config) {
		c.Wait = func(_ context.Context, try func() error) error {
			f.now = f.now.Add(waits)
			return try()
		}
	})
	f.starting("run", "s")
	waits = core.DefaultLease
	f.fails("markPreparedRunRunning", held("run", "tok"), core.CodeClaimLost)
}
