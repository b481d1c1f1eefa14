//go:build race

package sqlite

// The race detector makes SQLite itself, which is Go here, ten times slower.
const manyRows = 10_000
