package core

import (
	"encoding/json"
	"strconv"
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
	MaxList         = 100              // rows of one list
	DefaultLease    = 30 * time.Second // of a claim
	MaxLease        = time.Hour
)

// rule checks one field of a request and says what is wrong with it, or "".
type rule func(value any) string

// rules are what `check` tags name.
var rules = map[string]rule{
	"key":     checkKey,
	"runid":   checkRunID,
	"ref":     checkSourceRef,
	"detail":  checkDetail,
	"lease":   checkRange(1, int64(MaxLease/time.Millisecond)),
	"limit":   checkRange(1, MaxList),
	"seq":     checkRange(0, 1<<53),
	"flag":    func(any) string { return "" },
	"input":   checkJSON(MaxInputBytes),
	"source":  checkSource,
	"options": checkObject(MaxJSONBytes),
	"payload": checkObject(MaxPayloadBytes),
	"status":  oneOf(Statuses),
	"launch":  oneOf(LaunchFailures),
	"failure": oneOf(RunFailures),
	"anycode": oneOf(append(append([]FailureCode{}, LaunchFailures...), RunFailures...)),
	"outcome": oneOf([]Status{Done, Failed}),
	"ended":   oneOf([]Status{Done, Failed, Cancelled}),
	"event":   oneOf(hostEvents),
	"origin":  oneOf([]Origin{OriginUser, OriginAgent}),
	"finding": oneOf(FindingKinds),
}

func checkKey(value any) string {
	key := value.(string)
	units := strictjson.UTF16Len(key)
	switch {
	case units < 1 || units > MaxKeyUnits:
		return "must be 1 to 512 UTF-16 code units long"
	case !utf8.ValidString(key):
		return "must be valid UTF-8"
	case strings.ContainsFunc(key, isControl):
		return "must not contain control characters"
	}
	return ""
}

func isControl(r rune) bool { return r < 0x20 || (r >= 0x7f && r < 0xa0) }

func checkRunID(value any) string {
	id := value.(string)
	ok := len(id) >= 1 && len(id) <= MaxRunIDBytes && isAlnum(id[0])
	for i := 1; ok && i < len(id); i++ {
		ok = isAlnum(id[i]) || strings.IndexByte("._-", id[i]) >= 0
	}
	if !ok {
		return "must be 1 to 200 letters, digits, '.', '_' or '-', and start with a letter or digit"
	}
	return ""
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// checkSourceRef refuses user info, which would store a credential.
func checkSourceRef(value any) string {
	if reason := checkKey(value); reason != "" {
		return reason
	}
	if safetext.HasUserInfo(value.(string)) {
		return "must not carry user info in a URL"
	}
	return ""
}

// checkDetail bounds the raw text of an error; it is made safe before it is stored.
func checkDetail(value any) string {
	if len(value.(string)) > MaxDetailBytes {
		return "must be at most 1 MiB"
	}
	return ""
}

func checkRange(low, high int64) rule {
	return func(value any) string {
		if n := value.(int64); n < low || n > high {
			return "must be from " + itoa(low) + " to " + itoa(high)
		}
		return ""
	}
}

// checkJSON bounds a text that is canonical already.
func checkJSON(max int) rule {
	return func(value any) string {
		if len(value.(json.RawMessage)) > max {
			return "must be at most " + itoa(int64(max)) + " bytes of canonical JSON"
		}
		return ""
	}
}

func checkSource(value any) string {
	raw := value.(json.RawMessage)
	if safetext.HasUserInfo(string(raw)) {
		return "must not carry user info in a URL"
	}
	return checkJSON(MaxJSONBytes)(raw)
}

func checkObject(max int) rule {
	return func(value any) string {
		raw := value.(json.RawMessage)
		if strictjson.KindOf(raw) != strictjson.KindObject {
			return "must be an object"
		}
		return checkJSON(max)(raw)
	}
}

func oneOf[T ~string](values []T) rule {
	return func(value any) string {
		names := make([]string, len(values))
		for i, v := range values {
			if string(v) == value.(string) {
				return ""
			}
			names[i] = string(v)
		}
		return "must be one of " + strings.Join(names, ", ")
	}
}
