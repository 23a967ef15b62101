package pool_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// refuser returns a server that can fail handshakes which resume a session, including those of
// TLS 1.2.
func refuser(t *testing.T, protocols rdaptest.Protocols, version uint16) (*rdaptest.Server, *atomic.Bool) {
	refuse := new(atomic.Bool)
	return rdaptest.Start(t, rdaptest.Config{Protocols: protocols, MaxTLS: version, TLS: func(c *tls.Config) {
		own := c.Clone()
		c.UnwrapSession = func(id []byte, cs tls.ConnectionState) (*tls.SessionState, error) {
			if refuse.Load() && len(id) > 0 {
				return nil, errors.New("fails on purpose")
			}
			return own.DecryptTicket(id, cs)
		}
		c.WrapSession = own.EncryptTicket
	}}), refuse
}

func TestFailingSessionIsRetried(t *testing.T) {
	versions(t, func(t *testing.T, version uint16) {
		both(t, func(t *testing.T, protocols rdaptest.Protocols) {
			s, refuse := refuser(t, protocols, version)
			s.On("*", rdaptest.Close())
			var events []pool.Event
			p := newPool(t, s, pool.Config{OnEvent: func(e pool.Event) {
				if e.Reason == pool.RetrySession || e.Kind == pool.DialFailed {
					events = append(events, e) // there is one request at a time
				}
			}})
			getAll(t, p, s, 5, 1)
			if c := s.Counts(); c.FullHandshakes != 1 || c.Resumed != 4 {
				t.Fatalf("server saw %d full handshakes and %d resumed, want 1 and 4", c.FullHandshakes, c.Resumed)
			}
			// After one failure the session is dropped, and the next session works.
			refuse.Store(true)
			getAll(t, p, s, 1, 1)
			refuse.Store(false)
			getAll(t, p, s, 4, 1)
			if err := s.AwaitOpen(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			c, st := s.Counts(), p.Stats()
			if c.FullHandshakes != 2 || c.Resumed != 8 || c.FailedHandshakes != 1 || c.Requests != 10 {
				t.Errorf("server saw %d full handshakes, %d resumed, %d failed, %d requests, want 2, 8, 1, 10",
					c.FullHandshakes, c.Resumed, c.FailedHandshakes, c.Requests)
			}
			if st.Retries[pool.RetrySession] != 1 || st.RetriesTotal() != 1 || st.DialsFailed != 1 || st.Failed != 0 || st.Connections != 10 {
				t.Errorf("stats: %+v", st)
			}
			if st.Dials != c.Connections {
				t.Errorf("%d dials, the server saw %d connections", st.Dials, c.Connections)
			}
			p.Close() // waits for the events
			if len(events) != 2 || events[0].Kind != pool.DialFailed || events[0].Err == nil || events[1].Kind != pool.RequestRetried {
				t.Errorf("events: %+v", events)
			}
		})
	})
}

// A server that keeps failing is offered no more sessions.
func TestServerThatFailsAllSessions(t *testing.T) {
	both(t, func(t *testing.T, protocols rdaptest.Protocols) {
		s := rdaptest.Start(t, rdaptest.Config{Protocols: protocols})
		s.FailResumption(true)
		p := newPool(t, s, pool.Config{FreshConns: true})
		getAll(t, p, s, 20, 1)
		if err := s.AwaitOpen(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if c := s.Counts(); c.FullHandshakes != 20 || c.Resumed != 0 || c.FailedHandshakes != 2 || c.Requests != 20 {
			t.Errorf("server saw %d full handshakes, %d resumed, %d failed, %d requests, want 20, 0, 2, 20",
				c.FullHandshakes, c.Resumed, c.FailedHandshakes, c.Requests)
		}
		if st := p.Stats(); st.Retries[pool.RetrySession] != 2 || st.Failed != 0 {
			t.Errorf("stats: %+v", st)
		}
	})
}

// Each dial that shares the failing session is repeated. All of them count as one failure of
// the server.
func TestConcurrentDialsWithFailingSession(t *testing.T) {
	both(t, func(t *testing.T, protocols rdaptest.Protocols) {
		s := rdaptest.Start(t, rdaptest.Config{Protocols: protocols})
		p := newPool(t, s, pool.Config{FreshConns: true})
		getAll(t, p, s, 2, 1)
		s.FailResumption(true)
		getAll(t, p, s, 64, 16)
		s.FailResumption(false)
		if st := p.Stats(); st.Failed != 0 || st.Requests != 66 || st.Retries[pool.RetrySession] == 0 {
			t.Errorf("stats: %+v", st)
		}
	})
}

// A TLS 1.2 session serves concurrent dials. A TLS 1.3 ticket serves one of them, and the other
// dials do a full handshake.
func TestConcurrentDialsWithOneSession(t *testing.T) {
	versions(t, func(t *testing.T, version uint16) {
		hold := make(chan struct{})
		s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H1Only, MaxTLS: version, SingleUseTickets: true})
		p := newPool(t, s, pool.Config{FreshConns: true})
		getAll(t, p, s, 1, 1)
		s.On("*", rdaptest.Until(hold))
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				if _, err := get(t.Context(), p, domain(s, i)); err != nil {
					t.Error(err)
				}
			})
		}
		if err := s.AwaitRequests(t.Context(), 9); err != nil {
			t.Fatal(err)
		}
		close(hold)
		wg.Wait()
		// An early connection gets a ticket for a later one.
		c := s.Counts()
		if c.Handshakes() != 9 || c.TicketsReused != 0 || version == tls.VersionTLS12 && c.Resumed != 8 || c.Resumed == 0 {
			t.Errorf("server saw %d full handshakes, %d resumed, %d tickets twice", c.FullHandshakes, c.Resumed, c.TicketsReused)
		}
	})
}

// A caller that gives up during a handshake has used up a TLS 1.3 ticket, because the server
// has seen the ticket. A TLS 1.2 session stays.
func TestCanceledHandshake(t *testing.T) {
	versions(t, func(t *testing.T, version uint16) {
		// The server waits for the caller to give up, because the handshake might otherwise be
		// complete before.
		var waits atomic.Bool
		gaveUp, begun := make(chan struct{}), make(chan struct{})
		s := rdaptest.Start(t, rdaptest.Config{MaxTLS: version, TLS: func(c *tls.Config) {
			own := c.GetConfigForClient
			c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
				if waits.CompareAndSwap(true, false) {
					close(begun)
					<-gaveUp
				}
				return own(hello)
			}
		}})
		p := newPool(t, s, pool.Config{FreshConns: true})
		getAll(t, p, s, 2, 1)
		ctx, cancel := context.WithCancel(t.Context())
		waits.Store(true)
		go func() {
			<-begun
			cancel()
		}()
		if _, err := get(ctx, p, domain(s, 1)); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		close(gaveUp)
		getAll(t, p, s, 2, 1)
		want := int64(1)
		if version == tls.VersionTLS13 {
			want = 2
		}
		if st := p.Stats(); st.Handshakes.Full != want || st.Handshakes.Resumed != 4-want || st.Retries[pool.RetrySession] != 0 {
			t.Errorf("%d full handshakes and %d resumed, want %d and %d; retries %v",
				st.Handshakes.Full, st.Handshakes.Resumed, want, 4-want, st.Retries)
		}
	})
}

// A ticket that was never sent stays in the store.
func TestConnectionThatFailsBeforeTheHandshake(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{})
	var fails atomic.Bool
	p := newPool(t, s, pool.Config{FreshConns: true, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		nc, err := new(net.Dialer).DialContext(ctx, network, address)
		if fails.Load() {
			nc = mute{nc}
		}
		return nc, err
	}})
	getAll(t, p, s, 2, 1)
	fails.Store(true)
	if _, err := get(t.Context(), p, domain(s, 1)); err == nil {
		t.Error("no error")
	}
	fails.Store(false)
	getAll(t, p, s, 2, 1)
	if h := p.Stats().Handshakes; h.Full != 1 || h.Resumed != 3 {
		t.Errorf("%d full handshakes and %d resumed, want 1 and 3", h.Full, h.Resumed)
	}
}

// A mute connection sends nothing.
type mute struct{ net.Conn }

func (mute) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
