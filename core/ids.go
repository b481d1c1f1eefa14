package core

import (
	"context"
	"encoding/hex"
	"io"
	"strings"
	"time"
)

// NewRunIDRequest asks for a run id.
type NewRunIDRequest struct {
	WorkflowName string `json:"workflowName" check:"key"`
}

// NewRunIDResponse holds a run id that nothing uses yet.
type NewRunIDResponse struct {
	RunID string `json:"runId"`
}

// NewRunID makes a run id: UTC time, workflow name, eight random hex digits, as
// in 20260821T081731Z-autoimplement-407480dd. Characters that a run id cannot
// hold become '-', and the name is cut at 100. It writes nothing.
// See docs/contract.md#start.
func (s *Store) NewRunID(ctx context.Context, req NewRunIDRequest) (NewRunIDResponse, error) {
	if err := check(&req); err != nil {
		return NewRunIDResponse{}, err
	}
	suffix, err := s.random(4)
	if err != nil {
		return NewRunIDResponse{}, err
	}
	stamp := s.now(ctx).UTC().Format("20060102T150405Z")
	return NewRunIDResponse{stamp + "-" + runIDName(req.WorkflowName) + "-" + suffix}, nil
}

func runIDName(name string) string {
	clean := strings.Map(func(r rune) rune {
		if isRunIDRune(r) {
			return r
		}
		return '-'
	}, name)
	return clean[:min(len(clean), MaxNameInRunID)]
}

// random gives n random bytes in hex.
func (s *Store) random(n int) (string, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(s.cfg.Random, b); err != nil {
		return "", NewError(CodeStoreUnavailable, nil, "no random numbers could be read").WithCause(err)
	}
	return hex.EncodeToString(b), nil
}

// claim is a token and the time at which it expires.
type claim struct {
	token     string
	expiresMS int64
}

// newClaim takes the caller's token or makes one of 128 random bits, and a lease
// in milliseconds, where 0 stands for the default.
func (t *tx) newClaim(token string, leaseMS int64) (claim, error) {
	if token == "" {
		made, err := t.store.random(16)
		if err != nil {
			return claim{}, err
		}
		token = made
	}
	return claim{token, t.nowMS + leaseOr(leaseMS)}, nil
}

func leaseOr(leaseMS int64) int64 {
	if leaseMS == 0 {
		return int64(DefaultLease / time.Millisecond)
	}
	return leaseMS
}
