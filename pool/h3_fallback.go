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

// A h3Race is between HTTP/3 and TCP. It ends when one of them can be relied
// on. Its fields are guarded by the origin's mutex.
type h3Race struct {
	dial   *dial       // over QUIC; nil once it has returned
	conn   *conn       // what it returned, if its handshake is not done
	tcp    *dial       // beside it; nil: not begun, or failed
	timer  *time.Timer // the head start
	tcpDue bool        // the head start is over and TCP was not dialed yet
	over   bool

	tcpFailed bool // TCP failed, and HTTP/3 has a last moment
}

// tcpFailedGrace is how long HTTP/3 is waited for after TCP has failed beside it.
const tcpFailedGrace = time.Second

// waitForH3Locked reports whether the queue is left to a dial over QUIC that
// has its head start.
func (o *origin) waitForH3Locked() bool {
	r := o.h3Race
	if r == nil || r.dial == nil {
		return false
	}
	if o.depthLocked() > depthForH3 {
		// More than HTTP/3 is good for. It has not failed, only lost its point.
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

// startH3RaceLocked dials over QUIC if that is the first thing to try.
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

// startHeadStart is called when the first packet goes out.
func (o *origin) startHeadStart(r *h3Race) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.over || r.timer != nil {
		return
	}
	d := o.p.cfg.HeadStart
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

// forgetDialLocked gives up a dial.
func (o *origin) forgetDialLocked(d *dial) {
	d.cancel()
	o.dials = slices.DeleteFunc(o.dials, func(x *dial) bool { return x == d })
}

// endH3RaceLocked ends the race. Where HTTP/3 won, TCP is given up.
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

// tcpFailedLocked is for TCP that failed for good beside HTTP/3, which got no response
// in its head start either: where the server is away, that is the error.
func (o *origin) tcpFailedLocked(r *h3Race, err error) {
	r.tcpFailed = true
	o.dialFailed(err)
	time.AfterFunc(tcpFailedGrace, func() {
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

// blockH3Locked leaves HTTP/3 alone for a while.
func (o *origin) blockH3Locked(why error) {
	o.p.store.Update(o.key.String(), func(f *OriginInfo) { f.blockQUIC(time.Now()) })
	o.logDebug("HTTP/3 is left alone for a while", "error", why)
}

// h3RaceDialedLocked is told how a dial ended that may have been part of a race. It
// reports whether nothing else need be done about it.
func (o *origin) h3RaceDialedLocked(d *dial, c *conn, err error) bool {
	r := o.h3Race
	switch {
	case r == nil, d != r.dial && d != r.tcp:
		if h, ok := asH3(c); ok && !h.handshakeDone() && !o.p.onlyH3 {
			go c.cc.Close() // it was given up: nothing stands beside it
			o.dispatchLocked()
			return true
		}
		return false
	case d == r.dial && err != nil:
		o.endH3RaceLocked(false)
		if errors.Is(err, context.Canceled) || o.closed {
			return false
		}
		// TCP, if it isn't dialed already, is what remains.
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
		r.tcp = nil // what remains is HTTP/3
		switch canceled := errors.Is(err, context.Canceled); {
		case o.closed:
		case !canceled:
			o.tcpFailedLocked(r, err)
			return true
		case r.conn != nil && r.conn.inflight > 0:
			o.dialTCPLocked(r)
		}
	default:
		// Several round trips and a head start were not enough for HTTP/3.
		o.endH3RaceLocked(false)
		o.doubtH3Locked(errH3Slower)
		if r.dial != nil {
			o.forgetOtherHostLocked(r.dial.h3)
			o.forgetDialLocked(r.dial)
		}
		if r.conn != nil {
			o.remove(r.conn, ClosedError) // its requests go again
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

// doubtLifetime bounds a doubt that TCP does not resolve because it brings nothing.
const doubtLifetime = 5 * time.Second

// maxH3Failures is how many failed responses in a row put HTTP/3 in doubt that gave
// useful ones before.
const maxH3Failures = 3

// An h3Health is what an origin knows about its HTTP/3. It is guarded by the
// origin's mutex.
type h3Health struct {
	doubt         error     // why HTTP/3 is in doubt; nil: it is not
	doubtedAt     time.Time // when the doubt arose
	tcpNoBetter   bool      // TCP gave no better responses
	failures      int       // failed responses since the last useful one
	early         bool      // early data failed, and nothing worked without it yet
	serverAtFault bool      // the handshake beside it did not fail
}

// doubtsH3Locked reports whether requests are to go over TCP.
func (o *origin) doubtsH3Locked() bool {
	if o.h3.doubt != nil && time.Since(o.h3.doubtedAt) > doubtLifetime {
		o.h3.doubt = nil
	}
	return o.h3.doubt != nil
}

// suspendedLocked reports whether c takes no request for now.
func (o *origin) suspendedLocked(c *conn) bool {
	return c.protocol == protoHTTP3 && o.doubtsH3Locked()
}

// doubtH3Locked sends requests over TCP until it is known whether that is better.
func (o *origin) doubtH3Locked(why error) {
	if o.closed || !o.maySpeakH3() {
		return
	}
	if o.h3.doubt == nil {
		o.logDebug("HTTP/3 is in doubt", "error", why)
	}
	o.h3.doubt, o.h3.doubtedAt = why, time.Now()
}

// breakH3Locked is for HTTP/3 that failed where TCP works.
func (o *origin) breakH3Locked() {
	why := o.h3.doubt
	o.h3 = h3Health{}
	if f := o.p.store.Get(o.key.String()); !time.Now().Before(f.QUICBlocked) {
		o.blockH3Locked(why) // once, however many requests were on it
	}
	for i := len(o.conns) - 1; i >= 0; i-- {
		c := o.conns[i]
		switch {
		case c.protocol != protoHTTP3:
		case !c.confirmed || c.inflight == 0:
			o.remove(c, ClosedError) // its requests are sent again
		default:
			c.draining, c.closedBy = true, ClosedError
		}
	}
}

// h3WorksLocked is for a useful response over HTTP/3 that was complete, as far as
// that is known.
func (o *origin) h3WorksLocked(c *conn) {
	c.confirmed = true
	o.h3.failures = 0
	if o.h3.doubt != nil {
		o.h3.doubt = nil
		o.dispatchLocked()
	}
	f := o.p.store.Get(o.key.String())
	if f.QUICFailures > 0 && !time.Now().Before(f.QUICBlocked) {
		o.p.store.Update(o.key.String(), (*OriginInfo).unblockQUIC)
	}
}

// recordH3Locked takes note of a response.
func (o *origin) recordH3Locked(c *conn, resp *http.Response, early bool) {
	if !o.p.speaksH3() || !o.key.supportsH3() {
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

// usefulResponse reports whether a response comes from a server that does its work:
// it is not 421, 429 or 5xx, nor a refusal of another kind than the JSON that
// programs are given, which proxies and firewalls send.
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

// failedH3Locked takes note of a request on c that failed with err. It reports
// whether it goes out over TCP.
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
			c.draining, c.broken = true, true // the next attempt has another one
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

// closedAsBrokenLocked reports whether c is one that was closed because HTTP/3 is broken.
func (o *origin) closedAsBrokenLocked(c *conn) bool {
	f := o.p.store.Get(o.key.String())
	return c.draining && time.Now().Before(f.QUICBlocked)
}

// failedEarlyLocked notes a failure on a connection with early data, whose
// handshake is done or not.
func (o *origin) failedEarlyLocked(done bool) {
	o.noEarlyData.Store(true)
	o.h3.early, o.h3.serverAtFault = true, o.h3.serverAtFault || done
}

// recordEarlyLocked takes note of a response. Early says that its request went out
// as early data.
func (o *origin) recordEarlyLocked(c *conn, ok, early bool) {
	switch {
	case !ok:
	case early:
		if f := o.p.store.Get(o.key.String()); f.EarlyFailures > 0 {
			o.p.store.Update(o.key.String(), (*OriginInfo).unblockEarly)
		}
	case o.h3.early:
		if o.h3.serverAtFault || c.protocol == protoHTTP3 {
			o.p.store.Update(o.key.String(), func(f *OriginInfo) { f.blockEarly(time.Now()) })
		}
		o.h3.early, o.h3.serverAtFault = false, false
	}
}

func (o *origin) tooEarly() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failedEarlyLocked(true)
}

// h3BodyFailed is for a body over HTTP/3 that failed.
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

// onTrial reports whether req on c may be sent over TCP, too.
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
	t := &h3Trial{o: o, c: c, use: u, sent: sent, newest: newest, done: make(chan struct{})}
	var ctx context.Context
	ctx, t.cancel = context.WithCancelCause(req.Context())
	t.req = req.WithContext(ctx)
	go t.run()
	return t
}

// A trialTimeout is how long a request waits for its response before it is sent over TCP
// as well.
func (o *origin) trialTimeout() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if d := o.p.cfg.HeadStart; d > 0 {
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
		t.c.inflight++
		o.mu.Unlock()
	}
	t.mu.Unlock()
	d.sent, d.came, d.first = t.sent, t.responseAt, t.use.first
	return o.deliver(t.c, t.req, t.resp, d)
}
