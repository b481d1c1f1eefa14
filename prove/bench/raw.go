package main

import (
	"context"
	"database/sql"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/db"
)

// raw runs prepared statements, and nothing else: what a program would be that has no
// core. Its errors end the measurement, so it rolls nothing back.
type raw struct {
	conn  *conn
	now   func() time.Time
	stmts map[string]*sql.Stmt // by the names that sql/ gives them
}

func newRaw(ctx context.Context, c *conn, texts map[string]string, now func() time.Time) (*raw, error) {
	r := &raw{c, now, map[string]*sql.Stmt{}}
	for name, text := range texts {
		stmt, err := c.PrepareContext(ctx, text)
		if err != nil {
			return nil, err
		}
		r.stmts[name] = stmt
	}
	return r, nil
}

func (r *raw) close() error {
	for _, stmt := range r.stmts {
		if err := stmt.Close(); err != nil {
			return err
		}
	}
	return r.conn.Close()
}

// instant is the one time of a transaction, as it is stored and as leases are.
type instant struct {
	text string
	ms   int64
}

func (r *raw) transact(ctx context.Context, do func(instant) error) error {
	if _, err := r.stmts["BEGIN IMMEDIATE"].ExecContext(ctx); err != nil {
		return err
	}
	now := r.now()
	if err := do(instant{now.UTC().Format("2006-01-02T15:04:05.000Z"), now.UnixMilli()}); err != nil {
		return err
	}
	_, err := r.stmts["COMMIT"].ExecContext(ctx)
	return err
}

func launchRaw(ctx context.Context, r *raw, s subject) error {
	err := r.transact(ctx, func(now instant) error {
		err := r.run(ctx, "RunReserve", s.runID, workflow, workflowRef, workflowSource, digest, input, "{}", nil, s.session, nil, now.text)
		if err != nil {
			return err
		}
		return r.event(ctx, now.text, s.runID, workflow, "queued", nil, "{}")
	})
	if err != nil {
		return err
	}
	err = r.transact(ctx, func(now instant) error {
		if err := r.run(ctx, "RunClaimQueued", runner, s.token, now.ms+leaseMS, now.text, s.runID, s.session); err != nil {
			return err
		}
		return r.event(ctx, now.text, s.runID, workflow, "starting", runner, `{"from":"queued"}`)
	})
	if err != nil {
		return err
	}
	err = r.transact(ctx, func(now instant) error {
		if err := r.run(ctx, "RunMarkRunning", now.text, s.runID, s.token, now.ms, digest); err != nil {
			return err
		}
		return r.event(ctx, now.text, s.runID, workflow, "running", runner, `{"from":"starting"}`)
	})
	if err != nil {
		return err
	}
	return r.transact(ctx, func(now instant) error {
		if err := r.run(ctx, "RunGet", s.runID); err != nil {
			return err
		}
		if err := r.run(ctx, "RunFinishDone", now.text, s.runID, s.token, now.ms); err != nil {
			return err
		}
		if err := r.event(ctx, now.text, s.runID, workflow, "done", runner, `{"from":"running"}`); err != nil {
			return err
		}
		return r.intents(ctx, "IntentFindPending", s.runID, s.session) // which finds none
	})
}

func turnRaw(ctx context.Context, r *raw, s subject) error {
	err := r.transact(ctx, func(now instant) error {
		return r.intent(ctx, "IntentCreate", s.intent, s.sourceEvent, s.runID, workflow, s.session,
			string(core.CauseFailed), core.NodeTerminal, nil, s.facts, now.text, now.text)
	})
	if err != nil {
		return err
	}
	err = r.transact(ctx, func(now instant) error {
		if err := r.intents(ctx, "IntentFindClaimed", s.session, s.token, now.ms, claimAtMost); err != nil {
			return err
		}
		return r.intents(ctx, "IntentClaimEligible", s.token, now.ms+leaseMS, s.session, now.ms, claimAtMost)
	})
	if err != nil {
		return err
	}
	err = r.transact(ctx, func(now instant) error {
		return r.intent(ctx, "IntentRenewClaim", now.ms+leaseMS, s.intent, s.token, now.ms)
	})
	if err != nil {
		return err
	}
	return r.transact(ctx, func(now instant) error {
		return r.intent(ctx, "IntentResolve", now.text, string(core.ByFallback), s.message, s.intent, s.token, now.ms)
	})
}

// What follows reads the columns into what db reads them into.

func (r *raw) run(ctx context.Context, name string, args ...any) error {
	var i db.Run
	return r.stmts[name].QueryRowContext(ctx, args...).Scan(
		&i.RunID, &i.WorkflowRef, &i.WorkflowPath, &i.WorkflowSourceJSON, &i.DefinitionDigest, &i.InputJSON, &i.LaunchOptionsJSON,
		&i.Status, &i.RunnerID, &i.ClaimToken, &i.ClaimExpiresAt, &i.AffinityRunnerID, &i.OriginSessionID, &i.ParentRunID,
		&i.ErrorCode, &i.ErrorMessage, &i.CreatedAt, &i.UpdatedAt, &i.StartedAt, &i.FinishedAt,
	)
}

func (r *raw) event(ctx context.Context, args ...any) error {
	var i db.RunEvent
	return r.stmts["RunEventAppend"].QueryRowContext(ctx, args...).Scan(
		&i.Seq, &i.RecordedAt, &i.RunID, &i.WorkflowRef, &i.Type, &i.RunnerID, &i.PayloadJSON)
}

func (r *raw) intent(ctx context.Context, name string, args ...any) error {
	var i db.Intent
	return r.stmts[name].QueryRowContext(ctx, args...).Scan(intentColumns(&i)...)
}

func (r *raw) intents(ctx context.Context, name string, args ...any) error {
	rows, err := r.stmts[name].QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var i db.Intent
		if err := rows.Scan(intentColumns(&i)...); err != nil {
			return err
		}
	}
	return rows.Err()
}

func intentColumns(i *db.Intent) []any {
	return []any{
		&i.IntentID, &i.SourceEventID, &i.RunID, &i.WorkflowRef, &i.TargetSessionID, &i.Cause, &i.NodeID, &i.AttemptID, &i.FallbackFactsJSON,
		&i.RequestedAt, &i.EligibleAt, &i.ResolvedAt, &i.Resolution, &i.ResolutionMessageID, &i.DeliveryClaimToken, &i.DeliveryClaimExpiresAt,
	}
}
