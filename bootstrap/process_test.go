package bootstrap

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// childEnv is set in a child process of TestProcesses, to "base URL" and "directory", separated
// by a space.
const childEnv = "RDAPQ_BOOTSTRAP_TEST_CHILD"

func TestMain(m *testing.M) {
	if args := os.Getenv(childEnv); args != "" {
		os.Exit(child(args))
	}
	goleak.VerifyTestMain(m) // no goroutine outlives the tests
}

func child(args string) int {
	base, dir, _ := strings.Cut(args, " ")
	r, err := New(Config{BaseURL: base, Dir: dir})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("ready")
	fmt.Println(resolve(r, domain("a.zz")))
	fmt.Println(resolve(r, autnum(64500)))
	if err := r.Close(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// Processes that start at the same moment share one download through the lock file. The request
// of the first process is held until all processes are running.
func TestProcesses(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := newPublisher(t, wholeSet())
	gate := make(chan struct{})
	p.set(func() { p.gate = gate })
	const n = 4
	var cmds [n]*exec.Cmd
	var outs [n]*bufio.Scanner
	for i := range n {
		cmd := exec.CommandContext(t.Context(), exe)
		cmd.Env = append(os.Environ(), childEnv+"="+p.URL+" "+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds[i], outs[i] = cmd, bufio.NewScanner(out)
	}
	for i, out := range outs {
		if !out.Scan() || out.Text() != "ready" {
			t.Errorf("process %d: %q instead of ready", i, out.Text())
		}
	}
	close(gate)
	for i, out := range outs {
		var got []string
		for out.Scan() {
			got = append(got, out.Text())
		}
		if d := cmp.Diff([]string{"iana zz https://zz.invalid/", "iana 64496-64511 https://as.invalid/"}, got); d != "" {
			t.Errorf("process %d: %s", i, d)
		}
		if err := cmds[i].Wait(); err != nil {
			t.Errorf("process %d: %v", i, err)
		}
	}
	if d := cmp.Diff(map[string]int{"dns.json": 1, "asn.json": 1}, p.count()); d != "" {
		t.Error(d)
	}
}
