package pool

import (
	"errors"
	"math"
	"net/http"
	"slices"
	"time"
)

// model computes [Stats.Saved] for the origin.
func (o *origin) model(stats *OriginStats) modelResult {
	atOnce := math.MaxInt
	if stats.Protocol == protoHTTP1 {
		atOnce = max(o.pool.cfg.MaxConnsPerHost, 1) // one request per connection
	}
	m := o.savedModel.model(atOnce)
	if stats.DialsFailed > 0 && m.unknown == "" {
		m.unknown = SavedBroke
	}
	if m.unknown != "" || stats.Handshakes.Avoided == 0 {
		m.saved = 0
	}
	return m
}

func (o *origin) countFailed() {
	now := time.Now()
	o.savedModel.endFailed(now)
	o.pool.savedModel.endFailed(now)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stats.Failed++
}

// isNew reports whether an origin has no information worth keeping, because each connection
// carried one request and nothing failed.
func (o *origin) isNew() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := &o.stats
	return s.Handshakes.Avoided == 0 && s.Failed == 0 && s.DialsFailed == 0 && len(s.Retries) == 0 &&
		o.abandoned == 0 && o.suspicions == 0 && o.maxConns == 0 && o.perConn == 0 &&
		!o.onlyHTTP1.Load() && !o.noEarlyData.Load() && o.desyncUntil.Load() == 0 && o.savedModel.model(1).unknown == ""
}

// retire closes idle connections if idle is set, and reports whether the origin has
// no request, dial or connection left.
func (o *origin) retire(idle bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue)+len(o.dials) > 0 || o.h3Race != nil {
		return false
	}
	for _, c := range o.conns {
		if c.inflight > 0 || !idle {
			return false
		}
	}
	for len(o.conns) > 0 {
		o.remove(o.conns[0], ClosedIdle)
	}
	return len(o.stats.alive) == 0
}

// evict closes c if it is idle.
func (o *origin) evict(c *conn) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c.inflight > 0 || c.removed {
		return false
	}
	o.evictedAt = time.Now()
	o.remove(c, ClosedPool)
	return true
}

func (o *origin) emit(e Event) {
	if o.pool.cfg.OnEvent != nil {
		e.Time, e.Origin = time.Now(), o.key.String()
		o.pool.callbacks.add(func() { o.pool.cfg.OnEvent(e) })
	}
}

func (o *origin) opened(c *conn) {
	o.stats.opened(c)
	o.logDebug("connection opened", "connection", c.id, "protocol", c.protocol, "resumed", c.setup.resumed)
	e := c.event(ConnOpened)
	e.Resumed, e.Setup = c.setup.resumed, c.setup.total()
	o.emit(e)
}

func (o *origin) countClosed(c *conn, by ClosedBy) {
	if o.stats.closed(c, by) {
		o.logDebug("connection closed", "connection", c.id, "by", string(by), "requests", c.served)
		e := c.event(ConnClosed)
		e.By = by
		o.emit(e)
	}
}

func (o *origin) dialFailed(err error) {
	o.stats.DialsFailed++
	o.logDebug("connection failed", "error", err)
	// the only step after the dial is the QUIC handshake
	e := Event{Kind: DialFailed, Err: err, Step: StepHandshake}
	if failed, ok := errors.AsType[*Error](err); ok {
		e.Step = failed.Step
	}
	o.emit(e)
}

func (o *origin) countRetry(c *conn, why Reason) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stats.Retries == nil {
		o.stats.Retries = make(map[Reason]int64)
	}
	o.stats.Retries[why]++
	o.logDebug("request retried", "connection", c.id, "reason", string(why))
	e := c.event(RequestRetried)
	e.Reason = why
	o.emit(e)
}

// event returns an [Event] about c. The origin's mutex is held.
func (c *conn) event(kind EventKind) Event {
	return Event{Kind: kind, ConnID: c.id, Protocol: c.protocol, RemoteAddr: c.setup.remote}
}

// logDebug logs a message about the origin.
func (o *origin) logDebug(message string, args ...any) {
	if !o.pool.silent {
		logger := o.pool.cfg.Logger
		args = append([]any{"origin", o.key.String()}, args...)
		o.pool.callbacks.add(func() { logger.Debug(message, args...) })
	}
}

// release frees the slot of a request that is complete.
func (o *origin) release(c *conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c.paused = false // the completed request has freed a stream
	o.releaseLocked(c)
	if len(o.queue) > 0 && !o.closed {
		o.dispatchLocked()
	}
}

func (o *origin) releaseLocked(c *conn) {
	c.inflight--
	o.stats.InFlight--
	if c.inflight > 0 {
		return
	}
	if o.closed || c.dead() || !slices.Contains(o.conns, c) {
		o.remove(c, c.endedBy())
		return
	}
	c.idleAt = time.Now()
	if c.idleTimer == nil {
		c.idleTimer = time.AfterFunc(o.pool.cfg.IdleTimeout, func() { o.expire(c) })
	} else {
		c.idleTimer.Reset(o.pool.cfg.IdleTimeout)
	}
	o.pool.limiter.markIdle(c)
}

func (o *origin) expire(c *conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c.inflight == 0 && time.Since(c.idleAt) >= o.pool.cfg.IdleTimeout {
		o.remove(c, ClosedIdle)
	}
}

// remove closes c and takes it out of the origin. Requests on c fail.
func (o *origin) remove(c *conn, by ClosedBy) {
	if i := slices.Index(o.conns, c); i >= 0 {
		o.conns = slices.Delete(o.conns, i, i+1)
	}
	c.draining, c.removed = true, true
	if c.idleTimer != nil {
		c.idleTimer.Stop()
	}
	o.pool.limiter.markBusy(c)
	c.cc.OnChange(nil)
	if h, ok := c.cc.(*h3Conn); ok {
		h.leaving.Store(true)
	}
	o.countAbandonedLocked(c)
	o.learnFrom(c)
	o.rememberClosedLocked(c)
	o.countClosed(c, by)
	// Closing sends a TLS alert, which blocks if the peer does not read.
	go c.cc.Close()
}

// learnFrom records the stream limit that a closed connection revealed. If the server cut two
// connections in a row at the same count, it also records the limit of requests per connection.
func (o *origin) learnFrom(c *conn) {
	defer o.saveInfo(c)
	o.learnStreams(c)
	if !c.refused || c.served == 0 {
		return
	}
	if c.served == o.lastServed {
		o.perConn = c.served
	}
	o.lastServed = c.served
}

// learnStreams records the stream limit of c, which determines how many connections the
// queue justifies.
func (o *origin) learnStreams(c *conn) {
	if n, ok := c.knownStreams(); ok && n > 0 && (n != o.streams || c.limit.reliable() != o.streamsRefused) {
		o.streams, o.streamsRefused = n, c.limit.reliable()
		o.publishPlanLocked()
	}
}

func (o *origin) closeIdle() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range slices.Clone(o.conns) {
		if c.inflight == 0 {
			o.remove(c, ClosedPool)
		}
	}
}

func (o *origin) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for _, w := range o.queue {
		w.placed <- placement{err: ErrClosed}
	}
	o.queue = nil
	for _, c := range slices.Clone(o.conns) {
		o.remove(c, ClosedPool)
	}
}

// loadInfo initialises an origin from the store and from the configuration.
func (o *origin) loadInfo() {
	if o.pool.dialer.speaksOnlyHTTP1() && o.key.scheme == "https" {
		o.proto = protoHTTP1 // http origins do not negotiate a protocol
	}
	if o.pool.cfg.noReuse() || o.key.proxy != (proxy{}) {
		return
	}
	f := o.pool.store.info(o.key.String()).sanitized(time.Now())
	if o.pool.dialer.offers(f.Protocol) {
		o.proto = f.Protocol
	}
	o.streams = f.Streams
	o.noEarlyData.Store(time.Now().Before(f.EarlyBlocked))
	if time.Now().Before(f.PerConnUntil) {
		o.perConn = f.PerConn
	}
}

// saveInfo stores the properties of the origin that c revealed.
func (o *origin) saveInfo(c *conn) {
	if o.pool.cfg.noReuse() || o.key.proxy != (proxy{}) {
		return
	}
	now := o.pool.store.info(o.key.String())
	then := now
	if c.protocol == protoHTTP3 {
		if h, ok := c.cc.(h3ClientConn); ok && h.handshakeDone() {
			now.H3Streams = h.streamLimit()
		}
	} else {
		now.Protocol = c.protocol
		if n, ok := c.knownStreams(); ok && n > 0 {
			now.Streams = n
		}
	}
	if o.perConn > 0 && o.perConn != now.PerConn {
		now.PerConn, now.PerConnUntil = o.perConn, time.Now().Add(perConnLifetime)
	}
	if now != then {
		o.pool.store.update(o.key.String(), func(f *originInfo) {
			f.Protocol, f.Streams, f.H3Streams = now.Protocol, now.Streams, now.H3Streams
			f.PerConn, f.PerConnUntil = now.PerConn, now.PerConnUntil
		})
	}
}

// evictLocked closes the connection that has been idle longest.
func (o *origin) evictLocked() {
	var oldest *conn
	for _, c := range o.conns {
		if c.inflight == 0 && (oldest == nil || c.idleAt.Before(oldest.idleAt)) {
			oldest = c
		}
	}
	if oldest != nil {
		o.remove(oldest, ClosedPool)
	}
}

// register counts a new connection and sets its hooks.
func (o *origin) register(c *conn) {
	h, ok := c.cc.(h3ClientConn)
	if !ok {
		if t, ok := c.cc.(*tcpClientConn); ok {
			t.onAbandon.Store(new(func() { o.abandonedConn(c) }))
		}
		o.opened(c)
		return
	}
	done := h.handshakeDone()
	h.setHooks(h3Hooks{
		handshakeEnded: func(p handshakeResult) { o.handshakeEnded(c, p) },
		retried:        func(why Reason) { o.countRetry(c, why) },
		tooEarly:       o.tooEarly,
		bodyFailed:     func(err error) { o.h3BodyFailed(c, err) },
		misdirected:    func() { o.misdirected(c) },
		allowEarly:     func(req *http.Request) bool { return !o.noEarlyData.Load() && safeAsEarlyData(req) },
	})
	if done {
		o.opened(c)
	}
}
