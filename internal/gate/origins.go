package gate

import (
	"net/url"
	"slices"
	"strings"

	"github.com/rdapq/rdapq/internal/weburl"
)

// maxOriginsOfHost bounds the origins of a host whose capacity counts: http and
// https of one name, or the hosts of a group. With more, capacity is no bound.
const maxOriginsOfHost = 8

// addOrigin notes that requests to u count for h. The lock of hosts is held.
func (h *Host) addOrigin(u *url.URL) {
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

// capacity returns how many of demand requests the connections to h carry at a time,
// where carried says it of one origin; 0: unknown.
func (h *Host) Capacity(carried func(origin string, demand int) int, demand int) (n int) {
	origins := h.origins.Load()
	if carried == nil || origins == nil || len(*origins) > maxOriginsOfHost {
		return 0
	}
	for _, o := range *origins {
		n += carried(o, demand)
	}
	return max(n, 1)
}
