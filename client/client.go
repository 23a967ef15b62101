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

// Version is the version of this module, as the default User-Agent tells it.
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

// A Resolver finds the servers responsible for a question;
// *[bootstrap.Resolver] is one. It must be safe for concurrent use, and quick: a
// Batch asks it about one input after another, and reads no further meanwhile. An
// error that wraps [bootstrap.ErrNoService] means that no server is known, one
// that wraps [bootstrap.ErrHTTPOnly] that only unencrypted ones are.
type Resolver interface {
	Resolve(context.Context, bootstrap.Question) (bootstrap.Answer, error)
}

// A Client asks RDAP servers. Make it with [New]; it is safe for concurrent
// use, and one serves a whole program.
type Client struct {
	cfg    Config
	own    []io.Closer // what Close closes
	pieces sync.Pool   // of *[pieceSize]byte, for bodies of unknown length
	named  namedServer

	speakers speakers // servers that have sent an RDAP response

	hosts   *gate.Hosts
	memory  *bodies // of single lookups
	tallies tallies
	helps   helps
	flights flights

	auth       *authenticator // nil: no server is told who asks
	cache      *cache         // nil: nothing is kept
	registrars func() map[string]string
	parked     atomic.Int64 // octets of bodies that follow waits with

	closeOnce sync.Once
	closed    chan struct{} // closed by Close
	ownPool   bool          // Close closes the connections
	languages []string      // the Accept-Language field; nil without
}

// New returns a Client. An error means that the configuration makes no sense, and
// names the field. Nothing is sent yet.
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

// ErrClosed is what the errors of a [Client] that was closed wrap.
var ErrClosed = errors.New("client: closed")

// Close ends what the Client does and closes what it made for itself. Batches
// come to their end as with [Client.Drain], lookups that wait end at once, and
// nothing more is asked, now or later: what is not asked is [CodeCanceled], with
// an error that wraps [ErrClosed]. So are requests under way if the connections are
// the Client's own. A Transport, Resolver or Store of limits given in the [Config] is
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
