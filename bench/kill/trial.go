package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rdapq/rdapq/journal"
)

// A trial tests one kind of output.
type trial struct {
	o       options
	name    string
	dir     string
	format  string
	ordered bool
	output  string
	args    []string
	lineOf  map[string]int // line of each name
	names   []string       // names by line; "" for lines without a query

	server  *exec.Cmd
	ended   io.Closer // closing it ends the server
	control string

	asked      int   // number of requests of all runs so far
	killedAt   []int // percentage of existing rows at each kill
	again      int   // number of lines queried more than once
	violations []string
}

func newTrial(o options, dir, format string, ordered bool) (*trial, error) {
	t := &trial{o: o, format: format, ordered: ordered, name: format, lineOf: make(map[string]int)}
	if ordered {
		t.name += " --ordered"
	}
	t.dir = filepath.Join(dir, strings.ReplaceAll(t.name, " ", ""))
	if err := os.Mkdir(t.dir, 0o777); err != nil {
		return nil, err
	}
	if err := t.writeInput(); err != nil {
		return nil, err
	}
	if err := t.startServers(filepath.Join(dir, "rdaptestd")); err != nil {
		return nil, err
	}
	return t, nil
}

// writeInput writes a list with comments and blank lines.
func (t *trial) writeInput() error {
	var b strings.Builder
	t.names = []string{""}
	for n := 0; n < t.o.lines; {
		switch line := len(t.names); {
		case line%37 == 0:
			b.WriteString("# a comment\n")
			t.names = append(t.names, "")
		case line%41 == 0:
			b.WriteString("\n")
			t.names = append(t.names, "")
		default:
			name := fmt.Sprintf("name%d.%s", n, []string{"com", "net", "org"}[n%3])
			t.lineOf[name] = line
			t.names = append(t.names, name)
			b.WriteString(name + "\n")
			n++
		}
	}
	return os.WriteFile(filepath.Join(t.dir, "names.txt"), []byte(b.String()), 0o666)
}

func (t *trial) startServers(program string) error {
	var err error
	t.server = exec.Command(program, "-dir", t.dir, "-servers", "3", "-tlds", "com,net,org", "-log", "-latency", t.o.latency.String(), "-shape", "minimal")
	t.server.Stderr = os.Stderr
	out, err := t.server.StdoutPipe()
	if err != nil {
		return err
	}
	if t.ended, err = t.server.StdinPipe(); err != nil {
		return err
	}
	if err := t.server.Start(); err != nil {
		return err
	}
	var ready struct {
		Control string
		Servers []struct {
			URL, Addr string
			TLDs      []string
		}
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		return err
	}
	if err := json.Unmarshal(line, &ready); err != nil {
		return err
	}
	t.control = ready.Control
	var overrides strings.Builder
	for _, s := range ready.Servers {
		for _, tld := range s.TLDs {
			fmt.Fprintf(&overrides, "%s %s\n", tld, s.URL)
		}
	}
	servers := filepath.Join(t.dir, "servers.txt")
	if err := os.WriteFile(servers, []byte(overrides.String()), 0o666); err != nil {
		return err
	}
	t.output = filepath.Join(t.dir, "out."+t.format)
	t.args = []string{
		"-f", filepath.Join(t.dir, "names.txt"), "-o", t.output, "--format", t.format,
		"--bootstrap-overrides", servers, "--ca", filepath.Join(t.dir, "ca.pem"), "--offline", "--no-progress",
		"-j", "64", "--per-host", "16", "--rate", fmt.Sprintf("%s=%d/100ms", ready.Servers[2].Addr, t.o.slow),
	}
	if t.ordered {
		t.args = append(t.args, "--ordered")
	}
	return nil
}

func (t *trial) close() {
	t.ended.Close()
	_ = t.server.Wait()
}

func (t *trial) run() error {
	var before *snapshot
	for i := range t.o.kills {
		// Spread the kills over the whole run, not quite evenly.
		target := t.o.lines * (i + 1) / (t.o.kills + 2)
		target += rand.IntN(t.o.lines/t.o.kills/2 + 1)
		at, err := t.runUntil(target)
		if err != nil {
			return err
		}
		if before, err = t.check(before, at); err != nil {
			return err
		}
		t.killedAt = append(t.killedAt, 100*len(before.rows)/t.o.lines)
		if t.o.verbose {
			fmt.Printf("  killed with %d of %d rows, %d of them waiting\n", len(before.rows), t.o.lines, before.waiting)
		}
	}
	out, err := t.command().CombinedOutput()
	if err != nil {
		return fmt.Errorf("the last run: %w\n%s", err, out)
	}
	if _, err := t.check(before, time.Time{}); err != nil {
		return err
	}
	return t.checkWhole()
}

func (t *trial) command() *exec.Cmd {
	cmd := exec.Command(filepath.Join(filepath.Dir(t.dir), "rdapq"), t.args...)
	cmd.Env = []string{"HOME=" + t.dir}
	return cmd
}

// runUntil runs the command until the given number of rows exists, kills it, and returns the
// time of the kill.
func (t *trial) runUntil(rows int) (time.Time, error) {
	cmd := t.command()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return time.Time{}, err
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	for deadline := time.Now().Add(5 * time.Minute); t.count() < rows; {
		select {
		case err := <-exited:
			return time.Time{}, fmt.Errorf("exited by itself with %d of %d rows: %v\n%s", t.count(), rows, err, &stderr)
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return time.Time{}, errors.New("no progress")
		}
	}
	time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
	at := time.Now()
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		return at, fmt.Errorf("exited before the kill: %w", err)
	}
	<-exited
	return at, nil
}

// files returns the files that may contain rows.
func (t *trial) files() []string {
	return []string{t.output, t.output + journal.SidecarSuffix + "-waiting"}
}

// count returns the number of rows; rows in both files count twice.
func (t *trial) count() int {
	n := 0
	for _, name := range t.files() {
		data, err := os.ReadFile(name)
		if err == nil {
			n += bytes.Count(data, []byte{'\n'})
		}
	}
	return n
}

// A request is a request that a server received.
type request struct {
	at   time.Time
	name string
}

func (t *trial) requests() ([]request, error) {
	resp, err := http.Get(t.control + "-/log")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var all []request
	in := bufio.NewScanner(resp.Body)
	for in.Scan() {
		nanos, uri, _ := strings.Cut(in.Text(), " ")
		n, err := strconv.ParseInt(nanos, 10, 64)
		if err != nil {
			return nil, err
		}
		all = append(all, request{time.Unix(0, n), uri[strings.LastIndexByte(uri, '/')+1:]})
	}
	slices.SortFunc(all, func(a, b request) int { return a.at.Compare(b.at) })
	return all, in.Err()
}

func (t *trial) violation(format string, args ...any) {
	t.violations = append(t.violations, fmt.Sprintf(format, args...))
}

func (t *trial) report() {
	within := 0
	for _, p := range t.killedAt {
		if 5 <= p && p <= 95 {
			within++
		}
	}
	fmt.Printf("%-16s %d lines, killed %d times (%d of them with 5%% to 95%% of the rows), %d requests: %d lines queried again, none of which had a row: %v\n",
		t.name, t.o.lines, len(t.killedAt), within, t.asked, t.again, len(t.violations) == 0)
	for i, v := range t.violations {
		if i == 10 {
			fmt.Printf("  and %d more\n", len(t.violations)-i)
			break
		}
		fmt.Println("  violation:", v)
	}
}
