package render

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/client"
)

// TestRecordedAnswers formats responses recorded from servers in every format.
func TestRecordedAnswers(t *testing.T) {
	dir := os.Getenv("RDAPQ_SHARED")
	if dir == "" {
		t.Skip("RDAPQ_SHARED does not say where recorded answers are")
	}
	files, err := filepath.Glob(filepath.Join(dir, "bodies", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no bodies in %s: %v", dir, err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			r := &client.Result{Query: client.Query{Text: "q", Name: "q", Type: client.TypeDomain}, Verdict: client.Found, Raw: raw, Time: noon}
			text := string(AppendText(nil, r, TextOptions{Now: noon, Width: 100}))
			t.Logf("\n%s", text)
			for _, text := range []string{text, string(AppendText(nil, r, TextOptions{Verbose: true}))} {
				checkText(t, text, false)
				for _, never := range []string{"0001-01-01", "<nil>", "%!"} {
					if strings.Contains(text, never) {
						t.Errorf("%q in\n%s", never, text)
					}
				}
			}
			checkRow(t, AppendRow(nil, r))
			checkTable(t, r)
		})
	}
}
