package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// comparison is a cycle that several sides run; the first is the measure.
type comparison struct {
	cycle   cycle
	sync    synchronous
	openers []opener
}

var comparisons = []comparison{
	{launch, full, []opener{openRaw, openCore, openWhole}},
	{launch, off, []opener{openRaw, openCore}},
	{turn, full, []opener{openRaw, openCore, openWhole}},
	{turn, off, []opener{openRaw, openCore}},
}

// measured is what one side needed in each round.
type measured struct {
	side   string
	rounds []time.Duration
}

// compare opens the sides, runs the rounds, and counts what they left in their files.
func (c comparison) compare(ctx context.Context, dir string, rounds, cycles int) (all []measured, err error) {
	var sides []side
	defer func() {
		for _, s := range sides {
			err = errors.Join(err, s.close())
		}
	}()
	for i, open := range c.openers {
		s, err := open(ctx, c.file(dir, i), c.sync, c.cycle)
		if err != nil {
			return nil, err
		}
		sides = append(sides, s)
	}
	if all, err = interleave(sides, rounds, cycles); err != nil {
		return nil, err
	}
	for i := range sides {
		if err := c.count(ctx, c.file(dir, i), (rounds+1)*cycles); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (c comparison) file(dir string, side int) string {
	return filepath.Join(dir, fmt.Sprintf("%s-%s-%d.sqlite", c.cycle.name, c.sync.name, side))
}

// count makes sure that a side did what it was measured at.
func (c comparison) count(ctx context.Context, path string, want int) error {
	got, err := countIn(ctx, path, c.cycle.ended)
	if err == nil && got != want {
		err = fmt.Errorf("%d cycles of %s ran, and %d are in the file", want, c.cycle.name, got)
	}
	return err
}

// interleave runs each round on one side after the other, and the next round in the
// reverse order, so that what disturbs the machine or grows with the file meets all of
// them. A first round only warms up.
func interleave(sides []side, rounds, cycles int) ([]measured, error) {
	all := make([]measured, len(sides))
	order := []int{}
	for i, s := range sides {
		all[i].side = s.name
		order = append(order, i)
	}
	for round := range rounds + 1 {
		for _, i := range order {
			took, err := clock(sides[i], round, cycles)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", sides[i].name, err)
			}
			if round > 0 {
				all[i].rounds = append(all[i].rounds, took)
			}
		}
		slices.Reverse(order)
	}
	return all, nil
}

func clock(s side, round, cycles int) (time.Duration, error) {
	subjects := make([]subject, cycles)
	for i := range subjects {
		subjects[i] = newSubject("session", round*cycles+i)
	}
	runtime.GC() // what a side left is not the next one's to clear
	began := time.Now()
	for _, subject := range subjects {
		if err := s.run(subject); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

func median[T ~int64 | ~float64](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}
