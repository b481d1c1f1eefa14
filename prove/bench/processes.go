package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// crowd is several processes that launch on one file. They do so in turns, so that
// another crowd's are between them; turns are added up.
type crowd struct {
	path    string
	turns   int
	results []result // of each process
}

func newCrowd(dir string, processes int) *crowd {
	return &crowd{path: filepath.Join(dir, fmt.Sprintf("processes-%d.sqlite", processes)), results: make([]result, processes)}
}

// turn runs the processes for a while, each in a session of its own.
func (c *crowd) turn(ctx context.Context, during time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // which ends those that are left where one failed
	c.turns++
	started := []*process{}
	for i := range c.results {
		p, err := start(ctx, order{c.path, fmt.Sprintf("session%d-%d", c.turns, i), during})
		if err != nil {
			return err
		}
		started = append(started, p)
	}
	for _, p := range started {
		if _, err := io.WriteString(p.in, "go\n"); err != nil {
			return err
		}
	}
	for i, p := range started {
		r, err := p.wait()
		if err != nil {
			return err
		}
		c.results[i].add(r)
	}
	return nil
}

func (r *result) add(other result) {
	r.Launches += other.Launches
	r.Took += other.Took
	r.Longest = max(r.Longest, other.Longest)
	r.Refused += other.Refused
}

// count makes sure that each launch that was acknowledged is in the file, and no other.
func (c *crowd) count(ctx context.Context) error {
	want := 0
	for _, r := range c.results {
		want += r.Launches
	}
	got, err := countIn(ctx, c.path, launch.ended)
	if err == nil && (got != want || want == 0) {
		err = fmt.Errorf("%d launches of %d processes were acknowledged, and %d are in the file", want, len(c.results), got)
	}
	return err
}

// rates are the acknowledged launches a second of each process, and of all.
func (c *crowd) rates() (each []float64, all float64) {
	for _, r := range c.results {
		rate := float64(r.Launches) / r.Took.Seconds()
		each, all = append(each, rate), all+rate
	}
	return each, all
}

// worst is the longest operation of all, and how many were refused.
func (c *crowd) worst() (longest time.Duration, refused int) {
	for _, r := range c.results {
		longest, refused = max(longest, r.Longest), refused+r.Refused
	}
	return longest, refused
}

// process is this program, run again as a worker.
type process struct {
	*exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

// start starts a worker and waits until it has opened the store.
func start(ctx context.Context, o order) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), workerVar+"="+string(text))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd, in, bufio.NewReader(out)}
	if line, err := p.out.ReadString('\n'); err != nil || line != "ready\n" {
		return nil, errors.Join(errors.New("a process could not open the store"), err, cmd.Wait())
	}
	return p, nil
}

func (p *process) wait() (r result, err error) {
	err = json.NewDecoder(p.out).Decode(&r)
	return r, errors.Join(err, p.Wait())
}
