package pool_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// An alternative at another host must have a certificate of the origin.
func TestAlternativeHost(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{Names: []string{named}}, rdaptest.H3Config{})
	// this server has no certificate for named
	elsewhere, there := rdaptest.StartH3(t, rdaptest.Config{CA: s.CA()}, rdaptest.H3Config{})
	_, port, _ := net.SplitHostPort(s.Addr())
	_, otherPort, _ := net.SplitHostPort(elsewhere.Addr())
	loopback := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	resolve := map[string][]netip.Addr{
		net.JoinHostPort(named, port):              loopback,
		net.JoinHostPort("alt.example", port):      loopback,
		net.JoinHostPort("alt.example", otherPort): loopback,
	}
	for name, test := range map[string]struct {
		port string
		want string
	}{"its certificate": {port, "h3"}, "another": {otherPort, "h2"}} {
		t.Run(name, func(t *testing.T) {
			s.SetAltSvc(fmt.Sprintf(`h3="alt.example:%s"`, test.port))
			p := newPool(t, s, pool.Config{Protocols: autoH3, HeadStart: longHeadStart, Resolve: resolve})
			for _, want := range []string{"h2", test.want} {
				a, err := get(t.Context(), p, namedURL(port, 1))
				if err != nil {
					t.Fatal(err)
				}
				if a.trace.Protocol != want {
					t.Errorf("over %s, want %s", a.trace.Protocol, want)
				}
				p.CloseIdleConnections()
			}
		})
	}
	if h.Counts().Requests != 1 || there.Counts().Requests != 0 {
		t.Errorf("%d requests at the alternative, %d at the impostor", h.Counts().Requests, there.Counts().Requests)
	}
}

// An offer from a public address is not followed to a private address.
func TestAlternativeAtPrivateAddress(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{Names: []string{named}}, rdaptest.H3Config{})
	_, port, _ := net.SplitHostPort(s.Addr())
	origins, err := pool.OpenOriginFile(filepath.Join(t.TempDir(), "hosts.json"))
	if err != nil {
		t.Fatal(err)
	}
	origin := "https://" + net.JoinHostPort(named, port)
	origins.Update(origin, func(f *pool.OriginInfo) {
		f.H3, f.H3Until = net.JoinHostPort("alt.example", port), time.Now().Add(time.Hour)
	})
	loopback := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	p := newPool(t, s, pool.Config{Protocols: autoH3, HeadStart: longHeadStart, Origins: origins, Resolve: map[string][]netip.Addr{
		net.JoinHostPort(named, port): loopback, net.JoinHostPort("alt.example", port): loopback,
	}})
	a, err := get(t.Context(), p, origin+"/domain/a.example")
	if err != nil || a.trace.Protocol != "h2" {
		t.Errorf("%s, %v", a.trace.Protocol, err)
	}
	if h.Heard() != 0 {
		t.Error("a public offer led to a request to loopback")
	}
}

// An alternative that does not serve the origin gets no more requests.
func TestMisdirectedRequest(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
	m := memory{t.TempDir()}
	m.prime(t, s, h)
	p, end := m.run(t, s, pool.Config{Protocols: autoH3, HeadStart: longHeadStart})
	s.On("*", rdaptest.First(1, rdaptest.Status(http.StatusMisdirectedRequest)))
	s.SetAltSvc("")
	a, err := get(t.Context(), p, domain(s, 1))
	if err != nil || a.status != 200 || a.trace.Protocol != "h2" || a.trace.Retries != 1 {
		t.Errorf("status %d, %v, trace: %+v", a.status, err, a.trace)
	}
	if f := m.now(p, s); f.H3 != "" {
		t.Errorf("still known: %+v", f)
	}
	end()
}

// Guarded requests share the stored information about an origin with requests of the user. An
// alternative learned from a private address does not give guarded requests access to that
// address.
func TestAlternativeIsNotSharedWithGuarded(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{Names: []string{named}}, rdaptest.H3Config{})
	_, port, _ := net.SplitHostPort(s.Addr())
	origin := "https://" + net.JoinHostPort(named, port)
	// in this order, because the end of a UDP connection may be detected late
	for _, want := range []string{"h2", "h3"} {
		ctx := t.Context()
		if want == "h2" {
			ctx = pool.WithGuard(ctx)
		}
		origins, err := pool.OpenOriginFile(filepath.Join(t.TempDir(), "hosts.json"))
		if err != nil {
			t.Fatal(err)
		}
		origins.Update(origin, func(f *pool.OriginInfo) {
			f.H3, f.H3Until, f.H3Local = s.Addr(), time.Now().Add(time.Hour), true
		})
		p := newPool(t, s, pool.Config{Protocols: autoH3, HeadStart: longHeadStart, Origins: origins, Resolve: map[string][]netip.Addr{
			net.JoinHostPort(named, port): {netip.MustParseAddr("127.0.0.1")},
		}})
		before := h.Heard()
		a, err := get(ctx, p, origin+"/domain/a.example")
		if heard := h.Heard() > before; err != nil || a.trace.Protocol != want || heard != (want == "h3") {
			t.Errorf("over %q, want %s, %v; packets arrived: %v", a.trace.Protocol, want, err, heard)
		}
		p.Close()
	}
}

// An alternative is subject to the guard, whatever the kind of its address, literally or by
// name.
func TestAlternativeAddressKinds(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{Names: []string{named}}, rdaptest.H3Config{})
	_, port, _ := net.SplitHostPort(s.Addr())
	origin := "https://" + net.JoinHostPort(named, port)
	for _, text := range []string{
		"127.0.0.1", "10.0.0.5", "169.254.169.254", "100.64.0.1", "224.0.0.1", "0.0.0.0",
		"::", "::1", "fe80::1", "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::1",
	} {
		for _, host := range []string{text, "alt.example"} {
			origins, err := pool.OpenOriginFile(filepath.Join(t.TempDir(), "hosts.json"))
			if err != nil {
				t.Fatal(err)
			}
			origins.Update(origin, func(f *pool.OriginInfo) {
				f.H3, f.H3Until = net.JoinHostPort(host, port), time.Now().Add(time.Hour)
			})
			var looked atomic.Int64
			p := newPool(t, s, pool.Config{
				Protocols: autoH3, HeadStart: longHeadStart, Origins: origins,
				Resolve: map[string][]netip.Addr{net.JoinHostPort(named, port): {netip.MustParseAddr("127.0.0.1")}},
			})
			p.SetLookup(func(context.Context, string, string) ([]netip.Addr, error) {
				looked.Add(1)
				return []netip.Addr{netip.MustParseAddr(text)}, nil
			})
			a, err := get(t.Context(), p, origin+"/domain/a.example")
			if err != nil || a.trace.Protocol != "h2" {
				t.Errorf("%s as %s: over %s, %v", text, host, a.trace.Protocol, err)
			}
			p.Close()
			if (looked.Load() > 0) != (host == "alt.example") {
				t.Errorf("%s: %d names looked up", host, looked.Load())
			}
		}
	}
	if h.Heard() != 0 {
		t.Errorf("%d packets arrived", h.Heard())
	}
}
