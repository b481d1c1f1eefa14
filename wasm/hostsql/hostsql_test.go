package hostsql

import (
	"bytes"
	"database/sql"
	"database/sql/driver"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
)

// scripted answers each run with the next of its replies.
type scripted struct {
	prepared []string
	args     [][]byte
	waits    []Wait
	replies  [][]byte
}

func (s *scripted) Prepare(query string) []byte {
	s.prepared = append(s.prepared, query)
	return le.AppendUint32([]byte{0, 0, 0, 0}, uint32(len(s.prepared)))
}

func (s *scripted) Run(_ uint32, args []byte, wait Wait) []byte {
	s.args, s.waits = append(s.args, bytes.Clone(args)), append(s.waits, wait)
	reply := s.replies[0]
	s.replies = s.replies[1:]
	return reply
}

func rowsReply(columns, rows uint32, values ...any) []byte {
	return appendValues(le.AppendUint32(le.AppendUint32([]byte{0, 0, 0, 0}, columns), rows), values)
}

// appendValues uses the encoding of arguments, which is that of a reply.
func appendValues(to []byte, values []any) []byte {
	args := []driver.Value{}
	for _, v := range values {
		args = append(args, v)
	}
	encoded, err := encodeArgs(args)
	if err != nil {
		panic(err)
	}
	return append(to, encoded[4:]...)
}

func connect(t *testing.T, replies ...[]byte) (*sql.Conn, *Conn, *scripted) {
	t.Helper()
	host := &scripted{replies: replies}
	c := &Conn{Host: host}
	db := sql.OpenDB(c)
	t.Cleanup(func() { db.Close() })
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return conn, c, host
}

func TestValues(t *testing.T) {
	want := []any{nil, int64(math.MinInt64), int64(1) << 53, 2.5, math.Inf(1), "ü\x00\u2028🜁", "", []byte{0, 255}}
	conn, _, host := connect(t, rowsReply(uint32(len(want)), 1, want...))
	have := make([]any, len(want))
	into := make([]any, len(want))
	for i := range have {
		into[i] = &have[i]
	}
	err := conn.QueryRowContext(t.Context(), "SELECT ?1,?2,?3,?4,?5,?6,?7,?8", want...).Scan(into...)
	if err != nil || !reflect.DeepEqual(have, want) {
		t.Errorf("%v %#v", err, have)
	}
	if sent := appendValues(le.AppendUint32(nil, uint32(len(want))), want); !bytes.Equal(host.args[0], sent) {
		t.Errorf("the arguments are %x", host.args[0])
	}
}

// A SQLite driver of JavaScript takes a missing argument for NULL.
func TestArgumentsAreCounted(t *testing.T) {
	for query, want := range map[string]int{
		"SELECT 1": 0, "SELECT ?1": 1, "SELECT ?2, ?1, ?2": 2, "SELECT ?12": 12,
		"SELECT '?3', \"?4\", `?5` -- ?6\n, ?1 /* ?7 */": 1, "SELECT 'it''s ?9', ?2": 2, "SELECT '": 0, "/* ?1": 0, "-- ?1": 0,
	} {
		if have := countParameters(query); have != want {
			t.Errorf("%q takes %d, want %d", query, have, want)
		}
	}
	conn, _, host := connect(t)
	for _, args := range [][]any{nil, {1}, {1, 2, 3}} {
		if _, err := conn.ExecContext(t.Context(), "UPDATE t SET a = ?1 WHERE b = ?2", args...); err == nil {
			t.Errorf("%v was taken for two", args)
		}
	}
	if len(host.args) != 0 {
		t.Error("a statement ran with the wrong number of arguments")
	}
}

func TestErrors(t *testing.T) {
	conn, c, _ := connect(t, append(le.AppendUint32(nil, 2067), "UNIQUE constraint failed"...))
	_, err := conn.ExecContext(t.Context(), "BEGIN")
	var e *Error
	if !errors.As(err, &e) || e.Code != 2067 || !strings.Contains(e.Error(), "UNIQUE") {
		t.Errorf("%v", err)
	}
	if c.Begun {
		t.Error("what failed began a transaction")
	}
}

func TestTransactionsAreStatements(t *testing.T) {
	ok := rowsReply(0, 0)
	conn, c, host := connect(t, ok, ok, ok, ok)
	if _, err := conn.BeginTx(t.Context(), nil); err == nil {
		t.Error("database/sql began a transaction")
	}
	for _, query := range []string{"BEGIN IMMEDIATE", "COMMIT", "BEGIN"} {
		if _, err := conn.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
		if open := strings.HasPrefix(query, "BEGIN"); c.Begun != open {
			t.Errorf("after %s: %v", query, c.Begun)
		}
	}
	c.End()
	c.End()
	if last := host.prepared[len(host.prepared)-1]; last != "ROLLBACK" || c.Begun || len(host.args) != 4 {
		t.Errorf("%q %v", host.prepared, c.Begun)
	}
}

func TestBadReplies(t *testing.T) {
	good := rowsReply(2, 1, "a", int64(1))
	for i := range good {
		if _, err := decodeRows(good[:i]); !errors.Is(err, errReply) {
			t.Errorf("the first %d bytes: %v", i, err)
		}
	}
	for name, reply := range map[string][]byte{
		"more": append(bytes.Clone(good), 0), "rows without columns": rowsReply(0, 1), "too many columns": rowsReply(maxColumns+1, 0),
		"more rows than values": rowsReply(1, 1<<31, "a"), "unknown tag": append(rowsReply(1, 1), 9),
		"long text": append(rowsReply(1, 1), tagText, 255, 255, 255, 255),
	} {
		if _, err := decodeRows(reply); !errors.Is(err, errReply) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := decodePrepared([]byte{0, 0, 0, 0, 1}); err == nil {
		t.Error("a short id was taken")
	}
}

func TestOddArguments(t *testing.T) {
	if _, err := encodeArgs([]driver.Value{true}); err == nil {
		t.Error("a bool was taken")
	}
}

// FuzzReply: whatever a host replies, it is decoded or refused.
func FuzzReply(f *testing.F) {
	f.Add(rowsReply(2, 2, "a", int64(1), nil, 2.5))
	f.Add(rowsReply(1, 1, []byte("x")))
	f.Add(append(le.AppendUint32(nil, 5), "database is locked"...))
	f.Add(le.AppendUint32([]byte{0, 0, 0, 0}, 7))
	f.Fuzz(func(t *testing.T, reply []byte) {
		id, err := decodePrepared(reply)
		if err == nil && !bytes.Equal(le.AppendUint32([]byte{0, 0, 0, 0}, id), reply) {
			t.Errorf("%x is the statement %d", reply, id)
		}
		found, err := decodeRows(reply)
		if err != nil {
			return
		}
		values := []driver.Value{}
		row := make([]driver.Value, len(found.columns))
		columns, count := len(found.columns), found.left
		for found.Next(row) == nil {
			values = append(values, row...)
		}
		if len(values) != columns*int(count) {
			t.Fatalf("%d values of %d × %d", len(values), columns, count)
		}
		encoded, err := encodeArgs(values)
		if err != nil || !bytes.Equal(encoded[4:], reply[12:]) {
			t.Errorf("%x became %x (%v)", reply, encoded, err)
		}
	})
}
