//go:build unix

package interop_test

import (
	"sync/atomic"
	"testing"

	"github.com/rdapq/rdapq/pool"
)

// checkLog compares the counts of the pool with the connections that the server
// accepted, and its log for n names.
func checkLog(t *testing.T, all []logged, n int64, accepted int64, s pool.Stats, protocol string) {
	t.Helper()
	if s.Requests != n || s.Failed != 0 {
		t.Errorf("%d requests answered and %d failed of %d", s.Requests, s.Failed, n)
	}
	// An unneeded dial may be unfinished or abandoned.
	if accepted < s.Connections || accepted > s.Dials {
		t.Errorf("the pool counts %d connections of %d begun, the server accepted %d", s.Connections, s.Dials, accepted)
	}
	paths := times(all)
	for i := range n {
		if paths["/domain/"+name(i)] == 0 {
			t.Errorf("the server did not see %s", name(i))
		}
	}
	var resumed int64
	for _, r := range usedConns(all) {
		if r {
			resumed++
		}
	}
	used := int64(len(usedConns(all)))
	if h := s.Handshakes; h.Full+h.Resumed != s.Connections || resumed > h.Resumed || used-resumed > h.Full {
		t.Errorf("the pool counts %+v, the server %d connections with requests, %d of them resumed", h, used, resumed)
	}
	for _, l := range all {
		if l.protocol != nginxName[protocol] || l.status != 200 {
			t.Errorf("the server logged %+v", l)
		}
	}
}

func TestKeepsConnections(t *testing.T) {
	each(t, func(t *testing.T, protocol string) {
		n := startNginx(t, nginxConfig{HTTP2: protocol == http2})
		p := n.newPool(pool.Config{Protocols: []string{protocol}})
		const names, atOnce = 300, 32
		before := n.accepts()
		ask(t, p, n.base, names, atOnce)
		s := p.Stats()
		accepted := n.accepts() - before - 1
		all := n.log()
		checkLog(t, all, names, accepted, s, protocol)
		if len(all) != names || s.RetriesTotal() != 0 {
			t.Errorf("%d requests and %d retries for %d names", len(all), s.RetriesTotal(), names)
		}
		if most := int64(max(pool.DefaultMaxConnsPerHost, pool.DefaultMaxHTTP2Conns)); s.Connections > most {
			t.Errorf("%d connections", s.Connections)
		}
	})
}

// TestNoReuse checks that each lookup needs a full handshake without reuse.
func TestNoReuse(t *testing.T) {
	each(t, func(t *testing.T, protocol string) {
		n := startNginx(t, nginxConfig{HTTP2: protocol == http2})
		p := n.newPool(pool.Config{Protocols: []string{protocol}, NoReuse: true})
		const names, atOnce = 60, 8
		before := n.accepts()
		ask(t, p, n.base, names, atOnce)
		s := p.Stats()
		accepted := n.accepts() - before - 1
		all := n.log()
		checkLog(t, all, names, accepted, s, protocol)
		if accepted != names || len(usedConns(all)) != names {
			t.Errorf("%d connections, %d of them used, for %d names", accepted, len(usedConns(all)), names)
		}
	})
}

// TestKeepaliveRequests uses a server that closes each connection after 7 requests, over HTTP/2
// with others in flight.
func TestKeepaliveRequests(t *testing.T) {
	each(t, func(t *testing.T, protocol string) {
		n := startNginx(t, nginxConfig{HTTP2: protocol == http2, Directives: "keepalive_requests 7;"})
		p := n.newPool(pool.Config{Protocols: []string{protocol}})
		const names, atOnce, limit = 300, 20, 7
		before := n.accepts()
		ask(t, p, n.base, names, atOnce)
		s := p.Stats()
		accepted := n.accepts() - before - 1
		all := n.log()
		checkLog(t, all, names, accepted, s, protocol)
		if least := int64((names + limit - 1) / limit); accepted < least {
			t.Errorf("%d connections carried %d requests, %d each at most", accepted, names, limit)
		}
		t.Logf("%d connections, retries %v", accepted, s.Retries)
	})
}

// TestStreamLimit uses a server that accepts 5 concurrent requests per connection.
func TestStreamLimit(t *testing.T) {
	n := startNginx(t, nginxConfig{HTTP2: true, Directives: "http2_max_concurrent_streams 5;"})
	p := n.newPool(pool.Config{Protocols: []string{http2}})
	const names, atOnce = 3000, 50
	before := n.accepts()
	ask(t, p, n.base, names, atOnce)
	s := p.Stats()
	accepted := n.accepts() - before - 1
	checkLog(t, n.log(), names, accepted, s, http2)
	// A low limit justifies several connections. The pool observes the limit once it is known,
	// so only the first requests can be refused, once or twice.
	if s.Connections < 2 || s.Connections > pool.DefaultMaxHTTP2Conns || s.Retries[pool.RetryRefused] > 2*atOnce {
		t.Errorf("%d connections, retries %v", s.Connections, s.Retries)
	}
	t.Logf("%d connections, retries %v", accepted, s.Retries)
}

// TestReload reloads the server during lookups, until the new process has sent many responses.
// The old process closes its connections.
func TestReload(t *testing.T) {
	each(t, func(t *testing.T, protocol string) {
		n := startNginx(t, nginxConfig{HTTP2: protocol == http2})
		p := n.newPool(pool.Config{Protocols: []string{protocol}})
		const atOnce, before, after = 16, 200, 500
		accepts := n.accepts()
		var first, newer atomic.Int64
		reload := make(chan struct{})
		go func() {
			<-reload
			n.reload()
		}()
		names := askUntil(t, p, n.base, atOnce, func(i int64, a answer) bool {
			first.CompareAndSwap(0, int64(a.worker))
			if i == before {
				close(reload)
			}
			return int64(a.worker) != first.Load() && newer.Add(1) >= after
		})
		if t.Failed() {
			return
		}
		s := p.Stats()
		accepted := n.accepts() - accepts - 1
		checkLog(t, n.log(), names, accepted, s, protocol)
		if newer.Load() < after {
			t.Errorf("the new process sent %d responses", newer.Load())
		}
		t.Logf("%d names over %d connections, retries %v", names, accepted, s.Retries)
	})
}
