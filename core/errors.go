package core

import (
	"errors"
	"fmt"

	"github.com/pi-workflows/wfcore/core/safetext"
)

// Code names what went wrong. A code is a string that never changes meaning;
// match errors by code, never by message. See docs/operations.md#errors.
type Code string

const (
	CodeBadRequest         Code = "bad_request"
	CodeNotFound           Code = "not_found"
	CodeNotOwner           Code = "not_owner"
	CodeInvalidTransition  Code = "invalid_transition"
	CodeSourceChanged      Code = "source_changed"
	CodeClaimLost          Code = "claim_lost"
	CodeClaimLive          Code = "claim_live"
	CodeSessionReserved    Code = "session_reserved"
	CodeParentReserved     Code = "parent_reserved"
	CodeRunConflict        Code = "run_conflict"
	CodeIntentConflict     Code = "intent_conflict"
	CodeIntentPending      Code = "intent_pending"
	CodeIntentResolved     Code = "intent_resolved"
	CodeStoreUnavailable   Code = "store_unavailable"
	CodeLayoutIncompatible Code = "layout_incompatible"
	CodeStoreMisconfigured Code = "store_misconfigured"
	CodeTransactionOpen    Code = "transaction_open"
	CodeStoreClosed        Code = "store_closed"
	CodeCoreCrashed        Code = "core_crashed"
	CodeABIMismatch        Code = "abi_mismatch"
)

// CodeInfo is what is known of a code on every face.
type CodeInfo struct {
	Code      Code
	Meaning   string
	Retryable bool // the same call may succeed later
	Exit      int  // exit code of the command
}

// Codes is the one table of error codes.
var Codes = []CodeInfo{
	{CodeBadRequest, "a field is missing, unknown, too long or not canonical; details name it", false, 2},
	{CodeNotFound, "no such run, intent or notification", false, 3},
	{CodeNotOwner, "another session's run, or a session's where a detached host asks", false, 4},
	{CodeInvalidTransition, "no arrow from the current state; details name it", false, 4},
	{CodeSourceChanged, "the digest given is not the stored one; nothing changed", false, 4},
	{CodeClaimLost, "the token is not the live one", false, 4},
	{CodeClaimLive, "recovery or take-over while the lease lives; details name owner and expiry", true, 4},
	{CodeSessionReserved, "the session has a live run; details name run, workflow and state", false, 4},
	{CodeParentReserved, "the parent has a continuation; details name run, workflow and state", false, 4},
	{CodeRunConflict, "the run id is taken by a run with other facts; details name them", false, 4},
	{CodeIntentConflict, "the intent id is taken with other facts; details name them", false, 4},
	{CodeIntentPending, "another turn is owed for this run and session; details name it", false, 4},
	{CodeIntentResolved, "the intent or notification was delivered already; details say how", false, 4},
	{CodeStoreUnavailable, "busy beyond the wait, full, or an I/O error; what was asked may or may not have happened: repeat it", true, 5},
	{CodeLayoutIncompatible, "the file is not a v1 store; details say what differs", false, 6},
	{CodeStoreMisconfigured, "the connection lacks what the store needs; details name it", false, 1},
	{CodeTransactionOpen, "the connection has an open transaction of its own", false, 1},
	{CodeStoreClosed, "the store was closed", false, 1},
	{CodeABIMismatch, "the core is not of the version that the host's package was made for", false, 1},
	{CodeCoreCrashed, "a host that embeds the core lost its instance; what was asked may or may not have happened: repeat it", true, 1},
}

// Info returns the table row of a code; an unknown code is not retryable and
// exits with 1.
func (c Code) Info() CodeInfo {
	for _, info := range Codes {
		if info.Code == c {
			return info
		}
	}
	return CodeInfo{Code: c, Exit: 1}
}

// open says that what was asked for may have happened or not, or that the store could
// not be asked: it is to be asked again.
func (c Code) open() bool {
	switch c {
	case CodeStoreUnavailable, CodeCoreCrashed, CodeTransactionOpen, CodeStoreClosed:
		return true
	}
	return false
}

// Details are the facts of an error, by field name. Values are strings,
// numbers, nil or lists of strings, and never private input.
type Details map[string]any

// Error is how every operation fails, on every face.
type Error struct {
	Code      Code    `json:"code"`
	Message   string  `json:"message"`
	Retryable bool    `json:"retryable"`
	Details   Details `json:"details"`
	cause     error
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Unwrap returns the original error. It is for local debugging only: it never
// crosses a face and is never stored.
func (e *Error) Unwrap() error { return e.cause }

// NewError makes an error; details may be nil. The message becomes one plain line,
// since it may hold names that another host wrote.
func NewError(code Code, details Details, format string, args ...any) *Error {
	if details == nil {
		details = Details{}
	}
	return &Error{
		Code:      code,
		Message:   safetext.Plain(fmt.Sprintf(format, args...)),
		Retryable: code.Info().Retryable,
		Details:   details,
	}
}

// WithCause keeps the original error for local debugging.
func (e *Error) WithCause(cause error) *Error {
	e.cause = cause
	return e
}

// CodeOf returns the code of an error of this package, else "".
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func badRequest(field, format string, args ...any) *Error {
	reason := fmt.Sprintf(format, args...)
	return NewError(CodeBadRequest, Details{"field": field, "reason": reason}, "%s %s", field, reason)
}
