// Package disk plays the scenarios on disks that fail, on files that others have locked,
// and through losses of power. See docs/reliability.md.
package disk

import (
	"strings"
	"sync"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// kind is what is asked of a disk.
type kind string

const (
	opening    kind = "open"
	reading    kind = "read"
	writing    kind = "write"
	syncing    kind = "sync"
	truncating kind = "truncate"
	growing    kind = "grow" // room is made ahead of writes
	deleting   kind = "delete"
)

// call is one request to a disk.
type call struct {
	kind   kind
	file   string // "", "-wal" or "-journal"
	data   []byte // of a write
	offset int64  // of a write; of a truncation or growth, the size
}

// disk stands between SQLite and the files of one store. It does a call by do, which takes
// what is written, or it does not.
type disk interface {
	call(c call, do func(data []byte) error) error
}

// put puts a disk under the store of a path, for the connections that the store opens from
// now on. Those checkpoint once the log has so many pages.
func put(t *testing.T, path string, d disk, checkpoint int) {
	disks.Store(path, mount{d, checkpoint})
	t.Cleanup(func() { take(path) })
}

func take(path string) { disks.Delete(path) }

// The few pages of a scenario come to several checkpoints, or to the last one alone.
const (
	often  = 16
	seldom = 1000
)

// disks are the mounts of tests, by the path of the database.
var disks sync.Map

type mount struct {
	disk
	checkpoint int
}

// vfsName is that of the store's VFS, which the other host does not use.
const vfsName = "wfcore"

func init() {
	vfs.Register(vfsName, between{vfs.Find(vfsName).(vfs.VFSFilename)})
	sqlite3.AutoExtension(func(c *sqlite3.Conn) error {
		file := c.Filename("main")
		found, ok := disks.Load(file.String())
		if !ok || file.URIParameter("vfs") != vfsName {
			return nil
		}
		return c.WALAutoCheckpoint(found.(mount).checkpoint)
	})
}

// between is the store's VFS, with the disks of tests in front of it.
type between struct{ vfs.VFSFilename }

func find(path string) (d disk, suffix string) {
	for _, suffix := range []string{"-wal", "-journal", ""} {
		if database, ok := strings.CutSuffix(path, suffix); ok {
			if d, ok := disks.Load(database); ok {
				return d.(mount).disk, suffix
			}
		}
	}
	return nil, ""
}

func (v between) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (file vfs.File, out vfs.OpenFlag, err error) {
	d, suffix := find(name.String())
	if d == nil {
		return v.VFSFilename.OpenFilename(name, flags)
	}
	err = d.call(call{kind: opening, file: suffix}, func([]byte) (err error) {
		file, out, err = v.VFSFilename.OpenFilename(name, flags)
		return err
	})
	if err != nil {
		return nil, flags, err
	}
	return faced{file.(whole), d, suffix}, out, nil
}

func (v between) Delete(path string, syncDir bool) error {
	d, suffix := find(path)
	if d == nil {
		return v.VFSFilename.Delete(path, syncDir)
	}
	return d.call(call{kind: deleting, file: suffix}, func([]byte) error { return v.VFSFilename.Delete(path, syncDir) })
}

// whole is all that a file of the store's VFS can do. Shared memory and locks pass by.
type whole interface {
	vfs.FileLockState
	vfs.FilePersistWAL
	vfs.FilePowersafeOverwrite
	vfs.FileSizeHint
	vfs.FileHasMoved
	vfs.FileSharedMemory
	vfs.FileMemoryMapper
}

// faced is a file behind a disk.
type faced struct {
	whole
	disk disk
	file string
}

func (f faced) ReadAt(p []byte, offset int64) (n int, err error) {
	err = f.disk.call(call{kind: reading, file: f.file}, func([]byte) (err error) {
		n, err = f.whole.ReadAt(p, offset)
		return err
	})
	return n, err
}

func (f faced) WriteAt(p []byte, offset int64) (n int, err error) {
	err = f.disk.call(call{kind: writing, file: f.file, data: p, offset: offset}, func(p []byte) (err error) {
		n, err = f.whole.WriteAt(p, offset)
		return err
	})
	return n, err
}

func (f faced) Truncate(size int64) error {
	return f.disk.call(call{kind: truncating, file: f.file, offset: size}, func([]byte) error { return f.whole.Truncate(size) })
}

func (f faced) SizeHint(size int64) error {
	return f.disk.call(call{kind: growing, file: f.file, offset: size}, func([]byte) error { return f.whole.SizeHint(size) })
}

func (f faced) Sync(flags vfs.SyncFlag) error {
	return f.disk.call(call{kind: syncing, file: f.file}, func([]byte) error { return f.whole.Sync(flags) })
}
