package pool_test

import (
	"context"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// together returns a Dial that returns after n calls have begun.
func together(n int64) func(ctx context.Context, network, address string) (net.Conn, error) {
	var begun atomic.Int64
	all := make(chan struct{})
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if begun.Add(1) == n {
			close(all)
		}
		select {
		case <-all:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
}

// If the server is known to use HTTP/1.1, the first dials are concurrent, up to the
// limit.
func TestKnownHTTP1IsDialedConcurrently(t *testing.T) {
	const most, atOnce = 6, 100
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H1Only})
	origins, err := pool.OpenOriginFile(filepath.Join(t.TempDir(), "hosts.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer origins.Close()
	before := newPool(t, s, pool.Config{Origins: origins})
	getAll(t, before, s, 1, 1)
	before.Close()

	for name, c := range map[string]pool.Config{
		"it is all that is spoken": {Protocols: []string{"http/1.1"}},
		"from a former run":        {Origins: origins},
	} {
		t.Run(name, func(t *testing.T) {
			c.MaxConnsPerHost, c.Dial = most, together(most)
			p := newPool(t, s, c)
			getAll(t, p, s, atOnce, atOnce)
			if st := p.Stats(); st.Dials != most || st.Failed != 0 {
				t.Errorf("%d dials, %d failed, want %d and 0", st.Dials, st.Failed, most)
			}
		})
	}
}
