// Package sql carries the hand-written SQL of the store, so that every face
// runs the same text.
package sql

import (
	_ "embed"
	"strings"
)

// Schema is schema.sql: the exact v1 layout. Each statement can be repeated.
//
//go:embed schema.sql
var Schema string

// Statements are those of the schema, one by one and in order, for a driver that
// takes one at a time.
func Statements() []string {
	lines := []string{}
	for line := range strings.Lines(Schema) {
		if !strings.HasPrefix(line, "--") {
			lines = append(lines, line)
		}
	}
	all := []string{}
	for _, statement := range strings.Split(strings.Join(lines, ""), ";\n") {
		if statement = strings.TrimSpace(statement); statement != "" {
			all = append(all, statement)
		}
	}
	return all
}

// TempIntents makes an empty table of intents for a connection that only reads a
// store that has none: what is temporary is not in the file.
func TempIntents() string {
	const create, name = "CREATE TABLE IF NOT EXISTS ", "workflow_turn_intents ("
	_, columns, _ := strings.Cut(Schema, create+name)
	columns, _, _ = strings.Cut(columns, ";")
	return "CREATE TEMP TABLE IF NOT EXISTS " + name + columns
}
