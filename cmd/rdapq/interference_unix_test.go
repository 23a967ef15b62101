//go:build unix

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
)

// If another program removes or changes the output file, the run ends with exit code 3
// and one line that describes the interference.
func TestOutputChangedByOthers(t *testing.T) {
	for what, do := range map[string]func(path string) error{
		"was removed or renamed": os.Remove,
		"was truncated":          func(path string) error { return os.Truncate(path, 10) },
		"was appended to": func(path string) error {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteString("not ours\n")
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := newBatchTrial(t, append(numbered("first", 5), numbered("last", 20)...)...)
			release := make(chan struct{})
			b.server.On("/domain/last*", rdaptest.Until(release))
			cmd, stderr := b.start(t, "-j", "2")
			b.awaitRows(t, 5)
			if err := do(b.output); err != nil {
				t.Fatal(err)
			}
			close(release)
			_ = cmd.Wait() // the exit code is checked below
			if code := cmd.ProcessState.ExitCode(); code != exitNoRun {
				t.Errorf("%v, want exit code 3", cmd.ProcessState)
			}
			if n := strings.Count(stderr.String(), what); n != 1 || !strings.Contains(stderr.String(), "\nhint: restore the file") {
				t.Errorf("%s", stderr)
			}
		})
	}
}
