-- The feed of a run. Each arrow appends one row in the transaction of its
-- statement, so the feed cannot disagree with the queue.

-- Append one event.
-- name: RunEventAppend :one
INSERT INTO run_events (recorded_at, run_id, workflow_ref, type, runner_id, payload_json)
VALUES (@recorded_at, @run_id, @workflow_ref, @type, @runner_id, @payload_json)
RETURNING *;

-- Read: the events of one run after a sequence number, oldest first.
-- name: RunEventListOfRun :many
SELECT * FROM run_events
WHERE run_id = CAST(@run_id AS TEXT)
  AND seq > CAST(@after_seq AS INTEGER)
ORDER BY seq
LIMIT CAST(@limit AS INTEGER);

-- Read: the events of all runs after a sequence number, oldest first.
-- name: RunEventList :many
SELECT * FROM run_events
WHERE seq > CAST(@after_seq AS INTEGER)
ORDER BY seq
LIMIT CAST(@limit AS INTEGER);

-- Read: how a launch went so far: its starts, and whether it ever ran or was
-- resumed. RunRequeueExpired has the same terms as its guard.
-- name: RunEventLaunchHistory :one
SELECT
  COUNT(CASE WHEN type = 'starting' THEN 1 END) AS starts,
  COUNT(CASE WHEN type = 'running'
      OR (type = 'starting' AND payload_json LIKE '%"from":"parked"%') THEN 1 END) AS runs
FROM run_events
WHERE run_id = CAST(@run_id AS TEXT);

-- Read: what the feed says of the end of a run: whether it has a failure of ours, which
-- paid what it owed in the same transaction (other hosts do not write "from"), and
-- whose act a cancellation was.
-- name: RunEventEnds :one
SELECT
  COUNT(CASE WHEN type IN ('failed', 'launch_failed') AND payload_json LIKE '%"from":"%' THEN 1 END) AS failures,
  COUNT(CASE WHEN type = 'cancelled' THEN 1 END) AS cancellations,
  COUNT(CASE WHEN type = 'cancelled' AND payload_json LIKE '%"origin":"agent"%' THEN 1 END) AS agent_cancellations
FROM run_events
WHERE run_id = CAST(@run_id AS TEXT);
