// Package auth sends credentials to their servers, and keeps them secret from all others.
package auth

import (
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
)

// A Credential authenticates the client to one origin.
type Credential struct {
	Scheme string
	Name   string // basic, digest: the user; apikey: the query parameter
	Secret string // the password, token or key
}

// A Transport sends each origin its credential, and only over TLS. The methods StripKeys
// and Leaks may be called on a nil Transport, which has no credentials.
type Transport struct {
	base        http.RoundTripper
	credentials map[string]Credential
	secrets     map[string]*secret.Set // secrets of the credentials, by origin
	keys        []string               // secrets sent in URLs

	mu         sync.Mutex
	challenges map[string]*challenge // digest challenges by origin
}

// New returns a Transport that sends requests over base, with credentials by their
// origins. It is nil without credentials.
func New(base http.RoundTripper, credentials map[string]Credential) *Transport {
	if len(credentials) == 0 {
		return nil
	}
	a := &Transport{
		base: base, credentials: credentials,
		secrets: make(map[string]*secret.Set), challenges: make(map[string]*challenge),
	}
	for origin, c := range credentials {
		if set := secret.NewSet([]string{c.Secret}); set != nil {
			a.secrets[origin] = set
		}
		if c.Scheme == APIKey && c.Secret != "" {
			a.keys = append(a.keys, c.Secret)
		}
	}
	return a
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
	c, ok := a.credentials[origin]
	if !ok || req.URL.Scheme != "https" {
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
	for origin, set := range a.secrets {
		if origin != to && set.InURL(u) {
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
	if a == nil || len(a.keys) == 0 || !found {
		return link
	}
	query, fragment, hasFragment := strings.Cut(query, "#")
	params := strings.Split(query, "&")
	kept := slices.DeleteFunc(params, func(param string) bool {
		_, value, _ := strings.Cut(param, "=")
		if plain, err := url.QueryUnescape(value); err == nil {
			value = plain
		}
		return slices.ContainsFunc(a.keys, func(key string) bool {
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
