// Command bench measures the core against the SQL statements that it runs, and several
// processes on one file against one. It prints the tables of docs/performance.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// amount is how much is measured.
type amount struct {
	rounds    int
	full, off int // cycles a round
	processes int
	during    time.Duration
}

var (
	whole = amount{rounds: 10, full: 200, off: 1000, processes: 8, during: 30 * time.Second}
	quick = amount{rounds: 2, full: 5, off: 20, processes: 3, during: 200 * time.Millisecond}
)

func main() {
	ctx := context.Background()
	if text, ok := os.LookupEnv(workerVar); ok {
		exit(worker(ctx, text))
	}
	dir := flag.String("dir", os.TempDir(), "a directory on the disk to measure; the files go into a new one there")
	seconds := flag.Int("seconds", 30, "how long the processes launch")
	fast := flag.Bool("quick", false, "a few of everything, to see that it runs; the numbers say nothing")
	flag.Parse()
	much := whole
	much.during = time.Duration(*seconds) * time.Second
	if *fast {
		much = quick
		fmt.Fprintln(os.Stderr, "WARNING: -quick shows that it runs; its numbers say nothing.")
	}
	exit(benchIn(ctx, os.Stdout, *dir, much))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// benchIn measures in a new directory, and removes it.
func benchIn(ctx context.Context, out io.Writer, parent string, much amount) error {
	dir, err := os.MkdirTemp(parent, "wfcore-bench-")
	if err != nil {
		return err
	}
	where, err := filepath.Abs(dir)
	if err == nil {
		where, err = filepath.EvalSymlinks(where) // to find what is mounted there
	}
	if err == nil {
		err = bench(ctx, out, where, much)
	}
	return errors.Join(err, os.RemoveAll(dir))
}

func bench(ctx context.Context, out io.Writer, dir string, much amount) error {
	m, err := lookAround(ctx, dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "measuring in %s\n", dir)
	if m.inMemory() {
		fmt.Fprintf(os.Stderr, "WARNING: that is %s, in memory: what is measured there says nothing of a disk. Take another -dir.\n", m.fileSystem)
	}
	m.print(out)
	printHead(out, much.rounds)
	for _, c := range comparisons {
		cycles := much.full
		if c.sync == off {
			cycles = much.off
		}
		all, err := c.compare(ctx, dir, much.rounds, cycles)
		if err != nil {
			return err
		}
		c.print(out, all, cycles)
	}
	return gather(ctx, out, dir, much)
}

// gather lets one process launch alone, and several on one file, in turns.
func gather(ctx context.Context, out io.Writer, dir string, much amount) error {
	alone, together := newCrowd(dir, 1), newCrowd(dir, much.processes)
	for _, c := range []*crowd{alone, together, together, alone} {
		if err := c.turn(ctx, much.during/2); err != nil {
			return err
		}
	}
	printCrowds(out, much.during, []*crowd{alone, together})
	return errors.Join(alone.count(ctx), together.count(ctx))
}
