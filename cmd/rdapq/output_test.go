package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
)

// Rows of a batch are flushed soon, not only when a buffer is full. The server holds the second
// response until the test has read the first row.
func TestRowsAreFlushedSoon(t *testing.T) {
	for _, flags := range [][]string{nil, {"--ordered"}, {"--format", "csv"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			atHome(t)
			s := rdaptest.Start(t, rdaptest.Config{})
			read := make(chan struct{})
			s.On("/domain/b.example", rdaptest.Until(read))
			ca := filepath.Join(t.TempDir(), "ca.pem")
			if err := os.WriteFile(ca, s.CA().PEM(), 0o600); err != nil {
				t.Fatal(err)
			}
			out, stdout := io.Pipe()
			var stderr bytes.Buffer
			a := &app{stdin: strings.NewReader("a.example\nb.example\n"), stdout: stdout, stderr: &stderr}
			cmd := newCommand(a)
			cmd.SetArgs(append([]string{"-f", "-", "-s", s.URL(), "--ca", ca, "-q"}, flags...))
			done := make(chan error, 1)
			go func() {
				err := cmd.ExecuteContext(t.Context())
				stdout.Close()
				done <- err
			}()
			rows := bufio.NewScanner(out)
			for rows.Scan() && !strings.Contains(rows.Text(), "a.example") {
			}
			close(read)
			rest, err := io.ReadAll(out)
			if err := <-done; err != nil || a.exit != 0 {
				t.Errorf("%v, exit code %d: %s", err, a.exit, stderr.String())
			}
			if err != nil || !strings.Contains(string(rest), "b.example") {
				t.Errorf("after the first row: %q, %v", rest, err)
			}
		})
	}
}
