package core

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pi-workflows/wfcore/db"
)

// ReserveRequest is a workflow start that passed every check that a host can
// make before it answers.
type ReserveRequest struct {
	RunID             string `json:"runId" check:"runid"`
	WorkflowName      string `json:"workflowName" check:"key"`
	WorkflowSourceRef string `json:"workflowSourceRef" check:"ref"`
	// WorkflowSource is the immutable source identity, at most 64 KiB.
	WorkflowSource   json.RawMessage `json:"workflowSource" check:"source"`
	DefinitionDigest string          `json:"definitionDigest" check:"key"`
	// Input is private, at most 1 MiB; absent is null.
	Input json.RawMessage `json:"input,omitempty" check:"input"`
	// LaunchOptions is an object of at most 64 KiB; absent is {}.
	LaunchOptions    json.RawMessage `json:"launchOptions,omitempty" check:"options"`
	AffinityRunnerID string          `json:"affinityRunnerId,omitempty" check:"key"`
	OriginSessionID  string          `json:"originSessionId,omitempty" check:"key"`
	ParentRunID      string          `json:"parentRunId,omitempty" check:"runid"`
}

// StartResult is the structured result of a start tool.
type StartResult struct {
	Action   string `json:"action"`
	Workflow string `json:"workflow"`
	RunID    string `json:"runId"`
	Queued   bool   `json:"queued"`
}

// ReserveResponse is what a start tool answers with.
type ReserveResponse struct {
	Result StartResult `json:"result"`
	Text   string      `json:"text"`
	Run    Run         `json:"run"`
}

// ReservePreparedRun makes a launch durable: it commits the queued run, with the
// session's reservation, before it returns. The same id with equal facts returns
// the run as it stands. Errors: run_conflict, session_reserved, parent_reserved.
// See docs/contract.md#start.
func (s *Store) ReservePreparedRun(ctx context.Context, req ReserveRequest) (ReserveResponse, error) {
	if req.Input == nil {
		req.Input = json.RawMessage("null")
	}
	if req.LaunchOptions == nil {
		req.LaunchOptions = json.RawMessage("{}")
	}
	if err := check(&req); err != nil {
		return ReserveResponse{}, err
	}
	if req.ParentRunID == req.RunID {
		return ReserveResponse{}, badRequest("parentRunId", "must be another run")
	}
	return answer(ctx, s.write, func(t *tx) (ReserveResponse, error) {
		row, err := t.reserve(req)
		return startAnswer(row), err
	})
}

func startAnswer(row db.Run) ReserveResponse {
	queued := row.Status == string(Queued)
	text := fmt.Sprintf("Workflow %s queued (run %s).", row.WorkflowRef, row.RunID)
	if !queued {
		text = fmt.Sprintf("Workflow %s is %s (run %s).", row.WorkflowRef, row.Status, row.RunID)
	}
	return ReserveResponse{StartResult{"start", row.WorkflowRef, row.RunID, queued}, text, runOf(row)}
}

func (t *tx) reserve(req ReserveRequest) (db.Run, error) {
	row, ok, err := noRow(t.RunReserve(t, db.RunReserveParams{
		RunID:              req.RunID,
		WorkflowRef:        req.WorkflowName,
		WorkflowPath:       req.WorkflowSourceRef,
		WorkflowSourceJSON: string(req.WorkflowSource),
		DefinitionDigest:   req.DefinitionDigest,
		InputJSON:          string(req.Input),
		LaunchOptionsJSON:  string(req.LaunchOptions),
		AffinityRunnerID:   column(req.AffinityRunnerID),
		OriginSessionID:    column(req.OriginSessionID),
		ParentRunID:        column(req.ParentRunID),
		Now:                t.now,
	}))
	if err != nil {
		return row, err
	}
	if !ok {
		return t.reserved(req)
	}
	return row, t.event(row, EventQueued, row.AffinityRunnerID, payload{"parentRunId": req.ParentRunID})
}

// reserved finds what is in the way of a reservation: the run itself, its
// session's, or its parent's.
func (t *tx) reserved(req ReserveRequest) (db.Run, error) {
	row, ok, err := noRow(t.RunGet(t, db.RunGetParams{RunID: req.RunID}))
	if err != nil {
		return row, err
	}
	if ok {
		return row, sameFacts(row, req)
	}
	if req.OriginSessionID != "" {
		if err := t.reservedBySession(req.OriginSessionID); err != nil {
			return row, err
		}
	}
	held, ok, err := noRow(t.RunFindContinuation(t, db.RunFindContinuationParams{ParentRunID: req.ParentRunID}))
	if err != nil {
		return row, err
	}
	if !ok {
		// Another host's row without a run id is in the way.
		return row, NewError(CodeSessionReserved, nil, "a run without an id holds this session or parent; its host has to end it")
	}
	return row, NewError(CodeParentReserved, holder(held),
		"run %s has a continuation already: workflow %s (run %s), which is %s", req.ParentRunID, held.WorkflowRef, held.RunID, held.Status)
}

// reservedBySession answers session_reserved where the session has a live run.
func (t *tx) reservedBySession(session string) error {
	held, ok, err := noRow(t.RunFindReservation(t, db.RunFindReservationParams{SessionID: session}))
	if err != nil || !ok {
		return err
	}
	return NewError(CodeSessionReserved, holder(held),
		"this session has a live workflow already: %s (run %s), which is %s. Wait for it to end or cancel it, then start again",
		held.WorkflowRef, held.RunID, held.Status)
}

func holder(row db.Run) Details {
	return Details{"runId": row.RunID, "workflowName": row.WorkflowRef, "status": row.Status}
}

// sameFacts answers run_conflict where the stored run differs. Input and options
// are compared while they are still stored, and the parent while it is held.
func sameFacts(row db.Run, req ReserveRequest) error {
	differ := []string{}
	compare := func(field string, equal bool) {
		if !equal {
			differ = append(differ, field)
		}
	}
	status := Status(row.Status)
	compare("workflowName", row.WorkflowRef == req.WorkflowName)
	compare("workflowSourceRef", row.WorkflowPath == req.WorkflowSourceRef)
	compare("workflowSource", row.WorkflowSourceJSON == string(req.WorkflowSource))
	compare("definitionDigest", row.DefinitionDigest == req.DefinitionDigest)
	compare("affinityRunnerId", text(row.AffinityRunnerID) == req.AffinityRunnerID)
	compare("originSessionId", text(row.OriginSessionID) == req.OriginSessionID)
	compare("input", row.InputJSON == string(req.Input) || (status != Queued && row.InputJSON == "null"))
	compare("launchOptions", status.Terminal() || row.LaunchOptionsJSON == string(req.LaunchOptions))
	compare("parentRunId", text(row.ParentRunID) == req.ParentRunID || (status.Terminal() && row.ParentRunID == nil))
	if len(differ) == 0 {
		return nil
	}
	details := holder(row)
	details["fields"] = differ
	return NewError(CodeRunConflict, details, "run %s exists with other facts", row.RunID)
}
