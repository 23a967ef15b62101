package gate

import (
	"net/url"
	"slices"
	"strings"

	"github.com/rdapq/rdapq/internal/weburl"
)

// maxOriginsOfHost limits the origins of a host, such as http and https of one name, or the
// hosts of a group. If a host has more origins, its capacity is unknown.
const maxOriginsOfHost = 8

// addOrigin records the origin of u. The caller holds Hosts.mu.
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

// isOrigin reports whether text is the origin of u in the form of addOrigin.
func isOrigin(text string, u *url.URL) bool {
	scheme, host, ok := strings.Cut(text, "://")
	return ok && strings.EqualFold(scheme, u.Scheme) && (strings.EqualFold(host, u.Host) || host == weburl.Host(u))
}

// Capacity returns how many of demand requests the connections to h support at a time; 0
// means unknown. carried returns that number for one origin.
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
