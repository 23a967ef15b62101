package pool_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// A lateConn returns from a Write long after the data is out, once.
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

// net/http closes a connection if the goroutine that wrote the request has not got
// on 50 ms after the response, as on a busy machine. That says nothing about the
// server.
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

// A 404 over such a connection is worth another request, for nobody learns whether
// more would have come, and no reason to accuse the server.
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

// Idle connections are not used for such a request, and not closed for it.
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

// A server that takes no other connection gets the request over the one it has.
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
