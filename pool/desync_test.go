package pool_test

import (
	"context"
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
