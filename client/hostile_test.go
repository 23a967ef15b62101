package client_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

const hostileSample = 40 // without RDAPQ_HOSTILE, one in hostileSample servers is tried

// A server that breaks or abuses TCP, TLS or HTTP delays no lookup beyond the end of its
// context. It does not affect the Client, its Pool and other servers. RDAPQ_HOSTILE=1 tries all
// such servers.
func TestHostileServers(t *testing.T) {
	t.Parallel()
	ca := newCA(t)
	good := rdaptest.Start(t, rdaptest.Config{CA: ca})
	for _, h := range rdaptest.SomeHostile(rdaptest.HostileTCP(), hostileSample) {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			s := rdaptest.StartHostile(t, ca, h)
			p, err := pool.New(pool.Config{TLS: &tls.Config{RootCAs: ca.Pool()}})
			if err != nil {
				t.Fatal(err)
			}
			tryHostile(t, s.URL(), good, p)
			if s.Served() == 0 && strings.HasPrefix(h.Name, "HTTP/") {
				t.Error("the server was not reached")
			}
		})
	}
}

// tryHostile looks up eight names at a hostile server for three seconds. Then it looks up names
// at a good server with the same Client and its Pool, and closes both.
func tryHostile(t *testing.T, hostile string, good *rdaptest.Server, p *pool.Pool) {
	defer p.Close()
	c, err := client.New(client.Config{Transport: p, Timeout: 2 * time.Second, MaxWait: 4 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	lookups := func(server string, limit time.Duration, want func(*client.Result, error) error) {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				q, err := client.Parse(fmt.Sprintf("name%d.example", i))
				if err != nil {
					t.Error(err)
					return
				}
				q.Server = server
				if err := want(c.Lookup(ctx, q)); err != nil {
					t.Errorf("%s: %v", q.Text, err)
				}
			})
		}
		returns(t, "a lookup", all.Wait)
	}
	lookups(hostile, 3*time.Second, func(r *client.Result, err error) error {
		if err == nil && r.Verdict == client.VerdictRegistered {
			return fmt.Errorf("%s though it sent no record: %s", r.Verdict, r.Raw)
		}
		return nil
	})
	lookups(good.URL(), time.Minute, func(r *client.Result, err error) error {
		if err != nil || r.Verdict != client.VerdictRegistered {
			return fmt.Errorf("at the good server: %+v, %w", r, err)
		}
		return nil
	})
	returns(t, "Stats", func() { p.Stats() })
	returns(t, "Close of the Client", func() { c.Close() })
	returns(t, "Close of the Pool", func() { p.Close() })
}

// returns fails the test if f does not return.
func returns(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Errorf("%s does not return", what)
	}
}
