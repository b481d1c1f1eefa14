package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// leave gives a copy of a fixture as a process that was killed leaves it: with a
// -wal that holds what the statements wrote.
func leave(t *testing.T, name, statements string) (path string) {
	t.Helper()
	live := place(t, name)
	c := plain(t, live)
	execute(t, c, "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
	main := read(t, live)
	execute(t, c, statements)
	if read(t, live) != main {
		t.Fatal("the statements reached the file")
	}
	path = placeBytes(t, main)
	write(t, path+"-wal", read(t, live+"-wal"))
	return path
}

const somethingElse = "CREATE TABLE diary (day TEXT); INSERT INTO diary VALUES ('monday')"

func TestRefusedFileKeepsItsWAL(t *testing.T) {
	for name, difference := range refused {
		bothWays(t, name, func(t *testing.T, o Options) {
			wantRefused(t, leave(t, name, somethingElse), o, difference)
		})
	}
}

// TestLookSeesTheWAL: what stands is the file and its -wal together.
func TestLookSeesTheWAL(t *testing.T) {
	for difference, statements := range map[string]string{
		"index workflow_run_queue_claimable is missing": "DROP INDEX workflow_run_queue_claimable",
		"pi-workflows.controller-store.v3":              "UPDATE schema_info SET schema_id = 'pi-workflows.controller-store.v3'",
		"table workflow_run_queue":                      "ALTER TABLE workflow_run_queue ADD COLUMN more TEXT",
		"schema_info":                                   "DROP TABLE schema_info",
	} {
		bothWays(t, difference, func(t *testing.T, o Options) {
			wantRefused(t, leave(t, "v1-populated", statements), o, difference)
		})
	}
	bothWays(t, "delivered", func(t *testing.T, o Options) {
		path := leave(t, "alpha-launch-failure-pending", "UPDATE workflow_notifications SET delivered_at = '2026-08-21T08:00:00.000Z'")
		s := mustOpen(t, path, o)
		if n := scan[int](t, s.conn, "SELECT count(*) FROM workflow_notifications WHERE delivered_at IS NOT NULL"); n != 1 {
			t.Errorf("%d delivered", n)
		}
	})
}

// TestRefusedFileInUse: another host has the file open, and goes on.
func TestRefusedFileInUse(t *testing.T) {
	for name, difference := range refused {
		bothWays(t, name, func(t *testing.T, o Options) {
			path := place(t, name)
			host := plain(t, path)
			execute(t, host, "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
			execute(t, host, somethingElse)
			wantRefused(t, path, o, difference)
			execute(t, host, "BEGIN IMMEDIATE; INSERT INTO diary VALUES ('tuesday')")
			wantRefused(t, path, o, difference)
			execute(t, host, "COMMIT")
			if n := scan[int](t, host, "SELECT count(*) FROM diary"); n != 2 {
				t.Errorf("%d rows", n)
			}
		})
	}
}

// TestSymlinkedFile: SQLite follows the link, so its -wal is beside the target,
// and the look must find it there.
func TestSymlinkedFile(t *testing.T) {
	link := func(t *testing.T, target string) string {
		path := filepath.Join(t.TempDir(), "link")
		try(t, os.Symlink(target, path))
		return path
	}
	bothWays(t, "refused", func(t *testing.T, o Options) {
		target := leave(t, "v1-populated", "UPDATE schema_info SET schema_id = 'pi-workflows.controller-store.v3'")
		path := link(t, target)
		before := contents(t, filepath.Dir(target))
		s, err := Open(ctx, path, o)
		if err == nil {
			s.Close()
		}
		wantUntouched(t, filepath.Dir(target), before)
		wantCode(t, err, core.CodeLayoutIncompatible)
	})
	bothWays(t, "made under an empty file", func(t *testing.T, o Options) {
		live := filepath.Join(t.TempDir(), "live")
		c := plain(t, live)
		execute(t, c, "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
		execute(t, c, somethingElse)
		target := placeBytes(t, read(t, live))
		write(t, target+"-wal", read(t, live+"-wal"))
		before := contents(t, filepath.Dir(target))
		s, err := Open(ctx, link(t, target), o)
		if err == nil {
			s.Close()
		}
		wantUntouched(t, filepath.Dir(target), before)
		wantCode(t, err, core.CodeLayoutIncompatible)
	})
	t.Run("accepted", func(t *testing.T) {
		target := leave(t, "v1-populated", "INSERT INTO run_events VALUES (NULL, '', 'r', 'w', 'claim_lost', NULL, '{}')")
		s := mustOpen(t, link(t, target), patient)
		if n := scan[int](t, s.conn, "SELECT count(*) FROM run_events"); n != 5 {
			t.Errorf("%d events", n)
		}
	})
}

// hot gives a copy of a fixture whose writer was killed in rollback mode, after it
// wrote to the file and before it removed the journal.
func hot(t *testing.T, name string) (path string) {
	t.Helper()
	live := place(t, name)
	c := plain(t, live)
	execute(t, c, "PRAGMA journal_mode = DELETE; CREATE TABLE diary (entry)")
	execute(t, c, "PRAGMA cache_size = 5; PRAGMA cache_spill = 1; BEGIN IMMEDIATE")
	execute(t, c, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
		INSERT INTO diary SELECT randomblob(2000) FROM n`)
	path = placeBytes(t, read(t, live))
	write(t, path+"-journal", read(t, live+"-journal"))
	return path
}

// TestHotJournal: every host is in rollback mode until WAL is on, so also while
// it makes a new file. A v1 file must open again after a kill there.
func TestHotJournal(t *testing.T) {
	s := mustOpen(t, hot(t, "v1-populated"), Options{})
	if n := scan[int](t, s.conn, "SELECT count(*) FROM diary"); n != 0 {
		t.Errorf("%d rows that were never committed", n)
	}
}

// TestHotJournalIsKept where the file is refused, or may only be read.
func TestHotJournalIsKept(t *testing.T) {
	keeps := func(t *testing.T, name string, o Options) error {
		path := hot(t, name)
		dir := filepath.Dir(path)
		before := contents(t, dir)
		s, err := Open(ctx, path, o)
		if err == nil {
			s.Close()
		}
		wantUntouched(t, dir, before)
		return err
	}
	bothWays(t, "refused", func(t *testing.T, o Options) {
		wantCode(t, keeps(t, "alpha-launch-failure-pending", o), core.CodeLayoutIncompatible)
	})
	t.Run("read-only", func(t *testing.T) {
		if err := keeps(t, "v1-populated", Options{ReadOnly: true}); err != nil && core.CodeOf(err) != core.CodeStoreUnavailable {
			t.Error(err)
		}
	})
}
