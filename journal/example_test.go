package journal_test

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/rdapq/rdapq/journal"
)

// names is the input.
var names = []string{"alpha.example", "beta.example", "gamma.example"}

// write writes a row per name to a journal, at most limit of them, as if it was killed
// then.
func write(path string, limit int) error {
	in, err := journal.Fingerprint("names", strings.NewReader(strings.Join(names, "\n")))
	if err != nil {
		return err
	}
	j, err := journal.Open(path, journal.Config{
		Input: in,
		Retry: func(verdict string) bool { return verdict == "failed" },
	})
	if err != nil {
		return err
	}
	defer j.Close()
	fmt.Println(j.Past().Rows, "rows from earlier runs")
	for i, name := range names {
		line := int64(i + 1)
		needed, err := j.Begin(line)
		if err != nil {
			return err
		}
		if !needed {
			continue
		}
		if limit == 0 {
			return nil
		}
		limit--
		fmt.Println("look up", name)
		row, err := json.Marshal(map[string]any{"line": line, "verdict": "registered", "name": name})
		if err != nil {
			return err
		}
		if err := j.Write(line, append(row, '\n')); err != nil {
			return err
		}
	}
	return j.Complete()
}

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "out.ndjson")
	for _, limit := range []int{2, 10} {
		if err := write(path, limit); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// 0 rows from earlier runs
	// look up alpha.example
	// look up beta.example
	// 2 rows from earlier runs
	// look up gamma.example
}
