package layout

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	schema "github.com/pi-workflows/wfcore/sql"
)

func TestV1IsWhatTheSchemaMakes(t *testing.T) {
	have, err := Read(context.Background(), build(t, schema.Schema))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(have, V1()) {
		t.Error("v1.json is out of date: run go generate ./core/layout")
	}
}

func TestV1IsOwnedByTheCaller(t *testing.T) {
	V1().Tables["events"].Columns[0].Name = "other"
	if V1().Tables["events"].Columns[0].Name != "seq" {
		t.Error("a caller changed V1 for all")
	}
}

func TestSchemaIDIsWhatTheSchemaInserts(t *testing.T) {
	if !strings.Contains(schema.Schema, "VALUES (1, '"+SchemaID+"')") {
		t.Errorf("schema.sql does not insert %s", SchemaID)
	}
}

func TestTableNamesAreThoseOfTheSchema(t *testing.T) {
	var want []string
	for _, table := range parseSchema(t).tables {
		want = append(want, table.name)
	}
	if !slices.Equal(tableNames[:], want) {
		t.Errorf("have %v, schema.sql makes %v", tableNames, want)
	}
}

// The facts were read off a file that another host wrote.
func TestSchemaMakesWhatOtherHostsWrite(t *testing.T) {
	var facts struct {
		Layout
		SchemaInfo []struct {
			Singleton int    `json:"singleton"`
			SchemaID  string `json:"schema_id"`
		} `json:"schemaInfo"`
		Pragmas map[string]any `json:"pragmas"`
	}
	text, err := os.ReadFile("testdata/v1-layout.json")
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&facts); err != nil {
		t.Fatal(err)
	}
	for _, table := range facts.Tables {
		for i := range table.ForeignKeys {
			table.ForeignKeys[i].OnUpdate = "NO ACTION" // the facts leave the default out
		}
	}

	have, err := Read(context.Background(), build(t, schema.Schema))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range facts.Tables {
		if got := have.Tables[name]; !reflect.DeepEqual(got, want) {
			t.Errorf("table %s:\n have %+v\n want %+v", name, got, want)
		}
	}
	for name := range have.Tables {
		if _, known := facts.Tables[name]; !known {
			t.Errorf("table %s is in schema.sql only", name)
		}
	}
	if len(facts.SchemaInfo) != 1 || facts.SchemaInfo[0].SchemaID != SchemaID {
		t.Errorf("the facts hold schema id %+v", facts.SchemaInfo)
	}
}
