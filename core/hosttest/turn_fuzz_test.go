package hosttest_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
)

// turnModel is a host that lives through what a text of bytes says, and what is known
// of it without the coordinator.
type turnModel struct {
	testing.TB
	store    *turnModelStore
	state    core.TurnState
	tape     []byte
	now      time.Time
	faulty   bool // the store may fail
	lies     bool // results may be anything
	idle     bool
	held     bool
	closed   bool
	aborting bool
	turn     int64
	posted   int
	// asked are the steps whose results are awaited; each is told once more, late.
	asked, told []core.TurnStep

	idleSince, lastSeen time.Time
	sends               map[string]turnModelSend
	accepted            []turnModelEntry // not shown yet
	shown               []turnModelEntry
	natural             map[string]int    // how often each was sent
	prompts             map[string]string // the runs of prompts
}

type turnModelSend struct {
	at      time.Time
	turn    int64
	settled bool
}

type turnModelEntry struct{ intent, customType string }

func newTurnModel(t testing.TB, tape []byte) *turnModel {
	m := &turnModel{
		TB: t, tape: tape, now: turnEpoch, idle: true, state: core.TurnState{SessionID: turnSession},
		sends: map[string]turnModelSend{}, natural: map[string]int{}, prompts: map[string]string{},
	}
	kind := m.take(5)
	m.faulty, m.lies = kind > 1, kind > 3
	m.store = &turnModelStore{model: m}
	return m
}

// take reads a choice among n; past the end it is 0.
func (m *turnModel) take(n int) int {
	if len(m.tape) == 0 {
		return 0
	}
	b := int(m.tape[0])
	m.tape = m.tape[1:]
	return b % n
}

// FuzzTurns lives through any sequence of things seen: nothing panics, nothing is sent
// twice without a reason, and a busy pass that sent nothing holds nothing. Guards:
// turns_next.go lost and deliver; turns_result.go claimedIn.
func FuzzTurns(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		tape := make([]byte, 40+random.IntN(400))
		for i := range tape {
			tape[i] = byte(random.UintN(256))
		}
		f.Add(tape)
	}
	f.Fuzz(func(t *testing.T, tape []byte) {
		m := newTurnModel(t, tape)
		for len(m.tape) > 0 {
			m.happens()
		}
		m.quiet()
	})
}

// happens is one event, told between two steps or after the last.
func (m *turnModel) happens() {
	if len(m.asked) > 0 && m.take(4) > 0 {
		m.answer()
		return
	}
	if len(m.told) > 0 && m.take(8) == 0 {
		again := m.told[m.take(len(m.told))].Kind // told twice
		if !slices.ContainsFunc(m.asked, func(s core.TurnStep) bool { return s.Kind == again }) {
			m.see(core.TurnSeen{Kind: core.SeenDone, Step: again}, false)
		}
		return
	}
	m.show()
	m.pass(m.take(16))
	seen := core.TurnSeen{Kind: core.SeenPoll, RunID: fmt.Sprint("run-", m.take(3))}
	switch m.take(12) {
	case 0:
		seen.Kind = core.SeenSessionStart
	case 1, 2:
		seen.Kind = core.SeenSettled
		m.idle, m.aborting = true, false
	case 3:
		seen.Kind = core.SeenActivity
		m.idle = false
		m.turn++
	case 4, 5:
		m.posted++
		seen.Kind, seen.MessageID, seen.Resolution = core.SeenNatural, fmt.Sprint(m.posted), core.Resolutions[m.take(2)]
		m.natural[seen.MessageID] = 0
		if seen.Resolution == core.ByWorkflowPrompt {
			m.prompts[seen.MessageID] = seen.RunID
		}
	case 6:
		if m.idle { // what is aborted has started
			m.turn++
		}
		m.idle, m.aborting = false, true
		seen.Kind, seen.Note = core.SeenAbort, &core.NoteTurnRequest{RunID: seen.RunID, Kind: core.TurnStepTimeout, NodeID: "node", AttemptID: fmt.Sprint(m.posted)}
	case 7:
		seen.Kind, seen.Stored = core.SeenEnded, m.take(2) == 0
		for id, runID := range m.prompts { // those of an ended run do not go any more
			if seen.Stored && runID == seen.RunID && m.natural[id] == 0 {
				delete(m.natural, id)
			}
		}
	case 8, 9:
		m.store.owe(seen.RunID, m.take(3) > 0)
	case 10:
		m.held = !m.held
	case 11:
		if m.take(20) == 0 {
			seen.Kind, m.closed = core.SeenShutdown, true
		}
	}
	m.see(seen, true)
}

func (m *turnModel) pass(seconds int) { m.now = m.now.Add(time.Duration(seconds) * time.Second) }

// see tells the coordinator, and keeps what it asks for.
func (m *turnModel) see(seen core.TurnSeen, outside bool) {
	seen.Idle, seen.Held, seen.Turn = m.idle, m.held, m.turn
	if outside {
		m.watch(seen)
	}
	before := turnText(m, m.state)
	step, err := m.state.Next(seen, core.Moment{Now: m.now, Token: fmt.Sprint("token-", len(m.tape), m.now.Unix())})
	if err != nil && (!m.lies || core.CodeOf(err) != core.CodeBadRequest || turnText(m, m.state) != before) {
		m.Fatalf("%+v: %v", seen, err)
	}
	if err != nil {
		return
	}
	if mayNot := !m.lies && (!m.idle || m.held || m.closed || m.aborting); mayNot && step.Kind == core.StepSend && step.IntentID != "" {
		m.Fatalf("a message is to go where none may: %+v", step)
	}
	if m.aborting && step.Kind == core.StepSend && !m.lies {
		m.Fatalf("a message is to go into a turn that is aborted: %+v", step)
	}
	if step.Kind != core.StepWait {
		m.asked = append(m.asked, step)
		return
	}
	if len(m.asked) == 0 {
		m.rests()
	}
}

// watch keeps when a lost message may be sent again.
func (m *turnModel) watch(seen core.TurnSeen) {
	if !seen.Idle {
		m.idleSince = time.Time{}
	} else if m.idleSince.IsZero() || m.now.Sub(m.lastSeen) >= turnLease {
		m.idleSince = m.now
	}
	m.lastSeen = m.now
	if seen.Kind == core.SeenSettled {
		for id, s := range m.sends {
			s.settled = s.settled || m.turn > s.turn
			m.sends[id] = s
		}
	}
}

// rests checks a coordinator that waits: what nothing was sent of, is held by nobody
// where nothing may go.
func (m *turnModel) rests() {
	if m.faulty || m.lies || m.idle && !m.held && !m.closed {
		return
	}
	for _, i := range m.store.intents {
		if _, sent := m.sends[i.IntentID]; i.live(m.now) && (!sent || m.closed) {
			m.Fatalf("the turn of %s is held over a turn", i.RunID)
		}
	}
}

// answer does the first step that is awaited, and tells what came of it.
func (m *turnModel) answer() {
	step := m.asked[0]
	m.asked, m.told = m.asked[1:], append(m.told, step)
	seen := core.TurnSeen{Step: step.Kind, Kind: core.SeenDone}
	switch {
	case step.Kind == core.StepLook:
		seen.Kind = core.SeenLooked
		for _, e := range m.shown {
			if e.intent == step.IntentID {
				seen.Found = e.customType
			}
		}
	case step.Op != "":
		seen.Kind = core.SeenAnswered
		if seen.Answer, seen.Error = m.store.call(step.Op, step.Request); seen.Error != nil {
			seen.Kind = core.SeenRefused
		}
	}
	if step.Kind == core.StepSend && seen.Kind != core.SeenRefused {
		seen.Answer, seen.Kind = nil, m.send(step)
	}
	if m.lies && m.take(3) == 0 {
		seen.Kind = turnModelKinds[m.take(len(turnModelKinds))]
		seen.Answer = json.RawMessage([]string{``, `null`, `{}`, `[]`, `[{}]`, `"text"`, `{"intentId":"run-1-0"}`, `{`}[m.take(8)])
	}
	m.see(seen, false)
}

var turnModelKinds = []core.TurnSeenKind{
	core.SeenAnswered, core.SeenRefused, core.SeenLooked, core.SeenSent, core.SeenSendFailed, core.SeenDone, core.SeenPoll, "",
}

// send checks what is sent, and takes it as a session does.
func (m *turnModel) send(step core.TurnStep) core.TurnSeenKind {
	e := turnModelEntry{step.IntentID, core.TypeDeferredTurn}
	if step.MessageID != "" {
		e.customType = core.TypeAgentStep
	}
	may := step.IntentID == "" || m.idle && !m.held && !m.closed // which a host looks at again
	if !may || m.aborting || m.take(8) == 7 {
		return core.SeenSendFailed
	}
	if step.IntentID != "" {
		last, sent := m.sends[step.IntentID]
		since := m.idleSince
		if last.at.After(since) {
			since = last.at
		}
		if sent && !m.lies && !last.settled && (m.idleSince.IsZero() || m.now.Sub(since) < turnLease) {
			m.Fatalf("a message of %s goes twice within %v", step.RunID, m.now.Sub(since))
		}
		m.sends[step.IntentID] = turnModelSend{at: m.now, turn: m.turn}
	}
	if step.MessageID != "" {
		m.natural[step.MessageID]++
	}
	if m.take(4) < 3 || step.IntentID == "" {
		m.accepted = append(m.accepted, e) // else it is lost
	}
	return core.SeenSent
}

// show shows what was accepted, which starts a turn.
func (m *turnModel) show() {
	for _, e := range m.accepted {
		m.shown = append(m.shown, e)
		if m.idle {
			m.idle = false
			m.turn++
		}
		n := 0
		for _, other := range m.shown {
			if other.intent != "" && other.intent == e.intent {
				n++
			}
		}
		if n > 1 && !m.lies {
			m.Fatalf("%d messages name one intent", n)
		}
	}
	m.accepted = nil
}

// quiet lets all of it come to rest: what is owed arrives, and what was posted went.
func (m *turnModel) quiet() {
	for len(m.asked) > 0 {
		m.answer()
	}
	if m.closed || m.lies {
		return
	}
	m.held, m.faulty = false, false
	for range 40 * (len(m.natural) + len(m.store.intents) + 1) {
		m.pass(int(turnInterval / time.Second))
		seen := core.TurnSeen{Kind: core.SeenPoll}
		if m.show(); !m.idle {
			seen.Kind, m.idle, m.aborting = core.SeenSettled, true, false
		}
		m.see(seen, true)
		for len(m.asked) > 0 {
			m.answer()
		}
		if len(m.left()) == 0 {
			return
		}
	}
	m.Errorf("never delivered: %q", m.left())
}

// left is what is owed and was not delivered, and what was posted and did not go.
func (m *turnModel) left() (left []string) {
	for _, i := range m.store.intents {
		if i.EligibleAt != nil && i.Resolution == nil {
			left = append(left, "the turn "+i.IntentID)
		}
	}
	for id, n := range m.natural {
		if n == 0 {
			left = append(left, "message "+id)
		}
	}
	return left
}
