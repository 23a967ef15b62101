// Sizes measures the CPU time of client and server for responses of different sizes
// over HTTP/1.1 and HTTP/2, with many concurrent lookups and no delay. bench/sizes.sh
// builds its programs and runs it in a namespace.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdapq/rdapq/bench/lab/internal/pinned"
)

type settings struct {
	atOnce   int
	bytes    int64 // maximum total size of the responses of a run
	runs     int
	bin, dir string
	out      string
}

func main() {
	runtime.LockOSThread() // children end with the thread that starts them
	var s settings
	flag.IntVar(&s.atOnce, "at-once", 240, "concurrent lookups")
	flag.Int64Var(&s.bytes, "bytes", 512<<20, "maximum `bytes` of responses per run; at most 20,000 lookups")
	flag.IntVar(&s.runs, "runs", 3, "measure each mode this many `times` and report the median")
	flag.StringVar(&s.bin, "bin", "", "`directory` with the programs of rdapq and the lab")
	flag.StringVar(&s.dir, "dir", "", "`directory` written by setup")
	flag.StringVar(&s.out, "out", "", "`directory` for inputs and outputs")
	flag.Parse()
	if err := run(s); err != nil {
		fmt.Fprintln(os.Stderr, "sizes:", err)
		os.Exit(1)
	}
}

// A way is a mode of connecting.
type way struct {
	title string
	flags []string
}

// A sample holds the measurements of one run.
type sample struct {
	wall, client, server time.Duration
	connections          int
}

func run(s settings) error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	many := strconv.Itoa(s.atOnce)
	ways := []way{
		{"HTTP/1.1", []string{"--http", "1.1", "--per-host", many, "--http1-connections", many}},
		{"HTTP/2", []string{"--http", "2", "--per-host", many}},
		{"HTTP/2, one connection", []string{"--http", "2", "--per-host", many, "--min-handshakes"}},
	}
	fmt.Println("| response | over | connections | lookups/s | MB/s | client's µs of CPU | server's |")
	fmt.Println("| ---: | --- | ---: | ---: | ---: | ---: | ---: |")
	for _, kib := range []int{4, 16, 64, 256, 1024} {
		n := int(min(s.bytes/int64(kib<<10), 20_000))
		if err := s.prepare(kib, n); err != nil {
			return err
		}
		measured := make([][]sample, len(ways))
		for range s.runs {
			for i, w := range ways { // interleave the modes, so that other load affects all of them
				one, err := s.measure(w, kib, n, stop)
				if err != nil {
					return fmt.Errorf("%d KiB, %s: %w", kib, w.title, err)
				}
				measured[i] = append(measured[i], one)
			}
		}
		for i, w := range ways {
			slices.SortFunc(measured[i], func(a, b sample) int { return cmp.Compare(a.wall, b.wall) })
			m := measured[i][len(measured[i])/2]
			fmt.Printf("| %d KiB | %s | %d | %.0f | %.0f | %.0f | %.0f |\n", kib, w.title, m.connections,
				float64(n)/m.wall.Seconds(), float64(n)*float64(kib)*1024/1e6/m.wall.Seconds(),
				float64(m.client.Microseconds())/float64(n), float64(m.server.Microseconds())/float64(n))
		}
	}
	return nil
}

// prepare writes a response of the given size and the queries.
func (s settings) prepare(kib, n int) error {
	const head, tail = `{"objectClassName":"domain","handle":"SIZE","remarks":[{"description":["`, `"]}]}`
	var body strings.Builder
	body.WriteString(head)
	for line := 0; body.Len() < kib<<10-len(tail); line++ {
		fmt.Fprintf(&body, "Line %d of a long remark.%s", line, `","`)
	}
	text := body.String()[:kib<<10-len(tail)]
	text = strings.TrimRight(text, `",\`) // the text may have been cut between two strings
	text += strings.Repeat(" ", kib<<10-len(tail)-len(text)) + tail
	if !json.Valid([]byte(text)) {
		return errors.New("the response is not JSON")
	}
	var queries strings.Builder
	for i := range n {
		fmt.Fprintf(&queries, "any%d.example\n", i)
	}
	return errors.Join(
		os.WriteFile(filepath.Join(s.dir, "www", "answer"), []byte(text), 0o644),
		os.WriteFile(filepath.Join(s.out, "queries"), []byte(queries.String()), 0o644))
}

// measure runs rdapq against a new server.
func (s settings) measure(w way, kib, n int, stop <-chan os.Signal) (one sample, err error) {
	server := pinned.Command(pinned.Server, "nginx", "-e", filepath.Join(s.dir, "error.log"), "-c", filepath.Join(s.dir, "nginx.conf"))
	if err := server.Start(); err != nil {
		return one, err
	}
	defer func() {
		_ = server.Process.Signal(unix.SIGQUIT)
		_ = server.Wait() // the exit status is irrelevant
		one.server = server.ProcessState.UserTime() + server.ProcessState.SystemTime()
	}()
	if err := pinned.Await("127.0.0.1:3443"); err != nil {
		return one, err
	}
	stats := filepath.Join(s.out, "stats")
	client := pinned.Command(pinned.Client, append([]string{
		filepath.Join(s.bin, "rdapq"), "-s", "https://localhost:3443/", "--ca", filepath.Join(s.dir, "ca.pem"),
		"-j", strconv.Itoa(s.atOnce), "-f", filepath.Join(s.out, "queries"), "--quiet", "--stats-file", stats,
	}, w.flags...)...)
	home := filepath.Join(s.out, "home")
	if err := errors.Join(os.RemoveAll(home), os.MkdirAll(home, 0o700)); err != nil {
		return one, err
	}
	client.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "XDG_CACHE_HOME="+home, "XDG_CONFIG_HOME="+home)
	if one.wall, one.client, err = pinned.Run(client, stop); err != nil {
		return one, err
	}
	text, err := os.ReadFile(stats)
	if err != nil {
		return one, err
	}
	var said struct {
		Connections int
		BytesIn     int64 `json:"bytes_in"`
		Verdicts    map[string]int
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return one, err
	}
	if said.Verdicts["registered"] != n || said.BytesIn < int64(n)*int64(kib)<<10 {
		return one, fmt.Errorf("%d of %d lookups were answered, with %d bytes", said.Verdicts["registered"], n, said.BytesIn)
	}
	one.connections = said.Connections
	return one, nil
}
