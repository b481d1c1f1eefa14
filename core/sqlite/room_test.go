package sqlite

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// fullVFS is the system's, on a disk with no room for what is written to a log.
type fullVFS struct{ vfs.VFSFilename }

func (v fullVFS) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	file, flags, err := v.VFSFilename.OpenFilename(name, flags)
	if f, ok := file.(systemFile); ok && flags&vfs.OPEN_WAL != 0 {
		return fullFile{f}, flags, err
	}
	return file, flags, err
}

type fullFile struct{ systemFile }

func (fullFile) WriteAt([]byte, int64) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: "store-wal", Err: syscall.ENOSPC}
}

// A full disk is told as an I/O error.
//
// Guards: roomFile gives SQLite's own code to what the system says of a full disk.
func TestFullDiskIsAnIOError(t *testing.T) {
	vfs.Register("full", privateVFS{fullVFS{vfs.Find("os").(vfs.VFSFilename)}})
	defer vfs.Unregister("full")
	db, err := connect("file:" + filepath.Join(t.TempDir(), "store") + "?vfs=full")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "PRAGMA journal_mode=WAL"); err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(ctx, "CREATE TABLE t (x)")
	if code := resultCode(err); code != int(sqlite3.FULL) {
		t.Errorf("result %d, want %d: %v", code, sqlite3.FULL, err)
	}
}
