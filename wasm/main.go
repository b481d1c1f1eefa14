// Command wasm is the core as a WASI reactor, for hosts in other languages: build it
// with `make wasm`. Its exports and imports are told in docs/abi.md.
package main

func main() {}
