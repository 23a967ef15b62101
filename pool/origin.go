package pool

import (
	"context"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	protoHTTP1 = "http/1.1"
	protoHTTP2 = "h2"
	protoHTTP3 = "h3"
)

// originKey identifies what requests must have in common to share a connection.
type originKey struct {
	scheme, host, port string
	proxy              proxy
	guarded            bool // requests connect to public addresses only
}

func originKeyOf(u *url.URL) originKey {
	k := originKey{scheme: u.Scheme, host: u.Hostname(), port: u.Port()}
	if strings.ContainsFunc(k.host, func(r rune) bool { return 'A' <= r && r <= 'Z' }) {
		k.host = strings.ToLower(k.host)
	}
	if k.port == "" {
		k.port = "443"
		if k.scheme == "http" {
			k.port = "80"
		}
	}
	return k
}

func (k originKey) address() string { return net.JoinHostPort(k.host, k.port) }

func (k originKey) String() string {
	host := k.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if k.scheme == "https" && k.port == "443" || k.scheme == "http" && k.port == "80" {
		return k.scheme + "://" + host
	}
	return k.scheme + "://" + host + ":" + k.port
}

// An origin holds the connections to one server and the requests that wait for a slot on them.
//
// No method of a clientConn that may block is called under mu. Connections call connChanged
// from their own goroutines; connChanged takes no lock, and starts a dispatch if a request
// waits. A request raises waiting before it looks for a slot, so that no wake-up is lost.
type origin struct {
	pool            *Pool
	key             originKey
	address         string       // host and port of key
	users           atomic.Int64 // number of requests without a response so far; raised under Pool.mu
	waiting         atomic.Int64 // number of requests that look for a slot or wait for one
	dispatchPending atomic.Bool  // a dispatch is about to run

	plan     atomic.Pointer[connPlan] // plan for Capacity, which does not take mu
	demand   atomic.Int64             // demand argument of the last call of Capacity
	demandAt atomic.Int64             // time of the last call of Capacity, in Unix nanoseconds

	mu             sync.Mutex
	conns          []*conn
	dials          []*dial // running dials
	queue          []*waiter
	proto          string        // protocol negotiated last; empty means unknown
	maxConns       int           // maximum number of connections that the server accepted; 0 means unknown
	maxConnsUntil  time.Time     // expiry of maxConns
	perConn        int           // maximum number of requests that the server answered per connection; 0 means unknown
	lastServed     int           // number of requests on the last connection that the server cut
	streams        int           // stream limit of the last connection; 0 means unknown
	streamsRefused bool          // streams was learned from refusals
	refused        bool          // the server refused a stream
	pauses         int           // pauses after refusals since the last response
	sharing        bool          // connections dialed together share the queue
	grantLimit     int           // maximum number of requests per connection so far; 0 means no limit
	newest         *conn         // connection that the first dispatch after its dial serves
	pickCount      int64         // number of calls of pickLocked
	h3Race         *h3Race       // nil means none is running
	rtt            time.Duration // round-trip time measured when a connection was made; 0 means unknown
	altSvc         []string      // last Alt-Svc field, read at altSvcAt
	altSvcAt       time.Time

	evictedAt         time.Time    // when a connection was last closed to make room for another
	closedConns       []closedConn // properties of recently closed connections
	extraAt           time.Time    // when a connection was last opened for a request that avoids others
	plainAt           time.Time    // when a connection was last opened for a WithPlain request
	extraTimer        *time.Timer  // ends the pause between such connections; nil if no request waits for that
	suspicions        int          // number of calls of Suspect
	relaxed           bool         // the requirement of a waiter was lowered
	resumedSuccesses  int          // successful responses on connections that resumed a session
	fastOpenSuccesses int          // successful responses on connections with TCP Fast Open

	// start of the time in which nothing will end the wait of the queue; zero if something will
	stalledSince time.Time

	h3         h3Health
	closed     bool
	stats      originStats
	savedModel timeModel // has a lock of its own

	noEarlyData atomic.Bool  // early data failed recently
	desyncNews  atomic.Bool  // a connection was found suspect, and no request has reported the finding so far
	desyncUntil atomic.Int64 // time until which each HTTP/1.1 connection gets one request, in Unix nanoseconds
	// an HTTP/1.1 response matched its request, after a response that fits any request
	inStep    atomic.Bool
	unproved  atomic.Int64 // see maxUnproved
	onlyHTTP1 atomic.Bool  // the origin is no longer used over HTTP/2
	abandoned int          // number of abandoned connections
}

// A waiter is a request in the queue.
type waiter struct {
	requirement
	placed chan placement
}

type placement struct {
	c   *conn
	use connUse
	err error
}

// connUse describes a connection when a request got its slot.
type connUse struct {
	first      bool // no request had used the connection before
	mayBeStale bool // the connection was idle, and the server may have closed it since
}

func newOrigin(p *Pool, key originKey) *origin {
	o := &origin{pool: p, key: key, address: key.address()}
	o.loadInfo()
	p.restoreFaultsLocked(o)
	o.publishPlanLocked() // needs no lock: no other goroutine can access o yet
	return o
}

// acquire returns a connection that satisfies n, with a slot reserved on it.
func (o *origin) acquire(ctx context.Context, n requirement) (*conn, connUse, error) {
	if ctx.Err() != nil { // do not dial for it
		return nil, connUse{}, &Error{Step: StepQueue, Origin: o.key.String(), Err: context.Cause(ctx)}
	}
	o.waiting.Add(1)
	defer o.waiting.Add(-1)
	if o.pool.cfg.noReuse() {
		return o.dialForOne(ctx, n)
	}
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return nil, connUse{}, ErrClosed
	}
	n = o.completeLocked(n)
	if i := slices.IndexFunc(o.conns, func(c *conn) bool { return n.fresh && c.id == n.gone }); i >= 0 {
		o.leaveLocked(o.conns[i], ClosedPool)
	}
	if len(o.queue) == 0 {
		o.grantLimit = o.grantLimitLocked(1)
		if c := o.pickLocked(&n); c != nil {
			u := connUse{first: c.granted == 1, mayBeStale: true}
			o.mu.Unlock()
			return c, u, nil
		}
	}
	w := &waiter{requirement: n, placed: make(chan placement, 1)}
	if n.fresh {
		o.queue = slices.Insert(o.queue, 0, w) // waiters at the back would let others use up new connections
	} else {
		o.queue = append(o.queue, w)
	}
	o.dispatchLocked()
	o.mu.Unlock()

	select {
	case g := <-w.placed:
		return g.c, g.use, g.err
	case <-ctx.Done():
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := slices.Index(o.queue, w); i >= 0 {
		o.queue = slices.Delete(o.queue, i, i+1)
		step := o.stepLocked()
		if len(o.queue) == 0 {
			for _, d := range o.dials {
				d.cancel()
			}
		}
		return nil, connUse{}, &Error{Step: step, Origin: o.key.String(), Err: context.Cause(ctx)}
	}
	// The waiter was served or failed at the same moment.
	if g := <-w.placed; g.c != nil {
		o.releaseLocked(g.c)
		o.dispatchLocked()
	}
	return nil, connUse{}, &Error{Step: StepQueue, Origin: o.key.String(), Err: context.Cause(ctx)}
}

// pickLocked reserves a slot: over HTTP/2 on the least loaded connection, over
// HTTP/1.1 on the most recently used one.
func (o *origin) pickLocked(n *requirement) *conn {
	o.pickCount++
	for {
		var best *conn
		for _, c := range o.conns {
			switch {
			case c.draining, o.suspendedLocked(c), c.lastPick == o.pickCount, !n.accepts(c),
				!c.shared() && c.inflight > 0,
				o.grantLimit > 0 && c.granted >= o.grantLimit:
				continue
			}
			if best == nil || c.betterThan(best) {
				best = c
			}
		}
		if best == nil {
			return nil
		}
		best.lastPick = o.pickCount
		if best.inflight == 0 && !best.idleAt.IsZero() && sinceWallClock(best.idleAt) > o.pool.cfg.IdleTimeout {
			// the idle timer stops while the machine is suspended
			best.draining, best.closedBy = true, ClosedIdle
		} else if age := o.pool.cfg.MaxConnAge; age > 0 && best.granted > 0 && sinceWallClock(best.openedAt) >= age {
			best.draining, best.closedBy = true, ClosedAge
		} else if o.mayProbeLocked(best) && best.reserve(o.perConnNow()) {
			o.stats.InFlight++
			o.learnStreams(best)
			if best.inflight == 1 {
				o.pool.limiter.markReused(best)
				if best.idleTimer != nil {
					best.idleTimer.Stop()
				}
			}
			return best
		}
		if best.dead() {
			o.remove(best, best.endedBy())
		}
	}
}

// sinceWallClock returns the time since t by the wall clock, which advances while
// the machine is suspended.
func sinceWallClock(t time.Time) time.Duration { return time.Now().Round(0).Sub(t.Round(0)) }

// dispatchLocked assigns free slots to waiters in FIFO order and dials for the rest
// if worthwhile.
func (o *origin) dispatchLocked() {
	o.grantLimit = o.grantLimitLocked(len(o.queue))
	kept := o.queue[:0]
	full := false
	for _, w := range o.queue {
		var c *conn
		any := w.newerThan == 0 && !w.fresh && !w.constrained()
		if !full || !any {
			c = o.pickLocked(&w.requirement)
		}
		if c == nil {
			full = full || any
			kept = append(kept, w)
			continue
		}
		w.placed <- placement{c: c, use: connUse{first: c.granted == 1, mayBeStale: c.granted > 1 || c != o.newest}}
	}
	clear(o.queue[len(kept):])
	o.queue = kept
	o.publishPlanLocked()
	o.growLocked()
	if o.relaxed {
		o.relaxed = false
		o.dispatchLocked()
		return
	}
	o.watchQueueLocked()
}

// connChanged records that a slot may be free, or that the connection has ended. Connections
// call it.
func (o *origin) connChanged(gone bool) {
	if (gone || o.waiting.Load() > 0) && o.dispatchPending.CompareAndSwap(false, true) {
		go o.dispatch()
	}
}

func (o *origin) dispatch() {
	o.dispatchPending.Store(false)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	for _, c := range slices.Clone(o.conns) {
		if c.dead() {
			o.remove(c, c.endedBy())
		}
	}
	o.dispatchLocked()
}

// A stallError is the cause of an [Error] if the server keeps connections open and
// accepts no request on them.
type stallError struct{}

func (stallError) Error() string {
	return "the server accepts no requests on its open connections"
}

func (stallError) Timeout() bool { return true }

var errStalled error = stallError{}

// watchQueueLocked limits the wait of requests if no request is in flight and no dial is
// running, because nothing else would end their wait. A server may allow no stream for a
// moment. If the server allows none for Config.ConnectTimeout, the connections do not work and
// are closed.
func (o *origin) watchQueueLocked() {
	if !o.stalledLocked() {
		o.stalledSince = time.Time{}
		return
	}
	if !o.stalledSince.IsZero() {
		return
	}
	since := time.Now()
	o.stalledSince = since
	time.AfterFunc(o.pool.cfg.ConnectTimeout, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if !o.stalledSince.Equal(since) || !o.stalledLocked() || o.closed {
			return
		}
		o.stalledSince = time.Time{}
		err := &Error{Step: StepQueue, Origin: o.key.String(), Err: errStalled}
		for _, w := range o.queue {
			w.placed <- placement{err: err}
		}
		clear(o.queue)
		o.queue = o.queue[:0]
		for _, c := range slices.Clone(o.conns) {
			o.remove(c, ClosedError)
		}
	})
}

func (o *origin) stalledLocked() bool {
	if len(o.queue) == 0 || len(o.conns) == 0 || len(o.dials) > 0 || o.h3Race != nil {
		return false
	}
	for _, c := range o.conns {
		if c.inflight > 0 {
			return false
		}
	}
	return true
}

// waitingLocked returns the number of requests that wait for a connection or a stream.
func (o *origin) waitingLocked() int64 {
	if o.pool.cfg.noReuse() {
		return o.waiting.Load() // such requests are not in a queue
	}
	return int64(len(o.queue))
}

func (o *origin) depthLocked() int {
	depth := len(o.queue)
	for _, c := range o.conns {
		if !c.retired {
			depth += c.inflight
		}
	}
	return depth
}

// Limits while the stream limit of an origin is unknown. Connections without a response get at
// most maxUnproven requests in total. A connection with responses gets slowStart requests, and
// two more per response.
const (
	maxUnproven = 100 // number of requests that net/http sends on one connection
	slowStart   = 8
)

// mayProbeLocked reports whether c may get a request, considering the other
// connections of the origin.
func (o *origin) mayProbeLocked(c *conn) bool {
	if !c.unproven() {
		return true
	}
	sent, inflight := 0, 0
	for _, other := range o.conns {
		if other.paused {
			return false // the response on the paused connection decides
		}
		if other.unproven() {
			sent += other.granted
			inflight += other.inflight
		}
	}
	// If the server refused all requests, send one at a time.
	return sent < maxUnproven && !o.refused || inflight == 0
}

// failQueueLocked fails all waiters.
func (o *origin) failQueueLocked(err error) {
	for _, w := range o.queue {
		w.placed <- placement{err: err}
	}
	clear(o.queue)
	o.queue = o.queue[:0]
}
