package scenario

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"
)

// other is another host on the same file, which writes rows as existing hosts do: it has
// no feed, keeps private input at running and parked, and never looks at a lease. Its
// runs have names that begin with foreignPrefix.
type other struct {
	path, prefix string
	wait         time.Duration
	db           *sql.DB
	prepared     map[string]*sql.Stmt
	moves        int
}

const (
	foreignPrefix  = "foreign-"
	foreignSession = "foreign session"
)

// Foreign says which runs the other host has a hand in.
func Foreign(runID string) bool {
	return strings.HasPrefix(runID, foreignPrefix) || strings.HasPrefix(runID, sharedPrefix)
}

// sharedPrefix begins the names of runs that both hosts write.
const sharedPrefix = "shared-"

func newOther(path string) *other { return &other{path: path, prefix: foreignPrefix} }

// Live lets another host, of this name, live the lives of some runs. All such hosts share
// one session, so a move may have to wait until another one's run is out of the way.
func Live(path, name string, runs int) error {
	o := &other{path: path, prefix: foreignPrefix + name + "-", wait: time.Minute}
	for o.moves < runs*len(life) {
		if err := o.move(Epoch); err != nil && !errors.Is(err, sqlite3.CONSTRAINT) {
			return errors.Join(err, o.close())
		}
	}
	return o.close()
}

func (o *other) close() error {
	if o.db == nil {
		return nil
	}
	return o.db.Close()
}

// life is what becomes of a run of the other host, move by move; ?1 is the run, ?2 the
// time, ?3 its milliseconds.
var life = []string{
	`INSERT INTO workflow_run_queue (run_id, workflow_ref, workflow_path, workflow_source_json, definition_digest, input_json,
		launch_options_json, status, affinity_runner_id, origin_session_id, created_at, updated_at)
		VALUES (?1, 'other', 'builtin:other', '{}', '` + Digest + `', '{"task":"theirs"}', '{"presentation":true}', 'queued', 'other', '` + foreignSession + `', ?2, ?2)`,
	`UPDATE workflow_run_queue SET status = 'starting', runner_id = 'other', claim_token = 'other', claim_expires_at = ?3 + 30000,
		started_at = ?2, updated_at = ?2 WHERE run_id = ?1 AND status = 'queued'`,
	`UPDATE workflow_run_queue SET status = 'running', updated_at = ?2 WHERE run_id = ?1 AND status = 'starting' AND claim_token = 'other'`,
	`UPDATE workflow_run_queue SET status = 'parked', runner_id = NULL, claim_token = NULL, claim_expires_at = NULL, updated_at = ?2
		WHERE run_id = ?1 AND status = 'running' AND claim_token = 'other'`,
	`UPDATE workflow_run_queue SET status = 'starting', runner_id = 'other', claim_token = 'other', claim_expires_at = ?3 - 1, updated_at = ?2
		WHERE run_id = ?1 AND status = 'parked'`,
	`UPDATE workflow_run_queue SET status = 'failed', input_json = 'null', launch_options_json = '{}', error_code = 'source_changed',
		error_message = 'theirs', runner_id = NULL, claim_token = NULL, claim_expires_at = NULL, finished_at = ?2, updated_at = ?2
		WHERE run_id = ?1 AND status = 'starting' AND claim_token = 'other'`,
	`INSERT INTO workflow_turn_intents (intent_id, source_event_id, run_id, workflow_ref, target_session_id, cause, node_id,
		fallback_facts_json, requested_at, eligible_at)
		VALUES ('intent ' || ?1, 'source ' || ?1, ?1, 'other', '` + foreignSession + `', 'launchFailed', '$launch', '{"of":"theirs"}', ?2, ?2)`,
	`UPDATE workflow_turn_intents SET delivery_claim_token = 'other', delivery_claim_expires_at = ?3 + 30000 WHERE run_id = ?1`,
	`UPDATE workflow_turn_intents SET resolved_at = ?2, resolution = 'fallback', resolution_message_id = 'turn-message:theirs',
		delivery_claim_token = NULL, delivery_claim_expires_at = NULL WHERE run_id = ?1 AND delivery_claim_token = 'other'`,
}

// move makes the next move of the life of one run after another. One that meets a lock, or
// a file that is not there, is made later.
func (o *other) move(now time.Time) error {
	run := fmt.Sprint(o.prefix, o.moves/len(life))
	err := o.exec(now, life[o.moves%len(life)], run)
	if err == nil {
		o.moves++
	}
	return err
}

func (o *other) exec(now time.Time, statement, runID string) error {
	prepared, err := o.prepare(statement)
	if err != nil {
		return err
	}
	args := []any{runID, now.UTC().Format("2006-01-02T15:04:05.000Z"), now.UnixMilli()}
	for len(args) > 1 && !strings.Contains(statement, fmt.Sprint("?", len(args))) {
		args = args[:len(args)-1]
	}
	_, err = prepared.ExecContext(context.Background(), args...)
	return err
}

func (o *other) prepare(statement string) (*sql.Stmt, error) {
	if o.db == nil {
		dsn := url.URL{Scheme: "file", Path: o.path, RawQuery: fmt.Sprintf("mode=rw&_pragma=busy_timeout(%d)", o.wait.Milliseconds())}
		db, err := driver.Open(dsn.String())
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(1)
		o.db, o.prepared = db, map[string]*sql.Stmt{}
	}
	if o.prepared[statement] == nil {
		prepared, err := o.db.PrepareContext(context.Background(), statement)
		if err != nil {
			return nil, err
		}
		o.prepared[statement] = prepared
	}
	return o.prepared[statement], nil
}
