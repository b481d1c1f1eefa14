package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// source is what reflection cannot tell of the core: comments, and the constants of
// a type, which are the only complete list of its values.
type source struct {
	// docs are comments, by "Type" and "Type.Field".
	docs map[string]string
	// values are the constants of a type, in the order in which they are declared.
	values map[string][]constant
}

type constant struct{ value, comment string }

func readSource(dir string) (*source, error) {
	s := &source{map[string]string{}, map[string][]constant{}}
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		s.add(file)
	}
	return s, nil
}

func (s *source) add(file *ast.File) {
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range group.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				s.addType(group, spec)
			case *ast.ValueSpec:
				s.addConstant(group, spec)
			}
		}
	}
}

func (s *source) addType(group *ast.GenDecl, spec *ast.TypeSpec) {
	name := spec.Name.Name
	s.docs[name] = oneLine(group.Doc)
	object, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range object.Fields.List {
		for _, ident := range field.Names {
			s.docs[name+"."+ident.Name] = oneLine(field.Doc)
		}
	}
}

func (s *source) addConstant(group *ast.GenDecl, spec *ast.ValueSpec) {
	of, ok := spec.Type.(*ast.Ident)
	if group.Tok != token.CONST || !ok || len(spec.Values) != 1 {
		return
	}
	literal, ok := spec.Values[0].(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return
	}
	value, err := strconv.Unquote(literal.Value)
	if err == nil {
		s.values[of.Name] = append(s.values[of.Name], constant{value, oneLine(spec.Comment)})
	}
}

var goNil = regexp.MustCompile(`\b([Nn])il\b`)

// oneLine is the first paragraph of a comment, as one line in the words of JavaScript.
func oneLine(comment *ast.CommentGroup) string {
	first, _, _ := strings.Cut(comment.Text(), "\n\n")
	text := strings.Join(strings.Fields(first), " ")
	return goNil.ReplaceAllString(text, "${1}ull")
}
