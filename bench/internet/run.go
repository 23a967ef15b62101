//go:build linux

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/rdapq/rdapq/limit"
)

// run makes the runs in the namespace.
func run(o options) error {
	dir := o.keep
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "rdapq-internet-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	if o.rdapq == "" {
		o.rdapq = filepath.Join(dir, "rdapq")
		build := exec.Command("go", "build", "-o", o.rdapq, "github.com/rdapq/rdapq/cmd/rdapq")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("building rdapq: %w", err)
		}
	}
	if err := network(dir); err != nil {
		return err
	}
	w, err := readWorld(o.snapshot)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(o.snapshot)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "snapshot.json"), data, 0o600); err != nil {
		return err
	}
	server, err := startServer(dir)
	if err != nil {
		return err
	}
	defer server.stop()

	lines := w.makeLines(o.names)
	input := filepath.Join(dir, "names.csv")
	if err := writeCSV(input, lines); err != nil {
		return err
	}
	perHost := make(map[string]int)
	for _, l := range lines {
		if l.host != "" {
			perHost[l.host]++
		}
	}
	slowest, least := w.bound(perHost)
	fmt.Printf("%d hosts, %d lines; the slowest, %s (%s, %s, %d lines), needs %s\n",
		len(w.Profiles), len(lines), slowest, w.Profiles[slowest].Quirk, w.Profiles[slowest].Latency, perHost[slowest], least.Round(100*time.Millisecond))
	var wrong []string
	var first time.Duration
	for n := range o.runs {
		r, err := o.lookups(dir, input, n)
		if err != nil {
			return err
		}
		counts, err := server.counts()
		if err != nil {
			return err
		}
		fmt.Printf("\nrun %d:\n", n+1)
		faults := check(w, lines, perHost, r, counts)
		if o.windows {
			printWindows(w, perHost, counts)
		}
		took := r.last.Sub(r.start)
		fmt.Printf("%s, %.2f times the bound (%s with the hosts that never respond); %s of CPU; peak memory %d MiB; exit code %d\n",
			took.Round(100*time.Millisecond), ratio(took, least), r.wall.Round(100*time.Millisecond), r.cpu.Round(100*time.Millisecond), r.rss>>20, r.code)
		fmt.Printf("--dry-run predicted %s, %.2f times the actual time\n", r.predicted.Round(100*time.Millisecond), ratio(r.predicted, took))
		if worst, times := r.worst(); times != 1 {
			fmt.Printf("the worst estimate of the time left was after %s: %s, %.2f times the actual time\n",
				worst.at.Sub(r.start).Round(time.Second), worst.left, times)
			if times > estimateFactor || times < 1/estimateFactor {
				faults = append(faults, fmt.Sprintf("the estimated time left was %.2f times the actual time", times))
			}
		}
		if got := ratio(r.predicted, took); n > 0 && (got > estimateFactor || got < 1/estimateFactor) {
			faults = append(faults, fmt.Sprintf("--dry-run predicted %.2f times the actual time, with the limits that the first run learned", got))
		}
		if n == 0 {
			first = took
			if got := ratio(took, least); got > o.ratio {
				faults = append(faults, fmt.Sprintf("took %.2f times the bound, more than %.2f", got, o.ratio))
			}
		} else if got := ratio(took, min(first, time.Duration(o.ratio*float64(least)))); got > 1.1 {
			faults = append(faults, fmt.Sprintf("took %.2f times the permitted time of the first run, more than 1.10", got))
		}
		if int(r.rss>>20) > o.memory {
			faults = append(faults, fmt.Sprintf("%d MiB, more than %d", r.rss>>20, o.memory))
		}
		for _, f := range faults {
			wrong = append(wrong, fmt.Sprintf("run %d: %s", n+1, f))
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d bounds exceeded:\n  %s", len(wrong), strings.Join(wrong, "\n  "))
	}
	fmt.Println("\nall bounds met")
	return nil
}

// A result describes a run of rdapq.
type result struct {
	start     time.Time
	last      time.Time // time of the last row of a host that responds
	wall, cpu time.Duration
	rss       int64 // peak memory in bytes
	code      int
	out       string // name of the output file
	predicted time.Duration
	left      []estimate
}

// lookups runs rdapq once.
func (o *options) lookups(dir, input string, n int) (*result, error) {
	r := &result{out: filepath.Join(dir, fmt.Sprintf("out%d.ndjson", n+1))}
	home := filepath.Join(dir, "home")
	args := []string{"-f", input, "--column", "domain", "--offline", "--ca", filepath.Join(dir, "ca.pem"), "--format", "ndjson", "--max-wait", o.maxWait}
	// The stand-ins do not have the built-in limits of the real servers.
	for _, host := range slices.Sorted(maps.Keys(limit.Builtin())) {
		args = append(args, "--rate", host+"=1000000/1s")
	}
	if o.jobs > 0 {
		args = append(args, "-j", fmt.Sprint(o.jobs))
	}
	env := []string{"HOME=" + home, "XDG_CACHE_HOME=" + home, "XDG_STATE_HOME=" + home, "PATH=" + os.Getenv("PATH")}
	dry := exec.Command(o.rdapq, append(slices.Clone(args), "--dry-run")...)
	dry.Env = env
	text, _ := dry.Output() // the command ends with code 1 if some line has no service
	var plan struct{ Seconds float64 }
	if err := json.Unmarshal(text, &plan); err != nil {
		return nil, fmt.Errorf("--dry-run printed no plan: %w", err)
	}
	r.predicted = time.Duration(plan.Seconds * float64(time.Second))
	cmd := exec.Command(o.rdapq, append(args, "-o", r.out, "--force", "--stats-file", filepath.Join(dir, fmt.Sprintf("stats%d.json", n+1)))...)
	cmd.Env = env
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	r.start = time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	messages := r.read(stderr)
	err = cmd.Wait()
	r.wall = time.Since(r.start)
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return nil, err
	}
	r.code = cmd.ProcessState.ExitCode()
	r.rss = cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("stderr%d.txt", n+1)), messages, 0o600); err != nil {
		return nil, err
	}
	r.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return r, nil
}

// read reads the messages of a run and collects its estimates of the time left.
func (r *result) read(stderr io.Reader) []byte {
	var all bytes.Buffer
	for in := bufio.NewScanner(io.TeeReader(stderr, &all)); in.Scan(); {
		if m := timeLeft.FindStringSubmatch(in.Text()); m != nil {
			if d, err := time.ParseDuration(strings.ReplaceAll(m[1], " ", "")); err == nil {
				r.left = append(r.left, estimate{time.Now(), d})
			}
		}
	}
	_, _ = io.Copy(&all, stderr) // the rest of the output after an overlong line
	return all.Bytes()
}

// timeLeft matches the time in a progress line such as "about 1 m 6 s left".
var timeLeft = regexp.MustCompile(`about ((?:\d+ [hms] ?)+)left`)

// An estimate is a prediction of the time left, with the time at which a run printed it.
type estimate struct {
	at   time.Time
	left time.Duration
}

// estimateFactor is the permitted error factor of predictions.
const estimateFactor = 1.5

// settled is the time after which estimates must be accurate.
const settled = 20 * time.Second

// worst returns the estimate with the largest error, among the estimates made at least the time
// settled after the start and before the end.
func (r *result) worst() (worst estimate, times float64) {
	times = 1
	for _, e := range r.left {
		came := r.last.Sub(e.at)
		if e.at.Sub(r.start) < settled || came < settled || e.left <= 0 {
			continue
		}
		got := float64(e.left) / float64(came)
		if max(got, 1/got) > max(times, 1/times) {
			worst, times = e, got
		}
	}
	return worst, times
}

// A tally counts the results of one host, or of one kind of line.
type tally struct {
	lines, lost, wrong int
	verdicts           map[string]int
}

// check compares the rows with the lines, and the counts with the limits of each host. It
// prints a table of the hosts by their quirk.
func check(w *world, lines []line, perHost map[string]int, r *result, counts map[string]count) (faults []string) {
	f, err := os.Open(r.out)
	if err != nil {
		return []string{err.Error()}
	}
	defer f.Close()
	seen := make([]bool, len(lines))
	rows := 0
	hosts := make(map[string]*tally)
	in := bufio.NewReaderSize(f, 1<<20)
	for {
		text, err := in.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		var row struct {
			Line    int
			Verdict string
			Time    time.Time
		}
		if err != nil || json.Unmarshal(text, &row) != nil || row.Line < 1 {
			return append(faults, "a row that cannot be read: "+string(text))
		}
		// Line 1 of the file is its header, and rows count lines of the file.
		at := row.Line - 2
		if at < 0 || at >= len(lines) || seen[at] {
			return append(faults, fmt.Sprintf("line %d does not exist, or has two rows", row.Line))
		}
		seen[at] = true
		rows++
		l := lines[at]
		t := hosts[l.host]
		if t == nil {
			t = &tally{verdicts: make(map[string]int)}
			hosts[l.host] = t
		}
		t.lines++
		t.verdicts[row.Verdict]++
		if p := w.Profiles[l.host]; p != nil && p.Quirk != dead && row.Time.After(r.last) {
			r.last = row.Time
		}
		idn := strings.HasPrefix(l.text, "bücher")
		switch {
		case l.host == "" && l.verdict != "" && row.Verdict != l.verdict:
			t.wrong++
		case l.host == "", row.Verdict == l.verdict, idn && row.Verdict == "not_found":
		case row.Verdict == "registered" || row.Verdict == "not_found":
			t.wrong++
		default:
			t.lost++
		}
	}
	missing := 0
	for i := range seen {
		if !seen[i] && strings.TrimSpace(lines[i].text) != "" {
			missing++
		}
	}
	if missing > 0 {
		faults = append(faults, fmt.Sprintf("%d lines without a row", missing))
	}
	if t := hosts[""]; t != nil && t.wrong > 0 {
		faults = append(faults, fmt.Sprintf("%d lines without service have another verdict: %v", t.wrong, t.verdicts))
	}
	return append(faults, report(w, perHost, hosts, counts)...)
}

// report prints the results per kind of host and returns the violations.
func report(w *world, perHost map[string]int, hosts map[string]*tally, counts map[string]count) (faults []string) {
	type sum struct {
		hosts, lines, requests, refused, conns, lost, wrong int
		used                                                []float64
	}
	kinds := make(map[quirk]*sum)
	for _, host := range slices.Sorted(maps.Keys(perHost)) {
		p, c, t := w.Profiles[host], counts[host], hosts[host]
		if t == nil {
			t = new(tally)
		}
		s := kinds[p.Quirk]
		if s == nil {
			s = new(sum)
			kinds[p.Quirk] = s
		}
		s.hosts++
		s.lines += perHost[host]
		s.requests += c.Requests
		s.refused += c.Refused
		s.conns += c.Conns
		s.lost += t.lost
		s.wrong += t.wrong
		if t.wrong > 0 {
			faults = append(faults, fmt.Sprintf("%s: %d wrong verdicts", host, t.wrong))
		}
		if t.lost > 0 && !p.dies() {
			faults = append(faults, fmt.Sprintf("%s (%s): %d of %d lines lost: %v", host, p.Quirk, t.lost, t.lines, t.verdicts))
		}
		if p.Quirk == wafAlways && c.Requests > 60 {
			faults = append(faults, fmt.Sprintf("%s (%s): %d requests, more than 60", host, p.Quirk, c.Requests))
		}
		if n, period := p.quota(); n > 0 {
			windows := int((c.Last-c.First)/period) + 1
			if allowed := 10 + windows; c.Refused > allowed {
				faults = append(faults, fmt.Sprintf("%s (%s): %d refusals, more than %d", host, p.Quirk, c.Refused, allowed))
			}
			if least := p.least(perHost[host]); measured(p, perHost[host]) && c.Last > c.First {
				s.used = append(s.used, float64(least)/float64(c.Last-c.First))
			}
		}
	}
	tw := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "hosts that are\thosts\tlines\trequests\trefused\tconnections\tlost\twrong\tquota used (least, median)")
	for _, q := range slices.SortedFunc(maps.Keys(kinds), func(a, b quirk) int { return cmp.Compare(kinds[b].lines, kinds[a].lines) }) {
		s := kinds[q]
		used := ""
		if len(s.used) > 0 {
			slices.Sort(s.used)
			used = fmt.Sprintf("%.0f %%, %.0f %% of %d hosts", 100*s.used[0], 100*s.used[len(s.used)/2], len(s.used))
		}
		fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", q, s.hosts, s.lines, s.requests, s.refused, s.conns, s.lost, s.wrong, used)
	}
	_ = tw.Flush()
	return faults
}

// measured reports whether a host has enough lines to measure the use of its quota.
func measured(p *profile, lines int) bool {
	n, _ := p.quota()
	return n > 0 && lines >= 4*n
}

// printWindows prints the windows of the measured quotas.
func printWindows(w *world, perHost map[string]int, counts map[string]count) {
	for _, host := range slices.Sorted(maps.Keys(perHost)) {
		p := w.Profiles[host]
		if !measured(p, perHost[host]) {
			continue
		}
		fmt.Printf("%s (%s, %s, %d lines):", host, p.Quirk, p.Latency, perHost[host])
		for _, c := range counts[host].Windows {
			fmt.Printf(" %.2f:%d", c.Begin.Seconds(), c.Accepted)
			if c.Refused > 0 {
				fmt.Printf("+%d", c.Refused)
			}
		}
		fmt.Println()
	}
}

// A standProcess is the process with the servers.
type standProcess struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startServer(dir string) (*standProcess, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &standProcess{cmd: exec.Command(exe, "serve", dir)}
	s.cmd.Stderr = os.Stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	s.out = bufio.NewReader(out)
	if text, err := s.out.ReadString('\n'); err != nil || text != "ready\n" {
		s.stop()
		return nil, fmt.Errorf("the servers did not start: %q, %v", text, err)
	}
	return s, nil
}

func (s *standProcess) counts() (map[string]count, error) {
	if _, err := io.WriteString(s.in, "counts\n"); err != nil {
		return nil, err
	}
	data, err := s.out.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	var c map[string]count
	return c, json.Unmarshal(data, &c)
}

func (s *standProcess) stop() {
	_ = s.in.Close()
	_ = s.cmd.Wait()
}
