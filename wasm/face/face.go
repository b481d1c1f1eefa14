// Package face is the core for a host in another language: a JSON operation in, a
// JSON answer out, over the host's own SQLite connection. See docs/abi.md.
package face

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/wasm/hostsql"
)

// Face is one core on one connection.
type Face struct {
	now    func() time.Time
	random io.Reader
	conn   *hostsql.Conn
	sql    *sql.Conn
	store  *core.Store // nil until it is opened
	busy   bool
}

// New makes a core of what its host lends.
func New(host hostsql.Host, now func() time.Time, random io.Reader) (*Face, error) {
	conn := &hostsql.Conn{Host: host}
	db := sql.OpenDB(conn)
	db.SetMaxOpenConns(1)
	c, err := db.Conn(context.Background())
	if err != nil {
		return nil, err
	}
	return &Face{now: now, random: random, conn: conn, sql: c}, nil
}

// Call runs an operation and returns `{"answer":…}` or `{"error":…}`. It panics never,
// and leaves no transaction open that it began.
func (f *Face) Call(op string, request []byte) (reply []byte) {
	if f.busy { // a host that calls while it serves a statement
		return failure(core.ErrInUse)
	}
	f.busy = true
	defer func() {
		if fault := recover(); fault != nil {
			f.store = nil
			reply = crashed(op)
		}
		if !f.end() {
			reply = crashed(op)
		}
	}()
	answer, err := f.do(context.Background(), op, request)
	if err != nil {
		return failure(err)
	}
	return append(append([]byte(`{"answer":`), answer...), '}')
}

func (f *Face) do(ctx context.Context, op string, request []byte) ([]byte, error) {
	switch {
	case op == "open":
		return f.open(ctx, request)
	case f.store == nil:
		return nil, core.NewError(core.CodeStoreClosed, nil, "the store is not open")
	}
	return f.store.Call(ctx, op, request)
}

// end is after each call, whatever came of it. False says that a transaction could not
// be ended, which is left to the host.
func (f *Face) end() (ended bool) {
	defer func() {
		f.busy = false
		if recover() != nil || !ended {
			f.store, ended = nil, false
		}
	}()
	f.conn.Wait = hostsql.WaitNone
	return f.conn.End() == nil
}

func crashed(op string) []byte {
	return failure(core.NewError(core.CodeCoreCrashed, nil, "the core failed in %s; a fresh one goes on", op))
}

// waiting lets the host wait for a lock while try runs. The core cannot: nothing
// sleeps in a call.
func (f *Face) waiting(wait hostsql.Wait) func(context.Context, func() error) error {
	return func(_ context.Context, try func() error) error {
		f.conn.Wait = wait
		defer func() { f.conn.Wait = hostsql.WaitNone }()
		return try()
	}
}

func failure(err error) []byte {
	var own *core.Error
	if !errors.As(err, &own) {
		own = core.NewError(core.CodeStoreUnavailable, nil, "the store could not be used; try again")
	}
	encoded, err := core.Encode(own)
	if err != nil {
		encoded = []byte(`{"code":"core_crashed","message":"an error could not be told","retryable":true}`)
	}
	return append(append([]byte(`{"error":`), encoded...), '}')
}

func decode(request []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(request))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return core.NewError(core.CodeBadRequest, core.Details{"field": "request"}, "the request of open cannot be read")
	}
	return nil
}
