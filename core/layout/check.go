package layout

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"unicode"
)

// State tells what a database needs before it can serve as a controller store.
type State int

const (
	// New is a database without anything, or with an empty schema_info only:
	// the whole of schema.sql is to be made.
	New State = iota + 1

	// NoIntents is a v1 store that lacks the table workflow_turn_intents,
	// which is to be made.
	NoIntents

	// Current is a complete v1 store.
	Current
)

// Check looks at the main database. Where it is neither empty nor a v1 store,
// the error is an *[Incompatible]. Nothing is written.
func Check(ctx context.Context, q Queryer) (State, error) {
	s, err := readStore(ctx, q)
	if err != nil {
		return 0, err
	}
	if len(s.objects) == 0 {
		return New, nil
	}

	if !s.hasOurTables() {
		return 0, incompatible([]string{"table schema_info is missing: the database is no controller store"})
	}

	found := s.compare()
	info, err := schemaInfo(ctx, q, found)
	if err != nil {
		return 0, err
	}
	if info.empty && len(s.objects) == 1 {
		return New, nil
	}
	pending, err := pendingLaunchFailures(ctx, q, found)
	if err != nil {
		return 0, err
	}

	differences := append(info.differences, pending...)
	for _, name := range tableNames {
		differences = append(differences, found[name]...)
	}
	if len(differences) > 0 {
		return 0, incompatible(differences)
	}
	if s.object(intentsTable) == nil {
		return NoIntents, nil
	}
	return Current, nil
}

// maxDifferences bounds an error; what lies beyond is counted.
const maxDifferences = 20

// Incompatible is the error of a database that is not a v1 store.
type Incompatible struct {
	// Differences are short sentences in a fixed order. Of more than 20, the
	// last one tells how many were left out.
	Differences []string
}

func incompatible(differences []string) *Incompatible {
	if more := len(differences) - maxDifferences; more > 0 {
		differences = append(differences[:maxDifferences:maxDifferences], fmt.Sprintf("and %d more", more))
	}
	return &Incompatible{differences}
}

// Error tells what differs and what to do.
func (e *Incompatible) Error() string {
	return "not a v1 controller store: " + strings.Join(e.Differences, "; ") + ". " + e.ResetText()
}

// ResetText tells what to do. Run bundles lie beside the store and outlive it.
func (*Incompatible) ResetText() string {
	return "Nothing was changed, migrated or deleted. " +
		"Preserve the run bundles that are still needed, then reset the project's controller store."
}

// infoRows is what the rows of schema_info tell.
type infoRows struct {
	empty       bool
	differences []string
}

type infoRow struct {
	singleton int64
	id        string
	isText    bool
	isV1      bool
}

// SQLite compares the id, so that nothing a driver does to text matters.
// Two rows are enough to know that there are too many.
const schemaInfoQuery = `
SELECT singleton, coalesce(substr(CAST(schema_id AS TEXT), 1, 200), ''),
  typeof(schema_id) = 'text', schema_id IS ?1
FROM main.schema_info
ORDER BY singleton
LIMIT 2`

// schemaInfo reads rows only where the table itself is as expected.
func schemaInfo(ctx context.Context, q Queryer, found map[string][]string) (infoRows, error) {
	if len(found["schema_info"]) > 0 {
		return infoRows{}, nil
	}
	rows, err := readAll(ctx, q, "schema_info", scanInfoRow, schemaInfoQuery, SchemaID)
	if err != nil {
		return infoRows{}, err
	}
	if len(rows) == 0 {
		return infoRows{empty: true, differences: []string{"schema_info holds no row"}}, nil
	}
	return infoRows{differences: rowDifferences(rows)}, nil
}

func scanInfoRow(rows *sql.Rows) (r infoRow, err error) {
	err = rows.Scan(&r.singleton, &r.id, &r.isText, &r.isV1)
	return r, err
}

func rowDifferences(rows []infoRow) []string {
	first := rows[0]
	switch {
	case len(rows) > 1:
		return []string{"schema_info holds more than one row"}
	case !first.isText:
		return []string{"schema_info holds a schema id that is not text"}
	case !first.isV1:
		return []string{fmt.Sprintf("schema_info holds schema id %q, not %q", printable(first.id), SchemaID)}
	case first.singleton != 1:
		return []string{fmt.Sprintf("schema_info holds its row under %d, not 1", first.singleton)}
	}
	return nil
}

const pendingQuery = `
SELECT count(*) FROM main.workflow_notifications
WHERE kind = 'launch_failure' AND delivered_at IS NULL`

// pendingLaunchFailures counts notifications that nobody would deliver any
// more: v1 reports a failed launch by an intent instead.
func pendingLaunchFailures(ctx context.Context, q Queryer, found map[string][]string) ([]string, error) {
	if len(found["workflow_notifications"]) > 0 {
		return nil, nil
	}
	counts, err := readAll(ctx, q, "workflow_notifications", scanCount, pendingQuery)
	if err != nil || counts[0] == 0 {
		return nil, err
	}
	if counts[0] == 1 {
		return []string{"1 pending launch_failure notification"}, nil
	}
	return []string{fmt.Sprintf("%d pending launch_failure notifications", counts[0])}, nil
}

func scanCount(rows *sql.Rows) (n int, err error) {
	err = rows.Scan(&n)
	return n, err
}

// maxPrinted bounds a foreign text, in runes.
const maxPrinted = 80

// printable bounds a foreign text and replaces what a terminal might obey.
func printable(s string) string {
	runes := make([]rune, 0, maxPrinted)
	for _, r := range s {
		if len(runes) == maxPrinted {
			return string(runes) + "…"
		}
		if !unicode.IsPrint(r) {
			r = '?'
		}
		runes = append(runes, r)
	}
	return string(runes)
}
