package bootstrap

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// JoinURL appends a path such as "domain/example.com", which may have a query, to a base URL
// with or without a final slash (RFC 9224 section 3). The query of the base URL is appended to
// that of path. path must be escaped already.
func JoinURL(base, path string) string {
	base, _, _ = strings.Cut(base, "#")
	base, baseQuery, _ := strings.Cut(base, "?")
	path, query, _ := strings.Cut(path, "?")
	switch {
	case query == "":
		query = baseQuery
	case baseQuery != "":
		query += "&" + baseQuery
	}
	joined := strings.TrimRight(base, "/") + "/" + strings.TrimLeft(path, "/")
	if query != "" {
		joined += "?" + query
	}
	return joined
}

// baseURL validates a base URL and adds a final slash, unless the URL has a query.
func baseURL(text string) (canonical string, isHTTPS bool, err error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		// The cause repeats the text, which may contain a password.
		return "", false, errors.New("not a URL")
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return "", false, fmt.Errorf("not an https URL: %q", u.Redacted())
	case u.Hostname() == "":
		return "", false, fmt.Errorf("URL without a host: %q", u.Redacted())
	case u.User != nil:
		return "", false, fmt.Errorf("URL with a user name: %q", u.Redacted())
	case u.Fragment != "":
		return "", false, fmt.Errorf("URL with a fragment: %q", u.Redacted())
	}
	if u.RawQuery == "" && !strings.HasSuffix(u.Path, "/") {
		u = u.JoinPath("/")
	}
	return u.String(), u.Scheme == "https", nil
}

// isLoopback reports whether a URL is on this machine, where plain http crosses no
// network.
func isLoopback(u *url.URL) bool {
	if u.Hostname() == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(u.Hostname())
	return err == nil && a.Unmap().IsLoopback()
}
