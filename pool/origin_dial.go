package pool

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"
)

// Depths, in requests in flight or queued, from which one origin over HTTP/2 gets more than one
// connection. TCP slow start slows a single connection down, and a lost packet stalls it.
const (
	depthForFour  = 64
	depthForEight = 400
)

// A dial is a connection being made.
type dial struct {
	cancel context.CancelFunc
	h3     *h3Route     // route over QUIC; nil means over TCP
	http1  bool         // offer nothing but HTTP/1.1
	sent   func()       // called when the first QUIC packet is sent; may be nil
	step   atomic.Value // holds the current Step
	// error of a handshake that failed while resuming a session, and was repeated without the
	// session
	sessionErr error
	origin     *origin

	extra         bool         // the dial is for requests that avoid other connections
	plain         bool         // see WithPlain
	fullHandshake bool         // the handshake resumes no session
	noFastOpen    bool         // the dial does not use TCP Fast Open
	stopResuming  bool         // sessions of the origin are not resumed for a while
	avoid         []netip.Addr // addresses to try last
}

func (d *dial) setStep(s Step) { d.step.Store(s) }

// growLocked starts the dials that the queue justifies.
func (o *origin) growLocked() {
	if len(o.queue) == 0 || o.closed {
		return
	}
	for _, c := range o.conns {
		o.countAbandonedLocked(c) // requests on c may not have failed so far
	}
	spare := o.spareHTTP2Locked()
	if spare == 0 && !o.onlyHTTP1.Load() && !o.pool.dialer.offers(protoHTTP1) {
		return // wait until an HTTP/2 connection ends
	}
	o.growExtraLocked()
	if o.waitForH3Locked() {
		return
	}
	have := len(o.dials)
	for _, c := range o.conns {
		if !c.retired && !o.suspendedLocked(c) {
			have++
		}
	}
	n := o.wantLocked() - have
	if o.proto != protoHTTP1 {
		n = min(n, spare)
	}
	if n <= 0 && len(o.dials) == 0 && !o.canServeLocked() {
		// A request waits for a connection newer than all existing ones.
		if have >= o.capLocked() {
			o.evictLocked()
		}
		n = 1
	}
	if n > 0 && o.startH3RaceLocked() {
		return
	}
	for range n {
		o.startDialLocked(o.onlyRoute(), nil)
	}
}

// wantLocked returns the number of connections that the load justifies. The load is the
// number of requests queued or in flight, or the demand that a scheduler stated.
func (o *origin) wantLocked() int {
	return o.planLocked().wants(max(o.depthLocked(), o.demandNow()))
}

// capLocked returns the maximum number of connections of the origin.
func (o *origin) capLocked() int { return o.planLocked().limit() }

// canServeLocked reports whether an existing connection satisfies every waiter.
func (o *origin) canServeLocked() bool {
	newest := o.newestLocked()
	for _, w := range o.queue {
		if (w.fresh || w.newerThan >= newest) && !w.constrained() {
			return false
		}
	}
	return true
}

// newestLocked returns the number of the newest connection that accepts requests, or
// -1.
func (o *origin) newestLocked() int64 {
	newest := int64(-1)
	for _, c := range o.conns {
		if perConn := o.perConnNow(); !c.draining && !o.suspendedLocked(c) && (perConn == 0 || c.granted < perConn) {
			newest = max(newest, c.id)
		}
	}
	return newest
}

// failNewerLocked fails the waiters that no connection satisfies, if no dial is running.
// Otherwise these waiters would cause dials for as long as the other connections last.
func (o *origin) failNewerLocked(err error) {
	if len(o.dials) > 0 {
		return
	}
	newest := o.newestLocked()
	o.queue = slices.DeleteFunc(o.queue, func(w *waiter) bool {
		if w.newerThan < newest {
			return false
		}
		w.placed <- placement{err: err}
		return true
	})
}

// startDialLocked starts a dial, over QUIC if route is not nil. The field dial.sent describes
// sent.
func (o *origin) startDialLocked(route *h3Route, sent func()) *dial {
	d := &dial{h3: route, sent: sent}
	o.startLocked(d)
	return d
}

// startLocked starts a dial.
func (o *origin) startLocked(d *dial) {
	if !o.evictedAt.IsZero() && time.Since(o.evictedAt) < o.pool.cfg.IdleTimeout {
		o.evictedAt = time.Time{}
		o.pool.limiter.markMissed()
	}
	ctx, cancel := context.WithCancel(o.pool.ctx)
	d.cancel, d.origin = cancel, o
	d.http1 = o.onlyHTTP1.Load() || d.h3 == nil && o.spareHTTP2Locked() == 0
	o.applyBlocks(d)
	d.setStep(StepConnect)
	o.dials = append(o.dials, d)
	o.stats.Dials++
	o.pool.work.Go(func() {
		defer cancel()
		c, err := o.pool.connect(ctx, o.key, d)
		o.dialed(d, c, err)
	})
}

// siblings returns the number of other connections and dials of the origin.
func (d *dial) siblings() int {
	o := d.origin
	if o == nil {
		return 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for _, x := range o.dials {
		if x != d {
			n++
		}
	}
	for _, c := range o.conns {
		if !c.draining || o.pool.cfg.noReuse() {
			n++
		}
	}
	return n
}

// dialed registers a new connection, or fails the waiters if the dial failed.
func (o *origin) dialed(d *dial, c *conn, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.countSessionFailure(d)
	o.dials = slices.DeleteFunc(o.dials, func(x *dial) bool { return x == d })
	if o.h3RaceDialedLocked(d, c, err) {
		return
	}
	switch {
	case err == nil && o.closed:
		go c.cc.Close()
	case err == nil && c.protocol == protoHTTP2 && o.onlyHTTP1.Load():
		go c.cc.Close() // HTTP/2 was disabled during the dial
		o.dispatchLocked()
	case err == nil:
		o.proto = c.protocol
		if o.streams > 0 && c.protocol == protoHTTP2 {
			c.limit = streamLimit{n: o.streams, assumed: !o.streamsRefused, raiseAfter: firstRaise}
		}
		if rtt := c.setup.tcp + c.setup.tls; c.protocol == protoHTTP3 && rtt > 0 {
			o.rtt = rtt
		} else if c.setup.tcp > 0 {
			o.rtt = c.setup.tcp
		}
		c.plain = d.plain
		o.conns = append(o.conns, c)
		o.register(c)
		c.idleAt = time.Now()
		c.idleTimer = time.AfterFunc(o.pool.cfg.IdleTimeout, func() { o.expire(c) })
		c.cc.OnChange(o.connChanged)
		o.shareLocked(c)
		o.newest = c
		if d.extra {
			o.relaxAllLocked() // all other addresses may have failed, so the new address may be one to avoid
		}
		o.dispatchLocked()
		o.newest = nil
		if c.inflight == 0 && !c.removed {
			o.pool.limiter.markIdle(c)
		}
	case len(o.conns) > 0:
		// Other connections remain. Do not dial again immediately.
		if !errors.Is(err, context.Canceled) {
			o.dialFailed(err)
			if !d.extra {
				o.maxConns, o.maxConnsUntil = len(o.conns), time.Now().Add(10*time.Second)
			}
			o.relaxAllLocked()
			o.failNewerLocked(err)
		}
		o.dispatchLocked()
	case errors.Is(err, context.Canceled) && !o.closed:
		// The last waiter of the dial has given up. New waiters may have arrived since.
		o.dispatchLocked()
	default:
		o.dialFailed(err)
		if len(o.dials) > 0 {
			return
		}
		for _, w := range o.queue {
			w.placed <- placement{err: err}
		}
		clear(o.queue)
		o.queue = o.queue[:0]
	}
}

// shareLocked keeps the first of several connections that are dialed together from taking more
// than its share of the queue. The other connections follow in a moment, and the stream limit
// of each becomes known. After two round trips the existing connections take the remaining
// requests.
func (o *origin) shareLocked(c *conn) {
	if len(o.dials) == 0 || !c.shared() || o.sharing {
		return
	}
	o.sharing = true
	// use the maximum, because tcp is 0 under Fast Open
	time.AfterFunc(2*max(c.setup.tcp, c.setup.tls), func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.sharing = false; !o.closed {
			o.dispatchLocked()
		}
	})
}

// grantLimitLocked returns the maximum number of requests per connection while the waiters are
// served. 0 means no limit.
func (o *origin) grantLimitLocked(waiting int) int {
	if !o.sharing {
		return 0
	}
	all, young := waiting, len(o.dials) > 0
	for _, c := range o.conns {
		all += c.granted
		young = young || c.served == 0
	}
	if !young {
		o.sharing = false
		return 0
	}
	n := len(o.conns) + len(o.dials)
	return (all + n - 1) / n
}

// stepLocked returns the step at which a request that gives up now was waiting.
func (o *origin) stepLocked() Step {
	if len(o.dials) == 0 || len(o.conns) > 0 {
		return StepQueue
	}
	return o.dials[0].step.Load().(Step)
}

// dialForOne makes a connection for a single request.
func (o *origin) dialForOne(ctx context.Context, n requirement) (*conn, connUse, error) {
	if o.pool.ctx.Err() != nil {
		return nil, connUse{}, ErrClosed
	}
	d := &dial{h3: o.onlyRoute(), http1: o.onlyHTTP1.Load(), origin: o}
	if n.constrained() {
		o.mu.Lock()
		n = o.completeLocked(n)
		o.mu.Unlock()
		d.extra, d.plain, d.avoid = true, n.plain, n.addrs
		d.fullHandshake, d.noFastOpen = n.plain || n.noShortcuts, n.plain || n.noShortcuts
	}
	o.applyBlocks(d)
	c, err := o.pool.connect(ctx, o.key, d)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stats.Dials++
	o.countSessionFailure(d)
	if err != nil {
		o.dialFailed(err)
		return nil, connUse{}, err
	}
	if o.closed {
		go c.cc.Close()
		return nil, connUse{}, ErrClosed
	}
	o.proto = c.protocol
	o.conns = append(o.conns, c)
	o.register(c)
	c.granted, c.inflight, c.draining = 1, 1, true // no other request gets a slot on c
	o.stats.InFlight++
	return c, connUse{first: true}, nil
}

// extraPause is the minimum time between two connections opened for requests that
// avoid others.
const extraPause = time.Second

// growExtraLocked opens a connection for the first waiter that no connection
// satisfies, if extraPause has passed. Otherwise such waiters use an existing
// connection.
func (o *origin) growExtraLocked() {
	for _, w := range o.queue {
		if !w.constrained() || o.servesLocked(&w.requirement) {
			continue
		}
		if o.dialsForLocked(&w.requirement) {
			continue
		}
		last := &o.extraAt
		if w.plain {
			last = &o.plainAt
		}
		if pause := extraPause - time.Since(*last); !last.IsZero() && pause > 0 && len(o.conns) > 0 {
			if w.noShortcuts {
				o.waitForFullHandshakeLocked(w, pause)
			} else {
				o.relaxLocked(w)
			}
			continue
		}
		*last = time.Now()
		d := &dial{h3: o.onlyRoute(), extra: true, plain: w.plain, fullHandshake: w.noShortcuts || w.plain, noFastOpen: w.noShortcuts || w.plain, avoid: w.addrs}
		for _, id := range w.avoid {
			if p, ok := o.findConnLocked(id); ok && p.resumed {
				d.fullHandshake = true
			}
		}
		o.startLocked(d)
	}
}

// servesLocked reports whether an existing connection satisfies n.
func (o *origin) servesLocked(n *requirement) bool {
	return slices.ContainsFunc(o.conns, func(c *conn) bool {
		return !c.draining && !o.suspendedLocked(c) && (o.perConn == 0 || c.granted < o.perConn) && n.accepts(c)
	})
}

// dialsForLocked reports whether a running dial will satisfy n.
func (o *origin) dialsForLocked(n *requirement) bool {
	return slices.ContainsFunc(o.dials, func(d *dial) bool {
		switch {
		case d.h3 != nil && !o.pool.onlyH3:
			return false
		case n.plain && !d.plain, n.noShortcuts && !d.fullHandshake:
			return false
		}
		return d.extra || len(n.addrs) == 0 // a regular dial may connect to an address that n avoids
	})
}

// waitForFullHandshakeLocked lowers the requirement of w to any connection that is not
// doubtful. If there is none, w waits for the end of the pause, because its request would fail
// again on a connection with the same fault.
func (o *origin) waitForFullHandshakeLocked(w *waiter, pause time.Duration) {
	lower := requirement{newerThan: w.newerThan, constraints: constraints{avoid: w.avoid}, noShortcuts: true}
	if o.servesLocked(&lower) {
		w.requirement, o.relaxed = lower, true
		return
	}
	if o.extraTimer == nil {
		o.extraTimer = time.AfterFunc(pause, o.dispatchAfterPause)
	}
}

func (o *origin) dispatchAfterPause() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.extraTimer = nil; !o.closed {
		o.dispatchLocked()
	}
}

// relaxLocked lowers the requirement of w to any other connection, or to any connection at all.
func (o *origin) relaxLocked(w *waiter) {
	w.plain, w.fresh, w.onlyTCP, w.noShortcuts, w.addrs = false, false, false, false, nil
	if !o.servesLocked(&w.requirement) {
		w.avoid = nil
	}
	o.relaxed = true
}

// relaxAllLocked relaxes the waiters whose extra connection failed.
func (o *origin) relaxAllLocked() {
	for _, w := range o.queue {
		if (w.constrained() || w.fresh) && !o.servesLocked(&w.requirement) && !o.dialsForLocked(&w.requirement) {
			o.relaxLocked(w)
		}
	}
}

// planLocked returns the current plan of o.
func (o *origin) planLocked() connPlan {
	g := o.pool.planFor(o.proto, o.streams)
	if o.maxConns > 0 {
		g.observedMax, g.observedMaxUntil = o.maxConns, o.maxConnsUntil.UnixNano()
	}
	return g
}

// publishPlanLocked makes a changed plan visible to Capacity.
func (o *origin) publishPlanLocked() {
	g := o.planLocked()
	if now := o.plan.Load(); now == nil || *now != g {
		o.plan.Store(&g)
	}
}

// demandNow returns the demand that a caller stated recently, or 0.
func (o *origin) demandNow() int {
	n := o.demand.Load()
	if n > 0 && time.Now().UnixNano()-o.demandAt.Load() < int64(demandLifetime) {
		return int(n)
	}
	return 0
}

// countSessionFailure counts a handshake of d that failed while resuming a session.
// The origin's mutex is held.
func (o *origin) countSessionFailure(d *dial) {
	if d.sessionErr == nil {
		return
	}
	o.stats.Dials++ // counts the dial without a session
	if d.stopResuming {
		o.blockResumeLocked() // blocks resumption in later runs as well
	}
	o.dialFailed(d.sessionErr)
	if o.stats.Retries == nil {
		o.stats.Retries = make(map[Reason]int64)
	}
	o.stats.Retries[RetrySession]++
	o.logDebug("dial repeated without the session")
	o.emit(Event{Kind: RequestRetried, Reason: RetrySession})
}
