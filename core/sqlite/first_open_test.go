package sqlite

import (
	"path/filepath"
	"sync"
	"testing"
)

// TestFirstOpenByMany: all make the same new file at once, and one schema stands.
func TestFirstOpenByMany(t *testing.T) {
	for range 10 {
		path := filepath.Join(t.TempDir(), "new", "store")
		stores := make([]*Store, 8)
		var ready, group sync.WaitGroup
		ready.Add(len(stores))
		for i := range stores {
			group.Go(func() {
				ready.Done()
				ready.Wait()
				s, err := Open(ctx, path, patient)
				if err != nil {
					t.Error(err)
					return
				}
				stores[i] = s
			})
		}
		group.Wait()
		if t.Failed() {
			return
		}
		for _, s := range stores {
			wantV1(t, s)
			wantPragmas(t, s)
			if n := scan[int](t, s.conn, "SELECT count(*) FROM schema_info"); n != 1 {
				t.Errorf("%d rows in schema_info", n)
			}
			try(t, s.Close())
		}
		wantOnly(t, filepath.Dir(path), "store")
	}
}
