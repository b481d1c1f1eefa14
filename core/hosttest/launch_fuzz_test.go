package hosttest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
)

// launchHost is a host in another language that asks `nextLaunchStep`: its state is
// JSON, and what it says may be anything.
type launchHost struct {
	*launchWorld
	state json.RawMessage
	step  core.LaunchStep
}

func newLaunchHost(w *launchWorld) *launchHost {
	state, err := core.Encode(core.LaunchState{SessionID: w.session.ID, RunnerID: "host"})
	w.must(err)
	return &launchHost{launchWorld: w, state: state, step: core.LaunchStep{Kind: core.DoWait}}
}

// next is the step after a thing seen. A refusal of what was seen is a bad request,
// and leaves the state as it was.
func (h *launchHost) next(seen core.LaunchSeen) error {
	h.Helper()
	response, err := h.store.NextLaunchStep(context.Background(), core.NextLaunchRequest{State: h.state, Seen: &seen})
	if err != nil {
		if core.CodeOf(err) != core.CodeBadRequest {
			h.Errorf("%+v: %v", seen, err)
		}
		return err
	}
	h.state, h.step = response.State, response.Step
	return nil
}

// honest does the step, and is what came of it. A build or a run goes on.
func (h *launchHost) honest(lookups *launchBytes) (core.LaunchSeen, bool) {
	seen := core.LaunchSeen{Step: h.step.Kind, Idle: true}
	switch h.step.Kind {
	case core.DoWait, core.DoRun:
		return seen, false
	case core.DoBuild:
		if h.step.Run == nil || string(h.step.Run.Input) != `{"text":"private words"}` {
			h.Errorf("a build without the private input: %+v", h.step.Run)
		}
		return core.LaunchSeen{Kind: core.LaunchBuilt, RunID: h.step.RunID, DefinitionDigest: launchDigest}, true
	case core.DoInspect:
		f := launchFindings[lookups.below(len(launchFindings))].finding
		seen.Kind, seen.Finding = core.LaunchFound, &f
	case core.DoWriteBundle, core.DoStop:
		seen.Kind = core.LaunchDone
	default:
		return h.called(seen), true
	}
	return seen, true
}

// called calls the op of the step, which must be a good request.
func (h *launchHost) called(seen core.LaunchSeen) core.LaunchSeen {
	answer, err := h.store.Call(context.Background(), h.step.Op, h.step.Request)
	seen.Kind, seen.Answer = core.LaunchAnswered, answer
	if err != nil {
		problem, encodeErr := core.Encode(err)
		h.must(encodeErr)
		seen.Kind, seen.Answer, seen.Error = core.LaunchRefused, nil, problem
	}
	if core.CodeOf(err) == core.CodeBadRequest {
		h.Errorf("%s %s: %v", h.step.Op, h.step.Request, err)
	}
	return seen
}

var (
	launchOutside = []core.LaunchSeenKind{
		core.LaunchSessionStart, core.LaunchSettled, core.LaunchPoll, core.LaunchNode, core.LaunchEnded, core.LaunchShutdown,
		core.LaunchBuilt, core.LaunchBuildFailed,
	}
	launchResults = []core.LaunchSeenKind{core.LaunchAnswered, core.LaunchRefused, core.LaunchFound, core.LaunchDone, core.LaunchBuildFailed}
	launchSteps   = []core.LaunchStepKind{
		core.DoList, core.DoInspect, core.DoRecover, core.DoTakeOver, core.DoClaim, core.DoBuild, core.DoWriteBundle, core.DoMarkRunning,
		core.DoRun, core.DoRenew, core.DoVerify, core.DoFail, core.DoFinish, core.DoPark, core.DoCancel, core.DoStop, core.DoRelease, core.DoRecord,
	}
	launchCodes = slices.Concat([]core.FailureCode{""}, core.LaunchFailures, core.RunFailures)
	// launchWords are answers that no op gives, launchErrors errors that none or any
	// gives.
	launchWords  = []string{"", "null", "7", `"run"`, "[]", "[7]"}
	launchErrors = []string{
		"", "null", "7", "[]", "{}", `{"code":7}`, `{"code":"store_unavailable"}`, `{"code":"source_changed"}`, `{"code":"claim_lost","details":{"status":7}}`,
		`{"code":"claim_lost","details":{"status":"running","runnerId":"host"}}`, `{"code":"invalid_transition","details":{"status":"cancelled"}}`, `{"code":"not_found"}`,
	}
)

func pick[T any](b *launchBytes, values []T) T { return values[b.below(len(values))] }

// anything is something seen of which nothing need be true.
func (b *launchBytes) anything(runID string, asked core.LaunchStepKind) core.LaunchSeen {
	seen := core.LaunchSeen{
		Kind: pick(b, launchOutside), RunID: pick(b, []string{runID, "other", ""}), Idle: b.below(2) == 1, PendingMessages: b.below(3) == 1,
		Outcome: pick(b, append([]core.EngineOutcome{""}, launchOutcomes...)), Code: pick(b, launchCodes),
		Message: pick(b, []string{"", "why"}), DefinitionDigest: pick(b, []string{"", launchDigest, "another"}),
	}
	if b.below(2) == 1 {
		if seen.Step, seen.Kind = asked, pick(b, launchResults); b.below(4) == 1 {
			seen.Step = pick(b, launchSteps)
		}
		seen.Answer, seen.Error = json.RawMessage(pick(b, launchWords)), json.RawMessage(pick(b, launchErrors))
		seen.Finding = &core.Finding{Kind: pick(b, core.FindingKinds), Status: pick(b, []core.Status{"", core.Done, core.Failed, core.Cancelled}), Code: pick(b, launchCodes)}
	}
	return seen
}

// Whatever a host says, in whatever order: no panic; what it says is taken, or is a
// bad request that changes nothing; and no request of a step is a bad one.
//
// Guards: sound; the kinds of results; checkFinding; the rules of LaunchSeen.
func FuzzLaunch(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(launchRandom(seed, 300).rest)
	}
	all, n := newLaunchWorld(f, launchSession), 0
	f.Fuzz(func(t *testing.T, data []byte) {
		n++
		all.TB = t
		w := all.fresh(n)
		h, choices := newLaunchHost(w), &launchBytes{data}
		for range 120 {
			if len(choices.rest) == 0 {
				return
			}
			seen, ok := core.LaunchSeen{}, false
			if choices.below(3) > 0 {
				seen, ok = h.honest(choices)
			}
			if !ok {
				w.clock.Advance(launchTimes[choices.below(len(launchTimes))])
				seen = choices.anything(w.runID, h.step.Kind)
			}
			_ = h.next(seen)
		}
	})
}

// At each step of each life, a result of another kind or without sense is a bad
// request: it is not taken for a result.
//
// Guards: the kind of each result (isResult); answer; the code of a refusal
// (isRefusal); checkFinding; that an error changes nothing.
func TestLaunchAResultWithoutSenseIsTaken(t *testing.T) {
	kinds := map[core.LaunchStepKind][]core.LaunchSeenKind{
		core.DoInspect: {core.LaunchFound}, core.DoWriteBundle: {core.LaunchDone, core.LaunchBuildFailed}, core.DoStop: launchResults,
	}
	eachLaunchStep(t, func(h *launchHost) {
		taken := kinds[h.step.Kind]
		if taken == nil {
			taken = []core.LaunchSeenKind{core.LaunchAnswered, core.LaunchRefused}
		}
		if t.Failed() {
			t.FailNow()
		}
		for _, kind := range launchResults {
			if !slices.Contains(taken, kind) {
				h.refuses(core.LaunchSeen{Kind: kind, Step: h.step.Kind, Finding: &core.Finding{Kind: core.FindingNone}, Answer: []byte("{}")})
			}
		}
		switch h.step.Kind {
		case core.DoInspect:
			h.refuses(core.LaunchSeen{Kind: core.LaunchFound, Step: h.step.Kind})
			h.refuses(core.LaunchSeen{Kind: core.LaunchFound, Step: h.step.Kind, Finding: &core.Finding{Kind: core.FindingTerminal}})
			h.refuses(core.LaunchSeen{Kind: core.LaunchFound, Step: h.step.Kind, Finding: &core.Finding{Kind: core.FindingUnreadable, Message: "why"}})
		case core.DoWriteBundle, core.DoStop, core.DoRecord:
		default:
			for _, word := range []string{"", "7", `"run"`, "[7]"} {
				h.refuses(core.LaunchSeen{Kind: core.LaunchAnswered, Step: h.step.Kind, Answer: json.RawMessage(word)})
				h.refuses(core.LaunchSeen{Kind: core.LaunchRefused, Step: h.step.Kind, Error: json.RawMessage(word)})
			}
		}
	})
}

// refuses says something that must be a bad request.
func (h *launchHost) refuses(seen core.LaunchSeen) {
	h.Helper()
	before, step := bytes.Clone(h.state), h.step
	defer func() {
		if p := recover(); p != nil {
			h.Errorf("%+v: panic: %v", seen, p)
		}
		h.state, h.step = before, step
	}()
	var state core.LaunchState
	h.must(json.Unmarshal(before, &state))
	_, err := state.Next(seen, core.Moment{Now: h.clock.Now(), Token: "token"})
	after, encodeErr := core.Encode(state)
	h.must(encodeErr)
	if err == nil || h.next(seen) == nil {
		h.Errorf("%s %q of the step %s is taken", seen.Kind, seen.Answer, step.Kind)
	} else if !bytes.Equal(before, after) {
		h.Errorf("%s %q of the step %s is refused, and changed the state to %s", seen.Kind, seen.Answer, step.Kind, after)
	}
}

// What is told twice, or of another step, is nothing.
//
// Guard: seen.Step != s.Asked.
func TestLaunchAResultIsTakenTwice(t *testing.T) {
	eachLaunchStep(t, func(h *launchHost) {
		before, step := string(h.state), h.step
		for _, other := range launchSteps {
			if other != step.Kind {
				h.must(h.next(core.LaunchSeen{Kind: core.LaunchAnswered, Step: other, Answer: []byte("7")}))
				launchEqual(t, "step after a result of "+string(other), h.step.Kind, core.DoWait)
				launchEqual(t, "state", string(h.state), before)
			}
		}
		h.step = step
	})
}

// A state of which a member was lost brings an error, or any step, but no panic.
//
// Guard: sound.
func TestLaunchATornStatePanics(t *testing.T) {
	results := []core.LaunchSeen{
		{Kind: core.LaunchAnswered, Answer: []byte(`{"runId":"run","status":"running","claimToken":"token"}`)},
		{Kind: core.LaunchAnswered, Answer: []byte("[]")},
		{Kind: core.LaunchRefused, Error: []byte(`{"code":"claim_lost"}`)},
		{Kind: core.LaunchFound, Finding: &core.Finding{Kind: core.FindingRunning}},
		{Kind: core.LaunchDone},
		{Kind: core.LaunchBuildFailed},
	}
	times := map[core.LaunchStepKind]int{}
	eachLaunchStep(t, func(h *launchHost) {
		before, step := h.state, h.step
		if times[step.Kind]++; times[step.Kind] > 6 {
			return
		}
		for _, torn := range launchTorn(t, before) {
			for _, seen := range results {
				func() {
					defer func() {
						if p := recover(); p != nil {
							t.Fatalf("%s, then %s of %s: panic: %v", torn, seen.Kind, step.Kind, p)
						}
					}()
					h.state = torn
					seen.Step = step.Kind
					_ = h.next(seen)
					_ = h.next(core.LaunchSeen{Kind: core.LaunchPoll, Idle: true})
				}()
			}
		}
		h.state, h.step = before, step
	})
}

// launchTorn is a state without each of its members in turn, and those of its hold.
func launchTorn(t *testing.T, state json.RawMessage) (torn []json.RawMessage) {
	var whole, hold map[string]json.RawMessage
	if json.Unmarshal(state, &whole) != nil || len(whole["hold"]) > 0 && json.Unmarshal(whole["hold"], &hold) != nil {
		t.Fatalf("not a state: %s", state)
	}
	without := func(members map[string]json.RawMessage, name string) json.RawMessage {
		rest := maps.Clone(members)
		delete(rest, name)
		encoded, err := json.Marshal(rest)
		if err != nil {
			t.Fatal(err)
		}
		return encoded
	}
	for name := range whole {
		torn = append(torn, without(whole, name))
	}
	for name := range hold {
		rest := maps.Clone(whole)
		rest["hold"] = without(hold, name)
		torn = append(torn, without(rest, ""))
	}
	return torn
}

// launchWalks are what a host may see of one run after the other.
var launchWalks = [][]core.LaunchSeenKind{
	{core.LaunchSettled, core.LaunchNode, core.LaunchPoll, core.LaunchEnded, core.LaunchPoll, core.LaunchShutdown},
	{core.LaunchPoll, core.LaunchBuildFailed, core.LaunchPoll, core.LaunchShutdown},
	{core.LaunchSessionStart, core.LaunchPoll, core.LaunchPoll, core.LaunchPoll, core.LaunchPoll, core.LaunchShutdown, core.LaunchPoll},
}

// eachLaunchStep takes these walks through `nextLaunchStep`, in each state that a run
// may be in and with each finding, and shows each step whose result is awaited. Every
// kind of step is shown.
func eachLaunchStep(t *testing.T, look func(h *launchHost)) {
	t.Helper()
	shown := map[core.LaunchStepKind]bool{core.DoBuild: true, core.DoRun: true}
	all, n := newLaunchWorld(t, launchSession), 0
	for f := range launchFindings {
		for _, status := range []core.Status{core.Queued, core.Starting, core.Running} {
			for _, walk := range launchWalks {
				n++
				w := all.fresh(n)
				if status != core.Queued {
					(&launchLife{left: status}).begin(w)
				}
				h := newLaunchHost(w)
				h.walk(walk, n, byte(f), func() {
					shown[h.step.Kind] = true
					look(h)
				})
			}
		}
	}
	for _, kind := range launchSteps {
		if !shown[kind] {
			t.Errorf("not shown: %s", kind)
		}
	}
}

// walk sees one thing after the other. Another process takes the run over in some.
func (h *launchHost) walk(things []core.LaunchSeenKind, n int, finding byte, look func()) {
	h.Helper()
	for i, kind := range things {
		h.clock.Advance(8 * time.Second)
		if i == 3 && n%2 == 0 {
			h.clock.Advance(core.DefaultLease)
			q := h.process("q")
			q.sees(q.SessionStart)
		}
		seen, ok := core.LaunchSeen{Kind: kind, RunID: h.runID, Idle: true, Outcome: core.EngineDone}, true
		for steps := 0; ok; steps++ {
			if h.must(h.next(seen)); steps > 60 {
				h.Fatalf("no end of steps: %s", h.step.Kind)
			}
			ends := h.step.Kind == core.DoBuild && slices.Contains(things, core.LaunchBuildFailed)
			if h.step.Kind != core.DoWait && h.step.Kind != core.DoBuild && h.step.Kind != core.DoRun {
				look()
			}
			if seen, ok = h.honest(&launchBytes{[]byte{finding}}); ends {
				break // it fails later
			}
		}
	}
}
