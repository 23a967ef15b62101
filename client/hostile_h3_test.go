package client_test

import (
	"crypto/tls"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// A server that breaks or abuses QUIC or HTTP/3 delays no lookup beyond the end of its context.
// It does not affect the Client, its Pool and other servers. RDAPQ_HOSTILE=1 tries all such
// servers.
func TestHostileH3Servers(t *testing.T) {
	t.Parallel()
	ca := newCA(t)
	good, _ := rdaptest.StartH3(t, rdaptest.Config{CA: ca}, rdaptest.H3Config{})
	for _, h := range rdaptest.SomeHostile(rdaptest.HostileQUIC(), hostileSample) {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			s := rdaptest.StartHostileH3(t, rdaptest.Config{CA: ca}, h)
			dir := t.TempDir()
			for range h.Good {
				lookUpOnce(t, dir, s.URL(), ca, "h3")
			}
			tryHostile(t, s.URL(), good, hostilePool(t, dir, ca, "h3"))
		})
	}
}

// hostilePool returns a Pool that uses the state files in dir.
func hostilePool(t *testing.T, dir string, ca *rdaptest.CA, protocols ...string) *pool.Pool {
	t.Helper()
	sessions, err := pool.OpenSessionFile(filepath.Join(dir, "sessions"), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	facts, err := pool.OpenOriginFile(filepath.Join(dir, "hosts.json"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := pool.New(pool.Config{TLS: &tls.Config{RootCAs: ca.Pool()}, Trust: "test", Protocols: protocols, Sessions: sessions, Origins: facts})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Close()
		_ = sessions.Close()
		_ = facts.Close()
	})
	return p
}

func lookUpOnce(t *testing.T, dir, server string, ca *rdaptest.CA, protocols ...string) {
	t.Helper()
	p := hostilePool(t, dir, ca, protocols...)
	defer p.Close()
	c, err := client.New(client.Config{Transport: p})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	q, err := client.Parse("first.example")
	if err != nil {
		t.Fatal(err)
	}
	q.Server = server
	if r, err := c.Lookup(t.Context(), q); err != nil || r.Verdict != client.VerdictRegistered {
		t.Fatal(fmt.Errorf("%+v, %w", r, err))
	}
}
