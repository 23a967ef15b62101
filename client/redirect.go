package client

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

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

// A trail is the chain of redirects of one request (RFC 7480 section 5.2).
type redirectChain struct {
	max       int
	allowHTTP bool
	secrets   *secretsByOrigin
	keys      *secret.Set // of the URL asked first, which are for its origin alone
	urls      []string    // in normal spelling, the one asked first in front; empty before the first redirect
}

func newRedirectChain(cfg *Config) *redirectChain {
	return &redirectChain{max: cfg.MaxRedirects, allowHTTP: cfg.AllowHTTP, secrets: cfg.secrets}
}

// next returns where resp, the answer of from, says to go. The Location is used
// as it stands but for its fragment and any user in it: nothing that was meant
// for one origin goes to another, and no parameters are added.
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
		return refuse(" leads to what is no URL: "+quote(weburl.Redact(location)), "")
	}
	to.User, to.Fragment, to.RawFragment = nil, "", ""
	to.Scheme = strings.ToLower(to.Scheme)
	shown := visible(weburl.Redact(to.String()))
	switch {
	case to.Scheme != "https" && to.Scheme != "http" || to.Hostname() == "":
		return refuse(" leads to "+shown+", which is not on the web", "")
	case to.Scheme == "http" && from.Scheme == "https" && !t.allowHTTP:
		return refuse(" leads from https to http and is not followed: "+shown, "allow http if an answer that anybody on the way may change is of use")
	}
	if weburl.Origin(to) != weburl.Origin(from) && (t.keys.InURL(to) || t.secrets.leak(to)) {
		return refuse(" leads to another server, "+visible(to.Host)+", with a credential that is not for it, and is not followed", "")
	}
	normal := weburl.Normalize(to)
	for i, seen := range t.urls {
		if seen == normal {
			return refuse(" closes a loop: "+visible(strings.Join(append(t.urls[i:], normal), " → ")), "the server is misconfigured, and only its operator can change that")
		}
	}
	if len(t.urls) > t.max {
		return refuse(" is one more than the "+strconv.Itoa(t.max)+" that are followed, to "+shown, "")
	}
	t.urls = append(t.urls, normal)
	return to, nil
}
