package wasmtest

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/ncruces/go-sqlite3"
)

var le = binary.LittleEndian

// SQL serves the core's SQL on a connection.
type SQL struct {
	conn       *sqlite3.Conn
	ids        map[string]uint32
	statements []*sqlite3.Stmt
	// Ran are the texts of what was run, in order, and Waits how long each could wait for
	// a lock.
	Ran   []string
	Waits []uint32
	// Fail, given, answers a statement with a result code other than 0, or panics.
	Fail func(query string) uint32
}

// NewSQL serves on a connection, which it leaves open.
func NewSQL(conn *sqlite3.Conn) *SQL { return &SQL{conn: conn, ids: map[string]uint32{}} }

// Close ends its statements.
func (s *SQL) Close() {
	for _, stmt := range s.statements {
		_ = stmt.Close()
	}
}

// Prepare answers the id of a statement.
func (s *SQL) Prepare(query string) []byte {
	id, known := s.ids[query]
	if !known {
		stmt, _, err := s.conn.Prepare(query)
		if err != nil {
			return failure(err)
		}
		id = uint32(len(s.statements))
		s.statements = append(s.statements, stmt)
		s.ids[query] = id
	}
	return le.AppendUint32(le.AppendUint32(nil, 0), id)
}

// Run answers the whole result of a statement.
func (s *SQL) Run(id uint32, args []byte, wait uint32) []byte {
	stmt := s.statements[id]
	s.Ran, s.Waits = append(s.Ran, stmt.SQL()), append(s.Waits, wait)
	if s.Fail != nil {
		if code := s.Fail(stmt.SQL()); code != 0 {
			return le.AppendUint32(nil, code)
		}
	}
	_ = stmt.ClearBindings()
	if err := bind(stmt, args); err != nil {
		return failure(err)
	}
	rows, count := []byte{}, uint32(0)
	for stmt.Step() {
		count++
		for i := range stmt.ColumnCount() {
			rows = appendValue(rows, stmt, i)
		}
	}
	columns := uint32(stmt.ColumnCount())
	if err := errors.Join(stmt.Err(), stmt.Reset()); err != nil {
		return failure(err)
	}
	reply := le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, 0), columns), count)
	return append(reply, rows...)
}

func failure(err error) []byte {
	code := uint32(sqlite3.ERROR)
	var e *sqlite3.Error
	if errors.As(err, &e) {
		code = uint32(e.ExtendedCode())
	}
	return append(le.AppendUint32(nil, code), err.Error()...)
}

func bind(stmt *sqlite3.Stmt, args []byte) error {
	count, rest := le.Uint32(args), args[4:]
	var err error
	for i := 1; i <= int(count) && err == nil; i++ {
		tag := rest[0]
		rest = rest[1:]
		switch tag {
		case 0:
			err = stmt.BindNull(i)
		case 1:
			err = stmt.BindInt64(i, int64(le.Uint64(rest)))
			rest = rest[8:]
		case 2:
			err = stmt.BindFloat(i, math.Float64frombits(le.Uint64(rest)))
			rest = rest[8:]
		default:
			content := rest[4 : 4+le.Uint32(rest)]
			rest = rest[4+len(content):]
			if tag == 3 {
				err = stmt.BindText(i, string(content))
			} else {
				err = stmt.BindBlob(i, content)
			}
		}
	}
	return err
}

func appendValue(out []byte, stmt *sqlite3.Stmt, i int) []byte {
	switch stmt.ColumnType(i) {
	case sqlite3.INTEGER:
		return le.AppendUint64(append(out, 1), uint64(stmt.ColumnInt64(i)))
	case sqlite3.FLOAT:
		return le.AppendUint64(append(out, 2), math.Float64bits(stmt.ColumnFloat(i)))
	case sqlite3.TEXT:
		text := stmt.ColumnRawText(i)
		return append(le.AppendUint32(append(out, 3), uint32(len(text))), text...)
	case sqlite3.BLOB:
		blob := stmt.ColumnRawBlob(i)
		return append(le.AppendUint32(append(out, 4), uint32(len(blob))), blob...)
	}
	return append(out, 0)
}
