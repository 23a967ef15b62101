// Servers measures clients that query many servers over the lab's link.
// bench/servers.sh builds its programs and runs it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdapq/rdapq/bench/lab/internal/lab"
)

// runLimit is the timeout of a run.
const runLimit = 20 * time.Minute

type settings struct {
	lookups, servers int
	rtt              time.Duration
	markdown         bool
	bin, dir         string
}

// A client is a program that looks up all names, or a shell loop over a program.
type client struct {
	title string
	argv  []string
	// check returns the number of answered names in the output.
	check func(out string) int
}

func main() {
	runtime.LockOSThread() // see package lab
	var s settings
	flag.IntVar(&s.lookups, "lookups", 1000, "`number` of lookups, up to 1000")
	flag.IntVar(&s.servers, "servers", 40, "`number` of servers")
	flag.DurationVar(&s.rtt, "rtt", 90*time.Millisecond, "round-trip `time` of the link")
	flag.BoolVar(&s.markdown, "markdown", false, "print the table as Markdown")
	flag.StringVar(&s.bin, "bin", "", "`directory` with the programs of rdapq and the lab")
	flag.StringVar(&s.dir, "dir", "", "`directory` written by setup")
	flag.Parse()
	if err := run(s); err != nil {
		fmt.Fprintln(os.Stderr, "servers:", err)
		os.Exit(1)
	}
}

func (s settings) host(i int) string { return fmt.Sprintf("s%d.rdap.example", i%s.servers) }

func (s settings) path(name string) string { return filepath.Join(s.dir, name) }

func run(s settings) error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	clients, err := s.clients()
	if err != nil {
		return err
	}
	sep, end := "\t", ""
	if s.markdown {
		sep, end = " | ", " |"
	}
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	if s.markdown {
		t = tabwriter.NewWriter(os.Stdout, 0, 0, 0, ' ', tabwriter.DiscardEmptyColumns)
	}
	line := func(cells ...any) {
		text := make([]string, len(cells))
		for i, c := range cells {
			text[i] = fmt.Sprint(c)
		}
		fmt.Fprintln(t, strings.TrimLeft(strings.TrimSuffix(sep, "\t"), " ")+strings.Join(text, sep)+end)
	}
	line("client", "s", "connections", "full handshakes", "resumed")
	if s.markdown {
		line("---", "---:", "---:", "---:", "---:")
	}
	for _, c := range clients {
		if err := s.measure(c, stop, line); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", c.title, err), t.Flush())
		}
	}
	return t.Flush()
}

// measure runs a client in a new lab.
func (s settings) measure(c client, stop <-chan os.Signal, line func(...any)) (err error) {
	config := lab.Config{RTT: s.rtt}
	for i := range s.servers {
		config.Names = append(config.Names, s.host(i))
	}
	l, err := lab.Start(config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := l.Serve([]string{"nginx", "-e", s.path("error.log"), "-c", s.path("nginx.conf")}, "tcp:443"); err != nil {
		return err
	}
	var out, said strings.Builder
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	home := filepath.Join(s.dir, "home")
	if err := errors.Join(os.RemoveAll(home), os.MkdirAll(home, 0o700)); err != nil {
		return err
	}
	cmd.Env = []string{
		"PATH=" + s.bin + ":" + os.Getenv("PATH"), "SSL_CERT_FILE=" + s.path("ca.pem"), "HOME=" + home,
		"XDG_STATE_HOME=" + home, "XDG_CACHE_HOME=" + home, "XDG_CONFIG_HOME=" + home,
	}
	cmd.Stdout, cmd.Stderr = &out, &said
	start := time.Now()
	if err := l.Run(cmd, runLimit, stop); err != nil {
		return fmt.Errorf("%w\n%s", err, said.String())
	}
	took, seen := time.Since(start), l.Counts()
	if n := c.check(out.String()); n != s.lookups {
		return fmt.Errorf("%d of %d lookups were answered\n%s", n, s.lookups, said.String())
	}
	line(c.title, fmt.Sprintf("%.1f", took.Seconds()), seen.SYN, seen.Full, seen.Resumed)
	return nil
}

// clients returns the clients and writes their inputs.
func (s settings) clients() ([]client, error) {
	var names, overrides, urls, pairs, config strings.Builder
	for i := range s.lookups {
		name, base := fmt.Sprintf("dom%d.example", i), "https://"+s.host(i)+"/"
		fmt.Fprintln(&names, name)
		fmt.Fprintln(&overrides, name, base)
		fmt.Fprintln(&urls, base+"domain/"+name)
		fmt.Fprintln(&pairs, base, name)
		fmt.Fprintf(&config, "url=%sdomain/%s\noutput=/dev/null\n", base, name)
	}
	for file, text := range map[string]string{
		"names": names.String(), "overrides": overrides.String(), "urls": urls.String(),
		"pairs": pairs.String(), "curl.conf": config.String(),
	} {
		if err := os.WriteFile(s.path(file), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	counting := func(what string) func(string) int {
		return func(out string) int { return strings.Count(out, what) }
	}
	const code = `-w '%{http_code}\n'`
	return []client{
		{"rdapq -f", []string{
			"rdapq", "-f", s.path("names"), "--offline", "--bootstrap-overrides", s.path("overrides"), "--quiet", "--fields", "line,verdict",
		}, counting(`"registered"`)},
		{"rdapq -f --no-reuse", []string{
			"rdapq", "-f", s.path("names"), "--offline", "--bootstrap-overrides", s.path("overrides"), "--quiet", "--fields", "line,verdict", "--no-reuse",
		}, counting(`"registered"`)},
		{"curl --parallel, one process", []string{
			"sh", "-c", "curl --no-progress-meter --compressed --http2 --parallel --parallel-max 64 -K " + s.path("curl.conf") + " " + code,
		}, counting("200\n")},
		{"xargs -P 16, openrdap command", []string{
			"sh", "-c", "xargs -a " + s.path("pairs") + ` -P 16 -n 2 sh -c 'rdap -s "$0" -t domain --raw "$1"'`,
		}, counting(`"rdapConformance"`)},
		{"a loop of curl", []string{
			"sh", "-c", `while read -r url; do curl -s --compressed -o /dev/null ` + code + ` "$url"; done <` + s.path("urls"),
		}, counting("200\n")},
	}, nil
}
