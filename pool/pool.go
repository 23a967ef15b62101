// Package pool is an [http.RoundTripper] that pays for as few connections and
// TLS handshakes as the servers allow, and says what it paid.
//
// Start with [New] and use the Pool as the Transport of an [http.Client], or
// call [Pool.RoundTrip]. Each origin (scheme, host and port) gets connections
// of its own:
//
//   - A cold origin is dialed once. Everybody else waits for that connection
//     and shares what it negotiates.
//   - Over HTTP/2 requests share a connection, never more at once than the
//     server's stream limit; a deep queue earns a few connections more.
//   - HTTP/3 is used where [Config.Protocols] names it, the origin offers it, and
//     it wins: for a shallow queue. Requests without credentials then go out as
//     early data. TCP stands by where UDP is blocked.
//   - Over HTTP/1.1 connections are opened as the queue needs them, up to
//     [Config.MaxConnsPerHost]; the one used last is used first.
//   - A kept connection that turns out to be dead costs no request: one that
//     can be repeated is sent again on a new connection. Requests that the server
//     says it did not process are sent again too. See [Pool.RoundTrip].
//   - TLS sessions are resumed.
//   - A connection or an address that only fails is left for another one, if the
//     caller says which requests are repeated: see [AvoidConn].
//
// [Config.NoReuse] turns all of it off, one full handshake for each request,
// so that the saving can be measured. [WithTrace] tells how one request was
// carried, [Pool.Stats] how all of them were.
//
// A response body that is closed before its end is drained, a bounded amount,
// so that the connection lives on.
package pool

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Pool carries HTTP requests over few connections. Make it with [New]; it is
// safe for concurrent use, and Close frees all that it holds.
type Pool struct {
	cfg       Config
	dialer    *dialer
	sessions  SessionStore // nil: no resumption
	store     OriginStore
	limiter   connLimiter
	h3        h3Dialer // nil: no HTTP/3
	onlyH3    bool
	lastConn  atomic.Int64
	callbacks callbacks
	silent    bool // nothing is logged

	closeLimit time.Duration // of the wait in Close

	mu        sync.Mutex
	origins   map[originKey]*origin
	servers   map[string][]*origin      // the same by originKey.String
	sweepAt   int                       // how many of them there may be before idle ones are forgotten
	summaries map[string]*originSummary // by name, of those that are worth no more
	forgotten Stats                     // of all others
	faults    map[originKey]originFaults
	closed    bool
	work      sync.WaitGroup // dials
	ctx       context.Context
	cancel    context.CancelFunc

	savedModel timeModel // of all origins
}

// ErrClosed is the error of requests to a Pool that was closed.
var ErrClosed = errors.New("pool: closed")

// New returns a Pool. It fails if the configuration names a protocol that the
// package doesn't speak.
func New(c Config) (*Pool, error) {
	quiet := c.Logger == nil
	c = c.withDefaults()
	p := &Pool{cfg: c, silent: quiet, origins: make(map[originKey]*origin), servers: make(map[string][]*origin), summaries: make(map[string]*originSummary), sweepAt: maxNewOrigins, closeLimit: defaultCloseLimit}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.limiter.max = c.MaxConns
	p.sessions = c.sessionStore()
	p.store = frontOf(c.Origins)
	var err error
	if p.dialer, err = newDialer(c, p.sessions); err == nil {
		err = p.enableH3()
	}
	if err != nil {
		p.cancel()
		return nil, err
	}
	return p, nil
}

// RoundTrip sends one request and returns its response. The caller must close
// the body; reading it to the end or closing it frees the connection.
//
// A request is repeated without the caller seeing it only if it has no body or can
// make it again ([http.Request.GetBody]), and no byte of a response has arrived. As
// often as a server that goes on answering others says that it has not processed
// it (GOAWAY, a refused stream, early data that was not taken), it is sent again,
// whatever its method. When its connection ended without such a word, it is sent
// again if its method is GET, HEAD, OPTIONS or TRACE or it has a field
// Idempotency-Key: on a newer connection, once or twice, and up to six times if
// those connections had answered others. With NoReuse nothing is repeated.
//
// An error that comes of making a connection, or of waiting for one, is of type
// *[Error]. [ErrClosed], and what is wrong with the request itself, come as they
// are.
//
// Of the hooks of net/http/httptrace it calls GetConn, GotConn and those that are
// about what goes over the connection. Setting one up may be done for several
// requests at once, or for none: see [Trace] for how long it took.
func (p *Pool) RoundTrip(req *http.Request) (*http.Response, error) {
	start := time.Now()
	o, err := p.originFor(req)
	if err != nil {
		closeBody(req)
		return nil, err
	}
	defer o.users.Add(-1)
	o.savedModel.begin(start)
	p.savedModel.begin(start)
	hooks := httptrace.ContextClientTrace(req.Context())
	var again retrier
	var same, last int64 // repetitions on the connection that had failed; its number
	way := constraintsOf(req.Context())
	var trial *h3Trial // over HTTP/3, beside which the request is sent over TCP
	for {
		if hooks != nil && hooks.GetConn != nil {
			hooks.GetConn(o.address)
		}
		c, u, err := o.acquire(req.Context(), requirement{newerThan: again.newerThan, constraints: way})
		if err != nil {
			if trial.fallBack() {
				return o.deliverTrial(trial, delivery{start: start, retries: again.retries}), nil
			}
			trial.abandon()
			o.countFailed()
			closeBody(req)
			return nil, err
		}
		if hooks != nil {
			o.traceGotConn(c, hooks, u)
		}
		if c.id == last {
			same++
		}
		last = c.id
		sent, newest := time.Now(), p.lastConn.Load()
		var resp *http.Response
		if trial == nil && o.onTrial(c, req) {
			trial = o.startTrial(c, req, u, sent, newest)
			if !trial.waitResponse() {
				again.retries++
				req = req.WithContext(trial.tcpContext(req.Context()))
				o.countRetry(c, RetryHTTP3)
				continue
			}
			if err = trial.failure(); err == nil {
				return o.deliverTrial(trial, delivery{start: start, retries: again.retries}), nil
			}
			trial.releaseSlot()
		} else {
			resp, err = o.send(c, req)
		}
		if err == nil {
			trial.abandon()
			return o.deliver(c, req, resp, delivery{start: start, sent: sent, first: u.first, retries: again.retries, same: same, constraints: way}), nil
		}
		f := o.failed(c, req, err, newest)
		if p.cfg.noReuse() || !again.allowed(req, u.mayBeStale, f) {
			if trial.fallBack() {
				return o.deliverTrial(trial, delivery{start: start, retries: again.retries}), nil
			}
			trial.abandon()
			o.countFailed()
			if t := traceFrom(req.Context()); t != nil {
				t.FailedConn = c.id
			}
			if cause := context.Cause(req.Context()); cause != nil {
				err = cause // whatever it did to the request
			}
			return nil, c.peerAlert(err)
		}
		if req, err = rewind(req); err != nil {
			o.countFailed()
			return nil, err
		}
		if f.doubtful {
			way.avoid = append(slices.Clone(way.avoid), c.id)
		}
		o.countRetry(c, f.reason)
	}
}

// originFor returns the origin of req, which it makes on first use. The caller is
// one of its users now.
func (p *Pool) originFor(req *http.Request) (*origin, error) {
	if err := checkRequest(req); err != nil {
		return nil, err
	}
	key := originKeyOf(req.URL)
	var err error
	if key.proxy, err = proxyFor(&p.cfg, req); err != nil {
		return nil, &Error{Step: StepProxy, Origin: key.String(), Err: &ProxyError{Err: err}}
	}
	key.guarded = !p.cfg.AllowPrivate && guarded(req.Context())
	if err := key.checkLiteral(); err != nil {
		return nil, &Error{Step: StepConnect, Origin: key.String(), Err: err}
	}
	if f, ok := p.store.(*originStoreFront); ok && p.ctx.Err() == nil {
		f.load(key.String())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	o := p.origins[key]
	if o == nil {
		p.sweepLocked()
		o = newOrigin(p, key)
		if past := p.summaries[key.String()]; past != nil {
			o.evictedAt = past.evictedAt
		}
		p.origins[key] = o
		p.servers[key.String()] = append(p.servers[key.String()], o)
	}
	o.users.Add(1)
	return o, nil
}

// CloseIdleConnections closes the connections that carry no request.
func (p *Pool) CloseIdleConnections() {
	for _, o := range p.all() {
		o.closeIdle()
	}
}

// defaultCloseLimit bounds the time that Close waits.
const defaultCloseLimit = 900 * time.Millisecond

// Close ends all connections and dials; requests in flight fail. It always
// returns nil, within a second. It waits for calls of Config.OnEvent, Config.Logger
// and Config.Origins, unless one of them called it: then it returns without waiting.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	for _, o := range p.all() {
		o.close()
	}
	finish := func() {
		p.work.Wait()
		p.limiter.close()
		if p.h3 != nil {
			p.h3.close()
		}
		p.callbacks.wait()
		if f, ok := p.store.(*originStoreFront); ok {
			f.calls.wait()
		}
	}
	if calledByUser() {
		go finish()
		return nil
	}
	waitAtMost(p.closeLimit, finish)
	return nil
}

func (p *Pool) all() []*origin {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]*origin, 0, len(p.origins))
	for _, o := range p.origins {
		all = append(all, o)
	}
	return all
}

func closeBody(req *http.Request) {
	if req != nil && req.Body != nil {
		req.Body.Close()
	}
}

var _ interface {
	http.RoundTripper
	io.Closer
} = (*Pool)(nil)

// speaksH3 reports whether HTTP/3 is spoken at all.
func (p *Pool) speaksH3() bool { return p.h3 != nil }

// insecure reports whether certificates are not verified, so that another host
// can't prove that it may speak for an origin (RFC 7838 section 2.1).
func (p *Pool) insecure() bool { return p.cfg.TLS != nil && p.cfg.TLS.InsecureSkipVerify }

// enableH3 sets up HTTP/3 if the configuration names it.
func (p *Pool) enableH3() (err error) {
	named := slices.Contains(p.cfg.Protocols, protoHTTP3)
	p.onlyH3 = named && !slices.ContainsFunc(p.cfg.Protocols, func(name string) bool { return name != protoHTTP3 })
	switch {
	case p.onlyH3 && p.cfg.Dial != nil:
		return errors.New("pool: HTTP/3 and Dial exclude each other")
	case named && p.cfg.Dial == nil:
		p.h3, err = newH3Dialer(p.cfg, p.dialer, func() int64 { return p.lastConn.Add(1) })
	}
	return err
}

// waitAtMost waits for f, but not longer than that.
func waitAtMost(limit time.Duration, f func()) { waitInSteps(limit, 1, f) }

// waitInSteps waits in steps, so that a process that gets no CPU time does not
// find all of the limit gone.
func waitInSteps(limit time.Duration, steps int, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	timer := time.NewTimer(limit / time.Duration(steps))
	defer timer.Stop()
	for range steps {
		select {
		case <-done:
			return
		case <-timer.C:
			timer.Reset(limit / time.Duration(steps))
		}
	}
}
