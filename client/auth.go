package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/rdapq/rdapq/internal/auth"
	"github.com/rdapq/rdapq/internal/weburl"
)

// An AuthScheme is a method of authentication (RFC 7481 section 3.2).
type AuthScheme string

// Authentication schemes.
const (
	AuthBasic  AuthScheme = "basic"  // RFC 7617
	AuthDigest AuthScheme = "digest" // RFC 7616
	AuthBearer AuthScheme = "bearer" // RFC 6750
	AuthAPIKey AuthScheme = "apikey" // a server-specific query parameter
	AuthHeader AuthScheme = "header" // a server-specific header field
)

// A Credential authenticates the client to one server. It is sent only to its
// origin and only over TLS, and occurs in no message, log or Result.
type Credential struct {
	Scheme AuthScheme
	Name   string // basic, digest: the user; apikey: the query parameter; header: the header field
	Secret string // the password, token or key
}

// String omits the secret.
func (c Credential) String() string { return string(c.Scheme) + " credential" }

// GoString omits the secret.
func (c Credential) GoString() string { return c.String() }

// LogValue omits the secret.
func (c Credential) LogValue() slog.Value { return slog.StringValue(c.String()) }

// ParseCredentials reads credentials, one per line: an origin, a scheme, and the parameters of
// the scheme:
//
//	https://rdap.example       basic   user:password
//	https://rdap.example:8443  digest  user:password
//	https://rdap.example       bearer  token
//	https://rdap.example       apikey  parameter=key
//	https://rdap.example       header  Field: key
//
// Blank lines and lines that begin with # are skipped. Errors name the line but not its
// content.
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
		// A password may contain blanks and extends to the end of the line.
		rest := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(strings.TrimPrefix(line, fields[0])), fields[1]))
		c := &Credential{Scheme: AuthScheme(strings.ToLower(fields[1])), Secret: rest}
		between := ""
		switch c.Scheme {
		case AuthBearer:
		case AuthBasic, AuthDigest, AuthHeader:
			between = ":"
		case AuthAPIKey:
			between = "="
		default:
			return nil, fail("the scheme must be basic, digest, bearer, apikey or header")
		}
		if between != "" {
			var ok bool
			if c.Name, c.Secret, ok = strings.Cut(rest, between); !ok || c.Name == "" {
				return nil, fail("a " + string(c.Scheme) + " credential has the form " + forms[c.Scheme])
			}
		}
		if c.Scheme == AuthHeader {
			c.Secret = strings.TrimSpace(c.Secret)
		}
		if err := c.check(); err != nil {
			return nil, fail(err.Error())
		}
		key := weburl.Origin(origin)
		if out[key] != nil {
			return nil, fail("the origin already has a credential")
		}
		out[key] = c
	}
	return out, lines.Err()
}

// forms has the text forms of credentials that have a name.
var forms = map[AuthScheme]string{
	AuthBasic: "user:password", AuthDigest: "user:password", AuthAPIKey: "parameter=key", AuthHeader: "Field: key",
}

// check returns an error, without the secret, if c cannot be sent.
func (c *Credential) check() error {
	switch {
	case c == nil:
		return errors.New("no credential")
	case c.Scheme != AuthBearer && forms[c.Scheme] == "":
		return fmt.Errorf("invalid scheme %q", c.Scheme)
	case c.Scheme == AuthHeader && !httpguts.ValidHeaderFieldName(c.Name):
		return errors.New("invalid name of a header field")
	case (c.Scheme == AuthHeader || c.Scheme == AuthBearer) && !httpguts.ValidHeaderFieldValue(c.Secret):
		return errors.New("the secret contains control characters")
	}
	return nil
}

func (c *Credential) internal() auth.Credential {
	return auth.Credential{Scheme: string(c.Scheme), Name: c.Name, Secret: c.Secret}
}

// authTransport returns transport with the credentials of c, or nil if c has no credentials.
func (c Config) authTransport(transport http.RoundTripper) *auth.Transport {
	credentials := make(map[string]auth.Credential)
	for origin, cred := range c.Credentials {
		credentials[origin] = cred.internal()
	}
	if c.CredentialFor == nil {
		return auth.New(transport, credentials, nil)
	}
	return auth.New(transport, credentials, func(ctx context.Context, origin string) (*auth.Credential, error) {
		cred, err := c.CredentialFor(ctx, origin)
		if err != nil || cred == nil {
			return nil, err
		}
		if err := cred.check(); err != nil {
			return nil, err
		}
		own := cred.internal()
		return &own, nil
	})
}
