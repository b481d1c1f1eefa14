// Command wasm is the core as a WASI reactor, for hosts in other languages: build it
// with `make wasm`. Its exports and imports are told in docs/abi.md.
package main

// abiVersion changes whenever a host that was made for the last one would fail.
const abiVersion = 1

func main() {}
