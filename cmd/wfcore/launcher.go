package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

// launcher follows the launch coordinator over a store.
type launcher struct {
	store *sqlite.Store
	state core.LaunchState
	// do does a step that is no operation. What it began may go on beside what
	// follows, and is seen later.
	do func(core.LaunchStep) (seen core.LaunchSeen, goesOn bool)
	// told hears how each operation went: of most, with the run.
	told func(step core.LaunchStep, run *core.Run, problem *core.Error)
}

// follow does what the coordinator says of a thing seen, until it waits. Once we are
// told to stop nothing new is begun; what is known is stored all the same.
func (l *launcher) follow(until context.Context, seen core.LaunchSeen) error {
	ctx := context.WithoutCancel(until)
	for {
		moment, err := l.store.Moment(ctx)
		if err != nil {
			return err
		}
		if until.Err() != nil && l.state.Asked != "" {
			// Before the result that we hold, so that it is taken with this in mind.
			if _, err := l.state.Next(core.LaunchSeen{Kind: core.LaunchShutdown}, moment); err != nil {
				return err
			}
		}
		step, err := l.state.Next(seen, moment)
		if err != nil || step.Kind == core.DoWait {
			return err
		}
		if step.Op != "" {
			if seen, err = l.call(ctx, step); err != nil {
				return err
			}
			continue
		}
		goesOn := false
		if seen, goesOn = l.do(step); goesOn {
			return nil
		}
	}
}

func (l *launcher) call(ctx context.Context, step core.LaunchStep) (core.LaunchSeen, error) {
	answer, err := l.store.Call(ctx, step.Op, step.Request)
	var problem *core.Error
	if errors.As(err, &problem) {
		l.told(step, nil, problem)
		encoded, err := core.Encode(problem)
		return core.LaunchSeen{Kind: core.LaunchRefused, Step: step.Kind, Error: encoded}, err
	}
	if err != nil {
		return core.LaunchSeen{}, err
	}
	var run *core.Run
	if step.Kind != core.DoList {
		if err := json.Unmarshal(answer, &run); err != nil {
			return core.LaunchSeen{}, err
		}
	}
	l.told(step, run, nil)
	return core.LaunchSeen{Kind: core.LaunchAnswered, Step: step.Kind, Answer: answer}, nil
}

// recovered is what became of one run whose runner was gone.
type recovered struct {
	RunID   string      `json:"runId"`
	Was     core.Status `json:"was"`
	Status  core.Status `json:"status"`
	Problem *core.Error `json:"problem,omitempty"`
}

// recoveries are those of all runs, in order.
type recoveries []recovered

// hear takes what an operation did to an expired run: the first one of a running
// run takes it over.
func (r *recoveries) hear(step core.LaunchStep, run *core.Run, problem *core.Error) {
	all := *r
	if n := len(all); n == 0 || all[n-1].RunID != step.RunID {
		was := core.Starting
		if step.Kind == core.DoTakeOver {
			was = core.Running
		}
		all = append(all, recovered{RunID: step.RunID, Was: was, Status: was})
	}
	last := &all[len(all)-1]
	last.Problem = problem
	if run != nil {
		last.Status = run.Status
	}
	*r = all
}
