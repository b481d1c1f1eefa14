package strictjson

import (
	"bytes"
	"encoding/json"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// reference returns the reasons to refuse a text that encoding/json accepts,
// found by other means than the scanner's. There are none if Check must
// accept it.
func reference(text []byte) map[string]bool {
	reasons := map[string]bool{}
	if !utf8.Valid(text) {
		reasons[reasonUTF8] = true
	}
	if hasLoneSurrogate(text) {
		reasons[reasonSurrogate] = true
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	referenceValue(dec, 0, reasons)
	return reasons
}

func referenceValue(dec *json.Decoder, depth int, reasons map[string]bool) {
	token, err := dec.Token()
	if err != nil {
		panic("the text is not valid JSON: " + err.Error())
	}
	switch token := token.(type) {
	case json.Number:
		if reason := referenceNumber(string(token)); reason != "" {
			reasons[reason] = true
		}
	case json.Delim:
		if depth == MaxDepth {
			reasons[reasonDepth] = true
		}
		referenceItems(dec, depth, token == '{', reasons)
	}
}

func referenceItems(dec *json.Decoder, depth int, object bool, reasons map[string]bool) {
	keys := map[string]bool{}
	for dec.More() {
		if object {
			key, _ := dec.Token()
			if keys[key.(string)] {
				reasons[reasonDuplicate] = true
			}
			keys[key.(string)] = true
		}
		referenceValue(dec, depth+1, reasons)
	}
	dec.Token()
}

func referenceNumber(literal string) string {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(literal), "e")
	if strings.Trim(mantissa, "-.0") == "" {
		return ""
	}
	if e, err := strconv.Atoi(exponent); exponent != "" && (err != nil || e <= -10000 || e >= 10000) {
		if exponent[0] == '-' {
			return reasonTooSmall
		}
		return reasonTooLarge
	}
	exact, _ := new(big.Rat).SetString(literal)
	f, _ := exact.Float64()
	switch double := new(big.Rat).SetFloat64(f); {
	case double == nil:
		return reasonTooLarge
	case f == 0:
		return reasonTooSmall
	case strings.ContainsAny(literal, ".eE") || double.Cmp(exact) == 0:
		return ""
	}
	// encoding/json writes floats as ECMAScript does.
	if shortest, _ := json.Marshal(f); string(shortest) == literal {
		return ""
	}
	return reasonInexact
}

var escapes = regexp.MustCompile(
	`\\(?:[^u]|u[dD][89abAB]..\\u[dD][c-fC-F]..|u....)`)

func hasLoneSurrogate(text []byte) bool {
	for _, escape := range escapes.FindAll(text, -1) {
		if len(escape) != 6 {
			continue
		}
		unit, _ := strconv.ParseUint(string(escape[2:]), 16, 16)
		if unit >= 0xd800 && unit <= 0xdfff {
			return true
		}
	}
	return false
}
