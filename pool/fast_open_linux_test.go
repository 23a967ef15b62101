package pool_test

import (
	"errors"
	"net/netip"
	"syscall"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// Values of net.ipv4.tcp_fastopen.
const (
	fastOpenOff      = 0
	fastOpenClients  = 1
	fastOpenEveryone = 0x403 // applies to all listeners, without the socket option
)

func TestFastOpen(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	both(t, func(t *testing.T, protocols rdaptest.Protocols) {
		setFastOpen(t, fastOpenEveryone)
		// The kernel stores cookies by address, so each protocol gets an address.
		address := map[rdaptest.Protocols]string{rdaptest.H1Only: "127.0.0.2", rdaptest.H2Only: "127.0.0.3"}[protocols]
		s, port := startNamed(t, rdaptest.Config{Protocols: protocols, Addr: address + ":0"})
		c := pool.Config{FastOpen: true, FreshConns: true, Resolve: resolve(port, address)}
		p := newPool(t, s, c)
		for i := range 5 {
			a, err := get(t.Context(), p, namedURL(port, i))
			if err != nil {
				t.Fatal(err)
			}
			// The first connection gets the cookie.
			if a.trace.FastOpen != (i > 0) || a.trace.Resumed != (i > 0) {
				t.Errorf("lookup %d: Fast Open %v, resumed %v", i, a.trace.FastOpen, a.trace.Resumed)
			}
		}
		if st, want := p.Stats(), (pool.FastOpen{Sent: 4, Accepted: 4}); st.FastOpen != want || st.Connections != 5 {
			t.Errorf("%d connections, %+v, want 5, %+v", st.Connections, st.FastOpen, want)
		}
		if c := s.Counts(); c.Connections != 5 || c.Handshakes() != 5 {
			t.Errorf("server saw %d connections, %d handshakes, want 5 and 5", c.Connections, c.Handshakes())
		}

		three := func(fastOpen int) pool.FastOpen {
			setFastOpen(t, fastOpen)
			p := newPool(t, s, c)
			for i := range 3 {
				if _, err := get(t.Context(), p, namedURL(port, i)); err != nil {
					t.Error(err)
				}
			}
			return p.Stats().FastOpen
		}
		// The server no longer accepts data with SYNs.
		if st := three(fastOpenClients); st.Accepted != 0 || st.Sent == 0 {
			t.Errorf("the server refuses: %+v", st)
		}
		// Client Fast Open is disabled in the kernel.
		if st := three(fastOpenOff); st != (pool.FastOpen{}) {
			t.Errorf("switched off: %+v", st)
		}
	})
}

// With a cookie, connect always succeeds, so that it does not show whether the address works.
func TestFastOpenToDeadAddress(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	setFastOpen(t, fastOpenEveryone)
	s, port := startNamed(t, rdaptest.Config{Addr: "0.0.0.0:0"})
	c := pool.Config{FastOpen: true, NoReuse: true, LocalAddr: netip.MustParseAddr(nearAddr), Resolve: resolve(port, holeAddr)}
	p := newPool(t, s, c)
	for range 2 {
		a, err := get(t.Context(), p, namedURL(port, 1))
		if err != nil {
			t.Fatal(err)
		}
		if a.trace.RemoteAddr != holeAddr+":"+port {
			t.Fatalf("answered by %s", a.trace.RemoteAddr)
		}
	}
	if st := p.Stats(); st.FastOpen.Accepted != 1 {
		t.Fatalf("no cookie was earned: %+v", st.FastOpen)
	}
	digHole(t)
	c.Resolve = resolve(port, holeAddr, "127.0.0.1")
	p = newPool(t, s, c)
	for i := range 3 {
		a, err := get(t.Context(), p, namedURL(port, i))
		if err != nil {
			t.Fatal(err)
		}
		if a.trace.RemoteAddr != "127.0.0.1:"+port {
			t.Errorf("answered by %s", a.trace.RemoteAddr)
		}
	}
}

func TestFastOpenRefused(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	setFastOpen(t, fastOpenEveryone)
	s := rdaptest.Start(t, rdaptest.Config{})
	p := newPool(t, s, pool.Config{FastOpen: true, NoReuse: true})
	getAll(t, p, s, 2, 1)
	if st := p.Stats(); st.FastOpen.Sent != 1 {
		t.Fatalf("no cookie was earned: %+v", st.FastOpen)
	}
	s.Close()
	_, err := get(t.Context(), p, domain(s, 1))
	if e, ok := errors.AsType[*pool.Error](err); !ok || e.Step != pool.StepConnect || !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v", err)
	}
}
