package pool

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"

	"github.com/rdapq/rdapq/internal/publicaddr"
)

type guardKey struct{}

// WithGuard returns a context for requests whose URL is from another server: a redirect, a
// link, an entry of a public registry. With this context, RoundTrip connects to public
// addresses only. Thus no server can make the program query hosts that only its own machine or
// network can reach. The Pool checks the address when it connects, after name resolution.
// Guarded requests have connections of their own, and never reuse a connection to an address
// that the user specified.
//
// Addresses in [Config.Resolve] are always allowed. A proxy resolves names itself, so only
// literal addresses are checked. [Config.AllowPrivate] turns the guard off.
func WithGuard(ctx context.Context) context.Context {
	return context.WithValue(ctx, guardKey{}, true)
}

// Guarded returns a RoundTripper that sends every request over the Pool under [WithGuard]. It
// is the transport for an [http.Client] whose URLs are not from the user, such as for downloads
// of IANA's registries. Closing the Pool remains the task of its owner.
func (p *Pool) Guarded() http.RoundTripper { return guardedPool{p} }

type guardedPool struct{ *Pool }

func (g guardedPool) RoundTrip(req *http.Request) (*http.Response, error) {
	return g.Pool.RoundTrip(req.WithContext(WithGuard(req.Context())))
}

func guarded(ctx context.Context) bool { return ctx.Value(guardKey{}) != nil }

// An AddressError is the cause of an [Error] if the guard refused an address; see
// [WithGuard].
type AddressError struct {
	Host string     // host of the request
	Addr netip.Addr // refused address of the host
}

// Error returns the host and its address.
func (e *AddressError) Error() string {
	if e.Host == e.Addr.String() {
		return fmt.Sprintf("%s is not a public address", e.Addr)
	}
	return fmt.Sprintf("%s resolves to %s, which is not a public address", e.Host, e.Addr)
}

// publicOnly returns the addresses that the guard allows, or an [*AddressError] if it allows
// none.
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

// checkLiteral returns an error if the host is an address that the guard refuses.
func (k originKey) checkLiteral() error {
	if !k.guarded {
		return nil
	}
	if a, ok := publicaddr.OfHost(k.host); !ok {
		return &AddressError{Host: k.host, Addr: a}
	}
	return nil
}

// publicAddress reports whether an address with a port, as in a [Trace], is public.
func publicAddress(address string) bool {
	a, err := netip.ParseAddrPort(address)
	return err == nil && publicaddr.Is(a.Addr())
}
