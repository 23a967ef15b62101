package client

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/rdapq/rdapq/internal/registrars"
	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/limit"
	"github.com/rdapq/rdapq/pool"
	"github.com/rdapq/rdapq/rdap"
)

// A Config configures a [Client]. The zero value is ready to use. Unless stated otherwise,
// negative numbers mean the same as 0. Do not change values that a Config points to after New.
type Config struct {
	// Transport sends the requests. Nil means a *[pool.Pool] made from [Config.PoolConfig],
	// which Close closes. Close does not close a Transport given here. Pass a Pool to use a
	// [pool.SessionFile] or certificate authorities other than the system's, and to read
	// [pool.Pool.Stats].
	//
	// A Transport must not follow redirects: the Client follows them.
	//
	// A Pool connects to public addresses only, except to servers that the user named. The
	// restriction applies to servers from IANA's registries and BuiltinRegistrarURLs, and to
	// targets of redirects and links. Servers inside the user's own network that the user named
	// may refer to private addresses. [pool.Config.AllowPrivate] lifts the restriction. Other
	// transports have to check addresses themselves.
	Transport http.RoundTripper

	// Proxy returns the proxy of a request. Nil means the proxy of the environment, as
	// [http.ProxyFromEnvironment] returns it. To use no proxy, pass a function that returns
	// nil. Proxy applies only if Transport is nil: a Transport has its own proxy setting.
	Proxy func(*http.Request) (*url.URL, error)

	// Resolver finds the servers. Nil means a *[bootstrap.Resolver] that downloads
	// IANA's files over Transport in each process and keeps them in memory; see
	// [bootstrap.Config.Dir] to share them. Servers whose Source is SourceOverride
	// or SourceServer count as named by the user: see Transport.
	Resolver Resolver

	// UserAgent is the User-Agent field of requests. Empty means DefaultUserAgent.
	UserAgent string

	// Languages are the preferred languages, best first (RFC 7480 section 9.3); see
	// rdap.ParseLanguages. Nil sends no Accept-Language field.
	Languages []string

	// Timeout limits one attempt, from when the request has its connection or stream to the end
	// of the body, redirects included. Waiting for a connection does not count: see
	// ConnectTimeout. 0 means DefaultTimeout, negative no limit other than the context.
	//
	// A Transport other than a *[pool.Pool] must call the hooks GetConn and GotConn of
	// net/http/httptrace, as [http.Transport] does. The sum of Timeout and ConnectTimeout
	// limits the wait for its connections. If a transport calls no hooks, Timeout limits the
	// whole attempt.
	Timeout time.Duration

	// ConnectTimeout limits the set-up of a connection: name resolution, TCP and TLS. It does
	// not apply to a *[pool.Pool] passed as Transport, which has its own
	// [pool.Config.ConnectTimeout]. It applies to other transports only if they call the hooks
	// of net/http/httptrace. 0 means DefaultConnectTimeout, or Timeout if Timeout is less.
	ConnectTimeout time.Duration

	// Jobs limits the concurrent lookups of one Batch. 0 means DefaultJobs.
	Jobs int

	// PerHost limits the requests that all of Lookup, Search and Batch have in
	// flight at one server or group of hosts. 0 starts at DefaultPerHost and adapts
	// to the server, up to Jobs and at most 64. Any other value is both the start
	// and the maximum.
	PerHost int

	// Groups maps a host to the name of its group. The hosts of a group, such as
	// those of one operator, share their limits and rates.
	Groups map[string]string

	// Rates limits the requests to hosts, or to groups by their name. Its entries
	// replace those of limit.Builtin and the limits that responses show. A zero Rate
	// means no limit.
	Rates map[string]limit.Rate

	// Budgets stores learned limits for later runs and other Clients. Nil means that the Client
	// keeps limits in memory. The caller closes the store.
	Budgets limit.Store

	// MaxWait limits how long a lookup waits for a rate-limited server. A lookup that would
	// wait longer ends immediately as VerdictRateLimited, with the time to retry after. In a Batch,
	// the wait of an input starts when it is first in the queue of its server. MaxWait also
	// limits how long a Batch waits for a server that is down. 0 means DefaultMaxWait for
	// Lookup and DefaultBatchMaxWait for Batch, negative no wait.
	//
	// A refusal (429, 503 with Retry-After, or a 403 that is not RDAP from a server that gave
	// useful responses) delays only its own query if a request sent later succeeds before
	// another request is refused. Two refusals in a row count as a quota: the Client pauses the
	// server. It then sends as many requests per stated or estimated interval as the server
	// accepted before, until probes show that the server accepts more.
	MaxWait time.Duration

	// Attempts limits the requests for one query, redirects not counted: the first request,
	// requests to other servers of the service, and retries after transient failures. In a
	// Batch, a rate-limited query is sent up to 10 × Attempts times within MaxWait, unless
	// Attempts is 1. 0 means DefaultAttempts.
	Attempts int

	// MaxMemory limits the bytes of response bodies in memory. For each Batch, these are the
	// bodies of results that its loop has not finished with. For all calls of Lookup and Search
	// together, these are the bodies being read. One body is always accepted. 0 means
	// DefaultMaxMemory.
	MaxMemory int64

	// MaxQueued limits the inputs that a Batch has read and not yet sent, in memory
	// and in its temporary file. At the limit, reading pauses, and Logger gets one
	// warning. 0 means DefaultMaxQueued.
	MaxQueued int64

	// MaxSpill limits the temporary file of a Batch, in bytes. When it is full,
	// reading pauses as with MaxQueued. 0 means DefaultMaxSpill.
	MaxSpill int64

	// SpillDir is the directory of the temporary file to which a Batch spills
	// inputs for slow servers. Empty means os.TempDir.
	SpillDir string

	// Registrable makes Lookup, Batch and Plan query the registrable domain of a
	// host name: example.co.uk for www.example.co.uk. Query.Text is unchanged.
	Registrable bool

	// Search configures searches.
	Search SearchConfig

	// Credentials maps an origin ("https://rdap.example", with the port if it is
	// not the default) to the credential sent to it. See [ParseCredentials].
	Credentials map[string]*Credential

	// CredentialFor returns the credential for an origin that Credentials does not have, such as
	// a token that expires (RFC 9560); a nil Credential means none. It is called before each
	// request over TLS, with a context that ends with the request, and must be safe for
	// concurrent use: it should cache tokens. With an error, the request is not sent, and the
	// lookup ends with CodeCredential. Nil means no credentials but those of Credentials.
	CredentialFor func(ctx context.Context, origin string) (*Credential, error)

	// MaxBody limits a body in bytes, after decompression. 0 means DefaultMaxBody.
	MaxBody int64

	// MaxRedirects limits the redirects followed in a row. 0 means
	// DefaultMaxRedirects, negative none.
	MaxRedirects int

	// AllowHTTP permits servers, redirects and links without TLS.
	AllowHTTP bool

	// Referral applies to queries whose Query.Referral is empty: whether the
	// registrar of a domain is queried after the registry. Empty means ReferralNone.
	Referral Referral

	// ReferralDepth limits the links followed in a row, such as from a registry to a registrar.
	// 0 means DefaultReferralDepth.
	ReferralDepth int

	// ReferralTimeout limits one attempt at a registrar, so that a registrar that hangs does
	// not delay the registry's response for long. 0, and a value above Timeout, mean Timeout.
	ReferralTimeout time.Duration

	// RegistrarURLs maps IANA registrar numbers to base URLs, for registries that do
	// not link to the registrar's record. It overrides BuiltinRegistrarURLs; an
	// empty URL means that the registrar has none. See ParseRegistrars.
	RegistrarURLs map[string]string

	// Related lists the relations whose links in responses about networks, AS numbers and
	// domains are followed to fill Result.Related. Result.Warnings reports relations
	// without a link.
	Related []Relation

	// Cache selects the responses that are cached in memory. Empty means
	// CacheReferrals.
	Cache CacheMode

	// CacheEntries and CacheBytes limit the cache: the number of responses, and the
	// bytes of their bodies. 0 means DefaultCacheEntries and DefaultCacheBytes.
	CacheEntries int
	CacheBytes   int64

	// OnHold is called when the Client first holds back requests to a server for a reason. The
	// goroutine of a lookup calls OnHold, so it must be fast and safe for concurrent use. Nil
	// means no calls.
	OnHold func(Hold)

	// OnAttempt is called after each request of a lookup, with the context of the caller of
	// Lookup, Search or Batch. The goroutine of the lookup calls it, so it must be fast. It
	// must be safe for concurrent use. Nil means no calls.
	OnAttempt func(context.Context, Attempt)

	// Logger receives requests and redirects at debug level, with the context of the caller.
	// Nil disables logging.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.UserAgent = cmp.Or(c.UserAgent, DefaultUserAgent)
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	if c.ConnectTimeout <= 0 {
		c.ConnectTimeout = DefaultConnectTimeout
		if c.Timeout > 0 {
			c.ConnectTimeout = min(c.ConnectTimeout, c.Timeout)
		}
	}
	c.Jobs = positive(c.Jobs, DefaultJobs)
	c.Attempts = positive(c.Attempts, DefaultAttempts)
	c.MaxMemory = positive(c.MaxMemory, DefaultMaxMemory)
	c.MaxQueued = positive(c.MaxQueued, DefaultMaxQueued)
	c.MaxSpill = positive(c.MaxSpill, DefaultMaxSpill)
	c.MaxBody = positive(c.MaxBody, DefaultMaxBody)
	c.ReferralDepth = positive(c.ReferralDepth, DefaultReferralDepth)
	c.CacheEntries = positive(c.CacheEntries, DefaultCacheEntries)
	c.CacheBytes = positive(c.CacheBytes, DefaultCacheBytes)
	c.MaxRedirects = max(cmp.Or(c.MaxRedirects, DefaultMaxRedirects), 0)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func positive[T int | int64 | time.Duration](v, d T) T {
	if v <= 0 {
		return d
	}
	return v
}

// check returns an error for invalid values, most of which would otherwise be silently
// ignored.
func (c Config) check() error {
	bad := func(field, format string, args ...any) error {
		return &ConfigError{field, fmt.Errorf(format, args...)}
	}
	if !slices.Contains([]CacheMode{"", CacheReferrals, CacheAll, CacheNone}, c.Cache) {
		return bad("Cache", "invalid value %q", c.Cache)
	}
	if !slices.Contains([]Referral{"", ReferralNone, ReferralRegistrar}, c.Referral) {
		return bad("Referral", "invalid value %q", c.Referral)
	}
	for _, r := range c.Related {
		if !slices.Contains(Relations(), r) {
			return bad("Related", "invalid relation %q", r)
		}
	}
	if strings.ContainsFunc(c.UserAgent, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return bad("UserAgent", "control characters in %q", c.UserAgent)
	}
	if list, err := rdap.ParseLanguages(strings.Join(c.Languages, ",")); err != nil || len(list) != len(c.Languages) {
		return bad("Languages", "invalid language tags %q, or too many", c.Languages)
	}
	if err := c.Search.Check(); err != nil {
		return &ConfigError{"Search", err}
	}
	for host, r := range c.Rates {
		if r.IsZero() && r != (limit.Rate{}) {
			return bad("Rates", "invalid rate for %s: %d requests per %v", host, r.N, r.Per)
		}
	}
	for id, base := range c.RegistrarURLs {
		if base == "" {
			continue
		}
		if _, _, err := registrars.Entry(id, base); err != nil {
			return bad("RegistrarURLs", "%q: %w", id, err)
		}
	}
	for origin, cred := range c.Credentials {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "https" || u.Host == "" || weburl.Origin(u) != origin {
			return bad("Credentials", "%q is not an origin such as https://rdap.example", weburl.Redact(origin))
		}
		if err := cred.check(); err != nil {
			return bad("Credentials", "%s: %w", origin, err)
		}
	}
	return nil
}

// PoolConfig returns the configuration of the Pool that New makes if Transport is nil. It has
// HTTP/1.1, HTTP/2 and HTTP/3, the timeouts and the proxy of c, and stores TLS sessions and
// server properties in memory. To change a setting, such as the [pool.SessionFile], change the
// returned Config and pass a Pool made from it as Transport.
func (c Config) PoolConfig() pool.Config {
	d := c.withDefaults()
	proxy := c.Proxy
	if proxy == nil {
		proxy = environmentProxy()
	}
	return pool.Config{
		Protocols:        []string{"h3", "h2", "http/1.1"},
		ConnectTimeout:   d.ConnectTimeout,
		HandshakeTimeout: d.ConnectTimeout,
		Proxy:            proxy,
		Logger:           c.Logger,
	}
}

// environmentProxy returns a function like [http.ProxyFromEnvironment], or nil if
// the environment names no proxy, so that most lookups skip the check.
func environmentProxy() func(*http.Request) (*url.URL, error) {
	env := httpproxy.FromEnvironment()
	if env.HTTPProxy == "" && env.HTTPSProxy == "" {
		return nil
	}
	choose := env.ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return choose(r.URL) }
}

// bootstrapClient returns the client that downloads IANA's registries. It uses the Transport of
// c, so that the proxy, certificate authorities and timeouts of lookups apply to downloads. For
// downloads, a Pool connects only to public addresses: see [pool.WithGuard].
func (c Config) bootstrapClient() *http.Client {
	transport := c.Transport
	if p, ok := transport.(*pool.Pool); ok {
		transport = p.Guarded()
	}
	return &http.Client{Transport: transport, Timeout: max(cmp.Or(c.Timeout, DefaultTimeout), time.Duration(0))}
}
