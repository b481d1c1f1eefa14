package mutant

import (
	"slices"
	"strings"
)

// rows are one row of each table, as any host may write it.
var rows = []string{
	`INSERT INTO workflow_run_queue (run_id, workflow_ref, workflow_path, workflow_source_json, definition_digest, input_json,
		launch_options_json, status, origin_session_id, parent_run_id, created_at, updated_at)
		VALUES ('run', 'flow', 'file:flow', '{}', 'digest', 'null', '{}', 'queued', 'session', 'parent', 'then', 'then')`,
	`INSERT INTO run_events (recorded_at, run_id, workflow_ref, type, payload_json) VALUES ('then', 'run', 'flow', 'queued', '{}')`,
	`INSERT INTO workflow_turn_intents (intent_id, source_event_id, run_id, workflow_ref, target_session_id, cause, fallback_facts_json, requested_at)
		VALUES ('intent', 'source', 'run', 'flow', 'session', 'failed', '{}', 'then')`,
	`INSERT INTO workflow_notifications (notification_id, run_id, node_id, attempt_id, notification_index, target_session_id, kind, content, created_at)
		VALUES ('report', 'run', 'node', 'attempt', 1, 'session', 'progress', 'text', 'then')`,
	`INSERT INTO resources (controller, resource_key, uid, resource_version, generation, spec_json, status_json, finalizers_json, updated_at)
		VALUES ('controller', 'key', 'uid', 1, 1, '{}', '{}', '[]', 'then')`,
	`INSERT INTO queue (controller, resource_key, available_at, version, consecutive_errors) VALUES ('controller', 'key', 0, 1, 0)`,
	`INSERT INTO effects (effect_key, resource_uid, generation, kind, state, request_fingerprint, started_at)
		VALUES ('effect', 'uid', 1, 'kind', 'pending', 'print', 'then')`,
	`INSERT INTO workflow_requests (request_id, resource_uid, request_key, input_fingerprint, workflow, state, attempt)
		VALUES ('request', 'uid', 'key', 'print', 'flow', 'pending', 0)`,
	`INSERT INTO events (recorded_at, controller, resource_key, type, payload_json) VALUES ('then', 'controller', 'key', 'type', '{}')`,
}

// never are the columns that are never NULL, by table.
var never = map[string]string{
	"schema_info": "schema_id",
	"workflow_run_queue": `workflow_ref workflow_path workflow_source_json definition_digest input_json launch_options_json status
		created_at updated_at`,
	"run_events": "recorded_at run_id workflow_ref type payload_json",
	"workflow_turn_intents": `source_event_id run_id workflow_ref target_session_id cause fallback_facts_json
		requested_at`,
	"workflow_notifications": "run_id node_id attempt_id notification_index target_session_id kind content created_at",
	"resources":              "controller resource_key uid resource_version generation spec_json status_json finalizers_json updated_at",
	"queue":                  "controller resource_key available_at version consecutive_errors",
	"effects":                "effect_key resource_uid generation kind state request_fingerprint started_at",
	"workflow_requests":      "resource_uid request_key input_fingerprint workflow state attempt",
	"events":                 "recorded_at controller resource_key type payload_json",
}

// copied is another row of a table, like its row but for what is said.
func copied(table, changes string) string {
	columns, values := []string{}, []string{}
	head, tail, _ := strings.Cut(rowOf(table), "VALUES (")
	_, names, _ := strings.Cut(head, "(")
	for name := range strings.SplitSeq(strings.TrimRight(strings.TrimSpace(names), ")"), ",") {
		columns = append(columns, strings.TrimSpace(name))
	}
	for value := range strings.SplitSeq(strings.TrimSuffix(tail, ")"), ",") {
		values = append(values, strings.TrimSpace(value))
	}
	for change := range strings.FieldsSeq(changes) {
		name, value, _ := strings.Cut(change, "=")
		at := slices.Index(columns, name)
		if at < 0 {
			columns, values = append(columns, name), append(values, value)
			continue
		}
		values[at] = value
	}
	return "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")"
}

func rowOf(table string) string {
	for _, row := range rows {
		if strings.HasPrefix(row, "INSERT INTO "+table+" ") {
			return row
		}
	}
	return ""
}

// childless leaves a resource without rows that would keep it as it is.
const childless = "DELETE FROM queue; DELETE FROM effects; DELETE FROM workflow_requests; "

// refuses are what the file refuses, from any host.
func refuses() (texts []string) {
	for table, columns := range never {
		for column := range strings.FieldsSeq(columns) {
			text := "UPDATE " + table + " SET " + column + " = NULL"
			if table == "resources" {
				text = childless + text
			}
			texts = append(texts, text)
		}
	}
	return append(texts, refused...)
}

var refused = []string{
	`UPDATE schema_info SET singleton = 2`,
	`INSERT INTO schema_info (singleton, schema_id) VALUES (1, 'other')`,

	`UPDATE workflow_run_queue SET status = 'paused'`,
	copied("workflow_run_queue", "origin_session_id=NULL parent_run_id=NULL"),
	copied("workflow_run_queue", "run_id='other' parent_run_id=NULL"),
	copied("workflow_run_queue", "run_id='other' parent_run_id=NULL status='starting'"),
	copied("workflow_run_queue", "run_id='other' parent_run_id=NULL status='running'"),
	copied("workflow_run_queue", "run_id='other' origin_session_id='other'"),

	copied("run_events", "seq=1"),

	`UPDATE workflow_turn_intents SET cause = 'other'`,
	`UPDATE workflow_turn_intents SET resolved_at = 'now', resolution = 'other', resolution_message_id = 'message'`,
	`UPDATE workflow_turn_intents SET resolved_at = 'now'`,
	`UPDATE workflow_turn_intents SET resolution = 'fallback'`,
	`UPDATE workflow_turn_intents SET resolution_message_id = 'message'`,
	`UPDATE workflow_turn_intents SET resolved_at = 'now', resolution = 'fallback'`,
	`UPDATE workflow_turn_intents SET resolved_at = 'now', resolution_message_id = 'message'`,
	`UPDATE workflow_turn_intents SET resolution = 'fallback', resolution_message_id = 'message'`,
	copied("workflow_turn_intents", "run_id='other'"),
	copied("workflow_turn_intents", "intent_id='other'"),

	`UPDATE workflow_notifications SET notification_index = 0`,
	`UPDATE workflow_notifications SET kind = 'other'`,
	copied("workflow_notifications", "notification_index=2"),
	copied("workflow_notifications", "notification_id='other'"),

	`UPDATE resources SET resource_version = 0`,
	`UPDATE resources SET generation = 0`,
	copied("resources", "controller='other'"),
	copied("resources", "uid='other'"),

	`UPDATE queue SET version = 0`,
	`UPDATE queue SET consecutive_errors = -1`,
	copied("queue", ""),
	copied("queue", "resource_key='unknown'"),

	`UPDATE effects SET generation = 0`,
	`UPDATE effects SET state = 'other'`,
	copied("effects", ""),
	copied("effects", "resource_uid='unknown'"),

	`UPDATE workflow_requests SET state = 'other'`,
	`UPDATE workflow_requests SET attempt = -1`,
	copied("workflow_requests", "request_key='other'"),
	copied("workflow_requests", "request_id='other'"),
	copied("workflow_requests", "request_id='other' resource_uid='unknown'"),

	copied("events", "seq=1"),
}

// resolved is the intent as each path resolves it.
const resolved = "UPDATE workflow_turn_intents SET resolved_at = 'now', resolution_message_id = 'message', resolution = "

// takes are what the file takes, from any host.
var takes = append([]string{
	copied("workflow_run_queue", "run_id='other' parent_run_id='other' status='parked'"),
	copied("workflow_run_queue", "run_id='other' parent_run_id='other' origin_session_id='other'"),
	copied("workflow_run_queue", "run_id='other' parent_run_id=NULL origin_session_id=NULL") + "; " +
		copied("workflow_run_queue", "run_id='third' parent_run_id=NULL origin_session_id=NULL"),
	// A number of the feed is never given twice.
	"DELETE FROM run_events; " + rowOf("run_events") + "; " + copied("run_events", "seq=1"),
	"DELETE FROM events; " + rowOf("events") + "; " + copied("events", "seq=1"),

	resolved + "'workflowPrompt'", resolved + "'presentation'",
	resolved + "'fallback'; " + copied("workflow_turn_intents", "intent_id='other'"),
	copied("workflow_turn_intents", "intent_id='other' run_id='other'"),
	copied("workflow_turn_intents", "intent_id='other' target_session_id='other'"),

	copied("workflow_notifications", "notification_id='other' run_id='other'"),
	copied("workflow_notifications", "notification_id='other' node_id='other'"),
	copied("workflow_notifications", "notification_id='other' notification_index=2"),

	// What belongs to a resource goes with it.
	"DELETE FROM resources",
	copied("resources", "controller='other' uid='other'"), copied("resources", "resource_key='other' uid='other'"),
	copied("resources", "controller='other' uid='other'") + "; " + copied("queue", "controller='other'"),
	copied("resources", "resource_key='other' uid='other'") + "; " + copied("queue", "resource_key='other'"),
	copied("effects", "effect_key='other'"),
	copied("resources", "resource_key='other' uid='other'") + "; " + copied("effects", "resource_uid='other'"),
	copied("workflow_requests", "request_id='other' request_key='other'"),
	copied("resources", "resource_key='other' uid='other'") + "; " + copied("workflow_requests", "request_id='other' resource_uid='other'"),
}, each(
	"UPDATE workflow_run_queue SET status = ", "queued starting running parked done failed cancelled",
	"UPDATE workflow_turn_intents SET cause = ", "agentCancelled timedOut failed launchFailed controllerInterrupted claimLost",
	"UPDATE workflow_notifications SET kind = ", "progress final",
	"UPDATE effects SET state = ", "pending applied rejected indeterminate",
	"UPDATE workflow_requests SET state = ", "pending running waiting succeeded failed interrupted",
)...)

// each is each text with each of its values.
func each(pairs ...string) (texts []string) {
	for i := 0; i < len(pairs); i += 2 {
		for value := range strings.FieldsSeq(pairs[i+1]) {
			texts = append(texts, pairs[i]+"'"+value+"'")
		}
	}
	return texts
}
