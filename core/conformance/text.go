package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// reference is what stands for something else in a request.
var reference = regexp.MustCompile(`"\$(x?)(-?\d+)((?:\.\w+)*)"`)

// text is what a step sends. It is built as text, which is as short in any language:
// a request is replaced in, and then gets its now at the end.
func (s *Step) text(now string, given []json.RawMessage) (text []byte, err error) {
	if s.Raw != nil {
		return []byte(*s.Raw), nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, s.Request); err != nil {
		return nil, err
	}
	body := reference.ReplaceAllFunc(compact.Bytes(), func(match []byte) []byte {
		value, notFound := stands(reference.FindSubmatch(match), given)
		if notFound != nil {
			err = fmt.Errorf("%s: %w", match, notFound)
		}
		return value
	})
	if !bytes.HasSuffix(body, []byte("}")) {
		return nil, fmt.Errorf("%s is no object: %w", body, err)
	}
	if body = body[:len(body)-1]; len(body) > 1 {
		body = append(body, ',')
	}
	return append(body, `"now":"`+now+`"}`...), err
}

// stands is what a reference stands for.
func stands(parts [][]byte, given []json.RawMessage) (json.RawMessage, error) {
	n, err := strconv.Atoi(string(parts[2]))
	if err != nil {
		return nil, err
	}
	if len(parts[1]) > 0 {
		return []byte(`"` + strings.Repeat("x", n) + `"`), nil
	}
	if n < 0 {
		n += len(given)
	}
	if n < 0 || n >= len(given) {
		return nil, fmt.Errorf("there is no such step before")
	}
	value := given[n]
	for _, name := range strings.Split(string(parts[3]), ".")[1:] {
		if value, err = member(value, name); err != nil {
			return nil, err
		}
	}
	return value, nil
}

func member(value json.RawMessage, name string) (json.RawMessage, error) {
	if at, err := strconv.Atoi(name); err == nil {
		var list []json.RawMessage
		if err := json.Unmarshal(value, &list); err != nil || at >= len(list) {
			return nil, fmt.Errorf("there is no element %d in %s", at, value)
		}
		return list[at], nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(value, &object); err != nil || object[name] == nil {
		return nil, fmt.Errorf("there is no %s in %s", name, value)
	}
	return object[name], nil
}

// within says where an answer is not what is wanted of it: of objects a part, of lists
// the same length, of others the value.
func within(answer, want json.RawMessage) error {
	if want == nil {
		return nil
	}
	var have, wanted any
	if err := json.Unmarshal(answer, &have); err != nil {
		return err
	}
	if err := json.Unmarshal(want, &wanted); err != nil {
		return err
	}
	return partOf("answer", have, wanted)
}

func partOf(path string, have, want any) error {
	switch want := want.(type) {
	case map[string]any:
		object, _ := have.(map[string]any)
		for name, wanted := range want {
			if err := partOf(path+"."+name, object[name], wanted); err != nil {
				return err
			}
		}
		if object != nil {
			return nil
		}
	case []any:
		list, _ := have.([]any)
		if len(list) != len(want) {
			break
		}
		for i, wanted := range want {
			if err := partOf(fmt.Sprintf("%s.%d", path, i), list[i], wanted); err != nil {
				return err
			}
		}
		return nil
	default:
		if have == want {
			return nil
		}
	}
	return fmt.Errorf("%s: have %v, want %v", path, have, want)
}
