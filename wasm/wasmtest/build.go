package wasmtest

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/ncruces/go-sqlite3"
	"github.com/tetratelabs/wazero"
)

// Package is what is built.
const Package = "github.com/pi-workflows/wfcore/wasm"

// Build builds the .wasm as `make wasm` does.
var Build = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "wfcore-wasm-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "wfcore.wasm")
	build := exec.Command("go", "build", "-trimpath", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out, Package)
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, err
	}
	return os.ReadFile(out)
})

// compiled is kept: compiling takes seconds, an instance from it milliseconds.
var cache = wazero.NewCompilationCache()

// Start makes an instance on a connection.
func Start(ctx context.Context, conn *sqlite3.Conn, random io.Reader) (*Core, error) {
	code, err := Build()
	if err != nil {
		return nil, err
	}
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCompilationCache(cache))
	module, err := runtime.CompileModule(ctx, code)
	if err != nil {
		return nil, err
	}
	return instantiate(ctx, runtime, module, conn, random)
}
