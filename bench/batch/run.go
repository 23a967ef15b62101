package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A load is the number of lines for a server and their expected results.
type load struct {
	server  string
	lines   int
	verdict string
}

// input writes the names in mixed order and scales the numbers of lines. It returns the
// server of each line as an index into loads.
func (b *bench) input(loads []load) ([]uint8, error) {
	var order []uint8
	for i := range loads {
		loads[i].lines = max(loads[i].lines/b.scale, 1)
		for range loads[i].lines {
			order = append(order, uint8(i))
		}
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	f, err := os.Create(b.path("names.txt"))
	if err != nil {
		return nil, err
	}
	w := bufio.NewWriter(f)
	for i, k := range order {
		fmt.Fprintf(w, "name%d.%s\n", i, loads[k].server)
	}
	return order, errors.Join(w.Flush(), f.Close())
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

// An outcome is the result of a run.
type outcome struct {
	end    listing
	last   map[string]last
	took   time.Duration
	cpu    time.Duration
	memory int   // peak memory in KiB; 0 means unknown
	err    error // errors that the rows show
}

// A last describes the last row of a server.
type last struct {
	row int           // number of the row, from 1
	at  time.Duration // time after the start
}

// A process is the process with the servers.
type process struct {
	cmd      *exec.Cmd
	stdin    io.WriteCloser
	listings *json.Decoder
	begin    listing
}

// startServers starts the servers of loads in a separate process.
func startServers(loads []load) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"serve"}
	for _, l := range loads {
		args = append(args, l.server)
	}
	p := &process{cmd: exec.Command(self, args...)}
	p.cmd.Stderr = os.Stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.listings = json.NewDecoder(stdout)
	if err := p.listings.Decode(&p.begin); err != nil {
		p.stop()
		return nil, fmt.Errorf("the servers did not start: %w", err)
	}
	return p, nil
}

// report returns the counts of the servers since the last report.
func (p *process) report() (l listing, err error) {
	if _, err := io.WriteString(p.stdin, "report\n"); err != nil {
		return l, err
	}
	return l, p.listings.Decode(&l)
}

func (p *process) stop() {
	_ = p.stdin.Close()
	_ = p.cmd.Wait() // its reports have been read
}

// lookUp runs rdapq on the input against servers in a separate process.
func (b *bench) lookUp(servers *process, loads []load, order []uint8, flags ...string) (*outcome, error) {
	out := &outcome{last: map[string]last{}}
	if err := b.command(servers.begin, loads, order, flags, out); err != nil {
		return nil, err
	}
	var err error
	out.end, err = servers.report()
	return out, err
}

// command runs rdapq and reads its rows.
func (b *bench) command(servers listing, loads []load, order []uint8, flags []string, out *outcome) error {
	var overrides strings.Builder
	for name, url := range servers.URLs {
		fmt.Fprintf(&overrides, "%s %s\n", name, url)
	}
	err := errors.Join(
		os.WriteFile(b.path("ca.pem"), []byte(servers.CA), 0o600),
		os.WriteFile(b.path("overrides"), []byte(overrides.String()), 0o600),
		os.MkdirAll(b.path("home"), 0o700))
	if err != nil {
		return err
	}
	args := append([]string{
		"--file", b.path("names.txt"), "--offline", "--bootstrap-overrides", b.path("overrides"),
		"--ca", b.path("ca.pem"), "--fields", "line,query,verdict", "--quiet",
	}, flags...)
	cmd := exec.Command(b.rdapq, args...)
	home := b.path("home")
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "XDG_CACHE_HOME="+home, "XDG_CONFIG_HOME="+home)
	cmd.Stderr = os.Stderr
	rows, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	fmt.Println("rdapq", strings.Join(args, " "))
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	out.err = b.check(rows, loads, order, start, out.last)
	// Some lines fail, which makes the exit code 1.
	if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() != 1 {
		return fmt.Errorf("rdapq: %w", err)
	}
	out.took, out.memory = time.Since(start), peak(cmd.ProcessState)
	out.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	fmt.Printf("%d lines in %.1f s, %.0f per second; %.1f s of CPU time, %.1f µs per line; peak memory %d MiB\n", len(order),
		out.took.Seconds(), float64(len(order))/out.took.Seconds(), out.cpu.Seconds(), float64(out.cpu.Microseconds())/float64(len(order)), out.memory>>10)
	return nil
}

// check compares rows with the expected results.
func (b *bench) check(rows io.Reader, loads []load, order []uint8, start time.Time, lasts map[string]last) error {
	seen := make([]bool, len(order))
	counts := map[string]map[string]int{}
	var errs []error
	wrong := func(format string, args ...any) {
		if len(errs) < 20 {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	position := 0
	in := bufio.NewScanner(rows)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var row struct {
			Line    int    `json:"line"`
			Query   string `json:"query"`
			Verdict string `json:"verdict"`
		}
		if err := json.Unmarshal(in.Bytes(), &row); err != nil || row.Line < 1 || row.Line > len(order) {
			wrong("row %q: %v", in.Bytes(), err)
			continue
		}
		l := loads[order[row.Line-1]]
		if want := fmt.Sprintf("name%d.%s", row.Line-1, l.server); seen[row.Line-1] || row.Query != want {
			wrong("line %d: %q for %q, seen %v", row.Line, row.Query, want, seen[row.Line-1])
		}
		seen[row.Line-1] = true
		if counts[l.server] == nil {
			counts[l.server] = map[string]int{}
		}
		counts[l.server][row.Verdict]++
		position++
		if b.ordered && row.Line != position {
			wrong("row %d belongs to line %d", position, row.Line)
		}
		lasts[l.server] = last{position, time.Since(start)}
	}
	if err := in.Err(); err != nil {
		wrong("reading rows: %w", err)
	}
	for _, l := range loads {
		fmt.Printf("%-8s %8d lines: %v, the last is row %d, after %.1f s\n", l.server, l.lines, counts[l.server], lasts[l.server].row, lasts[l.server].at.Seconds())
		if counts[l.server][l.verdict] != l.lines || len(counts[l.server]) != 1 {
			wrong("%s: %v, want %d %s", l.server, counts[l.server], l.lines, l.verdict)
		}
	}
	return errors.Join(errs...)
}
