package pool_test

import (
	"context"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// fetch sends one request and returns its trace and status.
func fetch(ctx context.Context, t *testing.T, p *pool.Pool, url string) response {
	t.Helper()
	a, err := get(ctx, p, url)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAvoidConn(t *testing.T) {
	t.Parallel() // the test mostly waits
	bothInMemory(t, func(t *testing.T, network *rdaptest.Network, protocols rdaptest.Protocols) {
		s := rdaptest.Start(t, rdaptest.Config{Network: network, Protocols: protocols})
		p := newPool(t, s, pool.Config{Dial: network.Dial})
		first := fetch(t.Context(), t, p, s.URL()).trace.ConnID
		other := pool.AvoidConn(t.Context(), first)
		second := fetch(other, t, p, s.URL()).trace.ConnID
		if second == first {
			t.Error("the connection was not avoided")
		}
		for range 3 {
			if id := fetch(other, t, p, s.URL()).trace.ConnID; id != second {
				t.Errorf("connection %d, want %d again", id, second)
			}
		}
		// The Pool opens at most one such connection per second.
		fetch(pool.AvoidConn(other, second), t, p, s.URL())
		if n := p.Stats().Connections; n != 2 {
			t.Errorf("%d connections", n)
		}
		fetch(pool.AvoidConn(t.Context(), 0), t, p, s.URL()) // no connection has that number
	})
}

// A retry after a failure on a resumed session never goes over that session again, even if
// connections were opened for other retries a moment ago. The server fails on resumed sessions
// and closes the connection of the first retry.
func TestRetryAvoidsSession(t *testing.T) {
	t.Parallel()
	inMemory(t, func(t *testing.T, network *rdaptest.Network) {
		s := rdaptest.Start(t, rdaptest.Config{Network: network, Protocols: rdaptest.H2Only})
		p := newPool(t, s, pool.Config{Dial: network.Dial})
		fetch(t.Context(), t, p, s.URL())
		p.CloseIdleConnections()
		s.On("*", rdaptest.Resumed(rdaptest.Status(503)))
		s.On("/domain/bad.example", rdaptest.Status(500), rdaptest.OnConn(3, rdaptest.Close()))
		failed := fetch(t.Context(), t, p, s.URL()+"domain/bad.example").trace
		if !failed.Resumed {
			t.Fatal("no session was resumed, so this test shows nothing")
		}
		for i, path := range []string{"domain/bad.example", "domain/good.example"} {
			a := fetch(pool.AvoidConn(t.Context(), failed.ConnID), t, p, s.URL()+path)
			if a.trace.ConnID == failed.ConnID || a.trace.Resumed {
				t.Errorf("retry %d: connection %d, resumed: %t, status %d", i, a.trace.ConnID, a.trace.Resumed, a.status)
			}
		}
		if n := p.Stats().Connections; n != 4 {
			t.Errorf("%d connections, want 4", n)
		}
	})
}

// A plain connection resumes no session, and may serve other requests.
func TestWithPlain(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H2Only})
	p := newPool(t, s, pool.Config{})
	first := fetch(t.Context(), t, p, s.URL()).trace.ConnID
	p.CloseIdleConnections()
	resumed := fetch(t.Context(), t, p, s.URL()).trace
	plain := pool.WithPlain(pool.AvoidConn(t.Context(), resumed.ConnID))
	if !pool.Plain(plain) || pool.Plain(t.Context()) {
		t.Error("Plain does not tell the contexts apart")
	}
	last := fetch(plain, t, p, s.URL()).trace
	if !resumed.Resumed || last.Resumed || last.ConnID == first || last.ConnID == resumed.ConnID {
		t.Errorf("%+v, then %+v", resumed, last)
	}
	if again := fetch(pool.WithPlain(t.Context()), t, p, s.URL()).trace; again.ConnID != last.ConnID {
		t.Errorf("connection %d, want %d again", again.ConnID, last.ConnID)
	}
}

// A connection is not used after three failures in a row, if at least two queries failed and
// one of them succeeded on another connection.
func TestFaultyConnection(t *testing.T) {
	t.Parallel() // the test mostly waits
	bad := func(s *rdaptest.Server, urls ...string) {
		for _, u := range urls {
			s.On("/domain/"+u, rdaptest.Status(500))
		}
	}
	for _, c := range []struct {
		name string
		// requests in order: b and c fail, g succeeds, and B is b on another connection, where
		// it succeeds
		requests string
		want     int64 // number of faulty connections
	}{
		{"three failures", "bcbB", 1},
		{"useful response between", "bcgbB", 0},
		{"two failures", "bcB", 0},
		{"one query", "bbbbB", 0},
		{"not elsewhere", "bcbcbc", 0},
		{"elsewhere first", "bBcb", 1},
		{"useful response after elsewhere", "bBgbcb", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H2Only})
			bad(s, "b", "c")
			p := newPool(t, s, pool.Config{})
			second := int64(0)
			first := fetch(t.Context(), t, p, s.URL()+"domain/g").trace.ConnID
			for _, r := range c.requests {
				switch r {
				case 'B':
					s.On("/domain/b")
					second = fetch(pool.AvoidConn(t.Context(), first), t, p, s.URL()+"domain/b").trace.ConnID
					bad(s, "b")
				default:
					ctx := pool.AvoidConn(t.Context(), second)
					if id := fetch(ctx, t, p, s.URL()+"domain/"+string(r)).trace.ConnID; id != first {
						t.Fatalf("connection %d, want %d", id, first)
					}
				}
			}
			if n := p.Stats().Closed[pool.ClosedFaulty]; n != c.want {
				t.Errorf("%d faulty connections, want %d", n, c.want)
			}
		})
	}
}

// A response that the caller finds useless counts as a failure.
func TestSuspect(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H2Only})
	p := newPool(t, s, pool.Config{})
	first := fetch(t.Context(), t, p, s.URL()).trace.ConnID
	fetch(pool.AvoidConn(t.Context(), first), t, p, s.URL())
	for range 3 {
		p.Suspect(first)
	}
	p.Suspect(99) // no connection has that number
	if n := p.Stats().Closed[pool.ClosedFaulty]; n != 1 {
		t.Errorf("%d faulty connections", n)
	}
}
