package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// baseURL returns the base URL of a mode's server.
func (m mode) baseURL() string {
	switch {
	case m.plain:
		return "http://" + host + "/"
	case m.tls12:
		return "https://" + host + ":2443/"
	}
	return "https://" + host + "/"
}

func domain(i int) string { return fmt.Sprintf("dom%d.example", i) }

// A receipt holds the checked members of --stats-file.
type receipt struct {
	Lookups     int `json:"lookups"`
	Connections int `json:"connections"`
	Handshakes  struct {
		Full      int `json:"full"`
		Resumed   int `json:"resumed"`
		EarlyData int `json:"early_data"`
	} `json:"handshakes"`
	Verdicts map[string]int `json:"verdicts"`
}

// rdapq measures the built command, with a new home directory. problems lists differences
// between the counts of rdapq and the counts of the link.
func (b *bench) rdapq(m mode, s size) (one sample, problems []string, err error) {
	home, err := os.MkdirTemp("", "rdapq-bench")
	if err != nil {
		return one, nil, err
	}
	defer os.RemoveAll(home)
	if err := b.lab.Forget(); err != nil {
		return one, nil, err
	}
	if m.primed {
		if _, err := b.rdapqOnce(m, size{1, 1}, home); err != nil {
			return one, nil, fmt.Errorf("earlier run: %w", err)
		}
	}
	if one, err = b.rdapqOnce(m, s, home); err != nil {
		return one, nil, err
	}
	return one, compare(s, one), nil
}

func (b *bench) rdapqOnce(m mode, s size, home string) (one sample, err error) {
	// Use a new directory, because the command would resume an earlier output.
	dir, err := os.MkdirTemp(home, "run")
	if err != nil {
		return one, err
	}
	queries, rows, stats := filepath.Join(dir, "queries"), filepath.Join(dir, "rows"), filepath.Join(dir, "stats")
	var list strings.Builder
	for i := range s.n {
		fmt.Fprintln(&list, domain(i))
	}
	if err := os.WriteFile(queries, []byte(list.String()), 0o600); err != nil {
		return one, err
	}
	atOnce := strconv.Itoa(s.atOnce)
	argv := append([]string{
		filepath.Join(b.bin, "rdapq"), "-s", m.baseURL(), "--ca", filepath.Join(b.dir, "ca.pem"), "--format", "ndjson",
		"--per-host", atOnce, "-j", atOnce, "-f", queries, "-o", rows, "--stats-file", stats,
	}, m.rdapq...)
	one, err = b.timed(command{argv: [][]string{argv}, env: []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"),
		"RDAPQ_HTTP1_CONNECTIONS=" + atOnce,
		"XDG_STATE_HOME=" + home, "XDG_CACHE_HOME=" + home, "XDG_CONFIG_HOME=" + home,
	}})
	if err != nil {
		return one, err
	}
	if err := checkRows(rows, s.n); err != nil {
		return one, err
	}
	text, err := os.ReadFile(stats)
	if err != nil {
		return one, err
	}
	one.said = new(receipt)
	return one, json.Unmarshal(text, one.said)
}

// checkRows checks that each name has one answered row.
func checkRows(file string, n int) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	seen := make(map[string]bool)
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var row struct {
			Query, Verdict string
			RDAP           struct{ LDHName string }
		}
		if err := json.Unmarshal(in.Bytes(), &row); err != nil {
			return err
		}
		if row.Verdict != "registered" || row.RDAP.LDHName != row.Query || seen[row.Query] {
			return fmt.Errorf("row %.200s", in.Text())
		}
		seen[row.Query] = true
	}
	if len(seen) != n {
		return fmt.Errorf("%d rows for %d lookups", len(seen), n)
	}
	return in.Err()
}

// compare returns the differences between rdapq's receipt and the link.
func compare(s size, one sample) (problems []string) {
	for _, c := range []struct {
		what       string
		said, seen int
	}{
		{"lookups", one.said.Lookups, s.n},
		{"connections", one.said.Connections, one.link.SYN + one.link.QUICConns},
		{"full handshakes", one.said.Handshakes.Full, one.link.Full + one.link.QUICFull},
		{"resumed handshakes", one.said.Handshakes.Resumed, one.link.Resumed + one.link.QUICResumed},
		{"connections with 0-RTT", one.said.Handshakes.EarlyData, one.link.QUIC0RTT},
	} {
		if c.said != c.seen {
			problems = append(problems, fmt.Sprintf("rdapq reports %d %s, but there were %d", c.said, c.what, c.seen))
		}
	}
	return problems
}

// reference measures the lab's client, with as many HTTP/2 connections as rdapq opens.
func (b *bench) reference(m mode, s size) (time.Duration, error) {
	if err := b.lab.Forget(); err != nil {
		return 0, err
	}
	conns := 1
	switch {
	case s.atOnce > 400:
		conns = 8
	case s.atOnce > 64:
		conns = 4
	}
	argv := append([]string{
		filepath.Join(b.bin, "client"), "-ca", filepath.Join(b.dir, "ca.pem"), "-url", m.baseURL() + "domain/dom%d.example",
		"-n", strconv.Itoa(s.n), "-c", strconv.Itoa(s.atOnce), "-conns", strconv.Itoa(conns),
	}, m.reference...)
	var said struct {
		PrimeMS float64 `json:"prime_ms"`
	}
	one, err := b.timed(command{argv: [][]string{argv}, check: func(out string) error {
		return json.Unmarshal([]byte(out), &said)
	}})
	return one.wall - time.Duration(said.PrimeMS*float64(time.Millisecond)), err
}

// others measures a third-party client; done is false if the client is not suited for so many
// lookups.
func (b *bench) others(m mode, s size) (one sample, done bool, err error) {
	c, ok := m.other(b, s)
	if !ok {
		return one, false, nil
	}
	if err := b.lab.Forget(); err != nil {
		return one, false, err
	}
	one, err = b.timed(c)
	return one, true, err
}

// curl returns a command that does all lookups in one process.
func (b *bench) curl(s size) (command, bool) {
	argv := []string{
		"curl", "--no-progress-meter", "--cacert", filepath.Join(b.dir, "ca.pem"), "--compressed", "--http2",
		"--parallel", "--parallel-max", strconv.Itoa(s.atOnce), "-w", "%{http_code}\\n",
	}
	for i := range s.n {
		argv = append(argv, "-o", "/dev/null", "https://"+host+"/domain/"+domain(i))
	}
	return command{argv: [][]string{argv}, check: func(out string) error {
		if got := strings.Count(out, "200\n"); got != s.n {
			return fmt.Errorf("curl: %d of %d lookups were answered", got, s.n)
		}
		return nil
	}}, true
}

// openrdap returns a command that runs one process for each lookup.
func (b *bench) openrdap(s size) (command, bool) {
	c := command{env: append(os.Environ(), "SSL_CERT_FILE="+filepath.Join(b.dir, "ca.pem"))}
	for i := range s.n {
		c.argv = append(c.argv, []string{filepath.Join(b.bin, "rdap"), "-s", "https://" + host + "/", "-t", "domain", "--raw", domain(i)})
	}
	c.check = func(out string) error {
		if got := strings.Count(out, `"rdapConformance"`); got != s.n {
			return fmt.Errorf("openrdap: %d of %d lookups were answered", got, s.n)
		}
		return nil
	}
	return c, s.n <= 100
}
