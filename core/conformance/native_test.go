package conformance

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3/driver"

	"github.com/pi-workflows/wfcore/core/sqlite"
)

// native is a store on a file, and a second connection to it.
type native struct {
	*sqlite.Store
	db *sql.DB
}

func openNative(t *testing.T, random io.Reader) Face {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.sqlite")
	store, err := sqlite.Open(context.Background(), path, sqlite.Options{Random: random, TestClock: true})
	if err != nil {
		t.Fatal(err)
	}
	db, err := driver.Open("file:" + path)
	if err != nil {
		t.Fatal(err)
	}
	return native{store, db}
}

func (n native) Exec(text string) error { _, err := n.db.Exec(text); return err }

func (n native) Query(text string) ([]string, error) { return column(n.db.Query(text)) }

func (n native) Close() error { return errors.Join(n.db.Close(), n.Store.Close()) }

func TestNative(t *testing.T) { Run(t, openNative) }
