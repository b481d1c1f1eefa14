// Package hosttest is a host in a box: a clock, a session, an engine and a host
// that follow a script, for tests of hosts and for demonstrations. What a real
// host does with its agent and its engine, it does with plain values.
package hosttest

import (
	"fmt"
	"time"
)

// Clock is a time that moves when it is told to.
type Clock struct{ at time.Time }

// NewClock is a clock that stands at a time.
func NewClock(at time.Time) *Clock { return &Clock{at} }

// Now is the time of the clock.
func (c *Clock) Now() time.Time { return c.at }

// Advance moves it on.
func (c *Clock) Advance(d time.Duration) { c.at = c.at.Add(d) }

// tokens are fresh, and told apart by their process.
type tokens struct {
	process string
	made    int
}

func (t *tokens) next() string {
	t.made++
	return fmt.Sprintf("%s-%d", t.process, t.made)
}
