//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
)

// A batchTrial is a batch with a journal that a test interrupts.
type batchTrial struct {
	server *rdaptest.Server
	ca     string
	names  []string
	input  string
	output string
	home   string
}

func newBatchTrial(t *testing.T, names ...string) *batchTrial {
	t.Helper()
	ca, err := rdaptest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	b := &batchTrial{server: rdaptest.Start(t, rdaptest.Config{CA: ca, Log: true}), names: names, home: t.TempDir()}
	dir := filepath.Join(t.TempDir(), "it's a directory") // the name needs quoting in a shell
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	b.ca, b.input, b.output = filepath.Join(dir, "ca.pem"), filepath.Join(dir, "names.txt"), filepath.Join(dir, "out.ndjson")
	for path, data := range map[string][]byte{b.ca: ca.PEM(), b.input: []byte(strings.Join(names, "\n"))} {
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// command returns the command, or a program that behaves like it, with its flags.
func (b *batchTrial) command(t *testing.T, name string, args ...string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	cmd, stderr = namedCommand(t, name, append([]string{"-f", b.input, "-o", b.output, "-s", b.server.URL(), "--ca", b.ca}, args...)...)
	cmd.Env = append(cmd.Env, "PATH="+os.Getenv("PATH"))
	return cmd, stderr
}

// start starts the command.
func (b *batchTrial) start(t *testing.T, args ...string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	cmd, stderr = b.command(t, "rdapq", args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, stderr
}

// check checks that the output has one row per name.
func (b *batchTrial) check(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile(b.output)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for text := range strings.Lines(string(data)) {
		var row struct {
			Line           int
			Query, Verdict string
		}
		if err := json.Unmarshal([]byte(text), &row); err != nil || row.Verdict != "registered" || seen[row.Query] || b.names[row.Line-1] != row.Query {
			t.Fatalf("want one complete row: %v: %s", err, text)
		}
		seen[row.Query] = true
	}
	if len(seen) != len(b.names) {
		t.Errorf("%d rows for %d names", len(seen), len(b.names))
	}
}

// rows returns the number of complete rows in the output.
func (b *batchTrial) rows() int {
	data, err := os.ReadFile(b.output)
	if err != nil {
		return 0 // the file may not exist yet
	}
	return bytes.Count(data, []byte{'\n'})
}

// awaitRows waits for at least n rows in the output.
func (b *batchTrial) awaitRows(t *testing.T, n int) {
	t.Helper()
	const patience = time.Minute
	for end := time.Now().Add(patience); b.rows() < n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d rows, waiting for %d", b.rows(), n)
		}
	}
}

// asked returns the number of requests per name.
func (b *batchTrial) asked() map[string]int {
	times := make(map[string]int)
	for _, e := range b.server.Log() {
		times[e.URI[strings.LastIndexByte(e.URI, '/')+1:]]++
	}
	return times
}

func numbered(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s%d.example", prefix, i)
	}
	return names
}

// After a signal, lookups in flight finish and are written. The printed command resumes
// with the remaining lines, so no query is sent twice.
func TestSignalFinishesInFlight(t *testing.T) {
	for _, flags := range [][]string{{"-j", "1"}, {"-j", "3", "--ordered"}, {"-j", "2", "--force"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			t.Parallel()
			b := newBatchTrial(t, append(append(numbered("first", 5), "held.example"), numbered("last", 200)...)...)
			release := make(chan struct{})
			b.server.On("/domain/held*", rdaptest.Until(release))
			// The latency is so long that the signal arrives before all queries are sent.
			b.server.On("/domain/last*", rdaptest.Until(release), rdaptest.Latency(50*time.Millisecond))
			cmd, stderr := b.start(t, flags...)
			if err := b.server.AwaitRequests(t.Context(), 6); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			close(release)
			_ = cmd.Wait() // the exit code is checked below
			if code := cmd.ProcessState.ExitCode(); code != 130 {
				t.Fatalf("%v: %s", cmd.ProcessState, stderr)
			}
			again := regexp.MustCompile(`(?m)^rdapq: stopped after \d+ lines; to resume:\n  (rdapq .*)$`).FindStringSubmatch(stderr.String())
			if again == nil {
				t.Fatalf("no command to resume: %s", stderr)
			}
			b.server.On("/domain/last*")
			shell := exec.CommandContext(t.Context(), "sh", "-c", again[1])
			shell.Env = cmd.Env
			if out, err := shell.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", again[1], err, out)
			}
			b.check(t)
			for name, n := range b.asked() {
				if n != 1 {
					t.Errorf("%s: %d requests", name, n)
				}
			}
		})
	}
}

// A server that never responds delays the end of the run after the first signal. The second
// signal ends it. The file still has the rows written before, and the run can be resumed.
func TestSecondSignalStopsBatch(t *testing.T) {
	t.Parallel()
	b := newBatchTrial(t, append(numbered("first", 5), numbered("stuck", 20)...)...)
	b.server.On("/domain/stuck*", rdaptest.Hang())
	cmd, stderr := b.start(t, "-j", "2", "-q")
	if err := b.server.AwaitRequests(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	b.awaitRows(t, 5)
	endBy(t, cmd, syscall.SIGTERM, stderr)
	b.server.On("/domain/stuck*")
	cmd, stderr = b.start(t)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	b.check(t)
	for name, n := range b.asked() {
		if strings.HasPrefix(name, "first") && n != 1 {
			t.Errorf("%s: %d requests", name, n)
		}
	}
}

// TestResumeAfterKill kills a batch repeatedly with requests in flight. A line with a
// row in the file is not queried again.
func TestResumeAfterKill(t *testing.T) {
	for _, flags := range [][]string{nil, {"--ordered"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			t.Parallel()
			b := newBatchTrial(t, numbered("name", 300)...)
			written := make(map[string]int) // number of requests for each name when its row was written
			held, open := make(chan struct{}), make(chan struct{})
			close(open)
			for round := range 5 {
				// The server responds to this many requests, fewer than the number of names.
				n, before, rows := 20+10*round, len(b.server.Log()), b.rows()
				b.server.On("/domain/*", rdaptest.Until(held), rdaptest.First(n, rdaptest.Until(open)))
				cmd, _ := b.start(t, append(flags, "-j", "4")...)
				if err := b.server.AwaitRequests(t.Context(), before+n+1); err != nil {
					t.Fatal(err)
				}
				if round%2 == 1 {
					b.awaitRows(t, rows+1)
				}
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
				if err := b.server.AwaitOpen(t.Context(), 0); err != nil {
					t.Fatal(err) // no request for the name is in flight
				}
				for name, n := range written {
					if got := b.asked()[name]; got != n {
						t.Errorf("%s had a row and was asked for again", name)
					}
				}
				for _, suffix := range []string{"", ".rdapq-waiting"} {
					data, err := os.ReadFile(b.output + suffix)
					if err != nil && suffix == "" {
						t.Fatal(err)
					}
					for text := range strings.Lines(string(data)) {
						var row struct{ Query string }
						if strings.HasSuffix(text, "\n") && json.Unmarshal([]byte(text), &row) == nil {
							written[row.Query] = b.asked()[row.Query]
						}
					}
				}
			}
			b.server.On("/domain/*")
			cmd, stderr := b.start(t, flags...)
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v: %s", err, stderr)
			}
			b.check(t)
		})
	}
}

// Of two concurrent runs with the same output, the second ends without touching the output.
func TestConcurrentRunsOnOneOutput(t *testing.T) {
	t.Parallel()
	b := newBatchTrial(t, "held.example")
	release := make(chan struct{})
	b.server.On("/domain/held*", rdaptest.Until(release))
	first, stderr := b.start(t)
	if err := b.server.AwaitRequests(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{nil, {"--force"}} {
		second, said := b.start(t, flags...)
		_ = second.Wait()
		if code := second.ProcessState.ExitCode(); code != 3 || !strings.Contains(said.String(), "locked by another process") {
			t.Errorf("%v: %s", second.ProcessState, said)
		}
	}
	close(release)
	if err := first.Wait(); err != nil {
		t.Errorf("%v: %s", err, stderr)
	}
	b.check(t)
}
