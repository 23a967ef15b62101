package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/internal/render"
)

// runDemo runs the command in this process. It returns the output of the command and its closed
// session, which has the demo servers. These servers count independently.
func runDemo(t *testing.T, args ...string) (stdout, stderr string, s *session) {
	t.Helper()
	atHome(t)
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs}
	cmd := newCommand(a)
	cmd.SetArgs(append([]string{"--demo", "--demo-rtt", "0"}, args...))
	if err := cmd.ExecuteContext(t.Context()); err != nil || a.exit != 0 {
		t.Fatalf("%v, exit code %d, %s", err, a.exit, errs.String())
	}
	return out.String(), errs.String(), a.session
}

// givenUp returns the number of dials unfinished at the end of the run. A server may
// have seen them.
func (s *session) givenUp() int64 {
	stats := s.pool.Stats()
	return stats.Dials - stats.Connections
}

// used returns the number of connections with a request.
func used(c rdaptest.Counts) (n int64) {
	for _, requests := range c.PerConn() {
		if requests > 0 {
			n++
		}
	}
	return n
}

func TestDemoReceiptMatchesServers(t *testing.T) {
	names := []string{"courbu.re", "nic.re", "copacabana.re"}
	for _, tt := range []struct {
		flags             []string
		connections, full int64
		receipt           string
	}{
		{nil, 1, 1, "3 lookups over 1 connection: 1 full handshake, 2 avoided"},
		{[]string{"--no-reuse", "-j", "1"}, 3, 3, "3 lookups over 3 connections: 3 full handshakes"},
		{[]string{"--no-reuse"}, 3, 3, "3 lookups over 3 connections: 3 full handshakes"},
		{[]string{"--no-reuse", "--http", "1.1"}, 3, 3, "3 lookups over 3 connections: 3 full handshakes"},
		{[]string{"--http", "1.1", "-j", "1"}, 1, 1, "3 lookups over 1 connection: 1 full handshake, 2 avoided"},
	} {
		t.Run(strings.Join(tt.flags, " "), func(t *testing.T) {
			stdout, stderr, s := runDemo(t, append(append(tt.flags, "--stats"), names...)...)
			at := 0
			for _, name := range names {
				i := strings.Index(stdout[at:], name+": registered\n")
				if i < 0 {
					t.Fatalf("no record of %s at the expected place:\n%s", name, stdout)
				}
				at += i
			}
			if receipt, _, _ := strings.Cut(stderr, "\n"); !strings.HasPrefix(receipt, tt.receipt) {
				t.Errorf("receipt %q, want %q", receipt, tt.receipt)
			}
			total, servers := s.demo.Counts()
			mine := servers["rdap.re.example"]
			if mine.Connections != tt.connections || mine.FullHandshakes != tt.full || mine.Resumed != 0 || mine.Requests != 3 {
				t.Errorf("the server counted %d connections, %d full handshakes, %d resumed, %d requests; want %d, %d, 0, 3",
					mine.Connections, mine.FullHandshakes, mine.Resumed, mine.Requests, tt.connections, tt.full)
			}
			if total.Connections != mine.Connections {
				t.Errorf("%d connections in all: other servers were asked as well", total.Connections)
			}
		})
	}
}

func TestDemoBatch(t *testing.T) {
	file := filepath.Join("..", "..", "testdata", "domains.txt")
	input, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	due := make(map[int64]string)
	line := int64(0)
	for text := range strings.Lines(string(input)) {
		line++
		if text = strings.TrimSpace(text); text != "" && text[0] != '#' {
			due[line] = text
		}
	}
	all := int64(len(due))
	receipt := filepath.Join(t.TempDir(), "s.json")
	stdout, stderr, s := runDemo(t, "-f", file, "--stats-file", receipt)
	if !strings.HasPrefix(stderr, "581 lines: 507 registered, 12 found, 62 not found\n") {
		t.Errorf("said %q", stderr)
	}

	rows := json.NewDecoder(strings.NewReader(stdout))
	for {
		var row struct {
			Line    int64
			Query   string
			Verdict string
		}
		if err := rows.Decode(&row); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if due[row.Line] != row.Query || row.Query == "" || row.Verdict == "" {
			t.Errorf("row for line %d: %+v, want %q once", row.Line, row, due[row.Line])
		}
		delete(due, row.Line)
	}
	if len(due) > 0 || int64(strings.Count(stdout, "\n")) != all {
		t.Errorf("no rows for %v; %d lines of output, want %d", due, strings.Count(stdout, "\n"), all)
	}

	var stats render.Report
	if b, err := os.ReadFile(receipt); err != nil || json.Unmarshal(b, &stats) != nil {
		t.Fatal("no receipt", err)
	}
	total, servers := s.demo.Counts()
	for host, n := range servers {
		if n.Connections > 4 {
			t.Errorf("%s counted %d connections", host, n.Connections)
		}
	}
	h := stats.Handshakes
	unsure := s.givenUp()
	if stats.Lookups != all || stats.Requests != total.Requests || h.Avoided != total.Requests-used(total) ||
		total.Connections < stats.Connections || total.Connections > stats.Connections+unsure ||
		total.Handshakes() < h.Full+h.Resumed || total.Handshakes() > h.Full+h.Resumed+unsure ||
		unsure == 0 && (h.Full != total.FullHandshakes || h.Resumed != total.Resumed) {
		t.Errorf("the receipt says %d lookups, %d requests, %d connections, handshakes %+v; the servers counted %d requests, %d connections, %d full handshakes, %d resumed",
			stats.Lookups, stats.Requests, stats.Connections, h, total.Requests, total.Connections, total.FullHandshakes, total.Resumed)
	}
	for _, one := range stats.PerServer {
		if one.Connections > 4 {
			t.Errorf("the receipt says %d connections for %s", one.Connections, one.Server)
		}
	}
}
