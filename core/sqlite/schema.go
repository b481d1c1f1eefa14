package sqlite

import (
	"context"
	"database/sql"
	"testing/fstest"

	"github.com/pressly/goose/v3"

	wfsql "github.com/pi-workflows/wfcore/sql"
)

// applySchema runs sql/schema.sql through goose, in one transaction. goose takes
// numbered files only, so it sees the schema under such a name; it keeps no table
// of versions, since the layout is frozen.
func applySchema(ctx context.Context, db *sql.DB) error {
	files := fstest.MapFS{"00001_schema.sql": {Data: []byte(wfsql.Schema)}}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableVersioning(true))
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// standIn makes an empty table of intents for a connection that only reads a store
// that has none yet: what is temporary is not in the file.
func standIn(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, wfsql.TempIntents())
	return err
}
