//go:build wasip1

package main

import (
	"errors"
	"unsafe"

	"github.com/pi-workflows/wfcore/wasm/hostsql"
)

//go:wasmimport wfcore_sql prepare
func sqlPrepare(query unsafe.Pointer, length uint32) uint32

//go:wasmimport wfcore_sql run
func sqlRun(statement uint32, args unsafe.Pointer, length, wait uint32) uint32

//go:wasmimport wfcore_sql result
func sqlResult(into unsafe.Pointer)

//go:wasmimport wasi_snapshot_preview1 random_get
func randomGet(into unsafe.Pointer, length uint32) uint32

// random is the host's: what crypto/rand adds to it is half as large as the core.
type random struct{}

func (random) Read(into []byte) (int, error) {
	if len(into) > 0 && randomGet(unsafe.Pointer(unsafe.SliceData(into)), uint32(len(into))) != 0 {
		return 0, errors.New("the host has no random bytes")
	}
	return len(into), nil
}

// host is the SQLite connection of whoever embeds this.
type host struct{}

func (host) Prepare(query string) []byte {
	return reply(sqlPrepare(unsafe.Pointer(unsafe.StringData(query)), uint32(len(query))))
}

func (host) Run(statement uint32, args []byte, wait hostsql.Wait) []byte {
	return reply(sqlRun(statement, unsafe.Pointer(unsafe.SliceData(args)), uint32(len(args)), uint32(wait)))
}

// replies is the room for the host's replies, which are read before the next.
var replies []byte

func reply(length uint32) []byte {
	if int(length) > cap(replies) || cap(replies) > 1<<20 { // a large one is not kept
		replies = make([]byte, length)
	}
	replies = replies[:length]
	if length > 0 {
		sqlResult(unsafe.Pointer(unsafe.SliceData(replies)))
	}
	return replies
}
