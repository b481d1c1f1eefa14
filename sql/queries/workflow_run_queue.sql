-- The launch queue. Every arrow of the state machine and every move of a claim
-- is one statement here, with its whole guard in the WHERE clause.
--
-- Three terms, the same in every statement:
--   live claim     claim_token = @claim_token AND claim_expires_at > @now_ms
--   expired claim  COALESCE(claim_expires_at, 0) <= @now_ms
--   owner          COALESCE(origin_session_id, '') = @session_id,
--                  where an empty session is a detached host: it owns the ownerless runs
-- An expiry is cast to INTEGER wherever it is compared: another host's text would
-- be greater than any number, and its claim live for ever.
-- @now and @now_ms are the same instant, read once the write lock is held.
-- A statement that returns no row changed nothing. SQLite lets a TEXT key be NULL,
-- a BLOB or empty; such a row of another host has no name, and lists leave it out.

-- (none) -> queued. Any host, after its preflight checks.
-- No row: the run id, the session's reservation or the parent's one
-- continuation is taken. The reads RunGet, RunFindReservation and
-- RunFindContinuation say by whom.
-- name: RunReserve :one
INSERT INTO workflow_run_queue (
  run_id, workflow_ref, workflow_path, workflow_source_json, definition_digest,
  input_json, launch_options_json, status, affinity_runner_id,
  origin_session_id, parent_run_id, created_at, updated_at
) VALUES (
  @run_id, @workflow_ref, @workflow_path, @workflow_source_json, @definition_digest,
  @input_json, @launch_options_json, 'queued', @affinity_runner_id,
  @origin_session_id, @parent_run_id, @now, @now
)
ON CONFLICT DO NOTHING
RETURNING *;

-- queued -> starting. The owner, with a new claim.
-- No row: no such run, another owner, or not queued.
-- name: RunClaimQueued :one
UPDATE workflow_run_queue
SET status = 'starting',
    runner_id = CAST(@runner_id AS TEXT),
    claim_token = CAST(@claim_token AS TEXT),
    claim_expires_at = CAST(@claim_expires_at AS INTEGER),
    started_at = COALESCE(started_at, CAST(@now AS TEXT)),
    updated_at = CAST(@now AS TEXT)
WHERE run_id = CAST(@run_id AS TEXT)
  AND status = 'queued'
  AND COALESCE(origin_session_id, '') = CAST(@session_id AS TEXT)
RETURNING *;

-- parked -> starting. The owner, with a new claim: an explicit resume.
-- No row: no such run, another owner, not parked, or the session has a newer
-- reservation.
-- name: RunResumeParked :one
UPDATE workflow_run_queue
SET status = 'starting',
    runner_id = CAST(@runner_id AS TEXT),
    claim_token = CAST(@claim_token AS TEXT),
    claim_expires_at = CAST(@claim_expires_at AS INTEGER),
    started_at = COALESCE(started_at, CAST(@now AS TEXT)),
    updated_at = CAST(@now AS TEXT)
WHERE run_id = CAST(@run_id AS TEXT)
  AND status = 'parked'
  AND COALESCE(origin_session_id, '') = CAST(@session_id AS TEXT)
  AND NOT EXISTS (
    SELECT 1 FROM workflow_run_queue AS held
    WHERE held.origin_session_id = CAST(@session_id AS TEXT)
      AND held.origin_session_id IS NOT NULL
      AND held.status IN ('queued', 'starting', 'running')
  )
RETURNING *;

-- starting -> running. The holder of the live claim: the final fence. Private
-- input is cleared here; the run bundle has it now.
-- No row: no such run, not starting, another definition digest, or the claim is
-- not live. A digest that is not given, or stored as 'unavailable', matches.
-- name: RunMarkRunning :one
UPDATE workflow_run_queue
SET status = 'running',
    input_json = 'null',
    updated_at = CAST(@now AS TEXT)
WHERE run_id = CAST(@run_id AS TEXT)
  AND status = 'starting'
  AND claim_token = CAST(@claim_token AS TEXT)
  AND CAST(claim_expires_at AS INTEGER) > CAST(@now_ms AS INTEGER)
  AND (
    CAST(@definition_digest AS TEXT) = ''
    OR definition_digest = 'unavailable'
    OR definition_digest = CAST(@definition_digest AS TEXT)
  )
RETURNING *;

-- starting -> running. Recovery of an expired claim: the owner, with the token
-- that it saw and a new claim.
-- No row: no such run, another owner, not starting, another token, or the claim
-- is live.
-- name: RunMarkRunningExpired :one
UPDATE workflow_run_queue
SET status = 'running',
    input_json = 'null',
    runner_id = @runner_id,
    claim_token = CAST(@claim_token AS TEXT),
    claim_expires_at = CAST(@claim_expires_at AS INTEGER),
    updated_at = CAST(@now AS TEXT)
WHERE run_id = CAST(@run_id AS TEXT)
  AND status = 'starting'
  AND COALESCE(origin_session_id, '') = CAST(@session_id AS TEXT)
  AND COALESCE(CAST(claim_token AS TEXT), '') = CAST(@expected_claim_token AS TEXT)
  AND COALESCE(CAST(claim_expires_at AS INTEGER), 0) <= CAST(@now_ms AS INTEGER)
RETURNING *;

-- starting -> queued. Recovery of an expired claim without a run bundle: the
-- owner, with the token that it saw. Input and options are kept.
-- No row: no such run, another owner, not starting, another token, the claim is
-- live, or the feed shows that the run ran, was resumed, or had three starts.
-- name: RunRequeueExpired :one
UPDATE workflow_run_queue
SET status = 'queued',
    runner_id = NULL,
    claim_token = NULL,
    claim_expires_at = NULL,
    updated_at = CAST(@now AS TEXT)
WHERE run_id = CAST(@run_id AS TEXT)
  AND status = 'starting'
  AND COALESCE(origin_session_id, '') = CAST(@session_id AS TEXT)
  AND COALESCE(CAST(claim_token AS TEXT), '') = CAST(@expected_claim_token AS TEXT)
  AND COALESCE(CAST(claim_expires_at AS INTEGER), 0) <= CAST(@now_ms AS INTEGER)
  AND NOT EXISTS (
    SELECT 1 FROM run_events AS ran
    WHERE ran.run_id = workflow_run_queue.run_id
      AND (ran.type = 'running' OR (ran.type = 'starting' AND ran.payload_json LIKE '%"from":"parked"%'))
  )
  AND (
    SELECT COUNT(*) FROM run_events AS start
    WHERE start.run_id = workflow_run_queue.run_id AND start.type = 'starting'
  ) < 3
RETURNING *;

-- starting -> failed. The holder of the live claim. A launch that never ran
-- gives its parent's slot back.
-- No row: no such run, not starting, or the claim is not live.
-- name: RunFailStarting :one
UPDATE workflow_run_queue
SET status = 'failed',
    error_code = CAST(@error_code AS TEXT),
    error_message = CAST(@error_message AS TEXT),
    input_json = 'null',
    launch_options_json = '{}',
    runner_id = NULL,
    claim_token = NULL,
    claim_expires_at = NULL,
    parent_run_id = CASE
      WHEN EXISTS (
        SELECT 1 FROM run_events AS ran
        WHERE ran.run_id = workflow_run_queue.run_id
          AND (ran.type = 'running' OR (ran.type = 'starting' AND ran.payload_json LIKE '%"from":"parked"%'))
      ) THEN parent_run_id
    END,
    finished_at = CAST(@now AS TEXT),
    updated_at = CAST(@now AS TEXT)
WHERE run_id = CAST(@run_id AS TEXT)
  AND status = 'starting'
  AND claim_token = CAST(@claim_token AS TEXT)
  AND CAST(claim_expires_at AS INTEGER) > CAST(@now_ms AS INTEGER)
RETURNING *;

-- starting -> failed. Recovery of an expired claim: the owner, with the token
-- that it saw.
-- No row: no such run, another owner, not starting, another token, or the claim
-- is live.
-- name: RunFailStartingExpired :one
UPDATE workflow_run_queue
SET status = 'failed',
    error_code = CAST(@error_code AS TEXT),
    error_message = CAST(@error_message AS TEXT),
    input_json = 'null',
    launch_options_json = '{}',
    runner_id = NULL,
    claim_token = NULL,
    claim_expires_at = NULL,
    parent_run_id = CASE
      WHEN EXISTS (
        SELECT 1 FROM run_events AS ran
        WHERE ran.run_id = workflow_run_queue.run_id
          AND (ran.type = 'running' OR (ran.type = 'starting' AND ran.payload_json LIKE '%"from":"parked"%'))
      ) THEN parent_run_id
    END,
    finished_at = CAST(@now AS TEXT),
    updated_at = CAST(@now AS TEXT)
WHERE run_id = CAST(@run_id AS TEXT)
  AND status = 'starting'
  AND COALESCE(origin_session_id, '') = CAST(@session_id AS TEXT)
  AND COALESCE(CAST(claim_token AS TEXT), '') = CAST(@expected_claim_token AS TEXT)
  AND COALESCE(CAST(claim_expires_at AS INTEGER), 0) <= CAST(@now_ms AS INTEGER)
RETURNING *;

-- starting -> failed. A slow owner that could not finish building: its lease may
-- have lapsed, but nobody replaced it, so its token still stands.
-- No row: no such run, another owner, not starting, or another token.
-- name: RunFailStartingUnreplaced :one
UPDATE workflow_run_queue
SET status = 'failed',
    error_code = CAST(@error_code AS TEXT),
    error_message = CAST(@error_message AS TEXT),
    input_json = 'null',
    launch_options_json = '{}',
    runner_id = NULL,
    claim_token = NULL,
    claim_expires_at = NULL,
    parent_run_id = CASE
      WHEN EXISTS (
        SELECT 1 FROM run_events AS ran
        WHERE ran.run_id = workflow_run_queue.run_id
          AND (ran.type = 'running' OR (ran.type = 'starting' AND ran.payload_json LIKE '%"from":"parked"%'))
      ) THEN parent_run_id
    END,
    finished_at = CAST(@now AS TEXT),
    updated_at = CAST(@now AS TEXT)
WHERE run_id = CAST(@run_id AS TEXT)
  AND status = 'starting'
  AND COALESCE(origin_session_id, '') = CAST(@session_id AS TEXT)
  AND claim_token = CAST(@expected_claim_token AS TEXT)
RETURNING *;

-- running -> parked. The holder of the live claim. Options are kept for a
-- resume; input that an existing host left at running goes.
-- No row: no such run, not running, or the claim is not live.
-- name: RunPark :one
UPDATE workflow_run_queue
SET status = 'parked',
    input_json = 'null',
    runner_id = NULL,
    claim_token = NULL,
    claim_expires_at = NULL,
    updated_at = CAST(@now AS TEXT)
WHERE run_id = CAST(@run_id AS TEXT)
  AND status = 'running'
  AND claim_token = CAST(@claim_token AS TEXT)
  AND CAST(claim_expires_at AS INTEGER) > CAST(@now_ms AS INTEGER)
RETURNING *;

-- running -> done. The holder of the live claim.
-- No row: no such run, not running, or the claim is not live.
-- name: RunFinishDone :one
UPDATE workflow_run_queue
SET status = 'done',
    input_json = 'null',
    launch_options_json = '{}',
    runner_id = NULL,
    claim_token = NULL,
    claim_expires_at = NULL,
    finished_at = CAST(@now AS TEXT),
    updated_at = CAST(@now AS TEXT)
WHERE run_id = CAST(@run_id AS TEXT)
  AND status = 'running'
  AND claim_token = CAST(@claim_token AS TEXT)
  AND CAST(claim_expires_at AS INTEGER) > CAST(@now_ms AS INTEGER)
RETURNING *;

-- running -> failed. The holder of the live claim.
-- No row: no such run, not running, or the claim is not live.
-- name: RunFinishFailed :one
UPDATE workflow_run_queue
SET status = 'failed',
    error_code = CAST(@error_code AS TEXT),
    error_message = CAST(@error_message AS TEXT),
    input_json = 'null',
    launch_options_json = '{}',
    runner_id = NULL,
    claim_token = NULL,
    claim_expires_at = NULL,
    finished_at = CAST(@now AS TEXT),
    updated_at = CAST(@now AS TEXT)
WHERE run_id = CAST(@run_id AS TEXT)
  AND status = 'running'
  AND claim_token = CAST(@claim_token AS TEXT)
  AND CAST(claim_expires_at AS INTEGER) > CAST(@now_ms AS INTEGER)
RETURNING *;

-- queued, starting, running, parked -> cancelled. The user's authority: any
-- process, no token. A session that is given must own the run, a token that is
-- given must be live (an empty text stands for neither). A launch that never ran gives its
-- parent's slot back.
-- No row: no such run, another owner, already ended, or the token is not live.
-- name: RunCancel :one
UPDATE workflow_run_queue
SET status = 'cancelled',
    input_json = 'null',
    launch_options_json = '{}',
    runner_id = NULL,
    claim_token = NULL,
    claim_expires_at = NULL,
    parent_run_id = CASE
      WHEN status IN ('running', 'parked') OR EXISTS (
        SELECT 1 FROM run_events AS ran
        WHERE ran.run_id = workflow_run_queue.run_id
          AND (ran.type = 'running' OR (ran.type = 'starting' AND ran.payload_json LIKE '%"from":"parked"%'))
      ) THEN parent_run_id
    END,
    finished_at = CAST(@now AS TEXT),
    updated_at = CAST(@now AS TEXT)
WHERE run_id = CAST(@run_id AS TEXT)
  AND status IN ('queued', 'starting', 'running', 'parked')
  AND (
    CAST(@session_id AS TEXT) = ''
    OR COALESCE(origin_session_id, '') = CAST(@session_id AS TEXT)
  )
  AND (
    CAST(@claim_token AS TEXT) = ''
    OR (claim_token = CAST(@claim_token AS TEXT) AND CAST(claim_expires_at AS INTEGER) > CAST(@now_ms AS INTEGER))
  )
RETURNING *;

-- Claim move: renew. The holder of the live claim. Renewing never shortens a
-- lease, also after the clock was set back.
-- No row: no such run, not starting or running, or the claim is not live.
-- name: RunRenewClaim :one
UPDATE workflow_run_queue
SET claim_expires_at = MAX(CAST(claim_expires_at AS INTEGER), CAST(@claim_expires_at AS INTEGER)),
    updated_at = CAST(@now AS TEXT)
WHERE run_id = CAST(@run_id AS TEXT)
  AND status IN ('starting', 'running')
  AND claim_token = CAST(@claim_token AS TEXT)
  AND CAST(claim_expires_at AS INTEGER) > CAST(@now_ms AS INTEGER)
RETURNING *;

-- Claim move: release at shutdown. The holder of the live claim; it expires
-- now, so that a restart need not wait. The token stays for recovery to match.
-- No row: no such run, not starting or running, or the claim is not live.
-- name: RunReleaseClaim :one
UPDATE workflow_run_queue
SET claim_expires_at = CAST(@now_ms AS INTEGER),
    updated_at = CAST(@now AS TEXT)
WHERE run_id = CAST(@run_id AS TEXT)
  AND status IN ('starting', 'running')
  AND claim_token = CAST(@claim_token AS TEXT)
  AND CAST(claim_expires_at AS INTEGER) > CAST(@now_ms AS INTEGER)
RETURNING *;

-- Claim move: take over an expired running run. The owner, with a new claim.
-- No row: no such run, another owner, not running, or the claim is live.
-- name: RunTakeOverExpired :one
UPDATE workflow_run_queue
SET runner_id = CAST(@runner_id AS TEXT),
    claim_token = CAST(@claim_token AS TEXT),
    claim_expires_at = CAST(@claim_expires_at AS INTEGER),
    updated_at = CAST(@now AS TEXT)
WHERE run_id = CAST(@run_id AS TEXT)
  AND status = 'running'
  AND COALESCE(origin_session_id, '') = CAST(@session_id AS TEXT)
  AND COALESCE(CAST(claim_expires_at AS INTEGER), 0) <= CAST(@now_ms AS INTEGER)
RETURNING *;

-- Read: is the claim live?
-- No row: no such run, not starting or running, or the claim is not live.
-- name: RunVerifyClaim :one
SELECT * FROM workflow_run_queue
WHERE run_id = CAST(@run_id AS TEXT)
  AND status IN ('starting', 'running')
  AND claim_token = CAST(@claim_token AS TEXT)
  AND CAST(claim_expires_at AS INTEGER) > CAST(@now_ms AS INTEGER);

-- Read: one run.
-- name: RunGet :one
SELECT * FROM workflow_run_queue
WHERE run_id = CAST(@run_id AS TEXT);

-- Read: the run that holds a session's one reservation.
-- name: RunFindReservation :one
SELECT * FROM workflow_run_queue
WHERE origin_session_id = CAST(@session_id AS TEXT)
  AND origin_session_id IS NOT NULL AND status IN ('queued', 'starting', 'running')
  AND typeof(run_id) = 'text' AND run_id <> '';

-- Read: the one continuation of a parent.
-- name: RunFindContinuation :one
SELECT * FROM workflow_run_queue
WHERE parent_run_id = CAST(@parent_run_id AS TEXT)
  AND parent_run_id IS NOT NULL
  AND typeof(run_id) = 'text' AND run_id <> '';

-- Read: the starting run that this live claim holds, to repeat a claim safely.
-- name: RunFindClaimed :one
SELECT * FROM workflow_run_queue
WHERE status = 'starting'
  AND CAST(claim_expires_at AS INTEGER) > CAST(@now_ms AS INTEGER)
  AND claim_token = CAST(@claim_token AS TEXT)
  AND COALESCE(origin_session_id, '') = CAST(@session_id AS TEXT)
ORDER BY workflow_run_queue.rowid
LIMIT 1;

-- Read: the next ownerless queued run: the runner's own affinity among the
-- hundred oldest, else the oldest, in order of insertion.
-- name: RunPickOwnerless :one
SELECT oldest.run_id FROM (
  SELECT q.run_id, q.rowid AS position,
         q.affinity_runner_id = CAST(@runner_id AS TEXT) AS is_own
  FROM workflow_run_queue AS q
  WHERE q.status = 'queued' AND COALESCE(q.origin_session_id, '') = '' AND typeof(q.run_id) = 'text' AND q.run_id <> ''
  ORDER BY q.rowid
  LIMIT 100
) AS oldest
ORDER BY COALESCE(oldest.is_own, 0) DESC, oldest.position
LIMIT 1;

-- Read: what a session's host has to activate or recover: first the runs whose
-- claim expired, then the queued ones, each in order of insertion.
-- name: RunListRecoverableOfSession :many
SELECT * FROM workflow_run_queue
WHERE origin_session_id = CAST(@session_id AS TEXT)
  AND origin_session_id IS NOT NULL AND status IN ('queued', 'starting', 'running')
  AND typeof(run_id) = 'text' AND run_id <> ''
  AND (status = 'queued' OR COALESCE(CAST(claim_expires_at AS INTEGER), 0) <= CAST(@now_ms AS INTEGER))
ORDER BY status = 'queued', workflow_run_queue.rowid
LIMIT CAST(@limit AS INTEGER);

-- Read: what a detached host has to activate or recover, in the same order.
-- name: RunListRecoverableOwnerless :many
SELECT * FROM workflow_run_queue
WHERE COALESCE(origin_session_id, '') = ''
  AND status IN ('queued', 'starting', 'running')
  AND typeof(run_id) = 'text' AND run_id <> ''
  AND (status = 'queued' OR COALESCE(CAST(claim_expires_at AS INTEGER), 0) <= CAST(@now_ms AS INTEGER))
ORDER BY status = 'queued', workflow_run_queue.rowid
LIMIT CAST(@limit AS INTEGER);

-- Read: a session's newest parked run, by instant and not by text, since other
-- hosts may write times otherwise; a text that is no date is the oldest, and not a
-- Julian day. No index of v1 serves it.
-- name: RunNewestParkedOfSession :one
SELECT * FROM workflow_run_queue
WHERE origin_session_id = CAST(@session_id AS TEXT)
  AND status = 'parked'
  AND typeof(run_id) = 'text' AND run_id <> ''
ORDER BY CASE WHEN updated_at GLOB '????-??-??T*' THEN unixepoch(updated_at, 'subsec') END DESC,
         workflow_run_queue.rowid DESC
LIMIT 1;

-- Read: a session's last finished run, by instant as above. No index of v1 serves
-- it.
-- name: RunLastFinishedOfSession :one
SELECT * FROM workflow_run_queue
WHERE origin_session_id = CAST(@session_id AS TEXT)
  AND status IN ('done', 'failed', 'cancelled')
  AND typeof(run_id) = 'text' AND run_id <> ''
ORDER BY CASE WHEN finished_at GLOB '????-??-??T*' THEN unixepoch(finished_at, 'subsec') END DESC,
         workflow_run_queue.rowid DESC
LIMIT 1;

-- Read: runs, newest first, optionally of one session, in one state, and older
-- than a given run (an empty text stands for any). No index of v1 serves the filters.
-- name: RunList :many
SELECT * FROM workflow_run_queue AS r
WHERE typeof(r.run_id) = 'text' AND r.run_id <> ''
  AND (CAST(@session_id AS TEXT) = '' OR r.origin_session_id = CAST(@session_id AS TEXT))
  AND (CAST(@status AS TEXT) = '' OR r.status = CAST(@status AS TEXT))
  AND r.rowid < CASE
    WHEN CAST(@before_run_id AS TEXT) = '' THEN 9223372036854775807
    ELSE (SELECT b.rowid FROM workflow_run_queue AS b WHERE b.run_id = CAST(@before_run_id AS TEXT))
  END
ORDER BY r.rowid DESC
LIMIT CAST(@limit AS INTEGER);
