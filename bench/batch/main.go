// Command batch runs rdapq on long files against servers of its own, in a
// process of their own, and checks what comes of every line.
//
//	go run ./bench/batch six      # six servers, one of each kind, lines mixed
//	go run ./bench/batch million  # ten million lines, one server parked
//	go run ./bench/batch ordered  # a million lines in input order, one server parked
//	go run ./bench/batch growth   # 10,000, 100,000 and a million lines
//	go run ./bench/batch refusals # 0.4% of the requests refused at random
//	go run ./bench/batch quotas   # 10 requests in 3 s, and 60 per minute
//
// six: 60,000 lines for a fast server, 30,000 for one that takes 20 ms, 60 for
// one that allows 10 requests in 3 s and says so with Retry-After, 30 for one that
// answers 429 now and then without it, 100 for one that never answers, and 100
// for one that answers with errors in HTML. Every line has one row with the right
// verdict, the fast server's last line comes before the black hole's last, and the
// limited server is asked no more than its budget and what was on its way when it
// first refused. Each run has one beside it with the first two servers alone.
//
// million: ten million lines for three servers, of which one says for the first two
// minutes that it is not to be asked; the peak of rdapq's memory is printed and
// bounded. ordered: the same with a tenth of the lines and --ordered.
//
// refusals: 20,000 lines at a server that takes 50 ms and refuses 0.4% of the
// requests at random (429, Retry-After: 1), and at one that refuses none, in turn:
// at least 80% of the throughput, also in the next run.
//
// quotas: servers that allow 10 requests in any 3 s, and 60 per minute: at most 10
// refusals when the quota is discovered, 1 in each later window, and 1.2 times the
// least possible time, also in the next run.
//
// It prints what it measured, and ends with code 1 if something is not so. -scale
// divides the numbers of
// lines.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// options are the flags.
type options struct {
	rdapq string
	scale int
	keep  bool
	max   int // MiB
}

func main() {
	var o options
	flag.StringVar(&o.rdapq, "rdapq", "", "the `command`; built if not given")
	flag.IntVar(&o.scale, "scale", 1, "divide the numbers of lines by this")
	flag.BoolVar(&o.keep, "keep", false, "keep the files")
	flag.IntVar(&o.max, "max-memory", 128, "MiB that rdapq may have in memory at most")
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
		fmt.Println("files are in", dir)
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
