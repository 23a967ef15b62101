package client

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/pool"
)

// trusts reports whether a request to u may go to any address. Servers that the user specified
// may have any address: in Query.Server, a URL, overrides or a table of registrars. So may URLs
// that such a server refers to, if it is inside the user's own network. All other URLs, from a
// bootstrap registry or a response, are restricted to public addresses; see [pool.WithGuard].
func (a *attempt) trusts(u *url.URL) bool {
	t := a.task
	if !a.redirected && t.walk == nil && t.search == nil {
		return isUserSource(t.servers.Source) // here, u is at one of these servers
	}
	home, from := t.servers, t.result
	if ch := t.walk; ch != nil {
		if isUserSource(home.Source) && sameOrigin(home.URLs[0], u) {
			return true
		}
		if home = ch.origin; !a.redirected {
			from = ch.current.from
		}
	}
	if !isUserSource(home.Source) {
		return false
	}
	if sameOrigin(home.URLs[min(t.server, len(home.URLs)-1)], u) {
		return true
	}
	at, err := url.Parse(from.FinalURL)
	return err == nil && isInside(at, from.Conn.RemoteAddr)
}

// notPublic sets the error of a request to a private or local address that a server or a
// bootstrap registry referred to.
func (a *attempt) notPublic(e *Error, host string, cause *pool.AddressError) {
	who := "a server referred to "
	if !a.redirected && a.task.walk == nil {
		who = "the bootstrap registry lists "
	}
	e.Code = CodeNotPublic
	e.Message = who + host + ", which is not queried: " + visible(cause.Error())
	e.Hint = "to query this server anyway, specify it explicitly"
}

// isUserSource reports whether the user specified a server.
func isUserSource(s bootstrap.Source) bool {
	return s == bootstrap.SourceServer || s == bootstrap.SourceOverride
}

// sameOrigin reports whether u is at the server with the given base URL.
func sameOrigin(base string, u *url.URL) bool {
	b, err := url.Parse(base)
	return err == nil && strings.EqualFold(b.Scheme, u.Scheme) && weburl.Host(b) == weburl.Host(u)
}

// isInside reports whether peer, the remote address of a connection to the server at u, is
// in the user's own network. The address of a proxy does not count: its port differs.
func isInside(u *url.URL, peer string) bool {
	a, err := netip.ParseAddrPort(peer)
	if err != nil {
		return false
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	ip := a.Addr().Unmap()
	return port == peer[strings.LastIndexByte(peer, ':')+1:] &&
		(ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast())
}
