package disk

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/pi-workflows/wfcore/prove/invariant"
	"github.com/pi-workflows/wfcore/prove/scenario"
)

// sector is what a disk writes whole, or not at all.
const sector = 512

// recorder is a disk that does all it is asked, and remembers at each moment what of it a
// loss of power might leave.
type recorder struct {
	t       *testing.T
	dir     string
	files   map[string]*kept // by suffix
	known   invariant.Look   // what the process has been told is done
	moments []moment
}

// kept is what is known of one file: what is there after a sync whatever comes, and what
// was asked for since then.
type kept struct {
	exists  bool // its name is on the disk for good
	synced  []byte
	pending []change
	now     []byte // with all that is pending
	fresh   bool   // it was not synced since it was opened
}

// change is what a disk may still do, or have done in part.
type change struct {
	kind   kind
	offset int64
	data   []byte
}

// moment is when power may be lost: what stands on the disk, and what was promised.
type moment struct {
	files  map[string]kept
	beside map[string][]byte // the files of the host
	known  invariant.Look
	sync   bool // it is right before a sync
}

// newRecorder records from what a directory holds, which is on the disk.
func newRecorder(t *testing.T, dir string) *recorder {
	r := &recorder{t: t, dir: dir, files: map[string]*kept{"": {}, "-wal": {}, "-journal": {}}}
	for suffix, f := range r.files {
		content, err := os.ReadFile(scenario.Path(dir) + suffix)
		f.exists, f.synced, f.now = err == nil, content, content
	}
	return r
}

func (r *recorder) call(c call, do func([]byte) error) error {
	if c.kind == reading {
		return do(nil)
	}
	r.others()
	r.moment(c.kind == syncing)
	there := r.there(c.file)
	if err := do(c.data); err != nil {
		return err
	}
	if c.kind == writing { // what comes to the disk is scrubbed
		c.data = r.content(c.file)[c.offset : c.offset+int64(len(c.data))]
	}
	switch f := r.files[c.file]; {
	case c.kind == syncing:
		r.sync(c.file)
	case c.kind == opening:
		f.fresh = true
		if !there && r.there(c.file) {
			f.add(change{kind: opening})
		}
	default:
		f.add(change{c.kind, c.offset, c.data})
	}
	return nil
}

// sync is that of a file and its name; at the first one of a log or journal the store's
// VFS syncs their directory.
func (r *recorder) sync(suffix string) {
	f := r.files[suffix]
	if suffix != "" && f.fresh {
		for _, each := range r.files {
			each.named()
		}
	}
	*f = kept{exists: true, synced: f.now, now: f.now}
}

// named makes the name of a file what it is now, on the disk too.
func (f *kept) named() {
	for i := len(f.pending) - 1; i >= 0; i-- {
		switch f.pending[i].kind {
		case deleting:
			*f = kept{}
			return
		case opening:
			f.exists, f.synced, f.pending = true, nil, f.pending[i+1:]
			return
		}
	}
}

func (r *recorder) there(suffix string) bool {
	_, err := os.Stat(scenario.Path(r.dir) + suffix)
	return err == nil
}

func (r *recorder) content(suffix string) []byte {
	content, err := os.ReadFile(scenario.Path(r.dir) + suffix)
	if err != nil && !os.IsNotExist(err) {
		r.t.Error(err)
	}
	return content
}

// others finds what the other host has written to the log. It is on the disk where the log
// began anew, whose head SQLite syncs in every mode; else it may be lost, as where the other
// host syncs at checkpoints alone.
func (r *recorder) others() {
	for suffix, f := range r.files {
		content := r.content(suffix)
		if bytes.Equal(content, f.now) {
			continue
		}
		if suffix != "-wal" {
			r.t.Errorf("the other host wrote %q", suffix)
		}
		from := 0
		for from+sector < min(len(content), len(f.now)) && bytes.Equal(content[from:from+sector], f.now[from:from+sector]) {
			from += sector
		}
		f.add(change{writing, int64(from), content[from:]})
		if from == 0 {
			r.sync(suffix)
		}
	}
}

// add remembers a change.
func (f *kept) add(c change) {
	f.pending = append(f.pending, c)
	f.now = c.apply(f.now, func(int64) bool { return true })
}

// apply makes a change to a file, of a write those sectors that are kept.
func (c change) apply(content []byte, keep func(sector int64) bool) []byte {
	switch c.kind {
	case opening, deleting:
		return nil
	case truncating:
		return append(bytes.Clone(content[:min(int64(len(content)), c.offset)]), make([]byte, max(0, c.offset-int64(len(content))))...)
	case growing:
		return append(bytes.Clone(content), make([]byte, max(0, c.offset-int64(len(content))))...)
	}
	content = bytes.Clone(content)
	for i, b := range c.data {
		at := c.offset + int64(i)
		if !keep(at / sector) {
			continue
		}
		for int64(len(content)) <= at {
			content = append(content, 0)
		}
		content[at] = b
	}
	return content
}

// point is a moment at which the process has been told all that is done.
func (r *recorder) point(string) bool {
	look, _, err := scenario.Look(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	r.known = ours(look)
	r.others()
	r.moment(false)
	return false
}

// moment remembers this moment. Of those with the same files the last has promised most.
func (r *recorder) moment(sync bool) {
	m := moment{files: map[string]kept{}, beside: map[string][]byte{}, known: r.known, sync: sync}
	for suffix, f := range r.files {
		m.files[suffix] = *f
	}
	for _, name := range []string{"branch", "bundles", "acknowledged", "acted"} {
		if content, err := os.ReadFile(filepath.Join(r.dir, name)); err == nil {
			m.beside[name] = content
		}
	}
	r.moments = append(r.moments, m)
}

// image writes what power may leave: of what is pending all, nothing or parts, as is drawn.
// Nil draws nothing at all.
func (m moment) image(t *testing.T, dir string, draw *rand.Rand) {
	for name, content := range m.beside {
		must(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	for _, suffix := range []string{"", "-wal", "-journal"} { // in one order, for the same draws
		if exists, content := m.files[suffix].left(draw); exists {
			must(t, os.WriteFile(scenario.Path(dir)+suffix, content, 0o600))
		}
	}
}

// left is what is left of a file. One that was made anew is another file under the name,
// and has nothing of the old one.
func (f kept) left(draw *rand.Rand) (exists bool, content []byte) {
	exists, content = f.exists, f.synced
	if draw == nil {
		return exists, content
	}
	anew := true // whether changes are of the file that the name is of
	for _, c := range f.pending {
		luck := draw.IntN(10)
		switch {
		case c.kind == opening:
			if anew = luck < 7; anew {
				exists, content = true, nil
			}
		case luck < 3 || !anew:
		case c.kind == deleting:
			exists, content = false, nil
		case luck < 5:
			torn := map[int64]bool{}
			content = c.apply(content, func(at int64) bool {
				if _, drawn := torn[at]; !drawn {
					torn[at] = draw.IntN(2) == 0
				}
				return torn[at]
			})
		default:
			content = c.apply(content, func(int64) bool { return true })
		}
	}
	return exists, content
}

// ours is what our host has written: the other one may lose what it did.
func ours(look invariant.Look) invariant.Look {
	own := func(rows []invariant.Row) (own []invariant.Row) {
		for _, row := range rows {
			if !scenario.Foreign(row["run_id"]) {
				own = append(own, row)
			}
		}
		return own
	}
	return invariant.Look{Runs: own(look.Runs), Intents: own(look.Intents), Events: look.Events}
}
