package kill

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/prove/scenario"
)

// What a child has to do: a script, on a directory, until a point.
const (
	childVar = "WFCORE_KILL_SCRIPT"
	dirVar   = "WFCORE_KILL_DIR"
	pointVar = "WFCORE_KILL_POINT"
)

func TestMain(m *testing.M) {
	script, is := os.LookupEnv(childVar)
	if !is {
		os.Exit(m.Run())
	}
	n, err := strconv.Atoi(os.Getenv(pointVar))
	if err == nil {
		err = child(os.Getenv(dirVar), script, n)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child plays a script. It says each point that it comes to, and stays at the nth.
func child(dir, script string, n int) error {
	points := 0
	point := func(name string) {
		fmt.Println(name)
		if points++; points == n {
			_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
		}
	}
	defer scenario.OnStatement(scenario.Path(dir), func(statement string) { point("at " + summary(statement)) })()
	o := scenario.Options{Process: "host", Stop: func(name string) bool { point(name); return false }}
	play := scenario.Recover
	if script == recovery {
		o.Process, o.After = "second", 3*scenario.Lease
	} else {
		s, ok := scenario.Find(script)
		if !ok {
			return errors.New("there is no scenario " + script)
		}
		play = s.Play
	}
	w, err := scenario.Open(dir, o)
	if err != nil {
		return err
	}
	return errors.Join(play(w), w.Close())
}

// summary is the name of one of our queries, or the beginning of another statement.
func summary(statement string) string {
	first, _, _ := strings.Cut(statement, "\n")
	if name, ok := strings.CutPrefix(first, "-- name: "); ok {
		first, _, _ = strings.Cut(name, " ")
	}
	return strings.ReplaceAll(first[:min(len(first), 40)], "/", " ")
}
