package disk

import (
	"fmt"
	"syscall"

	"github.com/ncruces/go-sqlite3"
)

// fault is what a disk answers instead of doing what it is asked.
type fault struct {
	name string
	of   kind
	err  error
	half bool // half of what is written is on the disk
	code sqlite3.ErrorCode
}

// A full disk is SQLite's own code where something is written: the store's VFS makes that
// of what the system says.
var faults = []fault{
	{name: "io_write", of: writing, err: syscall.EIO, code: sqlite3.IOERR},
	{name: "full_write", of: writing, err: sqlite3.FULL, code: sqlite3.FULL},
	{name: "short_write", of: writing, err: sqlite3.FULL, half: true, code: sqlite3.FULL},
	{name: "readonly_write", of: writing, err: sqlite3.READONLY, code: sqlite3.READONLY},
	{name: "io_sync", of: syncing, err: syscall.EIO, code: sqlite3.IOERR},
	{name: "io_truncate", of: truncating, err: syscall.EIO, code: sqlite3.IOERR},
	{name: "full_grow", of: growing, err: syscall.ENOSPC, code: sqlite3.FULL},
	{name: "cannot_open", of: opening, err: sqlite3.CANTOPEN, code: sqlite3.CANTOPEN},
	{name: "io_read", of: reading, err: syscall.EIO, code: sqlite3.IOERR},
	{name: "io_delete", of: deleting, err: syscall.EIO, code: sqlite3.IOERR},
}

// point is one failure: at the nth call of its kind, and from then on where it is for good.
// The zero value is none.
type point struct {
	fault
	nth     int
	forGood bool
}

func (p point) String() string {
	return fmt.Sprintf("%s/%d/%s", p.name, p.nth, map[bool]string{false: "once", true: "for_good"}[p.forGood])
}

// points are all failures that a process with these calls can meet.
func points(calls map[kind]int) (all []point) {
	for _, f := range faults {
		for n := range calls[f.of] {
			all = append(all, point{f, n + 1, false}, point{f, n + 1, true})
		}
	}
	return all
}

// faulty is a disk that fails at a point. It counts its calls, and the failures.
type faulty struct {
	point
	calls    map[kind]int
	failures int
}

func newFaulty(p point) *faulty { return &faulty{point: p, calls: map[kind]int{}} }

func (d *faulty) call(c call, do func([]byte) error) error {
	d.calls[c.kind]++
	n := d.calls[c.kind]
	if c.kind != d.of || n < d.nth || n > d.nth && !d.forGood {
		return do(c.data)
	}
	d.failures++
	if d.half {
		if err := do(c.data[:len(c.data)/2]); err != nil {
			return err
		}
	}
	return d.err
}
