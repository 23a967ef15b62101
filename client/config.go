package client

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/limit"
	"github.com/rdapq/rdapq/pool"
	"github.com/rdapq/rdapq/rdap"
	"golang.org/x/net/http/httpproxy"
)

// A Config says how a [Client] behaves. The zero value is ready to use. Where
// nothing else is said of them, negative numbers mean what 0 does. What it points to
// must not be changed once a Client has it.
type Config struct {
	// Transport carries the requests. Nil means a *[pool.Pool] of the Client's
	// own, made from [Config.PoolConfig], which Close closes; one given here stays
	// the caller's. Make a Pool for a [pool.SessionFile], for authorities other
	// than the system's, and to read [pool.Pool.Stats].
	//
	// Give a RoundTripper and not what an [http.Client] makes of it: the Client
	// follows redirects itself.
	//
	// Servers that the user did not name are asked at public addresses only, by a
	// Pool: those of IANA's registries and of BuiltinRegistrarURLs, and what answers
	// redirect or link to, unless a server that the user named is inside the user's
	// own network and leads there. [pool.Config.AllowPrivate] turns that off.
	// Other transports connect to what they are told to, and have to look after
	// that themselves.
	Transport http.RoundTripper

	// Proxy returns the proxy of a request; nil means the proxy of
	// the environment, as [http.ProxyFromEnvironment] returns it.
	// For no proxy, pass a function that returns nil. It applies where Transport
	// is nil; another Transport has a proxy setting of its own, which New does not
	// change.
	Proxy func(*http.Request) (*url.URL, error)

	// Resolver finds the servers. Nil means a *[bootstrap.Resolver] of the
	// Client's own, which downloads IANA's files over Transport and keeps them in
	// memory, so that each process downloads them anew: see [bootstrap.Config.Dir]. Answers whose Source is
	// SourceOverride or SourceServer are the user's own words: see Transport.
	Resolver Resolver

	// UserAgent names the program to the servers. Empty means DefaultUserAgent.
	UserAgent string

	// Languages are the languages that servers are asked for, best first (RFC 7480
	// section 9.3); see ParseLanguages. Nil leaves it to them.
	Languages []string

	// Timeout bounds one attempt, from the moment when the request has its
	// connection or stream to the end of the body, redirects included. Waiting for
	// a connection does not count against it: see ConnectTimeout. 0 means
	// DefaultTimeout, negative no bound but that of the context.
	//
	// A Transport other than a *[pool.Pool] must call the hooks GetConn and
	// GotConn of net/http/httptrace, as [http.Transport] does; the wait for its
	// connections is bounded by the sum of Timeout and ConnectTimeout. Where it
	// does not call them, Timeout bounds all of the attempt.
	Timeout time.Duration

	// ConnectTimeout bounds the set-up of a connection: name resolution, TCP and
	// TLS. It does not apply to a *[pool.Pool] passed as Transport, which has a
	// [pool.Config.ConnectTimeout] of its own, and to other transports only if they
	// call the hooks of net/http/httptrace. 0 means DefaultConnectTimeout, or
	// Timeout if that is less.
	ConnectTimeout time.Duration

	// Jobs bounds the lookups of one Batch that run at once. 0 means DefaultJobs.
	Jobs int

	// PerHost bounds the requests of the Client that are in flight at a time to one
	// server, or one group of hosts, whoever started them: Lookup, Search or Batch.
	// 0 means that the bound starts at DefaultPerHost and adapts to the server, up
	// to Jobs and at most 64. Any other value is a ceiling, where the bound starts.
	PerHost int

	// Groups names hosts that count requests together, as those of one operator
	// may: it maps a host to the name of its group. Bounds and rates hold for
	// the group as a whole.
	Groups map[string]string

	// Rates limits the requests to hosts, or to groups by their name. Its entries
	// replace those of limit.Builtin and the limits that responses show. A zero Rate
	// means no limit.
	Rates map[string]limit.Rate

	// Budgets stores what was learned of limits, for later runs and other Clients.
	// Nil means that this Client keeps it in memory. The caller closes the store.
	Budgets limit.Store

	// MaxWait bounds how long a lookup waits for a server that limits requests;
	// what would have to wait longer ends as RateLimited at once, with the time
	// to come back. In a Batch the wait of an input begins when it is the first in
	// line for its server: being behind others does not count. It also bounds how
	// long a Batch waits for a server that is away. 0 means DefaultMaxWait for
	// Lookup and DefaultBatchMaxWait for Batch, negative that none waits.
	//
	// A refusal (429, 503 with Retry-After, or a 403 that is not RDAP from a server
	// that gave useful responses) delays its own query only, if a request sent after
	// it succeeds before another one is refused. Two in a row are a quota: the
	// server is paused, and then gets as many requests as it accepted in the time
	// that it stated or that was estimated, until tests show that it accepts more.
	MaxWait time.Duration

	// Attempts bounds the requests for one query, redirects not counted: the
	// first one, those to the other servers of a service, and repetitions after
	// failures that may pass. In a Batch one that is refused because it is one too
	// many is sent up to ten times as often while MaxWait lasts, unless this is 1.
	// 0 means DefaultAttempts.
	Attempts int

	// MaxMemory bounds the bodies of answers that are in memory at once, in
	// octets: those of one Batch, until its loop is done with them, and together
	// those that calls of Lookup and Search read. One body always has room. 0 means
	// DefaultMaxMemory.
	MaxMemory int64

	// MaxQueued bounds the inputs that a Batch has read and not yet sent, in memory
	// and in its temporary file. Beyond that its sequence waits, and a warning to
	// Logger says so once. 0 means DefaultMaxQueued.
	MaxQueued int64

	// MaxSpill bounds the temporary file of a Batch, in bytes. When it is full, the
	// sequence waits as with MaxQueued. 0 means DefaultMaxSpill.
	MaxSpill int64

	// SpillDir is where Batch makes a temporary file for inputs that wait for a
	// slow server, if there are many. Empty means os.TempDir.
	SpillDir string

	// Registrable makes Lookup, Batch and Plan ask for the registrable domain of
	// a host name: example.co.uk for www.example.co.uk. Query.Text stays what was
	// written, and Query.From says what the name was.
	Registrable bool

	// Search says how searches are done.
	Search SearchConfig

	// Credentials are what servers are told of who asks, by origin
	// ("https://rdap.example", the port only if it is not the usual one). See
	// [ParseCredentials].
	Credentials map[string]*Credential

	// MaxBody bounds a body in octets, after decompression. 0 means
	// DefaultMaxBody.
	MaxBody int64

	// MaxRedirects bounds how many redirects in a row are followed. 0 means
	// DefaultMaxRedirects, negative that none is.
	MaxRedirects int

	// AllowHTTP permits servers, redirects and links without TLS.
	AllowHTTP bool

	// Referral says whether the registrar of a domain is asked after the registry,
	// by queries that don't say so themselves. Empty means ReferralNone.
	Referral Referral

	// ReferralDepth bounds how many links in a row are followed, from a registry
	// to a registrar and from there on. 0 means DefaultReferralDepth.
	ReferralDepth int

	// ReferralTimeout bounds one attempt to ask a registrar, which the registry's
	// answer waits for: one that hangs must not keep that from who wants to see
	// it. 0, and more than Timeout, mean Timeout.
	ReferralTimeout time.Duration

	// RegistrarURLs are base URLs of registrars by their IANA numbers, before
	// those of BuiltinRegistrarURLs, for registries that don't link to the
	// registrar's record; an empty one means that there is none. See
	// ParseRegistrars.
	RegistrarURLs map[string]string

	// Related are the relations whose links in answers about networks, AS numbers
	// and domains are followed: what they lead to is Result.Related. One that an
	// answer lacks is among Result.Warnings.
	Related []Relation

	// Cache says which answers are kept in memory to be used again. Empty means
	// CacheReferrals.
	Cache CacheMode

	// CacheEntries and CacheBytes bound what is kept: how many answers, and their
	// bodies in octets. 0 means DefaultCacheEntries and DefaultCacheBytes.
	CacheEntries int
	CacheBytes   int64

	// OnHold is called when the requests to a server are held back for the first
	// time for a reason: in the goroutine of a lookup, so it has to be quick. It
	// must be safe for concurrent use. Nil: it is not called.
	OnHold func(Hold)

	// Logger tells about requests and redirects at debug level. Nil is silent.
	Logger *slog.Logger

	secrets *secretsByOrigin // of Credentials
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

// check says what of a configuration makes no sense. Left alone, most of that
// would do nothing, without a word.
func (c Config) check() error {
	bad := func(field, format string, args ...any) error {
		return fmt.Errorf("client: %s: %s", field, fmt.Sprintf(format, args...))
	}
	if !slices.Contains([]CacheMode{"", CacheReferrals, CacheAll, CacheNone}, c.Cache) {
		return bad("Cache", "%q is none of the modes", c.Cache)
	}
	if !slices.Contains([]Referral{"", ReferralNone, ReferralRegistrar}, c.Referral) {
		return bad("Referral", "%q is none of the values", c.Referral)
	}
	for _, r := range c.Related {
		if !slices.Contains(Relations(), r) {
			return bad("Related", "%q is none of the relations", r)
		}
	}
	if strings.ContainsFunc(c.UserAgent, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return bad("UserAgent", "it has control characters in it")
	}
	if list, err := rdap.ParseLanguages(strings.Join(c.Languages, ",")); err != nil || len(list) != len(c.Languages) {
		return bad("Languages", "%q are no language tags, or too many", c.Languages)
	}
	if err := c.Search.Check(); err != nil {
		return fmt.Errorf("client: Search: %w", err)
	}
	for host, r := range c.Rates {
		if r.IsZero() && r != (limit.Rate{}) {
			return bad("Rates", "%d requests in %v are no rate of %s", r.N, r.Per, host)
		}
	}
	for id, base := range c.RegistrarURLs {
		if base == "" {
			continue
		}
		if _, _, err := registrarEntry(id, base); err != nil {
			return bad("RegistrarURLs", "%q: %v", id, err)
		}
	}
	for origin, cred := range c.Credentials {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "https" || u.Host == "" || weburl.Origin(u) != origin {
			return bad("Credentials", "%q is no origin as in https://rdap.example", weburl.Redact(origin))
		}
		if cred == nil || !slices.Contains([]AuthScheme{AuthBasic, AuthDigest, AuthBearer, AuthAPIKey}, cred.Scheme) {
			return bad("Credentials", "that of %s has none of the schemes", origin)
		}
	}
	return nil
}

// PoolConfig returns the configuration of the Pool that a Client makes for
// itself when Transport is nil: HTTP/1.1, HTTP/2 and HTTP/3, the timeouts and
// the proxy of c, TLS sessions and facts about servers in memory. A program
// that needs one more setting, such as a [pool.SessionFile], changes it there
// and passes the Pool it makes as Transport.
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

// environmentProxy returns what [http.ProxyFromEnvironment] does, but nil where
// the environment names no proxy: most lookups then skip the question.
func environmentProxy() func(*http.Request) (*url.URL, error) {
	env := httpproxy.FromEnvironment()
	if env.HTTPProxy == "" && env.HTTPSProxy == "" {
		return nil
	}
	choose := env.ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return choose(r.URL) }
}

// bootstrapClient returns the client that downloads IANA's registries over the
// Transport of c, so that the proxy, addresses, authorities and timeouts of
// lookups apply to the download too. A Pool connects to public addresses only
// for it: see [pool.WithGuard].
func (c Config) bootstrapClient() *http.Client {
	transport := c.Transport
	if p, ok := transport.(*pool.Pool); ok {
		transport = p.Guarded()
	}
	return &http.Client{Transport: transport, Timeout: max(cmp.Or(c.Timeout, DefaultTimeout), time.Duration(0))}
}
