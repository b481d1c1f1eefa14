// Package wasmtest runs the core's .wasm in wazero, over a connection of
// ncruces/go-sqlite3, for tests. It is written from docs/abi.md alone.
package wasmtest

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"

	"github.com/ncruces/go-sqlite3"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/pi-workflows/wfcore/core"
)

var le = binary.LittleEndian

// Core is an instance of the .wasm on one connection.
type Core struct {
	module              api.Module
	runtime             wazero.Runtime
	allocate, call, abi api.Function
	conn                *sqlite3.Conn
	ids                 map[string]uint32
	statements          []*sqlite3.Stmt
	reply               []byte
	// Runs are the texts of what was run, in order, and Waits how long each could wait
	// for a lock.
	Runs  []string
	Waits []uint32
	// Fail, given, answers a statement with a result code other than 0, or panics.
	Fail func(query string) uint32
}

// New makes an instance.
func New(ctx context.Context, runtime wazero.Runtime, code wazero.CompiledModule, conn *sqlite3.Conn, random io.Reader) (*Core, error) {
	c := &Core{conn: conn, ids: map[string]uint32{}, runtime: runtime}
	if runtime.Module(wasi_snapshot_preview1.ModuleName) == nil {
		if _, err := wasi_snapshot_preview1.Instantiate(ctx, runtime); err != nil {
			return nil, err
		}
	}
	_, err := runtime.NewHostModuleBuilder("wfcore_sql").
		NewFunctionBuilder().WithFunc(c.prepare).Export("prepare").
		NewFunctionBuilder().WithFunc(c.run).Export("run").
		NewFunctionBuilder().WithFunc(c.result).Export("result").
		Instantiate(ctx)
	if err != nil {
		return nil, err
	}
	// wazero's own clock stands still, and its randomness is the same everywhere.
	config := wazero.NewModuleConfig().WithStartFunctions("_initialize").WithName("").
		WithSysWalltime().WithSysNanotime().WithRandSource(random)
	if c.module, err = runtime.InstantiateModule(ctx, code, config); err != nil {
		return nil, err
	}
	c.allocate = c.module.ExportedFunction("wfcore_allocate")
	c.call = c.module.ExportedFunction("wfcore_call")
	c.abi = c.module.ExportedFunction("wfcore_abi_version")
	return c, nil
}

// Version is that of the ABI.
func (c *Core) Version(ctx context.Context) (uint64, error) {
	answer, err := c.abi.Call(ctx)
	if err != nil {
		return 0, err
	}
	return answer[0], nil
}

// Call runs an operation; an error is a *core.Error, or what ended the instance.
func (c *Core) Call(ctx context.Context, op string, request []byte) ([]byte, error) {
	at, err := c.allocate.Call(ctx, uint64(len(op)+len(request)))
	if err != nil {
		return nil, err
	}
	if at[0] == 0 || !c.module.Memory().Write(uint32(at[0]), append([]byte(op), request...)) {
		return nil, errors.New("there is no room for the request")
	}
	packed, err := c.call.Call(ctx, uint64(len(op)), uint64(len(request)))
	if err != nil {
		return nil, err
	}
	text, ok := c.module.Memory().Read(uint32(packed[0]>>32), uint32(packed[0]))
	if !ok {
		return nil, errors.New("the answer is outside the memory")
	}
	var reply struct {
		Answer json.RawMessage
		Error  *core.Error
	}
	if err := json.Unmarshal(text, &reply); err != nil {
		return nil, err
	}
	if reply.Error != nil {
		return nil, reply.Error
	}
	return reply.Answer, nil
}

// Close ends the instance and its statements; the connection stays open.
func (c *Core) Close() error {
	for _, s := range c.statements {
		_ = s.Close()
	}
	return c.runtime.Close(context.Background())
}

// MemoryPages is the size of its memory in pages of 64 KiB.
func (c *Core) MemoryPages() uint32 { return c.module.Memory().Size() >> 16 }

func (c *Core) prepare(_ context.Context, m api.Module, at, length uint32) uint32 {
	text, _ := m.Memory().Read(at, length)
	query := string(text)
	id, known := c.ids[query]
	if !known {
		stmt, _, err := c.conn.Prepare(query)
		if err != nil {
			return c.failed(err)
		}
		id = uint32(len(c.statements))
		c.statements = append(c.statements, stmt)
		c.ids[query] = id
	}
	return c.answer(le.AppendUint32(le.AppendUint32(nil, 0), id))
}

func (c *Core) run(_ context.Context, m api.Module, id, at, length, wait uint32) uint32 {
	stmt := c.statements[id]
	c.Runs, c.Waits = append(c.Runs, stmt.SQL()), append(c.Waits, wait)
	if c.Fail != nil {
		if code := c.Fail(stmt.SQL()); code != 0 {
			return c.answer(le.AppendUint32(nil, code))
		}
	}
	args, _ := m.Memory().Read(at, length)
	_ = stmt.ClearBindings()
	if err := bind(stmt, args); err != nil {
		return c.failed(err)
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
		return c.failed(err)
	}
	reply := le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, 0), columns), count)
	return c.answer(append(reply, rows...))
}

func (c *Core) result(_ context.Context, m api.Module, into uint32) { m.Memory().Write(into, c.reply) }

func (c *Core) answer(reply []byte) uint32 {
	c.reply = reply
	return uint32(len(reply))
}

func (c *Core) failed(err error) uint32 {
	code := uint32(sqlite3.ERROR)
	var e *sqlite3.Error
	if errors.As(err, &e) {
		code = uint32(e.ExtendedCode())
	}
	return c.answer(append(le.AppendUint32(nil, code), err.Error()...))
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
