// Package publicaddr distinguishes public addresses from addresses that only this machine or
// its network can reach. Servers must not direct a client to addresses of the second kind. It
// does not deal with requests or connections.
package publicaddr

import "net/netip"

// Is reports whether an address is a globally reachable unicast address according to
// the registries of special addresses (RFC 6890). It also checks IPv4 addresses
// embedded in IPv6. The zero Addr is not public.
func Is(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	b := a.As16()
	switch {
	case a.Is4():
		return true
	case nat64.Contains(a):
		return Is(netip.AddrFrom4([4]byte(b[12:16])))
	case sixToFour.Contains(a):
		return Is(netip.AddrFrom4([4]byte(b[2:6])))
	}
	return true
}

// OfHost applies [Is] to the host of a URL. A host name counts as public, because its addresses
// are checked after name resolution.
func OfHost(host string) (a netip.Addr, public bool) {
	a, err := netip.ParseAddr(host)
	return a, err != nil || Is(a)
}

var (
	nat64     = netip.MustParsePrefix("64:ff9b::/96") // prefix of RFC 6052
	sixToFour = netip.MustParsePrefix("2002::/16")    // prefix of RFC 3056

	// special lists prefixes that are not globally reachable and that netip does not recognize.
	special = []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"),
		netip.MustParsePrefix("100.64.0.0/10"), // address space shared by carriers; metadata of some clouds
		netip.MustParsePrefix("192.0.0.0/24"),
		netip.MustParsePrefix("192.0.2.0/24"),
		netip.MustParsePrefix("198.18.0.0/15"),
		netip.MustParsePrefix("198.51.100.0/24"),
		netip.MustParsePrefix("203.0.113.0/24"),
		netip.MustParsePrefix("240.0.0.0/4"),
		netip.MustParsePrefix("::/96"),          // IPv4-compatible addresses
		netip.MustParsePrefix("64:ff9b:1::/48"), // NAT64 of a local network
		netip.MustParsePrefix("100::/64"),
		netip.MustParsePrefix("2001::/23"), // Teredo and other protocols
		netip.MustParsePrefix("2001:db8::/32"),
		netip.MustParsePrefix("3fff::/20"),
		netip.MustParsePrefix("5f00::/16"),
		netip.MustParsePrefix("fec0::/10"),
	}
)
