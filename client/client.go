package client

import (
	"context"
	"errors"
	"hash/maphash"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/internal/gate"
	"github.com/rdapq/rdapq/pool"
)

// Version is the version of this module in the default User-Agent.
const Version = "0.1.0"

// Defaults of a [Config].
const (
	DefaultUserAgent      = "rdapq/" + Version + " (+https://github.com/rdapq/rdapq)"
	DefaultTimeout        = 15 * time.Second
	DefaultConnectTimeout = 10 * time.Second // or Config.Timeout if that is less
	DefaultJobs           = 64
	DefaultPerHost        = 8
	DefaultMaxBody        = 10 << 20
	DefaultMaxRedirects   = 5
	DefaultAttempts       = 3
	DefaultMaxWait        = 30 * time.Second // of Lookup
	DefaultBatchMaxWait   = 10 * time.Minute // of Batch
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

// A Client sends queries to RDAP servers. Make it with [New]. It is safe for
// concurrent use; a program needs only one.
type Client struct {
	cfg    Config
	own    []io.Closer // closed by Close
	pieces sync.Pool   // of *[pieceSize]byte, for bodies of unknown length
	named  namedServer

	speakers speakers // servers that have sent an RDAP response

	hosts   *gate.Hosts
	memory  *bodies // of single lookups
	tallies tallies
	helps   helps
	flights flights

	auth       *authenticator // nil: no credentials
	cache      *cache         // nil: no cache
	registrars func() map[string]string
	parked     atomic.Int64 // octets of bodies that follow waits with

	closeOnce sync.Once
	closed    chan struct{} // closed by Close
	ownPool   bool          // Close closes the connections
	languages []string      // the Accept-Language field; nil without
}

// New returns a Client. It sends nothing. The error names an invalid field of the
// configuration.
func New(cfg Config) (*Client, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg.withDefaults(), closed: make(chan struct{})}
	c.pieces.New = func() any { return new([pieceSize]byte) }
	c.hosts, c.memory = gate.New(c.cfg.gate()), newBodies(c.cfg.MaxMemory)
	c.flights.seed = maphash.MakeSeed()
	if field := acceptLanguage(c.cfg.Languages); field != "" {
		c.languages = []string{field}
	}
	c.cfg.secrets = newSecretsByOrigin(c.cfg.Credentials)
	c.auth = newAuthenticator(c.cfg.Credentials)
	c.cache, c.registrars = newCache(c.cfg), sync.OnceValue(BuiltinRegistrarURLs)
	if c.cfg.Transport == nil {
		p, err := pool.New(cfg.PoolConfig())
		if err != nil {
			return nil, err
		}
		c.cfg.Transport, c.ownPool = p, true
		c.own = append(c.own, p)
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

// Close ends all lookups and closes what New made. Batches end as with
// [Client.Drain], waiting lookups end immediately, and no further request is sent:
// lookups that were not sent end with [CodeCanceled] and an error that wraps
// [ErrClosed]. Requests in flight end in the same way on a Pool that New made. A
// Transport, Resolver or Store of limits given in the [Config] is
// left alone, and requests under way on that Transport go on to their end; redirects
// that they lead to are not followed.
//
// The error is that of saving Config.Budgets, or of closing. A Client may be
// closed more than once. A Logger, limit.Store, Resolver or hook may call Close: it
// does not wait for the call that it is part of.
func (c *Client) Close() error {
	c.closeOnce.Do(func() { close(c.closed) })
	c.Drain()
	errs := []error{c.flushLimits()}
	for _, closer := range slices.Backward(c.own) { // the Resolver uses the Pool
		errs = append(errs, closer.Close())
	}
	return errors.Join(errs...)
}

func (c *Client) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}
