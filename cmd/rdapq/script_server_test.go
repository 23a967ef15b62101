package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rdapq/rdapq/internal/rdaptest"
)

// A world holds the servers of one script.
type world struct {
	ctx     context.Context // done when the script ends
	cancel  context.CancelFunc
	ca      *rdaptest.CA
	caFile  string
	servers map[string]*rdaptest.Server
	h3      map[string]*rdaptest.H3
	iana    *registries
	proxies map[string]*proxy
	closers []func()
	wait    sync.WaitGroup
}

type worldKey struct{}

func worldOf(ts *testscript.TestScript) *world { return ts.Value(worldKey{}).(*world) }

func newWorld(env *testscript.Env) (*world, error) {
	ca, err := rdaptest.NewCA()
	if err != nil {
		return nil, err
	}
	w := &world{ca: ca, caFile: filepath.Join(env.WorkDir, "ca.pem"), servers: make(map[string]*rdaptest.Server), h3: make(map[string]*rdaptest.H3), proxies: make(map[string]*proxy)}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w, os.WriteFile(w.caFile, ca.PEM(), 0o666)
}

func (w *world) close() {
	w.cancel()
	for _, c := range w.closers {
		c()
	}
	w.wait.Wait()
}

func (w *world) server(ts *testscript.TestScript, name string) *rdaptest.Server {
	s := w.servers[name]
	if s == nil {
		ts.Fatalf("no server %s", name)
	}
	return s
}

// cmdServer starts a server that has every object except those whose name begins with "free".
// $NAME is its base URL, $NAME_HOST its host and port, $NAME_PORT its port. Its certificate is
// also valid for rdap.alpha.example, and the command trusts it by $RDAPQ_CA. Options for the
// protocol are h1 and h2 (only that protocol), h3 (HTTP/3 as well), h3=early (clients that
// offer early data must send a request in it), and http (plain HTTP, without counts and
// [cmdAnswer]). Options for TLS are clientcert (requires a client certificate, see
// [cmdIdentity]), tls1.1 (at most that version), and expired and wronghost (for the server's
// certificate). Options for responses are searches[=PAGESIZE] (supports searches, see
// [directory]) and registrar=URL (domains link to that URL).
func cmdServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: server NAME [OPTION...]")
	}
	w, name, config := worldOf(ts), args[0], rdaptest.Config{Log: true}
	config.CA, config.Names = w.ca, []string{"rdap.alpha.example"}
	url := ""
	var quic *rdaptest.H3Config
	for _, option := range args[1:] {
		var cert tls.Certificate
		var err error
		switch key, value, _ := strings.Cut(option, "="); key {
		case "h1":
			config.Protocols = rdaptest.H1Only
		case "h2":
			config.Protocols = rdaptest.H2Only
		case "h3":
			quic = &rdaptest.H3Config{AwaitEarly: value == "early"}
		case "clientcert":
			// With TLS 1.2 a rejection is part of the handshake. With TLS 1.3 the rejection
			// comes later, and the alert may be lost.
			config.TLS = func(c *tls.Config) { c.ClientAuth, c.MaxVersion = tls.RequireAnyClientCert, tls.VersionTLS12 }
		case "tls1.1":
			config.MinTLS, config.MaxTLS = tls.VersionTLS10, tls.VersionTLS11
		case "expired":
			cert, err = w.ca.ExpiredCertificate("127.0.0.1")
		case "wronghost":
			cert, err = w.ca.WrongHostCertificate()
		case "registrar":
			config.Source = rdaptest.Invented{Registrar: value}
		case "searches":
			config.Searches = directory(ts, value)
		case "http":
			url = w.plainServer()
		default:
			ts.Fatalf("unknown option %s", option)
		}
		ts.Check(err)
		if cert.Certificate != nil {
			config.Certificate = &cert
		}
	}
	if url == "" {
		s, err := w.start(name, config, quic)
		ts.Check(err)
		w.closers = append(w.closers, s.Close)
		w.servers[name] = s
		url = s.URL()
	}
	ts.Setenv(name, url)
	ts.Setenv("RDAPQ_CA", w.caFile)
	_, host, _ := strings.Cut(strings.TrimSuffix(url, "/"), "://")
	ts.Setenv(name+"_HOST", host)
	_, port, _ := strings.Cut(host, ":")
	ts.Setenv(name+"_PORT", port)
}

func (w *world) start(name string, config rdaptest.Config, quic *rdaptest.H3Config) (*rdaptest.Server, error) {
	if quic == nil {
		return rdaptest.New(config)
	}
	s, h, err := rdaptest.NewH3(config, *quic)
	if err == nil {
		w.h3[name] = h
		w.closers = append(w.closers, h.Close)
	}
	return s, err
}

func (w *world) plainServer() string {
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		class, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		a := rdaptest.Invented{}.Answer(rdaptest.Question{Base: "http://" + r.Host + "/", Class: class, Key: key})
		rw.Header().Set("Content-Type", "application/rdap+json")
		rw.WriteHeader(a.Status)
		_, _ = rw.Write(a.Body) // the client may have closed the connection
	}))
	w.closers = append(w.closers, s.Close)
	return s.URL + "/"
}

// cmdAnswer sets the response of a server for a path, or for a prefix if the path ends in "*".
// The response is a status (404), json=FILE, body=TYPE:FILE (both with variables replaced),
// empty, redirect=STATUS:URL, header=NAME:VALUE, hang, hangup, endless, cut=N, junk=TEXT,
// latency=TIME, drip=TIME (before each byte), hold=N (until that many requests have arrived)
// and first=N:HOW. Without these it restores the default.
func cmdAnswer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: answer NAME PATH HOW...")
	}
	w := worldOf(ts)
	s := w.server(ts, args[0])
	var all []rdaptest.Behaviour
	for _, how := range args[2:] {
		all = append(all, w.behaviour(ts, s, how))
	}
	s.On(args[1], all...)
}

func (w *world) behaviour(ts *testscript.TestScript, s *rdaptest.Server, how string) rdaptest.Behaviour {
	key, value, _ := strings.Cut(how, "=")
	before, after, _ := strings.Cut(value, ":")
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		ts.Check(err)
		return n
	}
	file := func(name string) string { return os.Expand(ts.ReadFile(name), ts.Getenv) }
	switch key {
	case "json":
		return rdaptest.JSON(file(value))
	case "body":
		return rdaptest.Body(before, file(after))
	case "empty":
		return rdaptest.NoBody()
	case "redirect":
		return rdaptest.Redirect(number(before), after)
	case "header":
		return rdaptest.Header(before, after)
	case "hang":
		return rdaptest.Hang()
	case "hangup":
		return rdaptest.HangUp()
	case "endless":
		return rdaptest.Endless()
	case "cut":
		return rdaptest.Cut(number(value))
	case "junk":
		return rdaptest.Junk(value)
	case "latency", "drip":
		d, err := time.ParseDuration(value)
		ts.Check(err)
		if key == "drip" {
			return rdaptest.Drip(1, d)
		}
		return rdaptest.Latency(d)
	case "hold":
		here := make(chan struct{})
		n := number(value)
		w.wait.Go(func() {
			_ = s.AwaitRequests(w.ctx, n) // an error means that the script has ended
			close(here)
		})
		return rdaptest.Until(here)
	case "first":
		return rdaptest.First(number(before), w.behaviour(ts, s, after))
	}
	return rdaptest.Status(number(how))
}

var countCheck = regexp.MustCompile(`^(\w+)(<=|>=|=)(\d+)$`)

// cmdCounts compares the counts of a server, with =, <= and >=. The counts are connections,
// handshakes (full and resumed), full, resumed, requests, and in_flight (maximum number of
// concurrent requests on one connection). For HTTP/3 there are quic (connections) and early
// (connections with accepted early data). cmdCounts first waits until the server has seen the
// end of earlier commands' connections.
func cmdCounts(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: counts NAME WHAT=N...")
	}
	const patience = 20 * time.Second
	s, h := worldOf(ts).server(ts, args[0]), worldOf(ts).h3[args[0]]
	ctx, cancel := context.WithTimeout(worldOf(ts).ctx, patience)
	defer cancel()
	ts.Check(s.AwaitOpen(ctx, 0))
	if h != nil {
		ts.Check(h.AwaitOpen(ctx, 0))
	}
	c := s.Counts()
	counted := map[string]int64{
		"connections": c.Connections, "handshakes": c.Handshakes(), "full": c.FullHandshakes, "resumed": c.Resumed, "requests": c.Requests,
	}
	for _, conn := range c.Conns {
		counted["in_flight"] = max(counted["in_flight"], conn.MaxInFlight)
	}
	if h != nil {
		c := h.Counts()
		counted["quic"], counted["early"] = c.Connections, c.EarlyAccepted
	}
	for _, check := range args[1:] {
		parts := countCheck.FindStringSubmatch(check)
		if parts == nil {
			ts.Fatalf("what is %s?", check)
		}
		got, ok := counted[parts[1]]
		if !ok && parts[1] != "in_flight" {
			ts.Fatalf("unknown count %s", parts[1])
		}
		want, err := strconv.ParseInt(parts[3], 10, 64)
		ts.Check(err)
		if fine := map[string]bool{"=": got == want, "<=": got <= want, ">=": got >= want}; !fine[parts[2]] {
			ts.Fatalf("%s: %s is %d", check, parts[1], got)
		}
	}
}

// cmdAsked prints method, path and the named header fields of each request.
func cmdAsked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: asked NAME [HEADER...]")
	}
	for _, e := range worldOf(ts).server(ts, args[0]).Log() {
		line := e.Method + " " + e.URI
		for _, name := range args[1:] {
			line += " " + strings.Join(e.Header[http.CanonicalHeaderKey(name)], ", ")
		}
		fmt.Fprintln(ts.Stdout(), strings.TrimRight(line, " "))
	}
}
