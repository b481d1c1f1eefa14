// Command genlayout writes the layout that sql/schema.sql makes, as JSON.
package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	_ "github.com/ncruces/go-sqlite3/driver"

	"github.com/pi-workflows/wfcore/core/layout"
	schema "github.com/pi-workflows/wfcore/sql"
)

func main() {
	out := flag.String("o", "v1.json", "the file to write")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "genlayout:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	generated, err := generate(context.Background())
	if err != nil {
		return err
	}
	return os.WriteFile(out, generated, 0o644)
}

// generate builds the schema in memory and reads its layout.
func generate(ctx context.Context) ([]byte, error) {
	db, err := sql.Open("sqlite3", ":memory:")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, schema.Schema); err != nil {
		return nil, err
	}
	l, err := layout.Read(ctx, db)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	err = encoder.Encode(l)
	return b.Bytes(), err
}
