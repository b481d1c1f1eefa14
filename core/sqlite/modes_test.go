//go:build unix

package sqlite

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/prove/invariant"
)

func init() { childJobs["modes"] = childModes }

// childModes works on a store under a umask, and says the modes of what there
// is while it is open. The umask is the whole process's, so a child sets it.
func childModes(args []string) error {
	mask, err := strconv.ParseInt(args[0], 8, 0)
	if err != nil {
		return err
	}
	syscall.Umask(int(mask))
	s, err := Open(ctx, args[1], Options{})
	if err != nil {
		return err
	}
	if err := cycle(s, "run", "session"); err != nil {
		return err
	}
	dir := filepath.Dir(args[1])
	err = filepath.WalkDir(filepath.Dir(dir), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == filepath.Dir(dir) {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			fmt.Printf("%s %s\n", info.Mode(), entry.Name())
		}
		return err
	})
	if err != nil {
		return err
	}
	return s.Close()
}

func TestModes(t *testing.T) {
	const private = "-rw------- store\n-rw------- store-shm\n-rw------- store-wal\n"
	for _, mask := range []string{"000", "022", "077", "177"} {
		t.Run("new directory, "+mask, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "dir", "store")
			wantModes(t, mask, path, "drwx------ dir\n"+private)
		})
		for _, mode := range []os.FileMode{0o700, 0o755, 0o777} {
			t.Run(fmt.Sprintf("directory of %o, %s", mode, mask), func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "dir")
				try(t, os.Mkdir(dir, 0o700))
				try(t, os.Chmod(dir, mode))
				wantModes(t, mask, filepath.Join(dir, "store"), fmt.Sprintf("%s dir\n", os.ModeDir|mode)+private)
			})
		}
	}
}

// An existing host leaves the -wal and -shm that it makes as its umask says; when
// all have closed the file they are gone, and the next ones are ours.
func TestModesOfAnExistingFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	try(t, os.Mkdir(dir, 0o755))
	path := filepath.Join(dir, "store")
	write(t, path, read(t, fixture("v1-populated")))
	wantModes(t, "000", path, "drwxr-xr-x dir\n-rw------- store\n-rw------- store-shm\n-rw------- store-wal\n")
}

// A file that let others read is made private before input is stored in it.
func TestModesOfAWiderFile(t *testing.T) {
	t.Run("open in another host", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "store")
		write(t, path, read(t, fixture("v1-populated")))
		other := plain(t, path)
		execute(t, other, "PRAGMA journal_mode = WAL; UPDATE schema_info SET singleton = singleton")
		for _, suffix := range []string{"", "-wal", "-shm"} {
			try(t, os.Chmod(path+suffix, 0o644))
		}
		mustOpen(t, path, Options{})
		wide, err := invariant.Private(path)
		try(t, err)
		if len(wide) > 0 {
			t.Error(wide)
		}
	})
	for name, content := range map[string]string{"empty": "", "v1": read(t, fixture("v1-populated"))} {
		dir := filepath.Join(t.TempDir(), "dir")
		try(t, os.Mkdir(dir, 0o755))
		path := filepath.Join(dir, "store")
		write(t, path, content)
		try(t, os.Chmod(path, 0o644))
		t.Run(name, func(t *testing.T) {
			wantModes(t, "022", path, "drwxr-xr-x dir\n-rw------- store\n-rw------- store-shm\n-rw------- store-wal\n")
		})
	}
}

// What root makes beside another's store belongs to that one.
func TestRootLeavesTheStoreToItsOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	path := filepath.Join(t.TempDir(), "store")
	try(t, mustOpen(t, path, Options{}).Close())
	try(t, os.Chown(path, 4242, 4242))
	for _, readOnly := range []bool{true, false} {
		s := mustOpen(t, path, Options{ReadOnly: readOnly})
		_, err := s.ListRuns(ctx, core.ListRunsRequest{Limit: 1})
		try(t, err)
		for _, suffix := range []string{"", "-wal", "-shm"} {
			info, err := os.Stat(path + suffix)
			try(t, err)
			if owner := info.Sys().(*syscall.Stat_t).Uid; owner != 4242 {
				t.Errorf("read-only %v: store%s belongs to %d", readOnly, suffix, owner)
			}
		}
		try(t, s.Close())
	}
}

func wantModes(t *testing.T, mask, path, want string) {
	t.Helper()
	have, err := child(t, "modes", mask, path).Output()
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want {
		t.Errorf("umask %s: have\n%swant\n%s", mask, have, want)
	}
	if left, _ := filepath.Glob(path + "-*"); len(left) > 0 {
		t.Errorf("closing left %s", strings.Join(left, ", "))
	}
}
