package client

import (
	"net/url"
	"slices"
	"strings"

	"github.com/rdapq/rdapq/internal/weburl"
)

// A capacityReporter is a transport that knows how many requests to an origin it carries
// at a time; see [pool.Pool.Capacity].
type capacityReporter interface {
	Capacity(origin string, demand int) int
}

// maxOriginsOfHost bounds the origins of a host whose capacity counts: http and
// https of one name, or the hosts of a group. With more, capacity is no bound.
const maxOriginsOfHost = 8

// addOrigin notes that requests to u count for h. The lock of hosts is held.
func (h *host) addOrigin(u *url.URL) {
	old := h.origins.Load()
	if old != nil && (len(*old) > maxOriginsOfHost || slices.ContainsFunc(*old, func(o string) bool { return isOrigin(o, u) })) {
		return
	}
	var list []string
	if old != nil {
		list = append(list, *old...)
	}
	list = append(list, strings.ToLower(u.Scheme)+"://"+weburl.Host(u))
	h.origins.Store(&list)
}

// isOrigin reports whether text is the origin of u, as addOrigin writes it.
func isOrigin(text string, u *url.URL) bool {
	scheme, host, ok := strings.Cut(text, "://")
	return ok && strings.EqualFold(scheme, u.Scheme) && (strings.EqualFold(host, u.Host) || host == weburl.Host(u))
}

// limitOf is how many lookups may be under way at l: what its host may be sent at a
// time, and no more than its connections carry.
func (q *queue) limitOf(l *hostQueue) int {
	n := l.host.adaptive.limit()
	if l.inFlight >= n {
		return n
	}
	if carried := l.host.capacity(q.capacity, q.demand(l)); carried > 0 {
		return min(n, carried)
	}
	return n
}

// capacity is how many of so many requests to h its connections carry at a time; 0:
// not known.
func (h *host) capacity(c capacityReporter, demand int) (n int) {
	origins := h.origins.Load()
	if c == nil || origins == nil || len(*origins) > maxOriginsOfHost {
		return 0
	}
	for _, o := range *origins {
		n += c.Capacity(o, demand)
	}
	return max(n, 1)
}

// demand is how many lookups of l would be under way if its connections were no
// bound.
func (q *queue) demand(l *hostQueue) int {
	return int(min(int64(l.inFlight)+l.waiting(), int64(l.host.adaptive.limit()), int64(q.maxWorkers)))
}

func (c *Client) capacityReporter() capacityReporter {
	k, _ := c.cfg.Transport.(capacityReporter)
	return k
}
