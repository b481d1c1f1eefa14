package main

import (
	"crypto/rand"
	"io"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/pi-workflows/wfcore/core/conformance"
	"github.com/pi-workflows/wfcore/wasm/wasmtest"
)

// TestConformance runs the suite of every face on the .wasm, in wazero.
func TestConformance(t *testing.T) {
	conformance.Run(t, func(t *testing.T, random io.Reader) conformance.Face {
		conn, err := sqlite3.Open(":memory:")
		if err != nil {
			t.Fatal(err)
		}
		// The Go runtime takes random bytes for itself when it starts.
		source := &lateReader{rand.Reader}
		c, err := wasmtest.Start(t.Context(), conn, source)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Call(t.Context(), "open", []byte(`{"connection":"own","testClock":true}`)); err != nil {
			t.Fatal(err)
		}
		source.Reader = random
		return embedded{c, conn}
	})
}

type lateReader struct{ io.Reader }

type embedded struct {
	*wasmtest.Core
	conn *sqlite3.Conn
}

func (f embedded) Exec(sql string) error { return f.conn.Exec(sql) }

func (f embedded) Query(sql string) (found []string, err error) {
	stmt, _, err := f.conn.Prepare(sql)
	if err != nil {
		return nil, err
	}
	defer stmt.Close()
	for stmt.Step() {
		found = append(found, stmt.ColumnText(0))
	}
	return found, stmt.Err()
}

func (f embedded) Close() error {
	if err := f.Core.Close(); err != nil {
		return err
	}
	return f.conn.Close()
}
