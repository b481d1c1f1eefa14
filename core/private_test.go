package core_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
)

func TestInputHider(t *testing.T) {
	input := `{"list":["first secret","x"],"note":"line one\nline two \"quoted\"","pin":91234,"who":"world"}`
	hide := core.InputHider([]byte(input))
	for text, want := range map[string]string{
		"bad input " + input:                     "bad input [input]",
		"cannot handle first secret today":       "cannot handle [input] today",
		"at line one":                            "at [input]",
		`at line one\nline two \"quoted\"`:       "at [input]",
		"PIN 91234 is wrong":                     "PIN [input] is wrong",
		"hello world, x marks":                   "hello world, x marks",
		"scope must be a non-empty string":       "scope must be a non-empty string",
		"first secret and first secret":          "[input] and [input]",
		"the first secretary":                    "the [input]ary",
		"the list has line two \"quoted\" in it": "the list has [input] in it",
	} {
		if got := hide(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	for _, none := range []string{"", "null", "{}", "not json", `"short"`} {
		if got := core.InputHider([]byte(none))("a plain error"); got != "a plain error" {
			t.Errorf("input %q: %q", none, got)
		}
	}
}

// An error that quotes the input is stored without it.
func TestFailureIsStoredWithoutTheInput(t *testing.T) {
	quoted := object{"errorCode": "activation_failed", "errorMessage": "cannot handle summarise ACME merger memo for 91234"}
	for name, fail := range map[string]func(*fixture){
		"failPreparedRun": func(f *fixture) { f.ok("failPreparedRun", held("run", "tok").with(quoted)) },
		"startFailed": func(f *fixture) {
			f.ok("recoverExpiredStartingRun", recovery("run", "s", object{
				"kind": "startFailed", "code": quoted["errorCode"], "message": quoted["errorMessage"],
			}).with(object{"expectedClaimToken": "tok"}))
		},
		"terminal": func(f *fixture) {
			f.at(time.Hour)
			f.ok("recoverExpiredStartingRun", recovery("run", "s", object{
				"kind": "terminal", "status": "failed", "message": quoted["errorMessage"],
			}).with(object{"expectedClaimToken": "tok"}))
		},
	} {
		f := open(t)
		f.ok("reservePreparedRun", start("run", "s").with(object{"input": object{"prompt": "summarise ACME merger memo", "salary": 91234}}))
		f.ok("claimPreparedRun", claim("run", "s", "tok"))
		fail(f)
		for _, line := range f.dump() {
			if strings.Contains(line, "ACME") || strings.Contains(line, "91234") {
				t.Errorf("%s: stored %s", name, line)
			}
		}
	}
}

// A longer text is hidden in part too, in every form that it may be quoted in.
func TestInputHiderFindsParts(t *testing.T) {
	long := strings.Repeat("klmn00171 opqr00172 ", 5000)
	for name, c := range map[string]struct{ input, said string }{
		"cut":         {`"` + long + `"`, "cannot parse " + long[:70_000]},
		"middle":      {`{"q":"my very private long sentence about a merger"}`, "near: private long sentence abo..."},
		"as JSON":     {`{"q":"say \"hi\" <b>to my wife</b>"}`, `near: say \"hi\" <b>to my wife</b>`},
		"as ASCII":    {`{"q":"Grüße an Frau Müller"}`, `near: Gr\u00fc\u00dfe an Frau M\u00fcller`},
		"key":         {`{"customers":{"alice.private@example.com":{}}}`, "unknown customer alice.private@example.com"},
		"overlapping": {`{"a":"the hidden-s","b":"hidden-secret-token"}`, "not the hidden-secret-token"},
		"repeated":    {`"` + strings.Repeat("a", 1_000_000) + `"`, strings.Repeat("a", 999_999) + "b"},
	} {
		got := core.InputHider([]byte(c.input))(c.said)
		for _, private := range []string{"klmn00171", "private long", "wife", "u00fcller", "alice", "secret-token", "aaaa"} {
			if strings.Contains(got, private) {
				t.Errorf("%s: %.200q", name, got)
			}
		}
		if !strings.Contains(got, "[input]") {
			t.Errorf("%s: nothing was hidden in %.200q", name, got)
		}
	}
	// The name of a field stays: an error has to name it.
	if got := core.InputHider([]byte(`{"scopeName":"x"}`))("scopeName must be set"); got != "scopeName must be set" {
		t.Errorf("have %q", got)
	}
}
