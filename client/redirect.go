package client

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/rdapq/rdapq/internal/auth"
	"github.com/rdapq/rdapq/internal/secret"
	"github.com/rdapq/rdapq/internal/weburl"
)

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// A redirectChain holds the redirects of one request (RFC 7480 section 5.2).
type redirectChain struct {
	max       int
	allowHTTP bool
	auth      *auth.Transport
	keys      *secret.Set // keys in the first URL, to be sent only to its origin
	urls      []string    // normalized, in the order of the requests; empty before the first redirect
}

func newRedirectChain(c *Client) *redirectChain {
	return &redirectChain{max: c.cfg.MaxRedirects, allowHTTP: c.cfg.AllowHTTP, auth: c.auth}
}

// next returns the URL that the response of from redirects to. It removes the fragment and user
// of the Location, so that no secret of one origin is sent to another, and adds no parameters.
func (t *redirectChain) next(from *url.URL, resp *http.Response) (*url.URL, *Error) {
	if len(t.urls) == 0 {
		t.urls = append(t.urls, weburl.Normalize(from))
		t.keys = secret.NewSet(secret.OfURL(from))
	}
	location := resp.Header.Get("Location")
	what := "redirect " + statusText(resp.StatusCode) + " of " + visible(weburl.Redact(from.String()))
	refuse := func(why, hint string) (*url.URL, *Error) {
		return nil, &Error{Code: CodeRedirect, Message: what + why, Hint: hint}
	}
	if location == "" {
		return refuse(" has no Location", "")
	}
	to, err := from.Parse(location)
	if err != nil {
		return refuse(" has a Location that is not a valid URL: "+quote(weburl.Redact(location)), "")
	}
	to.User, to.Fragment, to.RawFragment = nil, "", ""
	to.Scheme = strings.ToLower(to.Scheme)
	shown := visible(weburl.Redact(to.String()))
	switch {
	case to.Scheme != "https" && to.Scheme != "http" || to.Hostname() == "":
		return refuse(" not followed: "+shown+" is not an http or https URL", "")
	case to.Scheme == "http" && from.Scheme == "https" && !t.allowHTTP:
		return refuse(" from https to http not followed: "+shown, hintPlainHTTP)
	}
	if weburl.Origin(to) != weburl.Origin(from) && (t.keys.InURL(to) || t.auth.Leaks(to)) {
		return refuse(" not followed: it would send a credential to another server, "+visible(to.Host), "")
	}
	normal := weburl.Normalize(to)
	for i, seen := range t.urls {
		if seen == normal {
			return refuse(" is a loop: "+visible(strings.Join(append(t.urls[i:], normal), " → ")), "the server is misconfigured; its operator has to fix it")
		}
	}
	if len(t.urls) > t.max {
		return refuse(" to "+shown+" not followed: more than "+strconv.Itoa(t.max)+" redirects", "")
	}
	t.urls = append(t.urls, normal)
	return to, nil
}
