package pool_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// both runs a test over HTTP/1.1 and HTTP/2.
func both(t *testing.T, f func(t *testing.T, protocols rdaptest.Protocols)) {
	t.Run("HTTP1", func(t *testing.T) { f(t, rdaptest.H1Only) })
	t.Run("HTTP2", func(t *testing.T) { f(t, rdaptest.H2Only) })
}

// The server closes a reused connection while the next request is sent.
func TestClosedByServerBetweenRequests(t *testing.T) {
	t.Parallel() // the test mostly waits
	both(t, func(t *testing.T, protocols rdaptest.Protocols) {
		s := rdaptest.Start(t, rdaptest.Config{Protocols: protocols})
		// The server reads the second request of a connection, but sends no response.
		s.SetConnRules(rdaptest.ConnRules{HangUpAfter: 1})
		p := newPool(t, s, pool.Config{})
		getAll(t, p, s, 20, 1)
		if c := s.Counts(); c.Connections != 20 {
			t.Errorf("server saw %d connections, want 20", c.Connections)
		}
		if st := p.Stats(); st.Retries[pool.RetryClosed] != 19 || st.Failed != 0 {
			t.Errorf("retries: %v, failed: %d, want 19 for closed and 0", st.Retries, st.Failed)
		}
	})
}

func TestUnannouncedCloseAfterEachResponse(t *testing.T) {
	t.Parallel() // the test mostly waits
	both(t, func(t *testing.T, protocols rdaptest.Protocols) {
		for _, delay := range []time.Duration{0, time.Millisecond, 20 * time.Millisecond} {
			s := rdaptest.Start(t, rdaptest.Config{Protocols: protocols})
			s.SetConnRules(rdaptest.ConnRules{CloseAfter: 1, CloseDelay: delay})
			p := newPool(t, s, pool.Config{})
			getAll(t, p, s, 30, 1)
		}
	})
}

func TestIdleCloseRace(t *testing.T) {
	t.Parallel() // the test mostly waits
	both(t, func(t *testing.T, protocols rdaptest.Protocols) {
		s := rdaptest.Start(t, rdaptest.Config{Protocols: protocols})
		s.SetConnRules(rdaptest.ConnRules{IdleClose: 20 * time.Millisecond})
		p := newPool(t, s, pool.Config{})
		for range 10 {
			getAll(t, p, s, 16, 8)
			time.Sleep(20 * time.Millisecond) // wait as long as the server, to test the race
		}
	})
}

func TestServerAlwaysCloses(t *testing.T) {
	t.Parallel() // the test mostly waits
	both(t, func(t *testing.T, protocols rdaptest.Protocols) {
		s := rdaptest.Start(t, rdaptest.Config{Protocols: protocols})
		s.On("*", rdaptest.HangUp())
		p := newPool(t, s, pool.Config{})
		if a, err := get(t.Context(), p, domain(s, 1)); err == nil {
			t.Fatalf("got %d", a.status)
		}
		if c := s.Counts(); c.Connections > 2 {
			t.Errorf("%d connections for one request that is never answered", c.Connections)
		}
	})
}

func TestConnectionCloseOnEveryResponse(t *testing.T) {
	t.Parallel() // the test mostly waits
	both(t, func(t *testing.T, protocols rdaptest.Protocols) {
		s := rdaptest.Start(t, rdaptest.Config{Protocols: protocols})
		s.On("*", rdaptest.Close())
		p := newPool(t, s, pool.Config{})
		getAll(t, p, s, 60, 6)
		if st := p.Stats(); st.Failed != 0 || st.Requests != 60 {
			t.Errorf("stats: %+v", st)
		}
		if st := p.Stats(); st.Handshakes.Resumed == 0 {
			t.Error("no session was resumed")
		}
	})
}

func TestCloseAfterHundredRequests(t *testing.T) {
	both(t, func(t *testing.T, protocols rdaptest.Protocols) {
		for name, rules := range map[string]rdaptest.ConnRules{
			"announced": {AnnounceAfter: 100}, "unannounced": {CloseAfter: 100},
		} {
			t.Run(name, func(t *testing.T) {
				s := rdaptest.Start(t, rdaptest.Config{Protocols: protocols})
				s.SetConnRules(rules)
				p := newPool(t, s, pool.Config{MaxConnsPerHost: 4, MaxHTTP2Conns: 4})
				getAll(t, p, s, 1000, 32)
				c, st := s.Counts(), p.Stats()
				// Responses that were in flight when a connection closed count as well.
				if c.Connections < 8 || c.Connections > 24 {
					t.Errorf("server saw %d connections for 1000 requests at 100 each", c.Connections)
				}
				// A dial may be in progress when the last response arrives.
				if st.Failed != 0 || st.Connections > c.Connections || c.Connections > st.Dials {
					t.Errorf("stats: %+v; server saw %d connections", st, c.Connections)
				}
			})
		}
	})
}

func TestGoAwayDuringBatch(t *testing.T) {
	t.Parallel() // the test mostly waits
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H2Only})
	s.SetConnRules(rdaptest.ConnRules{AnnounceAfter: 7})
	p := newPool(t, s, pool.Config{})
	getAll(t, p, s, 500, 50)
	c := s.Counts()
	if c.GoAways == 0 {
		t.Fatal("the server sent no GOAWAY")
	}
	if st := p.Stats(); st.Failed != 0 || st.Requests != 500 {
		t.Errorf("stats: %+v", st)
	}
}

// GOAWAY leaves requests unprocessed, because the server answers only requests up to its last
// stream.
func TestGoAwayWithUnprocessedRequests(t *testing.T) {
	t.Parallel() // the test mostly waits
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H2Only})
	s.SetConnRules(rdaptest.ConnRules{Raw: &rdaptest.RawH2{Hold: 20, GoAwayOn: 20, GoAwayLast: 7, GoAwayClose: true}, First: 1})
	p := newPool(t, s, pool.Config{MaxHTTP2Conns: 1})
	getAll(t, p, s, 100, 50)
	st := p.Stats()
	if st.Retries[pool.RetryGoAway] == 0 || st.Failed != 0 || st.Requests < 100 {
		t.Errorf("stats: %+v", st)
	}
	if st.Connections != 2 || s.Counts().Connections != 2 {
		t.Errorf("%d connections, the server saw %d, want 2", st.Connections, s.Counts().Connections)
	}
}

// A server that restarts accepts connections and closes them with a GOAWAY that does not
// state which requests were processed.
func TestGoAwayWithoutLastStream(t *testing.T) {
	t.Parallel() // the test mostly waits
	rules := rdaptest.ConnRules{Raw: &rdaptest.RawH2{GoAwayOn: 1, GoAwayVague: true, GoAwayClose: true}}
	const bad = 4
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H2Only})
	rules.First = bad
	s.SetConnRules(rules)
	p := newPool(t, s, pool.Config{})
	getAll(t, p, s, 1, 1)
	if st := p.Stats(); st.Retries[pool.RetryGoAway] != bad || st.Connections != bad+1 || st.Failed != 0 {
		t.Errorf("stats: %+v", st)
	}

	// If that continues, the request fails. A request that may have been processed is not sent
	// again if a repetition could do harm.
	rules.First = 0
	s.SetConnRules(rules)
	p = newPool(t, s, pool.Config{})
	if a, err := get(t.Context(), p, domain(s, 1)); err == nil {
		t.Errorf("got %d", a.status)
	}
	if st := p.Stats(); st.Connections > 12 || st.Failed != 1 {
		t.Errorf("stats: %+v", st)
	}
	before := s.Counts().Requests
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, domain(s, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := p.RoundTrip(req); err == nil {
		resp.Body.Close()
		t.Errorf("got %d", resp.StatusCode)
	}
	if n := s.Counts().Requests - before; n != 1 {
		t.Errorf("a request that may not be repeated was sent %d times", n)
	}
}

func TestRefusedStreams(t *testing.T) {
	t.Parallel() // the test mostly waits
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H2Only})
	s.SetConnRules(rdaptest.ConnRules{Raw: &rdaptest.RawH2{Refuse: func(n int64) bool { return n%5 == 3 }}})
	p := newPool(t, s, pool.Config{})
	getAll(t, p, s, 200, 20)
	if st := p.Stats(); st.Retries[pool.RetryRefused] < 40 || st.Failed != 0 || st.Connections != 1 || st.RetriesSameConn != st.Retries[pool.RetryRefused] {
		t.Errorf("stats: %+v", st)
	}
}

// A trace counts the retries on the connection that had refused the request.
func TestTraceOfRefusedStream(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H2Only})
	s.SetConnRules(rdaptest.ConnRules{Raw: &rdaptest.RawH2{Refuse: func(n int64) bool { return n == 1 }}})
	p := newPool(t, s, pool.Config{})
	a, err := get(t.Context(), p, domain(s, 1))
	if err != nil || a.trace.Retries != 1 || a.trace.RetriesSameConn != 1 {
		t.Errorf("%+v, %v", a.trace, err)
	}
	// After a connection ends, its requests are sent on another connection.
	s.SetConnRules(rdaptest.ConnRules{HangUpAfter: 1, First: 1})
	p = newPool(t, s, pool.Config{})
	getAll(t, p, s, 1, 1)
	if a, err = get(t.Context(), p, domain(s, 2)); err != nil || a.trace.Retries != 1 || a.trace.RetriesSameConn != 0 {
		t.Errorf("%+v, %v", a.trace, err)
	}
}

// Requests that the server did not process are sent again, whatever their method, if their body
// can be made again.
func TestRefusedPost(t *testing.T) {
	t.Parallel() // the test mostly waits
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H2Only})
	s.SetConnRules(rdaptest.ConnRules{Raw: &rdaptest.RawH2{Refuse: func(n int64) bool { return n%2 == 1 }}})
	p := newPool(t, s, pool.Config{})
	for _, tt := range []struct {
		body io.Reader
		want bool // a response is expected
	}{{nil, true}, {strings.NewReader("body"), true}, {io.MultiReader(strings.NewReader("body")), false}} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, domain(s, 1), tt.body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := p.RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		if answered := err == nil; answered != tt.want {
			t.Errorf("%T: %v", tt.body, err)
		}
	}
	if n := p.Stats().Retries[pool.RetryRefused]; n != 2 {
		t.Errorf("%d repetitions", n)
	}
}

func TestStreamLimitIsLowered(t *testing.T) {
	t.Parallel() // the test mostly waits
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H2Only})
	s.SetConnRules(rdaptest.ConnRules{Raw: &rdaptest.RawH2{LowerOn: 30, LowerTo: 3}})
	p := newPool(t, s, pool.Config{})
	getAll(t, p, s, 300, 40)
	if st := p.Stats(); st.Failed != 0 || st.Requests != 300 {
		t.Errorf("stats: %+v", st)
	}
}

func TestTruncatedBodiesAreNotRetried(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H2Only})
	s.SetConnRules(rdaptest.ConnRules{Raw: &rdaptest.RawH2{CutBody: func(n int64) bool { return n%4 == 2 }}})
	p := newPool(t, s, pool.Config{})
	getAll(t, p, s, 100, 1) // sequentially, so that no lookup is cut twice
	if c := s.Counts(); c.Connections != 1 {
		t.Errorf("server saw %d connections: a stream that broke took its connection with it", c.Connections)
	}
}

func TestErrorResponsesKeepTheConnection(t *testing.T) {
	both(t, func(t *testing.T, protocols rdaptest.Protocols) {
		s := rdaptest.Start(t, rdaptest.Config{Protocols: protocols})
		s.On("/domain/dom1.example", rdaptest.Status(404), rdaptest.NoBody())
		s.On("/domain/dom2.example", rdaptest.Status(500), rdaptest.Body("text/html", "<h1>oops</h1>"))
		s.On("/domain/dom3.example", rdaptest.Status(429), rdaptest.RetryAfter("5"))
		p := newPool(t, s, pool.Config{})
		for i := range 60 {
			a, err := get(t.Context(), p, domain(s, i%3+1))
			if err != nil {
				t.Fatal(err)
			}
			if want := []int{404, 500, 429}[i%3]; a.status != want {
				t.Fatalf("status %d, want %d", a.status, want)
			}
		}
		if c := s.Counts(); c.Connections != 1 {
			t.Errorf("server saw %d connections, want 1", c.Connections)
		}
	})
}

func TestCanceledRequestsFreeTheirSlots(t *testing.T) {
	both(t, func(t *testing.T, protocols rdaptest.Protocols) {
		s := rdaptest.Start(t, rdaptest.Config{Protocols: protocols, MaxStreams: 4})
		s.On("/domain/slow.example", rdaptest.Hang())
		p := newPool(t, s, pool.Config{MaxConnsPerHost: 2, MaxHTTP2Conns: 1})
		var wg sync.WaitGroup
		for i := range 300 {
			wg.Go(func() {
				if i%3 > 0 {
					if _, err := get(t.Context(), p, domain(s, i)); err != nil {
						t.Errorf("lookup %d lost: %v", i, err)
					}
					return
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*100*time.Microsecond)
				defer cancel()
				if _, err := get(ctx, p, s.URL()+"domain/slow.example"); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("cancelled lookup %d: %v", i, err)
				}
			})
		}
		wg.Wait()
	})
}

func TestFailedDialFailsAllWaiters(t *testing.T) {
	address := "127.0.0.1:" + unusedPort
	p, err := pool.New(pool.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			_, err := get(t.Context(), p, "https://"+address+"/")
			var e *pool.Error
			if !errors.As(err, &e) || e.Step != pool.StepConnect || e.Origin != "https://"+address {
				t.Errorf("got %v", err)
			}
		})
	}
	wg.Wait()
}

// The first dials of an origin fail, and later dials work.
func TestFirstDialsFail(t *testing.T) {
	both(t, func(t *testing.T, protocols rdaptest.Protocols) {
		s := rdaptest.Start(t, rdaptest.Config{Protocols: protocols})
		s.SetConnRules(rdaptest.ConnRules{First: 2, Refuse: true})
		p := newPool(t, s, pool.Config{MaxConnsPerHost: 2})
		for range 2 {
			if _, err := get(t.Context(), p, domain(s, 1)); err == nil {
				t.Fatal("a refused connection gave an answer")
			}
		}
		getAll(t, p, s, 100, 20)
	})
}

func TestSessionsAreResumed(t *testing.T) {
	both(t, func(t *testing.T, protocols rdaptest.Protocols) {
		s := rdaptest.Start(t, rdaptest.Config{Protocols: protocols})
		s.On("*", rdaptest.Close())
		p := newPool(t, s, pool.Config{})
		getAll(t, p, s, 20, 1)
		if c := s.Counts(); c.FullHandshakes != 1 || c.Resumed != 19 {
			t.Errorf("server saw %d full handshakes and %d resumed, want 1 and 19", c.FullHandshakes, c.Resumed)
		}
		s.DropTickets()
		getAll(t, p, s, 20, 1)
		if c := s.Counts(); c.FullHandshakes != 2 || c.Resumed != 38 {
			t.Errorf("after new ticket keys: %d full handshakes and %d resumed, want 2 and 38", c.FullHandshakes, c.Resumed)
		}
		st := p.Stats()
		if st.Handshakes.Full != 2 || st.Handshakes.Resumed != 38 {
			t.Errorf("stats: %+v", st.Handshakes)
		}
	})
}

// A request that no connection satisfies fails if new connections are refused. It does not
// cause dials for as long as the other connections last.
func TestDialRefusedWhileConnectionsRemain(t *testing.T) {
	for name, test := range map[string]struct {
		protocols rdaptest.Protocols
		prepare   func(s *rdaptest.Server, p *pool.Pool)
	}{
		"its connection broke": {rdaptest.H1Only, func(s *rdaptest.Server, p *pool.Pool) {
			s.SetConnRules(rdaptest.ConnRules{HangUpAfter: 1, First: 1})
			getAll(t, p, s, 1, 1)
		}},
		"the server said goodbye": {rdaptest.H2Only, func(s *rdaptest.Server, p *pool.Pool) {
			getAll(t, p, s, 2, 1) // after these requests, the stream limit is known
			s.AnnounceClose()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := rdaptest.Start(t, rdaptest.Config{Protocols: test.protocols})
			hold, holds := make(chan struct{}), make(chan struct{})
			s.On("/domain/slow.example", rdaptest.Until(hold))
			p := newPool(t, s, pool.Config{MaxConnsPerHost: 2})
			go func() {
				defer close(holds)
				if a, err := get(t.Context(), p, s.URL()+"domain/slow.example"); err != nil || a.status != 200 {
					t.Errorf("%d, %v", a.status, err)
				}
			}()
			if err := s.AwaitRequests(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			test.prepare(s, p)
			s.SetConnRules(rdaptest.ConnRules{Refuse: true})
			for {
				// The GOAWAY may take a moment to arrive.
				a, err := get(t.Context(), p, domain(s, 2))
				if err == nil && a.trace.Reused && test.protocols == rdaptest.H2Only {
					continue
				}
				if _, ok := errors.AsType[*pool.Error](err); !ok {
					t.Errorf("got %v", err)
				}
				break
			}
			if n := p.Stats().DialsFailed; n > 2 {
				t.Errorf("%d dials failed", n)
			}
			close(hold)
			<-holds
		})
	}
}
