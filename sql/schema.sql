-- The controller store, layout v1: the only copy of the DDL.
--
-- Hosts share one file, so this layout is frozen: every column, type, CHECK,
-- foreign key and index is part of the contract between them. Nothing here may
-- change; nothing is ever migrated.
--
-- Every statement can be repeated, because several processes may make the
-- same new file at once.

-- +goose Up

CREATE TABLE IF NOT EXISTS schema_info (
  singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
  schema_id TEXT NOT NULL
);

-- The launch queue: one row a workflow run. Some names mislead:
-- workflow_ref is the workflow's name, workflow_path its source reference,
-- affinity_runner_id the runner that reserved the run.
CREATE TABLE IF NOT EXISTS workflow_run_queue (
  run_id TEXT PRIMARY KEY,
  workflow_ref TEXT NOT NULL,
  workflow_path TEXT NOT NULL,
  workflow_source_json TEXT NOT NULL,
  definition_digest TEXT NOT NULL,
  input_json TEXT NOT NULL,
  launch_options_json TEXT NOT NULL,
  status TEXT NOT NULL CHECK (
    status IN ('queued', 'starting', 'running', 'parked', 'done', 'failed', 'cancelled')
  ),
  runner_id TEXT,
  claim_token TEXT,
  claim_expires_at INTEGER,
  affinity_runner_id TEXT,
  origin_session_id TEXT,
  parent_run_id TEXT,
  error_code TEXT,
  error_message TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  started_at TEXT,
  finished_at TEXT
);

CREATE INDEX IF NOT EXISTS workflow_run_queue_claimable
  ON workflow_run_queue (status, claim_expires_at);

-- One live run a session.
CREATE UNIQUE INDEX IF NOT EXISTS workflow_run_queue_session_reservation
  ON workflow_run_queue (origin_session_id)
  WHERE origin_session_id IS NOT NULL AND status IN ('queued', 'starting', 'running');

-- One continuation a parent.
CREATE UNIQUE INDEX IF NOT EXISTS workflow_run_queue_parent
  ON workflow_run_queue (parent_run_id)
  WHERE parent_run_id IS NOT NULL;

-- The feed: what happened to a run, in order.
CREATE TABLE IF NOT EXISTS run_events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  recorded_at TEXT NOT NULL,
  run_id TEXT NOT NULL,
  workflow_ref TEXT NOT NULL,
  type TEXT NOT NULL,
  runner_id TEXT,
  payload_json TEXT NOT NULL
);

CREATE INDEX IF NOT EXISTS run_events_run
  ON run_events (run_id);

-- Successor turns owed to a session.
CREATE TABLE IF NOT EXISTS workflow_turn_intents (
  intent_id TEXT PRIMARY KEY,
  source_event_id TEXT NOT NULL,
  run_id TEXT NOT NULL,
  workflow_ref TEXT NOT NULL,
  target_session_id TEXT NOT NULL,
  cause TEXT NOT NULL CHECK (
    cause IN ('agentCancelled', 'timedOut', 'failed', 'launchFailed', 'controllerInterrupted', 'claimLost')
  ),
  node_id TEXT,
  attempt_id TEXT,
  fallback_facts_json TEXT NOT NULL,
  requested_at TEXT NOT NULL,
  eligible_at TEXT,
  resolved_at TEXT,
  resolution TEXT CHECK (resolution IN ('workflowPrompt', 'presentation', 'fallback')),
  resolution_message_id TEXT,
  delivery_claim_token TEXT,
  delivery_claim_expires_at INTEGER,
  CHECK (
    (resolved_at IS NULL AND resolution IS NULL AND resolution_message_id IS NULL) OR
    (resolved_at IS NOT NULL AND resolution IS NOT NULL AND resolution_message_id IS NOT NULL)
  )
);

-- One pending turn a run and session.
CREATE UNIQUE INDEX IF NOT EXISTS workflow_turn_intents_one_pending_run
  ON workflow_turn_intents (run_id, target_session_id)
  WHERE resolved_at IS NULL;

CREATE INDEX IF NOT EXISTS workflow_turn_intents_pending_run
  ON workflow_turn_intents (run_id, target_session_id, requested_at)
  WHERE resolved_at IS NULL;

CREATE INDEX IF NOT EXISTS workflow_turn_intents_eligible_session
  ON workflow_turn_intents (target_session_id, eligible_at, intent_id)
  WHERE resolved_at IS NULL AND eligible_at IS NOT NULL;

-- Passive reports of a workflow: they start no turn.
CREATE TABLE IF NOT EXISTS workflow_notifications (
  notification_id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  node_id TEXT NOT NULL,
  attempt_id TEXT NOT NULL,
  notification_index INTEGER NOT NULL CHECK (notification_index > 0),
  target_session_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('progress', 'final')),
  content TEXT NOT NULL,
  created_at TEXT NOT NULL,
  delivery_claim_token TEXT,
  delivery_claim_expires_at INTEGER,
  delivered_at TEXT,
  UNIQUE (run_id, node_id, notification_index)
);

CREATE INDEX IF NOT EXISTS workflow_notifications_pending
  ON workflow_notifications (target_session_id, delivery_claim_expires_at, created_at)
  WHERE delivered_at IS NULL;

-- The five tables below belong to controllers. They are made exactly, and
-- nothing here reads or writes them.

CREATE TABLE IF NOT EXISTS resources (
  controller TEXT NOT NULL,
  resource_key TEXT NOT NULL,
  uid TEXT NOT NULL UNIQUE,
  resource_version INTEGER NOT NULL CHECK (resource_version > 0),
  generation INTEGER NOT NULL CHECK (generation > 0),
  spec_json TEXT NOT NULL,
  status_json TEXT NOT NULL,
  deletion_timestamp TEXT,
  finalizers_json TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (controller, resource_key)
);

CREATE TABLE IF NOT EXISTS queue (
  controller TEXT NOT NULL,
  resource_key TEXT NOT NULL,
  available_at INTEGER NOT NULL,
  version INTEGER NOT NULL CHECK (version > 0),
  consecutive_errors INTEGER NOT NULL CHECK (consecutive_errors >= 0),
  last_error TEXT,
  claim_token TEXT,
  claim_version INTEGER,
  claim_expires_at INTEGER,
  PRIMARY KEY (controller, resource_key),
  FOREIGN KEY (controller, resource_key)
    REFERENCES resources (controller, resource_key) ON DELETE CASCADE
);

CREATE INDEX IF NOT EXISTS queue_ready
  ON queue (available_at, controller, resource_key);

CREATE TABLE IF NOT EXISTS effects (
  effect_key TEXT NOT NULL,
  resource_uid TEXT NOT NULL,
  generation INTEGER NOT NULL CHECK (generation > 0),
  kind TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'applied', 'rejected', 'indeterminate')),
  request_fingerprint TEXT NOT NULL,
  started_at TEXT NOT NULL,
  completed_at TEXT,
  external_ref TEXT,
  error TEXT,
  PRIMARY KEY (resource_uid, effect_key),
  FOREIGN KEY (resource_uid) REFERENCES resources (uid) ON DELETE CASCADE
);

CREATE TABLE IF NOT EXISTS workflow_requests (
  request_id TEXT PRIMARY KEY,
  resource_uid TEXT NOT NULL,
  request_key TEXT NOT NULL,
  input_fingerprint TEXT NOT NULL,
  workflow TEXT NOT NULL,
  run_id TEXT,
  state TEXT NOT NULL CHECK (
    state IN ('pending', 'running', 'waiting', 'succeeded', 'failed', 'interrupted')
  ),
  attempt INTEGER NOT NULL CHECK (attempt >= 0),
  error TEXT,
  UNIQUE (resource_uid, request_key),
  FOREIGN KEY (resource_uid) REFERENCES resources (uid) ON DELETE CASCADE
);

CREATE TABLE IF NOT EXISTS events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  recorded_at TEXT NOT NULL,
  controller TEXT NOT NULL,
  resource_key TEXT NOT NULL,
  type TEXT NOT NULL,
  payload_json TEXT NOT NULL
);

CREATE INDEX IF NOT EXISTS events_resource
  ON events (controller, resource_key, seq DESC);

INSERT INTO schema_info (singleton, schema_id)
VALUES (1, 'pi-workflows.controller-store.v1')
ON CONFLICT (singleton) DO NOTHING;
