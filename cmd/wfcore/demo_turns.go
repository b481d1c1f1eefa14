package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/hosttest"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

func (d *demo) script() []demoStep {
	return []demoStep{
		{"The model calls `workflow start`, is told the run id, and its turn goes on.", d.start("step: greet the wrld\n")},
		{"Before the turn ends, the workflow's source changes.", func(context.Context, *sqlite.Store) error {
			return d.write("step: greet the world\n")
		}},
		{"The turn ends: the run is activated, fails before its first step, and owes the agent a turn.", d.activate},
		{"The session is idle: the follow-up is sent, and the process crashes before it knows that it arrived.", d.crash},
		{"A lease later the session is opened again: the message is there, and nothing is sent.", d.reopen},
		{"The model reads the error and starts again, from the source as it is now.", d.start("step: greet the world\n")},
		{"The turn ends: this run starts, runs its step and is done.", d.activate},
		{"Another run starts, and its agent step is prompted.", d.step},
		{"The agent cancels the workflow in that turn: the next one is owed before this one is aborted.", d.cancel},
		{"That turn has settled: the agent is told, once.", d.settle},
		{"The next run starts, and its agent step is prompted.", d.step},
		{"The step times out, and its turn is aborted; a recovery prompt waits.", d.timeOut},
		{"That turn has settled: the recovery prompt goes, and no fallback.", d.settle},
		{"The run ends. Nothing is owed any more.", d.finish},
	}
}

// process is a host in a process of its own.
func (d *demo) process(s *sqlite.Store) *hosttest.Host {
	d.host = hosttest.NewHost(demoRunner, s, d.clock, d.session, d.engine)
	return d.host
}

func (d *demo) crash(_ context.Context, s *sqlite.Store) error {
	host := d.process(s)
	host.Stop = func(point string) bool { return point == "after send" }
	if err := host.Settled(); !errors.Is(err, hosttest.ErrCrashed) {
		return errors.Join(errors.New("the process did not crash"), err)
	}
	return nil
}

func (d *demo) reopen(_ context.Context, s *sqlite.Store) error {
	d.clock.Advance(core.DefaultLease)
	d.session = d.session.Restart()
	d.engine = d.engine.Restart()
	return d.process(s).SessionStart()
}

// step starts a run and brings it to its agent step.
func (d *demo) step(ctx context.Context, s *sqlite.Store) error {
	if err := d.start("step: greet the world\n")(ctx, s); err != nil {
		return err
	}
	host := d.process(s)
	if err := host.Settled(); err != nil {
		return err
	}
	return host.Prompt(d.run, "Greet the world.")
}

func (d *demo) cancel(_ context.Context, s *sqlite.Store) error {
	d.host.Store = s
	if err := d.host.Abort(hosttest.AgentCancel(d.run, "greet", "1")); err != nil {
		return err
	}
	d.clock.Advance(time.Second)
	return d.host.Cancel(d.run, "greet", "1")
}

// settle ends the turn; what then goes starts another one, in which it is seen.
func (d *demo) settle(_ context.Context, s *sqlite.Store) error {
	d.host.Store = s
	if err := d.host.Settled(); err != nil {
		return err
	}
	return d.host.Activity()
}

func (d *demo) timeOut(_ context.Context, s *sqlite.Store) error {
	d.host.Store = s
	note := core.NoteTurnRequest{
		RunID: d.run, Kind: core.TurnStepTimeout, NodeID: "greet", AttemptID: "1", RecoveryExpected: true, Reason: "no answer within 60 s",
	}
	if err := d.host.Abort(note); err != nil {
		return err
	}
	return d.host.Prompt(d.run, "The last attempt ran out of time. Greet the world, briefly.")
}

func (d *demo) finish(_ context.Context, s *sqlite.Store) error {
	d.host.Store = s
	if err := d.host.EngineEnded(core.LaunchSeen{RunID: d.run, Outcome: core.EngineDone}); err != nil {
		return err
	}
	return d.host.Settled()
}

// journal keeps a session's entries in a file, one line of JSON each.
type journal string

func (j journal) Append(e hosttest.Entry) error {
	line, err := core.Encode(e)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(string(j), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

func (j journal) Entries() ([]hosttest.Entry, error) {
	text, err := os.ReadFile(string(j))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	entries := []hosttest.Entry{}
	for decoder := json.NewDecoder(bytes.NewReader(text)); err == nil && decoder.More(); {
		var e hosttest.Entry
		if err = decoder.Decode(&e); err == nil {
			entries = append(entries, e)
		}
	}
	return entries, err
}
