//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The command refuses to append results to its input, which it would read as queries until the
// disk is full.
func TestOutputIsInput(t *testing.T) {
	list := filepath.Join(t.TempDir(), "names.txt")
	names := []byte(strings.Repeat("no name\n", 20_000)) // more input than one read returns
	if err := os.WriteFile(list, names, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{list, "-"} {
		cmd, said := command(t, "--offline", "-f", from)
		out, err := os.OpenFile(list, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		in, err := os.Open(list)
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdin, cmd.Stdout = in, out
		_ = cmd.Run()
		in.Close()
		out.Close()
		if code := cmd.ProcessState.ExitCode(); code != exitUsage || !strings.HasPrefix(said.String(), "rdapq: standard output and ") {
			t.Errorf("%s: exit code %d, %q", from, code, said)
		}
		if got, err := os.ReadFile(list); err != nil || !bytes.Equal(got, names) {
			t.Fatalf("%s: the list has %d bytes, %v", from, len(got), err)
		}
	}
}
