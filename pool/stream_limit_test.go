package pool_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// A server that accepts 5 concurrent requests per connection gets more connections for 50
// requests, up to the limit.
func TestSmallStreamLimitOpensConnections(t *testing.T) {
	const limit, atOnce, rest = 5, 50, 400
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H2Only, MaxStreams: limit})
	origins, err := pool.OpenOriginFile(filepath.Join(t.TempDir(), "hosts.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer origins.Close()

	s.On("*", rdaptest.Latency(2*time.Millisecond)) // lets a queue form
	p := newPool(t, s, pool.Config{Origins: origins})
	getAll(t, p, s, atOnce, atOnce)
	before := p.Stats().Retries[pool.RetryRefused]
	getAll(t, p, s, rest, atOnce)
	st := p.Stats()
	// The server may close the connection because of the first burst.
	if st.Open < 2 || st.Open > pool.DefaultMaxHTTP2Conns || st.Failed != 0 {
		t.Errorf("%d connections, %d failed, want 2 to %d and 0; retries %v, closed %v", st.Open, st.Failed, pool.DefaultMaxHTTP2Conns, st.Retries, st.Closed)
	}
	if n := st.Retries[pool.RetryRefused] - before; n > 0 {
		t.Errorf("%d streams were refused after the limit was known", n)
	}
	p.Close()

	// The next time the limit is known from the start.
	p = newPool(t, s, pool.Config{Origins: origins})
	getAll(t, p, s, rest, atOnce)
	if st := p.Stats(); st.Connections < 2 || st.Connections-lost(st) > pool.DefaultMaxHTTP2Conns || st.Retries[pool.RetryRefused] != 0 {
		t.Errorf("known: %d connections, retries %v, closed %v", st.Connections, st.Retries, st.Closed)
	}
	for i, conn := range s.Counts().Conns {
		if conn.MaxInFlight > limit {
			t.Errorf("connection %d had %d concurrent requests", i, conn.MaxInFlight)
		}
	}
}

// The Pool does not exceed MaxHTTP2Conns, however small the stream limit.
func TestSmallStreamLimitRespectsMaxConns(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H2Only, MaxStreams: 2})
	p := newPool(t, s, pool.Config{MaxHTTP2Conns: 1})
	getAll(t, p, s, 100, 50)
	if st := p.Stats(); st.Connections-lost(st) != 1 || st.Failed != 0 {
		t.Errorf("%d connections, %d failed, want 1 and 0; closed %v", st.Connections, st.Failed, st.Closed)
	}
}

// lost returns the number of connections that the server closed. net/http's server sometimes
// closes connections if the stream limit is low. It may read a new stream before it has
// recorded the end of the stream that made room for the new one.
func lost(st pool.Stats) int64 { return st.Closed[pool.ClosedServer] + st.Closed[pool.ClosedError] }
