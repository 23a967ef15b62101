//go:build unix

package interop_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"iter"
	"net/netip"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/pool"
)

// protocolName maps ALPN names to common names.
var protocolName = map[string]string{http1: "HTTP/1.1", http2: "HTTP/2", http3: "HTTP/3"}

// Names of features that a product may lack for a stated reason.
const (
	featureHTTP3  = "HTTP/3"
	featureTFO    = "TCP Fast Open"
	featureGoAway = "GOAWAY"
)

func keepAlive(protocol string) string { return "keep-alive limit, " + protocolName[protocol] }
func graceful(protocol string) string  { return "graceful restart, " + protocolName[protocol] }
func restarted(protocol string) string { return "refused during a restart, " + protocolName[protocol] }

// A feature is a row of the table.
type feature struct {
	name string
	test func(t *testing.T, s *instance) outcome
}

// An outcome is a cell of the table. If lookups got no response, the test has already failed.
type outcome struct {
	asked, answered int64
	full, resumed   int64 // numbers of handshakes, counted on the link if possible
	note            string
}

func features() []feature {
	return []feature{
		{protocolName[http1], plain(http1)},
		{protocolName[http2], plain(http2)},
		{featureHTTP3, plain(http3)},
		{"resumption, TLS 1.2", resumption(tls.VersionTLS12)},
		{"resumption, TLS 1.3", resumption(tls.VersionTLS13)},
		{featureTFO, fastOpen},
		{keepAlive(http1), limits(http1)},
		{keepAlive(http2), limits(http2)},
		{graceful(http1), gracefully(http1)},
		{graceful(http2), gracefully(http2)},
		{featureGoAway, goAway},
		{restarted(http1), refused(http1)},
		{restarted(http2), refused(http2)},
	}
}

// pool returns a Pool that resolves the server's name to one address.
func (s *instance) pool(c pool.Config) *pool.Pool {
	s.t.Helper()
	here := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	c.Resolve = map[string][]netip.Addr{
		"localhost:" + strconv.Itoa(s.Port): here, "localhost:" + strconv.Itoa(s.LimitPort): here,
	}
	return s.newPool(c)
}

// A tally compares the counts of a pool with those of the link and the server.
type tally struct {
	s      *instance
	before linkCounts
	lines  int
}

func (s *instance) tally() tally {
	return tally{s, s.link.counts(s.t), len(s.logs(s))}
}

// check completes a cell in which n names were queried over the pool. If calm is set, the
// server saw only the pool's connections and its unfinished dials.
func (c tally) check(t *testing.T, p *pool.Pool, n int64, protocol string, calm bool) outcome {
	t.Helper()
	s := p.Stats()
	p.Close() // abandons unneeded dials
	out := outcome{asked: n, answered: min(s.Requests, n), full: s.Handshakes.Full, resumed: s.Handshakes.Resumed}
	// A truncated body was requested twice.
	if s.Requests < n || calm && (s.Requests != n || s.Failed != 0) {
		t.Errorf("%d requests answered and %d failed of %d", s.Requests, s.Failed, n)
	}
	c.checkLog(t, s, n, protocol)
	if c.s.link == nil {
		return out
	}
	saw := c.s.link.counts(t).since(c.before)
	if saw.Missed != 0 {
		t.Errorf("%d packets were not counted", saw.Missed)
	}
	full, resumed, connections := saw.Full, saw.Resumed, saw.SYN
	if protocol == http3 {
		full, resumed, connections = saw.QUICFull, saw.QUICResume, saw.QUICConns
	}
	switch dials := p.Stats().Dials; {
	case calm && dials == s.Connections && (full != s.Handshakes.Full || resumed != s.Handshakes.Resumed || connections != s.Connections):
		t.Errorf("the pool counts %d connections and %+v, the link %+v", s.Connections, s.Handshakes, saw)
	case full+resumed < s.Handshakes.Full+s.Handshakes.Resumed || connections < s.Connections || connections > dials+c.s.wakes:
		t.Errorf("the pool counts %d connections of %d begun and %+v, the link %+v", s.Connections, dials, s.Handshakes, saw)
	}
	out.full, out.resumed = full, resumed
	return out
}

// checkLog checks that every name is in the server's log.
func (c tally) checkLog(t *testing.T, s pool.Stats, n int64, protocol string) {
	t.Helper()
	if c.s.logs == nil {
		return
	}
	var names map[string]bool
	var ports map[string]bool
	c.s.until("the server has logged what it answered", func() bool {
		names, ports = make(map[string]bool), make(map[string]bool)
		for _, l := range c.s.logs(c.s)[c.lines:] {
			if l.status == "200" {
				names[l.path], ports[l.port] = true, true
			}
		}
		return int64(len(names)) >= n
	})
	if protocol != http3 && int64(len(ports)) > s.Connections {
		t.Errorf("the server logged requests on %d connections, the pool counts %d", len(ports), s.Connections)
	}
}

// plain returns a test that looks up a few hundred names.
func plain(protocol string) func(t *testing.T, s *instance) outcome {
	return func(t *testing.T, s *instance) outcome {
		const names, atOnce = 300, 32
		p := s.pool(pool.Config{Protocols: []string{protocol}})
		c := s.tally()
		ask(t, p, s.base, names, atOnce)
		if n := p.Stats().RetriesTotal(); n != 0 {
			t.Errorf("%d retries: %+v", n, p.Stats())
		}
		return c.check(t, p, names, protocol, true)
	}
}

// resumption returns a test of repeated visits.
func resumption(version uint16) func(t *testing.T, s *instance) outcome {
	return func(t *testing.T, s *instance) outcome {
		const visits = 5
		p := s.pool(pool.Config{TLS: &tls.Config{MaxVersion: version}})
		c := s.tally()
		for i := range int64(visits) {
			a, err := lookup(t.Context(), p, s.base, name(i))
			if err != nil {
				t.Fatal(err)
			}
			if a.trace.TLS != version || a.trace.Reused || a.trace.Resumed != (i > 0) {
				t.Errorf("visit %d: %+v", i, a.trace)
			}
			p.CloseIdleConnections()
		}
		return c.check(t, p, visits, http2, true)
	}
}

// fastOpen makes a connection per lookup; the first connection may have to request the cookie.
func fastOpen(t *testing.T, s *instance) outcome {
	if s.link == nil {
		s.skip(t, "it takes a network of its own")
	}
	const visits = 6
	p := s.pool(pool.Config{FastOpen: true, FreshConns: true})
	c := s.tally()
	ask(t, p, s.base, visits, 1)
	st := p.Stats().FastOpen
	saw := s.link.counts(t).since(c.before)
	if st.Accepted < visits-1 || st.Sent != saw.SYNData || st.Accepted != saw.TFOAcked {
		t.Errorf("the pool counts %+v, the link %+v", st, saw)
	}
	out := c.check(t, p, visits, http2, true)
	out.note = fmt.Sprintf("%d SYNs with data accepted", st.Accepted)
	if !s.fastOpen {
		out.note += ", by a kernel setting"
	}
	return out
}

// limits returns a test that queries a server that closes its connections.
func limits(protocol string) func(t *testing.T, s *instance) outcome {
	return func(t *testing.T, s *instance) outcome {
		p := s.pool(pool.Config{Protocols: []string{protocol}})
		c := s.tally()
		var names int64
		var note string
		switch s.limits[protocol] {
		case sevenRequests:
			const requests, atOnce = 300, 20
			const limit = 8 // some servers do not count the first request
			names, note = requests, "7 requests per connection"
			ask(t, p, s.limited(), names, atOnce)
			if n := p.Stats().Connections; n < (requests+limit-1)/limit {
				t.Errorf("%d connections carried %d requests, %d each at most", n, requests, limit)
			}
		case beingIdle:
			const requests, rounds, atOnce = 20, 2, 4
			note = "closed when idle"
			for range rounds {
				before := p.Stats().Closed[pool.ClosedServer]
				ask(t, p, s.limited(), requests, atOnce)
				names += requests
				// The server may not close all connections, because some servers do not treat a
				// connection without requests as idle.
				s.until("the server has closed connections", func() bool { return p.Stats().Closed[pool.ClosedServer] > before })
			}
		default:
			s.skip(t, "it has no such limit")
		}
		st := p.Stats()
		out := c.withoutLog().check(t, p, names, protocol, false)
		out.note = note + ", " + retries(st)
		return out
	}
}

// retries formats the number of retries of the pool.
func retries(st pool.Stats) string {
	if n := st.RetriesTotal(); n != 1 {
		return fmt.Sprintf("%d retries", n)
	}
	return "1 retry"
}

// withoutLog returns the tally for requests that the server does not log.
func (c tally) withoutLog() tally {
	s := *c.s
	s.logs = nil
	c.s = &s
	return c
}

// newGeneration changes the configuration, so that responses name its generation.
func (s *instance) newGeneration() {
	s.t.Helper()
	s.Generation++
	s.configure()
}

// gracefully returns a test that reloads the server during lookups, until the new processes
// have sent many responses. Only the pool retries.
func gracefully(protocol string) func(t *testing.T, s *instance) outcome {
	return func(t *testing.T, s *instance) outcome {
		p := s.pool(pool.Config{Protocols: []string{protocol}})
		c := s.tally()
		names := s.throughReload(t, p)
		st := p.Stats()
		out := c.check(t, p, names, protocol, false)
		if st.Failed != 0 {
			t.Errorf("%d failed", st.Failed)
		}
		out.note = retries(st)
		return out
	}
}

// throughReload looks up names until the new processes have responded for a while. It returns
// the number of names.
func (s *instance) throughReload(t *testing.T, p *pool.Pool) int64 {
	const atOnce, before, after = 16, 200, 500
	var newer atomic.Int64
	begun, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		<-begun
		s.newGeneration()
		s.reload(s)
	}()
	want := s.Generation + 1
	names := askUntil(t, p, s.base, atOnce, func(i int64, a answer) bool {
		if i == before {
			close(begun)
		}
		return a.worker == want && newer.Add(1) >= after
	})
	if t.Failed() {
		t.FailNow()
	}
	<-done
	return names
}

// refused returns a test that stops the server during a batch and restarts it after refused
// connections. The client retries requests that the pool cannot retry.
func refused(protocol string) func(t *testing.T, s *instance) outcome {
	return func(t *testing.T, s *instance) outcome {
		p := s.pool(pool.Config{Protocols: []string{protocol}, AllowPrivate: true})
		c := s.tally()
		names, repeated := s.batch(t, p, func() {
			s.stop(syscall.SIGTERM)
			s.until("a connection is refused", func() bool { return p.Stats().DialsFailed > 0 })
			s.begin()
		})
		st := p.Stats()
		// The log may lack the last responses before the stop.
		out := c.withoutLog().check(t, p, names, protocol, false)
		out.note = fmt.Sprintf("%d refused, %d retried by the client", st.DialsFailed, repeated)
		return out
	}
}

// batch looks up names with the client and calls a function in the middle.
func (s *server) batch(t *testing.T, p *pool.Pool, happen func()) (names, repeated int64) {
	t.Helper()
	resolver, err := bootstrap.New(bootstrap.Config{Server: s.base})
	if err != nil {
		t.Fatal(err)
	}
	defer resolver.Close()
	cl, err := client.New(client.Config{Transport: p, Resolver: resolver, Jobs: 16, PerHost: 16})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	const middle, after, ahead = 300, 2000, 500
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	var happened atomic.Bool
	reached, enough, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	places := make(chan struct{}, ahead) // slots for inputs that are ahead of their results
	seen := make(map[int64]bool)
	go func() {
		defer close(done)
		left := after
		for r := range cl.Batch(ctx, paced(ctx, places, enough)).All() {
			<-places
			if r.Verdict != client.VerdictRegistered {
				t.Errorf("line %d: %s: %v", r.Line, r.Verdict, r.Err())
			}
			if seen[r.Line] {
				t.Errorf("line %d has two results", r.Line)
			}
			seen[r.Line] = true
			names = max(names, r.Line)
			if r.Attempts > 1 {
				repeated++
			}
			if len(seen) == middle {
				close(reached)
			}
			if happened.Load() {
				if left--; left == 0 {
					close(enough)
				}
			}
		}
	}()
	select {
	case <-reached:
	case <-done:
		t.Fatalf("%d results", len(seen))
	}
	happen()
	happened.Store(true)
	<-done
	if int64(len(seen)) != names || names < middle+after {
		t.Errorf("%d results for %d lines", len(seen), names)
	}
	return names, repeated
}

// paced yields names at the pace of their results, until enough returns true.
func paced(ctx context.Context, places chan<- struct{}, enough <-chan struct{}) iter.Seq2[client.Input, error] {
	return func(yield func(client.Input, error) bool) {
		for i := int64(0); ; i++ {
			select {
			case places <- struct{}{}:
			case <-enough:
				return
			case <-ctx.Done():
				return
			}
			if !yield(client.Input{Line: i + 1, Text: name(i)}, nil) {
				return
			}
		}
	}
}
