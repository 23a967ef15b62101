// Command batch runs rdapq on long files against its own servers, in a separate process, and
// checks the result of every line.
//
//	go run ./bench/batch six      # six servers, one of each kind, lines mixed
//	go run ./bench/batch million  # ten million lines, one server parked
//	go run ./bench/batch ordered  # a million lines in input order, one server parked
//	go run ./bench/batch growth   # 10,000, 100,000 and a million lines
//	go run ./bench/batch refusals # 0.4% of the requests refused at random
//	go run ./bench/batch quotas   # 10 requests in 3 s, and 60 per minute
//
// six: 60,000 lines for a fast server, and 30,000 for a server with a latency of 20 ms. 60
// lines for a server that allows 10 requests in 3 s and sends Retry-After, and 30 for a server
// that sometimes sends 429 without Retry-After. 100 lines for a server that never responds, and
// 100 for a server that sends errors in HTML. Every line has one row with the right verdict.
// The fast server's last row comes before the black hole's last row. The limited server
// receives no more requests than its limit and those in flight at the first refusal. Each run
// is paired with a run with the first two servers alone.
//
// million: ten million lines for three servers, one of which refuses all requests for the first
// two minutes. The peak of rdapq's memory is printed and has a limit. ordered: the same with a
// tenth of the lines and --ordered.
//
// refusals: 20,000 lines at a server with a latency of 50 ms that refuses 0.4% of the requests
// at random (429, Retry-After: 1). Interleaved runs query a server that refuses no requests.
// The throughput must be at least 80%, also in the next run.
//
// quotas: servers that allow 10 requests in any 3 s, and 60 per minute. A run may take 1.2
// times the minimum time. At most 10 refusals are permitted when the quota is discovered, and 1
// in each later window, also in the next run.
//
// It prints its measurements, and exits with code 1 if a check fails. -scale divides the
// numbers of lines.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// options holds the values of the flags.
type options struct {
	rdapq string
	scale int
	keep  bool
	max   int // maximum memory in MiB
}

func main() {
	var o options
	flag.StringVar(&o.rdapq, "rdapq", "", "the rdapq `command`; empty builds it")
	flag.IntVar(&o.scale, "scale", 1, "divide the numbers of lines by `N`")
	flag.BoolVar(&o.keep, "keep", false, "keep the files")
	flag.IntVar(&o.max, "max-memory", 128, "maximum memory of rdapq in `MiB`")
	flag.Parse()
	scenarios := map[string]func(*bench) error{"six": (*bench).six, "million": (*bench).million, "ordered": (*bench).order, "growth": (*bench).growth, "refusals": (*bench).refusals, "quotas": (*bench).quotas}
	name := flag.Arg(0)
	if name == "serve" {
		if err := serve(os.Stdin, os.Stdout, flag.Args()[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "batch: serve:", err)
			os.Exit(1)
		}
		return
	}
	if scenarios[name] == nil || o.scale < 1 {
		fmt.Fprintln(os.Stderr, "usage: batch [flags] six|million|ordered|growth|refusals|quotas")
		flag.PrintDefaults()
		os.Exit(2)
	}
	if err := run(o, scenarios[name]); err != nil {
		fmt.Fprintln(os.Stderr, "batch:", err)
		os.Exit(1)
	}
}

// A bench is one run of a scenario.
type bench struct {
	options
	dir     string
	ordered bool // rows are in input order
}

func run(o options, scenario func(*bench) error) error {
	dir, err := os.MkdirTemp("", "rdapq-batch-")
	if err != nil {
		return err
	}
	if o.keep {
		fmt.Println("files kept in", dir)
	} else {
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
	return scenario(&bench{options: o, dir: dir})
}
