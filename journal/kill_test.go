package journal

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const killPath = "RDAPQ_TEST_JOURNAL"

// TestKilledWriter is the process that TestKill kills: it writes rows until then.
func TestKilledWriter(t *testing.T) {
	path := os.Getenv(killPath)
	if path == "" {
		t.Skip("run by TestKill")
	}
	o := options(t.TempDir(), Format(os.Getenv(killPath+"_FORMAT")), os.Getenv(killPath+"_ORDERED") != "")
	o.FlushInterval, o.BufferSize = time.Millisecond, 500
	j, err := Open(path, o.Config)
	if err != nil {
		t.Fatal(err)
	}
	for line := int64(1); ; line += 2 {
		for n := range int64(2) {
			if _, err := j.Begin(line + n); err != nil {
				t.Fatal(err)
			}
		}
		for _, n := range []int64{1, 0} { // the first one waits, if rows are ordered
			if err := j.Write(line+n, makeRow(o.Format, line+n, "registered")); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestKill kills a process that writes rows, and resumes: no row is lost or written twice.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, format Format, ordered bool) {
		o := options(t.TempDir(), format, ordered)
		for size := int64(1 << 10); size < 1<<17; size *= 8 {
			cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestKilledWriter$")
			cmd.Env = append(os.Environ(), killPath+"="+o.Path, killPath+"_FORMAT="+string(format))
			if ordered {
				cmd.Env = append(cmd.Env, killPath+"_ORDERED=1")
			}
			if err := os.Remove(o.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			for {
				if info, err := os.Stat(o.Path); err == nil && info.Size() >= size {
					break
				}
				select {
				case err := <-ended:
					t.Fatalf("the writer ended: %v", err)
				case <-time.After(time.Millisecond):
				}
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-ended

			before, err := os.ReadFile(o.Path)
			if err != nil {
				t.Fatal(err)
			}
			before = before[:strings.LastIndexByte(string(before), '\n')+1]
			j, err := Open(o.Path, o.Config)
			if err != nil {
				t.Fatal(err)
			}
			last := int64(strings.Count(string(before), "\n")) + 1000
			for line := int64(1); line <= last; line++ {
				needed, err := j.Begin(line)
				if err != nil {
					t.Fatal(err)
				}
				if !needed {
					continue
				}
				if err := j.Write(line, makeRow(format, line, "registered")); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(j.Complete(), j.Close()); err != nil {
				t.Fatal(err)
			}
			after, err := os.ReadFile(o.Path)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(after), string(before)) {
				t.Error("rows from before the kill were changed")
			}
			seen := make(map[int64]bool)
			rest := strings.TrimPrefix(string(after), string(o.Header))
			for row := range strings.Lines(rest) {
				line, _, ok := j.parse([]byte(row))
				if !ok || seen[line] || row != string(makeRow(format, line, "registered")) {
					t.Fatalf("row %q", row)
				}
				seen[line] = true
			}
			for line := int64(1); line <= last; line++ {
				if !seen[line] {
					t.Fatalf("line %d of %d has no row", line, last)
				}
			}
		}
	})
}
