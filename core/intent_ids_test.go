package core_test

import (
	"encoding/json"
	"math/rand"
	"os"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/core"
)

// turnVector is an identity as a host in use computes it.
type turnVector struct {
	Input struct {
		RunID           string  `json:"runId"`
		Cause           string  `json:"cause"`
		NodeID          *string `json:"nodeId"`
		AttemptID       *string `json:"attemptId"`
		Source          *string `json:"source"`
		TargetSessionID string  `json:"targetSessionId"`
		WorkflowName    string  `json:"workflowName"`
	} `json:"input"`
	SourceEventID string            `json:"sourceEventId"`
	IntentID      string            `json:"intentId"`
	MessageIDs    map[string]string `json:"messageIds"`
}

func turnVectors(t *testing.T) []turnVector {
	t.Helper()
	text, err := os.ReadFile("testdata/turn-intent-ids.json")
	must(t, err)
	vectors := decode[[]turnVector](t, text)
	if len(vectors) != 20 {
		t.Fatalf("have %d vectors", len(vectors))
	}
	return vectors
}

func known(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func (v turnVector) source() core.TurnSource {
	in := v.Input
	return core.TurnSource{
		SessionID: in.TargetSessionID, RunID: in.RunID, Source: known(in.Source), NodeID: known(in.NodeID),
		AttemptID: known(in.AttemptID), Cause: core.Cause(in.Cause),
	}
}

func TestIntentIDsAreNotThoseOfHostsInUse(t *testing.T) {
	for _, v := range turnVectors(t) {
		equal(t, "source event of "+v.Input.RunID, v.source().SourceEventID(), v.SourceEventID)
		equal(t, "intent of "+v.Input.RunID, v.source().IntentID(), v.IntentID)
		for _, resolution := range core.Resolutions {
			equal(t, "message of "+v.Input.RunID, core.MessageID(v.IntentID, resolution), v.MessageIDs[string(resolution)])
		}
	}
}

// The operations store the same ids as the formulas give, null fields being absent.
func TestStoredIntentIDsAreNotThoseOfHostsInUse(t *testing.T) {
	for _, v := range turnVectors(t) {
		for resolution, messageID := range v.MessageIDs {
			f := open(t)
			in := v.Input
			intent := f.ok("ensureWorkflowTurnIntent", object{
				"runId": in.RunID, "workflowRef": in.WorkflowName, "targetSessionId": in.TargetSessionID, "cause": in.Cause,
				"source": in.Source, "nodeId": in.NodeID, "attemptId": in.AttemptID,
				"fallbackFacts": turnFacts(object{"runId": in.RunID, "workflowName": in.WorkflowName, "cause": in.Cause}),
			})
			f.wants(in.RunID, intent, object{"intentId": v.IntentID, "sourceEventId": v.SourceEventID})
			f.ok("claimWorkflowTurnIntentForRun", object{"runId": in.RunID, "sessionId": in.TargetSessionID, "claimToken": "tok"})
			f.ok("resolveWorkflowTurnIntent", resolveTurn(v.IntentID, "tok", resolution))
			equal(t, "message", f.intent(v.IntentID).text("resolution_message_id"), messageID)
		}
	}
}

// A given source event is digested instead of the computed one.
func TestGivenSourceEventIsLeftOutOfTheIntentID(t *testing.T) {
	f := open(t)
	intent := f.ok("ensureWorkflowTurnIntent", owed(object{"sourceEventId": "turn-source:given", "nodeId": "step", "attemptId": "1"}))
	f.wants("intent", intent, object{
		"sourceEventId": "turn-source:given",
		"intentId":      turnID("deferred-turn:", "own", "run", "turn-source:given", "step", "1", "failed"),
	})
}

// awkward are texts that JSON writers write in different ways.
var awkward = []string{
	`"`, `\`, `\"`, `\\`, `a"b\c`, "<&>", "<script>", "\u2028", "\u2029", "\u0000", "\u0001", "\b\f\n\r\t", "\u001f", "\u007f", "\u0080",
	"\U0001F600", "\U0010FFFF", "\ufffd", "\ufeff", "é", "e\u0301", "/", `\u0041`, "','", `","`, " ", "$none", "null",
}

func TestIntentIDOfAnAwkwardTextIsNotThatOfJavaScript(t *testing.T) {
	base := turnSource{"session", "run", "agent-step-abort", "step", "attempt", "failed"}
	for _, text := range awkward {
		for at := range 5 {
			s := base
			*[]*string{&s.session, &s.run, &s.source, &s.node, &s.attempt}[at] = text
			sameIDs(t, s)
		}
		equal(t, "message of "+text, core.MessageID(text, core.ByFallback), turnID("turn-message:", text, "fallback"))
	}
}

// sameIDs compares the ids with those of the formula that the test writes itself.
func sameIDs(t *testing.T, s turnSource) {
	t.Helper()
	made := core.TurnSource{SessionID: s.session, RunID: s.run, Source: s.source, NodeID: s.node, AttemptID: s.attempt, Cause: core.Cause(s.cause)}
	if made.SourceEventID() != s.eventID() || made.IntentID() != s.intentID() {
		t.Errorf("%q: have %s, %s", s, made.SourceEventID(), made.IntentID())
	}
	if again := made; again.IntentID() != made.IntentID() {
		t.Errorf("%q: the same facts have two ids", s)
	}
	for _, id := range []string{made.SourceEventID(), made.IntentID()} {
		if len(id) > 512 {
			t.Errorf("%d characters of an id are too many", len(id))
		}
	}
}

func TestIntentIDOfAnyTextIsNotThatOfJavaScript(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	text := func() string {
		var out strings.Builder
		for range random.Intn(6) {
			out.WriteString(awkward[random.Intn(len(awkward))])
		}
		return out.String()
	}
	for range 3000 {
		sameIDs(t, turnSource{text(), text(), text(), text(), text(), "timedOut"})
	}
	// The writer of this test agrees with another one where both write the same.
	for _, text := range []string{"plain", `a"b\c`, "\n\t", "é\U0001F600"} {
		other, err := json.Marshal([]string{text, text})
		must(t, err)
		equal(t, "text", stringify(text, text), string(other))
	}
}

// One other fact is another turn; the session is no part of the source event.
func TestOneChangedFactKeepsTheIntentID(t *testing.T) {
	base := core.TurnSource{SessionID: "s", RunID: "r", Source: "terminal", NodeID: "n", AttemptID: "a", Cause: core.CauseFailed}
	seen := map[string]string{base.IntentID(): "the base"}
	for name, change := range map[string]func(*core.TurnSource){
		"session":           func(s *core.TurnSource) { s.SessionID = "s2" },
		"run":               func(s *core.TurnSource) { s.RunID = "r2" },
		"source":            func(s *core.TurnSource) { s.Source = "agent-step-abort" },
		"no source":         func(s *core.TurnSource) { s.Source = "" },
		"node":              func(s *core.TurnSource) { s.NodeID = "n2" },
		"no node":           func(s *core.TurnSource) { s.NodeID = "" },
		"attempt":           func(s *core.TurnSource) { s.AttemptID = "a2" },
		"no attempt":        func(s *core.TurnSource) { s.AttemptID = "" },
		"cause":             func(s *core.TurnSource) { s.Cause = core.CauseTimedOut },
		"case":              func(s *core.TurnSource) { s.NodeID = "N" },
		"blank":             func(s *core.TurnSource) { s.NodeID = "n " },
		"node is attempt":   func(s *core.TurnSource) { s.NodeID, s.AttemptID = "a", "n" },
		"shifted":           func(s *core.TurnSource) { s.NodeID, s.AttemptID = "na", "" },
		"quoted into one":   func(s *core.TurnSource) { s.NodeID, s.AttemptID = `n","a`, "" },
		"run is session":    func(s *core.TurnSource) { s.RunID, s.SessionID = "s", "r" },
		"source is session": func(s *core.TurnSource) { s.Source, s.SessionID = "s", "terminal" },
	} {
		s := base
		change(&s)
		if other := seen[s.IntentID()]; other != "" {
			t.Errorf("%s has the id of %s", name, other)
		}
		seen[s.IntentID()] = name
		if moved := s.SourceEventID() != base.SourceEventID(); moved != (name != "session") {
			t.Errorf("%s: the source event is another one: %t", name, moved)
		}
	}
	if core.MessageID("i", core.ByFallback) == core.MessageID("i", core.ByPresentation) || core.MessageID("i", core.ByFallback) == core.MessageID("j", core.ByFallback) {
		t.Error("two messages have one id")
	}
}

// A new process computes what an old one stored.
func TestIntentIDDependsOnTheProcess(t *testing.T) {
	var config core.Config
	f := openTurns(t, func(c *core.Config) { config = *c })
	id := f.owe(object{"nodeId": "step"})
	f.store.Close()
	f.store = core.New(config)
	f.at(lease)
	equal(t, "id after a restart", f.owe(object{"nodeId": "step"}), id)
	f.onlyIntent()
}
