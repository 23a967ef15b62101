package pool_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// hangBound is the time after which a call counts as hung.
const hangBound = time.Minute

// returns fails the test if f does not return.
func returns(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(hangBound):
		t.Fatalf("%s does not return", what)
	}
}

// overflow enlarges the flow-control window of a stream beyond its maximum.
func overflow(c *rdaptest.RawConn, _ int64) bool {
	_ = c.WriteWindowUpdate(c.Stream, 1<<31-1)
	_ = c.WriteWindowUpdate(c.Stream, 1<<31-1)
	return false
}

// overflowLate is like overflow, but first sends the header of a response and a part of its
// body.
func overflowLate(c *rdaptest.RawConn, n int64) bool {
	_ = c.WriteHeaders(http2.HeadersFrameParam{StreamID: c.Stream, BlockFragment: []byte{0x88}, EndHeaders: true})
	_ = c.WriteData(c.Stream, false, []byte("{"))
	return overflow(c, n)
}

// A server whose windows overflow costs three connections. Afterwards the server is used over
// HTTP/1.1.
func TestOverflowingWindows(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{})
	s.SetConnRules(rdaptest.ConnRules{Raw: &rdaptest.RawH2{Request: overflow}})
	p := newPool(t, s, pool.Config{})
	returns(t, "a lookup", func() { getAll(t, p, s, 20, 8) })
	returns(t, "Stats", func() {
		st := p.Stats()
		if st.Abandoned != 3 || st.Origins[0].Abandoned != 3 || st.Origins[0].Protocol != "http/1.1" || st.Failed != 0 {
			t.Errorf("stats: %+v", st)
		}
	})
	returns(t, "Close", func() { p.Close() })
}

// Without HTTP/1.1 the requests fail, and HTTP/2 is no longer used.
func TestOverflowingWindowsOverHTTP2Alone(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{})
	s.SetConnRules(rdaptest.ConnRules{Raw: &rdaptest.RawH2{Request: overflow}})
	p := newPool(t, s, pool.Config{Protocols: []string{"h2"}})
	for range 5 {
		returns(t, "a lookup", func() {
			if a, err := get(t.Context(), p, domain(s, 1)); err == nil {
				t.Errorf("got %d", a.status)
			}
		})
	}
	if st := p.Stats(); st.Abandoned != 3 || s.Counts().Connections != 3 {
		t.Errorf("stats: %+v; the server saw %d connections", st, s.Counts().Connections)
	}
}

// A connection counts as abandoned once it has ended, even if no request on it has failed so
// far. Here no request is sent until four connections are open.
func TestOverflowingWindowsBeforeRequestsFail(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{})
	due := make(chan struct{}) // receives one value for each connection
	s.SetConnRules(rdaptest.ConnRules{Raw: &rdaptest.RawH2{First: func(c *rdaptest.RawConn) {
		<-due
		_ = c.WriteSettings()
		_ = c.WriteWindowUpdate(0, 1<<31-1)
		_ = c.WriteWindowUpdate(0, 1<<31-1)
	}}})
	p := newPool(t, s, pool.Config{})

	send := make(chan struct{})
	var all sync.WaitGroup
	for i := range 4 {
		got := make(chan struct{})
		connected := sync.OnceFunc(func() { close(got) })
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
			connected()
			<-send
		}})
		all.Go(func() {
			if a, err := get(ctx, p, domain(s, i)); err != nil || a.status != 200 {
				t.Errorf("lookup %d: %d, %v", i, a.status, err)
			}
		})
		<-got
		if i < 3 {
			due <- struct{}{}
			returns(t, "a connection", func() {
				for p.EndedConns() <= i {
					time.Sleep(time.Millisecond)
				}
			})
		}
	}
	close(send)
	close(due)
	returns(t, "a lookup", all.Wait)
	if st := p.Stats(); st.Abandoned != 3 || st.Origins[0].Protocol != "http/1.1" || st.Failed != 0 {
		t.Errorf("stats: %+v", st)
	}
}

// After an abandoned connection, a deep queue opens no more HTTP/2 connections than may still
// be abandoned.
func TestAbandonedConnectionLimitsOthers(t *testing.T) {
	const streams, requests = 4, 40
	s := rdaptest.Start(t, rdaptest.Config{MaxStreams: streams})
	s.SetConnRules(rdaptest.ConnRules{First: 1, Raw: &rdaptest.RawH2{Request: overflow}})
	p := newPool(t, s, pool.Config{})
	getAll(t, p, s, 1, 1)
	if st := p.Stats(); st.Abandoned != 1 || st.Connections != 2 {
		t.Fatalf("stats: %+v", st)
	}

	hold := make(chan struct{})
	s.On("*", rdaptest.Until(hold))
	var started, all sync.WaitGroup
	started.Add(requests)
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GetConn: func(string) { started.Done() }})
	for i := range requests {
		all.Go(func() {
			if a, err := get(ctx, p, domain(s, i)); err != nil || a.status != 200 {
				t.Errorf("lookup %d: %d, %v", i, a.status, err)
			}
		})
	}
	started.Wait()
	err := s.AwaitRequests(t.Context(), 2+2*streams) // the two connections are full by now
	close(hold)
	returns(t, "a lookup", all.Wait)
	if st := p.Stats(); err != nil || st.Origins[0].Dials != 3 || st.Retries[pool.RetryClosed] > 1 {
		t.Errorf("%v, stats: %+v", err, st)
	}
}

// If no call of a ClientConn returns, its users abandon the ClientConn. It blocks no other
// request, Stats or Close.
func TestLockedClientConn(t *testing.T) {
	for name, request := range map[string]func(*rdaptest.RawConn, int64) bool{
		"before the response": overflow, "within the body": overflowLate,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, good := rdaptest.Start(t, rdaptest.Config{}), rdaptest.Start(t, rdaptest.Config{})
			s.SetConnRules(rdaptest.ConnRules{First: 1, Raw: &rdaptest.RawH2{Request: request}})
			p := newPool(t, s, pool.Config{})
			p.TrustWindows()

			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			var hung sync.WaitGroup
			for i := range 8 {
				hung.Go(func() {
					a, err := get(ctx, p, domain(s, i))
					if cut, ok := err.(bodyError); ok {
						err = cut.error
					}
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("lookup %d: %d, %v", i, a.status, err)
					}
				})
			}
			<-ctx.Done()
			returns(t, "Stats", func() { p.Stats() })
			returns(t, "a lookup whose context has ended", hung.Wait)

			// The Pool detects the connection, and the next request uses another connection.
			returns(t, "a later lookup", func() { getAll(t, p, s, 8, 8) })
			st := p.Stats()
			if st.Abandoned != 1 || st.Connections != 2 {
				t.Errorf("%d connections abandoned of %d, want 1 of 2", st.Abandoned, st.Connections)
			}
			returns(t, "CloseIdleConnections", p.CloseIdleConnections)
			returns(t, "Close", func() { p.Close() })

			other := newPool(t, good, pool.Config{})
			getAll(t, other, good, 8, 8)
		})
	}
}

// Requests without a deadline on a blocked connection are retried when it is abandoned.
func TestLockedClientConnReleasesOtherRequests(t *testing.T) {
	t.Parallel() // the test mostly waits
	s := rdaptest.Start(t, rdaptest.Config{})
	var first atomic.Pointer[http2.Framer] // framer of the first connection with a request
	s.SetConnRules(rdaptest.ConnRules{Raw: &rdaptest.RawH2{Request: func(c *rdaptest.RawConn, n int64) bool {
		if !first.CompareAndSwap(nil, c.Framer) && first.Load() != c.Framer {
			return true
		}
		return n >= 8 && overflow(c, n) // a canceled request has no window
	}}})
	p := newPool(t, s, pool.Config{MaxHTTP2Conns: 1})
	p.TrustWindows()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if a, err := get(t.Context(), p, domain(s, i)); err != nil || a.status != 200 {
				t.Errorf("lookup %d: %d, %v", i, a.status, err)
			}
		})
	}
	// A request that is canceled before net/http has read the frames detects nothing.
	defer func() {
		if t.Failed() {
			t.Logf("stats: %+v", p.Stats())
		}
	}()
	returns(t, "the detection", func() {
		for p.Stats().Abandoned == 0 {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			_, _ = get(ctx, p, domain(s, 8))
			cancel()
		}
	})
	returns(t, "a lookup", all.Wait)
	if st := p.Stats(); st.Abandoned != 1 || st.Connections != 2 {
		t.Errorf("stats: %+v", st)
	}
	returns(t, "Close", func() { p.Close() })
}

// Close ends requests on a blocked connection that has not been detected yet.
func TestCloseEndsRequestsOnALockedClientConn(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{})
	locked := make(chan struct{})
	s.SetConnRules(rdaptest.ConnRules{Raw: &rdaptest.RawH2{Request: func(c *rdaptest.RawConn, n int64) bool {
		defer close(locked)
		return overflow(c, n)
	}}})
	p := newPool(t, s, pool.Config{})
	p.TrustWindows()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	defer cancel() // net/http's part of the request never ends otherwise
	var hung sync.WaitGroup
	hung.Go(func() {
		if _, err := get(ctx, p, domain(s, 1)); err == nil {
			t.Error("no error")
		}
	})
	<-locked
	returns(t, "Close", func() { p.Close() })
	returns(t, "a lookup", hung.Wait)
}

// A request with a body uses up flow-control windows, so a server may enlarge them again.
func TestUploadWindows(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H2Only})
	p := newPool(t, s, pool.Config{})
	for range 3 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, domain(s, 1), strings.NewReader(strings.Repeat("x", 1<<20)))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := p.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	if st := p.Stats(); st.Connections != 1 || st.Abandoned != 0 {
		t.Errorf("stats: %+v", st)
	}
}

// A server that requires HTTP/1.1 is used over HTTP/1.1 afterwards.
func TestHTTP11Required(t *testing.T) {
	for name, raw := range map[string]*rdaptest.RawH2{
		"stream": {Request: func(c *rdaptest.RawConn, _ int64) bool {
			_ = c.WriteRSTStream(c.Stream, http2.ErrCodeHTTP11Required)
			return false
		}},
		"connection": {GoAwayOn: 1, GoAwayCode: uint32(http2.ErrCodeHTTP11Required), GoAwayClose: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := rdaptest.Start(t, rdaptest.Config{})
			s.SetConnRules(rdaptest.ConnRules{Raw: raw})
			p := newPool(t, s, pool.Config{})
			getAll(t, p, s, 20, 1)
			st := p.Stats()
			if st.Retries[pool.RetryHTTP11] != 1 || st.Connections != 2 || st.Origins[0].Protocol != "http/1.1" || st.Failed != 0 {
				t.Errorf("stats: %+v", st)
			}
		})
	}
}
