package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

// activation is one run on its way through one engine: it does what the launch
// coordinator says.
type activation struct {
	app     *app
	store   *sqlite.Store
	command string
	lease   time.Duration
	poll    time.Duration
	// build and timeout bound the engine's time to get ready, and to end; 0 is none.
	build, timeout time.Duration

	launcher launcher
	run      *core.Run        // the claimed one, with its input
	over     <-chan time.Time // the engine's time
	ready    bool             // it said so, and that was seen
	ended    bool             // it ended, and that was seen
	settled  recoveries       // of runs whose runner was gone
	problem  *core.Error      // why the last operation on the run was refused
	refusals int              // of a store that does not answer, in a row
	kept     bool             // the claim, which could not be released

	mu          sync.Mutex // of what a signal touches
	engine      *engine
	interrupted bool // the engine was ended by a signal
}

// maxRefusals is how often an operation is tried that the store does not answer;
// each try waits for the lock itself, so it takes a minute at most.
const maxRefusals = 12

func (act *activation) activate(ctx context.Context, runID, session, runner, command string) error {
	if err := act.work(ctx, runID, session, runner, command); err != nil {
		return err
	}
	return act.report(ctx)
}

// work claims a run and sees it to its end.
func (act *activation) work(ctx context.Context, runID, session, runner, command string) error {
	act.command = command
	act.launcher = launcher{
		store: act.store, do: act.do, told: act.hear,
		state: core.LaunchState{SessionID: session, RunnerID: runner, LeaseMS: act.lease.Milliseconds(), RunID: runID},
	}
	defer act.stop()
	defer context.AfterFunc(ctx, act.interrupt)()
	if err := act.see(ctx, core.LaunchSeen{Kind: core.LaunchSessionStart, Idle: true}); err != nil {
		return err
	}
	act.tellSettled()
	switch {
	case act.run == nil && act.problem != nil:
		return act.problem
	case act.run == nil && ctx.Err() != nil:
		return exitError{130, "stopped before a run was claimed"}
	case act.run == nil:
		return core.NewError(core.CodeNotFound, nil, "nothing is queued")
	}
	return act.await(ctx)
}

// interrupt ends the engine at once, whatever we wait for.
func (act *activation) interrupt() {
	act.mu.Lock()
	engine := act.engine
	act.interrupted = engine == nil || !engine.ended() // how it ended must not be lost
	act.mu.Unlock()
	if engine != nil {
		engine.kill()
	}
}

func (act *activation) isInterrupted() bool {
	act.mu.Lock()
	defer act.mu.Unlock()
	return act.interrupted
}

// stop ends the engine and what it started.
func (act *activation) stop() {
	if act.engine != nil {
		act.engine.kill()
	}
	act.ended = true
}

func (act *activation) see(ctx context.Context, seen core.LaunchSeen) error {
	return act.launcher.follow(ctx, seen)
}

// await tells the coordinator what happens until it holds no run.
func (act *activation) await(ctx context.Context) error {
	tick := time.NewTicker(max(min(act.poll, act.lease/3), time.Millisecond))
	defer tick.Stop()
	for act.launcher.state.Hold != nil && act.refusals < maxRefusals {
		seen := act.next(ctx, tick.C)
		if err := act.see(ctx, seen); err != nil {
			return err
		}
	}
	return nil
}

// next is the next thing to see.
func (act *activation) next(ctx context.Context, tick <-chan time.Time) core.LaunchSeen {
	var ready, ended <-chan struct{}
	if act.engine != nil && !act.ready {
		ready = act.engine.ready
	}
	if act.engine != nil && !act.ended {
		ended = act.engine.done
	}
	select {
	case <-ready:
		act.ready = true
		return act.built()
	case <-ended:
		if act.isInterrupted() {
			return core.LaunchSeen{Kind: core.LaunchShutdown}
		}
		return act.end()
	case <-act.over:
		act.over = nil
		return act.late()
	case <-ctx.Done():
		if ended != nil && isClosed(ended) && !act.isInterrupted() {
			return act.end()
		}
		return core.LaunchSeen{Kind: core.LaunchShutdown}
	case <-tick:
		return core.LaunchSeen{Kind: core.LaunchPoll}
	}
}

// built takes the digest of the source once more: it may have changed while the
// engine built.
func (act *activation) built() core.LaunchSeen {
	digest, code, err := act.currentDigest()
	if err != nil {
		return act.failed(code, err.Error())
	}
	return core.LaunchSeen{Kind: core.LaunchBuilt, RunID: act.run.RunID, DefinitionDigest: digest}
}

// end is how the engine ended: it has to be ready, and released, before it is done.
func (act *activation) end() core.LaunchSeen {
	act.ended = true
	seen := core.LaunchSeen{Kind: core.LaunchEnded, RunID: act.run.RunID, Outcome: core.EngineDone}
	switch {
	case !act.engine.isReleased():
		return act.failed(core.FailureActivationFailed, act.engine.reason())
	case act.engine.err != nil:
		seen.Outcome, seen.Code, seen.Message = core.EngineFailed, core.FailureRunFailed, act.engine.reason()
	}
	return seen
}

// late ends an engine whose time is over, before its session is free.
func (act *activation) late() core.LaunchSeen {
	act.stop()
	if !act.engine.isReleased() {
		return act.failed(core.FailureActivationFailed, "the engine was not ready after "+act.build.String())
	}
	return core.LaunchSeen{
		Kind: core.LaunchEnded, RunID: act.run.RunID, Outcome: core.EngineFailed, Code: core.FailureTimedOut,
		Message: "the engine had not ended after " + act.timeout.String(),
	}
}

func (act *activation) failed(code core.FailureCode, detail string) core.LaunchSeen {
	return core.LaunchSeen{Kind: core.LaunchBuildFailed, RunID: act.run.RunID, Code: code, Message: detail}
}

// do does what the coordinator says beside operations. No engine here keeps a run
// bundle: of an expired run nothing is left.
func (act *activation) do(step core.LaunchStep) (seen core.LaunchSeen, goesOn bool) {
	done := core.LaunchSeen{Kind: core.LaunchDone, Step: step.Kind}
	switch step.Kind {
	case core.DoInspect:
		return core.LaunchSeen{Kind: core.LaunchFound, Step: step.Kind, Finding: &core.Finding{Kind: core.FindingNone}}, false
	case core.DoBuild:
		return act.startEngine(step.Run)
	case core.DoRun:
		act.app.say("run %s is running", step.RunID)
		act.over = after(act.timeout)
		act.engine.release()
		return done, true
	case core.DoStop:
		act.stop()
	}
	return done, false // the input is in the engine's hands, which is all its bundle
}

func (act *activation) startEngine(run *core.Run) (seen core.LaunchSeen, goesOn bool) {
	act.run = run
	if _, code, err := act.currentDigest(); err != nil {
		return act.failed(code, err.Error()), false
	}
	act.mu.Lock()
	defer act.mu.Unlock()
	if act.interrupted {
		return seen, true // nothing new is begun
	}
	engine, err := startEngine(act.command, *run, act.app.say)
	if err != nil {
		return act.failed(core.FailureActivationFailed, err.Error()), false
	}
	act.engine, act.over = engine, after(act.build)
	return seen, true
}

// after is a channel that tells when a time is over; 0 is never.
func after(limit time.Duration) <-chan time.Time {
	if limit == 0 {
		return nil
	}
	return time.After(limit)
}

// currentDigest hashes a source that is a file. Of any other nothing is known, and
// what was stored stands.
func (act *activation) currentDigest() (string, core.FailureCode, error) {
	var source fileSource
	if json.Unmarshal(act.run.WorkflowSource, &source) != nil || source.Kind != "file" {
		return "", "", nil
	}
	digest, err := fileDigest(source.Path)
	if err != nil {
		return "", core.FailureWorkflowNotFound, err
	}
	if digest != act.run.DefinitionDigest {
		return "", core.FailureSourceChanged, fmt.Errorf("%s is not the file that was queued", filepath.Base(source.Path))
	}
	return digest, "", nil
}

// hear keeps why an operation was refused, and tells what a person wants to know.
func (act *activation) hear(step core.LaunchStep, run *core.Run, problem *core.Error) {
	act.refusals++
	if core.CodeOf(errorOrNil(problem)) != core.CodeStoreUnavailable {
		act.refusals = 0
	}
	switch {
	case step.Kind == core.DoList || step.Kind == core.DoClaim:
		act.problem = problem
	case act.run == nil:
		act.settled.hear(step, run, problem)
	case step.Kind == core.DoRelease && problem != nil:
		act.kept = true
		act.app.say("the claim could not be released: %v", problem)
	case step.Kind == core.DoRecord && problem != nil:
		act.app.say("the lost claim could not be recorded: %v", problem)
	case step.Kind == core.DoTakeOver && problem == nil:
		act.app.say("the lease of run %s lapsed; it is held again", step.RunID)
		act.problem = nil
	case step.Kind != core.DoRelease && step.Kind != core.DoRecord:
		act.problem = problem
	}
}

// errorOrNil keeps a nil pointer from becoming an error that is not nil.
func errorOrNil(problem *core.Error) error {
	if problem == nil {
		return nil
	}
	return problem
}

func (act *activation) tellSettled() {
	for _, r := range act.settled {
		if r.Problem != nil {
			act.app.say("run %s is %s with its runner gone, and could not be recovered: %s", r.RunID, r.Was, r.Problem)
			continue
		}
		act.app.say("run %s was %s with its runner gone, and is now %s", r.RunID, r.Was, r.Status)
	}
}

// report shows how the run ended; one that is not done exits with 1. A run that is
// no longer ours is reported by why.
func (act *activation) report(ctx context.Context) error {
	status, err := act.store.GetRun(context.WithoutCancel(ctx), core.GetRunRequest{RunID: act.run.RunID})
	if err != nil {
		return err
	}
	switch {
	case !status.Status.Terminal() && ctx.Err() != nil && act.kept:
		return exitError{130, fmt.Sprintf("stopped; run %s can be recovered once its lease is over", act.run.RunID)}
	case !status.Status.Terminal() && ctx.Err() != nil:
		return exitError{130, fmt.Sprintf("stopped; run %s can be recovered at once, by `wfcore recover` or the next `wfcore activate`", act.run.RunID)}
	case status.Status != core.Cancelled && act.problem != nil:
		return act.problem
	}
	if err := act.app.out.show(status, status.Line); err != nil {
		return err
	}
	if status.Status != core.Done {
		return exitError{1, fmt.Sprintf("the run ended as %s", status.Status)}
	}
	return nil
}
