// Package layout looks at a SQLite database and tells whether it is a
// controller store of layout v1, before anybody writes to it.
//
// Hosts share one file, and nothing is ever migrated. So a file that is not v1
// must be refused with its bytes untouched, and the refusal must say why.
//
// The package reads through a [Queryer] that the caller has put into one read
// transaction. It knows no driver and opens no file.
package layout

import (
	"context"
	"database/sql"
)

// SchemaID is the schema id that every v1 store holds in schema_info.
const SchemaID = "pi-workflows.controller-store.v1"

// intentsTable is the only table that a v1 store may lack: early hosts did not
// make it, and making it changes nothing that they rely on.
const intentsTable = "workflow_turn_intents"

// tableNames are the tables of a controller store, in the order of schema.sql.
var tableNames = [...]string{
	"schema_info",
	"workflow_run_queue",
	"run_events",
	intentsTable,
	"workflow_notifications",
	"resources",
	"queue",
	"effects",
	"workflow_requests",
	"events",
}

// Queryer reads from a database. *sql.DB, *sql.Conn and *sql.Tx are Queryers.
type Queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Layout describes the tables of a controller store, by name.
type Layout struct {
	Tables map[string]Table `json:"tables"`
}

// Table describes one table and what hangs on it.
type Table struct {
	Columns []Column `json:"columns"`

	// Checks are the CHECK expressions in the order of the DDL, without
	// comments and with white space normalised.
	Checks []string `json:"checks"`

	Autoincrement bool `json:"autoincrement"`
	Strict        bool `json:"strict,omitempty"`
	WithoutRowID  bool `json:"withoutRowid,omitempty"`

	// Clauses are the parts of the DDL that change what the table does and that
	// no pragma shows: a collation, a conflict clause, a deferred foreign key.
	// Those that name the default are left out.
	Clauses []string `json:"clauses,omitempty"`

	ForeignKeys []ForeignKey `json:"foreignKeys"`
	Indexes     []Index      `json:"indexes"`

	// Triggers are the names of the triggers on the table.
	Triggers []string `json:"triggers,omitempty"`
}

// Column describes one column.
type Column struct {
	Name    string  `json:"name"`
	Type    string  `json:"type"`
	NotNull bool    `json:"notNull"`
	Default *string `json:"default"`

	// PrimaryKey is the position in the primary key, from 1; 0 is none.
	PrimaryKey int `json:"primaryKey"`

	// Generated tells that the column is computed.
	Generated bool `json:"generated,omitempty"`
}

// ForeignKey is one column of a foreign key.
type ForeignKey struct {
	From     string `json:"from"`
	Table    string `json:"table"`
	To       string `json:"to"`
	OnDelete string `json:"onDelete"`
	OnUpdate string `json:"onUpdate"`

	// Group is the same for all columns of one foreign key.
	Group int `json:"group"`
}

// The origins of an index.
const (
	originCreate  = "CREATE INDEX"
	originUnique  = "UNIQUE"
	originPrimary = "PRIMARY KEY"
)

// Index describes one index, also those that SQLite makes for a constraint.
type Index struct {
	Name   string `json:"name"`
	Unique bool   `json:"unique"`

	// Origin is CREATE INDEX, UNIQUE or PRIMARY KEY.
	Origin string `json:"origin"`

	// Columns are the column names, with " COLLATE x" where the collation is
	// not BINARY and " DESC" where the order is descending.
	Columns []string `json:"columns"`

	// Where is the predicate of a partial index.
	Where *string `json:"where"`
}
