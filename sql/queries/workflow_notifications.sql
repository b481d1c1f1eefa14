-- Passive reports of a workflow: they start no turn. The terms for claims are those
-- of workflow_turn_intents.sql.

-- (none) -> pending. The engine; the same run, node and index is the same report.
-- No row: it exists.
-- name: NotificationEnqueue :one
INSERT INTO workflow_notifications (
  notification_id, run_id, node_id, attempt_id, notification_index,
  target_session_id, kind, content, created_at
) VALUES (
  @notification_id, @run_id, @node_id, @attempt_id, @notification_index,
  @target_session_id, @kind, @content, @now
)
ON CONFLICT DO NOTHING
RETURNING *;

-- Claim move: a session's host claims reports that are not delivered, oldest first.
-- No row: nothing is pending, or all of it is claimed.
-- name: NotificationClaimPending :many
UPDATE workflow_notifications
SET delivery_claim_token = CAST(@claim_token AS TEXT),
    delivery_claim_expires_at = CAST(@claim_expires_at AS INTEGER)
WHERE notification_id IN (
    SELECT due.notification_id FROM workflow_notifications AS due
    WHERE due.target_session_id = CAST(@session_id AS TEXT)
      AND due.delivered_at IS NULL
      AND due.kind IN ('progress', 'final')
      AND COALESCE(CAST(due.delivery_claim_expires_at AS INTEGER), 0) <= CAST(@now_ms AS INTEGER)
      AND typeof(due.notification_id) = 'text' AND due.notification_id <> ''
    ORDER BY due.rowid
    LIMIT CAST(@limit AS INTEGER)
  )
  AND delivered_at IS NULL
RETURNING *;

-- pending -> delivered. The holder of the live claim.
-- No row: no such report, it is delivered, or the claim is not live.
-- name: NotificationMarkDelivered :one
UPDATE workflow_notifications
SET delivered_at = CAST(@now AS TEXT),
    delivery_claim_token = NULL,
    delivery_claim_expires_at = NULL
WHERE notification_id = CAST(@notification_id AS TEXT)
  AND delivered_at IS NULL
  AND delivery_claim_token = CAST(@claim_token AS TEXT)
  AND CAST(delivery_claim_expires_at AS INTEGER) > CAST(@now_ms AS INTEGER)
RETURNING *;

-- Read: one report.
-- name: NotificationGet :one
SELECT * FROM workflow_notifications
WHERE notification_id = CAST(@notification_id AS TEXT);

-- Read: the report of a run, node and index.
-- name: NotificationFind :one
SELECT * FROM workflow_notifications
WHERE run_id = CAST(@run_id AS TEXT)
  AND node_id = CAST(@node_id AS TEXT)
  AND notification_index = CAST(@notification_index AS INTEGER);

-- Read: the reports that this live claim holds, to repeat a claim safely.
-- name: NotificationFindClaimed :many
SELECT * FROM workflow_notifications
WHERE target_session_id = CAST(@session_id AS TEXT)
  AND delivered_at IS NULL
  AND delivery_claim_token = CAST(@claim_token AS TEXT)
  AND CAST(delivery_claim_expires_at AS INTEGER) > CAST(@now_ms AS INTEGER)
  AND typeof(notification_id) = 'text' AND notification_id <> ''
ORDER BY workflow_notifications.rowid
LIMIT CAST(@limit AS INTEGER);

-- Read: the reports of a run, oldest first, after a given number of them.
-- name: NotificationListOfRun :many
SELECT * FROM workflow_notifications
WHERE run_id = CAST(@run_id AS TEXT)
  AND typeof(notification_id) = 'text' AND notification_id <> ''
ORDER BY workflow_notifications.rowid
LIMIT CAST(@limit AS INTEGER) OFFSET CAST(@skip AS INTEGER);
