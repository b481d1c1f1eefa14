package sqlite

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ncruces/go-sqlite3/vfs"
)

// heldVFS holds a child before each file is opened, looked for or removed, so
// also where a step of the making of a new file is on the disk and the next is not.
type heldVFS struct{ vfs.VFSFilename }

func (v heldVFS) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	hold("open " + filepath.Base(name.String()))
	return v.VFSFilename.OpenFilename(name, flags)
}

func (v heldVFS) Delete(path string, sync bool) error {
	hold("delete " + filepath.Base(path))
	return v.VFSFilename.Delete(path, sync)
}

func (v heldVFS) Access(path string, flags vfs.AccessFlag) (bool, error) {
	hold("access " + filepath.Base(path))
	return v.VFSFilename.Access(path, flags)
}

// childOpen makes a new file, and closes it again.
func childOpen(args []string) error {
	vfs.Register(vfsName, heldVFS{vfs.Find(vfsName).(vfs.VFSFilename)})
	s, err := Open(ctx, args[0], patient)
	if err != nil {
		return err
	}
	hold("opened")
	return s.Close()
}

// TestKilledWhileMakingTheFile: what a first opening leaves is a new store, or none
// yet, for whoever comes next.
func TestKilledWhileMakingTheFile(t *testing.T) {
	all := killAt(t, always, "open", filepath.Join(t.TempDir(), "store"))
	if !slices.Contains(all, "opened") || !slices.Contains(all, "delete store-journal") {
		t.Fatalf("the child stops at %q", all)
	}
	for n := 1; n <= len(all); n++ {
		t.Run(fmt.Sprintf("%d/%s", n, all[n-1]), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "store")
			killAt(t, n, "open", path)
			s := mustOpen(t, path, patient)
			wantSound(t, s)
			wantPragmas(t, s)
			try(t, cycle(s, "next", "session"))
		})
	}
}
