package core

// Status is the state of a run in the launch queue.
//
//	queued -> starting -> running -> done | failed | parked
//	starting -> queued    an expired claim with no run bundle
//	parked -> starting    an explicit resume
//	starting -> failed    the launch failed
//	queued, starting, running, parked -> cancelled
//
// See docs/state-machine.md.
type Status string

const (
	Queued    Status = "queued"
	Starting  Status = "starting"
	Running   Status = "running"
	Parked    Status = "parked"
	Done      Status = "done"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Statuses are all states, in the order of a run's life.
var Statuses = []Status{Queued, Starting, Running, Parked, Done, Failed, Cancelled}

// Terminal says whether no arrow leaves the state.
func (s Status) Terminal() bool { return s == Done || s == Failed || s == Cancelled }

// Reserves says whether a run in this state holds its session's reservation.
func (s Status) Reserves() bool { return s == Queued || s == Starting || s == Running }

// EventType names what happened to a run in its feed.
type EventType string

const (
	EventQueued           EventType = "queued"
	EventRequeued         EventType = "requeued"
	EventStarting         EventType = "starting"
	EventRunning          EventType = "running"
	EventParked           EventType = "parked"
	EventDone             EventType = "done"
	EventFailed           EventType = "failed"
	EventLaunchFailed     EventType = "launch_failed"
	EventCancelled        EventType = "cancelled"
	EventClaimTransferred EventType = "claim_transferred"
	EventClaimLost        EventType = "claim_lost"
	EventTurnIntentFailed EventType = "turn_intent_failed"
)

// hostEvents are the types that a host may record; the others state arrows and
// claim moves, and only those write them.
var hostEvents = []EventType{EventClaimLost, EventTurnIntentFailed}

// Arrow is one permitted transition and the event that it appends.
type Arrow struct {
	From, To Status
	Event    EventType
}

// Arrows are the twelve transitions; there are no others.
var Arrows = []Arrow{
	{Queued, Starting, EventStarting},
	{Queued, Cancelled, EventCancelled},
	{Starting, Running, EventRunning},
	{Starting, Failed, EventLaunchFailed},
	{Starting, Cancelled, EventCancelled},
	{Starting, Queued, EventRequeued},
	{Running, Parked, EventParked},
	{Running, Done, EventDone},
	{Running, Failed, EventFailed},
	{Running, Cancelled, EventCancelled},
	{Parked, Starting, EventStarting},
	{Parked, Cancelled, EventCancelled},
}

func arrowEvent(from, to Status) (EventType, bool) {
	for _, a := range Arrows {
		if a.From == from && a.To == to {
			return a.Event, true
		}
	}
	return "", false
}
