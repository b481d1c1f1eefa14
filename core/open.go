package core

import (
	"context"
	"database/sql"
	"errors"

	"github.com/pi-workflows/wfcore/core/layout"
)

// Pragma is a setting of a connection: how to set it, and how SQLite says it back.
type Pragma struct{ Name, Set, Want string }

// What a connection is set to, and read back. See docs/operations.md#the-file.
var (
	PragmasFile = []Pragma{
		{"query_only", "OFF", "0"}, // an earlier use of the connection may have set it
		{"journal_mode", "WAL", "wal"},
		{"synchronous", "FULL", "2"}, // "queued" promised to a model must survive power loss
		{"foreign_keys", "ON", "1"},
		{"secure_delete", "ON", "1"}, // cleared input must not linger in free pages
	}
	PragmasReadOnly = []Pragma{{"query_only", "ON", "1"}}
	PragmasMemory   = []Pragma{{"foreign_keys", "ON", "1"}}
)

// Apply sets the pragma and reads it back: SQLite ignores what it cannot do, and a
// network file system cannot do WAL.
func (p Pragma) Apply(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, "PRAGMA "+p.Name+"="+p.Set); err != nil {
		return err
	}
	got, err := p.Read(ctx, conn)
	if err == nil && got != p.Want {
		err = p.Misconfigured(got)
	}
	return err
}

// Read returns the value as SQLite says it.
func (p Pragma) Read(ctx context.Context, conn *sql.Conn) (value string, err error) {
	err = conn.QueryRowContext(ctx, "PRAGMA "+p.Name).Scan(&value)
	return value, err
}

// Misconfigured is the error of a connection that has another value.
func (p Pragma) Misconfigured(value string) *Error {
	return NewError(CodeStoreMisconfigured, Details{"pragma": p.Name, "value": value, "want": p.Set},
		"the store needs PRAGMA %s=%s, and this connection, file or file system gives %q", p.Name, p.Set, value)
}

// CheckLayout reads the layout in one read transaction.
func CheckLayout(ctx context.Context, conn *sql.Conn) (layout.State, error) {
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return 0, err
	}
	state, err := layout.Check(ctx, conn)
	_, end := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	return state, errors.Join(err, end)
}

// OpenError types what an opening met; resultCode is SQLite's extended one, or 0.
func OpenError(resultCode int, err error) *Error {
	var own *Error
	var incompatible *layout.Incompatible
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &incompatible):
		return NewError(CodeLayoutIncompatible, Details{"differences": incompatible.Differences}, "%s", incompatible.Error())
	case resultCode&0xff == 26 || resultCode&0xff == 11: // NOTADB, CORRUPT
		return OpenError(0, &layout.Incompatible{Differences: []string{"the file is not a sound SQLite database"}})
	}
	return StorageError(resultCode, err)
}
