package conformance

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3/driver"

	"github.com/pi-workflows/wfcore/core"
	schema "github.com/pi-workflows/wfcore/sql"
)

// memory is a store in memory, whose one connection serves everybody.
type memory struct {
	*core.Store
	db   *sql.DB
	conn *sql.Conn
}

func openMemory(t *testing.T, random io.Reader) Face {
	t.Helper()
	ctx := context.Background()
	db, err := driver.Open(":memory:")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(ctx, schema.Schema); err != nil {
		t.Fatal(err)
	}
	once := func(_ context.Context, try func() error) error { return try() }
	return memory{core.New(core.Config{
		Conn: conn, Wait: once, WaitBeforeAbort: once, ResultCode: func(error) int { return 0 },
		Now: time.Now, Random: random, TestClock: true,
	}), db, conn}
}

func (m memory) Exec(text string) error {
	_, err := m.conn.ExecContext(context.Background(), text)
	return err
}

func (m memory) Query(text string) ([]string, error) {
	return column(m.conn.QueryContext(context.Background(), text))
}

func (m memory) Close() error {
	m.Store.Close()
	return errors.Join(m.conn.Close(), m.db.Close())
}

// A face on memory and one on a file answer and store the same.
func TestMemory(t *testing.T) { Run(t, openMemory) }

// column reads the one column of a query.
func column(rows *sql.Rows, err error) (values []string, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, rows.Err()
}
