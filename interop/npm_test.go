//go:build unix

package interop_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// startNPM starts the RDAP server of the npm package rdap, with ten objects of each
// class: see npm/server.js.
func startNPM(t *testing.T, protocol string) *server {
	t.Helper()
	node := need(t, "node")
	if _, err := os.Stat("npm/node_modules/rdap"); err != nil {
		t.Skip("npm ci in interop/npm installs it")
	}
	// The framework of the server needs Node.js 20.
	if out, err := exec.CommandContext(t.Context(), node, "--eval", "process.exit(process.versions.node.split('.')[0] < 20 ? 1 : 0)").CombinedOutput(); err != nil {
		t.Skipf("%s is too old: %v %s", node, err, out)
	}
	s := newServer(t)
	args := []string{"npm/server.js", filepath.Join(s.dir, "server.pem"), filepath.Join(s.dir, "server.key")}
	if protocol == http2 {
		args = append(args, "http2")
	}
	cmd := exec.CommandContext(t.Context(), node, args...)
	in, err := cmd.StdinPipe() // closing the pipe ends the server
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait() // the test stopped the server, or said has the reason
		if t.Failed() {
			t.Logf("the server reports: %s", said.Bytes())
		}
	})
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the server did not start: %v", err)
	}
	s.base = "https://127.0.0.1:" + strings.TrimSpace(port) + "/"
	return s
}

// A npmRow holds the checked members of a row.
type npmRow struct {
	Query, Type, Verdict string
	Status               int
	Conn                 struct{ Protocol string }
	Summary              map[string]any
	RDAP                 json.RawMessage
	Error                struct{ Code string }
}

// ask runs the command with queries of one type, and returns its rows by query and
// its receipt.
func (s *server) ask(rdapq, protocol, typ string, queries ...string) (rows map[string]npmRow, connections int64) {
	s.t.Helper()
	home := s.t.TempDir()
	receipt := filepath.Join(home, "receipt.json")
	args := []string{"-s", s.base, "--ca", filepath.Join(s.dir, "ca.pem"), "--format", "ndjson", "-q", "--stats-file", receipt, "--http", map[string]string{http1: "1.1", http2: "2"}[protocol], "--min-handshakes"}
	if typ != "" {
		args = append(args, "-t", typ)
	}
	cmd := exec.CommandContext(s.t.Context(), rdapq, append(args, queries...)...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		s.t.Fatalf("%q: %v", args, err)
	}
	rows = make(map[string]npmRow)
	for line := range bytes.Lines(out) {
		var r npmRow
		if err := json.Unmarshal(line, &r); err != nil {
			s.t.Fatal(err)
		}
		rows[r.Query] = r
	}
	var stats struct{ Connections int64 }
	text, err := os.ReadFile(receipt)
	if err == nil {
		err = json.Unmarshal(text, &stats)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return rows, stats.Connections
}

// TestNPM queries ten objects of each class, with every type of query.
func TestNPM(t *testing.T) {
	each(t, func(t *testing.T, protocol string) {
		s := startNPM(t, protocol)
		rdapq := buildCommand(t)
		for _, tt := range []struct {
			name, typ, verdict string
			query              func(i int) string
			summary            func(i int) map[string]any // returns the required content of a summary
		}{
			{"domain", "", "registered", func(i int) string { return fmt.Sprintf("name%d.example", i) }, func(i int) map[string]any {
				return map[string]any{
					"handle": fmt.Sprintf("DOMAIN%d-NPM", i), "name": fmt.Sprintf("name%d.example", i),
					"registrar": fmt.Sprintf("Person Number %d", i), "registrar_id": fmt.Sprint(9900 + i),
					"created": fmt.Sprintf("20%d-03-04T05:06:07Z", 10+i), "expires": fmt.Sprintf("2%d-03-04T05:06:07Z", 100+i),
					"statuses":    []any{"active", "client transfer prohibited"},
					"nameservers": []any{fmt.Sprintf("ns%d.names.example", i), fmt.Sprintf("ns%d.names.example", (i+1)%10)},
					"dnssec":      []string{"signed", "unsigned"}[i%2],
				}
			}},
			{"nameserver", "nameserver", "found", func(i int) string { return fmt.Sprintf("ns%d.names.example", i) }, func(i int) map[string]any {
				return map[string]any{"handle": fmt.Sprintf("HOST%d-NPM", i), "name": fmt.Sprintf("ns%d.names.example", i), "statuses": []any{"active"}}
			}},
			{"entity", "entity", "found", func(i int) string { return fmt.Sprintf("PERSON%d-NPM", i) }, func(i int) map[string]any {
				return map[string]any{"handle": fmt.Sprintf("PERSON%d-NPM", i), "name": fmt.Sprintf("Person Number %d", i)}
			}},
			{"autnum", "", "found", func(i int) string { return fmt.Sprintf("AS%d", 64500+i) }, func(i int) map[string]any {
				return map[string]any{"start": fmt.Sprint(64500 + i), "end": fmt.Sprint(64500 + i), "holder": fmt.Sprintf("Person Number %d", i), "country": "ZZ"}
			}},
			{"address", "", "found", func(i int) string { return fmt.Sprintf("198.51.100.%d", 16*i+3) }, func(i int) map[string]any {
				return map[string]any{"start": fmt.Sprintf("198.51.100.%d", 16*i), "cidrs": []any{fmt.Sprintf("198.51.100.%d/28", 16*i)}}
			}},
			{"prefix", "cidr", "found", func(i int) string { return fmt.Sprintf("198.51.100.%d/28", 16*i) }, func(i int) map[string]any {
				return map[string]any{"handle": fmt.Sprintf("NET-%d-NPM", i)}
			}},
			{"IPv6 address", "", "found", func(i int) string { return fmt.Sprintf("2001:db8:%d::5", i+1) }, func(i int) map[string]any {
				return map[string]any{"cidrs": []any{fmt.Sprintf("2001:db8:%d::/48", i+1)}}
			}},
			{"IPv6 prefix", "ip", "found", func(i int) string { return fmt.Sprintf("2001:db8:%d::/48", i+1) }, func(i int) map[string]any {
				return map[string]any{"handle": fmt.Sprintf("NET6-%d-NPM", i)}
			}},
		} {
			t.Run(tt.name, func(t *testing.T) {
				var queries []string
				for i := range 10 {
					queries = append(queries, tt.query(i))
				}
				rows, connections := s.ask(rdapq, protocol, tt.typ, queries...)
				if len(rows) != 10 || protocol == http2 && connections != 1 || connections > 4 {
					t.Errorf("%d rows over %d connections", len(rows), connections)
				}
				for i, q := range queries {
					r := rows[q]
					got := make(map[string]any)
					for key := range tt.summary(i) {
						got[key] = r.Summary[key]
					}
					if diff := cmp.Diff(tt.summary(i), got); r.Verdict != tt.verdict || r.Status != 200 || r.Conn.Protocol != protocol || diff != "" {
						t.Errorf("%s: %s %d over %s\n%s", q, r.Verdict, r.Status, r.Conn.Protocol, diff)
					}
					if !bytes.Contains(r.RDAP, []byte(`"rdapConformance":["rdap_level_0"]`)) {
						t.Errorf("%s: not what the server sent: %.200s", q, r.RDAP)
					}
				}
			})
		}
		for _, tt := range []struct{ typ, query, want string }{
			{"help", "", "found 200 "},
			{"", s.base + "domain/name3.example", "registered 200 "},
			{"entity", s.base + "entity/PERSON3-NPM", "found 200 "},
			{"", "2.0.192.in-addr.arpa", "registered 200 "},
			{"", "free.example", "not_found 404 not_found"},
			{"entity", "FREE-NPM", "not_found 404 not_found"},
			{"", "AS64511", "not_found 404 not_found"},
			{"", "secret.example", "rejected 401 unauthorized"},
			// The server supports no searches and fails on them.
			{"domains", "name=name*.example", "failed 500 server_error"},
			{"nameservers", "ip=192.0.2.1", "failed 500 server_error"},
			{"entities", "fn=Person*", "failed 500 server_error"},
			{"ips", "name=NPM*", "failed 500 server_error"},
		} {
			var queries []string
			if tt.query != "" {
				queries = append(queries, tt.query)
			}
			rows, _ := s.ask(rdapq, protocol, tt.typ, queries...)
			if len(rows) != 1 {
				t.Errorf("%s %s: %d rows", tt.typ, tt.query, len(rows))
			}
			r := slices.Collect(maps.Values(rows))[0]
			if got := fmt.Sprintf("%s %d %s", r.Verdict, r.Status, r.Error.Code); got != tt.want {
				t.Errorf("%s %s: %s, want %s", tt.typ, tt.query, got, tt.want)
			}
		}
	})
}
