package client

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/icholy/digest"
	"github.com/rdapq/rdapq/internal/weburl"
)

// An AuthScheme is a method of authentication (RFC 7481 section 3.2).
type AuthScheme string

const (
	AuthBasic  AuthScheme = "basic"  // RFC 7617
	AuthDigest AuthScheme = "digest" // RFC 7616
	AuthBearer AuthScheme = "bearer" // RFC 6750
	AuthAPIKey AuthScheme = "apikey" // a query parameter of the server's own
)

// A Credential authenticates the client to one server. It is sent only to its
// origin and only over TLS, and occurs in no message, log or Result.
type Credential struct {
	Scheme AuthScheme
	Name   string // basic, digest: the user; apikey: the query parameter
	Secret string // the password, token or key
}

// String omits the secret.
func (c Credential) String() string { return string(c.Scheme) + " credential" }

// GoString omits the secret.
func (c Credential) GoString() string { return c.String() }

// LogValue omits the secret.
func (c Credential) LogValue() slog.Value { return slog.StringValue(c.String()) }

// ParseCredentials reads lines of an origin, a scheme, and what goes with it:
//
//	https://rdap.example       basic   user:password
//	https://rdap.example:8443  digest  user:password
//	https://rdap.example       bearer  token
//	https://rdap.example       apikey  parameter=key
//
// Blank lines and those that begin with # are skipped. Errors name the line
// but not its content.
func ParseCredentials(r io.Reader) (map[string]*Credential, error) {
	out := make(map[string]*Credential)
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if line == "" || line[0] == '#' {
			continue
		}
		fail := func(what string) error { return fmt.Errorf("line %d: %s", n, what) }
		fields := strings.Fields(line)
		if len(fields) < 3 {
			return nil, fail("expected an origin, a scheme and a credential")
		}
		origin, err := url.Parse(fields[0])
		if err != nil || origin.Scheme != "https" || origin.Host == "" || strings.Trim(origin.Path, "/") != "" || origin.User != nil || origin.RawQuery != "" {
			return nil, fail("the origin must look like https://rdap.example or https://rdap.example:8443")
		}
		// A password may contain blanks: it ends at the end of the line.
		rest := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(strings.TrimPrefix(line, fields[0])), fields[1]))
		c := &Credential{Scheme: AuthScheme(strings.ToLower(fields[1])), Secret: rest}
		between := ""
		switch c.Scheme {
		case AuthBearer:
		case AuthBasic, AuthDigest:
			between = ":"
		case AuthAPIKey:
			between = "="
		default:
			return nil, fail("the scheme must be basic, digest, bearer or apikey")
		}
		if between != "" {
			var ok bool
			if c.Name, c.Secret, ok = strings.Cut(rest, between); !ok || c.Name == "" {
				return nil, fail("a " + string(c.Scheme) + " credential has the form " + map[string]string{":": "user:password", "=": "parameter=key"}[between])
			}
		}
		key := weburl.Origin(origin)
		if out[key] != nil {
			return nil, fail("the origin has a credential already")
		}
		out[key] = c
	}
	return out, lines.Err()
}

// An authenticator sends each server its credential.
type authenticator struct {
	credentials map[string]*Credential
	keys        []string // secrets that go into URLs

	mu         sync.Mutex
	challenges map[string]*challenge // of digest, by origin
}

// A challenge is the last digest challenge of a server, with the number of its uses.
type challenge struct {
	*digest.Challenge
	count int
}

func newAuthenticator(of map[string]*Credential) *authenticator {
	if len(of) == 0 {
		return nil
	}
	a := &authenticator{credentials: of, challenges: make(map[string]*challenge)}
	for _, c := range of {
		if c.Scheme == AuthAPIKey && c.Secret != "" {
			a.keys = append(a.keys, c.Secret)
		}
	}
	return a
}

// stripKeys removes the parameters with a key of the user from a URL: many servers
// repeat the query of a request in redirects and links, also to other origins. apply
// adds the key again for its own origin.
func (a *authenticator) stripKeys(link string) string {
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

// minEmbeddedKey is the length from which keys are searched for inside values.
const minEmbeddedKey = 8

// apply adds the credential for the request's origin, if there is one. Digest
// needs a challenge first.
func (a *authenticator) apply(req *http.Request) error {
	if a == nil || req.URL.Scheme != "https" {
		return nil
	}
	origin := weburl.Origin(req.URL)
	c := a.credentials[origin]
	if c == nil {
		return nil
	}
	switch c.Scheme {
	case AuthBasic:
		req.Header["Authorization"] = []string{"Basic " + base64.StdEncoding.EncodeToString([]byte(c.Name+":"+c.Secret))}
	case AuthBearer:
		req.Header["Authorization"] = []string{"Bearer " + c.Secret}
	case AuthAPIKey:
		u := *req.URL
		if u.RawQuery != "" {
			u.RawQuery += "&"
		}
		u.RawQuery += url.QueryEscape(c.Name) + "=" + url.QueryEscape(c.Secret)
		req.URL = &u
	case AuthDigest:
		return a.respond(req, origin, c)
	}
	return nil
}

func (a *authenticator) respond(req *http.Request, origin string, c *Credential) error {
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

// noteChallenge stores the challenge of a 401 and reports whether to send the request
// again: if a digest credential had no challenge yet, or its challenge has expired.
func (a *authenticator) noteChallenge(req *http.Request, resp *http.Response) bool {
	if a == nil || resp.StatusCode != http.StatusUnauthorized || req.URL.Scheme != "https" {
		return false
	}
	origin := weburl.Origin(req.URL)
	if c := a.credentials[origin]; c == nil || c.Scheme != AuthDigest {
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
