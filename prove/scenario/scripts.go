package scenario

import (
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/hosttest"
)

// Scenario is what happens to a host, step by step.
type Scenario struct {
	Name  string
	steps []step
}

// Play plays a scenario until the process is stopped, which is hosttest.ErrCrashed.
func (s Scenario) Play(w *World) error { return s.PlayWith(w, func() error { return nil }) }

// PlayWith plays a scenario, and does something after each of its steps.
func (s Scenario) PlayWith(w *World, then func() error) error {
	for _, step := range s.steps {
		if err := step(w); err != nil {
			return err
		}
		if err := then(); err != nil {
			return err
		}
	}
	return nil
}

// All are the scenarios.
var All = []Scenario{
	{"done", []step{starts, settles, ends(core.EngineDone, ""), polls}},
	{"build fails", []step{buildFails, starts, settles, settles, polls, settles}},
	{"bundle cannot be written", []step{writeFails, starts, settles, settles, polls, settles}},
	{"source changed", []step{otherSource, starts, settles, settles, polls, settles}},
	{"fails after it ran", []step{starts, settles, ends(core.EngineFailed, core.FailureRunFailed), polls, settles}},
	{"times out", []step{starts, settles, prompts, aborts(core.TurnStepTimeout, false), settles,
		ends(core.EngineFailed, core.FailureTimedOut), polls, settles}},
	{"agent cancels its step", []step{starts, settles, prompts, aborts(core.TurnAgentCancel, false), agentCancels, settles, polls, settles}},
	{"user cancels what is queued", []step{starts, userCancels, settles, polls}},
	{"user cancels what runs", []step{starts, settles, userCancels, node, polls}},
	{"user cancels after an interrupt", []step{starts, settles, prompts, aborts(core.TurnControllerInterrupt, false), settles,
		userCancels, node, polls, settles}},
	{"recovery prompt after a timeout", []step{starts, settles, prompts, aborts(core.TurnStepTimeout, true), settles, prompts, settles,
		ends(core.EngineDone, ""), polls}},
	{"fails after its recovery prompt", []step{starts, settles, prompts, aborts(core.TurnStepTimeout, true), settles, prompts, settles,
		endsStep(core.FailureRunFailed), polls, settles, polls}},
	{"presentation after an interrupt", []step{starts, settles, prompts, aborts(core.TurnControllerInterrupt, false), settles,
		endsPresented, presents, settles, polls}},
	{"quiet end after an interrupt", []step{starts, settles, prompts, aborts(core.TurnControllerInterrupt, false), settles,
		ends(core.EngineDone, ""), polls, settles}},
	{"message is shown late", []step{late, buildFails, starts, settles, flushes, settles, polls}},
	{"message is lost", []step{lost, buildFails, starts, settles, waits(Lease), found, settles, polls, settles, polls}},
	{"parked and resumed", []step{starts, settles, ends(core.EngineWaiting, ""), resumes, marksRunning, finishes, polls}},
	{"shutdown and restart", []step{starts, settles, shutsDown, restarts, opens, ends(core.EngineDone, ""), polls}},
	{"claim lost to another runner", []step{starts, settles, prompts, waits(Lease), losesClaim, prompts, settles,
		ends(core.EngineDone, ""), polls}},
	{"launch is lost three times", []step{slow, starts, settles, waits(Lease), restarts, slow, opens, waits(Lease), restarts, slow, opens,
		waits(Lease), restarts, opens, polls, settles, polls}},
	{"another host left a launch", []step{foreignLaunch, opens, ends(core.EngineDone, ""), polls}},
	{"another host left a run", []step{foreignRun, opens, ends(core.EngineDone, ""), polls}},
	{"another host fails our run", []step{startsShared, settles, foreignFails, node, polls, settles, polls}},
	{"another host cancels our run", []step{startsShared, settles, foreignCancels, node, polls, settles}},
	{"report", []step{starts, settles, reports, delivers, ends(core.EngineDone, ""), polls}},
}

// Find is a scenario by its name.
func Find(name string) (Scenario, bool) {
	for _, s := range All {
		if s.Name == name {
			return s, true
		}
	}
	return Scenario{}, false
}

// step is one thing that happens.
type step = func(*World) error

// What the session and its agent do.
func starts(w *World) error       { return w.start(Run) }
func startsShared(w *World) error { return w.start(sharedPrefix + Run) }
func settles(w *World) error      { return w.Settled() }
func polls(w *World) error        { return w.Poll() }
func opens(w *World) error        { return w.SessionStart() }
func flushes(w *World) error      { return w.Session.Flush() }
func shutsDown(w *World) error    { return w.Shutdown() }

// What the engine does, or does not.
func buildFails(w *World) error {
	w.Engine.Fails = &core.Finding{Code: core.FailureWorkflowInvalid, Message: "no such step"}
	return nil
}

func writeFails(w *World) error {
	w.Engine.WriteFails = &core.Finding{Code: core.FailureActivationFailed, Message: "no room"}
	return nil
}

func otherSource(w *World) error { w.Engine.Digest = "another digest"; return nil }
func slow(w *World) error        { w.Engine.Slow = true; return nil }

// What becomes of the messages.
func late(w *World) error  { w.Session.Appending = hosttest.AppendLate; return nil }
func lost(w *World) error  { w.Session.Appending = hosttest.AppendNever; return nil }
func found(w *World) error { w.Session.Appending = hosttest.AppendNow; return nil }

func waits(d time.Duration) step {
	return func(w *World) error { w.Clock.Advance(d + time.Millisecond); return nil }
}
