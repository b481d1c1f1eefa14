package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/spf13/cobra"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
	"github.com/pi-workflows/wfcore/core/strictjson"
)

func (a *app) rpcCommand() *cobra.Command {
	var testClock bool
	cmd := &cobra.Command{
		Use:   "rpc",
		Short: "Serve all operations as JSON-RPC 2.0 on stdin and stdout",
		Long: `Serve all operations as JSON-RPC 2.0, one message a line of at most 2 MiB. The
method is the operation's name, params its request object. An error's data is
{code, message, retryable, details}. Malformed lines are answered, and the next
line is read. A request without an id gets no answer. There are no batches.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), sqlite.Options{TestClock: testClock}, func(s *sqlite.Store) error {
				return serve(cmd.Context(), s, a.stdin, a.stdout)
			})
		},
	}
	testClockFlag(cmd, &testClock)
	return cmd
}

// JSON-RPC's own codes.
const (
	rpcParse          = -32700
	rpcInvalidRequest = -32600
	rpcNoMethod       = -32601
	rpcInvalidParams  = -32602
	rpcFailed         = -32000
)

type rpcError struct {
	Code    int         `json:"code"`
	Message string      `json:"message"`
	Data    *core.Error `json:"data"`
}

type rpcAnswer struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// serve answers line after line until the input ends or the context does.
func serve(ctx context.Context, s *sqlite.Store, in io.Reader, out io.Writer) error {
	for read := range eachLine(ctx, in) {
		if read.err != nil && !errors.Is(read.err, errLongLine) {
			return read.err
		}
		answer := rpcAnswerTo(ctx, s, read.line, read.err)
		if answer == nil {
			continue
		}
		encoded, err := core.Encode(answer)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s\n", encoded); err != nil {
			return err
		}
	}
	return nil
}

type lineRead struct {
	line []byte
	err  error
}

// eachLine reads until the input or the context ends. Reading may block for ever,
// so it has a goroutine of its own, which ends with the process.
func eachLine(ctx context.Context, in io.Reader) iter.Seq[lineRead] {
	lines := make(chan lineRead)
	go func() {
		defer close(lines)
		for r := bufio.NewReaderSize(in, 64<<10); ; {
			line, err := readLine(r)
			if errors.Is(err, io.EOF) {
				return
			}
			select {
			case lines <- lineRead{line, err}:
			case <-ctx.Done():
				return
			}
			if err != nil && !errors.Is(err, errLongLine) {
				return
			}
		}
	}()
	return func(yield func(lineRead) bool) {
		for {
			select {
			case read, ok := <-lines:
				if !ok || !yield(read) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

var errLongLine = errors.New("the line is longer than 2 MiB")

// readLine reads a line of at most maxMessage bytes; of a longer one it reads all
// and keeps nothing. A last line may lack its newline.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(bytes.TrimRight(part, "\r\n")) > maxMessage; !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && (len(line) > 0 || long):
			err = nil
		}
		if err == nil && long {
			return nil, errLongLine
		}
		return line, err
	}
}

// rpcAnswerTo answers one line; nil is a line that asks for no answer.
func rpcAnswerTo(ctx context.Context, s *sqlite.Store, line []byte, readErr error) *rpcAnswer {
	if readErr != nil {
		return rpcRefuse(nil, rpcInvalidRequest, readErr.Error())
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	members, err := strictjson.Object(line)
	if err != nil {
		return rpcNoObject(line)
	}
	req, err := parseRPC(members)
	if err != nil {
		return rpcRefuse(req.id, rpcInvalidRequest, err.Error())
	}
	answer := rpcCall(ctx, s, req)
	if req.id == nil {
		return nil // a notification
	}
	return answer
}

// rpcNoObject tells a line that is no JSON from one that is no message.
func rpcNoObject(line []byte) *rpcAnswer {
	var fault *strictjson.Error // whose path may be anybody's text
	if errors.As(strictjson.Check(line), &fault) {
		return rpcRefuse(nil, rpcParse, fmt.Sprintf("the line is not strict JSON, at byte %d: %s", fault.Offset, fault.Reason))
	}
	return rpcRefuse(nil, rpcInvalidRequest, "a message is one object; batches are not served")
}

type rpcRequest struct {
	id     json.RawMessage // nil for a notification
	method string
	params json.RawMessage
}

func parseRPC(members []strictjson.Member) (rpcRequest, error) {
	req := rpcRequest{params: json.RawMessage("{}")}
	version := ""
	var wrong error
	for _, m := range members {
		kind := strictjson.KindOf(m.Value)
		switch {
		case m.Key == "id" && (kind == strictjson.KindString || kind == strictjson.KindNumber || kind == strictjson.KindNull):
			req.id = m.Value
		case m.Key == "jsonrpc" && kind == strictjson.KindString:
			wrong = errors.Join(wrong, json.Unmarshal(m.Value, &version))
		case m.Key == "method" && kind == strictjson.KindString:
			wrong = errors.Join(wrong, json.Unmarshal(m.Value, &req.method))
		case m.Key == "params":
			req.params = m.Value
		default:
			wrong = errors.Join(wrong, errors.New("a message has jsonrpc, id, method and params, each of its type, and nothing else"))
		}
	}
	if wrong == nil && (version != "2.0" || req.method == "") {
		wrong = errors.New(`a message needs "jsonrpc":"2.0" and a method`)
	}
	return req, wrong
}

func rpcCall(ctx context.Context, s *sqlite.Store, req rpcRequest) *rpcAnswer {
	result, err := s.Call(ctx, req.method, req.params)
	var failure *core.Error
	if errors.As(err, &failure) {
		return rpcFailure(req.id, rpcCodeOf(req.method, failure), failure)
	}
	return &rpcAnswer{Version: "2.0", ID: req.id, Result: result}
}

func rpcCodeOf(method string, failure *core.Error) int {
	switch {
	case core.FindOp(method) == nil:
		return rpcNoMethod
	case failure.Code == core.CodeBadRequest:
		return rpcInvalidParams
	}
	return rpcFailed
}

func rpcRefuse(id json.RawMessage, code int, reason string) *rpcAnswer {
	return rpcFailure(id, code, core.NewError(core.CodeBadRequest, nil, "%s", reason))
}

func rpcFailure(id json.RawMessage, code int, failure *core.Error) *rpcAnswer {
	return &rpcAnswer{Version: "2.0", ID: id, Error: &rpcError{code, failure.Message, failure}}
}
