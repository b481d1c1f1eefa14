package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

// workerVar says that this program, run again, is a worker.
const workerVar = "WFCORE_BENCH_WORKER"

// order is what a worker has to do.
type order struct {
	Path    string
	Session string
	For     time.Duration
}

// result is what came of it.
type result struct {
	Launches int           // whose reservation was acknowledged; each went on to its end
	Took     time.Duration // all of them
	Longest  time.Duration // one operation
	Refused  int           // operations that answered store_unavailable, and were repeated
}

// worker launches on a store like a host, from "go" on stdin on, and writes its result.
func worker(ctx context.Context, text string) error {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	store, err := sqlite.Open(ctx, o.Path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	fmt.Println("ready")
	if line, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil || line != "go\n" {
		return errors.New("whoever started this worker is gone")
	}
	r, err := o.launch(ctx, store.Store)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// launch runs whole cycles until the time is over.
func (o order) launch(ctx context.Context, store *core.Store) (r result, err error) {
	began := time.Now()
	for time.Since(began) < o.For {
		for _, operation := range launchCore(ctx, store, newSubject(o.Session, r.Launches)) {
			if err := r.insist(operation); err != nil {
				return r, err
			}
		}
		r.Launches++
	}
	r.Took = time.Since(began)
	return r, nil
}

// insist repeats an operation until it is done, as hosts are told to.
func (r *result) insist(operation func() error) error {
	for {
		began := time.Now()
		err := operation()
		r.Longest = max(r.Longest, time.Since(began))
		if core.CodeOf(err) != core.CodeStoreUnavailable {
			return err
		}
		r.Refused++
	}
}
