package mutant

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"

	sqlite "github.com/ncruces/go-sqlite3/driver"
)

// rewriter is a driver whose statements are what rewrite makes of them.
type rewriter struct {
	driver.Connector
	rewrite func(text string) string
}

// openMemory is a database in memory behind a rewriter.
func openMemory(rewrite func(string) string) (*sql.DB, error) {
	connector, err := new(sqlite.SQLite).OpenConnector(":memory:")
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(rewriter{connector, rewrite}), nil
}

func (r rewriter) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := r.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return rewriting{conn.(sqlite.Conn), r.rewrite}, nil
}

type rewriting struct {
	sqlite.Conn
	rewrite func(string) string
}

func (c rewriting) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	return c.Conn.PrepareContext(ctx, c.rewrite(text))
}

// ExecContext is for scripts of several statements, which are never rewritten.
func (c rewriting) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, text, args)
}

// queryName is the name of one of the core's statements, or nothing.
func queryName(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	name, ok := strings.CutPrefix(line, "-- name: ")
	if !ok {
		return ""
	}
	return strings.Fields(name)[0]
}
