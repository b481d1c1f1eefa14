package layout

import (
	"context"
	"database/sql"
	"fmt"
)

// Read describes the controller store's tables in the main database. Tables
// that are absent, or are a view or a virtual table, are left out.
func Read(ctx context.Context, q Queryer) (Layout, error) {
	s, err := readStore(ctx, q)
	return s.layout, err
}

// store is what one look at a database sees of its schema.
type store struct {
	objects []object // all of the database, without SQLite's own
	layout  Layout
}

// object is a table, view, index or trigger.
type object struct {
	kind, name, table, sql string
}

// Reserved words that are column names here are quoted. Foreign tables are
// kept out of the pragmas: one of a module that is not loaded would fail there.
const (
	objectsQuery = `
SELECT CASE WHEN type = 'table' AND rootpage = 0 THEN 'virtual table' ELSE type END,
  name, tbl_name, coalesce(sql, '')
FROM main.sqlite_schema
ORDER BY type, name`

	columnsQuery = `
SELECT s.name, c.name, c.type, c."notnull", c.dflt_value, c.pk, c.hidden
FROM main.sqlite_schema AS s JOIN pragma_table_xinfo(s.name, 'main') AS c
WHERE s.type = 'table' AND s.rootpage > 0
  AND lower(s.name) IN (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ORDER BY s.name, c.cid`

	foreignKeysQuery = `
SELECT s.name, f.id, f."from", f."table", coalesce(f."to", ''), f.on_delete, f.on_update
FROM main.sqlite_schema AS s JOIN pragma_foreign_key_list(s.name, 'main') AS f
WHERE s.type = 'table' AND s.rootpage > 0
  AND lower(s.name) IN (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ORDER BY s.name, f.id, f.seq`

	indexesQuery = `
SELECT s.name, i.name, i."unique", i.origin,
  coalesce(x.name, '(expression)')
    || CASE WHEN upper(x.coll) <> 'BINARY' THEN ' COLLATE ' || x.coll ELSE '' END
    || CASE WHEN x."desc" THEN ' DESC' ELSE '' END
FROM main.sqlite_schema AS s
  JOIN pragma_index_list(s.name, 'main') AS i
  JOIN pragma_index_xinfo(i.name, 'main') AS x
WHERE s.type = 'table' AND s.rootpage > 0 AND x."key"
  AND lower(s.name) IN (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ORDER BY s.name, i.name, x.seqno`
)

// of pairs what a query found with the table it belongs to.
type of[T any] struct {
	table string
	value T
}

func readStore(ctx context.Context, q Queryer) (store, error) {
	objects, err := readAll(ctx, q, "objects", scanObject, objectsQuery)
	if err != nil {
		return store{}, err
	}
	columns, err := readAll(ctx, q, "columns", scanColumn, columnsQuery, names()...)
	if err != nil {
		return store{}, err
	}
	foreignKeys, err := readAll(ctx, q, "foreign keys", scanForeignKey, foreignKeysQuery, names()...)
	if err != nil {
		return store{}, err
	}
	indexes, err := readAll(ctx, q, "indexes", scanIndex, indexesQuery, names()...)
	if err != nil {
		return store{}, err
	}

	s := store{layout: Layout{Tables: map[string]Table{}}}
	for _, o := range objects {
		if !isInternal(o.name) {
			s.objects = append(s.objects, o)
		}
	}
	for _, name := range tableNames {
		if o := s.object(name); o != nil && o.kind == "table" {
			s.layout.Tables[name] = s.table(*o, columns, foreignKeys, indexes)
		}
	}
	return s, nil
}

// table puts together what was found of one table.
func (s store) table(o object, columns []of[Column], foreignKeys []of[ForeignKey], indexes []of[Index]) Table {
	ddl := parseTable(o.sql)
	return Table{
		Columns:       belonging(o.name, columns),
		Checks:        ddl.checks,
		Autoincrement: ddl.autoincrement,
		Strict:        ddl.strict,
		WithoutRowID:  ddl.withoutRowID,
		Clauses:       ddl.clauses,
		ForeignKeys:   belonging(o.name, foreignKeys),
		Indexes:       s.joinIndexes(belonging(o.name, indexes)),
		Triggers:      s.triggers(o.name),
	}
}

// joinIndexes makes one index of the rows that each tell one of its columns.
func (s store) joinIndexes(rows []Index) []Index {
	indexes := []Index{}
	for _, row := range rows {
		last := len(indexes) - 1
		if last >= 0 && indexes[last].Name == row.Name {
			indexes[last].Columns = append(indexes[last].Columns, row.Columns...)
			continue
		}
		row.Where = s.predicate(row.Name)
		indexes = append(indexes, row)
	}
	return indexes
}

func (s store) predicate(index string) *string {
	for _, o := range s.objects {
		if o.kind == "index" && o.name == index {
			return parsePredicate(o.sql)
		}
	}
	return nil
}

func (s store) triggers(table string) []string {
	var names []string
	for _, o := range s.objects {
		if o.kind == "trigger" && lower(o.table) == lower(table) {
			names = append(names, o.name)
		}
	}
	return names
}

// object finds the table or view of this name, in any case of letters.
func (s store) object(name string) *object {
	for i, o := range s.objects {
		if o.kind != "index" && o.kind != "trigger" && lower(o.name) == name {
			return &s.objects[i]
		}
	}
	return nil
}

// isInternal tells whether SQLite made the object itself.
func isInternal(name string) bool {
	return len(name) >= 7 && lower(name[:7]) == "sqlite_"
}

func names() []any {
	args := make([]any, len(tableNames))
	for i, name := range tableNames {
		args[i] = name
	}
	return args
}

func belonging[T any](table string, rows []of[T]) []T {
	values := []T{}
	for _, row := range rows {
		if row.table == table {
			values = append(values, row.value)
		}
	}
	return values
}

func readAll[T any](
	ctx context.Context, q Queryer, what string,
	scan func(*sql.Rows) (T, error), query string, args ...any,
) (values []T, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("layout: read %s: %w", what, err)
		}
	}()
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		value, err := scan(rows)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, rows.Err()
}

func scanObject(rows *sql.Rows) (o object, err error) {
	err = rows.Scan(&o.kind, &o.name, &o.table, &o.sql)
	return o, err
}

func scanColumn(rows *sql.Rows) (c of[Column], err error) {
	v := &c.value
	var hidden int
	err = rows.Scan(&c.table, &v.Name, &v.Type, &v.NotNull, &v.Default, &v.PrimaryKey, &hidden)
	v.Generated = hidden != 0
	return c, err
}

func scanForeignKey(rows *sql.Rows) (f of[ForeignKey], err error) {
	v := &f.value
	err = rows.Scan(&f.table, &v.Group, &v.From, &v.Table, &v.To, &v.OnDelete, &v.OnUpdate)
	return f, err
}

func scanIndex(rows *sql.Rows) (i of[Index], err error) {
	v := &i.value
	var origin, column string
	err = rows.Scan(&i.table, &v.Name, &v.Unique, &origin, &column)
	v.Origin = map[string]string{"c": originCreate, "u": originUnique, "pk": originPrimary}[origin]
	v.Columns = []string{column}
	return i, err
}
