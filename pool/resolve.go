package pool

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits of the cache of addresses. The system does not report how long a result is valid; a
// minute is safe for nearly all names.
const (
	maxNameAge = time.Minute
	maxNames   = 1024
	maxAddrs   = 32 // maximum number of addresses per name
)

// A resolver resolves host names. Results are cached for a minute, concurrent
// lookups of a name are coalesced, and failures are not cached.
type resolver struct {
	network   string // "ip", "ip4" or "ip6"
	lookup    func(ctx context.Context, network, host string) ([]netip.Addr, error)
	ipv4Delay time.Duration // time that lookUp waits before it accepts IPv4 alone

	mu    sync.Mutex
	fixed map[string][]netip.Addr // addresses from the configuration, by host and port
	cache map[string]*cachedName

	demoted demotions
}

// A cachedName is the result for a host. The resolver's mutex guards its fields.
type cachedName struct {
	done  chan struct{} // closed when the lookup has ended
	addrs []netip.Addr
	err   error
	at    time.Time // when the result came; zero while the lookup runs
}

func newResolver(c Config) *resolver {
	r := &resolver{
		network:   "ip",
		lookup:    net.DefaultResolver.LookupNetIP,
		ipv4Delay: min(time.Second, c.ConnectTimeout/4),
		fixed:     make(map[string][]netip.Addr, len(c.Resolve)),
		cache:     make(map[string]*cachedName),
	}
	switch {
	case c.Network == "tcp4", c.LocalAddr.Unmap().Is4():
		r.network = "ip4"
	case c.Network == "tcp6", c.LocalAddr.Is6():
		r.network = "ip6"
	}
	for address, addrs := range c.Resolve {
		r.fixed[strings.ToLower(address)] = r.usable(addrs)
	}
	return r
}

// addresses returns the addresses of a host in the order in which to try them, and how long the
// lookup took (0 if the result was cached). Callers must not modify the slice.
func (r *resolver) addresses(ctx context.Context, host, port string) ([]netip.Addr, time.Duration, error) {
	if addrs, ok := r.fixedAddrs(host, port); ok {
		if len(addrs) == 0 {
			return nil, 0, &net.AddrError{Err: "no suitable address", Addr: host}
		}
		return addrs, 0, nil
	}
	start := time.Now()
	for {
		n, first := r.name(host)
		if first {
			addrs, err := r.lookUp(ctx, host)
			r.storeResult(ctx, host, n, addrs, err)
		}
		select {
		case <-n.done:
		default:
			select {
			case <-n.done:
			case <-ctx.Done():
				return nil, 0, context.Cause(ctx)
			}
		}
		r.mu.Lock()
		addrs, err, known := n.addrs, n.err, n.at.Before(start)
		r.mu.Unlock()
		switch {
		case err == nil && known:
			return addrs, 0, nil
		case err == nil:
			return addrs, time.Since(start), nil
		case ctx.Err() != nil:
			return nil, 0, context.Cause(ctx)
		case !errors.Is(err, errAbandoned):
			return nil, 0, err
		}
	}
}

// lookUp resolves a host name. The system waits for the addresses of both families, but some
// name servers never answer queries for IPv6. Therefore lookUp accepts IPv4 alone after
// ipv4Delay (see RFC 8305 section 3).
func (r *resolver) lookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	if r.network != "ip" {
		return r.lookup(ctx, r.network, host)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		addrs []netip.Addr
		err   error
	}
	both, four := make(chan answer, 1), make(chan answer, 1)
	look := func(network string, to chan<- answer) {
		addrs, err := r.lookup(ctx, network, host)
		to <- answer{addrs, err}
	}
	go look("ip", both)
	slow := time.NewTimer(r.ipv4Delay)
	defer slow.Stop()
	for {
		select {
		case a := <-both:
			return a.addrs, a.err
		case <-slow.C:
			go look("ip4", four)
		case a := <-four:
			if a.err == nil {
				return a.addrs, nil
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// errAbandoned is the error of a lookup whose caller canceled it. Another caller repeats
// the lookup.
var errAbandoned = errors.New("pool: lookup abandoned")

// fixedAddrs returns the addresses of a host that needs no lookup.
func (r *resolver) fixedAddrs(host, port string) ([]netip.Addr, bool) {
	r.mu.Lock()
	addrs, ok := r.fixed[net.JoinHostPort(host, port)]
	r.mu.Unlock()
	if ok {
		return addrs, true
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return r.usable([]netip.Addr{a}), true
	}
	return nil, false
}

// name returns the cache entry of a host. first reports whether the caller has to
// look it up.
func (r *resolver) name(host string) (n *cachedName, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n = r.cache[host]; n != nil && (n.at.IsZero() || sinceWallClock(n.at) < maxNameAge) {
		return n, false
	}
	if len(r.cache) >= maxNames {
		r.evict()
	}
	n = &cachedName{done: make(chan struct{})}
	r.cache[host] = n
	return n, true
}

func (r *resolver) storeResult(ctx context.Context, host string, n *cachedName, addrs []netip.Addr, err error) {
	addrs = r.usable(addrs)
	switch {
	case err != nil && ctx.Err() != nil:
		err = errAbandoned
	case err == nil && len(addrs) == 0:
		err = &net.DNSError{Err: "no suitable address", Name: host, IsNotFound: true}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n.addrs, n.err, n.at = addrs, err, time.Now()
	if err != nil && r.cache[host] == n {
		delete(r.cache, host)
	}
	close(n.done)
}

// evict removes expired results, and the oldest quarter if too many remain. Removing them one
// at a time would scan all results for each new host.
func (r *resolver) evict() {
	oldest := make([]string, 0, len(r.cache))
	now := time.Now().Round(0)
	for host, n := range r.cache {
		switch {
		case n.at.IsZero(): // skip hosts whose lookup is running
		case now.Sub(n.at.Round(0)) >= maxNameAge:
			delete(r.cache, host)
		default:
			oldest = append(oldest, host)
		}
	}
	if len(r.cache) < maxNames {
		return
	}
	slices.SortFunc(oldest, func(a, b string) int { return r.cache[a].at.Compare(r.cache[b].at) })
	for _, host := range oldest[:min(len(oldest), maxNames/4)] {
		delete(r.cache, host)
	}
}

// prefer moves the address that worked to the front, so that the next connection
// does not try dead addresses first.
func (r *resolver) prefer(host, port string, a netip.Addr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	move := func(addrs []netip.Addr) []netip.Addr {
		i := slices.Index(addrs, a)
		if i <= 0 {
			return addrs
		}
		moved := append(make([]netip.Addr, 0, len(addrs)), a)
		moved = append(moved, addrs[:i]...)
		return append(moved, addrs[i+1:]...)
	}
	if address := net.JoinHostPort(host, port); r.fixed[address] != nil {
		r.fixed[address] = move(r.fixed[address])
	} else if n := r.cache[host]; n != nil {
		n.addrs = move(n.addrs)
	}
}

// forget removes the result of a host if none of its addresses worked, because the addresses
// may have changed.
func (r *resolver) forget(host string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.cache[host]; n != nil && !n.at.IsZero() {
		delete(r.cache, host)
	}
}

// usable returns the addresses that may be dialed. It interleaves the families (RFC
// 8305 section 4), the family of the first address first.
func (r *resolver) usable(addrs []netip.Addr) []netip.Addr {
	var first, second []netip.Addr
	for _, a := range addrs {
		a = a.Unmap()
		if r.network == "ip4" && !a.Is4() || r.network == "ip6" && !a.Is6() {
			continue
		}
		if len(first) == 0 || first[0].Is4() == a.Is4() {
			first = append(first, a)
		} else {
			second = append(second, a)
		}
	}
	out := make([]netip.Addr, 0, len(first)+len(second))
	for i := range max(len(first), len(second)) {
		if i < len(first) {
			out = append(out, first[i])
		}
		if i < len(second) {
			out = append(out, second[i])
		}
	}
	return out[:min(len(out), maxAddrs)]
}
