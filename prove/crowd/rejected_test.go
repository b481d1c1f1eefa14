package crowd

import (
	"bufio"
	"database/sql"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
	"github.com/pi-workflows/wfcore/prove"
)

const fixtures = "../../core/layout/testdata/fixtures"

// reset is what every refusal advises.
const reset = "reset the project's controller store"

// rejected is a file that is no store, and what the refusal names.
type rejected struct {
	name, want string
	make       func(t *testing.T, path string)
}

// TestRejected: several processes open a file at once that is no v1 store, to write and to
// read. Each is told what differs and what to do, and every byte beside the file is as it
// was: its own, those of its -wal, and those of a run bundle.
func TestRejected(t *testing.T) {
	all := oddFiles()
	for _, table := range tables() {
		for _, m := range mutantsOf(table) {
			inLog := len(all)%2 == 0
			all = append(all, rejected{m.name, m.want, func(t *testing.T, path string) { makeMutant(t, path, m.table, inLog) }})
		}
	}
	t.Logf("%d files", len(all))
	openers := []*child{start(t, "openEach", false), start(t, "openEach", false), start(t, "openEach", true)}
	for _, r := range prove.Sample(t, 40, all) {
		t.Run(r.name, func(t *testing.T) { refusedByAll(t, r, openers) })
	}
}

func refusedByAll(t *testing.T, r rejected, openers []*child) {
	dir := prove.Dir(t)
	path := filepath.Join(dir, "store")
	must(t, os.MkdirAll(filepath.Join(dir, "runs", "r1"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "runs", "r1", "bundle.json"), []byte(`{"state":"running"}`), 0o600))
	r.make(t, path)
	before := contents(t, dir)
	for _, opener := range openers {
		opener.tell(t, path)
	}
	for _, opener := range openers {
		have := opener.hear(t)
		if !strings.HasPrefix(have, string(core.CodeLayoutIncompatible)) || !strings.Contains(have, r.want) || !strings.Contains(have, reset) {
			t.Errorf("have %s, want %s", have, r.want)
		}
	}
	if after := contents(t, dir); !maps.Equal(before, after) {
		t.Errorf("files were changed, made or removed")
	}
}

// contents are the bytes of all files but the -shm, which is SQLite's scratch.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "-shm") {
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = string(data)
		return err
	}))
	return files
}

// openEach opens each file that it is told, and says what came of it.
func openEach(args []string) error {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		s, err := sqlite.Open(ctx, in.Text(), sqlite.Options{ReadOnly: args[0] == "true"})
		if err == nil {
			err = s.Close()
		}
		fmt.Println(err)
	}
	return in.Err()
}

// oddFiles are no store for other reasons than one part of a table.
func oddFiles() []rejected {
	cut := func(length int) func(*testing.T, string) {
		return func(t *testing.T, path string) { write(t, path, fixture(t, "v1-populated")[:length]) }
	}
	return []rejected{
		{"another schema id", "schema id", func(t *testing.T, path string) {
			write(t, path, fixture(t, "v1-populated"))
			alter(t, path, "UPDATE schema_info SET schema_id = 'pi-workflows.controller-store.v2'")
		}},
		{"pending legacy notification", "1 pending launch_failure notification",
			func(t *testing.T, path string) { write(t, path, fixture(t, "alpha-launch-failure-pending")) }},
		{"text", "", func(t *testing.T, path string) { write(t, path, "Dear diary,\n"+strings.Repeat("no database.\n", 500)) }},
		{"cut in its header", "", cut(99)},
		{"cut after its first page", "", cut(4096)},
		{"cut within its last page", "", func(t *testing.T, path string) {
			v1 := fixture(t, "v1-populated")
			write(t, path, v1[:len(v1)-1])
		}},
	}
}

func fixture(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(fixtures, name+".sqlite"))
	must(t, err)
	return string(data)
}

func write(t *testing.T, path, data string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(data), 0o600))
}

// alter runs statements on a file as another host would.
func alter(t *testing.T, path, statements string) {
	t.Helper()
	db, err := plain(path, "rw")
	must(t, err)
	_, err = db.Exec(statements)
	must(t, err)
	must(t, db.Close())
}

// makeMutant makes a store with the rows of the populated one, but for one table, and
// leaves all of it in a -wal, or none.
func makeMutant(t *testing.T, path string, changed table, inLog bool) {
	t.Helper()
	made := filepath.Join(prove.Dir(t), "made")
	db, err := plain(made, "rwc")
	must(t, err)
	defer db.Close()
	must(t, execute(db, "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; PRAGMA synchronous = OFF"))
	if inLog {
		must(t, execute(db, "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0"))
	}
	full, err := filepath.Abs(filepath.Join(fixtures, "v1-populated.sqlite"))
	must(t, err)
	must(t, execute(db, "ATTACH 'file:"+full+"?immutable=1' AS old"))
	for _, table := range tables() {
		if table.name == changed.name {
			table = changed
		}
		must(t, execute(db, table.String()+table.copyRows()))
	}
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(made + suffix)
		if err == nil {
			err = os.WriteFile(path+suffix, data, 0o600)
		} else if suffix == "-wal" && !inLog {
			err = nil
		}
		must(t, err)
	}
}

// copyRows copies what both tables have, where it still fits.
func (t table) copyRows() string {
	columns := []string{}
	for _, part := range t.parts {
		if name := columnOf(part); name != "" && name != "extra" {
			columns = append(columns, name)
		}
	}
	list := strings.Join(columns, ", ")
	return fmt.Sprintf("INSERT OR IGNORE INTO main.%s (%s) SELECT %s FROM old.%s;", t.name, list, list, t.name)
}

func execute(db *sql.DB, statements string) error {
	_, err := db.Exec(statements)
	if err != nil {
		return fmt.Errorf("%s: %w", statements, err)
	}
	return nil
}
