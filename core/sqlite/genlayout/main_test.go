package main

import (
	"bytes"
	"context"
	"os"
	"testing"
)

func TestV1JSONIsUpToDate(t *testing.T) {
	want, err := generate(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("../../layout/v1.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Error("v1.json is out of date: run go generate ./core/layout")
	}
}
