package pool_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/internal/testrun"
	"github.com/rdapq/rdapq/pool"
)

// newPool returns a Pool that trusts s and closes when the test ends.
func newPool(t testing.TB, s *rdaptest.Server, c pool.Config) *pool.Pool {
	t.Helper()
	c.TLS = &tls.Config{RootCAs: s.Pool()}
	p, err := pool.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// inMemory runs f in a bubble with fake time, in which the speed of the machine does not
// matter. Connections exist only in memory.
func inMemory(t *testing.T, f func(t *testing.T, network *rdaptest.Network)) {
	t.Helper()
	testrun.Bubble(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Minute) }) // lets closed connections end
		f(t, new(rdaptest.Network))
	})
}

// bothInMemory runs f like inMemory, over HTTP/1.1 and over HTTP/2.
func bothInMemory(t *testing.T, f func(t *testing.T, network *rdaptest.Network, protocols rdaptest.Protocols)) {
	t.Helper()
	both(t, func(t *testing.T, protocols rdaptest.Protocols) {
		inMemory(t, func(t *testing.T, network *rdaptest.Network) { f(t, network, protocols) })
	})
}

// A response is the result of get.
type response struct {
	status int
	body   string
	trace  pool.Trace
}

func get(ctx context.Context, p *pool.Pool, url string) (response, error) {
	var a response
	req, err := http.NewRequestWithContext(pool.WithTrace(ctx, &a.trace), http.MethodGet, url, nil)
	if err != nil {
		return a, err
	}
	resp, err := p.RoundTrip(req)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	a.status, a.body = resp.StatusCode, string(b)
	if err != nil {
		err = bodyError{err}
	}
	return a, err
}

// A bodyError is an error after the beginning of the response, when the Pool can no longer
// retry.
type bodyError struct{ error }

// lookup is like get, but with the retries of a caller, which makes up to three attempts if the
// body was truncated.
func lookup(ctx context.Context, p *pool.Pool, url string) (a response, err error) {
	for range 3 {
		a, err = get(ctx, p, url)
		if _, cut := err.(bodyError); !cut {
			break
		}
	}
	return a, err
}

// domain returns the URL of the n-th name at s.
func domain(s *rdaptest.Server, n int) string {
	return fmt.Sprintf("%sdomain/dom%d.example", s.URL(), n)
}

// getAll looks up n names with the given number of workers, and fails the test if a
// lookup fails.
func getAll(t *testing.T, p *pool.Pool, s *rdaptest.Server, n, workers int) {
	t.Helper()
	var wg sync.WaitGroup
	var next atomic.Int64
	for range workers {
		wg.Go(func() {
			for {
				i := int(next.Add(1))
				if i > n {
					return
				}
				a, err := lookup(t.Context(), p, domain(s, i))
				if err != nil {
					t.Errorf("lookup %d lost: %v", i, err)
				} else if want := fmt.Sprintf("dom%d.example", i); a.status != 200 || !strings.Contains(strings.ToLower(a.body), want) {
					t.Errorf("lookup %d: status %d, body without %s", i, a.status, want)
				}
			}
		})
	}
	wg.Wait()
}

func TestColdHTTP2OriginIsDialedOnce(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{})
	p := newPool(t, s, pool.Config{})
	getAll(t, p, s, 64, 64)
	if c := s.Counts(); c.Handshakes() != 1 || c.Connections != 1 {
		t.Errorf("server saw %d connections, %d handshakes, want 1 and 1", c.Connections, c.Handshakes())
	}
	st := p.Stats()
	if st.Requests != 64 || st.Connections != 1 || st.Handshakes.Full != 1 || st.Handshakes.Avoided != 63 {
		t.Errorf("stats: %+v", st)
	}
}

func TestStreamLimitIsKept(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{MaxStreams: 10})
	p := newPool(t, s, pool.Config{MaxHTTP2Conns: 3})
	getAll(t, p, s, 200, 200)
	c := s.Counts()
	if st := p.Stats(); c.Connections-lost(st) > 3 {
		t.Errorf("server saw %d connections, want at most 3; closed %v", c.Connections, st.Closed)
	}
	for i, conn := range c.Conns {
		if conn.MaxInFlight > 10 {
			t.Errorf("connection %d had %d concurrent requests, want at most 10", i, conn.MaxInFlight)
		}
	}
}

func TestDeepQueueOpensConnections(t *testing.T) {
	hold := make(chan struct{})
	s := rdaptest.Start(t, rdaptest.Config{})
	s.On("*", rdaptest.Until(hold))
	p := newPool(t, s, pool.Config{})
	var wg sync.WaitGroup
	for i := range 300 {
		wg.Go(func() {
			if _, err := get(t.Context(), p, domain(s, i)); err != nil {
				t.Error(err)
			}
		})
	}
	// All requests reach the server together, so that the queue was that deep. The server may
	// have responded to them before the last connection was open.
	if err := s.AwaitRequests(t.Context(), 300); err != nil {
		t.Fatal(err)
	}
	if err := s.AwaitConnections(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	close(hold)
	wg.Wait()
	if n, dials := s.Counts().Connections, p.Stats().Dials; n != 4 || dials != 4 {
		t.Errorf("server saw %d connections after %d dials, want 4 and 4", n, dials)
	}
}

func TestHTTP1ConnectionLimit(t *testing.T) {
	inMemory(t, func(t *testing.T, network *rdaptest.Network) {
		s := rdaptest.Start(t, rdaptest.Config{Network: network, Protocols: rdaptest.H1Only})
		p := newPool(t, s, pool.Config{Dial: network.Dial, MaxConnsPerHost: 5})
		getAll(t, p, s, 300, 64)
		if c := s.Counts(); c.Connections > 5 || c.Requests != 300 {
			t.Errorf("server saw %d connections and %d requests, want at most 5 and 300; %+v", c.Connections, c.Requests, p.Stats())
		}
	})
}

func TestNoReuseHandshakes(t *testing.T) {
	for name, protocols := range map[string]rdaptest.Protocols{"HTTP/1.1": rdaptest.H1Only, "HTTP/2": rdaptest.H1AndH2} {
		t.Run(name, func(t *testing.T) {
			s := rdaptest.Start(t, rdaptest.Config{Protocols: protocols})
			p := newPool(t, s, pool.Config{NoReuse: true})
			getAll(t, p, s, 40, 8)
			c := s.Counts()
			if c.Connections != 40 || c.FullHandshakes != 40 || c.Resumed != 0 || c.Requests != 40 {
				t.Errorf("server saw %d connections, %d full handshakes, %d resumed, %d requests, want 40, 40, 0, 40",
					c.Connections, c.FullHandshakes, c.Resumed, c.Requests)
			}
			if st := p.Stats(); st.Handshakes.Full != 40 || st.Handshakes.Avoided != 0 || st.Connections != 40 {
				t.Errorf("stats: %+v", st)
			}
			if err := s.AwaitOpen(t.Context(), 0); err != nil {
				t.Error("connections stay open:", err)
			}
		})
	}
}

func TestBodiesClosedEarlyKeepTheConnection(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H1Only})
	s.On("/domain/dom1.example", rdaptest.JSON("{\"objectClassName\":\"domain\"}\n\n"))
	s.On("/domain/dom2.example", rdaptest.Status(404))
	s.On("/domain/dom3.example", rdaptest.Status(404), rdaptest.Body("text/html", strings.Repeat("<p>no</p>", 400)))
	s.On("/domain/dom4.example", rdaptest.JSON(`{"objectClassName":`))
	s.On("/domain/dom5.example", rdaptest.Status(404), rdaptest.NoBody())
	s.On("/domain/dom6.example", rdaptest.Redirect(302, "/elsewhere"))
	p := newPool(t, s, pool.Config{})
	for i := range 200 {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, domain(s, i%6+1), nil)
		resp, err := p.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			io.CopyN(io.Discard, resp.Body, 3)
		}
		resp.Body.Close()
	}
	if c := s.Counts(); c.Connections != 1 || c.Handshakes() != 1 {
		t.Errorf("server saw %d connections, %d handshakes, want 1 and 1", c.Connections, c.Handshakes())
	}
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	for _, protocols := range []rdaptest.Protocols{rdaptest.H1Only, rdaptest.H2Only} {
		s := rdaptest.Start(t, rdaptest.Config{Protocols: protocols})
		p := newPool(t, s, pool.Config{IdleTimeout: 10 * time.Millisecond})
		if _, err := get(t.Context(), p, domain(s, 1)); err != nil {
			t.Fatal(err)
		}
		if err := s.AwaitOpen(t.Context(), 0); err != nil {
			t.Error(err)
		}
	}
}

func TestCloseFreesResources(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, protocols := range []rdaptest.Protocols{rdaptest.H1Only, rdaptest.H2Only} {
		s, err := rdaptest.New(rdaptest.Config{Protocols: protocols})
		if err != nil {
			t.Fatal(err)
		}
		for _, noReuse := range []bool{false, true} {
			p := newPool(t, s, pool.Config{NoReuse: noReuse})
			getAll(t, p, s, 50, 10)
			p.Close()
			if _, err := get(t.Context(), p, domain(s, 1)); !errors.Is(err, pool.ErrClosed) {
				t.Errorf("after Close: %v, want ErrClosed", err)
			}
		}
		s.Close()
	}
	// Ended goroutines take a moment to disappear.
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > before {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("goroutines left:\n%s", buf[:runtime.Stack(buf, true)])
		}
		runtime.Gosched()
	}
}

func TestCloseEndsRequests(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{})
	s.On("*", rdaptest.Hang())
	p := newPool(t, s, pool.Config{})
	done := make(chan error)
	go func() {
		_, err := get(t.Context(), p, domain(s, 1))
		done <- err
	}()
	if err := s.AwaitRequests(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	p.Close()
	if err := <-done; err == nil {
		t.Error("a request to a closed pool was answered")
	}
}
