package pool_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// A countedBody counts the calls of Close.
type countedBody struct {
	io.Reader
	closed atomic.Int64
}

func (b *countedBody) Close() error {
	b.closed.Add(1)
	return nil
}

// The Pool returns the errors of http.Transport for invalid requests, without making a
// connection, and closes their bodies.
func TestInvalidRequests(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{})
	transport := new(http.Transport)
	for name, spoil := range map[string]func(*http.Request){
		"no URL":        func(r *http.Request) { r.URL = nil },
		"no header":     func(r *http.Request) { r.Header = nil },
		"scheme":        func(r *http.Request) { r.URL.Scheme = "gopher" },
		"no host":       func(r *http.Request) { r.URL.Host = "" },
		"method":        func(r *http.Request) { r.Method = "G ET" },
		"field name":    func(r *http.Request) { r.Header["a b"] = []string{"c"} },
		"field value":   func(r *http.Request) { r.Header["A"] = []string{"b\nc"} },
		"trailer name":  func(r *http.Request) { r.Trailer = http.Header{"a b": {"c"}} },
		"trailer value": func(r *http.Request) { r.Trailer = http.Header{"A": {"b\x00"}} },
	} {
		t.Run(name, func(t *testing.T) {
			for who, rt := range map[string]http.RoundTripper{"pool": newPool(t, s, pool.Config{}), "net/http": transport} {
				body := &countedBody{Reader: strings.NewReader("x")}
				u, err := url.Parse(s.URL())
				if err != nil {
					t.Fatal(err)
				}
				req := (&http.Request{Method: http.MethodPost, URL: u, Header: make(http.Header), Body: body}).WithContext(t.Context())
				spoil(req)
				if resp, err := rt.RoundTrip(req); err == nil {
					resp.Body.Close()
					t.Errorf("%s: status %d", who, resp.StatusCode)
				}
				if body.closed.Load() == 0 {
					t.Errorf("%s: the body was not closed", who)
				}
			}
		})
	}
	if n := s.Counts().Connections; n != 0 {
		t.Errorf("the server saw %d connections", n)
	}
}

// Fields that HTTP/2 does not permit fail only their request.
func TestFieldsNotPermittedInHTTP2(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H2Only})
	p := newPool(t, s, pool.Config{})
	for range 5 {
		body := &countedBody{Reader: strings.NewReader("x")}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, domain(s, 1), body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Upgrade", "other")
		if resp, err := p.RoundTrip(req); err == nil {
			resp.Body.Close()
			t.Errorf("status %d", resp.StatusCode)
		}
		if body.closed.Load() != 1 {
			t.Errorf("the body was closed %d times", body.closed.Load())
		}
	}
	getAll(t, p, s, 5, 1)
	if n := s.Counts().Connections; n != 1 {
		t.Errorf("the server saw %d connections", n)
	}
}

// The body of every failed request is closed, whatever the error.
func TestBodiesOfFailedRequestsAreClosed(t *testing.T) {
	both(t, func(t *testing.T, protocols rdaptest.Protocols) {
		s := rdaptest.Start(t, rdaptest.Config{Protocols: protocols})
		s.On("*", rdaptest.HangUp())
		closed := newPool(t, s, pool.Config{})
		closed.Close()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for name, c := range map[string]struct {
			p   *pool.Pool
			ctx context.Context
		}{
			"hangs up": {newPool(t, s, pool.Config{}), t.Context()},
			"closed":   {closed, t.Context()},
			"ended":    {newPool(t, s, pool.Config{}), ended},
		} {
			body := &countedBody{Reader: strings.NewReader("x")}
			req, err := http.NewRequestWithContext(c.ctx, http.MethodPost, domain(s, 1), body)
			if err != nil {
				t.Fatal(err)
			}
			if resp, err := c.p.RoundTrip(req); err == nil {
				resp.Body.Close()
				t.Errorf("%s: status %d", name, resp.StatusCode)
			}
			if body.closed.Load() == 0 {
				t.Errorf("%s: the body was not closed", name)
			}
		}
	})
}

// The end of the context ends a request whose body blocks, because that closes the body.
func TestCanceledWithBlockedBody(t *testing.T) {
	both(t, func(t *testing.T, protocols rdaptest.Protocols) {
		begun := make(chan struct{})
		s := rdaptest.Start(t, rdaptest.Config{Protocols: protocols, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadFull(r.Body, make([]byte, 5))
			close(begun)
			_, _ = io.Copy(io.Discard, r.Body) // until the client gives up
		})})
		p := newPool(t, s, pool.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		in, out := io.Pipe()
		go func() {
			io.WriteString(out, "hello")
			<-begun
			cancel()
		}()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, domain(s, 1), in)
		if err != nil {
			t.Fatal(err)
		}
		within(t, "RoundTrip", hang, func() {
			if resp, err := p.RoundTrip(req); !errors.Is(err, context.Canceled) {
				t.Errorf("%v, %v", resp, err)
			}
		})
		within(t, "Write", hang, func() {
			for err := error(nil); err == nil; { // until the body is closed
				_, err = io.WriteString(out, "more")
			}
		})
	})
}

// Closing a body early does not wait for the rest. The connection is reused once the rest has
// arrived.
func TestCloseDoesNotWaitForBody(t *testing.T) {
	goOn := make(chan struct{})
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H1Only, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "some")
		if r.URL.Path == "/domain/dom1.example" {
			_ = http.NewResponseController(w).Flush()
			<-goOn
		}
		io.WriteString(w, " more")
	})})
	p := newPool(t, s, pool.Config{MaxConnsPerHost: 1})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, domain(s, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := p.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	close(goOn)
	if _, err := get(t.Context(), p, domain(s, 2)); err != nil {
		t.Fatal(err)
	}
	if n := s.Counts().Connections; n != 1 {
		t.Errorf("the server saw %d connections, want 1", n)
	}
}

// rawHTTP1 returns a server that calls serve on each connection, after the header of a request.
func rawHTTP1(t *testing.T, serve func(*bufio.ReadWriter, net.Conn)) *httptest.Server {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		serve(rw, c)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestSwitchingProtocols(t *testing.T) {
	s := rawHTTP1(t, func(rw *bufio.ReadWriter, _ net.Conn) {
		fmt.Fprint(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
		rw.Flush()
		line, _ := rw.ReadString('\n')
		fmt.Fprint(rw, line)
		rw.Flush()
	})
	p, err := pool.New(pool.Config{TLS: s.Client().Transport.(*http.Transport).TLSClientConfig, Protocols: []string{"http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range 2 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Connection", "upgrade")
		req.Header.Set("Upgrade", "echo")
		resp, err := p.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		rwc, ok := resp.Body.(io.ReadWriteCloser)
		if !ok {
			t.Fatalf("%T can't be written to", resp.Body)
		}
		fmt.Fprintln(rwc, "hello")
		if line, err := bufio.NewReader(rwc).ReadString('\n'); line != "hello\n" {
			t.Errorf("%q, %v", line, err)
		}
		rwc.Close()
	}
	if st := p.Stats(); st.Connections != 2 || st.Open != 0 || st.Failed != 0 {
		t.Errorf("stats: %+v", st)
	}
}

// A body without a length ends when its server closes the connection (RFC 9112 section 6.3). If
// the server closes it in reaction to the client's close, the body is not complete.
func TestEndlessBody(t *testing.T) {
	t.Parallel() // the test mostly waits
	s := rawHTTP1(t, func(rw *bufio.ReadWriter, c net.Conn) {
		fmt.Fprint(rw, "HTTP/1.1 200 OK\r\nContent-Type: application/rdap+json\r\n\r\n{\"objectClassName\":\"domain\"}")
		rw.Flush()
		_, _ = io.Copy(io.Discard, c) // reads until the client closes
	})
	p, err := pool.New(pool.Config{TLS: s.Client().Transport.(*http.Transport).TLSClientConfig, Protocols: []string{"http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range 30 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		a, err := get(ctx, p, s.URL)
		cancel()
		if cut, ok := err.(bodyError); ok {
			err = cut.error
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%d %q: %v", a.status, a.body, err)
		}
	}
}
