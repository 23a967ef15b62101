package client_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// A slow server receives each query once. No request fails or is canceled because it waited too
// long for a connection or a stream. The test uses the clock of a bubble, because a loaded
// machine would delay responses beyond the timeout.
func TestBatchSlowServer(t *testing.T) {
	for _, c := range []struct {
		name    string
		server  rdaptest.Config
		timeout time.Duration
		lines   int
		conns   int64 // maximum number of connections
	}{
		{"HTTP/1.1", rdaptest.Config{Protocols: rdaptest.H1Only, Latency: 400 * time.Millisecond}, 750 * time.Millisecond, 24, 4},
		{"HTTP/2 with two streams", rdaptest.Config{Protocols: rdaptest.H2Only, Latency: 200 * time.Millisecond, MaxStreams: 2}, time.Second, 60, 8},
	} {
		bubble(t, c.name, func(t *testing.T) {
			network := new(rdaptest.Network)
			c.server.Network = network
			s := rdaptest.Start(t, c.server)
			p := newOwnPool(t, network, s.CA(), pool.Config{})
			a := newAsker(t, s.CA(), client.Config{Transport: p, Resolver: urls{s.URL()}, Timeout: c.timeout})
			var texts []string
			for i := range c.lines {
				texts = append(texts, fmt.Sprintf("n%d.example", i))
			}
			for r := range a.Batch(t.Context(), lines(texts...)).All() {
				if r.Verdict != client.VerdictRegistered || r.Attempts != 1 {
					t.Errorf("%s after %d attempts: %v", describe(r), r.Attempts, client.ErrorOf(r))
				}
			}
			n := s.Counts()
			if st := p.Stats(); n.Requests != int64(c.lines) || st.Connections > c.conns || st.Failed != 0 {
				t.Errorf("%d requests, %d connections, %d cancelled", n.Requests, st.Connections, st.Failed)
			}
		})
	}
}
