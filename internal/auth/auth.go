// Package auth sends credentials to their servers, and keeps them secret from all others.
package auth

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/icholy/digest"

	"github.com/rdapq/rdapq/internal/secret"
	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/pool"
)

// Schemes of a [Credential] (RFC 7481 section 3.2).
const (
	Basic  = "basic"
	Digest = "digest"
	Bearer = "bearer"
	APIKey = "apikey" // parameter of the query string
	Header = "header" // a header field
)

// A Credential authenticates the client to one origin.
type Credential struct {
	Scheme string
	Name   string // basic, digest: the user; apikey: the query parameter; header: the field
	Secret string // the password, token or key
}

// A Source returns the credential for an origin, nil if it has none. The context is that of the
// request.
type Source func(ctx context.Context, origin string) (*Credential, error)

// A SourceError means that the Source returned an error, so that no request was sent.
type SourceError struct {
	Origin string
	Err    error // the error of the Source
}

func (e *SourceError) Error() string { return "no credential for " + e.Origin + ": " + e.Err.Error() }

// Unwrap returns the error of the Source.
func (e *SourceError) Unwrap() error { return e.Err }

// A Transport sends each origin its credential, and only over TLS. The methods StripKeys
// and Leaks may be called on a nil Transport, which has no credentials.
type Transport struct {
	base        http.RoundTripper
	credentials map[string]Credential
	source      Source // for origins without an entry in credentials; may be nil

	mu         sync.RWMutex
	challenges map[string]*challenge // digest challenges by origin
	secrets    map[string][]known    // secrets sent so far and those of credentials, by origin
}

// A known is a secret that must not be sent to another origin.
type known struct {
	secret string
	set    *secret.Set
	inURL  bool // the secret is sent in URLs
}

// maxKnown and maxOrigins limit the secrets of a Source that are remembered: of one origin, and
// the number of origins.
const (
	maxKnown   = 4
	maxOrigins = 1000
)

// New returns a Transport that sends requests over base, with credentials by their origins, or
// those of source. It is nil without either.
func New(base http.RoundTripper, credentials map[string]Credential, source Source) *Transport {
	if len(credentials) == 0 && source == nil {
		return nil
	}
	a := &Transport{
		base: base, credentials: credentials, source: source,
		secrets: make(map[string][]known), challenges: make(map[string]*challenge),
	}
	for origin, c := range credentials {
		a.remember(origin, c)
	}
	return a
}

// remember adds the secret of a credential to those that StripKeys and Leaks look for.
func (a *Transport) remember(origin string, c Credential) {
	if c.Secret == "" {
		return
	}
	one := known{secret: c.Secret, inURL: c.Scheme == APIKey}
	same := func(k known) bool { return k.secret == one.secret && k.inURL == one.inURL }
	a.mu.RLock()
	found := slices.ContainsFunc(a.secrets[origin], same)
	a.mu.RUnlock()
	if found {
		return
	}
	one.set = secret.NewSet([]string{c.Secret})
	a.mu.Lock()
	defer a.mu.Unlock()
	if slices.ContainsFunc(a.secrets[origin], same) {
		return // another request has added it
	}
	for other := range a.secrets {
		if _, fixed := a.credentials[other]; len(a.secrets) >= maxOrigins && !fixed {
			delete(a.secrets, other)
		}
	}
	list := append(a.secrets[origin], one)
	a.secrets[origin] = list[max(0, len(list)-maxKnown):]
}

// credentialFor returns the credential for a request to origin; ok is false without one.
func (a *Transport) credentialFor(req *http.Request, origin string) (c Credential, ok bool, err error) {
	if req.URL.Scheme != "https" {
		return c, false, nil
	}
	if c, ok = a.credentials[origin]; ok || a.source == nil {
		return c, ok, nil
	}
	got, err := a.source(req.Context(), origin)
	if err != nil {
		return c, false, &SourceError{origin, err}
	}
	if got == nil {
		return c, false, nil
	}
	a.remember(origin, *got)
	return *got, true, nil
}

// RoundTrip sends a request with the credential of its origin, and again if the credential
// requires a challenge. It first removes the keys of all origins from the URL.
func (a *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.RawQuery != "" {
		u := *req.URL
		u.RawQuery = strings.TrimPrefix(a.StripKeys("?"+u.RawQuery), "?")
		req = req.WithContext(req.Context()) // copy, so that the caller's request does not change
		req.URL = &u
	}
	origin := weburl.Origin(req.URL)
	c, ok, err := a.credentialFor(req, origin)
	if err != nil {
		return nil, err
	}
	if !ok {
		return a.base.RoundTrip(req)
	}
	// Early data can be replayed, so it must not contain a credential.
	req = req.Clone(pool.WithoutEarlyData(req.Context()))
	for again := false; ; again = true {
		if err := a.apply(req, origin, c); err != nil {
			return nil, err
		}
		resp, err := a.base.RoundTrip(req)
		if err != nil || again || c.Scheme != Digest || !a.noteChallenge(req, origin, resp) {
			return resp, err
		}
		resp.Body.Close()
	}
}

// Leaks reports whether a request for u would send a secret of another origin. A server can put
// a secret that it received into the path of a redirect or a link.
func (a *Transport) Leaks(u *url.URL) bool {
	if a == nil {
		return false
	}
	to := weburl.Origin(u)
	a.mu.RLock()
	defer a.mu.RUnlock()
	for origin, list := range a.secrets {
		if origin != to && slices.ContainsFunc(list, func(k known) bool { return k.set != nil && k.set.InURL(u) }) {
			return true
		}
	}
	return false
}

// A challenge is the last digest challenge of a server, with the number of times it was used.
type challenge struct {
	*digest.Challenge
	count int
}

// StripKeys removes the parameters with a key of the user from a URL. Many servers repeat the
// query of a request in redirects and links, also to other origins. RoundTrip adds the key
// again for its own origin.
func (a *Transport) StripKeys(link string) string {
	before, query, found := strings.Cut(link, "?")
	if a == nil || !found {
		return link
	}
	keys := a.keys()
	if len(keys) == 0 {
		return link
	}
	query, fragment, hasFragment := strings.Cut(query, "#")
	params := strings.Split(query, "&")
	kept := slices.DeleteFunc(params, func(param string) bool {
		_, value, _ := strings.Cut(param, "=")
		if plain, err := url.QueryUnescape(value); err == nil {
			value = plain
		}
		return slices.ContainsFunc(keys, func(key string) bool {
			return value == key || len(key) >= minEmbeddedKey && strings.Contains(value, key)
		})
	})
	if len(kept) > 0 {
		before += "?" + strings.Join(kept, "&")
	}
	if hasFragment {
		before += "#" + fragment
	}
	return before
}

// keys returns the secrets that are sent in URLs.
func (a *Transport) keys() []string {
	a.mu.RLock()
	defer a.mu.RUnlock()
	var keys []string
	for _, list := range a.secrets {
		for _, k := range list {
			if k.inURL {
				keys = append(keys, k.secret)
			}
		}
	}
	return keys
}

// minEmbeddedKey is the minimum length of a key to be searched for inside values.
const minEmbeddedKey = 8

// apply adds the credential c. Digest requires a challenge first.
func (a *Transport) apply(req *http.Request, origin string, c Credential) error {
	switch c.Scheme {
	case Basic:
		req.Header["Authorization"] = []string{"Basic " + base64.StdEncoding.EncodeToString([]byte(c.Name+":"+c.Secret))}
	case Bearer:
		req.Header["Authorization"] = []string{"Bearer " + c.Secret}
	case APIKey:
		u := *req.URL
		if u.RawQuery != "" {
			u.RawQuery += "&"
		}
		u.RawQuery += url.QueryEscape(c.Name) + "=" + url.QueryEscape(c.Secret)
		req.URL = &u
	case Header:
		req.Header[http.CanonicalHeaderKey(c.Name)] = []string{c.Secret}
	case Digest:
		return a.respond(req, origin, c)
	}
	return nil
}

func (a *Transport) respond(req *http.Request, origin string, c Credential) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	asked := a.challenges[origin]
	if asked == nil {
		return nil
	}
	asked.count++
	answer, err := digest.Digest(asked.Challenge, digest.Options{
		Method: req.Method, URI: req.URL.RequestURI(), Count: asked.count, Username: c.Name, Password: c.Secret,
	})
	if err != nil {
		return fmt.Errorf("digest authentication: %w", err)
	}
	req.Header["Authorization"] = []string{answer.String()}
	return nil
}

// noteChallenge stores the challenge of a 401. It reports whether to send the request again,
// because a digest credential had no challenge so far, or an expired one.
func (a *Transport) noteChallenge(req *http.Request, origin string, resp *http.Response) bool {
	if resp.StatusCode != http.StatusUnauthorized {
		return false
	}
	asked, err := digest.FindChallenge(resp.Header)
	if err != nil {
		return false
	}
	sent := req.Header["Authorization"] != nil
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.challenges[origin]
	if before == nil || before.Nonce != asked.Nonce {
		a.challenges[origin] = &challenge{Challenge: asked}
	}
	return !sent || asked.Stale || before != nil && before.Nonce != asked.Nonce
}
