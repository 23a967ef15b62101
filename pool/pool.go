// Package pool is an [http.RoundTripper] that opens as few connections and TLS handshakes as
// possible, and reports how many. It handles HTTP, TLS and QUIC, but has no knowledge of RDAP:
// its caller interprets responses, limits rates and repeats queries.
//
// Start with [New] and use the Pool as the Transport of an [http.Client], or call
// [Pool.RoundTrip]. Each origin (scheme, host and port) has its own connections:
//
//   - A cold origin is dialed once. Other requests wait for that connection and use the
//     negotiated protocol.
//   - Over HTTP/2, requests share a connection up to the server's stream limit. A deep queue
//     opens a few more connections.
//   - HTTP/3 is used for a shallow queue if [Config.Protocols] names it and the origin offers
//     it. Requests without credentials go out as early data. TCP is used where UDP is blocked.
//   - Over HTTP/1.1, connections are opened as the queue needs them, up to
//     [Config.MaxConnsPerHost]. The most recently used one is reused first.
//   - A request whose reused connection turns out to be closed is sent again on a new
//     connection, if that is safe, and so is a request that the server did not process. See
//     [Pool.RoundTrip].
//   - TLS sessions are resumed.
//   - A connection or an address that only fails is avoided, if the caller marks the requests
//     that it repeats: see [AvoidConn].
//
// [Config.NoReuse] turns all of this off, to measure its effect: each request has a full
// handshake. [WithTrace] reports how one request was sent, and [Pool.Stats] adds up all
// requests.
//
// A response body that is closed early is drained up to a limit, so that its connection can be
// reused.
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

	"github.com/rdapq/rdapq/internal/callback"
)

// A Pool sends HTTP requests over few connections. Create a Pool with [New]: the methods of the
// zero value return errors. It is safe for concurrent use. Close frees all resources.
type Pool struct {
	cfg       Config
	dialer    *dialer
	sessions  sessionStore // nil means no resumption
	store     originStore
	limiter   connLimiter
	h3        h3Dialer // nil means no HTTP/3
	onlyH3    bool
	lastConn  atomic.Int64
	callbacks callbacks
	silent    bool // nothing is logged

	closeLimit time.Duration // limits the wait in Close

	tcpFailedGrace time.Duration // is tcpFailedGrace, except in tests

	mu        sync.Mutex
	origins   map[originKey]*origin
	servers   map[string][]*origin      // origins by originKey.String
	sweepAt   int                       // number of origins above which idle origins are swept
	summaries map[string]*originSummary // by name, for swept origins that had only counts
	forgotten Stats                     // sums over all other swept origins
	faults    map[originKey]originFaults
	closed    bool
	work      sync.WaitGroup // counts running dials
	ctx       context.Context
	cancel    context.CancelFunc

	savedModel timeModel // time model of all origins
}

// ErrClosed is the error of requests to a closed Pool.
var ErrClosed = errors.New("pool: closed")

// New returns a Pool. The error is a [*ConfigError] if the configuration is
// contradictory or names an unknown protocol.
func New(c Config) (*Pool, error) {
	quiet := c.Logger == nil
	c = c.withDefaults()
	p := &Pool{cfg: c, silent: quiet, origins: make(map[originKey]*origin), servers: make(map[string][]*origin), summaries: make(map[string]*originSummary), sweepAt: maxNewOrigins, closeLimit: defaultCloseLimit, tcpFailedGrace: tcpFailedGrace}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.limiter.max = c.MaxConns
	p.sessions = p.sessionStore()
	p.store = frontOf(c.Origins, p.storeFailed("what the OriginStore has is not used"))
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

// RoundTrip sends one request and returns its response. The caller must close the body; reading
// it to the end or closing it frees the connection.
//
// RoundTrip retries a request transparently only if it has no body or can make it again
// ([http.Request.GetBody]), and no byte of a response has arrived. A request that the server
// did not process (GOAWAY, a refused stream, rejected early data) is retried whatever its
// method, as long as the server answers other requests. A request whose connection ended for
// another reason is retried if its method is GET, HEAD, OPTIONS or TRACE or it has an
// Idempotency-Key field. The retries use newer connections: once or twice, or up to six times
// if the failed connections had answered other requests. With NoReuse nothing is retried.
//
// An error in making a connection, or in waiting for one, is an *[Error]. [ErrClosed] and
// errors in the request itself are returned as they are.
//
// RoundTrip calls the httptrace hooks GetConn and GotConn, and the hooks for reading and
// writing. It does not call hooks for connection set-up, because a connection may be made for
// several requests; [Trace] has the times of the set-up.
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
	// same counts retries on the connection that had failed; last is the number of that
	// connection
	var same, last int64
	way := constraintsOf(req.Context())
	var trial *h3Trial // request over HTTP/3 that is sent over TCP as well
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
		if wantsClose(req) {
			o.endAfter(c)
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
			return o.deliver(c, req, resp, delivery{start: start, sent: sent, first: u.first, retries: again.retries, retriesSameConn: same, constraints: way}), nil
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
				err = cause // the end of ctx ended the request
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

// originFor returns the origin of req and creates it on first use. It adds the
// caller to the origin's users.
func (p *Pool) originFor(req *http.Request) (*origin, error) {
	if p.ctx == nil {
		return nil, errNotMade
	}
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
		f.load(req.Context(), key.String())
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

// defaultCloseLimit limits the time that Close waits.
const defaultCloseLimit = 900 * time.Millisecond

// Close ends all connections and dials; requests in flight fail. Close always returns nil,
// within a second. It waits for calls of Config.OnEvent, Config.Logger and the stores, but
// returns immediately if one of them calls Close.
func (p *Pool) Close() error {
	if p.ctx == nil {
		return nil
	}
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
		p.waitForStores()
		p.callbacks.wait() // stores add to them
	}
	if callback.Running() {
		go func() {
			finish()
			p.abandonStores()
		}()
		return nil
	}
	waitAtMost(p.closeLimit, finish)
	p.abandonStores()
	return nil
}

// storeFailed returns a function that warns once.
func (p *Pool) storeFailed(message string) func(error) {
	var once sync.Once
	return func(err error) {
		if !p.silent {
			once.Do(func() { p.callbacks.add(func() { p.cfg.Logger.Warn(message, "error", err) }) })
		}
	}
}

// waitForStores waits for the calls of the user's stores.
func (p *Pool) waitForStores() {
	if f, ok := p.store.(*originStoreFront); ok {
		f.calls.wait()
	}
	if u, ok := p.sessions.(*userSessions); ok {
		u.calls.wait()
	}
}

// abandonStores ends the calls of the user's stores.
func (p *Pool) abandonStores() {
	if f, ok := p.store.(*originStoreFront); ok {
		f.calls.cancel()
	}
	if u, ok := p.sessions.(*userSessions); ok {
		u.calls.cancel()
	}
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

// speaksH3 reports whether HTTP/3 is enabled.
func (p *Pool) speaksH3() bool { return p.h3 != nil }

// insecure reports whether certificates are not verified. Another host then cannot prove
// its authority for an origin (RFC 7838 section 2.1).
func (p *Pool) insecure() bool { return p.cfg.TLS != nil && p.cfg.TLS.InsecureSkipVerify }

// enableH3 sets up HTTP/3 if the configuration names it.
func (p *Pool) enableH3() (err error) {
	named := slices.Contains(p.cfg.Protocols, protoHTTP3)
	p.onlyH3 = named && !slices.ContainsFunc(p.cfg.Protocols, func(name string) bool { return name != protoHTTP3 })
	switch {
	case p.onlyH3 && p.cfg.Dial != nil:
		return configError("Protocols", "HTTP/3 alone cannot be used together with Dial")
	case named && p.cfg.Dial == nil:
		p.h3, err = newH3Dialer(p.cfg, p.dialer, func() int64 { return p.lastConn.Add(1) })
	}
	return err
}

// waitAtMost waits for f, for limit at most.
func waitAtMost(limit time.Duration, f func()) { waitInSteps(limit, 1, f) }

// waitInSteps waits for f in steps. With a single step, the whole limit could pass while the
// process gets no CPU time.
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
