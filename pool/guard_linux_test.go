package pool_test

import (
	"context"
	"net"
	"net/netip"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/namespace"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// A server at a public address offers HTTP/3 at each kind of private address, literally and by
// name. No packet is sent to such an address. If the server itself has a private address, a
// packet is sent, which shows that the guard makes the difference.
func TestPrivateAlternatives(t *testing.T) {
	if !namespace.Enter(t) {
		return
	}
	const outside = "11.22.33.44"
	inside := []string{
		"127.0.0.1", "127.8.9.1", "10.0.0.5", "172.17.0.2", "192.168.1.1", "169.254.169.254", "100.64.0.1", "198.18.0.1",
		"::1", "fc00::1", "fd00:ec2::254", "fec0::1", "2001:db8::1", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::1", "2001::1",
		"::ffff:10.0.0.5", "0.0.0.0", "::",
	}
	namespace.Own(t, outside)
	for _, a := range inside {
		if addr := netip.MustParseAddr(a); !addr.IsLoopback() && !addr.IsUnspecified() && !addr.Is4In6() {
			namespace.Own(t, a)
		}
	}
	pc, err := net.ListenPacket("udp", "[::]:0")
	if err != nil {
		t.Skip("no IPv6 here:", err)
	}
	var heard atomic.Int64
	const mark = "all that was sent before has arrived"
	marked, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 2048)
		for {
			n, _, err := pc.ReadFrom(buf)
			switch {
			case err != nil:
				return
			case string(buf[:n]) == mark:
				marked <- struct{}{}
			default:
				heard.Add(1)
			}
		}
	}()
	t.Cleanup(func() {
		pc.Close()
		<-done
	})
	_, udpPort, _ := net.SplitHostPort(pc.LocalAddr().String())
	// arrived returns the number of packets since its last call.
	arrived := func() int64 {
		t.Helper()
		nc, err := net.Dial("udp", net.JoinHostPort("127.0.0.1", udpPort))
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		if _, err := nc.Write([]byte(mark)); err != nil {
			t.Fatal(err)
		}
		<-marked
		return heard.Swap(0)
	}

	s := rdaptest.Start(t, rdaptest.Config{Addr: outside + ":0", Names: []string{named}})
	_, port, _ := net.SplitHostPort(s.Addr())
	origin := "https://" + net.JoinHostPort(named, port)
	ask := func(host string, addr netip.Addr, local, guarded bool) {
		t.Helper()
		origins, err := pool.OpenOriginFile(filepath.Join(t.TempDir(), "hosts.json"))
		if err != nil {
			t.Fatal(err)
		}
		origins.Update(origin, func(f *pool.OriginInfo) {
			f.H3, f.H3Until, f.H3Local = net.JoinHostPort(host, udpPort), time.Now().Add(time.Hour), local
		})
		p := newPool(t, s, pool.Config{Protocols: autoH3, HeadStart: 50 * time.Millisecond, Origins: origins})
		defer p.Close()
		p.SetLookup(func(_ context.Context, _, name string) ([]netip.Addr, error) {
			if name == named {
				return []netip.Addr{netip.MustParseAddr(outside)}, nil
			}
			return []netip.Addr{addr}, nil
		})
		ctx := t.Context()
		if guarded {
			ctx = pool.WithGuard(ctx)
		}
		if a, err := get(ctx, p, origin+"/domain/a.example"); err != nil || a.trace.Protocol != "h2" {
			t.Errorf("%s: over %s, %v", host, a.trace.Protocol, err)
		}
	}
	for _, a := range inside {
		for _, host := range []string{a, "alt.example"} {
			for _, guarded := range []bool{false, true} {
				ask(host, netip.MustParseAddr(a), false, guarded)
				ask(host, netip.MustParseAddr(a), true, true)
			}
		}
		if n := arrived(); n != 0 {
			t.Errorf("%s: %d packets", a, n)
		}
		ask("alt.example", netip.MustParseAddr(a), true, false)
		n := arrived()
		for end := time.Now().Add(10 * time.Second); n == 0 && time.Now().Before(end); n = arrived() {
			time.Sleep(time.Millisecond) // wait until the packet is counted
		}
		if n == 0 {
			t.Errorf("%s: no packet gets there without the guard either", a)
		}
	}
}
