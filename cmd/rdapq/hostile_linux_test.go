package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
)

const (
	hostileSample = 60              // without RDAPQ_HOSTILE, one in hostileSample servers is tried
	hostileMemory = 64 << 20        // maximum memory in bytes
	hostileBound  = 2 * time.Minute // a longer run counts as hanging; on an idle machine it takes at most 15 s
)

// With each hostile server, the command ends with a row per name, within a memory limit.
// RDAPQ_HOSTILE=1 tries all kinds of servers and prints the slowest and the largest run.
func TestHostileConnections(t *testing.T) {
	t.Parallel()
	ca, caFile := hostileCA(t)
	var most extremes
	t.Run("all", func(t *testing.T) {
		for _, h := range rdaptest.SomeHostile(rdaptest.HostileTCP(), hostileSample) {
			t.Run(h.Name, func(t *testing.T) {
				t.Parallel()
				s := rdaptest.StartHostile(t, ca, h)
				most.note(h.Name, lookUpRows(t, s.URL(), caFile, t.TempDir(), false))
				if s.Served() == 0 && strings.HasPrefix(h.Name, "HTTP/") {
					t.Error("the server was not reached")
				}
			})
		}
	})
	most.log(t)
}

// hostileCA returns a new authority and the file with its certificate.
func hostileCA(t *testing.T) (*rdaptest.CA, string) {
	t.Helper()
	ca, err := rdaptest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, ca.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	return ca, file
}

// A cost is the time and memory of a run of the command.
type cost struct {
	time time.Duration
	peak int64 // peak memory in bytes
}

// An extremes holds the slowest and the largest of several runs.
type extremes struct {
	mu      sync.Mutex
	slowest string
	largest string
	time    time.Duration
	peak    int64
}

func (e *extremes) note(name string, c cost) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c.time > e.time {
		e.time, e.slowest = c.time, name
	}
	if c.peak > e.peak {
		e.peak, e.largest = c.peak, name
	}
}

func (e *extremes) log(t *testing.T) {
	t.Logf("slowest: %s, %v; largest: %s, %d MiB", e.slowest, e.time, e.largest, e.peak>>20)
}

// lookUpRows runs the command with the state in home. registered states whether the names are
// registered.
func lookUpRows(t *testing.T, server, ca, home string, registered bool, flags ...string) (c cost) {
	names := make([]string, 8)
	for i := range names {
		names[i] = fmt.Sprintf("name%d.example", i)
	}
	args := append([]string{"-s", server, "--ca", ca, "--timeout", "2s", "--max-wait", "4s", "--format", "ndjson"}, flags...)
	rdapq, stderr := command(t, append(args, names...)...)
	file := filepath.Join(t.TempDir(), "peak")
	cmd := exec.CommandContext(t.Context(), "measured", rdapq.Args...)
	cmd.Env = append(rdapq.Env, "XDG_CACHE_HOME="+home, "XDG_STATE_HOME="+home, measuredFile+"="+file, "PATH="+os.Getenv("PATH"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, stderr
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(hostileBound):
		_ = cmd.Process.Kill()
		t.Fatalf("still running after %v: %s", hostileBound, stderr)
	}
	c.time = time.Since(start)
	rows := 0
	for in := bufio.NewScanner(&out); in.Scan(); rows++ {
		var row struct{ Verdict string }
		if err := json.Unmarshal(in.Bytes(), &row); err != nil || (row.Verdict == "registered") != registered || row.Verdict == "not_found" {
			t.Errorf("row %s: %v", in.Text(), err)
		}
	}
	want := exitSomeFail
	if registered {
		want = 0
	}
	if code := cmd.ProcessState.ExitCode(); rows != len(names) || code != want {
		t.Errorf("%d rows, exit code %d: %s", rows, code, stderr)
	}
	if strings.Contains(stderr.String(), "goroutine ") {
		t.Errorf("a stack trace: %s", stderr)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if c.peak, err = strconv.ParseInt(string(data), 10, 64); err != nil || c.peak > hostileMemory && !raceDetector {
		t.Errorf("%d MiB in memory: %v", c.peak>>20, err)
	}
	return c
}
