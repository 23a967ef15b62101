package client_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// A batch connects to its servers concurrently, whatever the order of its lines. In this test,
// no dial completes before all dials have begun.
func TestBatchDialsOverlap(t *testing.T) {
	const servers, each = 8, 40
	for name, server := range map[string]func(line int) int{
		"by turns":          func(line int) int { return line % servers },
		"one after another": func(line int) int { return line / each },
	} {
		t.Run(name, func(t *testing.T) {
			ca := newCA(t)
			bases := make(byTLD)
			for i := range servers {
				bases[fmt.Sprintf("s%d", i)] = rdaptest.Start(t, rdaptest.Config{CA: ca}).URL()
			}
			var begun atomic.Int64
			all := make(chan struct{})
			p, err := pool.New(pool.Config{
				AllowPrivate: true, TLS: &tls.Config{RootCAs: ca.Pool()}, MaxConnsPerHost: 1, MaxHTTP2Conns: 1,
				Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
					if begun.Add(1) == servers {
						close(all)
					}
					select {
					case <-all:
					case <-ctx.Done():
						return nil, fmt.Errorf("of %d dials %d had been begun", servers, begun.Load())
					}
					return new(net.Dialer).DialContext(ctx, network, address)
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { p.Close() })
			a := newAsker(t, ca, client.Config{Transport: p, Resolver: bases})
			var texts []string
			for i := range servers * each {
				texts = append(texts, fmt.Sprintf("n%d.s%d", i, server(i)))
			}
			count := 0
			for r := range a.Batch(t.Context(), lines(texts...)).All() {
				count++
				if r.Verdict != client.VerdictRegistered {
					t.Errorf("%s: %v", describe(r), client.ErrorOf(r))
				}
			}
			if st := p.Stats(); count != len(texts) || st.Dials != servers {
				t.Errorf("%d results over %d dials", count, st.Dials)
			}
		})
	}
}
