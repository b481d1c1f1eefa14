package conformance

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"testing"
)

// Cases are all cases of the suite.
func Cases(t *testing.T) (all []Case) {
	t.Helper()
	for _, file := range files(t) {
		all = append(all, load(t, file)...)
	}
	return all
}

// Differs plays the case on a new store that open makes, and says where it first
// differs from the recording: for who breaks the core, and wants that to be seen.
func (c Case) Differs(open func(random io.Reader) (Face, error)) (err error) {
	var queries map[string]string
	if err := decode("dump.json", &queries); err != nil {
		return err
	}
	face, err := open(&noise{})
	if err != nil {
		return err
	}
	defer func() {
		if lost := recover(); lost != nil {
			err = fmt.Errorf("a panic: %v", lost)
		}
		_ = face.Close() // what is broken may not close well either
	}()
	have, err := c.play(face, queries, func(i int, have Step) error {
		if have.Answer != c.Steps[i].Answer || have.Error != c.Steps[i].Error {
			return fmt.Errorf("have %s%s", have.Answer, have.Error)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, table := range slices.Sorted(maps.Keys(queries)) {
		if !slices.Equal(have.Dump[table], c.Dump[table]) {
			return fmt.Errorf("%s: have %q", table, have.Dump[table])
		}
	}
	return nil
}
