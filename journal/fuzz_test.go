package journal

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzOpen opens a journal with arbitrary content. Open either refuses it, or resumes
// with exactly its complete rows.
func FuzzOpen(f *testing.F) {
	f.Add(`{"line":1,"verdict":"registered"}` + "\n" + `{"line":2,"verdict":"failed"}` + "\n" + `{"li`)
	f.Add(`{"verdict":"found","rdap":{"line":2},"line":3}` + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" {
			return
		}
		o := options(t.TempDir(), NDJSON, false)
		j, err := Open(o.Path, o.Config)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(o.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		whole := text[:strings.LastIndexByte(text, '\n')+1]
		j, err = Open(o.Path, o.Config)
		if err != nil {
			if after, err := os.ReadFile(o.Path); err != nil || string(after) != text {
				t.Errorf("refused and changed: %q, %v", after, err)
			}
			return
		}
		defer j.Close()
		kept := make(map[int64]bool)
		for row := range strings.Lines(whole) {
			var r map[string]any
			if json.Unmarshal([]byte(row), &r) != nil || strings.Count(row, `"line"`) != 1 || strings.Count(row, `"verdict"`) != 1 {
				continue // a line may have several rows
			}
			line, isNumber := r["line"].(float64)
			verdict, isText := r["verdict"].(string)
			if isNumber && isText && verdict != "failed" && line > 0 && line < 1<<50 && line == float64(int64(line)) {
				kept[int64(line)] = true
			}
		}
		for line := range kept {
			if ask, err := j.Begin(line); ask || err != nil {
				t.Errorf("line %d has a row and is queried again, %v", line, err)
			}
		}
		left, err := os.ReadFile(o.Path)
		if err != nil || len(left) > len(whole) {
			t.Errorf("the file holds %q, %v", left, err)
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(o.Path), "out.rdapq-new")); err == nil {
			t.Error("the copy is left")
		}
	})
}
