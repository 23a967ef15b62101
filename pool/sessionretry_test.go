package pool_test

import (
	"context"
	"crypto/tls"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// refuser is a server that can be told to fail handshakes which resume a
// session, over TLS 1.2 as well.
func refuser(t *testing.T, protocols rdaptest.Protocols, version uint16) (*rdaptest.Server, *atomic.Bool) {
	refuse := new(atomic.Bool)
	return rdaptest.Start(t, rdaptest.Config{Protocols: protocols, MaxTLS: version, TLS: func(c *tls.Config) {
		own := c.Clone()
		c.UnwrapSession = func(id []byte, cs tls.ConnectionState) (*tls.SessionState, error) {
			if refuse.Load() && len(id) > 0 {
				return nil, errors.New("told to fail")
			}
			return own.DecryptTicket(id, cs)
		}
		c.WrapSession = own.EncryptTicket
	}}), refuse
}

func TestFailingSessionCostsNoLookup(t *testing.T) {
	versions(t, func(t *testing.T, version uint16) {
		both(t, func(t *testing.T, protocols rdaptest.Protocols) {
			s, refuse := refuser(t, protocols, version)
			s.On("*", rdaptest.Close())
			var events []pool.Event
			p := newPool(t, s, pool.Config{OnEvent: func(e pool.Event) {
				if e.Reason == pool.RetrySession || e.Kind == pool.DialFailed {
					events = append(events, e) // one request at a time
				}
			}})
			getAll(t, p, s, 5, 1)
			if c := s.Counts(); c.FullHandshakes != 1 || c.Resumed != 4 {
				t.Fatalf("server saw %d full handshakes and %d resumed, want 1 and 4", c.FullHandshakes, c.Resumed)
			}
			// Once: the session is dropped, and the next one works again.
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
			if len(events) != 2 || events[0].Kind != pool.DialFailed || events[0].Err == nil || events[1].Kind != pool.RequestAgain {
				t.Errorf("events: %+v", events)
			}
		})
	})
}

// A server that goes on failing is not asked again and again.
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

// Dials that share the session which fails are each repeated, and count as one
// failure of the server.
func TestParallelDialsWithAFailingSession(t *testing.T) {
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

// One session serves connections that are made at once.
func TestParallelDialsShareASession(t *testing.T) {
	versions(t, func(t *testing.T, version uint16) {
		hold := make(chan struct{})
		s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H1Only, MaxTLS: version})
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
		if c := s.Counts(); c.FullHandshakes != 1 || c.Resumed != 8 {
			t.Errorf("server saw %d full handshakes and %d resumed, want 1 and 8", c.FullHandshakes, c.Resumed)
		}
	})
}

// A caller that gives up in the middle of a handshake takes no session along.
func TestCancelledHandshakeKeepsTheSession(t *testing.T) {
	// Where the caller gives up, the server waits: it would be done before that is
	// noticed, now and then.
	var waits atomic.Bool
	gaveUp := make(chan struct{})
	s := rdaptest.Start(t, rdaptest.Config{TLS: func(c *tls.Config) {
		own := c.GetConfigForClient
		c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			if waits.Load() {
				<-gaveUp
			}
			return own(hello)
		}
	}})
	store := new(stoppingStore)
	p := newPool(t, s, pool.Config{FreshConns: true, Trust: "x", Sessions: store})
	getAll(t, p, s, 2, 1)
	ctx, cancel := context.WithCancel(t.Context())
	store.arm(cancel)
	waits.Store(true)
	if _, err := get(ctx, p, domain(s, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	waits.Store(false)
	close(gaveUp)
	getAll(t, p, s, 2, 1)
	if c := s.Counts(); c.FullHandshakes != 1 || c.Resumed != 3 {
		t.Errorf("server saw %d full handshakes and %d resumed, want 1 and 3", c.FullHandshakes, c.Resumed)
	}
	if st := p.Stats(); st.Retries[pool.RetrySession] != 0 {
		t.Errorf("stats: %+v", st)
	}
}

// A stoppingStore holds one session. Once it is armed it cancels a context when
// crypto/tls takes the session, which is the second time: the Pool looks first.
type stoppingStore struct {
	mu      sync.Mutex
	session *tls.ClientSessionState
	gets    int
	cancel  context.CancelFunc
}

func (s *stoppingStore) arm(cancel context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel, s.gets = cancel, 0
}

func (s *stoppingStore) Get(pool.SessionKey) *tls.ClientSessionState {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gets++; s.gets == 2 && s.cancel != nil {
		s.cancel()
	}
	return s.session
}

func (s *stoppingStore) Put(_ pool.SessionKey, session *tls.ClientSessionState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session = session
}
