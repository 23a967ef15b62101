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

// A carrier fetches files for resolvers that are given no client. The server
// that the user named is asked wherever it is, and so is the user's proxy; else
// connections are made to public addresses only, checked when they are dialed.
// The two kinds share none.
type carrier struct {
	own              string // origin that the user named; empty: none
	trusted, guarded *http.Transport
	proxy            func(*http.Request) (*url.URL, error)
}

// ownClient makes a client for a few small downloads a day, and what closes
// its idle connections. Named is the URL that the user named, if any.
func ownClient(named string, allowPrivate bool) (*http.Client, func()) {
	c := &carrier{trusted: newTransport(nil), guarded: newTransport(refusePrivate), proxy: http.ProxyFromEnvironment}
	c.trusted.Proxy = c.proxy
	if u, err := url.Parse(named); err == nil && named != "" {
		c.own = weburl.Origin(u)
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

// RoundTrip makes a request in the way that its URL deserves.
func (c *carrier) RoundTrip(req *http.Request) (*http.Response, error) {
	if weburl.Origin(req.URL) == c.own || c.guarded == c.trusted {
		return c.trusted.RoundTrip(req)
	}
	switch proxy, err := c.proxy(req); {
	case err != nil:
		return nil, err
	case proxy != nil:
		// It resolves names itself, so only addresses can be checked.
		if a, ok := publicaddr.OfHost(req.URL.Hostname()); !ok {
			return nil, errPrivate(a)
		}
		return c.trusted.RoundTrip(req)
	}
	return c.guarded.RoundTrip(req)
}

// refusePrivate is called with each address before it is connected to.
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

var _ http.RoundTripper = (*carrier)(nil)
