package conformance

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"time"

	"github.com/pi-workflows/wfcore/core"
)

// memory is a store in memory, whose one connection serves everybody.
type memory struct {
	*core.Store
	db   *sql.DB
	conn *sql.Conn
}

// OnMemory is a store on one connection of a database in memory, with the layout that
// schema makes. It closes the database.
func OnMemory(db *sql.DB, schema string, random io.Reader) (Face, error) {
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.ExecContext(ctx, schema); err != nil {
		return nil, err
	}
	epoch, err := time.Parse(time.RFC3339, Epoch)
	if err != nil {
		return nil, err
	}
	once := func(_ context.Context, try func() error) error { return try() }
	return memory{core.New(core.Config{
		Conn: conn, Wait: once, WaitBeforeAbort: once, ResultCode: func(error) int { return 0 },
		Now: func() time.Time { return epoch }, Random: random, TestClock: true,
	}), db, conn}, nil
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
