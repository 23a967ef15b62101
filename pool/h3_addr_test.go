package pool_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// The certificate must be valid for the origin, over QUIC as over TCP.
func TestH3VerifiesCertificates(t *testing.T) {
	s, _ := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
	p, err := pool.New(pool.Config{Protocols: onlyH3})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_, err = get(t.Context(), p, domain(s, 1))
	if e, ok := errors.AsType[*pool.Error](err); !ok || e.Step != pool.StepHandshake {
		t.Errorf("got %v", err)
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok {
		t.Errorf("the cause is hidden: %v", err)
	}
}

// besideSilence starts a server at 127.0.0.1, and a silent server at 127.0.0.2 with the same
// port.
func besideSilence(t *testing.T) (s *rdaptest.Server, h *rdaptest.H3, port string) {
	t.Helper()
	s, h = rdaptest.StartH3(t, rdaptest.Config{Names: []string{named}}, rdaptest.H3Config{})
	_, port, _ = net.SplitHostPort(s.Addr())
	silent, err := net.ListenPacket("udp4", "127.0.0.2:"+port)
	if err != nil {
		t.Skip("no second loopback address here:", err)
	}
	t.Cleanup(func() { silent.Close() })
	return s, h, port
}

// The first of two addresses is silent, and the second works.
func TestH3TriesEachAddress(t *testing.T) {
	s, h, port := besideSilence(t)
	p := newPool(t, s, pool.Config{Protocols: onlyH3, Resolve: map[string][]netip.Addr{
		net.JoinHostPort(named, port): {netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.1")},
	}})
	for i := range 3 {
		if _, err := get(t.Context(), p, namedURL(port, i)); err != nil {
			t.Fatal(err)
		}
	}
	if c := h.Counts(); c.Connections != 1 || c.Requests != 3 {
		t.Errorf("server saw %+v", c)
	}
}

func TestH3AddressValidation(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{Validate: true})
	p := newPool(t, s, pool.Config{Protocols: onlyH3, FreshConns: true})
	getAll(t, p, s, 5, 1)
	if c := h.Counts(); c.Requests != 5 {
		t.Errorf("server saw %+v", c)
	}
}

// Early data goes to a silent address. After a while the pool tries another address, and later
// requests try that address first.
func TestEarlyDataToSilentAddress(t *testing.T) {
	t.Parallel()
	s, h, port := besideSilence(t)
	addr := netip.MustParseAddr("127.0.0.1")
	at := net.JoinHostPort(named, port)
	m := memory{t.TempDir()}
	for _, addrs := range [][]netip.Addr{{addr}, {netip.MustParseAddr("127.0.0.2"), addr}} {
		p, end := m.run(t, s, pool.Config{
			Protocols: onlyH3, Resolve: map[string][]netip.Addr{at: addrs},
		})
		for i := range 3 {
			if _, err := get(t.Context(), p, namedURL(port, i)); err != nil {
				t.Fatal(err)
			}
		}
		if n := p.Stats().DialsFailed; n != int64(len(addrs)-1) {
			t.Errorf("%d failed dials with %d addresses", n, len(addrs))
		}
		end()
	}
	if c := h.Counts(); c.Connections != 2 || c.Requests != 6 {
		t.Errorf("server saw %+v", c)
	}
}

func TestH3SourceAndFamily(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
	p := newPool(t, s, pool.Config{Protocols: onlyH3, LocalAddr: netip.MustParseAddr("127.0.0.1")})
	getAll(t, p, s, 3, 1)
	if c := h.Counts(); c.Connections != 1 {
		t.Errorf("server saw %+v", c)
	}
	p = newPool(t, s, pool.Config{Protocols: onlyH3, Network: "tcp6"})
	_, err := get(t.Context(), p, domain(s, 1))
	if e, ok := errors.AsType[*pool.Error](err); !ok || e.Step != pool.StepResolve {
		t.Errorf("an IPv4 address over tcp6: %v", err)
	}
}

// A guarded request connects to no private address over QUIC either.
func TestH3AppliesGuard(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
	p := newPool(t, s, pool.Config{Protocols: onlyH3})
	p.SetLookup(func(context.Context, string, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	})
	_, port, _ := net.SplitHostPort(s.Addr())
	for _, url := range []string{domain(s, 1), "https://localhost.example:" + port + "/"} {
		_, err := get(pool.WithGuard(t.Context()), p, url)
		if _, ok := errors.AsType[*pool.AddressError](err); !ok {
			t.Errorf("%s: %v", url, err)
		}
	}
	if h.Heard() != 0 {
		t.Error("the server got a request")
	}
}
