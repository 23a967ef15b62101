package pool

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func addrs(list ...string) []netip.Addr {
	var out []netip.Addr
	for _, s := range list {
		out = append(out, netip.MustParseAddr(s))
	}
	return out
}

// A countingLookup returns its result without delay and counts the calls.
type countingLookup struct {
	mu      sync.Mutex
	network []string
	hosts   map[string]int
	addrs   []netip.Addr
	err     error
}

func (a *countingLookup) lookup(_ context.Context, network, host string) ([]netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.hosts == nil {
		a.hosts = make(map[string]int)
	}
	a.hosts[host]++
	a.network = append(a.network, network)
	return a.addrs, a.err
}

func newCountingResolver(c Config, a *countingLookup) *resolver {
	r := newResolver(c.withDefaults())
	r.lookup = a.lookup
	return r
}

func TestResultsAreCachedForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &countingLookup{addrs: addrs("192.0.2.1")}
		r := newCountingResolver(Config{}, a)
		for i, wait := range []time.Duration{0, 30 * time.Second, 29 * time.Second, 2 * time.Second, time.Hour} {
			time.Sleep(wait)
			got, dns, err := r.addresses(t.Context(), "rdap.example", "443")
			if err != nil || !slices.Equal(got, a.addrs) || dns != 0 {
				t.Fatalf("step %d: %v, %v, %v", i, got, dns, err)
			}
			if want := []int{1, 1, 1, 2, 3}[i]; a.hosts["rdap.example"] != want {
				t.Errorf("step %d: %d look-ups, want %d", i, a.hosts["rdap.example"], want)
			}
		}
	})
}

func TestLookupsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lookups int
		r := newResolver(Config{}.withDefaults())
		r.lookup = func(ctx context.Context, _, _ string) ([]netip.Addr, error) {
			lookups++
			time.Sleep(time.Second / 2)
			return addrs("192.0.2.1"), nil
		}
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				got, dns, err := r.addresses(t.Context(), "rdap.example", "443")
				if err != nil || len(got) != 1 || dns != time.Second/2 {
					t.Errorf("%v, %v, %v, want an address after half a second", got, dns, err)
				}
			})
		}
		wg.Wait()
		if _, dns, _ := r.addresses(t.Context(), "rdap.example", "443"); dns != 0 {
			t.Errorf("a known answer took %v", dns)
		}
		if lookups != 1 {
			t.Errorf("%d look-ups, want 1", lookups)
		}
	})
}

// The caller that runs the shared lookup gives up, and another caller repeats the lookup.
func TestAbandonedLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lookups int
		r := newResolver(Config{}.withDefaults())
		r.lookup = func(ctx context.Context, _, host string) ([]netip.Addr, error) {
			lookups++
			select {
			case <-time.After(time.Second / 2):
				return addrs("192.0.2.1"), nil
			case <-ctx.Done():
				return nil, &net.DNSError{Err: "operation was canceled", Name: host}
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, _, err := r.addresses(ctx, "rdap.example", "443"); !errors.Is(err, context.Canceled) {
				t.Errorf("the one who gave up got %v", err)
			}
		})
		synctest.Wait()
		for range 5 {
			wg.Go(func() {
				if got, _, err := r.addresses(t.Context(), "rdap.example", "443"); err != nil || len(got) != 1 {
					t.Errorf("%v, %v", got, err)
				}
			})
		}
		synctest.Wait()
		cancel()
		wg.Wait()
		if lookups != 2 {
			t.Errorf("%d look-ups, want 2", lookups)
		}
	})
}

// A name server that never answers queries for IPv6 delays the connection by a
// second.
func TestNoIPv6Response(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, four := range map[string]error{
			"IPv4":    nil,
			"neither": &net.DNSError{Err: "server misbehaving", Name: "rdap.example", IsTemporary: true},
		} {
			r := newResolver(Config{}.withDefaults())
			r.lookup = func(ctx context.Context, network, _ string) ([]netip.Addr, error) {
				if network == "ip4" {
					return addrs("192.0.2.1"), four
				}
				<-ctx.Done()
				return nil, ctx.Err()
			}
			ctx, cancel := context.WithTimeout(t.Context(), DefaultConnectTimeout)
			got, dns, err := r.addresses(ctx, "rdap.example", "443")
			switch {
			case four == nil && (err != nil || !slices.Equal(got, addrs("192.0.2.1")) || dns != time.Second):
				t.Errorf("%s: %v after %v, %v", name, got, dns, err)
			case four != nil && !errors.Is(err, context.DeadlineExceeded):
				t.Errorf("%s: %v, %v", name, got, err)
			}
			cancel()
		}
	})
}

func TestFailedLookupsAreNotCached(t *testing.T) {
	a := &countingLookup{err: &net.DNSError{Err: "no such host", Name: "rdap.example", IsNotFound: true}}
	r := newCountingResolver(Config{}, a)
	for range 3 {
		if _, _, err := r.addresses(t.Context(), "rdap.example", "443"); !errors.Is(err, a.err) {
			t.Errorf("got %v", err)
		}
	}
	if a.hosts["rdap.example"] != 3 || len(r.cache) != 0 {
		t.Errorf("%d look-ups, %d names kept, want 3 and none", a.hosts["rdap.example"], len(r.cache))
	}
}

func TestNamesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &countingLookup{addrs: addrs("192.0.2.1")}
		r := newCountingResolver(Config{}, a)
		for i := range maxNames + 100 {
			time.Sleep(time.Millisecond)
			if _, _, err := r.addresses(t.Context(), fmt.Sprintf("h%d.example", i), "443"); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(r.cache); n > maxNames || n < maxNames*3/4 {
			t.Errorf("%d names kept, want %d at most and three quarters of that at least", n, maxNames)
		}
		if r.cache["h0.example"] != nil || r.cache[fmt.Sprintf("h%d.example", maxNames/4)] == nil {
			t.Error("it wasn't the oldest ones that made room")
		}
	})
}

func TestAddressOrder(t *testing.T) {
	many := make([]netip.Addr, 100)
	for i := range many {
		many[i] = netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})
	}
	for _, c := range []struct {
		config   Config
		in, want []netip.Addr
	}{
		{Config{}, addrs("2001:db8::1", "2001:db8::2", "2001:db8::3", "192.0.2.1"), addrs("2001:db8::1", "192.0.2.1", "2001:db8::2", "2001:db8::3")},
		{Config{}, addrs("192.0.2.1", "2001:db8::1", "192.0.2.2"), addrs("192.0.2.1", "2001:db8::1", "192.0.2.2")},
		{Config{Network: "tcp4"}, addrs("2001:db8::1", "::ffff:192.0.2.1"), addrs("192.0.2.1")},
		{Config{Network: "tcp6"}, addrs("192.0.2.1", "2001:db8::1"), addrs("2001:db8::1")},
		{Config{LocalAddr: netip.MustParseAddr("192.0.2.9")}, addrs("2001:db8::1", "192.0.2.1"), addrs("192.0.2.1")},
		{Config{LocalAddr: netip.MustParseAddr("2001:db8::9")}, addrs("2001:db8::1", "192.0.2.1"), addrs("2001:db8::1")},
		{Config{}, many, many[:maxAddrs]},
	} {
		a := &countingLookup{addrs: c.in}
		r := newCountingResolver(c.config, a)
		got, _, err := r.addresses(t.Context(), "rdap.example", "443")
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, %v, want %v", c.in, got, err, c.want)
		}
		want := map[string]string{"tcp4": "ip4", "tcp6": "ip6"}[c.config.Network]
		if want != "" && a.network[0] != want {
			t.Errorf("network %s, want %s", a.network[0], want)
		}
	}
	r := newCountingResolver(Config{Network: "tcp6"}, &countingLookup{addrs: addrs("192.0.2.1")})
	if got, _, err := r.addresses(t.Context(), "rdap.example", "443"); err == nil {
		t.Errorf("tcp6 got %v", got)
	}
}

func TestFixedAndLiteralAddresses(t *testing.T) {
	a := &countingLookup{addrs: addrs("192.0.2.1")}
	r := newCountingResolver(Config{Resolve: map[string][]netip.Addr{"rdap.example:8443": addrs("192.0.2.7", "2001:db8::7")}}, a)
	for _, c := range []struct {
		host, port, want string
	}{
		{"rdap.example", "8443", "192.0.2.7"},
		{"rdap.example", "443", "192.0.2.1"},
		{"192.0.2.33", "443", "192.0.2.33"},
		{"2001:db8::33", "443", "2001:db8::33"},
	} {
		got, _, err := r.addresses(t.Context(), c.host, c.port)
		if err != nil || got[0].String() != c.want {
			t.Errorf("%s:%s: %v, %v, want %s", c.host, c.port, got, err, c.want)
		}
	}
	if len(a.hosts) != 1 || a.hosts["rdap.example"] != 1 {
		t.Errorf("look-ups: %v", a.hosts)
	}
}

func TestWorkingAddressIsTriedFirst(t *testing.T) {
	list := addrs("2001:db8::1", "192.0.2.1", "2001:db8::2")
	a := &countingLookup{addrs: list}
	r := newCountingResolver(Config{Resolve: map[string][]netip.Addr{"fixed.example:443": list}}, a)
	for _, host := range []string{"rdap.example", "fixed.example"} {
		before, _, err := r.addresses(t.Context(), host, "443")
		if err != nil {
			t.Fatal(err)
		}
		r.prefer(host, "443", list[1])
		after, _, _ := r.addresses(t.Context(), host, "443")
		if !slices.Equal(before, list) || !slices.Equal(after, addrs("192.0.2.1", "2001:db8::1", "2001:db8::2")) {
			t.Errorf("%s: %v became %v", host, before, after)
		}
	}
	r.forget("rdap.example")
	if got, _, _ := r.addresses(t.Context(), "rdap.example", "443"); !slices.Equal(got, list) || a.hosts["rdap.example"] != 2 {
		t.Errorf("after forget: %v, %d look-ups", got, a.hosts["rdap.example"])
	}
}

func TestAttemptDelay(t *testing.T) {
	for _, c := range []struct {
		timeout time.Duration
		n       int
		want    time.Duration
	}{
		{10 * time.Second, 2, 250 * time.Millisecond},
		{200 * time.Millisecond, 2, 50 * time.Millisecond},
		{time.Second, 10, 50 * time.Millisecond},
		{20 * time.Millisecond, 4, 10 * time.Millisecond},
	} {
		if got := delayFor(c.timeout, c.n); got != c.want {
			t.Errorf("%v and %d addresses: %v, want %v", c.timeout, c.n, got, c.want)
		}
	}
}
