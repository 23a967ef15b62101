package pool_test

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// An alternative at another host proves to be the origin.
func TestAlternativeHost(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{Names: []string{named}}, rdaptest.H3Config{})
	elsewhere, there := rdaptest.StartH3(t, rdaptest.Config{CA: s.CA()}, rdaptest.H3Config{}) // no certificate for named
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
			p := newPool(t, s, pool.Config{Protocols: autoH3, HeadStart: patient, Resolve: resolve})
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

// An offer that came from a public address does not lead to one that isn't.
func TestAlternativeIsNotPrivate(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{Names: []string{named}}, rdaptest.H3Config{})
	_, port, _ := net.SplitHostPort(s.Addr())
	facts, err := pool.OpenFactFile(filepath.Join(t.TempDir(), "hosts.json"))
	if err != nil {
		t.Fatal(err)
	}
	origin := "https://" + net.JoinHostPort(named, port)
	facts.Update(origin, func(f *pool.Facts) {
		f.H3, f.H3Until = net.JoinHostPort("alt.example", port), time.Now().Add(time.Hour)
	})
	loopback := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	p := newPool(t, s, pool.Config{Protocols: autoH3, HeadStart: patient, Facts: facts, Resolve: map[string][]netip.Addr{
		net.JoinHostPort(named, port): loopback, net.JoinHostPort("alt.example", port): loopback,
	}})
	a, err := get(t.Context(), p, origin+"/domain/a.example")
	if err != nil || a.trace.Protocol != "h2" {
		t.Errorf("%s, %v", a.trace.Protocol, err)
	}
	if h.Heard() != 0 {
		t.Error("loopback was asked for the sake of a public offer")
	}
}

// An alternative that does not answer for the origin is asked no more.
func TestMisdirectedRequest(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
	m := memory{t.TempDir()}
	m.prime(t, s, h)
	p, end := m.run(t, s, pool.Config{Protocols: autoH3, HeadStart: patient})
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
