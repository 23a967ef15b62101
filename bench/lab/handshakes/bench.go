package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rdapq/rdapq/bench/lab/internal/lab"
	"github.com/rdapq/rdapq/bench/lab/internal/wire"
)

const (
	host    = "rdap.example"
	answers = 1000 // number of responses written by setup

	// runLimit is the timeout of a run. The constant enough stops the repetition of long runs.
	runLimit = 3 * time.Minute
	enough   = 30 * time.Second
)

// A bench holds the settings of the measurements.
type bench struct {
	settings
	stop <-chan os.Signal
	help string // help text of rdapq
	lab  *lab.Lab
}

// A sample is one run of a client.
type sample struct {
	wall time.Duration // time from the start of the process to its end
	link wire.Counts   // counts of the link
	said *receipt      // counts reported by rdapq
}

// A row holds the measurements of a mode and size.
type row struct {
	mode      mode
	size      size
	missing   string   // flag that this build of rdapq lacks
	samples   []sample // samples of rdapq, or of the mode's other client
	reference []time.Duration
	problems  []string
	failed    bool
}

// median returns the sample with the median time.
func (r row) median() sample {
	s := slices.SortedFunc(slices.Values(r.samples), func(a, b sample) int { return cmp.Compare(a.wall, b.wall) })
	return s[len(s)/2]
}

func (r row) referenceMedian() (time.Duration, bool) {
	if len(r.reference) == 0 {
		return 0, false
	}
	return slices.Sorted(slices.Values(r.reference))[len(r.reference)/2], true
}

// row measures rdapq and the reference in a new lab, with interleaved runs.
func (b *bench) row(m mode, s size) (r row, err error) {
	r = row{mode: m, size: s, missing: b.missing(m.rdapq)}
	if r.missing != "" {
		return r, nil
	}
	b.lab, err = lab.Start(lab.Config{RTT: b.rtt, Loss: b.loss, Seed: 1, Names: []string{host}})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, b.lab.Close()) }()
	if err := b.serve(m.server); err != nil {
		return r, err
	}
	for start := time.Now(); len(r.samples) < b.runs && (len(r.samples) == 0 || time.Since(start) < enough); {
		if m.other != nil {
			one, done, err := b.others(m, s)
			if err != nil || !done {
				return r, err
			}
			r.samples = append(r.samples, one)
			continue
		}
		one, problems, err := b.rdapq(m, s)
		if err != nil {
			return r, err
		}
		r.samples = append(r.samples, one)
		r.problems = append(r.problems, problems...)
		wall, err := b.reference(m, s)
		if err != nil {
			return r, err
		}
		r.reference = append(r.reference, wall)
	}
	return r, nil
}

func (b *bench) serve(which server) error {
	if which == quic {
		return b.lab.Serve([]string{filepath.Join(b.bin, "server"), "-dir", b.dir}, "udp:443")
	}
	return b.lab.Serve([]string{
		"nginx", "-e", filepath.Join(b.dir, "error.log"), "-c", filepath.Join(b.dir, "nginx.conf"),
	}, "tcp:80", "tcp:443", "tcp:2443")
}

// missing returns the first flag, or the value of --http, that this build of rdapq
// lacks.
func (b *bench) missing(flags []string) string {
	for i, flag := range flags {
		if !strings.HasPrefix(flag, "--") {
			continue
		}
		// The help of a flag extends to the next flag.
		about := regexp.MustCompile(`(?s) ` + flag + `[ \n].*?(\n[^\n]* --|$)`).FindString(b.help)
		switch {
		case about == "":
			return flag
		case flag == "--http" && !regexp.MustCompile(`[ ,]`+regexp.QuoteMeta(flags[i+1])+`\b`).MatchString(about):
			return flag + " " + flags[i+1]
		}
	}
	return ""
}

func (b *bench) rdapqHelp() (string, error) {
	out, err := exec.Command(filepath.Join(b.bin, "rdapq"), "--help").Output()
	return string(out), err
}

// A command runs a client, several times if one process cannot do all lookups.
type command struct {
	argv  [][]string
	env   []string
	check func(out string) error
}

// timed runs a command from a cold start of both kernels.
func (b *bench) timed(c command) (sample, error) {
	var out, said strings.Builder
	before := b.lab.Counts()
	start := time.Now()
	for _, argv := range c.argv {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env, cmd.Stdout, cmd.Stderr = c.env, &out, &said
		if err := b.lab.Run(cmd, runLimit, b.stop); err != nil {
			return sample{}, fmt.Errorf("%s: %w\n%s", filepath.Base(argv[0]), err, said.String())
		}
	}
	s := sample{wall: time.Since(start)}
	s.link = b.lab.Counts().Since(before)
	if c.check != nil {
		return s, c.check(out.String())
	}
	return s, nil
}
