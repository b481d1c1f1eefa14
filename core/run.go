package core

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/pi-workflows/wfcore/core/safetext"
	"github.com/pi-workflows/wfcore/core/strictjson"
	"github.com/pi-workflows/wfcore/db"
)

// Run is one workflow run in the launch queue. Times are ISO 8601 in UTC with
// milliseconds. Nil means that the column is empty.
type Run struct {
	RunID             string          `json:"runId"`
	WorkflowName      string          `json:"workflowName"`
	WorkflowSourceRef string          `json:"workflowSourceRef"`
	WorkflowSource    json.RawMessage `json:"workflowSource"`
	DefinitionDigest  string          `json:"definitionDigest"`
	// Input is private. Only claimPreparedRun, claimNextRun and resumeParkedRun
	// return it.
	Input         json.RawMessage `json:"input,omitempty"`
	LaunchOptions json.RawMessage `json:"launchOptions"`
	Status        Status          `json:"status"`
	RunnerID      *string         `json:"runnerId"`
	// ClaimToken is returned by the op that set it, and by listRecoverableRuns for
	// an expired starting run, where it is the expectedClaimToken of a recovery.
	ClaimToken       string  `json:"claimToken,omitempty"`
	ClaimExpiresAt   *string `json:"claimExpiresAt"`
	AffinityRunnerID *string `json:"affinityRunnerId"`
	OriginSessionID  *string `json:"originSessionId"`
	ParentRunID      *string `json:"parentRunId"`
	ErrorCode        *string `json:"errorCode"`
	ErrorMessage     *string `json:"errorMessage"`
	CreatedAt        string  `json:"createdAt"`
	UpdatedAt        string  `json:"updatedAt"`
	StartedAt        *string `json:"startedAt"`
	FinishedAt       *string `json:"finishedAt"`
}

// runOf is the record without input and token.
func runOf(row db.Run) Run {
	return Run{
		RunID:             row.RunID,
		WorkflowName:      row.WorkflowRef,
		WorkflowSourceRef: row.WorkflowPath,
		WorkflowSource:    rawJSON(row.WorkflowSourceJSON),
		DefinitionDigest:  row.DefinitionDigest,
		LaunchOptions:     rawJSON(row.LaunchOptionsJSON),
		Status:            Status(row.Status),
		RunnerID:          row.RunnerID,
		ClaimExpiresAt:    leaseTime(row.ClaimExpiresAt),
		AffinityRunnerID:  row.AffinityRunnerID,
		OriginSessionID:   row.OriginSessionID,
		ParentRunID:       row.ParentRunID,
		ErrorCode:         row.ErrorCode,
		ErrorMessage:      safeText(row.ErrorMessage),
		CreatedAt:         readTime(row.CreatedAt),
		UpdatedAt:         readTime(row.UpdatedAt),
		StartedAt:         readTimePtr(row.StartedAt),
		FinishedAt:        readTimePtr(row.FinishedAt),
	}
}

// claimedOf is the record with the token that the caller just set.
func claimedOf(row db.Run) Run {
	run := runOf(row)
	run.ClaimToken = text(row.ClaimToken)
	return run
}

// launchOf is the record with token and private input, for the one that activates it.
func launchOf(row db.Run) Run {
	run := claimedOf(row)
	run.Input = rawJSON(row.InputJSON)
	return run
}

func runsOf(rows []db.Run) []Run {
	runs := make([]Run, len(rows))
	for i, row := range rows {
		runs[i] = runOf(row)
	}
	return runs
}

// rawJSON passes stored JSON on, as one line; a text of another host that is none
// becomes a JSON string.
func rawJSON(stored string) json.RawMessage {
	var line bytes.Buffer
	if strictjson.Check([]byte(stored)) == nil && json.Compact(&line, []byte(stored)) == nil {
		return line.Bytes()
	}
	quoted, _ := canonical(stored)
	return quoted
}

// canonical writes JSON as it is stored: RFC 8785, of valid UTF-8.
func canonical(value any) ([]byte, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return strictjson.Canonical(encoded)
}

// maxLeaseTime is the end of the year 9999, the last that our format can write.
const maxLeaseTime = 253402300799999

// maxExact is the highest integer that a double holds exactly, as all below it.
const maxExact = 1 << 53

// number is a stored one: the end of a lease in milliseconds, or an index. Another
// host may have stored anything there.
func number(stored any) (int64, bool) {
	switch n := stored.(type) {
	case int64:
		return n, true
	case float64:
		if math.IsNaN(n) {
			return 0, false
		}
		// How a double that no integer can hold is converted depends on the machine.
		return int64(min(max(n, -maxExact), maxExact)), true
	case string:
		return leading(n)
	}
	return 0, false
}

// leading is the integer that a text begins with, as SQLite's CAST reads it.
func leading(text string) (int64, bool) {
	text = strings.TrimLeft(text, " \t\n\v\f\r")
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || end == 0 && (text[0] == '-' || text[0] == '+')) {
		end++
	}
	n, err := strconv.ParseInt(text[:end], 10, 64)
	return n, err == nil || errors.Is(err, strconv.ErrRange)
}

// leaseTime is the end of a lease as a time. A text is none, also where it begins with
// digits and SQL reads them.
func leaseTime(stored any) *string {
	end, ok := number(stored)
	if _, isText := stored.(string); isText || !ok {
		return nil
	}
	t := formatTime(time.UnixMilli(min(max(end, 0), maxLeaseTime)))
	return &t
}

// text is a nullable column where empty and absent are the same.
func text(column *string) string {
	if column == nil {
		return ""
	}
	return *column
}

// safeText makes a stored message safe that another host may have written.
func safeText(message *string) *string {
	if message == nil {
		return nil
	}
	safe := safetext.Line(*message)
	return &safe
}

// column is the reverse: an absent text is NULL.
func column(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func live(row db.Run, token string, nowMS int64) bool {
	return token != "" && text(row.ClaimToken) == token && !expired(row, nowMS)
}

func expired(row db.Run, nowMS int64) bool { return leaseOver(row.ClaimExpiresAt, nowMS) }

func leaseOver(stored any, nowMS int64) bool {
	end, ok := number(stored)
	return !ok || end <= nowMS
}
