package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/pi-workflows/wfcore/core/hosttest"
)

// journal keeps a session's entries as lines of JSON in a file.
type journal string

func (path journal) Append(e hosttest.Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return appendLine(string(path), string(line))
}

func (path journal) Entries() (entries []hosttest.Entry, err error) {
	data, err := os.ReadFile(string(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for line := range bytes.Lines(data) {
		var e hosttest.Entry
		err = errors.Join(err, json.Unmarshal(line, &e))
		entries = append(entries, e)
	}
	return entries, err
}

func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// lines of a file; one that is not there has none.
func lines(path string) []string {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return strings.Fields(string(data))
}
