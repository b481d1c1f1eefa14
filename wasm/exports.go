//go:build wasip1

package main

import (
	"time"
	"unsafe"

	"github.com/pi-workflows/wfcore/wasm/face"
)

// maxIn bounds what a host may hand in: an operation's name and its request.
const maxIn = 64 << 20

// What the host reads and writes stays here until the next call: the collector moves
// nothing, but frees what nobody holds.
var (
	in, out []byte
	core    *face.Face
)

func init() {
	var err error
	if core, err = face.New(host{}, time.Now, random{}); err != nil {
		panic(err)
	}
}

//go:wasmexport wfcore_abi_version
func version() int32 { return abiVersion }

// allocate makes room for a call's name and request, and returns its address, 0 where
// it is too much.
//
//go:wasmexport wfcore_allocate
func allocate(size uint32) (address uint32) {
	defer func() {
		if recover() != nil {
			address = 0
		}
	}()
	if size > maxIn {
		return 0
	}
	in = make([]byte, max(size, 1))
	return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(in))))
}

// call runs the operation whose name, and then request, stand in what was allocated,
// and returns the address of its answer in the upper half, and its length in the
// lower.
//
//go:wasmexport wfcore_call
func call(name, request uint32) uint64 {
	given := in
	in = nil
	if uint64(name)+uint64(request) > uint64(len(given)) {
		name, request = 0, 0 // no operation, which is refused
	}
	out = core.Call(string(given[:name]), given[name:name+request])
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(out))))<<32 | uint64(len(out))
}
