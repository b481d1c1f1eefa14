// Command gentypes writes the op table as TypeScript: a host in that language is
// checked against the same declarations that the core decodes with.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	out := flag.String("o", "js-host-shim/src/ops.ts", "the file to write")
	core := flag.String("core", "core", "the directory of the core's source")
	flag.Parse()
	if err := run(*core, *out); err != nil {
		fmt.Fprintln(os.Stderr, "gentypes:", err)
		os.Exit(1)
	}
}

// run writes nothing where it fails, so that an old file is not lost to a new error.
func run(core, out string) error {
	generated, err := generate(core)
	if err != nil {
		return err
	}
	return os.WriteFile(out, []byte(generated), 0o644)
}
