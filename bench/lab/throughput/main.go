// Throughput measures clients that look up names on loopback as fast as possible.
// bench/throughput.sh builds its programs and runs it in a namespace.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdapq/rdapq/bench/lab/internal/pinned"
)

type settings struct {
	n, runs       int
	markdown      bool
	bin, dir, out string
}

func main() {
	runtime.LockOSThread() // children end with the thread that starts them
	var s settings
	flag.IntVar(&s.n, "lookups", 50000, "`number` of lookups")
	flag.IntVar(&s.runs, "runs", 3, "measure each mode this many `times` and report the median")
	flag.BoolVar(&s.markdown, "markdown", false, "print the table as Markdown")
	flag.StringVar(&s.bin, "bin", "", "`directory` with the programs of rdapq and the lab")
	flag.StringVar(&s.dir, "dir", "", "`directory` written by setup")
	flag.StringVar(&s.out, "out", "", "`directory` for inputs and outputs of the clients")
	flag.Parse()
	if err := run(s); err != nil {
		fmt.Fprintln(os.Stderr, "throughput:", err)
		os.Exit(1)
	}
}

func run(s settings) error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	server := pinned.Command(pinned.Server, "nginx",
		"-e", filepath.Join(s.dir, "error.log"), "-c", filepath.Join(s.dir, "nginx.conf"))
	if err := server.Start(); err != nil {
		return err
	}
	defer func() {
		_ = server.Process.Signal(unix.SIGTERM) // the server may have ended
		_ = server.Wait()                       // the way in which the server ended is irrelevant
	}()
	if err := pinned.Await("127.0.0.1:443"); err != nil {
		return err
	}
	clients, err := s.clients()
	if err != nil {
		return err
	}
	// Interleave the clients, so that other load affects all of them.
	measured := make([][]sample, len(clients))
	for range s.runs {
		for i, c := range clients {
			one, err := s.measure(c, stop)
			if err != nil {
				return fmt.Errorf("%s: %w", c.title, err)
			}
			measured[i] = append(measured[i], one)
		}
	}
	return s.print(clients, measured)
}

// A sample is one run of a client, with all its CPU time.
type sample struct{ wall, cpu time.Duration }

func (s settings) measure(c client, stop <-chan os.Signal) (one sample, err error) {
	var out strings.Builder
	cmd := pinned.Command(pinned.Client, c.argv...)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.Env = append(os.Environ(), "HOME="+s.out, "XDG_STATE_HOME="+s.out, "XDG_CACHE_HOME="+s.out, "XDG_CONFIG_HOME="+s.out, "RDAPQ_HTTP1_CONNECTIONS="+atOnce)
	if one.wall, one.cpu, err = pinned.Run(cmd, stop); err != nil {
		return one, fmt.Errorf("%w\n%s", err, said.String())
	}
	return one, c.check(out.String())
}

func (s settings) print(clients []client, measured [][]sample) error {
	var rows [][]string
	rows = append(rows, []string{"client", "lookups/s", "µs of CPU per lookup", "lookups/s against " + clients[0].title, "CPU relative to it"})
	var base sample
	for i, c := range clients {
		m := median(measured[i])
		if i == 0 {
			base = m
		}
		rows = append(rows, []string{
			c.title,
			fmt.Sprintf("%.0f", float64(s.n)/m.wall.Seconds()),
			fmt.Sprintf("%.1f", float64(m.cpu.Microseconds())/float64(s.n)),
			fmt.Sprintf("%.2f", base.wall.Seconds()/m.wall.Seconds()),
			fmt.Sprintf("%.1f", m.cpu.Seconds()/base.cpu.Seconds()),
		})
	}
	if s.markdown {
		rows = slices.Insert(rows, 1, []string{"---", "---:", "---:", "---:", "---:"})
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		if s.markdown {
			fmt.Printf("| %s |\n", strings.Join(row, " | "))
			continue
		}
		fmt.Fprintln(out, strings.Join(row, "\t"))
	}
	return out.Flush()
}

// median returns the sample with the median time.
func median(all []sample) sample {
	s := slices.SortedFunc(slices.Values(all), func(a, b sample) int { return cmp.Compare(a.wall, b.wall) })
	return s[len(s)/2]
}
