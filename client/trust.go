package client

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/internal/secret"
	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/pool"
)

// trusts reports whether a request to u goes wherever u is. What the user named
// does: with Query.Server or a URL, in overrides, in a table of registrars. Where
// that is inside the user's own network, so does what it leads to. Everything
// else was named by somebody else, a registry of servers or an answer, and gets
// to public addresses only: see [pool.WithGuard].
func (a *attempt) trusts(u *url.URL) bool {
	t := a.task
	if !a.redirected && t.walk == nil && t.search == nil {
		return isUserSource(t.servers.Source) // and u is one of theirs
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

// ledInside is the error of a request that a server, or a registry of servers,
// led to where only this machine or its network gets to.
func (a *attempt) notPublic(e *Error, host string, cause *pool.AddressError) {
	who := "a server led to "
	if !a.redirected && a.task.walk == nil {
		who = "the registry of servers names "
	}
	e.Code = CodeNotPublic
	e.Message = who + host + ", which is not asked: " + visible(cause.Error())
	e.Hint = "ask that server by its own name if it is meant"
}

// isOwn says that the user named a server, and nobody else.
func isUserSource(s bootstrap.Source) bool {
	return s == bootstrap.SourceServer || s == bootstrap.SourceOverride
}

// sameOrigin reports whether u is at the server with that base URL.
func sameOrigin(base string, u *url.URL) bool {
	b, err := url.Parse(base)
	return err == nil && strings.EqualFold(b.Scheme, u.Scheme) && weburl.Host(b) == weburl.Host(u)
}

// isInside reports whether a connection to the server at u, which the user
// named, went to an address of the user's own network: peer is its other end. A
// proxy is no such server, and listens elsewhere.
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

// secretsByOrigin are the secrets of the credentials by the origin that each is
// for. A nil one holds none.
type secretsByOrigin struct{ of map[string]*secret.Set }

func newSecretsByOrigin(credentials map[string]*Credential) *secretsByOrigin {
	s := &secretsByOrigin{of: make(map[string]*secret.Set)}
	for origin, c := range credentials {
		if set := secret.NewSet([]string{c.Secret}); set != nil {
			s.of[origin] = set
		}
	}
	if len(s.of) == 0 {
		return nil
	}
	return s
}

// leak reports whether a request for u would give its server a secret that is
// for another one: a server can put into the path of a redirect or of a link
// what it was sent itself.
func (s *secretsByOrigin) leak(u *url.URL) bool {
	if s == nil {
		return false
	}
	to := weburl.Origin(u)
	for origin, set := range s.of {
		if origin != to && set.InURL(u) {
			return true
		}
	}
	return false
}

// leaksTo reports whether following a link to u gives away a secret: one of the
// credentials, or a key in the URL of the server whose record has the link.
func (c *Client) leaksTo(t *task, u *url.URL) bool {
	if c.cfg.secrets.leak(u) {
		return true
	}
	for _, base := range t.walk.origin.URLs {
		from, err := url.Parse(base)
		if err == nil && weburl.Origin(from) != weburl.Origin(u) && secret.NewSet(secret.OfURL(from)).InURL(u) {
			return true
		}
	}
	return false
}
