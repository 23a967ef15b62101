package client

import (
	"net/url"
	"strings"
	"sync/atomic"
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
