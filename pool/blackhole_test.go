package pool_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// soon is a DeadAfter for tests. It is as short as possible, but long enough that a server does
// not look dead when the process is suspended for a second. Tests that wait for soon run in
// parallel.
const soon = 3 * time.Second

// The server stops reading and responding during a batch and keeps the connection
// open.
func TestBlackHoleHTTP2(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string]rdaptest.ConnRules{
		"net/http": {First: 1, BlackHoleAfter: 5},
		"by frame": {First: 1, BlackHoleAfter: 5, Raw: &rdaptest.RawH2{}},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(t *testing.T, network *rdaptest.Network) {
				s := rdaptest.Start(t, rdaptest.Config{Network: network, Protocols: rdaptest.H2Only})
				s.SetConnRules(rules)
				p := newPool(t, s, pool.Config{Dial: network.Dial, DeadAfter: soon})
				getAll(t, p, s, 5, 1)
				getAll(t, p, s, 20, 20)
				getAll(t, p, s, 20, 20)
				st := p.Stats()
				if st.Failed != 0 || st.Requests != 45 || st.Retries[pool.RetryClosed] != 20 {
					t.Errorf("stats: %+v, want 45 requests of which 20 were repeated", st)
				}
				// A request that detects the end late requires a newer connection than those
				// made meanwhile.
				if n := s.Counts().Connections; n < 2 || n > 4 || n != st.Connections {
					t.Errorf("%d connections, the server saw %d, want 2 to 4", st.Connections, n)
				}
			})
		})
	}
}

// A dead connection is detected while it is idle, so that no request has to detect it.
func TestUnacknowledgedPings(t *testing.T) {
	t.Parallel()
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H2Only})
	s.SetConnRules(rdaptest.ConnRules{First: 1, Raw: &rdaptest.RawH2{IgnorePings: true}})
	closed := make(chan pool.Event, 10)
	p := newPool(t, s, pool.Config{DeadAfter: soon, OnEvent: func(e pool.Event) {
		if e.Kind == pool.ConnClosed {
			closed <- e
		}
	}})
	getAll(t, p, s, 3, 1)
	select {
	case <-closed:
	case <-time.After(20 * time.Second):
		t.Fatal("the connection was never closed")
	}
	getAll(t, p, s, 3, 1)
	if st := p.Stats(); st.Connections != 2 || st.RetriesTotal() != 0 {
		t.Errorf("%d connections, %d repetitions, want 2 and 0", st.Connections, st.RetriesTotal())
	}
}

// A server that responds after more than DeadAfter is not dead.
func TestSlowServerIsNotDead(t *testing.T) {
	both(t, func(t *testing.T, protocols rdaptest.Protocols) {
		t.Parallel()
		s := rdaptest.Start(t, rdaptest.Config{Protocols: protocols})
		s.On("*", rdaptest.Latency(soon*5/4))
		p := newPool(t, s, pool.Config{DeadAfter: soon})
		getAll(t, p, s, 1, 1)
		if st := p.Stats(); st.Connections != 1 || st.RetriesTotal() != 0 || st.Failed != 0 {
			t.Errorf("stats: %+v", st)
		}
	})
}

// Over HTTP/1.1, a slow server and a dead server look alike. A timeout costs the connection,
// but fails no later request.
func TestSilentServerHTTP1(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H1Only})
	s.SetConnRules(rdaptest.ConnRules{First: 2, BlackHoleAfter: 1})
	p := newPool(t, s, pool.Config{MaxConnsPerHost: 2})
	for i := range 2 {
		getAll(t, p, s, 1, 1) // uses a new connection, which is silent from then on
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		if _, err := get(ctx, p, domain(s, i)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		cancel()
	}
	getAll(t, p, s, 20, 2)
	if c := s.Counts(); c.Connections < 3 || c.Connections > 4 {
		t.Errorf("server saw %d connections, want 3 or 4", c.Connections)
	}
}
