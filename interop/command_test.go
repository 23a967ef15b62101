//go:build unix

package interop_test

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
	"testing"
)

// buildCommand returns the path of rdapq.
func buildCommand(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rdapq")
	if out, err := exec.Command("go", "build", "-o", file, "github.com/rdapq/rdapq/cmd/rdapq").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return file
}

// TestCommand looks up names from a pipe during a reload of the server. It checks that each
// line has one row, and that the receipt matches the server's counts.
func TestCommand(t *testing.T) {
	each(t, func(t *testing.T, protocol string) {
		n := startNginx(t, nginxConfig{HTTP2: protocol == http2})
		rdapq := buildCommand(t)
		const middle, least = 1000, 20000
		dir := t.TempDir()
		rows, stats := filepath.Join(dir, "rows"), filepath.Join(dir, "stats")
		before := n.accepts()
		cmd := exec.Command(rdapq, "-s", n.base, "--ca", filepath.Join(n.dir, "ca.pem"), "-f", "-", "-o", rows,
			"--stats-file", stats, "-j", "16", "--per-host", "16", "--http", map[string]string{http1: "1.1", http2: "2"}[protocol])
		cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+dir, "XDG_CACHE_HOME="+dir, "XDG_CONFIG_HOME="+dir)
		var said bytes.Buffer
		cmd.Stderr = &said
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// Write names until both processes have responded, and then some more, whose
		// connections exist by then.
		names := n.feed(in, 0, 2*middle)
		n.until("a batch is under way", func() bool { return n.lines() >= middle })
		n.reload()
		n.until("both processes have answered", func() bool {
			names = n.feed(in, names, middle)
			return names >= least && len(n.workers()) == 2
		})
		n.until("all are answered", func() bool { return n.lines() >= names })
		names = n.feed(in, names, middle)
		n.until("the others are", func() bool { return n.lines() >= names })
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Fatalf("rdapq: %v\n%s", err, said.String())
		}
		accepted := n.accepts() - before - 1

		verdicts, lines := readRows(t, rows)
		if len(verdicts) != 1 || verdicts["registered"] != names || len(lines) != names {
			t.Errorf("verdicts %v for %d lines", verdicts, len(lines))
		}
		var receipt struct {
			Requests, Connections int64
			Handshakes            struct{ Full, Resumed int64 }
		}
		text, err := os.ReadFile(stats)
		if err == nil {
			err = json.Unmarshal(text, &receipt)
		}
		if err != nil {
			t.Fatal(err)
		}
		if receipt.Requests != int64(names) || receipt.Connections != accepted || receipt.Handshakes.Full+receipt.Handshakes.Resumed != accepted {
			t.Errorf("the receipt says %+v, the server accepted %d connections", receipt, accepted)
		}
	})
}

// feed writes more names after the given number, and returns the total number.
func (n *nginx) feed(to io.Writer, names, more int) int {
	n.t.Helper()
	var list strings.Builder
	for i := range more {
		fmt.Fprintln(&list, name(int64(names+i)))
	}
	if _, err := io.WriteString(to, list.String()); err != nil {
		n.t.Fatal(err)
	}
	return names + more
}

// readRows returns the number of rows per verdict and per line in an NDJSON file.
func readRows(t *testing.T, file string) (verdicts map[string]int, lines map[int]int) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	verdicts, lines = make(map[string]int), make(map[int]int)
	in := bufio.NewScanner(f)
	for in.Scan() {
		var row struct {
			Line    int
			Verdict string
		}
		if err := json.Unmarshal(in.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		verdicts[row.Verdict]++
		lines[row.Line]++
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	return verdicts, lines
}
