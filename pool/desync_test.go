package pool_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// A lateConn delays the return of one Write long after the data was sent.
type lateConn struct {
	net.Conn
	late    *atomic.Bool
	release chan struct{}
}

func (c lateConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if c.late.Swap(false) {
		<-c.release
	}
	return n, err
}

// net/http closes a connection if the goroutine that wrote the request has not finished
// 50 ms after the response, for example on a busy machine. The server is not at fault.
func TestLateWriterIsNotDesync(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H1Only})
	late, release := new(atomic.Bool), make(chan struct{})
	p := newPool(t, s, pool.Config{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		nc, err := new(net.Dialer).DialContext(ctx, network, address)
		return lateConn{nc, late, release}, err
	}})
	check := new(pool.Check)
	ctx := pool.WithCheck(t.Context(), check)
	for i := range 5 {
		late.Store(i == 1)
		if a, err := get(ctx, p, domain(s, i)); err != nil || a.status != 200 {
			t.Fatalf("%+v, %v", a, err)
		}
		if i == 1 {
			close(release)
		}
		if check.News() {
			t.Errorf("request %d: the connection is suspect", i)
		}
	}
	if n := s.Counts().Connections; n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
}

// A 404 on such a connection is verified by another request, because it is unknown whether more
// data would have followed. The server is not suspected.
func TestNotFoundOverLateWriter(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H1Only})
	s.On("/domain/dom1.example", rdaptest.Status(404))
	late, release := new(atomic.Bool), make(chan struct{})
	p := newPool(t, s, pool.Config{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		nc, err := new(net.Dialer).DialContext(ctx, network, address)
		return lateConn{nc, late, release}, err
	}})
	check := new(pool.Check)
	ctx := pool.WithCheck(t.Context(), check)
	for i := range 2 {
		late.Store(i == 1)
		if a, err := get(ctx, p, domain(s, i)); err != nil || a.status != 200+204*i {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	if err := check.Settle(ctx); err != nil {
		t.Error(err)
	}
	close(release)
	if !check.Unproved() {
		t.Error("the response is taken for proved")
	}
	if _, err := get(pool.WithFreshConn(ctx, 0), p, domain(s, 1)); err != nil {
		t.Fatal(err)
	}
	if check.News() || check.Doubtful() {
		t.Errorf("news %t, doubtful %t", check.News(), check.Doubtful())
	}
}

// A request with WithFreshConn neither uses nor closes idle connections.
func TestFreshConn(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H1Only})
	p := newPool(t, s, pool.Config{})
	check := new(pool.Check)
	for i := range 4 {
		ctx := pool.WithCheck(t.Context(), check)
		if i%2 == 1 {
			ctx = pool.WithFreshConn(ctx, 0)
		}
		if _, err := get(ctx, p, domain(s, i)); err != nil {
			t.Fatal(err)
		}
		if want := i == 2; check.Doubtful() != want {
			t.Errorf("request %d: doubtful %t, want %t", i, check.Doubtful(), want)
		}
	}
	if n := s.Counts().Connections; n != 3 {
		t.Errorf("%d connections, want 3", n)
	}
}

// If the server accepts no other connection, the request uses the existing connection.
func TestNoFreshConn(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H1Only})
	var dials atomic.Int64
	p := newPool(t, s, pool.Config{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		if dials.Add(1) > 1 {
			return nil, errors.New("no more")
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}})
	for i := range 2 {
		if a, err := get(pool.WithFreshConn(t.Context(), 0), p, domain(s, i)); err != nil || a.status != 200 {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	if n := dials.Load(); n != 2 {
		t.Errorf("%d dials, want 2", n)
	}
}

// The news of a suspect connection is not lost if the next request fails and is sent
// again.
func TestDesyncNewsOutlivesFailure(t *testing.T) {
	ca, err := rdaptest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ca.Certificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		const response = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
		// The first connection sends one response too many, and the second connection sends
		// none.
		for _, responses := range []string{response + response, "", response} {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil && responses != "" {
				_, _ = io.WriteString(c, responses)
				_, _ = io.Copy(io.Discard, c) // reads until the Pool closes the connection
			}
			c.Close()
		}
	}()
	p, err := pool.New(pool.Config{AllowPrivate: true, TLS: &tls.Config{RootCAs: ca.Pool()}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	check := new(pool.Check)
	ctx := pool.WithCheck(t.Context(), check)
	for i := range 2 {
		if _, err := get(ctx, p, fmt.Sprintf("https://%s/%d", l.Addr(), i)); err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		if news := check.News(); news != (i == 1) {
			t.Errorf("request %d: news %t", i, news)
		}
		for i == 0 && p.Stats().Open > 0 { // wait until the Pool has seen the stray response
			time.Sleep(time.Millisecond)
		}
	}
}
