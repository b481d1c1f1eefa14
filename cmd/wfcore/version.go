package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/pi-workflows/wfcore/core/layout"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

type versionInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Go       string `json:"go"`
	SQLite   string `json:"sqlite"`
	SchemaID string `json:"schemaId"`
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of wfcore, Go, SQLite and the schema",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.version(cmd.Context()) },
	}
}

func (a *app) version(ctx context.Context) error {
	lib, err := sqlite.Version(ctx)
	if err != nil {
		return err
	}
	v := versionInfo{Version: "unknown", Commit: "unknown", Go: runtime.Version(), SQLite: lib, SchemaID: layout.SchemaID}
	v.readBuild()
	return a.out.show(v, fmt.Sprintf("wfcore %s\ncommit %s\ngo     %s\nsqlite %s\nschema %s",
		v.Version, v.Commit, v.Go, v.SQLite, v.SchemaID))
}

func (v *versionInfo) readBuild() {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return
	}
	v.Version = info.Main.Version
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			v.Commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = " (modified)"
		}
	}
	v.Commit += dirty
}
