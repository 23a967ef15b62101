package pool

import (
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"strings"
	"time"
)

// send sends req on c, on which it has a slot.
func (o *origin) send(c *conn, req *http.Request) (*http.Response, error) {
	k, _ := req.Context().Value(checkKey{}).(*Check)
	if k != nil {
		*k = Check{}
	}
	if c.seq != nil && !c.seq.begin(req, int64(c.granted)) {
		return nil, &h3Error{reason: RetryClosed, unsent: true, err: errUnreadData}
	}
	var resp *http.Response
	var err error
	if limit := o.pool.cfg.ResponseHeaderTimeout; limit > 0 {
		resp, err = c.roundTripWithin(req, limit)
	} else {
		resp, err = c.roundTrip(req)
	}
	if err != nil && k != nil {
		k.returnNews()
	}
	return resp, err
}

// roundTrip sends req, and requests gzip if the Pool does that for its caller.
func (c *conn) roundTrip(req *http.Request) (*http.Response, error) {
	if !requestsGzip(c, req) {
		return c.cc.RoundTrip(req)
	}
	zipped := *req
	zipped.Header = req.Header.Clone()
	zipped.Header["Accept-Encoding"] = []string{"gzip"}
	resp, err := c.cc.RoundTrip(&zipped)
	if err != nil {
		return nil, err
	}
	resp.Request = req
	return resp, nil
}

// requestsGzip reports whether the Pool requests gzip. Compression saves round trips on real
// links and only costs time on loopback.
func requestsGzip(c *conn, req *http.Request) bool {
	return !c.loopback && !c.noGzip && req.Method != http.MethodHead && req.Header["Accept-Encoding"] == nil && req.Header["Range"] == nil
}

// isGzipCoding reports whether a content coding is gzip; x-gzip means the same (RFC 9110
// section 8.4.1.3).
func isGzipCoding(coding string) bool {
	return strings.EqualFold(coding, "gzip") || strings.EqualFold(coding, "x-gzip")
}

// failed records an attempt without a response. newest is the number of the newest
// connection when the request was sent.
func (o *origin) failed(c *conn, req *http.Request, err error, newest int64) failure {
	f := failure{reason: reasonOf(req.Context(), err), unsent: unsent(err), newest: newest}
	f.unprocessed = f.reason.notProcessed(err)
	if e, ok := errors.AsType[*h3Error](err); ok {
		f.futile = e.futile
	}
	if c.seq != nil {
		c.seq.ended(false)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	f.progressed = c.served > 0
	f.doubtful = f.reason == RetryClosed && c.doubtful()
	o.countAbandonedLocked(c)
	f.abandoned = c.abandoned
	if f.reason != noRetry && c.requiresHTTP1(err) {
		f.reason, f.unprocessed = noRetry, false
		if o.pool.dialer.offers(protoHTTP1) {
			f.reason = RetryHTTP11
			o.requireHTTP1Locked()
		}
	}
	switch {
	case f.reason == RetryGoAway:
		c.draining, c.refused = true, true
	case !c.shared(), c.cc.Err() != nil:
		c.draining, c.broken = true, true
	}
	if blamesConn(req.Context(), f.reason) || err == error(headerTimeoutError{}) {
		o.recordFailureLocked(c, req.URL.RequestURI())
	}
	o.failedH3Locked(c, req.Context(), &f, err)
	o.releaseLocked(c)
	if f.reason == RetryRefused && o.refusesAllLocked(c) {
		f.reason = noRetry
	}
	if f.reason == RetryRefused && c.shared() {
		promised, ok := c.announcedStreams()
		if !ok {
			promised = 0
		}
		c.limit.refused(c.inflight, promised)
		o.refused = true
		o.learnStreams(c)
		o.pauseLocked(c)
	}
	if len(o.queue) > 0 && !o.closed {
		o.dispatchLocked()
	}
	return f
}

// A delivery describes how a response was obtained.
type delivery struct {
	start, sent     time.Time
	responseAt      time.Time // when the response began; zero means now
	first           bool
	retries         int
	retriesSameConn int64 // retries on the same connection
	constraints     constraints
}

// deliver completes the accounting of a request whose response has begun.
func (o *origin) deliver(c *conn, req *http.Request, resp *http.Response, d delivery) *http.Response {
	now := d.responseAt
	if now.IsZero() {
		now = time.Now()
	}
	early, again := false, 0
	if b, ok := resp.Body.(earlyBody); ok {
		early, again = b.earlyData()
	}
	o.mu.Lock()
	c.served++
	o.pauses = 0
	if c.limit.n > 0 || c.limit.share > 0 {
		c.limit.accepted(c.inflight >= c.limit.n)
	}
	switch {
	case o.pool.cfg.noReuse():
		c.draining, c.closedBy = true, ClosedPool
	case resp.Close:
		c.draining = true
		if c.seq != nil {
			c.seq.final.Store(true)
		}
	case resp.StatusCode == http.StatusSwitchingProtocols:
		c.draining, c.closedBy = true, ClosedPool // the caller owns the connection
	}
	o.stats.answered(c, d.first)
	o.recordStatusLocked(c, req, d.constraints, resp.StatusCode)
	o.recordH3Locked(c, resp, early)
	d.retriesSameConn += int64(again)
	o.stats.RetriesSameConn += d.retriesSameConn
	t := traceFrom(req.Context())
	if t != nil {
		*t = Trace{
			ConnID: c.id, Reused: !d.first, Protocol: c.protocol, TLS: c.setup.version,
			Resumed: c.setup.resumed, FastOpen: c.setup.synDataAccepted, RemoteAddr: c.setup.remote, Retries: d.retries + again, RetriesSameConn: int(d.retriesSameConn),
			EarlyData: early,
			Wait:      d.sent.Sub(d.start), FirstByte: now.Sub(d.sent), Total: now.Sub(d.start),
		}
		if d.first {
			t.DNS, t.TCP, t.Handshake = c.setup.dns, c.setup.tcp, c.setup.tls
		}
	}
	o.mu.Unlock()

	o.learnAltSvc(c, resp.Header)
	o.savedModel.respond(resp.StatusCode)
	b := &body{raw: resp.Body, origin: o, conn: c, trace: t, start: d.start, sent: d.sent, first: d.first}
	if requestsGzip(c, req) && isGzipCoding(resp.Header.Get("Content-Encoding")) {
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
		resp.ContentLength = -1
		resp.Uncompressed = true
		b.zipped = true
	}
	if w, ok := resp.Body.(io.Writer); ok && resp.StatusCode == http.StatusSwitchingProtocols {
		b.switched = true
		resp.Body = switchedBody{b, w}
		return resp
	}
	if resp.Body == http.NoBody || resp.ContentLength == 0 || req.Method == http.MethodHead {
		b.complete.Store(true)
		b.finish()
		b.ended.Store(true)
	}
	resp.Body = b
	return resp
}

// endAfter lets c carry no request after the one that has its slot.
func (o *origin) endAfter(c *conn) {
	if c.seq != nil {
		c.seq.final.Store(true)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !c.draining {
		c.draining, c.closedBy = true, ClosedPool
	}
}

// traceGotConn calls the GotConn hook for a request that got c. The clientConn calls
// the later hooks.
func (o *origin) traceGotConn(c *conn, hooks *httptrace.ClientTrace, u connUse) {
	if hooks.GotConn == nil {
		return
	}
	info := httptrace.GotConnInfo{Reused: !u.first, WasIdle: !u.first && !c.shared()}
	if c.protocol == protoHTTP3 {
		o.mu.Lock() // lock, because setup may change when the handshake ends
		address := c.setup.remote
		o.mu.Unlock()
		remote, _ := netip.ParseAddrPort(address)
		info.Conn = udpPeer{remote: net.UDPAddrFromAddrPort(remote)}
	} else {
		info.Conn = c.setup.raw
	}
	hooks.GotConn(info)
}

// setupTime returns how long the set-up of c took. Over HTTP/3 the time is known after the
// handshake, which may end after a response to early data.
func (o *origin) setupTime(c *conn) time.Duration {
	if c.protocol == protoHTTP3 {
		o.mu.Lock()
		defer o.mu.Unlock()
	}
	return c.setup.total()
}

// An h3Error is a failed attempt over HTTP/3.
type h3Error struct {
	reason Reason
	unsent bool // no part of the request was sent
	futile bool // the Pool closed the connection as useless, see h3Conn.futile
	err    error
}

func (e *h3Error) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *h3Error) Unwrap() error { return e.err }

// unsent reports whether no part of a request that failed with err was sent.
func unsent(err error) bool {
	e, ok := errors.AsType[*h3Error](err)
	return ok && e.unsent
}

// maxAbandoned is the number of abandoned connections (see [Stats].Abandoned) after which an
// origin is used over HTTP/1.1 only, until the Pool is closed. The same happens if the server
// requires HTTP/1.1 (HTTP_1_1_REQUIRED, RFC 9113 section 7). After the first abandoned
// connection, the Pool opens no more HTTP/2 connections than may still be abandoned. So only
// connections opened before can exceed the maximum.
const maxAbandoned = 3

const codeHTTP11Required = 0xd

var errOnlyHTTP1 = errors.New("the server supports only HTTP/1.1, which Protocols does not include")

// requireHTTP1Locked disables HTTP/2 for the origin.
func (o *origin) requireHTTP1Locked() {
	if o.onlyHTTP1.Swap(true) {
		return
	}
	if o.proto == protoHTTP2 && o.pool.dialer.offers(protoHTTP1) {
		o.proto = protoHTTP1
	}
	for _, c := range o.conns {
		if c.protocol == protoHTTP2 {
			c.draining, c.closedBy = true, ClosedPool
		}
	}
	o.publishPlanLocked()
}

// countAbandonedLocked counts c once if it was abandoned.
func (o *origin) countAbandonedLocked(c *conn) {
	t, ok := c.cc.(*tcpClientConn)
	if !ok || c.abandoned || !t.abandoned() {
		return
	}
	c.abandoned, c.draining, c.broken = true, true, true
	o.stats.Abandoned++
	if o.abandoned++; o.abandoned >= maxAbandoned {
		o.requireHTTP1Locked()
	}
}

// spareHTTP2Locked returns how many more HTTP/2 connections may be opened; see maxAbandoned.
func (o *origin) spareHTTP2Locked() int {
	if o.abandoned == 0 {
		return math.MaxInt
	}
	spare := maxAbandoned - o.abandoned
	for _, c := range o.conns {
		if c.protocol == protoHTTP2 && !c.abandoned {
			spare--
		}
	}
	for _, d := range o.dials {
		if d.h3 == nil && !d.http1 {
			spare--
		}
	}
	return max(spare, 0)
}

// abandonedConn records that c was abandoned.
func (o *origin) abandonedConn(c *conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.countAbandonedLocked(c)
	if o.closed {
		return
	}
	if c.dead() {
		o.remove(c, c.endedBy())
	}
	o.dispatchLocked()
}

// requiresHTTP1 reports whether the server requires HTTP/1.1, on c or for a request
// that failed with err.
func (c *conn) requiresHTTP1(err error) bool {
	var stream streamError
	if errors.As(err, &stream) && stream.Code == codeHTTP11Required {
		return true
	}
	t, ok := c.cc.(*tcpClientConn)
	return ok && t.raw.goAway.Load() && t.raw.goAwayCode.Load() == codeHTTP11Required
}

// Limits of the pause in which a connection gets no request after a refusal. A
// response that ends also ends the pause.
const (
	firstPause    = 10 * time.Millisecond
	maxPause      = time.Second
	maxFirstPause = 200 * time.Millisecond // maximum before the first response
)

// maxFirstPauses limits the pauses without a response. Requests refused after these pauses, on
// a connection without a response, fail.
const maxFirstPauses = 8

// refusesAllLocked reports whether c refuses every request.
func (o *origin) refusesAllLocked(c *conn) bool { return c.served == 0 && o.pauses >= maxFirstPauses }

// pauseLocked pauses c after a refusal.
func (o *origin) pauseLocked(c *conn) {
	if c.paused {
		return
	}
	limit := maxPause
	if c.served == 0 {
		limit = maxFirstPause
	}
	pause := min(firstPause<<min(o.pauses, 10), limit)
	pause = pause/2 + rand.N(pause/2)
	c.paused = true
	o.pauses++
	time.AfterFunc(pause, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		c.paused = false
		if !o.closed {
			o.dispatchLocked()
		}
	})
}
