// Package hostsql is a database/sql driver whose SQLite belongs to the host: each
// statement is prepared once, run with typed arguments, and answers its whole result
// at once. See docs/abi.md#sql.
package hostsql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"github.com/pi-workflows/wfcore/core"
)

// Wait says how long the host may wait for a lock that a statement meets.
type Wait int32

const (
	WaitNone        Wait = 0
	WaitNormal      Wait = 1
	WaitBeforeAbort Wait = 2 // an abort must not be held back
)

// Host lends a connection. Both answer a reply (codec.go), valid until the next call.
type Host interface {
	// Prepare answers the id of a statement; the same text may have the same id.
	Prepare(query string) []byte
	// Run runs a statement with encoded arguments.
	Run(statement uint32, args []byte, wait Wait) []byte
}

// Error is what SQLite answered, with its extended result code.
type Error struct {
	Code    int
	Message string
}

var (
	errTransactionOpen = core.NewError(core.CodeTransactionOpen, nil, "the connection has an open transaction; end it, and try again")
	errReply           = core.NewError(core.CodeStoreMisconfigured, nil, "the host's reply to a statement cannot be read: see docs/abi.md#values")
)

// sqliteError is the result code of a BEGIN within a transaction, and of a ROLLBACK without.
const sqliteError = 1

func (e *Error) Error() string { return fmt.Sprintf("SQLite result %d: %s", e.Code, e.Message) }

// Conn is the one connection. It serves as its own driver.Connector, and one
// goroutine uses it at a time.
type Conn struct {
	Host Host
	// Wait goes with every statement.
	Wait Wait
	// Begun says that a transaction was begun here and not ended.
	Begun bool
}

// Connect implements driver.Connector.
func (c *Conn) Connect(context.Context) (driver.Conn, error) { return c, nil }

// Driver implements driver.Connector.
func (c *Conn) Driver() driver.Driver { return c }

// Open implements driver.Driver: there is nothing to open by name.
func (c *Conn) Open(string) (driver.Conn, error) { return c, nil }

// Close leaves the connection to its owner.
func (c *Conn) Close() error { return nil }

// Begin is refused: transactions are statements, since what database/sql starts for
// one never ends where nothing runs between two calls.
func (c *Conn) Begin() (driver.Tx, error) { return nil, errors.New("begin with a statement") }

// Prepare implements driver.Conn.
func (c *Conn) Prepare(query string) (driver.Stmt, error) {
	id, err := decodePrepared(c.Host.Prepare(query))
	if err != nil {
		return nil, err
	}
	return &stmt{conn: c, id: id, query: query, inputs: countParameters(query)}, nil
}

// End rolls back what was begun and left open. An error says that it is open still.
func (c *Conn) End() error {
	if !c.Begun {
		return nil
	}
	c.Begun = false
	s, err := c.Prepare("ROLLBACK")
	if err == nil {
		_, err = s.(*stmt).Exec(nil)
	}
	var e *Error
	if errors.As(err, &e) && e.Code == sqliteError {
		return nil // SQLite has rolled back by itself
	}
	return err
}

type stmt struct {
	conn   *Conn
	id     uint32
	query  string
	inputs int
}

// Close keeps the statement: its text is of a fixed set, and comes again.
func (s *stmt) Close() error { return nil }

// NumInput lets database/sql refuse a wrong number of arguments: SQLite drivers of
// JavaScript take a missing one for NULL.
func (s *stmt) NumInput() int { return s.inputs }

func (s *stmt) Exec(args []driver.Value) (driver.Result, error) {
	_, err := s.run(args)
	return driver.ResultNoRows, err
}

func (s *stmt) Query(args []driver.Value) (driver.Rows, error) { return s.run(args) }

func (s *stmt) run(args []driver.Value) (*rows, error) {
	encoded, err := encodeArgs(args)
	if err != nil {
		return nil, err
	}
	begins := s.query == "BEGIN" || s.query == "BEGIN IMMEDIATE"
	found, err := decodeRows(s.conn.Host.Run(s.id, encoded, s.conn.Wait))
	var e *Error
	switch {
	case begins && errors.As(err, &e) && e.Code == sqliteError:
		return nil, errTransactionOpen
	case err != nil:
		return nil, err
	case begins:
		s.conn.Begun = true
	case s.query == "COMMIT" || s.query == "ROLLBACK":
		s.conn.Begun = false
	}
	return found, nil
}

// rows are a whole result, decoded row by row.
type rows struct {
	columns []string // only their number is known
	left    uint32
	reader  reader
}

func (r *rows) Columns() []string { return r.columns }
func (r *rows) Close() error      { return nil }

func (r *rows) Next(dest []driver.Value) error {
	if r.left == 0 {
		return io.EOF
	}
	r.left--
	for i := range dest {
		dest[i] = r.reader.value()
	}
	return r.reader.err
}
