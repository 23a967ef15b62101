package bootstrap

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"github.com/rdapq/rdapq/internal/publicaddr"
	"github.com/rdapq/rdapq/internal/weburl"
)

// A transport downloads files for resolvers without a client. It connects only to public
// addresses, to the server that the user specified, and to the user's proxy. It checks
// addresses when it dials. Guarded and other requests share no connections.
type transport struct {
	userOrigin       string // origin that the user specified; empty means none
	trusted, guarded *http.Transport
	proxy            func(*http.Request) (*url.URL, error)
}

// ownClient returns a client for a few small downloads per day, and a function that
// closes its idle connections. named is the URL that the user specified, or empty.
func ownClient(named string, allowPrivate bool) (*http.Client, func()) {
	c := &transport{trusted: newTransport(nil), guarded: newTransport(refusePrivate), proxy: http.ProxyFromEnvironment}
	c.trusted.Proxy = c.proxy
	if u, err := url.Parse(named); err == nil && named != "" {
		c.userOrigin = weburl.Origin(u)
	}
	if allowPrivate {
		c.guarded = c.trusted
	}
	return &http.Client{Transport: c}, func() {
		c.trusted.CloseIdleConnections()
		c.guarded.CloseIdleConnections()
	}
}

func newTransport(control func(network, address string, c syscall.RawConn) error) *http.Transport {
	return &http.Transport{
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second, Control: control}).DialContext,
		TLSHandshakeTimeout:   5 * time.Second,
		ResponseHeaderTimeout: 10 * time.Second,
		IdleConnTimeout:       5 * time.Second,
		ForceAttemptHTTP2:     true,
	}
}

// RoundTrip sends a request with the transport that its URL permits.
func (c *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if weburl.Origin(req.URL) == c.userOrigin || c.guarded == c.trusted {
		return c.trusted.RoundTrip(req)
	}
	switch proxy, err := c.proxy(req); {
	case err != nil:
		return nil, err
	case proxy != nil:
		// The proxy resolves names, so only literal addresses can be checked.
		if a, ok := publicaddr.OfHost(req.URL.Hostname()); !ok {
			return nil, errPrivate(a)
		}
		return c.trusted.RoundTrip(req)
	}
	return c.guarded.RoundTrip(req)
}

// refusePrivate is a net.Dialer's Control function, which returns an error for private
// addresses.
func refusePrivate(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if !publicaddr.Is(ap.Addr()) {
		return errPrivate(ap.Addr())
	}
	return nil
}

func errPrivate(a netip.Addr) error { return fmt.Errorf("%s is not a public address", a) }

var _ http.RoundTripper = (*transport)(nil)
