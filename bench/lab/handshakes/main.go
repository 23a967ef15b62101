// Handshakes measures the cost of each mode of connecting over the lab's link, and
// compares the counts of rdapq with those of the link. bench/handshakes.sh builds its
// programs and runs it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdapq/rdapq/bench/lab/internal/lab"
)

// A size is a number of lookups and the limit of concurrent lookups.
type size struct{ n, atOnce int }

func (s size) String() string { return fmt.Sprintf("%d/%d", s.n, s.atOnce) }

// rounds returns the number of sequential rounds of lookups at full concurrency.
func (s size) rounds() int { return (s.n + s.atOnce - 1) / s.atOnce }

// settings holds the values of the flags.
type settings struct {
	sizes    []size
	runs     int
	modes    []mode
	rtt      time.Duration
	loss     float64
	markdown bool
	bin, dir string
}

func main() {
	runtime.LockOSThread() // see package lab
	s, err := parse()
	if err == nil {
		err = measure(s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "handshakes:", err)
		os.Exit(1)
	}
}

func parse() (s settings, err error) {
	lookups := flag.String("lookups", "3/1,100/100,1000/100", "comma-separated `numbers` of lookups, each with the concurrency")
	names := flag.String("modes", strings.Join(usualModes, ","), "comma-separated `modes`, of these:"+listModes())
	flag.IntVar(&s.runs, "runs", 5, "measure each mode this many `times` and report the median")
	flag.DurationVar(&s.rtt, "rtt", 90*time.Millisecond, "round-trip `time` of the link")
	flag.Float64Var(&s.loss, "loss", 0, "`percent` of the packets lost in each direction")
	flag.BoolVar(&s.markdown, "markdown", false, "print the table as Markdown")
	flag.StringVar(&s.bin, "bin", "", "`directory` with the programs of rdapq and the lab")
	flag.StringVar(&s.dir, "dir", "", "`directory` written by setup")
	flag.Parse()
	if s.runs < 1 {
		return s, errors.New("--runs must be at least 1")
	}
	for text := range strings.SplitSeq(*lookups, ",") {
		one, err := parseSize(text)
		if err != nil {
			return s, err
		}
		s.sizes = append(s.sizes, one)
	}
	for name := range strings.SplitSeq(*names, ",") {
		m, ok := modes[name]
		if !ok {
			return s, fmt.Errorf("--modes: unknown mode %q; available:%s", name, listModes())
		}
		m.name = name
		s.modes = append(s.modes, m)
	}
	return s, nil
}

func parseSize(text string) (size, error) {
	number, atOnce, found := strings.Cut(text, "/")
	n, err := strconv.Atoi(number)
	c := 1
	if found && err == nil {
		c, err = strconv.Atoi(atOnce)
	}
	if err != nil || n < 1 || n > answers || c < 1 {
		return size{}, fmt.Errorf("--lookups: invalid value %q: expected a number up to %d, or two such as 100/10", text, answers)
	}
	return size{n, c}, nil
}

func measure(s settings) error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	b := &bench{settings: s, stop: stop}
	var err error
	if b.help, err = b.rdapqHelp(); err != nil {
		return err
	}
	t := newTable(os.Stdout, s)
	var wrong bool
	for _, size := range s.sizes {
		for _, m := range s.modes {
			r, err := b.row(m, size)
			if errors.Is(err, lab.ErrStopped) {
				return errors.Join(err, t.flush())
			}
			if err != nil {
				r.failed = true
				r.problems = append(r.problems, err.Error())
			}
			for _, p := range r.problems {
				wrong = true
				fmt.Fprintf(os.Stderr, "%s, %s lookups: %s\n", m.name, size, p)
			}
			t.add(r)
		}
	}
	if err := t.flush(); err != nil {
		return err
	}
	if wrong {
		return errors.New("the measured counts differ from the reported counts")
	}
	return nil
}
