package hostsql

import (
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"math"
)

// Arguments are a count and values; a reply is a result code, 0 for success, and
// then a message, a statement's id, or columns, rows and values row by row. A number
// is 4 bytes, a value a tag and its bytes, all little-endian. See docs/abi.md#values.
const (
	tagNull    = 0
	tagInteger = 1 // 8 bytes, signed
	tagReal    = 2 // 8 bytes, IEEE 754
	tagText    = 3 // a length and UTF-8
	tagBlob    = 4 // a length and bytes
)

// maxColumns is what SQLite allows in a result.
const maxColumns = 32767

var le = binary.LittleEndian

func encodeArgs(args []driver.Value) ([]byte, error) {
	out := le.AppendUint32(nil, uint32(len(args)))
	for _, arg := range args {
		switch v := arg.(type) {
		case nil:
			out = append(out, tagNull)
		case int64:
			out = le.AppendUint64(append(out, tagInteger), uint64(v))
		case float64:
			out = le.AppendUint64(append(out, tagReal), math.Float64bits(v))
		case string:
			out = append(le.AppendUint32(append(out, tagText), uint32(len(v))), v...)
		case []byte:
			out = append(le.AppendUint32(append(out, tagBlob), uint32(len(v))), v...)
		default:
			return nil, fmt.Errorf("a %T cannot be an argument", arg)
		}
	}
	return out, nil
}

func decodePrepared(reply []byte) (uint32, error) {
	r := reader{rest: reply}
	if err := r.code(); err != nil {
		return 0, err
	}
	id := r.number()
	return id, r.end()
}

// decodeRows walks the whole reply, so that a bad one is refused before it is used. The values
// stay in the reply's own bytes: it is copied.
func decodeRows(reply []byte) (*rows, error) {
	r := reader{rest: append([]byte(nil), reply...)}
	if err := r.code(); err != nil {
		return nil, err
	}
	columns, count := r.number(), r.number()
	if r.err != nil || columns > maxColumns || columns == 0 && count > 0 {
		return nil, errReply
	}
	found := &rows{columns: make([]string, columns), left: count, reader: r}
	for range count {
		for range columns {
			if r.skip(); r.err != nil {
				return nil, r.err
			}
		}
	}
	return found, r.end()
}

// reader reads a reply, and keeps its first fault.
type reader struct {
	rest []byte
	err  error
}

// code reads the result code; what follows one that is not 0 is its message.
func (r *reader) code() error {
	code := r.number()
	if r.err == nil && code != 0 {
		return &Error{int(code), string(r.rest)}
	}
	return r.err
}

func (r *reader) end() error {
	if r.err == nil && len(r.rest) > 0 {
		r.err = errReply
	}
	return r.err
}

func (r *reader) take(n uint64) []byte {
	if r.err != nil || uint64(len(r.rest)) < n {
		r.err = errReply
		return make([]byte, 8) // enough for a number that nobody will use
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *reader) number() uint32 { return le.Uint32(r.take(4)) }

func (r *reader) skip() (tag byte, content []byte) {
	switch tag = r.take(1)[0]; tag {
	case tagNull:
	case tagInteger, tagReal:
		content = r.take(8)
	case tagText, tagBlob:
		content = r.take(uint64(r.number()))
	default:
		r.err = errReply
	}
	return tag, content
}

func (r *reader) value() driver.Value {
	tag, content := r.skip()
	switch {
	case r.err != nil || tag == tagNull:
		return nil
	case tag == tagInteger:
		return int64(le.Uint64(content))
	case tag == tagReal:
		return math.Float64frombits(le.Uint64(content))
	case tag == tagText:
		return string(content)
	}
	return content
}
