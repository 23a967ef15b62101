package client

import (
	"context"
	_ "embed"
	"errors"
	"hash/maphash"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/internal/auth"
	"github.com/rdapq/rdapq/internal/gate"
	"github.com/rdapq/rdapq/internal/hashset"
	"github.com/rdapq/rdapq/internal/helpcache"
	"github.com/rdapq/rdapq/internal/httpcache"
	"github.com/rdapq/rdapq/internal/inuse"
	"github.com/rdapq/rdapq/internal/secret"
	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/pool"
)

// Version is the version of this module in the default User-Agent.
const Version = "0.1.0"

// Defaults of a [Config].
const (
	DefaultUserAgent      = "rdapq/" + Version + " (+https://github.com/rdapq/rdapq)"
	DefaultTimeout        = 15 * time.Second
	DefaultConnectTimeout = 10 * time.Second // Config.Timeout, if less, replaces it
	DefaultJobs           = 64
	DefaultPerHost        = 8
	DefaultMaxBody        = 10 << 20
	DefaultMaxRedirects   = 5
	DefaultAttempts       = 3
	DefaultMaxWait        = 30 * time.Second // for Lookup
	DefaultBatchMaxWait   = 10 * time.Minute // for Batch
	DefaultMaxMemory      = 256 << 20
	DefaultMaxQueued      = 1_000_000
	DefaultMaxSpill       = 4 << 30
)

// A Resolver finds the servers responsible for a question; *[bootstrap.Resolver] is
// one. It must be safe for concurrent use, and fast: a Batch resolves its inputs one
// after another. An error that wraps [bootstrap.ErrNoService] means that no server is
// known; one that wraps [bootstrap.ErrHTTPOnly] means that only unencrypted servers
// are known.
type Resolver interface {
	Resolve(context.Context, bootstrap.Question) (bootstrap.Answer, error)
}

// A Client sends queries to RDAP servers. Create a Client with [New]: the zero Client returns errors. It is safe for
// concurrent use; a program needs only one Client.
type Client struct {
	cfg    Config
	own    []io.Closer // parts made by New, which Close closes
	pieces sync.Pool   // holds *[pieceSize]byte, for bodies of unknown length
	named  namedServer

	speakers hashset.Strings // base URLs of servers that have sent an RDAP response

	hosts   *gate.Hosts
	memory  *memoryBudget // budget of single lookups
	batches batches
	users   inuse.Counter // lookups, searches and batches in progress
	helps   helpcache.Cache
	flights flights

	transport  http.RoundTripper // transport of lookups: Config.Transport or auth
	auth       *auth.Transport   // nil without credentials
	cache      *httpcache.Cache  // nil without a cache
	registrars func() map[string]string
	parked     atomic.Int64 // bytes of the bodies of parked lookups

	closeOnce sync.Once
	closed    chan struct{} // closed by Close
	ownPool   bool          // Close closes the connections

	// Header fields of all requests.
	accept, userAgent, languages []string // languages is nil if Config.Languages is
}

// New returns a Client. It sends nothing. Its error for an invalid field of cfg is a
// [*ConfigError].
func New(cfg Config) (*Client, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg.withDefaults(), closed: make(chan struct{})}
	c.pieces.New = func() any { return new([pieceSize]byte) }
	c.hosts, c.memory = gate.New(c.cfg.gate()), newMemoryBudget(c.cfg.MaxMemory)
	c.flights.seed = maphash.MakeSeed()
	c.accept, c.userAgent = []string{acceptRDAP}, []string{c.cfg.UserAgent}
	if field := acceptLanguage(c.cfg.Languages); field != "" {
		c.languages = []string{field}
	}
	c.cache, c.registrars = newCache(c.cfg), sync.OnceValue(BuiltinRegistrarURLs)
	if c.cfg.Transport == nil {
		p, err := pool.New(cfg.PoolConfig())
		if err != nil {
			return nil, err
		}
		c.cfg.Transport, c.ownPool = p, true
		c.own = append(c.own, p)
	}
	c.transport = c.cfg.Transport
	if c.auth = c.cfg.authTransport(c.cfg.Transport); c.auth != nil {
		c.transport = c.auth
	}
	if c.cfg.Resolver == nil {
		r, err := bootstrap.New(bootstrap.Config{
			Client: c.cfg.bootstrapClient(), UserAgent: c.cfg.UserAgent,
			AllowHTTP: c.cfg.AllowHTTP, Logger: cfg.Logger,
		})
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.cfg.Resolver = r
		c.own = append(c.own, r)
	}
	return c, nil
}

// ErrClosed is wrapped by the errors of a closed [Client].
var ErrClosed = errors.New("client: closed")

// Close ends all lookups and closes what New made. Batches end as with [Batch.Drain], waiting
// lookups end immediately, and no further request is sent. Lookups that were not sent end with
// [CodeNotSent] and an error that wraps [ErrClosed]. Requests in flight on a Pool that New made
// end with [CodeCanceled]. Close does not affect a Transport, Resolver or limit.Store given in the
// [Config]. Requests in flight on that Transport complete, but their redirects are not
// followed.
//
// Close returns the error of saving Config.Budgets, or of closing what New made. A Client may
// be closed more than once. A Logger, limit.Store, Resolver or hook may call Close; such a call
// of Close does not wait for the lookup that it belongs to.
func (c *Client) Close() error {
	if c.closed == nil {
		return errNotMade
	}
	c.closeOnce.Do(func() { close(c.closed) })
	c.batches.end(ErrClosed)
	errs := []error{c.flushLimits()}
	for _, closer := range slices.Backward(c.own) { // the Resolver uses the Pool
		errs = append(errs, closer.Close())
	}
	return errors.Join(errs...)
}

// Shutdown closes c when its lookups have ended. It lets lookups, searches and batches in
// progress complete, except that batches end as with [Batch.Drain]. Later ones fail with an error that
// wraps [ErrClosed]. A loop over a batch or a search counts as in progress until it ends, so
// such a loop must not call Shutdown, nor must a hook.
//
// If ctx ends first, Shutdown ends the rest as [Client.Close] does, and returns the error of
// ctx. Otherwise it returns the error of Close.
func (c *Client) Shutdown(ctx context.Context) error {
	if c.closed == nil {
		return errNotMade
	}
	idle := c.users.Shut()
	c.batches.end(ErrClosed)
	select {
	case <-idle:
	case <-c.closed:
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), c.Close())
	}
	return c.Close()
}

// use counts a lookup or a search until c.users.Leave. Its error is that of a Client that is
// closed or zero.
func (c *Client) use() *Error {
	switch {
	case c.closed == nil:
		return &Error{Code: CodeNotSent, Message: errNotMade.Error(), Err: errNotMade}
	case !c.users.Enter():
		return &Error{Code: CodeNotSent, Message: "not sent: the client was closed", Err: ErrClosed}
	}
	return nil
}

func (c *Client) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// Batch returns a [Batch] that looks up all inputs. Nothing is read or sent before the loop
// over [Batch.All].
func (c *Client) Batch(ctx context.Context, inputs iter.Seq2[Input, error], opts ...BatchOption) *Batch {
	if c.closed == nil {
		return &Batch{}
	}
	b := newBatch(ctx, c, newOptions(opts))
	b.inputs = inputs
	return b
}

// Servers returns the state of all servers that c has sent requests to, by name. It is cheap
// enough for a display that is updated several times per second.
func (c *Client) Servers() []ServerProgress {
	if c.hosts == nil {
		return nil
	}
	now := time.Now()
	var list []ServerProgress
	for _, h := range c.hosts.All() {
		list = append(list, serverProgress(h, now))
	}
	return list
}

// Stats returns the statistics of the [pool.Pool] that is the Transport of c: the Pool that New
// made, or Config.Transport. It returns false with any other Transport.
func (c *Client) Stats() (pool.Stats, bool) {
	p, ok := c.cfg.Transport.(*pool.Pool)
	if !ok {
		return pool.Stats{}, false
	}
	return p.Stats(), true
}

// Plan reads all inputs and returns what a Batch would do with them. It sends no queries; the
// Resolver may download its files. Plan returns the error of ctx, or [ErrClosed], with a Plan
// for the inputs read so far.
//
// A Plan counts duplicates as sent, because duplicates in a Batch share a response only while
// they are in flight at the same time.
func (c *Client) Plan(ctx context.Context, inputs iter.Seq2[Input, error]) (*Plan, error) {
	if c.closed == nil {
		return new(Plan), errNotMade
	}
	p := planner{
		c: c, b: newBatch(ctx, c, nil), plan: new(Plan),
		zones: make(map[string]int64), servers: make(map[*gate.Host]*PlanServer),
	}
	for in, err := range inputs {
		if ctx.Err() != nil {
			break
		}
		if !p.add(in, err) {
			return p.finish(), ErrClosed
		}
	}
	return p.finish(), ctx.Err()
}

// announce calls Config.OnHold for each new hold of the host.
func (c *Client) announce(h *gate.Host) {
	for _, e := range h.NewHolds() {
		if c.cfg.OnHold != nil {
			c.cfg.OnHold(Hold{Server: h.Name(), Reason: holdReasons[e.Reason], Status: e.Status, Until: e.Until, Rate: e.Rate})
		}
	}
}

// registrarURL returns the base URL of the registrar with an IANA number, or "" if it is
// unknown. own reports whether the user configured it.
func (c *Client) registrarURL(id string) (base string, own bool) {
	id = strings.TrimLeft(id, "0")
	if base, own = c.cfg.RegistrarURLs[id]; own {
		return base, true
	}
	return c.registrars()[id], false
}

// capacity returns the method Capacity of the Transport, or nil if it has none.
func (c *Client) capacity() func(origin string, demand int) int {
	if k, ok := c.cfg.Transport.(capacityReporter); ok {
		return k.Capacity
	}
	return nil
}

// abandon ends a task because its batch ends. An error of an earlier request remains; a
// task that was not sent is canceled.
func (c *Client) abandon(ctx context.Context, t *task) {
	r := t.result
	switch {
	case r.reason() != nil:
	case ctx.Err() != nil:
		if r.Server == "" && len(t.servers.URLs) > 0 {
			r.Server = weburl.Redact(t.servers.URLs[t.server])
		}
		c.stop(ctx, t, "waiting for "+visible(r.Server))
	case c.isClosed(), c.users.IsShut():
		r.end(&Error{Code: CodeCanceled, Message: "not sent: the client was closed", Err: ErrClosed})
	default:
		r.end(&Error{Code: CodeCanceled, Message: "not sent: the batch was ended", Err: context.Canceled})
	}
}

// cacheFor returns the cache for a request of the task, or nil if its responses are not cached.
func (c *Client) cacheFor(t *task) *httpcache.Cache {
	if c.cache == nil || t.options.bypassesCache() || c.cfg.Cache != CacheAll && t.walk == nil {
		return nil
	}
	return c.cache
}

// nextURL returns the URL of the next page, or why it must not be followed. It does not change
// the cursor in the URL, which is opaque.
func (c *Client) nextURL(from, href string) (next *url.URL, why string) {
	base, err := url.Parse(from)
	if err != nil {
		return nil, "the URL of this page is not valid"
	}
	next, err = base.Parse(c.auth.StripKeys(strings.TrimSpace(href)))
	if err != nil {
		return nil, "the URL of the page is not valid: " + quote(weburl.Redact(href))
	}
	next.User, next.Fragment, next.RawFragment = nil, "", ""
	next.Scheme = strings.ToLower(next.Scheme)
	if next.Scheme == "http" && base.Scheme == "https" && strings.EqualFold(next.Hostname(), base.Hostname()) && next.Port() == "" {
		// A server behind a proxy that terminates TLS may assume that it is reached over
		// http.
		next.Scheme = "https"
		next.Host = base.Host
	}
	if next.Scheme != base.Scheme || weburl.Host(next) != weburl.Host(base) {
		return nil, "the page is on another server: " + quote(weburl.Redact(next.String()))
	}
	return next, ""
}

// Search sends the same requests as [Client.Lookup], and yields the results page by page as
// they arrive, without keeping them. If the query fails or the server returns 404, Search
// yields an *[Error] with a nil page. If a later page cannot be read, the last error wraps
// [ErrIncomplete] and the [*Error] of that page. No more pages are requested after a break out
// of the loop. If a query finds one object or is not a search, Search yields the response as
// the only page. It does not follow links.
func (c *Client) Search(ctx context.Context, q Query, opts ...Option) iter.Seq2[*Page, error] {
	return func(yield func(*Page, error) bool) {
		if e := c.use(); e != nil {
			yield(nil, e)
			return
		}
		defer c.users.Leave()
		r := &Result{Query: c.registrable(q)}
		servers, err := c.resolve(ctx, r.Query)
		if err != nil {
			yield(nil, err)
			return
		}
		gone := false
		t := c.newTask(r, servers)
		t.noLinks, t.options = true, newOptions(opts)
		if q.Search != nil {
			t.search = &search{each: func(p *Page) bool {
				gone = !yield(p, nil)
				return !gone
			}}
		}
		c.run(ctx, t)
		switch {
		case gone:
		case r.reason() != nil:
			yield(nil, r.reason())
		case r.Paging == nil:
			yield(&Page{Number: 1, URL: r.URL, Raw: r.Raw, Paging: Paging{Complete: true}}, nil)
		case !r.Paging.Complete:
			yield(nil, &incompleteError{"the results are not complete: after " + counted(r.Paging.Results) + " " + r.Paging.Stopped, r.Paging.Failure})
		}
	}
}

// leaksTo reports whether following a link to u would leak a secret. A secret is a credential,
// or a key in the URL of the server whose record has the link.
func (c *Client) leaksTo(t *task, u *url.URL) bool {
	if c.auth.Leaks(u) {
		return true
	}
	for _, base := range t.walk.origin.URLs {
		from, err := url.Parse(base)
		if err == nil && weburl.Origin(from) != weburl.Origin(u) && secret.NewSet(secret.OfURL(from)).InURL(u) {
			return true
		}
	}
	return false
}
