package hosttest

import (
	"errors"
	"slices"
)

// Entry is a message in a session.
type Entry struct {
	CustomType string `json:"customType"`
	Content    string `json:"content"`
	// TurnIntentID and MessageID, the host's name of a natural message, are in the
	// details of a message.
	TurnIntentID string `json:"turnIntentId,omitempty"`
	MessageID    string `json:"messageId,omitempty"`
	// DeliverAs and TriggerTurn are the options that it was sent with.
	DeliverAs   string `json:"deliverAs,omitempty"`
	TriggerTurn bool   `json:"triggerTurn,omitempty"`
}

// Branch is what is kept of a session: all of its entries, on every path, also those
// that a compaction folded away. Processes of the same session share it.
type Branch struct {
	entries []Entry
	folded  int // the first entries are no longer in the model's context
	Journal Journal
}

// Journal keeps the entries somewhere else, so that they outlive the process.
type Journal interface {
	Append(Entry) error
	Entries() ([]Entry, error)
}

// Entries are all of them.
func (b *Branch) Entries() ([]Entry, error) {
	if b.Journal != nil {
		return b.Journal.Entries()
	}
	return slices.Clone(b.entries), nil
}

// Context is what the model still sees.
func (b *Branch) Context() []Entry { return b.entries[b.folded:] }

func (b *Branch) append(e Entry) error {
	if b.Journal != nil {
		return b.Journal.Append(e)
	}
	b.entries = append(b.entries, e)
	return nil
}

// Appending says what becomes of a message that a session accepts.
type Appending string

const (
	// AppendNow shows it when Send returns.
	AppendNow Appending = "now"
	// AppendLate shows it when its turn starts.
	AppendLate Appending = "late"
	// AppendNever loses it without a word.
	AppendNever Appending = "never"
)

// Session is one process's hold of a session. It starts idle.
type Session struct {
	ID     string
	Branch *Branch
	// Appending is what becomes of the next messages, SendError what Send answers;
	// the zero values append now and answer nothing.
	Appending Appending
	SendError error
	// Question says that a question to the user is open, Pending that messages wait;
	// Held that the user holds a workflow.
	Question, Pending, Held bool

	queue   []Entry
	turns   int64
	active  bool
	aborted bool
	sends   int
}

// NewSession is a session that nothing was said in.
func NewSession(id string) *Session { return &Session{ID: id, Branch: &Branch{}} }

// Restart is the same session in a new process: what the old one had queued is
// gone.
func (s *Session) Restart() *Session { return &Session{ID: s.ID, Branch: s.Branch} }

// Fork is another session that begins with what this one holds.
func (s *Session) Fork(id string) *Session {
	entries, _ := s.Branch.Entries()
	return &Session{ID: id, Branch: &Branch{entries: entries}}
}

// Compact folds all entries away: the model no longer sees them.
func (s *Session) Compact() { s.Branch.folded = len(s.Branch.entries) }

// Lose forgets what was accepted and is not shown yet.
func (s *Session) Lose() { s.queue = nil }

// StartTurn starts a turn, as a user's message does.
func (s *Session) StartTurn() {
	s.turns++
	s.active = true
}

// Flush shows what was accepted, and starts its turn where it asks for one.
func (s *Session) Flush() error {
	queued := s.queue
	s.queue = nil
	for _, e := range queued {
		if err := s.show(e); err != nil {
			return err
		}
	}
	return nil
}

func (s *Session) show(e Entry) error {
	if err := s.Branch.append(e); err != nil {
		return err
	}
	if e.TriggerTurn && !s.active {
		s.StartTurn()
	}
	return nil
}

// Settle ends the turn for good.
func (s *Session) Settle() { s.active, s.aborted = false, false }

// Abort stops the turn, which settles later.
func (s *Session) Abort() { s.aborted = true }

// Idle says that no turn is active, no question open and no message waiting.
func (s *Session) Idle() bool { return !s.active && !s.Question && !s.Pending }

// Turns counts the turns that have started in this process.
func (s *Session) Turns() int64 { return s.turns }

// Sends counts the messages that this process sent, shown or not.
func (s *Session) Sends() int { return s.sends }

// Send takes a message.
func (s *Session) Send(e Entry) error {
	if s.SendError != nil {
		return s.SendError
	}
	if s.aborted {
		return errors.New("the turn is being aborted")
	}
	s.sends++
	switch s.Appending {
	case AppendLate:
		s.queue = append(s.queue, e)
		return nil
	case AppendNever:
		return nil
	}
	return s.show(e)
}

// Find is the custom type of the entry that names an intent, or "".
func (s *Session) Find(intentID string) (string, error) {
	e, err := s.find(intentID)
	return e.CustomType, err
}

func (s *Session) find(intentID string) (Entry, error) {
	entries, err := s.Branch.Entries()
	for _, e := range entries {
		if e.TurnIntentID == intentID {
			return e, err
		}
	}
	return Entry{}, err
}

// Messages counts the entries that name an intent.
func (s *Session) Messages(intentID string) (n int) {
	entries, _ := s.Branch.Entries()
	for _, e := range entries {
		if e.TurnIntentID == intentID {
			n++
		}
	}
	return n
}
