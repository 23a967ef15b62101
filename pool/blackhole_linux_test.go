package pool_test

import (
	"net/netip"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// A server disappears from the network. Data sent to its first address is never acknowledged,
// but its second address is reachable.
func TestUnacknowledgedRequestsHTTP1(t *testing.T) { unacknowledged(t, rdaptest.H1Only) }
func TestUnacknowledgedRequestsHTTP2(t *testing.T) { unacknowledged(t, rdaptest.H2Only) }

func unacknowledged(t *testing.T, protocols rdaptest.Protocols) {
	if !inNamespace(t) {
		return
	}
	p, s, port := startDoomed(t, protocols)
	a, err := get(t.Context(), p, namedURL(port, 1))
	if err != nil || a.trace.RemoteAddr != holeAddr+":"+port {
		t.Fatalf("answered by %s, %v", a.trace.RemoteAddr, err)
	}
	digHole(t)
	checkRepeated(t, p, s, func() (response, error) { return get(t.Context(), p, namedURL(port, 2)) })
}

// The server has the request and disappears before it responds.
func TestLostBeforeTheResponseHTTP1(t *testing.T) { lostBeforeTheAnswer(t, rdaptest.H1Only) }
func TestLostBeforeTheResponseHTTP2(t *testing.T) { lostBeforeTheAnswer(t, rdaptest.H2Only) }

func lostBeforeTheAnswer(t *testing.T, protocols rdaptest.Protocols) {
	if !inNamespace(t) {
		return
	}
	p, s, port := startDoomed(t, protocols)
	s.On("*", rdaptest.First(1, rdaptest.Hang()))
	type result struct {
		a   response
		err error
	}
	done := make(chan result)
	go func() {
		a, err := get(t.Context(), p, namedURL(port, 1))
		done <- result{a, err}
	}()
	if err := s.AwaitRequests(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	digHole(t)
	checkRepeated(t, p, s, func() (response, error) {
		r := <-done
		return r.a, r.err
	})
}

func startDoomed(t *testing.T, protocols rdaptest.Protocols) (*pool.Pool, *rdaptest.Server, string) {
	t.Helper()
	s, port := startNamed(t, rdaptest.Config{Protocols: protocols, Addr: "0.0.0.0:0"})
	p := newPool(t, s, pool.Config{
		DeadAfter: soon, LocalAddr: netip.MustParseAddr(nearAddr),
		Resolve: resolve(port, holeAddr, "127.0.0.1"),
	})
	return p, s, port
}

func checkRepeated(t *testing.T, p *pool.Pool, s *rdaptest.Server, answered func() (response, error)) {
	t.Helper()
	a, err := answered()
	if err != nil {
		t.Fatal(err)
	}
	if a.status != 200 || a.trace.Retries != 1 || a.trace.RemoteAddr[:9] != "127.0.0.1" {
		t.Errorf("status %d from %s after %d repetitions", a.status, a.trace.RemoteAddr, a.trace.Retries)
	}
	if st := p.Stats(); st.Failed != 0 || st.Retries[pool.RetryClosed] != 1 || st.Connections != 2 {
		t.Errorf("stats: %+v", st)
	}
	if c := s.Counts(); c.Connections != 2 {
		t.Errorf("server saw %d connections, want 2", c.Connections)
	}
}
