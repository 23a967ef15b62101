package pool_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// No request may reach a server at an address of a kind that a server must not redirect to,
// literally or by name.
func TestGuardRefusesPrivateAddresses(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{})
	_, port, _ := net.SplitHostPort(s.Addr())
	for _, a := range []string{
		"127.0.0.1", "127.8.9.1", "0.0.0.0", "0.1.2.3", "10.0.0.5", "172.17.0.2", "192.168.1.1", "169.254.169.254",
		"100.64.0.1", "100.100.100.200", "224.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.0.8",
		"::", "::1", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1", "fec0::1",
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1",
		"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::1", "2002:a00:1::1", "2001::1",
	} {
		addr := netip.MustParseAddr(a)
		p := newPool(t, s, pool.Config{})
		p.SetLookup(func(context.Context, string, string) ([]netip.Addr, error) { return []netip.Addr{addr}, nil })
		for _, host := range []string{a, "somewhere.example"} {
			_, err := get(pool.WithGuard(t.Context()), p, "https://"+net.JoinHostPort(host, port)+"/domain/dom1.example")
			var refused *pool.AddressError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), "not a public address") {
				t.Errorf("%s as %s: %v", a, host, err)
			}
		}
	}
	if c := s.Counts(); c.Connections != 0 {
		t.Errorf("the server saw %d connections", c.Connections)
	}
}

func TestGuardPassesPublicAddresses(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{})
	for _, a := range []string{"8.8.8.8", "2001:4860:4860::8888", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"} {
		dialed := ""
		p := newPool(t, s, pool.Config{Dial: func(_ context.Context, _, address string) (net.Conn, error) {
			dialed = address
			return nil, errors.New("far enough")
		}})
		host := netip.MustParseAddr(a).Unmap().String()
		get(pool.WithGuard(t.Context()), p, "https://"+net.JoinHostPort(host, "443")+"/")
		if dialed != net.JoinHostPort(host, "443") {
			t.Errorf("%s was not dialed (%q)", a, dialed)
		}
	}
}

// The Pool dials the checked address, because the owner of the name could change the result of
// a second name resolution.
func TestGuardChecksDialedAddress(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{})
	p := newPool(t, s, pool.Config{Network: "tcp4"}) // use one query per resolution
	asked := 0
	p.SetLookup(func(context.Context, string, string) ([]netip.Addr, error) {
		asked++
		if asked == 1 {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("8.8.8.8")}, nil
	})
	_, port, _ := net.SplitHostPort(s.Addr())
	if _, err := get(pool.WithGuard(t.Context()), p, "https://rebound.example:"+port+"/"); err == nil || s.Counts().Connections != 0 {
		t.Errorf("error %v, %d connections", err, s.Counts().Connections)
	}
}

// Config.Dial resolves names itself, so the connected address is checked.
func TestGuardChecksAddressFromDial(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{Names: []string{"inside.example"}})
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, s.Addr())
	}
	p := newPool(t, s, pool.Config{Dial: dial})
	if _, err := get(pool.WithGuard(t.Context()), p, "https://inside.example/domain/dom1.example"); err == nil {
		t.Error("an answer came from loopback")
	}
	if s.Counts().Requests != 0 {
		t.Error("a request was sent")
	}
	open := newPool(t, s, pool.Config{Dial: dial, AllowPrivate: true})
	if _, err := get(pool.WithGuard(t.Context()), open, "https://inside.example/domain/dom1.example"); err != nil {
		t.Errorf("with AllowPrivate: %v", err)
	}
}

// A connection to an address that the user specified is not used for guarded
// requests.
func TestGuardedRequestsDoNotShareConnections(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{})
	p := newPool(t, s, pool.Config{})
	if _, err := get(t.Context(), p, domain(s, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := get(pool.WithGuard(t.Context()), p, domain(s, 2)); err == nil {
		t.Error("a guarded request used the connection that is there")
	}
	if c := s.Counts(); c.Requests != 1 {
		t.Errorf("the server saw %d requests", c.Requests)
	}
}
