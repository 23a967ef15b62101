package pool_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// InFlight and Waiting are the current numbers of requests. The test uses HTTP/2 with 3
// streams, HTTP/1.1 with 3 connections, and one connection per request.
func TestGauges(t *testing.T) {
	bothInMemory(t, func(t *testing.T, network *rdaptest.Network, protocols rdaptest.Protocols) {
		s := rdaptest.Start(t, rdaptest.Config{Network: network, Protocols: protocols, MaxStreams: 3})
		p := newPool(t, s, pool.Config{Dial: network.Dial, MaxConnsPerHost: 3, MaxHTTP2Conns: 1})
		if _, err := get(t.Context(), p, domain(s, 0)); err != nil { // learns the stream limit
			t.Fatal(err)
		}
		hold := make(chan struct{})
		s.On("*", rdaptest.Until(hold))
		gauges := func(what string, inFlight, waiting int64) {
			t.Helper()
			synctest.Wait()
			st := p.Stats()
			if st.InFlight != inFlight || st.Waiting != waiting {
				t.Errorf("%s: %d in flight, %d waiting, want %d and %d", what, st.InFlight, st.Waiting, inFlight, waiting)
			}
			if o := st.Origins; len(o) == 1 && (o[0].InFlight != inFlight || o[0].Waiting != waiting) {
				t.Errorf("%s: the origin has %d in flight, %d waiting", what, o[0].InFlight, o[0].Waiting)
			}
		}
		gauges("at first", 0, 0)
		done := make(chan error, 10)
		for i := range 8 {
			go func() {
				_, err := get(t.Context(), p, domain(s, i))
				done <- err
			}()
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, err := get(ctx, p, domain(s, 9))
			done <- err
		}()
		gauges("9 requests", 3, 6)
		cancel()
		if err := <-done; err == nil {
			t.Error("a canceled request succeeded")
		}
		gauges("after one gave up", 3, 5)
		close(hold)
		for range 8 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		gauges("at the end", 0, 0)
	})
}

// A request that waits for its own connection counts as waiting, then as in flight until
// its body is closed.
func TestGaugesOfFreshConnections(t *testing.T) {
	inMemory(t, func(t *testing.T, network *rdaptest.Network) {
		s := rdaptest.Start(t, rdaptest.Config{Network: network})
		dial := make(chan struct{})
		p := newPool(t, s, pool.Config{NoReuse: true, Dial: pausedDial(network, dial)})
		done := make(chan error)
		go func() {
			resp, err := p.RoundTrip(newRequest(t, domain(s, 1)))
			if err == nil {
				if st := p.Stats(); st.InFlight != 1 || st.Waiting != 0 {
					t.Errorf("before the body is closed: %d in flight, %d waiting", st.InFlight, st.Waiting)
				}
				resp.Body.Close()
			}
			done <- err
		}()
		synctest.Wait()
		if st := p.Stats(); st.InFlight != 0 || st.Waiting != 1 {
			t.Errorf("during the dial: %d in flight, %d waiting", st.InFlight, st.Waiting)
		}
		close(dial)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if st := p.Stats(); st.InFlight != 0 || st.Waiting != 0 {
			t.Errorf("at the end: %d in flight, %d waiting", st.InFlight, st.Waiting)
		}
	})
}
