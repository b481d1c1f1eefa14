// Package sql carries the hand-written SQL of the store, so that every face
// runs the same text.
package sql

import _ "embed"

// Schema is schema.sql: the exact v1 layout. Each statement can be repeated.
//
//go:embed schema.sql
var Schema string
