package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProgressOnTerminal gives the command a terminal for standard error.
func TestProgressOnTerminal(t *testing.T) {
	t.Parallel()
	p := newPseudo(t, 100)
	names := filepath.Join(t.TempDir(), "names.txt")
	if err := os.WriteFile(names, []byte(strings.Repeat("courbu.re\nfree.re\n", 30)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		flags []string
		shown bool
	}{{nil, true}, {[]string{"--no-progress"}, false}, {[]string{"-q"}, false}} {
		args := append([]string{"--demo", "--demo-rtt", "500ms", "-f", names, "-o", filepath.Join(t.TempDir(), "out.ndjson")}, tt.flags...)
		cmd, _ := command(t, args...)
		cmd.Stderr = p.tty
		read := p.watch()
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(p.tty, "END")
		said := <-read
		if drawn := strings.Contains(said, " of 60 lines, ") && strings.Contains(said, "\x1b[K") && strings.Contains(said, " running"); drawn != tt.shown {
			t.Errorf("%v: %q", tt.flags, said)
		}
		if i := strings.LastIndex(said, "\x1b["); tt.shown && !strings.HasPrefix(said[i:], "\x1b[J60 lines: ") {
			t.Errorf("progress still shown before the summary: %q", said[i:])
		}
	}
}
