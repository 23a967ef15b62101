package pool

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
)

// BenchmarkHandshake connects, performs the handshake and closes, without a request, with 1 or
// 8 connections at a time. Time and allocations include the server, which runs in the same
// process.
func BenchmarkHandshake(b *testing.B) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, kind := range []string{"full", "resumed"} {
			for _, workers := range []int{1, 8} {
				name := fmt.Sprintf("%s/%s/%d", map[uint16]string{tls.VersionTLS12: "TLS12", tls.VersionTLS13: "TLS13"}[version], kind, workers)
				b.Run(name, func(b *testing.B) { benchHandshake(b, version, kind == "resumed", workers) })
			}
		}
	}
}

func benchHandshake(b *testing.B, version uint16, resumed bool, workers int) {
	s := rdaptest.Start(b, rdaptest.Config{Protocols: rdaptest.H1Only, MaxTLS: version})
	store := new(pinnedStore)
	p, err := New(Config{TLS: &tls.Config{RootCAs: s.Pool()}, Trust: "x"})
	if err != nil {
		b.Fatal(err)
	}
	p.dialer.tls.sessions = store
	b.Cleanup(func() { p.Close() })
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, s.URL()+"help", nil)
	if err != nil {
		b.Fatal(err)
	}
	if resumed {
		resp, err := p.RoundTrip(req)
		if err != nil {
			b.Fatal(err)
		}
		resp.Body.Close()
	}
	store.frozen.Store(true)
	key := originKeyOf(req.URL)
	before := s.Totals()
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for range workers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				d := &dial{cancel: func() {}}
				c, err := p.connect(b.Context(), key, d)
				if err != nil {
					b.Error(err)
					return
				}
				if c.setup.resumed != resumed {
					b.Errorf("resumed: %v", c.setup.resumed)
				}
				c.cc.Close()
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "handshakes/s")
	if c := s.Totals(); c.Connections-before.Connections != int64(b.N) {
		b.Errorf("server saw %d connections, want %d", c.Connections-before.Connections, b.N)
	}
}

// A pinnedStore stores sessions until it is frozen, and then returns the same sessions each
// time.
type pinnedStore struct {
	frozen  atomic.Bool
	session atomic.Pointer[tls.ClientSessionState]
}

func (s *pinnedStore) take(SessionKey, int) (*tls.ClientSessionState, bool) {
	return s.session.Load(), true
}

func (s *pinnedStore) put(_ SessionKey, session *tls.ClientSessionState) {
	if !s.frozen.Load() {
		s.session.Store(session)
	}
}
