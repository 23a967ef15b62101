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

// Bounds of what is kept of the answers to name look-ups. The resolver doesn't
// say how long an answer may be kept; for a minute hardly any may not.
const (
	maxNameAge = time.Minute
	maxNames   = 1024
	maxAddrs   = 32 // of a name
)

// A resolver finds the addresses of hosts. Answers are kept for a minute and
// those who ask for one name at the same time share one look-up; failures are
// not kept.
type resolver struct {
	network   string // "ip", "ip4" or "ip6"
	lookup    func(ctx context.Context, network, host string) ([]netip.Addr, error)
	ipv4Delay time.Duration // before ask is content with less

	mu    sync.Mutex
	fixed map[string][]netip.Addr // by host and port, from the configuration
	cache map[string]*cachedName

	demoted demotions
}

// A cachedName is what is known of a host. Its fields are guarded by the resolver's
// mutex.
type cachedName struct {
	done  chan struct{} // closed when the look-up is over
	addrs []netip.Addr
	err   error
	at    time.Time // when the answer came; zero before that
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

// addresses returns the addresses of a host in the order in which to try them,
// and the time that finding them took: none if they were known. The slice must
// not be changed.
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

// lookUp looks a host up. The system answers when it knows the addresses of both
// families, and some name servers never answer a question for IPv6: if it takes
// long, IPv4 alone will do (after RFC 8305 section 3).
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

// errAbandoned marks a look-up whose caller has gone. Another one's turn.
var errAbandoned = errors.New("pool: look-up given up")

// fixedAddrs returns the addresses of a host for which nobody need be asked.
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

// cachedName returns the entry of a host; the first to need it does the look-up.
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

// evict makes room: it drops what is too old, and the oldest quarter of the answers
// if that is not enough. One at a time would look at all of them for each new host.
func (r *resolver) evict() {
	oldest := make([]string, 0, len(r.cache))
	now := time.Now().Round(0)
	for host, n := range r.cache {
		switch {
		case n.at.IsZero(): // under way
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

// prefer puts the address that has just worked in front, so that the next
// connection need not find out again which of them are dead.
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

// forget drops what is known of a host none of whose addresses worked: they
// may have changed.
func (r *resolver) forget(host string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.cache[host]; n != nil && !n.at.IsZero() {
		delete(r.cache, host)
	}
}

// usable returns the addresses of the families that may be dialed, those of
// both in turn (RFC 8305 section 4), beginning with the first one's.
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
