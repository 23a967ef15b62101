package client

import (
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/rdapq/rdapq/internal/secret"
)

// baseURL makes a base URL of the server that a user named: a bare host gets
// https, and a path its final slash.
func baseURL(server string) (string, *Error) {
	s := strings.TrimSpace(server)
	if !strings.Contains(s, "://") {
		s = "https://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || u.Fragment != "" {
		return "", invalid(server, "this is no URL of a server", "write https://rdap.example/")
	}
	u.Scheme = strings.ToLower(u.Scheme)
	if u.Scheme != "https" && u.Scheme != "http" {
		return "", invalid(server, "the server's URL has the scheme "+quote(u.Scheme), "write https://rdap.example/")
	}
	if !strings.HasSuffix(u.Path, "/") && u.RawQuery == "" {
		u = u.JoinPath("/")
	}
	return u.String(), nil
}

// A namedServer remembers the base URL of the server that a user named last,
// which all queries of a batch have in common.
type namedServer struct {
	last atomic.Pointer[named]
}

type named struct {
	server string
	urls   []string // one, not to be changed
}

func (n *namedServer) urls(server string) ([]string, *Error) {
	if last := n.last.Load(); last != nil && last.server == server {
		return last.urls, nil
	}
	base, err := baseURL(server)
	if err != nil {
		return nil, err
	}
	urls := []string{base}
	n.last.Store(&named{server, urls})
	return urls, nil
}

// redact returns a URL without what only its owner should see: user and
// password, and the values of query parameters that are named like keys.
func redact(s string) string {
	if !strings.ContainsAny(s, "?@") {
		return s
	}
	u, err := url.Parse(s)
	if err != nil {
		// It cannot be asked either, so nothing is lost with the rest.
		before, _, _ := strings.Cut(s, "?")
		return before[strings.LastIndexByte(before, '@')+1:]
	}
	return redactURL(u)
}

func redactURL(u *url.URL) string {
	if u.User == nil && u.RawQuery == "" {
		return u.String()
	}
	c := *u
	c.User = nil
	params := strings.Split(c.RawQuery, "&")
	for i, p := range params {
		if name, _, ok := strings.Cut(p, "="); ok && secret.IsKey(name) {
			params[i] = name + "=REDACTED"
		}
	}
	c.RawQuery = strings.Join(params, "&")
	return c.String()
}

// normalURL spells a URL so that two spellings of one place are the same: lower
// case scheme and host, no default port, no fragment, no user.
func normalURL(u *url.URL) string {
	c := *u
	c.Scheme = strings.ToLower(c.Scheme)
	c.Host = origin(u)
	c.User, c.Fragment, c.RawFragment = nil, "", ""
	if c.Path == "" {
		c.Path = "/"
	}
	return c.String()
}

// origin returns host and port in one spelling, without the scheme's default
// port.
func origin(u *url.URL) string {
	host := strings.ToLower(u.Host)
	switch strings.ToLower(u.Scheme) {
	case "https":
		host = strings.TrimSuffix(host, ":443")
	case "http":
		host = strings.TrimSuffix(host, ":80")
	}
	return strings.TrimSuffix(host, ":")
}
