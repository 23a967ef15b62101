package pool_test

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// A server that takes 5 requests at once on a connection gets more connections
// for 50, up to the cap.
func TestSmallStreamLimitEarnsConnections(t *testing.T) {
	const limit, atOnce, rest = 5, 50, 200
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H2Only, MaxStreams: limit})
	facts, err := pool.OpenFactFile(filepath.Join(t.TempDir(), "hosts.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer facts.Close()

	// A stranger's limit is known when it refuses something, and nothing was
	// answered by then.
	hold := make(chan struct{})
	s.On("*", rdaptest.Until(hold))
	p := newPool(t, s, pool.Config{Facts: facts})
	var wg sync.WaitGroup
	for i := range atOnce {
		wg.Go(func() {
			if _, err := get(t.Context(), p, domain(s, i)); err != nil {
				t.Error(err)
			}
		})
	}
	if err := s.AwaitRequests(t.Context(), limit*pool.DefaultMaxHTTP2Conns); err != nil {
		t.Fatal(err)
	}
	close(hold)
	wg.Wait()
	getAll(t, p, s, rest, atOnce)
	st := p.Stats()
	if st.Connections != pool.DefaultMaxHTTP2Conns || st.Failed != 0 {
		t.Errorf("%d connections, %d failed, want %d and 0", st.Connections, st.Failed, pool.DefaultMaxHTTP2Conns)
	}
	if n := st.Retries[pool.RetryRefused]; n > atOnce-limit {
		t.Errorf("%d streams were refused, more than the %d that were sent before the limit was known", n, atOnce-limit)
	}
	p.Close()

	// The next time it is known from the beginning.
	p = newPool(t, s, pool.Config{Facts: facts})
	getAll(t, p, s, rest, atOnce)
	if st := p.Stats(); st.Connections < 2 || st.Connections > pool.DefaultMaxHTTP2Conns || st.RetriesTotal() != 0 {
		t.Errorf("known: %d connections, retries %v", st.Connections, st.Retries)
	}
	for i, conn := range s.Counts().Conns {
		if conn.MaxInFlight > limit {
			t.Errorf("connection %d had %d requests at once", i, conn.MaxInFlight)
		}
	}
}

// However small the limit, connections are no more than was asked for.
func TestSmallStreamLimitKeepsTheCap(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H2Only, MaxStreams: 2})
	p := newPool(t, s, pool.Config{MaxHTTP2Conns: 1})
	getAll(t, p, s, 100, 50)
	if st := p.Stats(); st.Connections != 1 || st.Failed != 0 {
		t.Errorf("%d connections, %d failed, want 1 and 0", st.Connections, st.Failed)
	}
}
