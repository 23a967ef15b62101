package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// documented are the packages whose exported names all have a comment: types, functions,
// methods, fields, constants and variables.
var documented = []string{"bootstrap", "limit", "pool"}

func TestExportedNamesAreDocumented(t *testing.T) {
	for _, dir := range documented {
		files, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		set, n := token.NewFileSet(), 0
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tree, err := parser.ParseFile(set, file, source, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for name, comments := range exportedNames(tree) {
				n++
				if strings.TrimSpace(comments) == "" {
					t.Errorf("%s: %s has no comment", file, name)
				}
			}
		}
		if n < 10 {
			t.Errorf("%s: found only %d exported names", dir, n)
		}
	}
}

// exportedNames returns the comments of the exported names in a file.
func exportedNames(tree *ast.File) map[string]string {
	names := make(map[string]string)
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				receiver := strings.TrimPrefix(receiverName(d.Recv.List[0].Type), "*")
				if !ast.IsExported(receiver) {
					continue
				}
				name = receiver + "." + name
			}
			if d.Name.IsExported() {
				names[name] = d.Doc.Text()
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				exportedSpec(names, s, d.Doc.Text())
			}
		}
	}
	return names
}

// exportedSpec adds the names of a declaration. group is the comment of its group.
func exportedSpec(names map[string]string, s ast.Spec, group string) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if name.IsExported() {
				names[name.Name] = s.Doc.Text() + s.Comment.Text() + group
			}
		}
	case *ast.TypeSpec:
		if !s.Name.IsExported() {
			return
		}
		names[s.Name.Name] = s.Doc.Text() + group
		switch of := s.Type.(type) {
		case *ast.StructType:
			exportedFields(names, s.Name.Name, of.Fields)
		case *ast.InterfaceType:
			exportedFields(names, s.Name.Name, of.Methods)
		}
	}
}

// exportedFields adds the fields of a struct, or the methods of an interface. A comment also
// documents the fields that follow without a blank line or a comment of their own, if it has
// their names.
func exportedFields(names map[string]string, parent string, fields *ast.FieldList) {
	above := ""
	for _, f := range fields.List {
		comment := f.Doc.Text() + f.Comment.Text()
		if f.Doc != nil {
			above = f.Doc.Text()
		}
		for _, name := range f.Names {
			if !name.IsExported() {
				continue
			}
			if comment == "" && strings.Contains(above, name.Name) {
				comment = above
			}
			names[parent+"."+name.Name] = comment
		}
	}
}

func receiverName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiverName(t.X)
	case *ast.IndexExpr:
		return receiverName(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}
