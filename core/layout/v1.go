package layout

import (
	_ "embed"
	"encoding/json"
	"sync"
)

// v1.json is read off a database that sql/schema.sql made, so that the DDL
// stays the only truth.
//
//go:generate go run ../sqlite/genlayout -o v1.json
//go:embed v1.json
var v1JSON []byte

// v1 is for reading only.
var v1 = sync.OnceValue(V1)

// V1 gives the layout that schema.sql makes. The caller owns it.
func V1() Layout {
	var l Layout
	if err := json.Unmarshal(v1JSON, &l); err != nil {
		panic("layout: the embedded v1.json is broken: " + err.Error())
	}
	return l
}
