-- Turns owed to a session. An intent is pending until one message path resolved
-- it, and eligible once durable state shows that no natural successor will come.
--
-- Three terms, the same in every statement:
--   pending        resolved_at IS NULL
--   live claim     delivery_claim_token = @claim_token AND delivery_claim_expires_at > @now_ms
--   expired claim  COALESCE(delivery_claim_expires_at, 0) <= @now_ms
-- An expiry is cast to INTEGER wherever it is compared, and a row of another host
-- without a name is left out, as in the launch queue.
-- Identity and source never change after creation: no statement here sets them. A
-- resolved row never changes: every statement asks that it is pending.

-- (none) -> pending. Whoever knows of the source event; an event that proves that
-- no successor will come makes it eligible at once.
-- No row: the intent exists, or another one of that run and session is pending.
-- name: IntentCreate :one
INSERT INTO workflow_turn_intents (
  intent_id, source_event_id, run_id, workflow_ref, target_session_id, cause,
  node_id, attempt_id, fallback_facts_json, requested_at, eligible_at
) VALUES (
  @intent_id, @source_event_id, @run_id, @workflow_ref, @target_session_id, @cause,
  @node_id, @attempt_id, @fallback_facts_json, @now, @eligible_at
)
ON CONFLICT DO NOTHING
RETURNING *;

-- pending -> pending, eligible. Whoever knows that no natural successor will come. The
-- first time of eligibility stands; the facts are those of the latest event. A
-- claim stays.
-- No row: no such intent, or it is resolved.
-- name: IntentMakeEligible :one
UPDATE workflow_turn_intents
SET eligible_at = COALESCE(eligible_at, CAST(@now AS TEXT)),
    fallback_facts_json = CAST(@fallback_facts_json AS TEXT)
WHERE intent_id = CAST(@intent_id AS TEXT)
  AND resolved_at IS NULL
RETURNING *;

-- pending -> pending, with newer facts. A later event of the same run that joins it
-- without proving that no successor will come.
-- No row: no such intent, or it is resolved.
-- name: IntentUpdateFacts :one
UPDATE workflow_turn_intents
SET fallback_facts_json = CAST(@fallback_facts_json AS TEXT)
WHERE intent_id = CAST(@intent_id AS TEXT)
  AND resolved_at IS NULL
RETURNING *;

-- Claim move: a natural message claims the pending intent of its run, eligible or
-- not.
-- No row: nothing is pending, or its claim is live.
-- name: IntentClaimForRun :one
UPDATE workflow_turn_intents
SET delivery_claim_token = CAST(@claim_token AS TEXT),
    delivery_claim_expires_at = CAST(@claim_expires_at AS INTEGER)
WHERE run_id = CAST(@run_id AS TEXT)
  AND target_session_id = CAST(@session_id AS TEXT)
  AND resolved_at IS NULL
  AND typeof(intent_id) = 'text' AND intent_id <> ''
  AND COALESCE(CAST(delivery_claim_expires_at AS INTEGER), 0) <= CAST(@now_ms AS INTEGER)
RETURNING *;

-- Claim move: a fallback claims a session's eligible intents, the longest eligible
-- first: by instant and not by text, since other hosts may write times otherwise.
-- No row: nothing is eligible, or all of it is claimed.
-- name: IntentClaimEligible :many
UPDATE workflow_turn_intents
SET delivery_claim_token = CAST(@claim_token AS TEXT),
    delivery_claim_expires_at = CAST(@claim_expires_at AS INTEGER)
WHERE intent_id IN (
    SELECT due.intent_id FROM workflow_turn_intents AS due
    WHERE due.target_session_id = CAST(@session_id AS TEXT)
      AND due.resolved_at IS NULL
      AND due.eligible_at IS NOT NULL
      AND COALESCE(CAST(due.delivery_claim_expires_at AS INTEGER), 0) <= CAST(@now_ms AS INTEGER)
      AND typeof(due.intent_id) = 'text' AND due.intent_id <> ''
    ORDER BY CASE WHEN due.eligible_at GLOB '????-??-??T*' THEN unixepoch(due.eligible_at, 'subsec') END,
             due.intent_id
    LIMIT CAST(@limit AS INTEGER)
  )
  AND resolved_at IS NULL
RETURNING *;

-- Claim move: renew. The holder of the live claim. Renewing never shortens a lease.
-- It is also how a holder verifies its claim right before it sends.
-- No row: no such intent, it is resolved, or the claim is not live.
-- name: IntentRenewClaim :one
UPDATE workflow_turn_intents
SET delivery_claim_expires_at = MAX(CAST(delivery_claim_expires_at AS INTEGER), CAST(@claim_expires_at AS INTEGER))
WHERE intent_id = CAST(@intent_id AS TEXT)
  AND resolved_at IS NULL
  AND delivery_claim_token = CAST(@claim_token AS TEXT)
  AND CAST(delivery_claim_expires_at AS INTEGER) > CAST(@now_ms AS INTEGER)
RETURNING *;

-- Claim move: release, where sending failed or the session closes. The holder of the
-- live claim.
-- No row: no such intent, it is resolved, or the claim is not live.
-- name: IntentReleaseClaim :one
UPDATE workflow_turn_intents
SET delivery_claim_token = NULL,
    delivery_claim_expires_at = NULL
WHERE intent_id = CAST(@intent_id AS TEXT)
  AND resolved_at IS NULL
  AND delivery_claim_token = CAST(@claim_token AS TEXT)
  AND CAST(delivery_claim_expires_at AS INTEGER) > CAST(@now_ms AS INTEGER)
RETURNING *;

-- pending -> resolved. The holder of the live claim, once the session shows the
-- message: exactly one path gets here.
-- No row: no such intent, it is resolved, or the claim is not live.
-- name: IntentResolve :one
UPDATE workflow_turn_intents
SET resolved_at = CAST(@now AS TEXT),
    resolution = CAST(@resolution AS TEXT),
    resolution_message_id = CAST(@resolution_message_id AS TEXT),
    delivery_claim_token = NULL,
    delivery_claim_expires_at = NULL
WHERE intent_id = CAST(@intent_id AS TEXT)
  AND resolved_at IS NULL
  AND delivery_claim_token = CAST(@claim_token AS TEXT)
  AND CAST(delivery_claim_expires_at AS INTEGER) > CAST(@now_ms AS INTEGER)
RETURNING *;

-- Read: one intent.
-- name: IntentGet :one
SELECT * FROM workflow_turn_intents
WHERE intent_id = CAST(@intent_id AS TEXT);

-- Read: the one pending intent of a run and session.
-- name: IntentFindPending :one
SELECT * FROM workflow_turn_intents
WHERE run_id = CAST(@run_id AS TEXT)
  AND target_session_id = CAST(@session_id AS TEXT)
  AND resolved_at IS NULL
  AND typeof(intent_id) = 'text' AND intent_id <> '';

-- Read: the eligible intents that this live claim holds, to repeat a claim safely.
-- name: IntentFindClaimed :many
SELECT * FROM workflow_turn_intents
WHERE target_session_id = CAST(@session_id AS TEXT)
  AND resolved_at IS NULL
  AND eligible_at IS NOT NULL
  AND delivery_claim_token = CAST(@claim_token AS TEXT)
  AND CAST(delivery_claim_expires_at AS INTEGER) > CAST(@now_ms AS INTEGER)
  AND typeof(intent_id) = 'text' AND intent_id <> ''
ORDER BY CASE WHEN eligible_at GLOB '????-??-??T*' THEN unixepoch(eligible_at, 'subsec') END, intent_id
LIMIT CAST(@limit AS INTEGER);

-- Read: pending intents that are not eligible although their run has ended, in
-- order of insertion: another host ended it, or it was ended before the intent was
-- stored. A cancellation counts where the feed says that the agent did it, and a
-- run that is done where its feed does not say that a presentation will come. What
-- is pending is looked through, and never the runs: hence CROSS and +.
-- name: IntentListUnsettled :many
SELECT i.* FROM workflow_turn_intents AS i
CROSS JOIN workflow_run_queue AS r ON r.run_id = i.run_id
WHERE i.resolved_at IS NULL
  AND i.eligible_at IS NULL
  AND (CAST(@session_id AS TEXT) = '' OR i.target_session_id = CAST(@session_id AS TEXT))
  AND typeof(i.intent_id) = 'text' AND i.intent_id <> '' AND typeof(i.run_id) = 'text'
  AND (
    r.status = 'failed'
    OR (r.status = 'cancelled' AND EXISTS (
      SELECT 1 FROM run_events AS act
      WHERE act.run_id = i.run_id AND act.type = 'cancelled' AND act.payload_json LIKE '%"origin":"agent"%'
    ))
    OR (r.status = 'done' AND NOT EXISTS (
      SELECT 1 FROM run_events AS due
      WHERE due.run_id = i.run_id AND due.type = 'done' AND due.payload_json LIKE '%"presentationExpected":true%'
    ))
  )
ORDER BY +i.rowid
LIMIT CAST(@limit AS INTEGER);

-- Read: intents, oldest first, optionally of one session or run, in one state
-- (pending, eligible or resolved), and newer than a given intent (an empty text
-- stands for any). No index of v1 serves the filters.
-- name: IntentList :many
SELECT * FROM workflow_turn_intents AS i
WHERE typeof(i.intent_id) = 'text' AND i.intent_id <> ''
  AND (CAST(@session_id AS TEXT) = '' OR i.target_session_id = CAST(@session_id AS TEXT))
  AND (CAST(@run_id AS TEXT) = '' OR i.run_id = CAST(@run_id AS TEXT))
  AND CASE CAST(@state AS TEXT)
    WHEN 'pending' THEN i.resolved_at IS NULL
    WHEN 'eligible' THEN i.resolved_at IS NULL AND i.eligible_at IS NOT NULL
    WHEN 'resolved' THEN i.resolved_at IS NOT NULL
    ELSE 1
  END
  AND i.rowid > CASE
    WHEN CAST(@after_intent_id AS TEXT) = '' THEN -1
    ELSE (SELECT a.rowid FROM workflow_turn_intents AS a WHERE a.intent_id = CAST(@after_intent_id AS TEXT))
  END
ORDER BY i.rowid
LIMIT CAST(@limit AS INTEGER);
