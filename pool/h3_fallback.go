package pool

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
)

// An h3Race tracks an HTTP/3 dial and its TCP fallback until one is usable. The origin's mutex
// guards its fields.
type h3Race struct {
	dial   *dial       // QUIC dial; nil once it has returned
	conn   *conn       // result of dial, until the handshake is done
	tcp    *dial       // TCP dial of the fallback; nil means not started, or failed
	timer  *time.Timer // runs during the head start
	tcpDue bool        // the head start is over and TCP has not been dialed
	over   bool

	tcpFailed bool // TCP failed; HTTP/3 gets tcpFailedGrace
}

// tcpFailedGrace is how much longer HTTP/3 may take after its TCP fallback failed.
const (
	tcpFailedGrace = time.Second
	graceSteps     = 5
)

// afterSteps calls f after d. The time passes in steps: otherwise all of it could pass while the
// process gets no CPU time.
func afterSteps(d time.Duration, steps int, f func()) {
	step := d / time.Duration(steps)
	time.AfterFunc(step, func() {
		if steps == 1 {
			f()
			return
		}
		afterSteps(d-step, steps-1, f)
	})
}

// waitForH3Locked reports whether the queue waits for a QUIC dial in its head start.
func (o *origin) waitForH3Locked() bool {
	r := o.h3Race
	if r == nil || r.dial == nil {
		return false
	}
	if o.depthLocked() > depthForH3 {
		// The queue is too deep for HTTP/3, which has not failed.
		d := r.dial
		o.endH3RaceLocked(false)
		o.forgetDialLocked(d)
		return false
	}
	if r.tcpDue || o.doubtsH3Locked() && !r.tcpFailed {
		o.dialTCPLocked(r)
	}
	return true
}

// startH3RaceLocked starts a QUIC dial if HTTP/3 is worth trying first.
func (o *origin) startH3RaceLocked() bool {
	route := o.offeredRouteLocked()
	if route == nil {
		return false
	}
	r := &h3Race{}
	o.h3Race = r
	r.dial = o.startDialLocked(route, func() { o.startHeadStart(r) })
	return true
}

// startHeadStart starts the timer of the fallback, once the first QUIC packet is sent.
func (o *origin) startHeadStart(r *h3Race) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.over || r.timer != nil {
		return
	}
	d := o.pool.cfg.HeadStart
	if d <= 0 {
		d = min(max(headStart, o.rtt*3/2), maxHeadStart)
	}
	r.timer = time.AfterFunc(d, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if r.over || o.closed {
			return
		}
		r.tcpDue = true
		if len(o.queue) > 0 || r.conn != nil && r.conn.inflight > 0 {
			o.dialTCPLocked(r)
		}
	})
}

func (o *origin) dialTCPLocked(r *h3Race) {
	r.tcpDue = false
	if r.tcp == nil {
		r.tcp = o.startDialLocked(nil, nil)
	}
}

// forgetDialLocked cancels and forgets a dial.
func (o *origin) forgetDialLocked(d *dial) {
	d.cancel()
	o.dials = slices.DeleteFunc(o.dials, func(x *dial) bool { return x == d })
}

// endH3RaceLocked ends the race. If HTTP/3 won, the TCP dial is canceled.
func (o *origin) endH3RaceLocked(won bool) {
	r := o.h3Race
	o.h3Race, r.over = nil, true
	if r.timer != nil {
		r.timer.Stop()
	}
	if !won {
		return
	}
	if r.tcp != nil {
		o.forgetDialLocked(r.tcp)
	}
}

// tcpFailedLocked handles a failure of TCP after HTTP/3 used up its head start. If HTTP/3 fails
// as well, err is the error.
func (o *origin) tcpFailedLocked(r *h3Race, err error) {
	r.tcpFailed = true
	o.dialFailed(err)
	afterSteps(o.pool.tcpFailedGrace, graceSteps, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if r.over || o.closed {
			return
		}
		o.endH3RaceLocked(false)
		o.doubtH3Locked(errH3Slower)
		if r.dial != nil {
			o.forgetDialLocked(r.dial)
		}
		if r.conn != nil {
			o.remove(r.conn, ClosedError)
		}
		if len(o.dials) == 0 && len(o.conns) == 0 {
			o.failQueueLocked(err)
		}
		o.dispatchLocked()
	})
}

// blockH3Locked disables HTTP/3 for a while.
func (o *origin) blockH3Locked(why error) {
	o.pool.store.update(o.key.String(), func(f *originInfo) { f.blockQUIC(time.Now()) })
	o.logDebug("HTTP/3 disabled for a while", "error", why)
}

// h3RaceDialedLocked handles the end of a dial that may be part of a race. It reports whether
// it has handled the result completely.
func (o *origin) h3RaceDialedLocked(d *dial, c *conn, err error) bool {
	r := o.h3Race
	switch {
	case r == nil, d != r.dial && d != r.tcp:
		if h, ok := asH3(c); ok && !h.handshakeDone() && !o.pool.onlyH3 {
			go c.cc.Close() // the race is over, so nothing waits for c
			o.dispatchLocked()
			return true
		}
		return false
	case d == r.dial && err != nil:
		o.endH3RaceLocked(false)
		if errors.Is(err, context.Canceled) || o.closed {
			return false
		}
		// Fall back to TCP.
		o.forgetOtherHostLocked(d.h3)
		o.doubtH3Locked(err)
		o.dialFailed(err)
		o.dispatchLocked()
		return true
	case d == r.dial:
		r.dial = nil
		if h, ok := asH3(c); ok && !h.handshakeDone() {
			r.conn = c
			return false
		}
		o.endH3RaceLocked(true)
	case err != nil:
		r.tcp = nil // HTTP/3 remains in the race
		switch canceled := errors.Is(err, context.Canceled); {
		case o.closed:
		case !canceled:
			o.tcpFailedLocked(r, err)
			return true
		case r.conn != nil && r.conn.inflight > 0:
			o.dialTCPLocked(r)
		}
	default:
		// HTTP/3 took longer than its head start and several round trips.
		o.endH3RaceLocked(false)
		o.doubtH3Locked(errH3Slower)
		if r.dial != nil {
			o.forgetOtherHostLocked(r.dial.h3)
			o.forgetDialLocked(r.dial)
		}
		if r.conn != nil {
			o.remove(r.conn, ClosedError) // the requests on r.conn are retried
		}
	}
	return false
}

func asH3(c *conn) (h3ClientConn, bool) {
	if c == nil {
		return nil, false
	}
	h, ok := c.cc.(h3ClientConn)
	return h, ok
}

// doubtLifetime limits the time in doubt if requests over TCP do not resolve it.
const doubtLifetime = 5 * time.Second

// maxH3Failures is the number of failed responses in a row after which HTTP/3 is in
// doubt, even if it worked before.
const maxH3Failures = 3

// An h3Health holds the state of HTTP/3 at an origin. The origin's mutex guards it.
type h3Health struct {
	doubt         error     // reason why HTTP/3 is in doubt; nil if there is no doubt
	doubtedAt     time.Time // when the doubt arose
	tcpNoBetter   bool      // TCP gave no better responses
	failures      int       // failed responses since the last useful one
	early         bool      // early data failed, and no request without early data has succeeded since
	serverAtFault bool      // a handshake with failed early data succeeded
}

// doubtsH3Locked reports whether HTTP/3 is in doubt, so that requests go over TCP.
func (o *origin) doubtsH3Locked() bool {
	if o.h3.doubt != nil && time.Since(o.h3.doubtedAt) > doubtLifetime {
		o.h3.doubt = nil
	}
	return o.h3.doubt != nil
}

// suspendedLocked reports whether c accepts no requests because HTTP/3 is in doubt.
func (o *origin) suspendedLocked(c *conn) bool {
	return c.protocol == protoHTTP3 && o.doubtsH3Locked()
}

// doubtH3Locked sends requests over TCP until it is known whether TCP works better.
func (o *origin) doubtH3Locked(why error) {
	if o.closed || !o.maySpeakH3() {
		return
	}
	if o.h3.doubt == nil {
		o.logDebug("HTTP/3 is in doubt", "error", why)
	}
	o.h3.doubt, o.h3.doubtedAt = why, time.Now()
}

// breakH3Locked disables HTTP/3, which failed while TCP works.
func (o *origin) breakH3Locked() {
	why := o.h3.doubt
	o.h3 = h3Health{}
	if f := o.pool.store.info(o.key.String()); !time.Now().Before(f.QUICBlocked) {
		o.blockH3Locked(why) // block once, however many requests failed
	}
	for i := len(o.conns) - 1; i >= 0; i-- {
		c := o.conns[i]
		switch {
		case c.protocol != protoHTTP3:
		case !c.confirmed || c.inflight == 0:
			o.remove(c, ClosedError) // requests on c are retried
		default:
			c.draining, c.closedBy = true, ClosedError
		}
	}
}

// h3WorksLocked records a useful response over HTTP/3, complete as far as known.
func (o *origin) h3WorksLocked(c *conn) {
	c.confirmed = true
	o.h3.failures = 0
	if o.h3.doubt != nil {
		o.h3.doubt = nil
		o.dispatchLocked()
	}
	f := o.pool.store.info(o.key.String())
	if f.QUICFailures > 0 && !time.Now().Before(f.QUICBlocked) {
		o.pool.store.update(o.key.String(), (*originInfo).unblockQUIC)
	}
}

// recordH3Locked records a response for the choice between HTTP/3 and TCP.
func (o *origin) recordH3Locked(c *conn, resp *http.Response, early bool) {
	if !o.pool.speaksH3() || !o.key.supportsH3() {
		return
	}
	ok := usefulResponse(resp)
	o.recordEarlyLocked(c, ok, early)
	switch {
	case !o.maySpeakH3():
	case c.protocol == protoHTTP3:
		if ok {
			o.h3.failures = 0
		} else if o.h3.failures++; o.h3.failures >= maxH3Failures && !o.h3.tcpNoBetter {
			o.doubtH3Locked(errH3Status)
		}
	case !o.doubtsH3Locked():
	case ok:
		o.breakH3Locked()
	default:
		o.h3.doubt, o.h3.tcpNoBetter = nil, true
	}
}

// usefulResponse reports whether a response is from a working server. A 421, 429 or 5xx is not,
// nor is another refusal without JSON, because proxies and firewalls send such refusals.
func usefulResponse(resp *http.Response) bool {
	switch s := resp.StatusCode; {
	case s == http.StatusMisdirectedRequest, s == http.StatusTooManyRequests, s >= 500:
		return false
	case s >= 400:
		kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		return strings.HasSuffix(kind, "json")
	}
	return true
}

// failedH3Locked records the failure f of a request on c, and sets f.retryOverTCP.
func (o *origin) failedH3Locked(c *conn, ctx context.Context, f *failure, err error) {
	if c.protocol != protoHTTP3 {
		return
	}
	late := errors.Is(context.Cause(ctx), context.DeadlineExceeded)
	if ctx.Err() != nil && !late || errors.Is(err, ErrClosed) || o.closed {
		return
	}
	if h, ok := c.cc.(*h3Conn); ok && h.early && !c.confirmed {
		o.failedEarlyLocked(h.handshakeDone())
	}
	if !o.maySpeakH3() {
		if late && c.served == 0 {
			c.draining, c.broken = true, true // the next attempt gets another connection
		}
		return
	}
	switch {
	case o.doubtsH3Locked(), !c.confirmed, late, f.reason == noRetry, f.reason == RetryHTTP3:
		if !o.doubtsH3Locked() && !o.closedAsBrokenLocked(c) {
			o.doubtH3Locked(err)
		}
		f.retryOverTCP = true
	}
}

// closedAsBrokenLocked reports whether c was closed because HTTP/3 is broken.
func (o *origin) closedAsBrokenLocked(c *conn) bool {
	f := o.pool.store.info(o.key.String())
	return c.draining && time.Now().Before(f.QUICBlocked)
}

// failedEarlyLocked records a failure on a connection with early data. done states whether the
// handshake is complete.
func (o *origin) failedEarlyLocked(done bool) {
	o.noEarlyData.Store(true)
	o.h3.early, o.h3.serverAtFault = true, o.h3.serverAtFault || done
}

// recordEarlyLocked records a response. early states whether its request was sent as early
// data.
func (o *origin) recordEarlyLocked(c *conn, ok, early bool) {
	switch {
	case !ok:
	case early:
		if f := o.pool.store.info(o.key.String()); f.EarlyFailures > 0 {
			o.pool.store.update(o.key.String(), (*originInfo).unblockEarly)
		}
	case o.h3.early:
		if o.h3.serverAtFault || c.protocol == protoHTTP3 {
			o.pool.store.update(o.key.String(), func(f *originInfo) { f.blockEarly(time.Now()) })
		}
		o.h3.early, o.h3.serverAtFault = false, false
	}
}

func (o *origin) tooEarly() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failedEarlyLocked(true)
}

// h3BodyFailed records that a body over HTTP/3 failed.
func (o *origin) h3BodyFailed(c *conn, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c.confirmed {
		o.doubtH3Locked(err)
	}
}

var (
	errH3Slow      = errors.New("HTTP/3 gave no response in time")
	errH3Status    = errors.New("HTTP/3 gave no useful response")
	errH3Truncated = errors.New("the response over HTTP/3 was cut off")
	errH3Long      = errors.New("a long response over HTTP/3 was not read to its end")
	errH3First     = errors.New("the response came over HTTP/3")
)

// onTrial reports whether req on c may be sent over TCP as well.
func (o *origin) onTrial(c *conn, req *http.Request) bool {
	if c.protocol != protoHTTP3 || !o.maySpeakH3() || !idempotent(req) || req.Body != nil && req.Body != http.NoBody {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return !c.confirmed
}

// startTrial sends req on c.
func (o *origin) startTrial(c *conn, req *http.Request, u connUse, sent time.Time, newest int64) *h3Trial {
	t := &h3Trial{origin: o, conn: c, use: u, sent: sent, newest: newest, done: make(chan struct{})}
	var ctx context.Context
	ctx, t.cancel = context.WithCancelCause(req.Context())
	t.req = req.WithContext(ctx)
	go t.run()
	return t
}

// trialTimeout returns how long a request waits for its response before it is sent
// over TCP as well.
func (o *origin) trialTimeout() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if d := o.pool.cfg.HeadStart; d > 0 {
		return d
	}
	return min(max(headStart, 3*o.rtt), maxHeadStart)
}

// deliverTrial delivers the response over HTTP/3.
func (o *origin) deliverTrial(t *h3Trial, d delivery) *http.Response {
	t.mu.Lock()
	t.abandoned = true
	if t.released {
		o.mu.Lock()
		t.conn.inflight++
		o.stats.InFlight++
		o.mu.Unlock()
	}
	t.mu.Unlock()
	d.sent, d.responseAt, d.first = t.sent, t.responseAt, t.use.first
	return o.deliver(t.conn, t.req, t.resp, d)
}
