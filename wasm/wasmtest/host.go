// Package wasmtest runs the core's .wasm in wazero, over a connection of
// ncruces/go-sqlite3, for tests. It is written from docs/abi.md alone.
package wasmtest

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/ncruces/go-sqlite3"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/pi-workflows/wfcore/core"
)

// Core is an instance of the .wasm on one connection.
type Core struct {
	*SQL
	module              api.Module
	runtime             wazero.Runtime
	allocate, call, abi api.Function
	reply               []byte
}

func instantiate(ctx context.Context, runtime wazero.Runtime, code wazero.CompiledModule, conn *sqlite3.Conn, random io.Reader) (*Core, error) {
	c := &Core{SQL: NewSQL(conn), runtime: runtime}
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, runtime); err != nil {
		return nil, err
	}
	_, err := runtime.NewHostModuleBuilder("wfcore_sql").
		NewFunctionBuilder().WithFunc(c.servePrepare).Export("prepare").
		NewFunctionBuilder().WithFunc(c.serveRun).Export("run").
		NewFunctionBuilder().WithFunc(c.serveResult).Export("result").
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
	c.SQL.Close()
	return c.runtime.Close(context.Background())
}

// MemoryPages is the size of its memory in pages of 64 KiB.
func (c *Core) MemoryPages() uint32 { return c.module.Memory().Size() >> 16 }

func (c *Core) servePrepare(_ context.Context, m api.Module, at, length uint32) uint32 {
	query, _ := m.Memory().Read(at, length)
	return c.keep(c.Prepare(string(query)))
}

func (c *Core) serveRun(_ context.Context, m api.Module, id, at, length, wait uint32) uint32 {
	args, _ := m.Memory().Read(at, length)
	return c.keep(c.Run(id, args, wait))
}

func (c *Core) keep(reply []byte) uint32 {
	c.reply = reply
	return uint32(len(reply))
}

func (c *Core) serveResult(_ context.Context, m api.Module, into uint32) {
	m.Memory().Write(into, c.reply)
}
