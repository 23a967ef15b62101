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

// originKey is what requests must have in common to share a connection.
type originKey struct {
	scheme, host, port string
	proxy              proxy
	guarded            bool // only public addresses will do
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

// An origin holds the connections to one server and the requests that wait for
// a place on them.
//
// No method of a carrier that may block is called under mu. Carriers call kick
// from goroutines of their own, so it takes no lock: it only starts a dispatch, and
// only while somebody waits. For no wake-up to be lost, waiting is raised before a
// request looks for a place.
type origin struct {
	p               *Pool
	key             originKey
	address         string       // of key
	users           atomic.Int64 // requests that have no response yet; raised with the Pool locked
	waiting         atomic.Int64 // requests that look for a place or wait for one
	dispatchPending atomic.Bool  // a dispatch is about to run

	plan     atomic.Pointer[connPlan] // for Capacity, which takes no lock of the origin
	demand   atomic.Int64             // the last that Capacity was called with
	demandAt atomic.Int64             // when, in ns since 1970

	mu             sync.Mutex
	conns          []*conn
	dials          []*dial // under way
	queue          []*waiter
	proto          string        // what the server last negotiated; empty: not known yet
	maxConns       int           // connections that the server was seen to take at most; 0: not known
	maxConnsUntil  time.Time     // until when most counts
	perConn        int           // requests that a connection was seen to serve at most; 0: not known
	lastServed     int           // what the last connection cut by the server had served
	streams        int           // stream limit of the last connection; 0: not known
	streamsRefused bool          // streams is what refusals showed
	refused        bool          // a stream was refused
	pauses         int           // pauses after refusals since a response began
	sharing        bool          // connections that were dialed together share the queue
	grantLimit     int           // requests that each may have got by now; 0: no bound
	newest         *conn         // while it is given out for the first time
	pickCount      int64         // counts calls of pick
	h3Race         *h3Race       // between HTTP/3 and TCP; nil: none
	rtt            time.Duration // as seen when a connection was made; 0: not known
	altSvc         []string      // Alt-Svc as it was read last, at altSvcAt
	altSvcAt       time.Time

	evictedAt         time.Time    // when a connection was last closed to make room for others
	closedConns       []closedConn // connections that have ended lately
	extraAt           time.Time    // when a connection was last opened for a request that avoids others
	plainAt           time.Time    // the same, for one WithPlain
	suspicions        int          // calls of Suspect
	relaxed           bool         // some waiters need less than before
	resumedSuccesses  int          // convincing responses on connections that resumed a session
	fastOpenSuccesses int          // the same for TCP Fast Open

	stalledSince time.Time // since when nothing will end the wait of the queue; zero: it will end

	h3         h3Health
	closed     bool
	stats      originStats
	savedModel timeModel // has a lock of its own

	noEarlyData atomic.Bool  // the server wants no early data
	desyncNews  atomic.Bool  // a connection was found suspect, and no request knows yet
	desyncUntil atomic.Int64 // until when a connection gets one HTTP/1.1 request, in Unix nanoseconds
	onlyHTTP1   atomic.Bool  // HTTP/2 is left alone
	abandoned   int          // connections that were given up
}

// A waiter is a request that waits for a place.
type waiter struct {
	requirement
	placed chan placement
}

type placement struct {
	c   *conn
	use connUse
	err error
}

// connUse says what a request found a connection like.
type connUse struct {
	first      bool // nobody had used it before
	mayBeStale bool // it had been open for a while: the server may have closed it since
}

func newOrigin(p *Pool, key originKey) *origin {
	o := &origin{p: p, key: key, address: key.address()}
	o.loadInfo()
	p.restoreFaultsLocked(o)
	o.publishPlanLocked() // nobody else has it yet
	return o
}

// acquire returns a connection with a place reserved on it that satisfies n.
func (o *origin) acquire(ctx context.Context, n requirement) (*conn, connUse, error) {
	if o.p.cfg.noReuse() {
		return o.dialForOne(ctx, n)
	}
	o.waiting.Add(1)
	defer o.waiting.Add(-1)
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return nil, connUse{}, ErrClosed
	}
	n = o.completeLocked(n)
	if len(o.queue) == 0 {
		o.grantLimit = o.grantLimitLocked(1)
		if c := o.pickLocked(&n); c != nil {
			u := connUse{first: c.granted == 1, mayBeStale: true}
			o.mu.Unlock()
			return c, u, nil
		}
	}
	w := &waiter{requirement: n, placed: make(chan placement, 1)}
	o.queue = append(o.queue, w)
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
	// It was granted a place, or refused one, in the same moment.
	if g := <-w.placed; g.c != nil {
		o.releaseLocked(g.c)
		o.dispatchLocked()
	}
	return nil, connUse{}, &Error{Step: StepQueue, Origin: o.key.String(), Err: context.Cause(ctx)}
}

// pickLocked reserves a place: over HTTP/2 on the least loaded connection, over
// HTTP/1.1 on the one that was used last.
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
		if best.inflight == 0 && !best.idleAt.IsZero() && sinceWallClock(best.idleAt) > o.p.cfg.IdleTimeout {
			best.draining, best.closedBy = true, ClosedIdle // its timer may have slept with the machine
		} else if age := o.p.cfg.MaxConnAge; age > 0 && best.granted > 0 && sinceWallClock(best.openedAt) >= age {
			best.draining, best.closedBy = true, ClosedAge
		} else if o.mayProbeLocked(best) && best.reserve(o.perConnNow()) {
			o.learnStreams(best)
			if best.inflight == 1 {
				o.p.limiter.markReused(best)
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

// sinceWallClock is the time that passed on the wall clock, which goes on while
// the machine is suspended.
func sinceWallClock(t time.Time) time.Duration { return time.Now().Round(0).Sub(t.Round(0)) }

// dispatchLocked gives free places to those who wait, in their order, and
// dials for the rest as far as that is worth it.
func (o *origin) dispatchLocked() {
	o.grantLimit = o.grantLimitLocked(len(o.queue))
	kept := o.queue[:0]
	full := false
	for _, w := range o.queue {
		var c *conn
		any := w.newerThan == 0 && !w.constrained()
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

// connChanged is what carriers call: a place may have become free, or a connection may
// have ended.
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

// A stallError is the cause of an [Error] where the server keeps connections open
// and takes no request on them.
type stallError struct{}

func (stallError) Error() string {
	return "the server takes no request on the connections that it keeps open"
}

func (stallError) Timeout() bool { return true }

var errStalled error = stallError{}

// watchQueueLocked bounds the wait of requests that nothing is going to end: no
// other request is in flight whose end would make room, and no connection is being
// made. A server may allow no stream for a moment. One that allows none for
// Config.ConnectTimeout has no working connection, so those it has are closed.
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
	time.AfterFunc(o.p.cfg.ConnectTimeout, func() {
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

func (o *origin) depthLocked() int {
	depth := len(o.queue)
	for _, c := range o.conns {
		if !c.retired {
			depth += c.inflight
		}
	}
	return depth
}

// Bounds of the requests that are sent while nothing is known of an origin's
// stream limit: maxUnproven in all, on connections that have answered nothing. On
// one that has, slowStart and two for each response are in flight.
const (
	maxUnproven = 100 // what net/http sends on one connection
	slowStart   = 8
)

// mayProbeLocked reports whether c may get a request as far as the origin's
// other connections are concerned.
func (o *origin) mayProbeLocked(c *conn) bool {
	if !c.unproven() {
		return true
	}
	sent, inflight := 0, 0
	for _, other := range o.conns {
		if other.paused {
			return false // it is finding out what this one has to keep to
		}
		if other.unproven() {
			sent += other.granted
			inflight += other.inflight
		}
	}
	// One at a time where they were all refused.
	return sent < maxUnproven && !o.refused || inflight == 0
}

// failQueueLocked fails all that wait.
func (o *origin) failQueueLocked(err error) {
	for _, w := range o.queue {
		w.placed <- placement{err: err}
	}
	clear(o.queue)
	o.queue = o.queue[:0]
}
