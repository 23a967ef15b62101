//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
)

// --max-time limits a whole run with arguments. Unanswered queries fail with the code timeout,
// and answered queries have their rows.
func TestMaxTimeAtPrompt(t *testing.T) {
	t.Parallel()
	s, ca := trusting(t)
	s.On("/domain/stuck*", rdaptest.Hang())
	cmd, stderr := command(t, "-s", s.URL(), "--ca", ca, "--max-time", "2s", "--format", "ndjson", "alpha.example", "stuck.example", "beta.example")
	out, err := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("%v, want exit code 1: %s", err, stderr)
	}
	want := map[string]string{"alpha.example": "registered", "stuck.example": "failed timeout", "beta.example": "registered"}
	for line := range strings.Lines(string(out)) {
		var row struct {
			Query, Verdict string
			Error          struct{ Code, Hint string }
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(row.Verdict + " " + row.Error.Code); got != want[row.Query] {
			t.Errorf("%s: %s, want %s", row.Query, got, want[row.Query])
		}
		delete(want, row.Query)
	}
	if len(want) > 0 {
		t.Errorf("no row for %v: %s", want, stderr)
	}
}

// --max-time includes the download of IANA's files and the registrar.
func TestMaxTimeIncludesBootstrap(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts connections, but nothing responds
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	cmd, stderr := command(t, "--proxy", "http://"+silent.Addr().String(), "--max-time", "1s", "alpha.unknown-to-everybody")
	start := time.Now()
	_ = cmd.Run() // the exit code is checked below
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(stderr.String(), "--max-time") {
		t.Errorf("%v: %s", cmd.ProcessState, stderr)
	}
	// Without the flag the run waits up to 30 s for the refresh.
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("took %v", d)
	}
}

// With a file, --max-time ends the run as SIGTERM does. Lookups in flight may finish, lines
// that were not sent have no row, and the run can be resumed. The time passes when a line
// without a response is in flight.
func TestMaxTimeWithFile(t *testing.T) {
	t.Parallel()
	b := newBatchTrial(t, append(numbered("first", 5), numbered("stuck", 20)...)...)
	b.server.On("/domain/stuck*", rdaptest.Hang())
	cmd, stderr := b.command(t, "gated", "-j", "1", "--max-time", "1h")
	timer, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := b.server.AwaitRequests(t.Context(), 6); err != nil {
		t.Fatal(err)
	}
	timer.Close()
	_ = cmd.Wait() // the exit code is checked below
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("%v, want exit code 1: %s", cmd.ProcessState, stderr)
	}
	if n := b.rows(); n != 5 {
		t.Errorf("%d rows, want the 5 of the lines that had a response: %s", n, stderr)
	}
	if !strings.Contains(stderr.String(), "stopped after 5 lines") {
		t.Errorf("no hint how to resume: %s", stderr)
	}
	b.server.On("/domain/stuck*")
	cmd, stderr = b.start(t, "--max-time", "1h")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	b.check(t)
}

// Under nohup, SIGHUP stays ignored.
func TestHangupIgnored(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("nohup"); err != nil {
		t.Skip("no nohup here:", err)
	}
	s, ca := trusting(t)
	release := make(chan struct{})
	s.On("*", rdaptest.Until(release))
	rdapq, err := exec.LookPath("rdapq")
	if err != nil {
		t.Fatal(err)
	}
	cmd, stderr := command(t)
	nohup := exec.CommandContext(t.Context(), "nohup", rdapq, "-f", "-", "-s", s.URL(), "--ca", ca)
	nohup.Env, nohup.Stderr, nohup.Stdin = cmd.Env, stderr, strings.NewReader("alpha.example\n")
	var stdout bytes.Buffer
	nohup.Stdout = &stdout
	if err := nohup.Start(); err != nil {
		t.Fatal(err)
	}
	if err := s.AwaitRequests(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := nohup.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	close(release)
	if err := nohup.Wait(); err != nil || !strings.Contains(stdout.String(), `"verdict":"registered"`) {
		t.Errorf("%v: %s%s", err, &stdout, stderr)
	}
}

// A process that received a signal ends, even if a lookup does not end.
func TestForcedEnd(t *testing.T) {
	for name, begin := range map[string]struct {
		do    func(i *interrupt)
		drain bool
		code  int
		after time.Duration
	}{
		"signal at the prompt":   {func(i *interrupt) { i.arrived(syscall.SIGHUP) }, false, 129, forceGrace},
		"signal in a batch":      {func(i *interrupt) { i.arrived(os.Interrupt) }, true, 130, drainGrace + forceGrace},
		"--max-time with a file": {func(i *interrupt) { i.stopAfter(time.Minute) }, true, exitSomeFail, time.Minute + maxTimeGrace + forceGrace},
		"--max-time, then a signal": {func(i *interrupt) {
			i.stopAfter(time.Minute)
			time.Sleep(time.Minute + time.Second)
			i.arrived(syscall.SIGTERM)
		}, true, 143, time.Minute + maxTimeGrace + forceGrace},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				codes := make(chan int, 1)
				i := &interrupt{cancel: cancel, exit: func(code int) { codes <- code }}
				if begin.drain {
					i.onStop(func() {})
				}
				start := time.Now()
				begin.do(i)
				if code := <-codes; code != begin.code {
					t.Errorf("exit code %d, want %d", code, begin.code)
				}
				if d := time.Since(start); d != begin.after {
					t.Errorf("ended after %v, want %v", d, begin.after)
				}
				if ctx.Err() == nil {
					t.Error("the context has not ended before")
				}
				time.Sleep(time.Minute)
			})
		})
	}
}
