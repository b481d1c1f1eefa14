package conformance

import (
	"io"
	"testing"

	"github.com/ncruces/go-sqlite3/driver"

	schema "github.com/pi-workflows/wfcore/sql"
)

func openMemory(t *testing.T, random io.Reader) Face {
	t.Helper()
	db, err := driver.Open(":memory:")
	if err != nil {
		t.Fatal(err)
	}
	face, err := OnMemory(db, schema.Schema, random)
	if err != nil {
		t.Fatal(err)
	}
	return face
}

// A face on memory and one on a file answer and store the same.
func TestMemory(t *testing.T) { Run(t, openMemory) }
