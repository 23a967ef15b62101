package pool_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

const (
	hostileSample = 8 // without RDAPQ_HOSTILE, one in hostileSample servers is tried

	// hang is far longer than any call takes.
	hang = time.Minute
)

// patientH3 has timeouts that no handshake with a correct server exceeds, however busy
// the machine is.
var patientH3 = pool.Config{Protocols: autoH3, ConnectTimeout: hang, HandshakeTimeout: hang}

// within fails the test if f does not return.
func within(t *testing.T, what string, limit time.Duration, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(limit):
		t.Errorf("%s does not return", what)
	}
}

// If HTTP/3 fails in any way and HTTP/2 works, every request succeeds, and later
// runs do not use HTTP/3.
func TestHostileQUICWithGoodTCP(t *testing.T) {
	for _, h := range rdaptest.SomeHostile(rdaptest.HostileQUIC(), hostileSample) {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			s := rdaptest.StartHostileH3(t, rdaptest.Config{}, h)
			m := memory{t.TempDir()}
			for range 1 + h.Good {
				p, end := m.run(t, s, patientH3)
				if _, err := get(t.Context(), p, domain(s, 1)); err != nil {
					t.Fatal(err)
				}
				end()
			}
			p, end := m.run(t, s, patientH3)
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					a, err := lookupIn(t.Context(), hang, p, domain(s, i))
					if err != nil || a.status != http.StatusOK || a.trace.Protocol != "h2" {
						t.Errorf("name %d: status %d over %s, %v", i, a.status, a.trace.Protocol, err)
					}
				})
			}
			wg.Wait()
			if f := m.now(p, s); f.QUICFailures != 1 || !f.QUICBlocked.After(time.Now()) {
				t.Errorf("HTTP/3 is not marked as broken: %+v", f)
			}
			within(t, "Close", hang, end)

			p, end = m.run(t, s, patientH3)
			if _, err := lookupIn(t.Context(), hang, p, domain(s, 1)); err != nil {
				t.Error(err)
			}
			if st := p.Stats(); st.Dials != 1 || st.Origins[0].Protocol != "h2" {
				t.Errorf("the next run: %+v", st)
			}
			end()
		})
	}
}

// No server can hang a request or Close over HTTP/3.
func TestHostileQUICAlone(t *testing.T) {
	for _, h := range rdaptest.SomeHostile(rdaptest.HostileQUIC(), hostileSample) {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			s := rdaptest.StartHostileH3(t, rdaptest.Config{}, h)
			good, _ := rdaptest.StartH3(t, rdaptest.Config{CA: s.CA()}, rdaptest.H3Config{})
			p := newPool(t, s, pool.Config{Protocols: onlyH3})
			for range h.Good {
				if _, err := get(t.Context(), p, domain(s, 1)); err != nil {
					t.Fatal(err)
				}
				p.CloseIdleConnections()
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			var wg sync.WaitGroup
			within(t, "a request", hang, func() {
				for i := range 8 {
					wg.Go(func() { _, _ = lookup(ctx, p, domain(s, i)) })
				}
				wg.Wait()
			})
			getAll(t, p, good, 8, 8)
			within(t, "Stats", hang, func() { p.Stats() })
			within(t, "Close", hang, func() { p.Close() })
		})
	}
}

// lookupIn is like lookup, but with three attempts and a timeout for each.
func lookupIn(ctx context.Context, limit time.Duration, p *pool.Pool, url string) (a response, err error) {
	for range 3 {
		within, cancel := context.WithTimeout(ctx, limit)
		a, err = get(within, p, url)
		cancel()
		if err == nil && !slices.Contains([]int{http.StatusInternalServerError, http.StatusServiceUnavailable}, a.status) {
			break
		}
	}
	return a, err
}
