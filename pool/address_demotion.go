package pool

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Limits of the stored failures of addresses.
const (
	demotedFor = 10 * time.Minute
	maxDemoted = 4096
)

// demotions holds addresses that failed before their first useful response. Such addresses are
// tried last for a while.
type demotions struct {
	mu    sync.Mutex
	until map[string]time.Time // expiry by host, port and address
}

func demotionKey(host, port string, a netip.Addr) string {
	return net.JoinHostPort(host, port) + " " + a.String()
}

func (r *resolver) demote(host, port string, a netip.Addr) {
	d := &r.demoted
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.until == nil {
		d.until = make(map[string]time.Time)
	}
	if len(d.until) >= maxDemoted {
		now := time.Now()
		for k, t := range d.until {
			if now.After(t) || len(d.until) >= maxDemoted {
				delete(d.until, k) // delete any entry: a lost one costs one failed attempt
			}
		}
	}
	d.until[demotionKey(host, port, a)] = time.Now().Round(0).Add(demotedFor)
}

func (r *resolver) restore(host, port string, a netip.Addr) {
	d := &r.demoted
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.until) > 0 {
		delete(d.until, demotionKey(host, port, a))
	}
}

// order returns addrs, with addresses in avoid and addresses that failed recently at the
// end.
func (r *resolver) order(host, port string, addrs, avoid []netip.Addr) []netip.Addr {
	if len(addrs) < 2 {
		return addrs
	}
	d := &r.demoted
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.until) == 0 && len(avoid) == 0 {
		return addrs
	}
	now := time.Now().Round(0)
	rank := func(a netip.Addr) int {
		n := 0
		if slices.Contains(avoid, a) {
			n += 2
		}
		if now.Before(d.until[demotionKey(host, port, a)]) {
			n++
		}
		return n
	}
	sorted := slices.Clone(addrs)
	slices.SortStableFunc(sorted, func(a, b netip.Addr) int { return rank(a) - rank(b) })
	return sorted
}
