package pool_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

var (
	onlyH3 = []string{"h3"}
	autoH3 = []string{"h3", "h2", "http/1.1"}
)

// Head starts: HTTP/3 never exceeds longHeadStart on loopback, and always exceeds shortHeadStart.
const (
	longHeadStart  = time.Minute
	shortHeadStart = 20 * time.Millisecond
)

// rtt is so long that a request is sent before the end of the handshake that was started with
// it.
const rtt = 30 * time.Millisecond

// A memory holds the state that runs of a program leave for later runs.
type memory struct{ dir string }

// run returns a Pool with the state of earlier runs, and a function that ends the run.
func (m memory) run(t *testing.T, s *rdaptest.Server, c pool.Config) (*pool.Pool, func()) {
	t.Helper()
	sessions, err := pool.OpenSessionFile(filepath.Join(m.dir, "sessions"), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	origins, err := pool.OpenOriginFile(filepath.Join(m.dir, "hosts.json"))
	if err != nil {
		t.Fatal(err)
	}
	c.Sessions, c.Origins, c.Trust = sessions, origins, "test"
	p := newPool(t, s, c)
	return p, func() {
		t.Helper()
		p.Close()
		if err := sessions.Close(); err != nil {
			t.Error(err)
		}
		if err := origins.Close(); err != nil {
			t.Error(err)
		}
	}
}

// prime stores a session for HTTP/3, and the server's offer of HTTP/3.
func (m memory) prime(t *testing.T, s *rdaptest.Server, h *rdaptest.H3) {
	t.Helper()
	h.Announce(time.Hour)
	for i := range 2 {
		p, end := m.run(t, s, pool.Config{Protocols: autoH3, HeadStart: longHeadStart})
		a, err := get(t.Context(), p, domain(s, 1))
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"h2", "h3"}[i]; a.trace.Protocol != want {
			t.Fatalf("run %d was over %s, want %s", i, a.trace.Protocol, want)
		}
		end()
	}
	// Wait until all connections have ended, so that they are counted.
	if err := h.AwaitOpen(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
}

func TestH3Only(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
	p := newPool(t, s, pool.Config{Protocols: onlyH3})
	a, err := get(t.Context(), p, domain(s, 1))
	if err != nil {
		t.Fatal(err)
	}
	if tr := a.trace; tr.Protocol != "h3" || tr.TLS != tls.VersionTLS13 || tr.Handshake <= 0 || tr.TCP != 0 || tr.EarlyData || tr.Resumed || tr.Reused {
		t.Errorf("trace: %+v", tr)
	}
	getAll(t, p, s, 60, 60)
	c := h.Counts()
	if c.Connections != 1 || c.FullHandshakes != 1 || c.Requests != 61 || s.Counts().Connections != 0 {
		t.Errorf("server saw %+v, and %d TCP connections", c.Counts, s.Counts().Connections)
	}
	st := p.Stats()
	if st.Connections != 1 || st.Handshakes.Full != 1 || st.Handshakes.Avoided != 60 || st.BytesIn == 0 || st.BytesOut == 0 || st.Origins[0].Protocol != "h3" {
		t.Errorf("stats: %+v", st)
	}
}

func TestH3StreamLimitIsKept(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{MaxStreams: 7})
	m := memory{t.TempDir()}
	p, end := m.run(t, s, pool.Config{Protocols: onlyH3, MaxHTTP2Conns: 2})
	getAll(t, p, s, 300, 120)
	end()
	c := h.Counts()
	if c.Connections > 2 {
		t.Errorf("%d connections, want at most 2", c.Connections)
	}
	for i, conn := range c.Conns {
		if conn.MaxInFlight > 7 {
			t.Errorf("connection %d had %d concurrent requests, want at most 7", i, conn.MaxInFlight)
		}
	}
	origins, err := pool.OpenOriginFile(filepath.Join(m.dir, "hosts.json"))
	if err != nil {
		t.Fatal(err)
	}
	if f := origins.Info("https://" + s.Addr()); f.H3Streams != 7 {
		t.Errorf("learned %+v, want 7 streams", f)
	}
}

// A server that allows no stream fails the request quickly, after one retry.
func TestH3ServerAllowsNoStreams(t *testing.T) {
	s, _ := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{MaxStreams: -1})
	p := newPool(t, s, pool.Config{Protocols: onlyH3, DeadAfter: 90 * time.Millisecond})
	const requests = 8
	var wg sync.WaitGroup
	for i := range requests {
		wg.Go(func() {
			if _, err := get(t.Context(), p, domain(s, i)); err == nil {
				t.Error("answered without a stream")
			}
		})
	}
	wg.Wait()
	if st := p.Stats(); st.Retries[pool.RetryClosed] > requests {
		t.Errorf("%d requests were sent again %d times, over %d connections", requests, st.Retries[pool.RetryClosed], st.Dials)
	}
}

func TestH3CanceledRequestsFreeTheirSlots(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{MaxStreams: 4})
	s.On("/domain/slow.example", rdaptest.Hang())
	p := newPool(t, s, pool.Config{Protocols: onlyH3, MaxHTTP2Conns: 1})
	getAll(t, p, s, 1, 1)
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		for range 4 {
			go func() {
				_, err := get(ctx, p, s.URL()+"domain/slow.example")
				done <- err
			}()
		}
		cancel()
		for range 4 {
			if err := <-done; err == nil {
				t.Error("a request that hangs was answered")
			}
		}
		getAll(t, p, s, 8, 8)
	}
	if c := h.Counts(); c.Connections != 1 {
		t.Errorf("%d connections, want 1", c.Connections)
	}
}

func TestH3NoReuseHandshakes(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
	m := memory{t.TempDir()}
	m.prime(t, s, h)
	before := h.Counts()
	p, end := m.run(t, s, pool.Config{Protocols: onlyH3, NoReuse: true})
	getAll(t, p, s, 40, 8)
	st := p.Stats()
	end()
	if err := h.AwaitOpen(t.Context(), 0); err != nil {
		t.Error("connections stay open:", err)
	}
	c := h.Counts()
	if n := c.Connections - before.Connections; n != 40 || c.FullHandshakes-before.FullHandshakes != 40 || c.EarlyAccepted != before.EarlyAccepted {
		t.Errorf("%d connections, want 40 with a full handshake: %+v", n, c)
	}
	if st.Handshakes.Full != 40 || st.Handshakes.Avoided != 0 || st.Connections != 40 || st.Open != 0 {
		t.Errorf("stats: %+v", st)
	}
}

func TestH3FreshConnsResume(t *testing.T) {
	t.Parallel() // the test mostly waits
	s, h := rdaptest.StartH3(t, rdaptest.Config{RTT: rtt, SingleUseTickets: true}, rdaptest.H3Config{AwaitEarly: true})
	p := newPool(t, s, pool.Config{Protocols: onlyH3, FreshConns: true})
	getAll(t, p, s, 20, 1)
	if err := h.AwaitOpen(t.Context(), 0); err != nil {
		t.Error("connections stay open:", err)
	}
	c, st := h.Counts(), p.Stats().Handshakes
	// The response to early data may be read, and the connection closed, before the server has
	// sent a new ticket. Then the next connection has no ticket.
	if c.Connections != 20 || c.Handshakes()+c.FailedHandshakes != 20 || c.FullHandshakes > 10 || c.TicketsReused != 0 || c.EarlyRejected != 0 || c.Requests != 20 {
		t.Errorf("server saw %+v", c)
	}
	if st.EarlyData != st.Resumed || st.Full != c.FullHandshakes || st.Full+st.Resumed != 20 {
		t.Errorf("stats: %+v", st)
	}
}

func TestH3GoAway(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
	p := newPool(t, s, pool.Config{Protocols: onlyH3})
	for range 10 {
		getAll(t, p, s, 20, 10)
		h.GoAway()
	}
	getAll(t, p, s, 20, 10)
	if st := p.Stats(); st.Failed != 0 || st.Requests != 220 {
		t.Errorf("stats: %+v", st)
	}
	if c := h.Counts(); c.Connections < 2 || c.Connections > 30 {
		t.Errorf("%d connections", c.Connections)
	}
}

func TestH3RejectedRequests(t *testing.T) {
	s, _ := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{Reject: func(n int64) bool { return n%5 == 3 }})
	p := newPool(t, s, pool.Config{Protocols: onlyH3})
	getAll(t, p, s, 200, 20)
	if st := p.Stats(); st.Retries[pool.RetryRefused] < 40 || st.Failed != 0 || st.Connections != 1 {
		t.Errorf("stats: %+v", st)
	}
}

func TestH3ClosedByServer(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
	s.On("*", rdaptest.Reused(rdaptest.HangUp()))
	p := newPool(t, s, pool.Config{Protocols: onlyH3})
	getAll(t, p, s, 20, 1)
	if c := h.Counts(); c.Connections != 20 {
		t.Errorf("%d connections, want 20", c.Connections)
	}
	if st := p.Stats(); st.Retries[pool.RetryClosed] != 19 || st.Failed != 0 {
		t.Errorf("retries: %v, failed: %d, want 19 for closed and 0", st.Retries, st.Failed)
	}
}

// A server forgets its connections. Requests on these connections are sent on another
// connection.
func TestH3DeadConnection(t *testing.T) {
	t.Parallel()
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
	p := newPool(t, s, pool.Config{Protocols: onlyH3, DeadAfter: soon})
	getAll(t, p, s, 4, 4)
	if err := h.Forget(); err != nil {
		t.Fatal(err)
	}
	getAll(t, p, s, 1, 1)
	st := p.Stats()
	if st.Failed != 0 || st.Requests != 5 || st.Connections != 2 {
		t.Errorf("stats: %+v", st)
	}
}

func TestH3BodiesAndErrors(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
	s.On("/domain/dom1.example", rdaptest.Status(404), rdaptest.NoBody())
	s.On("/domain/dom2.example", rdaptest.Status(500), rdaptest.Body("text/html", "<h1>oops</h1>"))
	s.On("/domain/dom3.example", rdaptest.Endless())
	p := newPool(t, s, pool.Config{Protocols: onlyH3})
	for range 10 {
		for i, want := range []int{404, 500, 200} {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, domain(s, i+1), nil)
			resp, err := p.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != want || resp.Request != req {
				t.Errorf("status %d, want %d; request %p", resp.StatusCode, want, resp.Request)
			}
			resp.Body.Close()
		}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodHead, domain(s, 9), nil)
		resp, err := p.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	if c := h.Counts(); c.Connections != 1 {
		t.Errorf("%d connections, want 1", c.Connections)
	}
}

func TestH3CloseFreesResources(t *testing.T) {
	before := runtime.NumGoroutine()
	s, h, err := rdaptest.NewH3(rdaptest.Config{}, rdaptest.H3Config{})
	if err != nil {
		t.Fatal(err)
	}
	h.Announce(time.Hour)
	for _, c := range []pool.Config{
		{Protocols: onlyH3}, {Protocols: onlyH3, NoReuse: true}, {Protocols: onlyH3, FreshConns: true}, {Protocols: autoH3, HeadStart: longHeadStart},
	} {
		p := newPool(t, s, c)
		getAll(t, p, s, 50, 10)
		p.CloseIdleConnections()
		getAll(t, p, s, 50, 10)
		p.Close()
		if _, err := get(t.Context(), p, domain(s, 1)); !errors.Is(err, pool.ErrClosed) {
			t.Errorf("after Close: %v, want ErrClosed", err)
		}
	}
	// The server is notified immediately.
	if err := h.AwaitOpen(t.Context(), 0); err != nil {
		t.Error(err)
	}
	// Close the Pool with a dial in progress, early or not, and with requests without a
	// response.
	s.On("/domain/slow.example", rdaptest.Hang())
	p := newPool(t, s, pool.Config{Protocols: onlyH3, MaxHTTP2Conns: 1})
	for _, block := range []bool{false, true, true} {
		h.Block(block)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		get(ctx, p, s.URL()+"domain/slow.example")
		cancel()
		p.CloseIdleConnections()
	}
	done := make(chan error)
	go func() {
		_, err := get(t.Context(), p, domain(s, 1))
		done <- err
	}()
	p.Close()
	if err := <-done; err == nil {
		t.Error("answered through a closed pool")
	}
	h.Close()
	s.Close()
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

func TestH3CloseEndsRequests(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
	s.On("*", rdaptest.Hang())
	p := newPool(t, s, pool.Config{Protocols: onlyH3})
	done := make(chan error)
	go func() {
		_, err := get(t.Context(), p, domain(s, 1))
		done <- err
	}()
	if err := h.AwaitRequests(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	p.Close()
	if err := <-done; err == nil {
		t.Error("a request to a closed pool was answered")
	}
}

// A path that becomes silent during a request is detected, and the request is sent
// on another connection.
func TestH3SilenceDuringRequest(t *testing.T) {
	t.Parallel()
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
	s.On("/domain/dom1.example", rdaptest.First(1, rdaptest.Hang()))
	p := newPool(t, s, pool.Config{Protocols: onlyH3, DeadAfter: soon})
	done := make(chan error)
	go func() {
		_, err := get(t.Context(), p, domain(s, 1))
		done <- err
	}()
	if err := h.AwaitRequests(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := h.Forget(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := p.Stats().Retries[pool.RetryClosed]; n != 1 {
		t.Errorf("%d repetitions, want 1", n)
	}
}

// The Pool waits for a slow server.
func TestH3SlowServerIsNotDead(t *testing.T) {
	t.Parallel()
	s, _ := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
	s.On("*", rdaptest.Latency(soon*5/4))
	p := newPool(t, s, pool.Config{Protocols: onlyH3, DeadAfter: soon})
	a, err := get(t.Context(), p, domain(s, 1))
	if err != nil || a.trace.Retries != 0 {
		t.Errorf("a slow answer: %v after %d repetitions", err, a.trace.Retries)
	}
}

func TestH3Gzip(t *testing.T) {
	s, _ := rdaptest.StartH3(t, rdaptest.Config{Gzip: true}, rdaptest.H3Config{})
	p := newPool(t, s, pool.Config{Protocols: onlyH3})
	for _, asked := range []string{"", "gzip"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, domain(s, 1), nil)
		if err != nil {
			t.Fatal(err)
		}
		if asked != "" {
			req.Header.Set("Accept-Encoding", asked)
		}
		resp, err := p.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		// On loopback the Pool does not request gzip. If the caller requests a coding, the
		// caller has to decode it.
		if got := resp.Header.Get("Content-Encoding"); got != asked || resp.Uncompressed {
			t.Errorf("requested %q, got %q, decoded: %v", asked, got, resp.Uncompressed)
		}
		resp.Body.Close()
	}
}
