package pool

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"
)

// Requests under way or waiting, to one origin over HTTP/2, from which more
// than one connection pays: a single one is held back by TCP slow start and
// stops whole when a packet is lost.
const (
	depthForFour  = 64
	depthForEight = 400
)

// A dial is the making of one connection.
type dial struct {
	cancel     context.CancelFunc
	h3         *h3Route     // nil: over TCP
	http1      bool         // offer nothing but HTTP/1.1
	sent       func()       // called when the first packet of QUIC goes out; may be nil
	step       atomic.Value // Step
	sessionErr error        // of a handshake that failed on a session, and was repeated without
	origin     *origin

	extra         bool         // for requests that avoid other connections
	plain         bool         // see WithPlain
	fullHandshake bool         // with a full handshake
	noFastOpen    bool         // without TCP Fast Open
	stopResuming  bool         // sessions of the origin are left alone after it
	avoid         []netip.Addr // addresses that are tried last
}

func (d *dial) setStep(s Step) { d.step.Store(s) }

// growLocked starts the dials that the queue is worth.
func (o *origin) growLocked() {
	if len(o.queue) == 0 || o.closed {
		return
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
	if n <= 0 && len(o.dials) == 0 && !o.canServeLocked() {
		// Somebody waits for a newer connection than there is.
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

// wantLocked is the number of connections that the load is worth: what waits and
// is in flight, or the demand that a scheduler has stated.
func (o *origin) wantLocked() int {
	return o.planLocked().wants(max(o.depthLocked(), o.demandNow()))
}

// capLocked is the number of connections that the origin may have.
func (o *origin) capLocked() int { return o.planLocked().limit() }

// canServeLocked reports whether every waiter will do with a connection that
// is there.
func (o *origin) canServeLocked() bool {
	newest := o.newestLocked()
	for _, w := range o.queue {
		if w.newerThan >= newest && !w.constrained() {
			return false
		}
	}
	return true
}

// newestLocked is the number of the newest connection that takes requests; -1:
// there is none.
func (o *origin) newestLocked() int64 {
	newest := int64(-1)
	for _, c := range o.conns {
		if perConn := o.perConnNow(); !c.draining && !o.suspendedLocked(c) && (perConn == 0 || c.granted < perConn) {
			newest = max(newest, c.id)
		}
	}
	return newest
}

// failNewerLocked tells those that no connection will do for, if no other one is
// on its way, that there is none: else they would have it dialed again and again
// for as long as the others last.
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

// startDialLocked dials over QUIC if route says so. See dial for sent.
func (o *origin) startDialLocked(route *h3Route, sent func()) *dial {
	d := &dial{h3: route, sent: sent}
	o.startLocked(d)
	return d
}

// startLocked starts a dial.
func (o *origin) startLocked(d *dial) {
	if !o.evictedAt.IsZero() && time.Since(o.evictedAt) < o.p.cfg.IdleTimeout {
		o.evictedAt = time.Time{}
		o.p.limiter.markMissed()
	}
	ctx, cancel := context.WithCancel(o.p.ctx)
	d.cancel, d.origin, d.http1 = cancel, o, o.onlyHTTP1.Load()
	o.applyBlocks(d)
	d.setStep(StepConnect)
	o.dials = append(o.dials, d)
	o.stats.Dials++
	o.p.work.Go(func() {
		defer cancel()
		c, err := o.p.connect(ctx, o.key, d)
		o.dialed(d, c, err)
	})
}

// siblings is the number of connections of the origin beside that of d, and of
// dials that may become one.
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
		if !c.draining || o.p.cfg.noReuse() {
			n++
		}
	}
	return n
}

// dialed takes over a new connection or tells those who wait that there is
// none.
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
		go c.cc.Close() // it was on its way when that was learned
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
		c.idleTimer = time.AfterFunc(o.p.cfg.IdleTimeout, func() { o.expire(c) })
		c.cc.OnChange(o.connChanged)
		o.shareLocked(c)
		o.newest = c
		if d.extra {
			o.relaxAllLocked() // the address may be one to avoid: the others failed
		}
		o.dispatchLocked()
		o.newest = nil
		if c.inflight == 0 && !c.removed {
			o.p.limiter.markIdle(c)
		}
	case len(o.conns) > 0:
		// The others go on. Don't ask at once for what was refused just now.
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
		// Its last waiter gave up; some may have come since.
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

// shareLocked keeps the first of several connections that are dialed together
// from taking more than its part of the queue: its siblings will be there in a
// moment, and each will learn in the next how many streams it may have. What
// stays behind of them after two round trips is for those that are there.
func (o *origin) shareLocked(c *conn) {
	if len(o.dials) == 0 || !c.shared() || o.sharing {
		return
	}
	o.sharing = true
	time.AfterFunc(2*max(c.setup.tcp, c.setup.tls), func() { // TCP costs nothing under Fast Open
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.sharing = false; !o.closed {
			o.dispatchLocked()
		}
	})
}

// grantLimitLocked is how many requests each connection may have got when those that
// wait have theirs, too; 0 means no bound.
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

// stepLocked is where a request that gives up now was stuck.
func (o *origin) stepLocked() Step {
	if len(o.dials) == 0 || len(o.conns) > 0 {
		return StepQueue
	}
	return o.dials[0].step.Load().(Step)
}

// dialForOne makes a connection for one request alone.
func (o *origin) dialForOne(ctx context.Context, n requirement) (*conn, connUse, error) {
	if o.p.ctx.Err() != nil {
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
	c, err := o.p.connect(ctx, o.key, d)
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
	c.granted, c.inflight, c.draining = 1, 1, true // nobody else gets a place
	return c, connUse{first: true}, nil
}

// extraPause is the least time between two connections that are opened for
// requests that avoid others.
const extraPause = time.Second

// growExtraLocked opens a connection for the first waiter that none will do for, if
// that is permitted now. Otherwise such waiters get what there is.
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
		if !last.IsZero() && time.Since(*last) < extraPause && len(o.conns) > 0 {
			o.relaxLocked(w)
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

// servesLocked reports whether a connection that is there will do.
func (o *origin) servesLocked(n *requirement) bool {
	return slices.ContainsFunc(o.conns, func(c *conn) bool {
		return !c.draining && !o.suspendedLocked(c) && (o.perConn == 0 || c.granted < o.perConn) && n.accepts(c)
	})
}

// dialsForLocked reports whether a connection that will do is being made.
func (o *origin) dialsForLocked(n *requirement) bool {
	return slices.ContainsFunc(o.dials, func(d *dial) bool {
		switch {
		case d.h3 != nil && !o.p.onlyH3:
			return false
		case n.plain && !d.plain, n.noShortcuts && !d.fullHandshake:
			return false
		}
		return d.extra || len(n.addrs) == 0 // others may go to an address that is avoided
	})
}

// relaxLocked makes w content with what there is: with any other connection, or
// with any at all.
func (o *origin) relaxLocked(w *waiter) {
	w.plain, w.onlyTCP, w.noShortcuts, w.addrs = false, false, false, nil
	if !o.servesLocked(&w.requirement) {
		w.avoid = nil
	}
	o.relaxed = true
}

// relaxAllLocked is for the failure of a connection that was made for a waiter.
func (o *origin) relaxAllLocked() {
	for _, w := range o.queue {
		if w.constrained() && !o.servesLocked(&w.requirement) && !o.dialsForLocked(&w.requirement) {
			o.relaxLocked(w)
		}
	}
}

// planLocked is the growth of o now.
func (o *origin) planLocked() connPlan {
	g := o.p.planFor(o.proto, o.streams)
	if o.maxConns > 0 {
		g.observedMax, g.observedMaxUntil = o.maxConns, o.maxConnsUntil.UnixNano()
	}
	return g
}

// publishPlanLocked lets Capacity see what has changed.
func (o *origin) publishPlanLocked() {
	g := o.planLocked()
	if now := o.plan.Load(); now == nil || *now != g {
		o.plan.Store(&g)
	}
}

// demandNow is the demand that a caller has stated of late.
func (o *origin) demandNow() int {
	n := o.demand.Load()
	if n > 0 && time.Now().UnixNano()-o.demandAt.Load() < int64(demandLifetime) {
		return int(n)
	}
	return 0
}

// countSessionFailure notes that d met a server that failed on a session. It is
// called under the origin's mutex.
func (o *origin) countSessionFailure(d *dial) {
	if d.sessionErr == nil {
		return
	}
	o.stats.Dials++ // the one without
	if d.stopResuming {
		o.blockResumeLocked() // for later runs
	}
	o.dialFailed(d.sessionErr)
	if o.stats.Retries == nil {
		o.stats.Retries = make(map[Reason]int64)
	}
	o.stats.Retries[RetrySession]++
	o.logDebug("connection is made again without the session")
	o.emit(Event{Kind: RequestRetried, Reason: RetrySession})
}
