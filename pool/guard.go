package pool

import (
	"context"
	"fmt"
	"net/netip"
)

type guardKey struct{}

// WithGuard returns a context for requests that another server led to: a
// redirect, a link, an entry of a public registry. Under it RoundTrip connects
// to public addresses only, so that nobody can make the program ask what only
// its own machine or network can reach. The address is checked that is
// connected to, after name resolution. Such requests have connections of their
// own: none rides on one to an address that the user named.
//
// Addresses in [Config.Resolve] are the user's word. A proxy resolves names
// itself; only literal addresses are checked then. [Config.AllowPrivate] turns
// the guard off.
func WithGuard(ctx context.Context) context.Context {
	return context.WithValue(ctx, guardKey{}, true)
}

func guarded(ctx context.Context) bool { return ctx.Value(guardKey{}) != nil }

// An AddressError is the cause of an [Error] where the guard refused an
// address; see [WithGuard].
type AddressError struct {
	Host string
	Addr netip.Addr
}

func (e *AddressError) Error() string {
	if e.Host == e.Addr.String() {
		return fmt.Sprintf("%s is not a public address", e.Addr)
	}
	return fmt.Sprintf("%s is at %s, which is not a public address", e.Host, e.Addr)
}

// permit leaves out what the guard refuses. The error says why nothing is left.
func (k originKey) permit(addrs []netip.Addr) ([]netip.Addr, error) {
	if !k.guarded || len(addrs) == 0 {
		return addrs, nil
	}
	host, _ := k.firstHop()
	var ok []netip.Addr
	for _, a := range addrs {
		if public(a) {
			ok = append(ok, a)
		}
	}
	if len(ok) == 0 {
		return nil, &AddressError{Host: host, Addr: addrs[0]}
	}
	return ok, nil
}

// literal refuses a host that is itself an address which the guard refuses.
func (k originKey) literal() error {
	if !k.guarded {
		return nil
	}
	if a, err := netip.ParseAddr(k.host); err == nil && !public(a) {
		return &AddressError{Host: k.host, Addr: a}
	}
	return nil
}

// public reports whether an address is one that anybody may lead us to: a
// unicast address that is globally reachable by the registries of special
// addresses (RFC 6890), also where it stands inside one of IPv6.
func public(a netip.Addr) bool {
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
		return public(netip.AddrFrom4([4]byte(b[12:16])))
	case sixToFour.Contains(a):
		return public(netip.AddrFrom4([4]byte(b[2:6])))
	}
	return true
}

// publicAddress is public for an address with a port, as it stands in a [Trace].
func publicAddress(address string) bool {
	a, err := netip.ParseAddrPort(address)
	return err == nil && public(a.Addr())
}

var (
	nat64     = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052
	sixToFour = netip.MustParsePrefix("2002::/16")    // RFC 3056

	// special are not globally reachable, and not known to netip as such.
	special = []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"),
		netip.MustParsePrefix("100.64.0.0/10"), // shared by carriers; metadata of some clouds
		netip.MustParsePrefix("192.0.0.0/24"),
		netip.MustParsePrefix("192.0.2.0/24"),
		netip.MustParsePrefix("198.18.0.0/15"),
		netip.MustParsePrefix("198.51.100.0/24"),
		netip.MustParsePrefix("203.0.113.0/24"),
		netip.MustParsePrefix("240.0.0.0/4"),
		netip.MustParsePrefix("::/96"),          // IPv4-compatible
		netip.MustParsePrefix("64:ff9b:1::/48"), // NAT64 of a local network
		netip.MustParsePrefix("100::/64"),
		netip.MustParsePrefix("2001::/23"), // Teredo and other protocols
		netip.MustParsePrefix("2001:db8::/32"),
		netip.MustParsePrefix("3fff::/20"),
		netip.MustParsePrefix("5f00::/16"),
		netip.MustParsePrefix("fec0::/10"),
	}
)
