package core

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pi-workflows/wfcore/core/safetext"
	"github.com/pi-workflows/wfcore/core/strictjson"
)

// The limits of what is stored. See docs/contract.md#limits.
const (
	MaxKeyUnits     = 512              // a key, in UTF-16 code units
	MaxRunIDBytes   = 200              // a run id
	MaxNameInRunID  = 100              // the workflow's name within a run id
	MaxInputBytes   = 1 << 20          // private input, as canonical JSON
	MaxJSONBytes    = 64 << 10         // source and options, as canonical JSON
	MaxDetailBytes  = 1 << 20          // an error's detail, before it is made safe
	MaxPayloadBytes = 8 << 10          // a host's event payload, as canonical JSON
	MaxReasonUnits  = 8192             // the reason in facts, in UTF-16 code units
	MaxContentBytes = 64 << 10         // the content of a notification
	MaxStateBytes   = 4 << 20          // a coordinator's state
	MaxAnswerBytes  = 16 << 20         // an answer that a coordinator is shown
	MaxList         = 100              // rows of one list
	DefaultLease    = 30 * time.Second // of a claim
	MaxLease        = time.Hour
)

// rule is what a field of a request may hold.
type rule struct {
	says string // completes "must be"
	ok   func(value any) bool
}

// rules are what `check` tags name.
var rules = map[string]rule{
	"key":     {"1 to 512 UTF-16 code units without control characters", isKey},
	"runid":   {"1 to 200 letters, digits, '.', '_' or '-', the first a letter or digit", isRunID},
	"known":   {"1 to 512 UTF-16 code units", isKnown},
	"seen":    {"a text, as it was listed", func(v any) bool { return utf8.ValidString(v.(string)) }},
	"ref":     {"1 to 512 UTF-16 code units without control characters or a URL's user info", isSourceRef},
	"detail":  {"a text of at most 1 MiB", func(v any) bool { return len(v.(string)) <= MaxDetailBytes }},
	"lease":   inRange(1, int64(MaxLease/time.Millisecond)),
	"limit":   inRange(1, MaxList),
	"seq":     inRange(0, 1<<53),
	"flag":    {"true or false", func(any) bool { return true }},
	"input":   {"JSON of at most 1 MiB", maxJSON(MaxInputBytes)},
	"source":  {"JSON of at most 64 KiB without a URL's user info", isSource},
	"options": {"an object of at most 64 KiB", isObject(MaxJSONBytes)},
	"payload": {"an object of at most 8 KiB", isObject(MaxPayloadBytes)},
	"status":  oneOf(Statuses),
	"launch":  oneOf(LaunchFailures),
	"failure": oneOf(RunFailures),
	"anycode": oneOf(slices.Concat(LaunchFailures, RunFailures)),
	"outcome": oneOf([]Status{Done, Failed}),
	"ended":   oneOf([]Status{Done, Failed, Cancelled}),
	"event":   oneOf(hostEvents),
	"origin":  oneOf([]Origin{OriginUser, OriginAgent}),
	"finding": oneOf(FindingKinds),

	"cause":       oneOf(Causes),
	"interrupts":  oneOf(interruptions),
	"resolution":  oneOf(Resolutions),
	"intentState": oneOf([]IntentState{IntentPending, IntentEligible, IntentResolved}),
	"turnKind":    oneOf(TurnKinds),
	"facts":       {"an object of at most 64 KiB", isObject(MaxJSONBytes)},
	"reason":      {"at most 8,192 UTF-16 code units", func(v any) bool { return isReason(v.(string)) }},
	"turnSeen":    oneOf(turnSeenKinds),
	"turnStep":    oneOf(turnStepKinds),
	"launchSeen":  oneOf(launchSeenKinds),
	"launchStep":  oneOf(launchStepKinds),
	"engine":      oneOf([]EngineOutcome{EngineDone, EngineFailed, EngineWaiting, EnginePaused}),
	"turnState":   {`the state of the last answer; at first {"sessionId":...}`, isObject(MaxStateBytes)},
	"launchState": {`the state of the last answer; at first {"runnerId":...}, with a "sessionId" but for a detached host`, isObject(MaxStateBytes)},
	"answer":      {"JSON of at most 16 MiB", maxJSON(MaxAnswerBytes)},
	"index":       inRange(1, 1<<53),
	"skip":        inRange(0, 1<<53),
	"report":      oneOf([]NotificationKind{NotifyProgress, NotifyFinal}),
	"content":     {"a text of at most 64 KiB", func(v any) bool { return len(v.(string)) <= MaxContentBytes && utf8.ValidString(v.(string)) }},
}

// allows returns what is wrong with a value under a rule, or "".
func (r rule) allows(value any) string {
	if r.ok(value) {
		return ""
	}
	return "must be " + r.says
}

func isKey(value any) bool {
	key := value.(string)
	units := strictjson.UTF16Len(key)
	return units >= 1 && units <= MaxKeyUnits && utf8.ValidString(key) && !strings.ContainsFunc(key, isControl)
}

// isKnown takes what a list showed, also where another host made it.
func isKnown(value any) bool {
	known := value.(string)
	units := strictjson.UTF16Len(known)
	return units >= 1 && units <= MaxKeyUnits && utf8.ValidString(known)
}

func isControl(r rune) bool { return r < 0x20 || (r >= 0x7f && r < 0xa0) }

func isRunID(value any) bool {
	id := value.(string)
	if len(id) < 1 || len(id) > MaxRunIDBytes || !isAlnum(id[0]) {
		return false
	}
	return !strings.ContainsFunc(id, func(r rune) bool { return !isRunIDRune(r) })
}

func isRunIDRune(r rune) bool {
	return r < 0x80 && (isAlnum(byte(r)) || strings.ContainsRune("._-", r))
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// isSourceRef refuses user info, which would store a credential.
func isSourceRef(value any) bool { return isKey(value) && !safetext.HasUserInfo(value.(string)) }

func inRange(low, high int64) rule {
	return rule{fmt.Sprintf("from %d to %d", low, high), func(value any) bool {
		n := value.(int64)
		return n >= low && n <= high
	}}
}

// maxJSON bounds a text that is canonical already.
func maxJSON(bytes int) func(any) bool {
	return func(value any) bool { return len(value.(json.RawMessage)) <= bytes }
}

func isSource(value any) bool {
	return !safetext.HasUserInfo(string(value.(json.RawMessage))) && maxJSON(MaxJSONBytes)(value)
}

func isObject(bytes int) func(any) bool {
	return func(value any) bool {
		return strictjson.KindOf(value.(json.RawMessage)) == strictjson.KindObject && maxJSON(bytes)(value)
	}
}

func oneOf[T ~string](values []T) rule {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = string(v)
	}
	return rule{"one of " + strings.Join(names, ", "), func(value any) bool {
		return slices.Contains(names, value.(string))
	}}
}
