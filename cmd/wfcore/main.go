// Command wfcore is the native face of the store: it starts, activates, cancels,
// shows and recovers workflow runs, and serves every operation as JSON.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// system is all that the command touches of the world.
type system struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	colour         bool // stdout is a terminal
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A second signal ends us at once; engines have had the time to be ended by then.
	context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, stop) })
	signal.Ignore(syscall.SIGPIPE) // a reader that went away is a write error, and no end
	code := run(ctx, os.Args[1:], system{os.Stdin, os.Stdout, os.Stderr, os.Getenv, isTerminal(os.Stdout)})
	stop()
	os.Exit(code)
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
