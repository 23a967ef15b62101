package rdapqtest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// A Server is an RDAP server for a test. It is closed when the test ends. It is safe
// for concurrent use.
type Server struct {
	tb      testing.TB
	server  *rdaptest.Server
	network *rdaptest.Network // nil for the network of the operating system

	mu      sync.RWMutex
	objects map[string][]byte
}

// NewServer starts a server on a loopback address. The keys of objects are paths such as
// "domain/example.com", "ip/192.0.2.0/24" and "domains?name=exam*.com", as [client.Query.Path]
// returns them. The values are the bodies of the responses. The server compares whole paths: it
// does not find the network of an address. Names may be in upper case. A path may start with a
// base path: "registrar/domain/example.com" is an object of the service at URL() +
// "registrar/". The server has a "help" object even if objects has none. Nil means no objects.
// If the server cannot start, the test fails.
func NewServer(tb testing.TB, objects map[string][]byte) *Server {
	tb.Helper()
	return newServer(tb, objects, nil)
}

// NewMemoryServer is like [NewServer], but its connections are in memory, so only clients with
// [Server.Config] reach the server. Call NewMemoryServer in a bubble of testing/synctest.
func NewMemoryServer(tb testing.TB, objects map[string][]byte) *Server {
	tb.Helper()
	return newServer(tb, objects, new(rdaptest.Network))
}

func newServer(tb testing.TB, objects map[string][]byte, network *rdaptest.Network) *Server {
	tb.Helper()
	s := &Server{tb: tb, network: network, objects: make(map[string][]byte)}
	s.Set("help", []byte(`{"rdapConformance":["rdap_level_0"],"notices":[{"title":"Test","description":["A server for tests."]}]}`))
	for path, body := range objects {
		s.Set(path, body)
	}
	s.server = rdaptest.Start(tb, rdaptest.Config{Source: source{s}, Network: network, Log: true})
	return s
}

// Set adds or replaces the object at a path of the form that [NewServer] describes. A nil body
// removes the object.
func (s *Server) Set(path string, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if body == nil {
		delete(s.objects, normalize(path))
		return
	}
	s.objects[normalize(path)] = body
}

// URL returns the base URL of the server, which ends in "/".
func (s *Server) URL() string { return s.server.URL() }

// Certificates returns the certificate authority of the server.
func (s *Server) Certificates() *x509.CertPool { return s.server.Pool() }

// CertificatePEM returns the certificate authority of the server in PEM format, for another
// process.
func (s *Server) CertificatePEM() []byte { return s.server.CA().PEM() }

// Config returns a configuration whose Transport trusts the server, and whose Resolver sends
// every query to it. When the test ends, the server closes both. The test may change the other
// fields. Each call returns another Transport, so that clients do not share connections. A
// ConnectTimeout has no effect, since the Transport is set.
func (s *Server) Config() client.Config {
	s.tb.Helper()
	resolver, err := bootstrap.New(bootstrap.Config{Server: s.URL()})
	if err != nil {
		s.tb.Fatal("rdapqtest: ", err)
	}
	config := pool.Config{TLS: &tls.Config{RootCAs: s.Certificates()}}
	if s.network != nil {
		config.Dial = s.network.Dial
	}
	transport, err := pool.New(config)
	if err != nil {
		s.tb.Fatal("rdapqtest: ", err)
	}
	s.tb.Cleanup(func() {
		if err := transport.Close(); err != nil {
			s.tb.Error("rdapqtest: ", err)
		}
		if err := resolver.Close(); err != nil {
			s.tb.Error("rdapqtest: ", err)
		}
	})
	return client.Config{Transport: transport, Resolver: resolver}
}

// Counts contains the counts of a [Server].
type Counts struct {
	Requests    int64 // requests received
	MaxInFlight int64 // maximum of concurrent requests
	Connections int64 // TCP connections accepted
	Open        int64 // connections open now
	Handshakes  int64 // TLS handshakes finished, resumed ones included
	Resumed     int64 // TLS handshakes that resumed a session
}

// Counts returns the counts since the start of the server.
func (s *Server) Counts() Counts {
	n := s.server.Totals()
	return Counts{
		Requests: n.Requests, MaxInFlight: n.MaxInFlight, Connections: n.Connections, Open: n.Open,
		Handshakes: n.Handshakes(), Resumed: n.Resumed,
	}
}

// A Request is a request that the server received.
type Request struct {
	Time     time.Time
	Protocol string // "HTTP/1.1" or "HTTP/2.0"
	Path     string // path and query relative to URL, such as "domain/example.com"
	Header   http.Header
}

// Requests returns the requests so far, in the order of their arrival.
func (s *Server) Requests() []Request {
	log := s.server.Log()
	requests := make([]Request, len(log))
	for i, e := range log {
		requests[i] = Request{Time: e.Time, Protocol: e.Protocol, Path: strings.TrimPrefix(e.URI, "/"), Header: e.Header}
	}
	return requests
}

// AwaitRequests waits until the server has received at least n requests. It returns an
// error when ctx is done.
func (s *Server) AwaitRequests(ctx context.Context, n int) error {
	return s.server.AwaitRequests(ctx, n)
}

// CloseConnections closes all open connections without an announcement, as a server that
// is restarted does.
func (s *Server) CloseConnections() { s.server.CloseConns() }

// source serves the objects of a Server.
type source struct{ s *Server }

func (src source) Answer(q rdaptest.Question) rdaptest.Answer {
	_, base, _ := strings.Cut(strings.TrimPrefix(q.Base, "https://"), "/")
	path := base + q.Class
	if q.Key != "" {
		path += "/" + q.Key
	}
	if q.Query != "" {
		path += "?" + q.Query
	}
	src.s.mu.RLock()
	body, ok := src.s.objects[normalize(path)]
	src.s.mu.RUnlock()
	if !ok {
		return rdaptest.Refusal(http.StatusNotFound, "the test has no object at "+path)
	}
	return rdaptest.Answer{Status: http.StatusOK, Body: body}
}

// normalize returns the form in which the server compares paths. The form has no escapes. It is
// in lower case, except for the handles of entities and for searches.
func normalize(path string) string {
	path, query, search := strings.Cut(strings.TrimPrefix(path, "/"), "?")
	if text, err := url.PathUnescape(path); err == nil {
		path = text
	}
	if search {
		if text, err := url.QueryUnescape(query); err == nil {
			query = text
		}
		return path + "?" + query
	}
	if strings.HasPrefix(path, "entity/") || strings.Contains(path, "/entity/") {
		return path
	}
	return strings.ToLower(path)
}
