package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

const vfsName = "wfcore"

func init() {
	vfs.Register(vfsName, privateVFS{vfs.Find("os").(vfs.VFSFilename)})
}

// privateVFS is the system's VFS, with every file that it makes readable by its
// owner alone, and with cleared data gone from its pages (scrub.go). A chmod after
// the fact would leave a window in which others can open the file, so each is made
// with its mode before SQLite opens it.
type privateVFS struct{ vfs.VFSFilename }

func (v privateVFS) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	path := name.String()
	if path != "" && flags&vfs.OPEN_CREATE != 0 {
		database := path
		switch {
		case flags&vfs.OPEN_WAL != 0:
			database = strings.TrimSuffix(path, "-wal")
		case flags&vfs.OPEN_MAIN_JOURNAL != 0:
			database = strings.TrimSuffix(path, "-journal")
		}
		if err := makePrivate(path, database); err != nil {
			return nil, flags, err
		}
		if flags&(vfs.OPEN_WAL|vfs.OPEN_MAIN_DB) != 0 {
			if err := makePrivate(database+"-shm", database); err != nil {
				return nil, flags, err
			}
		}
	}
	file, flags, err := v.VFSFilename.OpenFilename(name, flags)
	f, ok := file.(systemFile)
	if !ok || err != nil {
		return file, flags, err
	}
	f = roomFile{f}
	if flags&vfs.OPEN_MAIN_DB != 0 {
		f = scrubbedFile{f}
	}
	return f, flags, nil
}

// roomFile says of a disk that is full, or of a limit that is reached, that it is. The driver passes the system's error
// on, which SQLite takes for an I/O error, and which is forgotten by the time it is asked
// for.
type roomFile struct{ systemFile }

func (f roomFile) WriteAt(page []byte, offset int64) (int, error) {
	n, err := f.systemFile.WriteAt(page, offset)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		err = vfs.SystemError(err, sqlite3.FULL)
	}
	return n, err
}

// makePrivate makes a file of mode 0600 where there is none, under any umask. Made
// by root beside another's database, it belongs to that one, who else were locked
// out.
func makePrivate(path, database string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return vfs.SystemError(err, sqlite3.CANTOPEN)
	}
	if info, statErr := os.Stat(database); statErr == nil && os.Geteuid() == 0 {
		if owner, ok := info.Sys().(*syscall.Stat_t); ok {
			err = f.Chown(int(owner.Uid), int(owner.Gid))
		}
	}
	return errors.Join(err, f.Chmod(0o600), f.Close())
}
