package pool_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

const named = "rdap.example"

// unusedPort is a port without a listener. It is assigned, but not used in practice.
const unusedPort = "1"

// startNamed starts a server with a name, and returns the port.
func startNamed(t *testing.T, c rdaptest.Config) (*rdaptest.Server, string) {
	t.Helper()
	c.Names = append(c.Names, named)
	s := rdaptest.Start(t, c)
	_, port, err := net.SplitHostPort(s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	return s, port
}

// resolve returns a Config.Resolve with the addresses of the named server.
func resolve(port string, addrs ...string) map[string][]netip.Addr {
	var all []netip.Addr
	for _, a := range addrs {
		all = append(all, netip.MustParseAddr(a))
	}
	return map[string][]netip.Addr{net.JoinHostPort(named, port): all}
}

func namedURL(port string, n int) string {
	return fmt.Sprintf("https://%s/domain/dom%d.example", net.JoinHostPort(named, port), n)
}

// A blackHoleDialer is a net.Dialer for which the address 100::1 is silent.
type blackHoleDialer struct {
	dials, cancelled atomic.Int64
	lateConns        chan net.Conn // if not nil, receives the result of late dials

	mu    sync.Mutex
	order []string // addresses in the order in which they were dialed
}

func (b *blackHoleDialer) dialed() (order []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	order, b.order = b.order, nil
	return order
}

func (b *blackHoleDialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	b.mu.Lock()
	b.order = append(b.order, address)
	b.mu.Unlock()
	if !strings.HasPrefix(address, "[100::1]") {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	b.dials.Add(1)
	<-ctx.Done()
	b.cancelled.Add(1)
	if b.lateConns != nil {
		return <-b.lateConns, nil
	}
	return nil, ctx.Err()
}

func TestDeadAddressIsSkipped(t *testing.T) {
	s, port := startNamed(t, rdaptest.Config{})
	var hole blackHoleDialer
	p := newPool(t, s, pool.Config{Dial: hole.dial, NoReuse: true, Resolve: resolve(port, "100::1", "127.0.0.1")})
	dead, alive := "[100::1]:"+port, "127.0.0.1:"+port
	for i := range 3 {
		a, err := get(t.Context(), p, namedURL(port, i))
		if err != nil {
			t.Fatal(err)
		}
		if a.trace.RemoteAddr != alive {
			t.Errorf("answered by %s", a.trace.RemoteAddr)
		}
		// The first connection waits once for the dead address.
		const lost = 250 * time.Millisecond
		if a.trace.DNS != 0 || a.trace.TCP <= 0 || i == 0 && a.trace.TCP < lost {
			t.Errorf("trace: %v for DNS, %v for TCP of which %v were lost", a.trace.DNS, a.trace.TCP, lost)
		}
		// A dead address is not tried first again.
		want := alive
		if i == 0 {
			want = dead
		}
		if order := hole.dialed(); order[0] != want {
			t.Errorf("connection %d: dialed %v, want %s first", i, order, want)
		}
	}
	if c := s.Counts(); c.Handshakes() != 3 || c.Requests != 3 {
		t.Errorf("server saw %d handshakes and %d requests, want 3 and 3", c.Handshakes(), c.Requests)
	}
}

func TestLosingDialIsClosed(t *testing.T) {
	s, port := startNamed(t, rdaptest.Config{})
	hole := blackHoleDialer{lateConns: make(chan net.Conn)}
	p := newPool(t, s, pool.Config{Dial: hole.dial, Resolve: resolve(port, "100::1", "127.0.0.1")})
	if _, err := get(t.Context(), p, namedURL(port, 1)); err != nil {
		t.Fatal(err)
	}
	ours, theirs := net.Pipe()
	hole.lateConns <- theirs // the dial succeeds although it was canceled
	if _, err := ours.Read(make([]byte, 1)); err == nil {
		t.Error("the other connection is used")
	}
	if n := hole.cancelled.Load(); n != 1 {
		t.Errorf("%d dials were cancelled, want 1", n)
	}
}

// A refused connection does not wait for the delay between addresses. With delays, the timeout
// would be too short for all addresses.
func TestAllAddressesFail(t *testing.T) {
	const port = unusedPort
	p, err := pool.New(pool.Config{Resolve: resolve(port, "127.0.0.1", "127.0.0.2", "127.0.0.3")})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_, err = get(t.Context(), p, namedURL(port, 1))
	e, ok := errors.AsType[*pool.Error](err)
	if !ok || e.Step != pool.StepConnect || e.Timeout() {
		t.Fatalf("got %v", err)
	}
	if _, ok := errors.AsType[*net.OpError](err); !ok {
		t.Errorf("the cause is hidden: %v", err)
	}
	for _, a := range []string{"127.0.0.1", "127.0.0.2", "127.0.0.3"} {
		if !strings.Contains(err.Error(), a) {
			t.Errorf("%q doesn't name %s", err, a)
		}
	}
}

func TestDeadAddressesTimeOut(t *testing.T) {
	var hole blackHoleDialer
	p, err := pool.New(pool.Config{
		Dial: hole.dial, ConnectTimeout: 50 * time.Millisecond, Resolve: resolve("443", "100::1"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_, err = get(t.Context(), p, namedURL("443", 1))
	if e, ok := errors.AsType[*pool.Error](err); !ok || e.Step != pool.StepConnect || !e.Timeout() {
		t.Errorf("got %v", err)
	}
}

func TestNetworkRestrictsAddresses(t *testing.T) {
	s, port := startNamed(t, rdaptest.Config{})
	var hole blackHoleDialer
	p := newPool(t, s, pool.Config{Dial: hole.dial, Network: "tcp4", Resolve: resolve(port, "100::1", "127.0.0.1")})
	if _, err := get(t.Context(), p, namedURL(port, 1)); err != nil {
		t.Fatal(err)
	}
	if n := hole.dials.Load(); n != 0 {
		t.Errorf("an IPv6 address was dialed %d times", n)
	}
	p = newPool(t, s, pool.Config{Network: "tcp6", Resolve: resolve(port, "127.0.0.1")})
	_, err := get(t.Context(), p, namedURL(port, 1))
	if e, ok := errors.AsType[*pool.Error](err); !ok || e.Step != pool.StepResolve {
		t.Errorf("tcp6 with an IPv4 address: %v", err)
	}
	if _, err := get(t.Context(), p, domain(s, 1)); err == nil {
		t.Error("tcp6 with an IPv4 literal got an answer")
	}
}

func TestLocalAddr(t *testing.T) {
	var mu sync.Mutex
	var from []string
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			from = append(from, nc.RemoteAddr().(*net.TCPAddr).IP.String())
			mu.Unlock()
			nc.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	p, err := pool.New(pool.Config{LocalAddr: netip.MustParseAddr("127.0.0.9"), Resolve: resolve(port, "100::1", "127.0.0.1")})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	// The listener closes immediately, during the handshake.
	_, err = get(t.Context(), p, namedURL(port, 1))
	if e, ok := errors.AsType[*pool.Error](err); ok && e.Step == pool.StepConnect && strings.Contains(err.Error(), "assign requested address") {
		t.Skip("the system has no other loopback address:", err)
	} else if !ok || e.Step != pool.StepHandshake {
		t.Fatalf("got %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(from) != 1 || from[0] != "127.0.0.9" {
		t.Errorf("connections from %v, want one from 127.0.0.9", from)
	}
}

func TestContradictoryConfig(t *testing.T) {
	dial := new(blackHoleDialer).dial
	for _, c := range []pool.Config{
		{Network: "udp"},
		{Network: "tcp6", LocalAddr: netip.MustParseAddr("127.0.0.1")},
		{Network: "tcp4", LocalAddr: netip.MustParseAddr("::1")},
		{LocalAddr: netip.MustParseAddr("::1"), Dial: dial},
		{FastOpen: true, Dial: dial},
	} {
		if p, err := pool.New(c); err == nil {
			p.Close()
			t.Errorf("New took %+v", c)
		}
	}
}
