package sqlite

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/pi-workflows/wfcore/prove/invariant"
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

// hold says where a child is, and goes on when it reads a byte.
func hold(line string) {
	fmt.Println(line)
	if _, err := io.ReadFull(os.Stdin, make([]byte, 1)); err != nil {
		os.Exit(3) // the parent is gone
	}
}

// killAt lets a child go to its nth line and kills it there, or lets it end where
// it has fewer. It returns the lines.
func killAt(t *testing.T, n int, job string, args ...string) (lines []string) {
	t.Helper()
	cmd := child(t, job, args...)
	stdin, err := cmd.StdinPipe()
	try(t, err)
	stdout, err := cmd.StdoutPipe()
	try(t, err)
	try(t, cmd.Start())
	for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
		lines = append(lines, scanner.Text())
		if len(lines) == n {
			try(t, cmd.Process.Kill())
			_ = cmd.Wait()
			return lines
		}
		_, err := stdin.Write([]byte{'\n'})
		try(t, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the child failed after %q: %v", lines, err)
	}
	return lines
}

// always is past the last line of any child.
const always = 1 << 20

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
			unsound, err := invariant.Sound(ctx, s.conn)
			try(t, err)
			if len(unsound) > 0 {
				t.Error(unsound)
			}
			wantV1(t, s)
			wantPragmas(t, s)
			try(t, cycle(s, "next", "session"))
		})
	}
}
