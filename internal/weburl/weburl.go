// Package weburl compares http and https URLs and removes secrets from them.
package weburl

import (
	"net/url"
	"strings"

	"github.com/rdapq/rdapq/internal/secret"
)

// Host returns host and port of a URL in one spelling: in lower case, without the
// scheme's default port.
func Host(u *url.URL) string {
	host := strings.ToLower(u.Host)
	switch strings.ToLower(u.Scheme) {
	case "https":
		host = strings.TrimSuffix(host, ":443")
	case "http":
		host = strings.TrimSuffix(host, ":80")
	}
	return strings.TrimSuffix(host, ":")
}

// Origin returns scheme, host and port of a URL in one spelling:
// "https://rdap.example:8443".
func Origin(u *url.URL) string { return strings.ToLower(u.Scheme) + "://" + Host(u) }

// Normalize spells a URL so that two spellings of one resource are the same: lower-case scheme
// and host, no default port, no fragment, no user.
func Normalize(u *url.URL) string {
	c := *u
	c.Scheme = strings.ToLower(c.Scheme)
	c.Host = Host(u)
	c.User, c.Fragment, c.RawFragment = nil, "", ""
	if c.Path == "" {
		c.Path = "/"
	}
	return c.String()
}

// Redact returns the URL s without user name and password, and with the values of query
// parameters that are named like keys replaced. The rest is unchanged. If s is not a URL,
// Redact removes all parts that may be secret.
func Redact(s string) string {
	if strings.IndexByte(s, '?') < 0 && strings.IndexByte(s, '@') < 0 {
		return s
	}
	if _, err := url.Parse(s); err != nil {
		before, _, _ := strings.Cut(s, "?")
		return before[strings.LastIndexByte(before, '@')+1:]
	}
	s = withoutUser(s)
	head, query, ok := strings.Cut(s, "?")
	if !ok {
		return s
	}
	query, fragment, hasFragment := strings.Cut(query, "#")
	params := strings.Split(query, "&")
	for i, p := range params {
		if name, value, ok := strings.Cut(p, "="); ok && value != "" && secret.IsKey(name) {
			params[i] = name + "=" + secret.Replacement
		}
	}
	s = head + "?" + strings.Join(params, "&")
	if hasFragment {
		s += "#" + fragment
	}
	return s
}

// withoutUser removes the user information of a URL (RFC 3986 section 3.2.1).
func withoutUser(s string) string {
	before, rest, ok := strings.Cut(s, "//")
	if !ok {
		return s
	}
	authority := rest
	if i := strings.IndexAny(rest, `/?#\`); i >= 0 {
		authority = rest[:i]
	}
	return before + "//" + rest[strings.LastIndexByte(authority, '@')+1:]
}
