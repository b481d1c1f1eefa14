package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

// activation is one run on its way through one engine.
type activation struct {
	app   *app
	store *sqlite.Store
	run   core.Run
	lease time.Duration
	poll  time.Duration
	// build and timeout bound the engine's time to get ready, and to end; 0 is none.
	build, timeout time.Duration
	engine         *engine
}

func (a *app) activateCommand() *cobra.Command {
	act := &activation{app: a}
	var session, runner, command string
	cmd := &cobra.Command{
		Use:   "activate [RUN] --exec CMD",
		Short: "Claim a queued run and run its engine",
		Long: `Claim a queued run, RUN or the next one of the session (without --session: of the
ownerless ones), and run CMD in a shell as its engine. Runs whose runner is gone are
recovered first.

The engine gets the run's input as one line of JSON on stdin, builds, and prints
"ready" on a line of its own. Then the run is marked running, and the engine reads
"go"; only now may it act. Without "go" (stdin ends) it must not act: wfcore is gone.
Exit 0 is done; anything else is failed, with its last line on stderr as the reason.
An engine that ends before "ready" is a failed launch. WFCORE_RUN_ID, WFCORE_WORKFLOW,
WFCORE_SOURCE and WFCORE_SESSION are in its environment.

The claim is renewed while the engine works; it is killed when the run is cancelled or
its claim is lost. A signal ends the engine and lets the claim expire at once.

Exits with 0 where the run is done, 1 where it ended otherwise, 3 where nothing is
queued, 130 after a signal.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if command == "" {
				return usage("--exec CMD is missing: the engine that runs the workflow")
			}
			if act.lease < time.Millisecond || act.lease > core.MaxLease || act.poll <= 0 || act.build < 0 || act.timeout < 0 {
				return usage("--lease must be from 1ms to 1h, --poll more than 0, --build-timeout and --timeout not less than 0")
			}
			runID := ""
			if len(args) == 1 {
				runID = args[0]
			}
			return a.with(cmd.Context(), sqlite.Options{Existing: true}, func(s *sqlite.Store) error {
				act.store = s
				return act.activate(cmd.Context(), runID, session, runner, command)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&command, "exec", "", "shell command that is the engine (required)")
	flags.StringVar(&session, "session", "", "session whose run it is (default: ownerless)")
	flags.StringVar(&runner, "runner", runnerID(), "name of this runner")
	flags.DurationVar(&act.lease, "lease", core.DefaultLease, "how long a claim lives unless it is renewed")
	flags.DurationVar(&act.poll, "poll", 3*time.Second, "how often to look for a cancellation")
	flags.DurationVar(&act.build, "build-timeout", 10*time.Minute, "how long the engine may take to get ready; 0 is for ever")
	flags.DurationVar(&act.timeout, "timeout", 0, "how long the engine may take after go; 0 is for ever")
	return cmd
}

func runnerID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return fmt.Sprintf("%s-%d", host, os.Getpid())
}

func (act *activation) activate(ctx context.Context, runID, session, runner, command string) error {
	settled, err := recoverRuns(ctx, act.store, session, runID, "none")
	if err != nil {
		return err
	}
	for _, r := range settled {
		if r.Problem != nil {
			act.app.say("run %s is %s with its runner gone, and could not be recovered: %s", r.RunID, r.Was, r.Problem)
			continue
		}
		act.app.say("run %s was %s with its runner gone, and is now %s", r.RunID, r.Was, r.Status)
	}
	claimed, err := act.claim(ctx, runID, session, runner)
	if err != nil {
		return err
	}
	if claimed == nil {
		return core.NewError(core.CodeNotFound, nil, "nothing is queued")
	}
	act.run = *claimed
	ended, err := act.work(ctx, command)
	if err != nil {
		return act.givenUp(ctx, err)
	}
	return act.report(ctx, ended)
}

func (act *activation) claim(ctx context.Context, runID, session, runner string) (*core.Run, error) {
	leaseMS := act.lease.Milliseconds()
	if runID == "" {
		return act.store.ClaimNextRun(ctx, core.ClaimNextRequest{SessionID: session, RunnerID: runner, LeaseMS: leaseMS})
	}
	run, err := act.store.ClaimPreparedRun(ctx, core.ClaimRequest{RunID: runID, SessionID: session, RunnerID: runner, LeaseMS: leaseMS})
	return &run, err
}

func (act *activation) hold() core.HoldRequest {
	return core.HoldRequest{RunID: act.run.RunID, ClaimToken: act.run.ClaimToken}
}

// session is the one that owns the run, or "".
func (act *activation) session() string {
	if act.run.OriginSessionID == nil {
		return ""
	}
	return *act.run.OriginSessionID
}

const leaseOver = "its lease was over before it was running"

// work builds, takes the final fence, releases the engine and waits for its end.
func (act *activation) work(ctx context.Context, command string) (core.Run, error) {
	digest, code, err := act.currentDigest()
	if err != nil {
		return act.failLaunch(ctx, code, err.Error())
	}
	act.engine, err = startEngine(command, act.run, act.app.say)
	if err != nil {
		return act.failLaunch(ctx, core.FailureActivationFailed, err.Error())
	}
	defer act.engine.kill()
	switch what, err := act.wait(ctx, act.engine.ready, act.build); {
	case core.CodeOf(err) == core.CodeClaimLost:
		return act.failLaunch(ctx, core.FailureActivationFailed, leaseOver)
	case err != nil:
		return act.run, err
	case what == timedOut:
		act.engine.kill() // before its session is free
		return act.failLaunch(ctx, core.FailureActivationFailed, "the engine was not ready after "+act.build.String())
	case what == ended:
		return act.failLaunch(ctx, core.FailureActivationFailed, act.engine.reason())
	}
	// The source may have changed while the engine built.
	if digest, code, err = act.currentDigest(); err != nil {
		return act.failLaunch(ctx, code, err.Error())
	}
	_, err = again(func() (core.Run, error) {
		return act.store.MarkPreparedRunRunning(ctx, core.MarkRunningRequest{
			RunID: act.run.RunID, ClaimToken: act.run.ClaimToken, DefinitionDigest: digest,
		})
	})
	switch core.CodeOf(err) {
	case core.CodeSourceChanged:
		return act.failLaunch(ctx, core.FailureSourceChanged, "")
	case core.CodeClaimLost:
		return act.failLaunch(ctx, core.FailureActivationFailed, leaseOver)
	}
	if err != nil {
		return act.run, err
	}
	act.app.say("run %s is running", act.run.RunID)
	act.engine.release()
	act.run.Status = core.Running
	what, err := act.wait(ctx, nil, act.timeout)
	switch {
	case err != nil:
		return act.run, err
	case what == timedOut:
		act.engine.kill() // before its session is free
		return act.finish(ctx, core.FailureTimedOut, "the engine had not ended after "+act.timeout.String())
	case act.engine.err != nil:
		return act.finish(ctx, core.FailureRunFailed, act.engine.reason())
	}
	return act.finish(ctx, "", "")
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

// What wait waited for.
const (
	ready = iota
	ended
	timedOut
)

// wait keeps the claim until the engine is ready, has ended, or its time is over,
// and looks for a cancellation at each poll.
func (act *activation) wait(ctx context.Context, isReady <-chan struct{}, limit time.Duration) (int, error) {
	var over <-chan time.Time
	if limit > 0 {
		over = time.After(limit)
	}
	renew, poll := time.NewTicker(max(act.lease/3, time.Millisecond)), time.NewTicker(act.poll)
	defer renew.Stop()
	defer poll.Stop()
	for {
		var held core.Run
		var err error
		select {
		case <-isReady:
			return ready, nil
		case <-act.engine.done:
			return ended, nil
		case <-over:
			return timedOut, nil
		case <-ctx.Done():
			if act.engine.ended() {
				return ended, nil // how it ended must not be lost
			}
			return ended, ctx.Err()
		case <-renew.C:
			held, err = act.store.RenewRunClaim(ctx, core.RenewRequest{
				RunID: act.run.RunID, ClaimToken: act.run.ClaimToken, LeaseMS: act.lease.Milliseconds(),
			})
		case <-poll.C:
			held, err = act.store.VerifyRunClaim(ctx, act.hold())
		}
		if core.CodeOf(err) == core.CodeClaimLost && act.run.Status == core.Running {
			held, err = act.regain(ctx)
		}
		switch {
		case err == nil:
			act.run.ClaimExpiresAt = held.ClaimExpiresAt
		case core.CodeOf(err) != core.CodeStoreUnavailable:
			return ended, err
		default:
			act.run.ClaimExpiresAt = nil // it may have been renewed, or not
		}
	}
}

// regain takes a running run over again whose lease lapsed, as after a sleep, where
// nobody replaced us: the row still has our runner and the lease that we saw.
func (act *activation) regain(ctx context.Context) (core.Run, error) {
	lost := func() (core.Run, error) { return act.store.VerifyRunClaim(ctx, act.hold()) }
	now, err := act.store.GetRun(ctx, core.GetRunRequest{RunID: act.run.RunID})
	if err != nil {
		return core.Run{}, err
	}
	ours := now.RunnerID != nil && *now.RunnerID == *act.run.RunnerID
	if known := act.run.ClaimExpiresAt; !ours || known != nil && (now.ClaimExpiresAt == nil || *now.ClaimExpiresAt != *known) {
		return lost()
	}
	taken, err := act.store.TakeOverExpiredRun(ctx, core.ClaimRequest{
		RunID: act.run.RunID, SessionID: act.session(), RunnerID: *act.run.RunnerID, LeaseMS: act.lease.Milliseconds(),
	})
	switch core.CodeOf(err) {
	case "":
	case core.CodeStoreUnavailable:
		return taken, err // nobody replaced us yet: to be tried again
	default:
		return lost()
	}
	act.run.ClaimToken = taken.ClaimToken
	act.app.say("the lease of run %s lapsed; it is held again", act.run.RunID)
	return taken, nil
}

// failLaunch records why the launch failed; also where the lease lapsed meanwhile
// and nobody took over.
func (act *activation) failLaunch(ctx context.Context, code core.FailureCode, detail string) (core.Run, error) {
	ctx = context.WithoutCancel(ctx) // what is known is stored, also when we are told to stop
	failed, err := again(func() (core.Run, error) {
		return act.store.FailPreparedRun(ctx, core.FailRequest{
			RunID: act.run.RunID, ClaimToken: act.run.ClaimToken, ErrorCode: code, ErrorMessage: detail,
		})
	})
	if core.CodeOf(err) != core.CodeClaimLost {
		return failed, err
	}
	req := core.RecoverRequest{
		RunID: act.run.RunID, SessionID: act.session(), ExpectedClaimToken: act.run.ClaimToken,
		Finding: &core.Finding{Kind: core.FindingStartFailed, Code: code, Message: detail},
	}
	return again(func() (core.Run, error) { return act.store.RecoverExpiredStartingRun(ctx, req) })
}

// finish ends the run: as done without a code, else as failed.
func (act *activation) finish(ctx context.Context, code core.FailureCode, detail string) (core.Run, error) {
	ctx = context.WithoutCancel(ctx) // what is known is stored, also when we are told to stop
	req := core.FinishRequest{RunID: act.run.RunID, Status: core.Done}
	if code != "" {
		req.Status, req.ErrorCode, req.ErrorMessage = core.Failed, code, detail
	}
	store := func() (core.Run, error) {
		req.ClaimToken = act.run.ClaimToken
		return act.store.FinishRunningRun(ctx, req)
	}
	run, err := again(store)
	if core.CodeOf(err) != core.CodeClaimLost {
		return run, err
	}
	if _, lost := act.regain(ctx); lost != nil {
		return run, err
	}
	return again(store)
}

// again repeats an op whose outcome a storage error left open; the repeat says
// which it was. Each try waits for the lock itself, so it takes a minute at most.
func again(op func() (core.Run, error)) (run core.Run, err error) {
	for range 12 {
		if run, err = op(); core.CodeOf(err) != core.CodeStoreUnavailable {
			break
		}
	}
	return run, err
}

// givenUp ends an activation that is no longer ours: cancelled, taken over, or
// stopped by a signal.
func (act *activation) givenUp(ctx context.Context, cause error) error {
	rest := context.WithoutCancel(ctx)
	if ctx.Err() != nil {
		if _, err := act.store.ReleaseRunClaim(rest, act.hold()); err != nil {
			act.app.say("the claim could not be released: %v", err)
		}
		return exitError{130, fmt.Sprintf("stopped; run %s can be recovered at once, by `wfcore recover` or the next `wfcore activate`", act.run.RunID)}
	}
	now, err := act.store.GetRun(rest, core.GetRunRequest{RunID: act.run.RunID})
	if err != nil {
		return errors.Join(cause, err)
	}
	if now.Status == core.Cancelled {
		return act.report(rest, now.Run)
	}
	if core.CodeOf(cause) == core.CodeClaimLost {
		_, err = act.store.RecordRunEvent(rest, core.RecordEventRequest{
			RunID: act.run.RunID, Type: core.EventClaimLost, RunnerID: *act.run.RunnerID,
		})
		if err != nil {
			act.app.say("the lost claim could not be recorded: %v", err)
		}
	}
	return cause
}

// report shows how the run ended; one that is not done exits with 1.
func (act *activation) report(ctx context.Context, run core.Run) error {
	status, err := act.store.GetRun(context.WithoutCancel(ctx), core.GetRunRequest{RunID: run.RunID})
	if err != nil {
		return err
	}
	if err := act.app.out.show(status, status.Line); err != nil {
		return err
	}
	if run.Status != core.Done {
		return exitError{1, fmt.Sprintf("the run ended as %s", run.Status)}
	}
	return nil
}
