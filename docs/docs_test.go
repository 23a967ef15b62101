// Package docs tests the documents in this directory, and README.
package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// behaviours is the number of rows in the table of conformance.
const behaviours = 86

var (
	row  = regexp.MustCompile(`(?m)^\| (\d+) \| ([^|]+) \|[^|]*\| ([^|]+) \|$`)
	name = regexp.MustCompile("`([^`]+)`")
	goID = regexp.MustCompile(`^([a-z]+)\.((?:Test|Fuzz|Example)\w+)$`)
)

// TestConformanceTable checks that every test named in the table exists.
func TestConformanceTable(t *testing.T) {
	text := read(t, "docs/rdap-conformance.md")
	tests := make(map[string]string) // source code of the tests of a package
	for n, cells := range row.FindAllStringSubmatch(text, -1) {
		if cells[1] != strconv.Itoa(n+1) {
			t.Fatalf("row %s where row %d should be", cells[1], n+1)
		}
		named := name.FindAllStringSubmatch(cells[3], -1)
		if len(named) == 0 && !strings.HasPrefix(cells[3], "not done: ") {
			t.Errorf("row %s names no test", cells[1])
		}
		for _, one := range named {
			if err := missing(one[1], tests); err != "" {
				t.Errorf("row %s: %s", cells[1], err)
			}
		}
		if n+1 == behaviours {
			return
		}
	}
	t.Errorf("the table has fewer than %d rows", behaviours)
}

// missing describes the problem with the name of a test, or returns "".
func missing(test string, tests map[string]string) string {
	if strings.HasSuffix(test, ".txtar") {
		if _, err := os.Stat(filepath.Join("..", "cmd", "rdapq", "testdata", filepath.FromSlash(test))); err != nil {
			return err.Error()
		}
		return ""
	}
	parts := goID.FindStringSubmatch(test)
	if parts == nil {
		return test + " is not the name of a test"
	}
	pkg := parts[1]
	if _, ok := tests[pkg]; !ok {
		tests[pkg] = ""
		for _, dir := range []string{pkg, filepath.Join("internal", pkg), filepath.Join("cmd", pkg)} {
			files, _ := filepath.Glob(filepath.Join("..", dir, "*_test.go")) // the pattern is valid
			for _, file := range files {
				source, err := os.ReadFile(file)
				if err != nil {
					return err.Error()
				}
				tests[pkg] += string(source)
			}
		}
	}
	if !strings.Contains(tests[pkg], "\nfunc "+parts[2]+"(") {
		return "there is no " + test
	}
	return ""
}

// read returns a file of the repository.
func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// documents returns the text of all documents, by name.
func documents(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.md")
	if err != nil || len(files) < 9 {
		t.Fatalf("documents %q: %v", files, err)
	}
	all := make(map[string]string)
	for _, file := range append(files, "../README.md", "../CONTRIBUTING.md", "../bench/README.md") {
		file = filepath.ToSlash(filepath.Join("docs", file))
		all[file] = read(t, file)
	}
	return all
}

// TestReadmeIsShort limits the length of README.
func TestReadmeIsShort(t *testing.T) {
	if n := strings.Count(read(t, "README.md"), "\n"); n > 160 {
		t.Errorf("%d lines", n)
	}
}

// goBlock matches an example in Go.
var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// TestGoExamples checks that every Go example of a document is in examples_test.go, where
// an example function calls it unless it is a test.
func TestGoExamples(t *testing.T) {
	source := read(t, "docs/examples_test.go")
	shown := 0
	for file, text := range documents(t) {
		for _, block := range goBlock.FindAllStringSubmatch(text, -1) {
			shown++
			if !strings.Contains(source, "\n"+block[1]+"\n") {
				t.Errorf("%s: examples_test.go does not have\n%s", file, block[1])
			}
			_, rest, _ := strings.Cut(block[1], "func ")
			if function, _, _ := strings.Cut(rest, "("); !strings.HasPrefix(function, "Test") && strings.Count(source, function+"(") < 2 {
				t.Errorf("%s: nothing calls %s", file, function)
			}
		}
	}
	if shown < 10 {
		t.Errorf("%d examples", shown)
	}
}

var (
	fenced = regexp.MustCompile("(?ms)^```.*?^```$")
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	title  = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// anchor returns the fragment of a heading, as GitHub forms it.
func anchor(heading string) string {
	heading = regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(heading), "")
	return strings.ReplaceAll(heading, " ", "-")
}

// TestLinks checks that every link to a file of the repository, or to a heading, has a
// target.
func TestLinks(t *testing.T) {
	for file, text := range documents(t) {
		for _, to := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			if strings.Contains(to[1], "://") {
				continue
			}
			path, fragment, _ := strings.Cut(to[1], "#")
			target := filepath.ToSlash(filepath.Join(filepath.Dir(file), path))
			if path == "" {
				target = file
			}
			if _, err := os.Stat(filepath.Join("..", target)); err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			if fragment != "" && !slices.ContainsFunc(title.FindAllStringSubmatch(read(t, target), -1), func(h []string) bool { return anchor(h[1]) == fragment }) {
				t.Errorf("%s: %s has no heading %s", file, target, fragment)
			}
		}
	}
}

var (
	inline   = regexp.MustCompile("`([^`\n]+)`")
	testName = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w+`)
	exported = regexp.MustCompile(`\b(client|rdap|pool|bootstrap|limit|openrdap)\.([A-Z]\w+)(?:\.([A-Z]\w+))?`)
	target   = regexp.MustCompile(`^make ([a-z]+)$`)
)

// TestNames checks that the tests, exported names and make targets in inline code exist.
func TestNames(t *testing.T) {
	tests, declared := declarations(t)
	makefile := read(t, "Makefile")
	seen := 0
	for file, text := range documents(t) {
		for _, code := range inline.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			for _, test := range testName.FindAllString(code[1], -1) {
				seen++
				if !tests[test] {
					t.Errorf("%s: there is no test %s", file, test)
				}
			}
			for _, id := range exported.FindAllStringSubmatch(code[1], -1) {
				if testName.MatchString(id[2]) || strings.HasPrefix(id[2], "Example") {
					continue
				}
				seen++
				for _, part := range id[2:] {
					if part != "" && !declared[id[1]+"."+part] {
						t.Errorf("%s: %s has no %s", file, id[1], part)
					}
				}
			}
			if made := target.FindStringSubmatch(code[1]); made != nil && !strings.Contains(makefile, "\n"+made[1]+":") {
				t.Errorf("%s: there is no target %s", file, made[1])
			}
		}
	}
	if seen < 150 {
		t.Errorf("the documents have %d names", seen)
	}
}

// declarations returns the names of all tests, and the declarations of the public packages.
// Examples are "client.Config" and, for fields and methods, "client.Timeout".
func declarations(t *testing.T) (tests, declared map[string]bool) {
	t.Helper()
	tests, declared = make(map[string]bool), make(map[string]bool)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		isTest := strings.HasSuffix(path, "_test.go")
		public := filepath.Dir(filepath.Dir(path)) == ".." && !isTest
		ast.Inspect(file, func(n ast.Node) bool {
			var ids []*ast.Ident
			switch n := n.(type) {
			case *ast.FuncDecl:
				if isTest {
					tests[n.Name.Name] = true
				}
				ids = append(ids, n.Name)
			case *ast.TypeSpec:
				ids = append(ids, n.Name)
			case *ast.ValueSpec:
				ids = n.Names
			case *ast.Field:
				ids = n.Names
			}
			for _, id := range ids {
				if public && id.IsExported() {
					declared[file.Name.Name+"."+id.Name] = true
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests, declared
}

// maxWords is the maximum length of a sentence in a document.
const maxWords = 25

var (
	tableRow   = regexp.MustCompile(`(?m)^\|.*$|^\t.*$`)
	blockStart = regexp.MustCompile(`(?m)^ *(?:[-*] |\d+\. |#+ .*$)|\n\n`)
	sentence   = regexp.MustCompile(`[.?!]\)?(?:\*\*)?\s`)
)

// TestSentences checks that sentences outside of tables and examples are not too long.
func TestSentences(t *testing.T) {
	for file, text := range documents(t) {
		text = tableRow.ReplaceAllString(fenced.ReplaceAllString(text, "\n\n"), "\n\n")
		text = link.ReplaceAllString(inline.ReplaceAllString(text, "code"), "]")
		for _, block := range blockStart.Split(text, -1) {
			for _, s := range sentence.Split(block, -1) {
				if n := len(strings.Fields(s)); n > maxWords {
					t.Errorf("%s: %d words: %s", file, n, strings.Join(strings.Fields(s), " "))
				}
			}
		}
	}
}
