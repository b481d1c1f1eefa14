// Package invariant says what holds of every store, whatever happened to it: at one
// instant (Check), between two (Between), of what was promised (Watch), and of the files
// (Absent, Private). The suites under prove and the tests of the core use it.
//
// Rows of another host promise less: it writes no feed, keeps private input while a run
// is running or parked, and does not look at leases. Look.Foreign says which those are.
package invariant

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// Row is a row by its columns; one that is NULL is missing.
type Row map[string]string

// Look is all that a store holds of runs and turns, at one instant.
type Look struct {
	Runs, Intents, Reports []Row
	Events                 []Row
	// Foreign says of a run that another host has written of it. Nil is none.
	Foreign func(runID string) bool
	// Messages are those of the sessions that name an intent. Nil is not known.
	Messages []Message
}

// Message is one that a session shows.
type Message struct{ SessionID, IntentID, CustomType string }

// Queryer is a connection to the store.
type Queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Read reads a store. It is not one transaction: nobody may write meanwhile.
func Read(ctx context.Context, q Queryer) (look Look, err error) {
	for _, table := range []struct {
		query string
		rows  *[]Row
	}{
		{"SELECT * FROM workflow_run_queue ORDER BY rowid", &look.Runs},
		{"SELECT * FROM workflow_turn_intents ORDER BY rowid", &look.Intents},
		{"SELECT * FROM workflow_notifications ORDER BY rowid", &look.Reports},
		{"SELECT * FROM run_events ORDER BY seq", &look.Events},
	} {
		if *table.rows, err = rows(q.QueryContext(ctx, table.query)); err != nil {
			return look, fmt.Errorf("%s: %w", table.query, err)
		}
	}
	return look, nil
}

// Sound says what is wrong with the file itself.
func Sound(ctx context.Context, q Queryer) (wrong []string, err error) {
	for _, query := range []string{
		"SELECT 'integrity: ' || integrity_check AS wrong FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
		"SELECT 'foreign key of ' || \"table\" AS wrong FROM pragma_foreign_key_check",
	} {
		found, err := rows(q.QueryContext(ctx, query))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", query, err)
		}
		for _, row := range found {
			wrong = append(wrong, row["wrong"])
		}
	}
	return wrong, nil
}

func rows(found *sql.Rows, err error) (all []Row, _ error) {
	if err != nil {
		return nil, err
	}
	defer found.Close()
	columns, err := found.Columns()
	if err != nil {
		return nil, err
	}
	for found.Next() {
		values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := found.Scan(into...); err != nil {
			return nil, err
		}
		row := Row{}
		for i, v := range values {
			if v.Valid {
				row[columns[i]] = v.String
			}
		}
		all = append(all, row)
	}
	return all, found.Err()
}

func (r Row) has(column string) bool { _, ok := r[column]; return ok }

// same says whether two rows are alike in some columns, or in all.
func (r Row) same(other Row, columns ...string) bool {
	if len(columns) == 0 {
		for column := range r {
			columns = append(columns, column)
		}
		if len(r) != len(other) {
			return false
		}
	}
	for _, column := range columns {
		if r[column] != other[column] || r.has(column) != other.has(column) {
			return false
		}
	}
	return true
}

func (l Look) foreign(runID string) bool { return l.Foreign != nil && l.Foreign(runID) }

// Feed is the types of a run's events.
func (l Look) Feed(runID string) (types []string) {
	for _, e := range l.Events {
		if e["run_id"] == runID {
			types = append(types, e["type"])
		}
	}
	return types
}

// Run is a run by its id, or nil.
func (l Look) Run(runID string) Row { return find(l.Runs, "run_id", runID) }

func find(rows []Row, key, value string) Row {
	for _, row := range rows {
		if row[key] == value {
			return row
		}
	}
	return nil
}

func (l Look) intentsOf(runID string) (of []Row) {
	for _, i := range l.Intents {
		if i["run_id"] == runID {
			of = append(of, i)
		}
	}
	return of
}

func (l Look) String() string {
	var text strings.Builder
	for _, rows := range [][]Row{l.Runs, l.Intents, l.Reports, l.Events} {
		for _, row := range rows {
			fmt.Fprintln(&text, map[string]string(row))
		}
	}
	return text.String()
}
