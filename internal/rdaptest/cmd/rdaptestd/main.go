// Command rdaptestd runs invented RDAP servers in a separate process, for measurements that
// must not share a runtime with their client.
//
// It writes ca.pem, the bootstrap files dns.json, ipv4.json, ipv6.json, asn.json and
// object-tags.json, and finally servers.json to the directory -dir. It prints servers.json on
// standard output as well, as one line. All domains exist except those whose first label begins
// with "free". The control URL in servers.json serves GET /-/counts, with ?conns=1 for each
// connection. With -log it also serves GET /-/log, which has one line per request, with the
// time in nanoseconds since 1970 and the URI.
//
// It ends on SIGTERM and SIGINT. If standard input is a pipe, it also ends when the pipe
// closes.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var stdin io.Reader
	if info, err := os.Stdin.Stat(); err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0 {
		stdin = os.Stdin // ignore a terminal or /dev/null
	}
	if err := run(ctx, os.Args[1:], stdin, os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "rdaptestd:", err)
		}
		os.Exit(1)
	}
}

// options holds the values of the flags.
type options struct {
	dir     string
	servers int
	tlds    string
	proto   string
	shape   string
	config  rdaptest.Config
	streams uint
}

func parse(args []string, stderr io.Writer) (*options, error) {
	var o options
	f := flag.NewFlagSet("rdaptestd", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.dir, "dir", "", "write ca.pem, the bootstrap files and servers.json to `DIR` (required)")
	f.IntVar(&o.servers, "servers", 1, "start `N` servers")
	f.StringVar(&o.tlds, "tlds", "com,net,org,re,fr,eu,dev,info", "distribute these `TLDS` over the servers")
	f.StringVar(&o.proto, "proto", "both", "offer this `PROTOCOL`: h1, h2 or both")
	f.StringVar(&o.shape, "shape", "thin", "send domain objects of this `SHAPE`: thin, thick or minimal")
	f.UintVar(&o.streams, "max-streams", 0, "allow `N` concurrent HTTP/2 requests per connection; 0 means net/http's default")
	f.BoolVar(&o.config.Log, "log", false, "log requests for the control URL")
	f.BoolVar(&o.config.Gzip, "gzip", false, "compress responses for clients that accept it")
	f.DurationVar(&o.config.Latency, "latency", 0, "delay each response by `TIME`")
	f.DurationVar(&o.config.RTT, "rtt", 0, "emulate a round-trip `TIME`, including connection set-up")
	f.DurationVar(&o.config.IdleTimeout, "idle-timeout", 0, "close idle connections after `TIME`, HTTP/2 with GOAWAY; 0 means never")
	f.DurationVar(&o.config.Conn.IdleClose, "idle-close", 0, "close idle connections after `TIME` without an announcement; 0 means never")
	f.IntVar(&o.config.Conn.CloseAfter, "close-after", 0, "close a connection after `N` responses without an announcement; 0 means never")
	f.IntVar(&o.config.Conn.AnnounceAfter, "announce-after", 0, "send Connection: close (HTTP/2: GOAWAY) with response `N`; 0 means never")
	f.IntVar(&o.config.Conn.HangUpAfter, "hang-up-after", 0, "close a connection instead of responding after `N` responses; 0 means never")
	f.IntVar(&o.config.Conn.BlackHoleAfter, "black-hole-after", 0, "stop responding after `N` responses, but stay open; 0 means never")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	protocols := map[string]rdaptest.Protocols{"h1": rdaptest.H1Only, "h2": rdaptest.H2Only, "both": rdaptest.H1AndH2}
	p, ok := protocols[o.proto]
	shape := rdaptest.Shape(o.shape)
	switch {
	case o.dir == "":
		return nil, errors.New("-dir is required")
	case o.servers < 1:
		return nil, errors.New("-servers must be at least 1")
	case !ok:
		return nil, fmt.Errorf("invalid -proto %q: use h1, h2 or both", o.proto)
	case shape != rdaptest.Thin && shape != rdaptest.Thick && shape != rdaptest.Minimal:
		return nil, fmt.Errorf("invalid -shape %q: use thin, thick or minimal", o.shape)
	case f.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	o.config.Protocols = p
	o.config.MaxStreams = uint32(o.streams)
	o.config.Source = rdaptest.Invented{Shape: shape}
	o.config.Searches = rdaptest.DemoSearches()
	return &o, nil
}

// A ready is the content of servers.json.
type ready struct {
	Servers []readyServer `json:"servers"`
	Control string        `json:"control"` // base URL for control requests
	CA      string        `json:"ca"`      // name of the file with the CA certificate
	PID     int           `json:"pid"`
}

type readyServer struct {
	URL  string   `json:"url"`
	Addr string   `json:"addr"`
	TLDs []string `json:"tlds"`
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	ca, err := rdaptest.NewCA()
	if err != nil {
		return err
	}
	o.config.CA = ca
	var servers []*rdaptest.Server
	defer func() {
		for _, s := range servers {
			s.Close()
		}
	}()
	for range o.servers {
		s, err := rdaptest.New(o.config)
		if err != nil {
			return err
		}
		servers = append(servers, s)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("control: %w", err)
	}
	control := &http.Server{Handler: controls(servers), ReadHeaderTimeout: 10 * time.Second}
	defer control.Close()
	failed := make(chan error, 1)
	go func() { failed <- control.Serve(l) }()

	r := ready{Control: "http://" + l.Addr().String() + "/", CA: filepath.Join(o.dir, "ca.pem"), PID: os.Getpid()}
	for _, s := range servers {
		r.Servers = append(r.Servers, readyServer{URL: s.URL(), Addr: s.Addr()})
	}
	for i, tld := range strings.Split(o.tlds, ",") {
		s := &r.Servers[i%len(r.Servers)]
		s.TLDs = append(s.TLDs, strings.TrimSpace(tld))
	}
	line, err := write(o.dir, ca, &r)
	if err != nil {
		return err
	}
	if _, err := stdout.Write(line); err != nil {
		return err
	}
	ended := make(chan struct{})
	if stdin != nil {
		go func() {
			io.Copy(io.Discard, stdin)
			close(ended)
		}()
	}
	select {
	case <-ctx.Done():
	case <-ended:
	case err := <-failed:
		return fmt.Errorf("control: %w", err)
	}
	return nil
}

// write writes the files, servers.json last, and returns the content of servers.json.
func write(dir string, ca *rdaptest.CA, r *ready) ([]byte, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	files := map[string][]byte{"ca.pem": ca.PEM()}
	first := r.Servers[0].URL
	var dns []rdaptest.Service
	for _, s := range r.Servers {
		if len(s.TLDs) > 0 {
			dns = append(dns, rdaptest.Service{Entries: s.TLDs, URLs: []string{s.URL}})
		}
	}
	all := func(entry string) []rdaptest.Service {
		return []rdaptest.Service{{Entries: []string{entry}, URLs: []string{first}}}
	}
	files["dns.json"] = rdaptest.Registry("dns", dns)
	files["ipv4.json"] = rdaptest.Registry("ipv4", all("0.0.0.0/0"))
	files["ipv6.json"] = rdaptest.Registry("ipv6", all("::/0"))
	files["asn.json"] = rdaptest.Registry("asn", all("0-4294967295"))
	files["object-tags.json"] = rdaptest.Registry("object-tags", all("INV"))
	for name, body := range files {
		if err := replace(filepath.Join(dir, name), body); err != nil {
			return nil, err
		}
	}
	line, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	line = append(line, '\n')
	return line, replace(filepath.Join(dir, "servers.json"), line)
}

// replace writes a file atomically, because other programs wait for the file.
func replace(name string, body []byte) error {
	if err := os.WriteFile(name+".new", body, 0o644); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// controls serves the control URL.
func controls(servers []*rdaptest.Server) http.Handler {
	type one struct {
		URL    string          `json:"url"`
		Counts rdaptest.Counts `json:"counts"`
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /-/counts", func(w http.ResponseWriter, r *http.Request) {
		var answer struct {
			Total   rdaptest.Counts `json:"total"`
			Servers []one           `json:"servers"`
		}
		for _, s := range servers {
			n := s.Totals()
			answer.Total = answer.Total.Add(n)
			if r.FormValue("conns") != "" {
				n = s.Counts()
			}
			answer.Servers = append(answer.Servers, one{s.URL(), n})
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(answer)
	})
	mux.HandleFunc("GET /-/log", func(w http.ResponseWriter, r *http.Request) {
		out := bufio.NewWriter(w)
		defer out.Flush()
		for _, s := range servers {
			for _, e := range s.Log() {
				fmt.Fprintf(out, "%d %s\n", e.Time.UnixNano(), e.URI)
			}
		}
	})
	return mux
}
