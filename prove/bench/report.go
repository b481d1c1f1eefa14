package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// The tables are those of docs/performance.md, so that a new run is pasted there.

func (m machine) print(out io.Writer) {
	fmt.Fprint(out, "| machine | |\n|---|---|\n")
	row := func(name string, value any) { fmt.Fprintf(out, "| %s | %v |\n", name, value) }
	row("date", m.date)
	row("cores", m.cores)
	row("Go", m.goVersion)
	row("SQLite", m.sqliteVersion)
	row("file system", m.fileSystem+" on "+m.device)
	row("append of 4 KiB and fsync, median of 100", m.fsync.Round(time.Microsecond))
}

func printHead(out io.Writer, rounds int) {
	fmt.Fprintf(out, "\n| cycle | synchronous | side | cycles a round | cycles/s, median of %d rounds | min–max | time, of the statements' |\n", rounds)
	fmt.Fprint(out, "|---|---|---|---|---|---|---|\n")
}

// print writes a row a side.
func (c comparison) print(out io.Writer, all []measured, cycles int) {
	base := median(all[0].rounds)
	for _, m := range all {
		rate := func(took time.Duration) float64 { return float64(cycles) / took.Seconds() }
		fmt.Fprintf(out, "| %s | %s | %s | %d | %.0f | %.0f–%.0f | %.2f |\n", c.cycle.name, c.sync.name, m.side, cycles,
			rate(median(m.rounds)), rate(slices.Max(m.rounds)), rate(slices.Min(m.rounds)), float64(median(m.rounds))/float64(base))
	}
}

// printCrowds writes a row a crowd; the first is the measure.
func printCrowds(out io.Writer, during time.Duration, crowds []*crowd) {
	fmt.Fprintf(out, "\n| processes, each %v | launches/s | of one process's | a process, min–max | longest operation | refused operations |\n", during)
	fmt.Fprint(out, "|---|---|---|---|---|---|\n")
	_, base := crowds[0].rates()
	for _, c := range crowds {
		each, all := c.rates()
		longest, refused := c.worst()
		fmt.Fprintf(out, "| %d | %.0f | %.2f | %.1f–%.1f | %v | %d |\n", len(c.results), all, all/base,
			slices.Min(each), slices.Max(each), longest.Round(time.Millisecond), refused)
	}
}
