package sqlite

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// FuzzFile puts any bytes at some place of a store's file, or in its stead: opening it
// says what is wrong with a code, and what is refused, or only read, keeps its bytes.
func FuzzFile(f *testing.F) {
	names := slices.Concat(accepted, slices.Sorted(maps.Keys(refused)))
	f.Add(byte(0), uint32(0), uint32(1<<20), []byte(nil), false)
	f.Add(byte(1), uint32(0), uint32(1<<20), []byte(nil), true)
	f.Add(byte(0), uint32(0), uint32(0), []byte("not a database"), false)
	f.Add(byte(1), uint32(16), uint32(1<<20), []byte{0, 1}, true)
	f.Add(byte(1), uint32(18), uint32(1<<20), []byte{9, 9}, false)
	f.Add(byte(0), uint32(100), uint32(1<<20), []byte{5, 0, 0, 0, 0xff}, true)
	f.Add(byte(4), uint32(18), uint32(1<<20), []byte{1, 1}, true) // refused, and not in WAL mode
	f.Add(byte(2), uint32(0), uint32(4096), []byte(nil), true)
	f.Add(byte(3), uint32(4000), uint32(5000), []byte("CREATE TABLE x(y)"), true)
	f.Fuzz(func(t *testing.T, name byte, at, size uint32, patch []byte, write bool) {
		data := []byte(read(t, fixture(names[int(name)%len(names)])))
		data = data[:min(len(data), int(size))]
		from := min(len(data), int(at))
		data = append(data[:from], append(patch, data[min(len(data), from+len(patch)):]...)...)
		path := placeBytes(t, string(data))
		before := contents(t, filepath.Dir(path))
		s, err := Open(ctx, path, Options{ReadOnly: !write, Now: clockAt(0), Wait: -1})
		if err == nil {
			_, _ = s.ListRuns(ctx, core.ListRunsRequest{Limit: 100})
			try(t, s.Close())
		} else if core.CodeOf(err) == "" {
			t.Fatalf("an error without a code: %v", err)
		}
		if err != nil {
			wantUntouched(t, filepath.Dir(path), before)
		} else if !write && read(t, path) != string(data) {
			t.Error("a file that was only read was changed")
		}
	})
}
