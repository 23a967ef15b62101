// Package docs has tests of what the documents here say.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// behaviours is how many rows the table has.
const behaviours = 86

var (
	row  = regexp.MustCompile(`(?m)^\| (\d+) \| ([^|]+) \|[^|]*\| ([^|]+) \|$`)
	name = regexp.MustCompile("`([^`]+)`")
	goID = regexp.MustCompile(`^([a-z]+)\.((?:Test|Fuzz|Example)\w+)$`)
)

// Every test that the table of conformance names exists.
func TestConformanceTable(t *testing.T) {
	text, err := os.ReadFile("rdap-conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := make(map[string]string) // source of the tests of a package
	for n, cells := range row.FindAllStringSubmatch(string(text), -1) {
		if cells[1] != strconv.Itoa(n+1) {
			t.Fatalf("row %s stands where %d should", cells[1], n+1)
		}
		named := name.FindAllStringSubmatch(cells[3], -1)
		if len(named) == 0 && !strings.HasPrefix(cells[3], "not done: ") {
			t.Errorf("row %s names no test", cells[1])
		}
		for _, one := range named {
			if err := exists(one[1], tests); err != "" {
				t.Errorf("row %s: %s", cells[1], err)
			}
		}
		if n+1 == behaviours {
			return
		}
	}
	t.Errorf("the table has fewer than %d rows", behaviours)
}

// exists says what is wrong with the name of a test, if anything is.
func exists(test string, tests map[string]string) string {
	if strings.HasSuffix(test, ".txtar") {
		if _, err := os.Stat(filepath.Join("..", "cmd", "rdapq", "testdata", filepath.FromSlash(test))); err != nil {
			return err.Error()
		}
		return ""
	}
	parts := goID.FindStringSubmatch(test)
	if parts == nil {
		return test + " is no name of a test"
	}
	pkg := parts[1]
	if _, ok := tests[pkg]; !ok {
		tests[pkg] = ""
		for _, folder := range []string{pkg, filepath.Join("internal", pkg), filepath.Join("cmd", pkg)} {
			files, _ := filepath.Glob(filepath.Join("..", folder, "*_test.go")) // the pattern is right
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
