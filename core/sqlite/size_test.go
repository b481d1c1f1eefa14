//go:build !race

package sqlite

// manyRows are the old runs among which no query may take longer.
const manyRows = 100_000
