package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/pi-workflows/wfcore/"

// layer says what the packages of a directory may import, tests aside.
type layer struct {
	dir string
	// own are the module's packages that it may import.
	own []string
	// others are the packages from outside that it may import, by prefix.
	others []string
	// never are standard packages that it must not know.
	never []string
}

var noWorld = []string{"os", "os/exec", "os/signal", "net", "net/http", "path/filepath", "syscall", "log", "testing/fstest"}

// embedded is for what runs in the WebAssembly: its texts are scanned by hand, since
// regexp would make it larger, and slower on texts that others wrote.
var embedded = append([]string{"regexp", "regexp/syntax"}, noWorld...)

var layers = []layer{
	{dir: "sql", never: embedded},
	{dir: "db", never: embedded},
	{dir: "core/safetext", never: embedded},
	{dir: "core/strictjson", never: append([]string{"encoding/json"}, embedded...)},
	{dir: "core/layout", never: embedded},
	{dir: "core", own: []string{"db", "core/layout", "core/safetext", "core/strictjson"}, never: embedded},
	{dir: "core/conformance", own: []string{"core"}, never: noWorld},
	{dir: "core/hosttest", own: []string{"core"}, never: noWorld},
	{
		dir: "core/sqlite", own: []string{"core", "core/layout", "sql"},
		others: []string{"github.com/ncruces/go-sqlite3", "github.com/pressly/goose/v3"}, never: []string{"encoding/json"},
	},
	{
		dir: "core/sqlite/genlayout", own: []string{"core/layout", "sql"},
		others: []string{"github.com/ncruces/go-sqlite3"},
	},
	{dir: "js-host-shim/gentypes", own: []string{"core"}},
	{dir: "wasm/hostsql", own: []string{"core"}, never: embedded},
	{dir: "wasm/face", own: []string{"core", "core/layout", "sql", "wasm/hostsql"}, never: embedded},
	{dir: "wasm", own: []string{"wasm/face", "wasm/hostsql"}, never: embedded},
	{dir: "wasm/wasmtest", own: []string{"core"}, others: []string{"github.com/ncruces/go-sqlite3", "github.com/tetratelabs/wazero"}},
	{dir: "prove"},
	{dir: "prove/bench", own: []string{"core", "core/sqlite", "db"}, others: []string{"github.com/ncruces/go-sqlite3"}},
	{dir: "prove/invariant", own: []string{"core"}},
	{dir: "prove/scenario", own: []string{"core", "core/hosttest", "core/sqlite", "prove/invariant"}, others: []string{"github.com/ncruces/go-sqlite3"}},
	{
		dir: "cmd/wfcore", own: []string{"core", "core/hosttest", "core/layout", "core/safetext", "core/sqlite", "core/strictjson"},
		others: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"},
	},
}

func TestLayers(t *testing.T) {
	for dir, files := range goFiles(t) {
		i := slices.IndexFunc(layers, func(l layer) bool { return l.dir == dir })
		if i < 0 {
			t.Errorf("%s is in no layer", dir)
			continue
		}
		for _, file := range files {
			for _, spec := range file.Imports {
				path, _ := strconv.Unquote(spec.Path.Value)
				if !layers[i].allows(path) {
					t.Errorf("%s imports %s", dir, path)
				}
			}
		}
	}
}

func (l layer) allows(path string) bool {
	if own, ok := strings.CutPrefix(path, module); ok {
		return slices.Contains(l.own, own)
	}
	if strings.Contains(strings.Split(path, "/")[0], ".") {
		return slices.ContainsFunc(l.others, func(p string) bool { return strings.HasPrefix(path, p) })
	}
	return !slices.Contains(l.never, path)
}

// The core is told the time; it never looks.
func TestCoreReadsNoClock(t *testing.T) {
	for dir, files := range goFiles(t) {
		if !strings.HasPrefix(dir, "core") || strings.HasPrefix(dir, "core/sqlite") {
			continue
		}
		for _, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok {
					pkg, isIdent := sel.X.(*ast.Ident)
					if isIdent && pkg.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "After", "Sleep", "NewTimer", "NewTicker", "Tick"}, sel.Sel.Name) {
						t.Errorf("%s uses time.%s", dir, sel.Sel.Name)
					}
				}
				return true
			})
		}
	}
}

// goFiles parses the module's files by directory, tests aside.
func goFiles(t *testing.T) map[string][]*ast.File {
	t.Helper()
	root := filepath.Join("..", "..")
	all := map[string][]*ast.File{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if d.Name() == "node_modules" {
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		all[filepath.ToSlash(dir)] = append(all[filepath.ToSlash(dir)], file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
