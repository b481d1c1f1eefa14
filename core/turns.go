package core

import (
	"context"
	"encoding/json"
	"time"
)

// The turn coordinator says what a host has to do next so that each owed turn
// reaches its session once. It is pure: the host passes its state and one thing that
// it saw, and gets the state back with one step. A host does the step and says what
// came of it, until the step is to wait. See docs/turns.md#delivery.

// TurnSeenKind names what a host saw.
type TurnSeenKind string

const (
	SeenSessionStart TurnSeenKind = "sessionStart"
	SeenSettled      TurnSeenKind = "settled" // a turn has ended for good
	SeenPoll         TurnSeenKind = "poll"    // now and then, every 3 s by default
	SeenActivity     TurnSeenKind = "activity"
	SeenNatural      TurnSeenKind = "natural"   // a workflow prompt or presentation wants to go
	SeenWithdrawn    TurnSeenKind = "withdrawn" // those of a run that have not gone shall not go
	SeenAbort        TurnSeenKind = "abort"     // a turn is about to be aborted
	SeenEnded        TurnSeenKind = "ended"     // a run ended, and that was stored or not
	SeenShutdown     TurnSeenKind = "shutdown"
	// The results of a step.
	SeenAnswered   TurnSeenKind = "answered"
	SeenRefused    TurnSeenKind = "refused"
	SeenLooked     TurnSeenKind = "looked"
	SeenSent       TurnSeenKind = "sent"
	SeenSendFailed TurnSeenKind = "sendFailed"
	SeenDone       TurnSeenKind = "done"
)

var turnSeenKinds = []TurnSeenKind{
	SeenSessionStart, SeenSettled, SeenPoll, SeenActivity, SeenNatural, SeenWithdrawn, SeenAbort, SeenEnded, SeenShutdown,
	SeenAnswered, SeenRefused, SeenLooked, SeenSent, SeenSendFailed, SeenDone,
}

// TurnSeen is one thing that a host saw, and how its session stands.
type TurnSeen struct {
	Kind TurnSeenKind `json:"kind" check:"turnSeen"`
	// Step is the kind of the step that this is the result of.
	Step TurnStepKind `json:"step,omitempty" check:"turnStep"`
	// Idle says that no turn is active and no message is pending, looked at now. Held
	// says that the user holds a workflow.
	Idle bool `json:"idle,omitempty" check:"flag"`
	Held bool `json:"held,omitempty" check:"flag"`
	// Turn counts the turns that have started in the session since its host started.
	Turn int64 `json:"turn,omitempty" check:"seq"`
	// MessageID is the host's name of a natural message, also of one that was found;
	// Resolution is its path and RunID its run, which is also that of `ended`.
	MessageID  string     `json:"messageId,omitempty" check:"key"`
	Resolution Resolution `json:"resolution,omitempty" check:"resolution"`
	RunID      string     `json:"runId,omitempty" check:"known"`
	// Stored says of `ended` that it was committed.
	Stored bool `json:"stored,omitempty" check:"flag"`
	// Note is the event of an abort.
	Note *NoteTurnRequest `json:"note,omitempty"`
	// Found is the custom type of the message in the session that names the intent,
	// on any branch; absent, there is none.
	Found string `json:"found,omitempty" check:"key"`
	// Answer and Error are those of the op of the step.
	Answer json.RawMessage `json:"answer,omitempty" check:"answer"`
	Error  json.RawMessage `json:"error,omitempty" check:"answer"`
}

// TurnStepKind names what a host does next.
type TurnStepKind string

const (
	StepWait    TurnStepKind = "wait"    // nothing, until the host sees something
	StepNote    TurnStepKind = "note"    // call the op, then go on whatever it says
	StepAbort   TurnStepKind = "abort"   // abort the turn; the note is in the step
	StepReport  TurnStepKind = "report"  // show the user that a turn may be lost
	StepRecord  TurnStepKind = "record"  // call the op
	StepSweep   TurnStepKind = "sweep"   // call the op
	StepFind    TurnStepKind = "find"    // call the op
	StepClaim   TurnStepKind = "claim"   // call the op
	StepLook    TurnStepKind = "look"    // search the whole session for the intent id
	StepSend    TurnStepKind = "send"    // where there is an op call it, and at once, if it answered, send
	StepRenew   TurnStepKind = "renew"   // call the op
	StepResolve TurnStepKind = "resolve" // call the op
	StepRelease TurnStepKind = "release" // call the op
)

var turnStepKinds = []TurnStepKind{
	StepWait, StepNote, StepAbort, StepReport, StepRecord, StepSweep, StepFind, StepClaim, StepLook, StepSend, StepRenew, StepResolve, StepRelease,
}

// TurnStep is what a host does next.
type TurnStep struct {
	Kind TurnStepKind `json:"kind"`
	// Op and Request are a call of the op table; its result is seen as `answered` or
	// `refused`.
	Op      string          `json:"op,omitempty"`
	Request json.RawMessage `json:"request,omitempty"`
	// IntentID is searched for by `look`, and named in the details of what `send`
	// sends; absent there, the message goes as it is.
	IntentID string `json:"intentId,omitempty"`
	// MessageID is the natural message to send; absent, Message is a fallback.
	MessageID string   `json:"messageId,omitempty"`
	Message   *Message `json:"message,omitempty"`
	// Stored and GuaranteeLost are an abort's answer: whether the owed turn is stored
	// yet, and whether it was lost for good.
	Stored        bool   `json:"stored,omitempty"`
	GuaranteeLost bool   `json:"guaranteeLost,omitempty"`
	RunID         string `json:"runId,omitempty"`
}

// TurnState is what a host keeps of a session's deliveries between two steps. Its
// zero value, with a session, is a start.
type TurnState struct {
	SessionID string `json:"sessionId"`
	LeaseMS   int64  `json:"leaseMs,omitempty"`
	// Asked is the step whose result is awaited.
	Asked TurnStepKind `json:"asked,omitempty"`
	// Token and Open are of a claim whose outcome is open: it can be repeated.
	Token string    `json:"token,omitempty"`
	Open  *TurnStep `json:"open,omitempty"`
	// Asking is the natural message that the step is about; without one it is about the
	// delivery, or a fallback.
	Asking   string    `json:"asking,omitempty"`
	Delivery *delivery `json:"delivery,omitempty"`
	Outbox   []natural `json:"outbox,omitempty"`
	// Unconfirmed are sends that no session has shown yet, and LastSend the latest of
	// all: the next message waits for another idle boundary.
	Unconfirmed []send `json:"unconfirmed,omitempty"`
	LastSend    *send  `json:"lastSend,omitempty"`
	Abort       aborts `json:"abort"`
	Closed      bool   `json:"closed,omitempty"`
	LastMS      int64  `json:"lastMs,omitempty"`
	IdleSinceMS int64  `json:"idleSinceMs,omitempty"` // 0 is busy
	Pass        pass   `json:"pass"`
}

// pass is how the session stood when something outside was last seen, and what was
// done since.
type pass struct {
	Idle    bool  `json:"idle,omitempty"`
	Held    bool  `json:"held,omitempty"`
	Turn    int64 `json:"turn,omitempty"`
	Sync    bool  `json:"sync,omitempty"` // a fallback may go
	Swept   bool  `json:"swept,omitempty"`
	Looked  bool  `json:"looked,omitempty"`
	Blocked bool  `json:"blocked,omitempty"` // nothing more is claimed, or sent under a claim
	// Waiting are runs whose natural messages wait; Free is the message for whose run no
	// turn is owed.
	Waiting []string `json:"waiting,omitempty"`
	Free    string   `json:"free,omitempty"`
}

// delivery is the one intent that is being delivered.
type delivery struct {
	Intent    Intent     `json:"intent"` // with its claim token
	Natural   *natural   `json:"natural,omitempty"`
	Found     Resolution `json:"found,omitempty"`
	Own       bool       `json:"own,omitempty"` // what was found is its natural message
	RenewedMS int64      `json:"renewedMs"`
	Failed    bool       `json:"failed,omitempty"` // its send
}

// natural is a workflow prompt or presentation that waits to go.
type natural struct {
	MessageID  string     `json:"messageId"`
	Resolution Resolution `json:"resolution"`
	RunID      string     `json:"runId"`
	// IntentID is that under which it went, without being seen yet.
	IntentID string `json:"intentId,omitempty"`
	Looked   bool   `json:"looked,omitempty"` // for that one, in this pass
}

// send is when a message of an intent was sent.
type send struct {
	IntentID  string `json:"intentId"`
	MessageID string `json:"messageId,omitempty"` // of a natural message
	AtMS      int64  `json:"atMs"`
	Turn      int64  `json:"turn"`
	// Settled says that a turn that began later has ended.
	Settled bool `json:"settled,omitempty"`
}

// NextTurnRequest is what nextTurnStep takes.
type NextTurnRequest struct {
	// State is the one that the last step came with; {"sessionId":…} is a start.
	State json.RawMessage `json:"state" check:"turnState"`
	Seen  *TurnSeen       `json:"seen"`
}

// NextTurnResponse is the state to pass on, and what to do next.
type NextTurnResponse struct {
	State json.RawMessage `json:"state"`
	Step  TurnStep        `json:"step"`
}

// NextTurnStep is NextTurn for hosts in other languages: it touches no data, and
// takes clock and tokens from the store. See docs/turns.md#delivery.
func (s *Store) NextTurnStep(ctx context.Context, req NextTurnRequest) (NextTurnResponse, error) {
	if err := check(&req); err != nil {
		return NextTurnResponse{}, err
	}
	var state TurnState
	if err := decodeState(req.State, &state); err != nil {
		return NextTurnResponse{}, err
	}
	moment, err := s.Moment(ctx)
	if err != nil {
		return NextTurnResponse{}, err
	}
	step, err := state.Next(*req.Seen, moment)
	if err != nil {
		return NextTurnResponse{}, err
	}
	encoded, err := Encode(state)
	return NextTurnResponse{encoded, step}, err
}

// Moment is what a coordinator needs from outside.
type Moment struct {
	Now   time.Time
	Token string // a fresh one
}

// Moment is the store's clock, and a fresh token.
func (s *Store) Moment(ctx context.Context) (Moment, error) {
	token, err := s.random(16)
	return Moment{s.now(ctx), token}, err
}
