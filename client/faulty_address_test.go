package client_test

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// If one of a host's two addresses does not work, lookups succeed as if the host had only the
// other address. The order of the addresses makes no difference. The test uses the clock of a
// bubble, because a loaded machine would delay responses beyond the timeout.
func TestBatchFaultyAddress(t *testing.T) {
	t.Parallel() // the test mostly waits
	const count = 40
	for name, bad := range map[string]func(*rdaptest.Config){
		"silent after accept": func(c *rdaptest.Config) { c.Conn.SilentTLS = true },
		"closes":              func(c *rdaptest.Config) { c.Conn.Refuse = true },
		"other certificate":   func(c *rdaptest.Config) { c.CA = nil },
		"returns 503":         func(c *rdaptest.Config) { c.Handler = &firstConnFails{status: 503, all: true} },
		"silent":              func(c *rdaptest.Config) { c.Handler = &firstConnFails{all: true} },
	} {
		for _, protocols := range []rdaptest.Protocols{rdaptest.H1Only, rdaptest.H2Only} {
			for _, badFirst := range []bool{true, false} {
				bubble(t, fmt.Sprint(name, "/", protocols, "/first=", badFirst), func(t *testing.T) {
					ca := newCA(t)
					network := new(rdaptest.Network)
					config := rdaptest.Config{CA: ca, Network: network, Names: []string{"rdap.example"}, Protocols: protocols}
					good := rdaptest.Start(t, config)
					_, port, err := net.SplitHostPort(good.Addr())
					if err != nil {
						t.Fatal(err)
					}
					config.Addr = net.JoinHostPort("127.0.0.2", port)
					bad(&config)
					rdaptest.Start(t, config)
					addrs := []netip.Addr{netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.1")}
					if !badFirst {
						addrs[0], addrs[1] = addrs[1], addrs[0]
					}
					host := net.JoinHostPort("rdap.example", port)
					p := newOwnPool(t, network, ca, pool.Config{Resolve: map[string][]netip.Addr{host: addrs}})
					a := newAsker(t, ca, client.Config{Transport: p, Resolver: urls{"https://" + host + "/"}, Timeout: time.Second})
					requests := 0
					for r := range a.Batch(t.Context(), lines(names(count)...)).All() {
						requests += r.Attempts
						if r.Verdict != client.VerdictRegistered {
							t.Errorf("%s after %d attempts: %v", describe(r), r.Attempts, client.ErrorOf(r))
						}
					}
					st := p.Stats()
					t.Logf("%d attempts, %d connections, closed: %v", requests, st.Connections, st.Closed)
					if requests > 3*count {
						t.Errorf("%d attempts", requests)
					}
				})
			}
		}
	}
}
