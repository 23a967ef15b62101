// Package rdaptest provides an RDAP server in this process. The server uses TLS on loopback,
// HTTP/1.1 and HTTP/2, has configurable faults and latency, and counts requests and
// connections. Tests, the demo mode of the command, and benchmarks use it.
//
// Use [Start] in a test, [New] elsewhere, and [NewDemo] for a set of servers with bootstrap
// registries. All data is invented.
package rdaptest

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Protocols selects the HTTP versions that a server offers.
type Protocols uint8

const (
	H1AndH2 Protocols = iota // HTTP/1.1 and HTTP/2; the client chooses by ALPN
	H1Only                   // HTTP/1.1 alone
	H2Only                   // HTTP/2 alone; a client that does not offer it fails in the handshake
)

// Config configures a [Server]. The zero value serves [Invented] without delay.
type Config struct {
	CA          *CA              // authority of the certificate; nil means a new one
	Certificate *tls.Certificate // certificate; nil means one of CA for Names, 127.0.0.1, ::1 and localhost
	Names       []string         // additional host names of the certificate
	Protocols   Protocols
	MinTLS      uint16 // minimum version of TLS, such as tls.VersionTLS12; 0 means Go's default
	MaxTLS      uint16
	TLS         func(*tls.Config) // modifies the TLS configuration; may be nil
	Addr        string            // address to listen on; empty means 127.0.0.1:0
	Network     *Network          // network in which the server listens; nil means the system's network
	// number of concurrent HTTP/2 requests per connection; 0 means net/http's default
	MaxStreams  uint32
	IdleTimeout time.Duration // idle timeout, announced only with HTTP/2; 0 means none
	RTT         time.Duration // emulated round-trip time, including connection set-up
	Latency     time.Duration // latency of every response; see [Latency] for single responses
	Gzip        bool          // compress responses for clients that accept gzip
	Conn        ConnRules     // faults of connections, see [Server.SetConnRules]
	Source      Source        // source of responses; nil means [Invented]
	Searches    *Searches     // searchable objects; nil means that searches get 501
	Handler     http.Handler  // replaces the RDAP service; counts and ConnRules still apply
	Log         bool          // store requests for [Server.Log]

	// SingleUseTickets accepts each TLS 1.3 ticket once. The server counts reused tickets,
	// which cause a full handshake.
	SingleUseTickets bool
}

// A Server is a running RDAP server. It is safe for concurrent use.
type Server struct {
	config   Config
	ca       *CA
	listener net.Listener
	tls      *tls.Config
	http     *http.Server
	ready    chan net.Conn // connections after their handshake, for net/http
	tally    tally
	source   Source
	rules    ruleBook
	zippers  sync.Pool // holds *gzip.Writer
	altSvc   atomic.Pointer[string]

	done  chan struct{} // closed by Close
	close sync.Once
	work  sync.WaitGroup

	mu        sync.Mutex
	closed    bool               // guarded by mu
	conns     map[*conn]struct{} // guarded by mu
	connRules ConnRules          // guarded by mu
	applied   int                // guarded by mu; number of connections that got connRules
	refuse    bool               // guarded by mu; fail handshakes that offer a session
}

// TB is the part of testing.TB that [Start] needs.
type TB interface {
	Helper()
	Fatal(args ...any)
	Cleanup(f func())
}

// Start starts a server that stops when the test ends.
func Start(t TB, config Config) *Server {
	t.Helper()
	s, err := New(config)
	if err != nil {
		t.Fatal("rdaptest: ", err)
	}
	t.Cleanup(s.Close)
	return s
}

// New starts a server. The caller closes it.
func New(config Config) (*Server, error) {
	s := &Server{
		config: config,
		ca:     config.CA,
		source: config.Source,
		ready:  make(chan net.Conn),
		done:   make(chan struct{}),
		conns:  make(map[*conn]struct{}),
	}
	s.connRules = config.Conn
	if s.source == nil {
		s.source = Invented{}
	}
	if s.ca == nil {
		ca, err := NewCA()
		if err != nil {
			return nil, err
		}
		s.ca = ca
	}
	if err := s.configureTLS(); err != nil {
		return nil, err
	}
	if err := s.listen(); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}

	handler := config.Handler
	if handler == nil {
		handler = http.HandlerFunc(s.serveRDAP)
	}
	// net/http gets connections after TLS, so it sees unencrypted HTTP/2.
	var protocols http.Protocols
	protocols.SetHTTP1(config.Protocols != H2Only)
	protocols.SetUnencryptedHTTP2(config.Protocols != H1Only)
	s.http = &http.Server{
		Handler:     s.counted(handler),
		Protocols:   &protocols,
		IdleTimeout: config.IdleTimeout,
		ErrorLog:    log.New(io.Discard, "", 0), // broken connections are intended here
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
		ConnState: connState,
		HTTP2:     &http.HTTP2Config{MaxConcurrentStreams: int(config.MaxStreams)},
	}
	s.work.Go(func() { s.http.Serve(readyListener{s}) })
	s.work.Go(s.accept)
	return s, nil
}

func (s *Server) listen() (err error) {
	if s.config.Network != nil {
		s.listener, err = s.config.Network.Listen(s.config.Addr)
		return err
	}
	addr := s.config.Addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	s.listener, err = net.Listen("tcp", addr)
	return err
}

func (s *Server) configureTLS() error {
	cert := s.config.Certificate
	if cert == nil {
		c, err := s.ca.Certificate(append([]string{"localhost", "127.0.0.1", "::1"}, s.config.Names...)...)
		if err != nil {
			return err
		}
		cert = &c
	}
	s.tls = &tls.Config{
		Certificates: []tls.Certificate{*cert},
		MinVersion:   s.config.MinTLS,
		MaxVersion:   s.config.MaxTLS,
	}
	switch s.config.Protocols {
	case H1Only:
		s.tls.NextProtos = []string{"http/1.1"}
	case H2Only:
		s.tls.NextProtos = []string{"h2"}
	default:
		s.tls.NextProtos = []string{"h2", "http/1.1"}
	}
	s.tls.GetConfigForClient = s.checkHello
	if s.config.SingleUseTickets {
		s.tls.WrapSession = s.tls.EncryptTicket
		s.tls.UnwrapSession = s.tally.once(s.tls.DecryptTicket)
	}
	if s.config.TLS != nil {
		s.config.TLS(s.tls)
	}
	return nil
}

// URL returns the server's base URL, which ends in "/".
func (s *Server) URL() string { return "https://" + s.Addr() + "/" }

// Addr returns the address and port that the server listens on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// CA returns the authority that issued the server's certificate.
func (s *Server) CA() *CA { return s.ca }

// Pool returns the certificate pool that a client of the server needs.
func (s *Server) Pool() *x509.CertPool { return s.ca.Pool() }

// Counts returns the current counts.
func (s *Server) Counts() Counts { return s.tally.counts(true) }

// Totals is like Counts, but without Conns, which is cheaper after many connections.
func (s *Server) Totals() Counts { return s.tally.counts(false) }

// Log returns the requests so far, if [Config].Log is set.
func (s *Server) Log() []LogEntry {
	s.tally.mu.Lock()
	defer s.tally.mu.Unlock()
	return append([]LogEntry(nil), s.tally.log...)
}

// AwaitOpen waits until at most n connections are open. It returns an error when ctx is
// done.
func (s *Server) AwaitOpen(ctx context.Context, n int) error {
	return s.tally.awaitOpen(ctx, int64(n))
}

// AwaitConnections waits until at least n connections have been accepted. It returns an
// error when ctx is done.
func (s *Server) AwaitConnections(ctx context.Context, n int) error {
	return s.tally.awaitConnections(ctx, int64(n))
}

// AwaitRequests waits until at least n requests have reached a handler. It returns an
// error when ctx is done.
func (s *Server) AwaitRequests(ctx context.Context, n int) error {
	return s.tally.awaitRequests(ctx, int64(n))
}

// SetConnRules applies rules to connections accepted from now on.
func (s *Server) SetConnRules(rules ConnRules) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connRules = rules
	s.applied = 0
}

// CloseConns closes all open connections without notice, like a server or middlebox that lost
// its state.
func (s *Server) CloseConns() {
	for _, c := range s.open() {
		c.kill()
	}
}

// AnnounceClose sends Connection: close (HTTP/2: GOAWAY) with the next response on each
// open connection.
func (s *Server) AnnounceClose() {
	for _, c := range s.open() {
		c.announce.Store(true)
	}
}

// DropTickets replaces the session ticket keys, so that earlier sessions cannot be resumed and
// need a full handshake.
func (s *Server) DropTickets() {
	var key [32]byte
	rand.Read(key[:]) // Read is documented never to fail
	s.tls.SetSessionTicketKeys([][32]byte{key})
}

// FailResumption fails handshakes that offer a TLS 1.3 session.
func (s *Server) FailResumption(fail bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = fail
}

var (
	errResumption = errors.New("rdaptest: resumption fails by request of the test")
	errNoH2       = errors.New("rdaptest: client does not offer h2")
)

func (s *Server) checkHello(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	const preSharedKey = 41
	if s.config.Protocols == H2Only && !slices.Contains(hello.SupportedProtos, "h2") {
		return nil, errNoH2 // without ALPN, crypto/tls would accept HTTP/1.1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse {
		if slices.Contains(hello.Extensions, preSharedKey) {
			return nil, errResumption
		}
	}
	return nil, nil
}

// Close stops the server, closes its connections, and returns when its
// goroutines have ended.
func (s *Server) Close() {
	s.close.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		close(s.done)
		s.listener.Close()
		s.CloseConns()
		s.http.Close()
	})
	s.work.Wait()
}

// Client returns a plain net/http client that trusts the server, for tests of
// the server itself. The caller closes its idle connections.
func (s *Server) Client() *http.Client {
	config := &tls.Config{RootCAs: s.Pool(), ClientSessionCache: tls.NewLRUClientSessionCache(8)}
	return &http.Client{
		Transport: &http.Transport{
			TLSClientConfig:   config,
			ForceAttemptHTTP2: s.config.Protocols != H1Only,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (s *Server) open() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	conns := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	return conns
}

func (s *Server) forget(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	c.setIdle(false)
	s.tally.close(c.tally)
}

// endpoint splits a request's path into base path and RDAP path segments.
func endpoint(path string) (base, class, rest string) {
	for at := 0; at < len(path); {
		segment, after, more := strings.Cut(path[at+1:], "/")
		switch segment {
		case "domain", "ip", "autnum", "nameserver", "entity", "help",
			"domains", "nameservers", "entities", "ips", "autnums":
			if more {
				return path[:at+1], segment, after
			}
			return path[:at+1], segment, ""
		}
		if !more {
			break
		}
		at += 1 + len(segment)
	}
	return path, "", ""
}
