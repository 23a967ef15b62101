//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/statefile"
)

// Locked or unwritable state files neither fail a run nor delay its end; with -v, a warning
// reports the unsaved state.
func TestStateNotSaved(t *testing.T) {
	s, ca := trusting(t)
	for name, prepare := range map[string]func(t *testing.T, dir string){
		"locked": func(t *testing.T, dir string) {
			for _, file := range []string{"sessions", "hosts", "budgets"} {
				l, err := os.OpenFile(filepath.Join(dir, file+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { l.Close() })
				if ok, err := statefile.TryLock(l); !ok {
					t.Fatal(err)
				}
			}
		},
		"unwritable": func(t *testing.T, dir string) {
			for _, file := range []string{"sessions", "hosts", "budgets"} {
				if err := os.MkdirAll(filepath.Join(dir, file+".lock"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		for _, verbose := range []bool{false, true} {
			args := []string{"--ca", ca, "-s", s.URL(), "courbu.re", "--format", "check"}
			if verbose {
				args = append(args, "-v")
			}
			cmd, stderr := command(t, args...)
			home := t.TempDir()
			dir := filepath.Join(home, "rdapq")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+home)
			prepare(t, dir)
			start := time.Now()
			if err := cmd.Run(); err != nil {
				t.Errorf("%s: %v: %s", name, err, stderr)
			}
			if d := time.Since(start); name == "locked" && d > 4500*time.Millisecond {
				t.Errorf("%s: took %v, though it waits 200 ms for locks", name, d)
			}
			if told := strings.Count(stderr.String(), "not saved for the next run"); verbose && told != 1 || !verbose && told != 0 {
				t.Errorf("%s, verbose %v: %s", name, verbose, stderr)
			}
		}
	}
}
