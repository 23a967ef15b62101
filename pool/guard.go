package pool

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"

	"github.com/rdapq/rdapq/internal/publicaddr"
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

// Guarded returns a RoundTripper that sends every request over the Pool under
// [WithGuard]: for the transport of an [http.Client] whose URLs come from
// somebody other than the user, such as the download of IANA's registries.
// Closing the Pool is left to its owner.
func (p *Pool) Guarded() http.RoundTripper { return guardedPool{p} }

type guardedPool struct{ *Pool }

func (g guardedPool) RoundTrip(req *http.Request) (*http.Response, error) {
	return g.Pool.RoundTrip(req.WithContext(WithGuard(req.Context())))
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

// publicOnly leaves out what the guard refuses. The error says why nothing is left.
func (k originKey) publicOnly(addrs []netip.Addr) ([]netip.Addr, error) {
	if !k.guarded || len(addrs) == 0 {
		return addrs, nil
	}
	host, _ := k.firstHop()
	var ok []netip.Addr
	for _, a := range addrs {
		if publicaddr.Is(a) {
			ok = append(ok, a)
		}
	}
	if len(ok) == 0 {
		return nil, &AddressError{Host: host, Addr: addrs[0]}
	}
	return ok, nil
}

// checkLiteral refuses a host that is itself an address which the guard refuses.
func (k originKey) checkLiteral() error {
	if !k.guarded {
		return nil
	}
	if a, ok := publicaddr.OfHost(k.host); !ok {
		return &AddressError{Host: k.host, Addr: a}
	}
	return nil
}

// publicAddress is for an address with a port, as it stands in a [Trace].
func publicAddress(address string) bool {
	a, err := netip.ParseAddrPort(address)
	return err == nil && publicaddr.Is(a.Addr())
}
