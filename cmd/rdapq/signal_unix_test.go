//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
)

// command prepares a run of the command in a process without access to the user's
// files. TestMain has put the command into the path.
func command(t *testing.T, args ...string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	return namedCommand(t, "rdapq", args...)
}

// namedCommand is like command, with one of the programs of TestMain.
func namedCommand(t *testing.T, name string, args ...string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	home := t.TempDir()
	cmd = exec.CommandContext(t.Context(), name, args...)
	cmd.Env = []string{"HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(home, "cache"), "XDG_STATE_HOME=" + filepath.Join(home, "state"), "GORACE=" + quickRace}
	stderr = new(bytes.Buffer)
	cmd.Stderr = stderr
	return cmd, stderr
}

// trusting starts a server and returns it with its CA file.
func trusting(t *testing.T) (s *rdaptest.Server, ca string) {
	t.Helper()
	s = rdaptest.Start(t, rdaptest.Config{})
	ca = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, s.CA().PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	return s, ca
}

func TestSignalEndsBatch(t *testing.T) {
	for _, tt := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGHUP, 129}, {syscall.SIGINT, 130}, {syscall.SIGTERM, 143}} {
		for _, source := range []string{"a file", "a pipe that stays open"} {
			t.Run(tt.signal.String()+" with "+source, func(t *testing.T) {
				t.Parallel()
				s, ca := trusting(t)
				// Lookups in flight may finish, but only within a time limit.
				release := make(chan struct{})
				answers := tt.signal == syscall.SIGTERM || source == "a file"
				// The latency is so long that the signal arrives before all queries are sent.
				s.On("/domain/stuck*", rdaptest.Until(release), rdaptest.Latency(50*time.Millisecond))
				var input strings.Builder
				for i := range 5 {
					fmt.Fprintf(&input, "name%d.example\n", i)
				}
				for i := range 200 {
					fmt.Fprintf(&input, "stuck%d.example\n", i)
				}
				// With one lookup at a time, five are done when the sixth request arrives.
				cmd, stderr := command(t, "-f", "-", "-s", s.URL(), "--ca", ca, "-j", "1", "--stats")
				var stdout bytes.Buffer
				cmd.Stdout = &stdout
				cmd.Stdin = strings.NewReader(input.String())
				if source != "a file" {
					r, w, err := os.Pipe()
					if err != nil {
						t.Fatal(err)
					}
					defer w.Close()
					defer r.Close()
					if _, err := io.WriteString(w, input.String()); err != nil {
						t.Fatal(err)
					}
					cmd.Stdin = r
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				if err := s.AwaitRequests(t.Context(), 6); err != nil {
					t.Fatal(err)
				}
				if err := cmd.Process.Signal(tt.signal); err != nil {
					t.Fatal(err)
				}
				if answers {
					close(release)
				} else {
					defer close(release)
				}
				_ = cmd.Wait() // the exit code is checked below
				if code := cmd.ProcessState.ExitCode(); code != tt.code {
					t.Errorf("%v, want exit code %d; %s", cmd.ProcessState, tt.code, stderr)
				}
				verdicts := make(map[int64]string)
				for text := range strings.Lines(stdout.String()) {
					var row struct {
						Line    int64
						Verdict string
						Error   struct{ Code string }
					}
					if err := json.Unmarshal([]byte(text), &row); err != nil || !strings.HasSuffix(text, "\n") || verdicts[row.Line] != "" {
						t.Fatalf("want one complete row: %v: %s", err, text)
					}
					if row.Line > 5 && !answers {
						t.Errorf("line %d: %+v", row.Line, row)
					}
					verdicts[row.Line] = row.Verdict
				}
				due := int64(5)
				if answers {
					due = 6
				}
				for line := range due {
					if verdicts[line+1] != "registered" {
						t.Errorf("answered line %d changed to %q", line+1, verdicts[line+1])
					}
				}
				if !strings.Contains(stderr.String(), " lookups over 1 connection") {
					t.Errorf("no receipt: %s", stderr)
				}
			})
		}
	}
}

func TestSignalAtPrompt(t *testing.T) {
	t.Parallel()
	s, ca := trusting(t)
	s.On("*", rdaptest.Hang())
	cmd, stderr := command(t, "-s", s.URL(), "--ca", ca, "alpha.example")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := s.AwaitRequests(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 || strings.Count(stderr.String(), "\n") > 1 {
		t.Errorf("%v: %s", cmd.ProcessState, stderr)
	}
}

// The first signal cannot end the run, because nothing reads the output. The second signal ends
// the run.
func TestSecondSignalKills(t *testing.T) {
	t.Parallel()
	cmd, stderr := command(t, "--demo", "--demo-rtt", "0", "-f", filepath.Join("..", "..", "testdata", "domains.txt"))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := r.Read(make([]byte, 1)); err != nil { // the command is running
		t.Fatal(err)
	}
	endBy(t, cmd, syscall.SIGINT, stderr)
}

// A run in the background of a shell script ignores SIGINT.
func TestBackgroundIgnoresSIGINT(t *testing.T) {
	t.Parallel()
	s, ca := trusting(t)
	s.On("*", rdaptest.Hang())
	cmd, stderr := command(t, "-s", s.URL(), "--ca", ca, "alpha.example")
	cmd.Args = append([]string{"sh", "-c", `trap "" INT; exec "$0" "$@"`}, cmd.Args...)
	var err error
	if cmd.Path, err = exec.LookPath("sh"); err != nil {
		t.Skip("needs a shell: ", err)
	}
	cmd.Env = append(cmd.Env, "PATH="+os.Getenv("PATH"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := s.AwaitRequests(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for _, sig := range []os.Signal{os.Interrupt, os.Interrupt, syscall.SIGTERM} {
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 143 {
		t.Errorf("%v: %s", cmd.ProcessState, stderr)
	}
}

// endBy sends a signal until the command ends, and checks that the signal ended it.
func endBy(t *testing.T, cmd *exec.Cmd, sig syscall.Signal, stderr fmt.Stringer) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for waiting := true; waiting; {
		select {
		case <-ended:
			waiting = false
		case <-again.C:
			_ = cmd.Process.Signal(sig) // the command may have ended
		}
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != sig {
		t.Errorf("%v: %s", cmd.ProcessState, stderr)
	}
}

// The reader closes the pipe, as head does, which is not an error.
func TestClosedPipe(t *testing.T) {
	const name = "courbu.re\n"
	for _, args := range [][]string{
		{"-f", "-"},
		{"-f", "-", "--format", "csv"},
		{"-f", "-", "--format", "text"},
		{"-f", "-", "--format", "json"},
		{"-f", "-", "--format", "table"},
		{"-f", "-", "--format", "check", "--ordered"},
		append([]string{"--format", "text"}, strings.Fields(strings.Repeat(name, 500))...),
	} {
		t.Run(strings.Join(args[:2], " "), func(t *testing.T) {
			t.Parallel()
			cmd, stderr := command(t, append([]string{"--demo", "--demo-rtt", "0"}, args...)...)
			cmd.Stdin = strings.NewReader(strings.Repeat(name, 5000))
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			cmd.Stdout = w
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			w.Close()
			line, err := bufio.NewReader(r).ReadString('\n')
			if err != nil || line == "" {
				t.Errorf("read %q, %v", line, err)
			}
			r.Close()
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != 0 || stderr.Len() > 0 {
				t.Errorf("%v: %s", cmd.ProcessState, stderr)
			}
		})
	}
}
