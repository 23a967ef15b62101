// Command kill checks that a killed batch loses no rows and repeats none. For each kind of
// output, it runs rdapq on a list of names against its own servers. It repeatedly kills rdapq
// with SIGKILL and resumes the run with the same command. It compares the requests of the
// servers with the files at the time of the kill:
//
//   - no line with a row is queried again,
//   - every response older than the flush interval has a row,
//   - in the end every line has one valid row, in input order with --ordered.
//
// It prints a line for each kind, and exits with code 1 if a check fails.
//
//	go run ./bench/kill
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// options holds the values of the flags.
type options struct {
	lines   int
	kills   int
	latency time.Duration
	slow    int
	slack   time.Duration
	keep    bool
	verbose bool
}

func main() {
	var o options
	flag.IntVar(&o.lines, "lines", 12000, "lines of the input with a query")
	flag.IntVar(&o.kills, "kills", 20, "number of kills per run")
	flag.DurationVar(&o.latency, "latency", 20*time.Millisecond, "latency of the servers")
	flag.IntVar(&o.slow, "slow", 15, "limit one of three servers to `N` requests per 0.1 s, so that its lines lag behind")
	flag.DurationVar(&o.slack, "slack", 300*time.Millisecond, "permitted delay of a row beyond the flush interval, since both processes share the machine")
	flag.BoolVar(&o.keep, "keep", false, "keep the files")
	flag.BoolVar(&o.verbose, "v", false, "report each kill")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "kill:", err)
		os.Exit(1)
	}
}

func run(o options) (err error) {
	dir, err := os.MkdirTemp("", "rdapq-kill-")
	if err != nil {
		return err
	}
	if o.keep {
		fmt.Println("files kept in", dir)
	} else {
		defer os.RemoveAll(dir)
	}
	for _, name := range []string{"./cmd/rdapq", "./internal/rdaptest/cmd/rdaptestd"} {
		build := exec.Command("go", "build", "-o", filepath.Join(dir, filepath.Base(name)), name)
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("building %s: %w", name, err)
		}
	}
	failed := 0
	for _, format := range []string{"ndjson", "csv"} {
		for _, ordered := range []bool{false, true} {
			t, err := newTrial(o, dir, format, ordered)
			if err != nil {
				return err
			}
			err = t.run()
			t.close()
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			t.report()
			failed += len(t.violations)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d violations", failed)
	}
	return nil
}
