package client

import (
	"net/url"

	"github.com/rdapq/rdapq/internal/secret"
	"github.com/rdapq/rdapq/internal/weburl"
)

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
