//go:build unix

package interop_test

import (
	"syscall"
	"testing"

	"github.com/rdapq/rdapq/pool"
)

// TestRestart restarts the server during a batch, with requests in flight. The client retries
// requests that the pool cannot retry, because the port is closed for a moment.
func TestRestart(t *testing.T) {
	each(t, func(t *testing.T, protocol string) {
		n := startNginx(t, nginxConfig{HTTP2: protocol == http2})
		p := n.newPool(pool.Config{Protocols: []string{protocol}, AllowPrivate: true})
		_, repeated := n.batch(t, p, func() {
			n.stop(syscall.SIGTERM)
			n.start()
		})
		s := p.Stats()
		workers := make(map[int]bool)
		for _, l := range n.log() {
			workers[l.worker] = true
		}
		if len(workers) != 2 {
			t.Errorf("%d processes responded", len(workers))
		}
		t.Logf("%d lookups retried by the client, %v by the pool", repeated, s.Retries)
	})
}
