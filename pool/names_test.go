package pool_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// All connections of a batch, and of each origin on a host, share one name
// resolution.
func TestOneNameResolutionPerHost(t *testing.T) {
	s, port := startNamed(t, rdaptest.Config{})
	var lookups atomic.Int64
	p := newPool(t, s, pool.Config{NoReuse: true, Network: "tcp4"}) // use one query per resolution
	p.SetLookup(func(context.Context, string, string) ([]netip.Addr, error) {
		lookups.Add(1)
		time.Sleep(time.Millisecond) // takes a measurable time
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	})
	for i := range 20 {
		a, err := get(t.Context(), p, namedURL(port, i))
		if err != nil {
			t.Fatal(err)
		}
		if (a.trace.DNS > 0) != (i == 0) || a.trace.TCP <= 0 || a.trace.Handshake <= 0 {
			t.Errorf("lookup %d: %v for DNS, %v for TCP, %v for TLS", i, a.trace.DNS, a.trace.TCP, a.trace.Handshake)
		}
	}
	if n := lookups.Load(); n != 1 {
		t.Errorf("%d look-ups for 20 connections, want 1", n)
	}
}

func TestUnknownHostName(t *testing.T) {
	p, err := pool.New(pool.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.SetLookup(func(_ context.Context, _, host string) ([]netip.Addr, error) {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	})
	_, err = get(t.Context(), p, namedURL("443", 1))
	if e, ok := errors.AsType[*pool.Error](err); !ok || e.Step != pool.StepResolve {
		t.Errorf("got %v", err)
	}
	if e, ok := errors.AsType[*net.DNSError](err); !ok || !e.IsNotFound {
		t.Errorf("the cause is hidden: %v", err)
	}
}

// Errors distinguish a silent name server from a silent server.
func TestSilentResolver(t *testing.T) {
	p, err := pool.New(pool.Config{ConnectTimeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.SetLookup(func(ctx context.Context, _, _ string) ([]netip.Addr, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	_, err = get(t.Context(), p, namedURL("443", 1))
	if e, ok := errors.AsType[*pool.Error](err); !ok || e.Step != pool.StepResolve || !e.Timeout() {
		t.Errorf("got %v", err)
	}
}
