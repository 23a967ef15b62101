package pool_test

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// Functions for events and logs that do not return do not block the Pool.
func TestBlockedCallbacks(t *testing.T) {
	t.Parallel() // the test mostly waits
	s := rdaptest.Start(t, rdaptest.Config{})
	s.On("*", rdaptest.Close())
	release := make(chan struct{})
	defer close(release)
	p := newPool(t, s, pool.Config{OnEvent: func(pool.Event) { <-release }, Logger: slog.New(slog.NewTextHandler(stuckWriter{release}, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	returns(t, "a lookup", func() { getAll(t, p, s, 20, 4) })
	returns(t, "Stats", func() { p.Stats() })
	returns(t, "Close", func() { p.Close() })
}

type stuckWriter struct{ until chan struct{} }

func (w stuckWriter) Write(p []byte) (int, error) {
	<-w.until
	return len(p), nil
}

// The wait for a free connection slot does not count as connect time.
func TestLimiterWaitIsNotConnectTimeout(t *testing.T) {
	t.Parallel()
	inMemory(t, func(t *testing.T, network *rdaptest.Network) {
		const most = 16
		s, port, c := hosts(t, 20, rdaptest.Config{Network: network})
		c.MaxConns, c.ConnectTimeout = most, 200*time.Millisecond
		p := newPool(t, s, c)
		hold := make(chan struct{})
		s.On("*", rdaptest.Until(hold))
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				if _, err := get(t.Context(), p, hostURL(i, port)); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(time.Minute)
		if n := s.Counts().Requests; n == 0 || n > most {
			t.Errorf("%d requests sent, want at most %d", n, most)
		}
		close(hold)
		all.Wait()
	})
}

// A function from the Config that does not return after its context ended blocks
// neither requests nor Close.
func TestBlockedDial(t *testing.T) {
	for name, c := range map[string]pool.Config{"kept": {}, "one each": {NoReuse: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := rdaptest.Start(t, rdaptest.Config{})
			release := make(chan struct{})
			defer close(release)
			c.ConnectTimeout = 100 * time.Millisecond
			c.Dial = func(context.Context, string, string) (net.Conn, error) {
				<-release
				return nil, net.ErrClosed
			}
			p := newPool(t, s, c)
			returns(t, "a lookup", func() {
				if _, err := get(t.Context(), p, domain(s, 1)); err == nil {
					t.Error("no error")
				}
			})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			returns(t, "a lookup whose context has ended", func() {
				if _, err := get(ctx, p, domain(s, 1)); err == nil {
					t.Error("no error")
				}
			})
			returns(t, "Close", func() { p.Close() })
		})
	}
}
