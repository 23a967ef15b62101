package pool

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"
)

// HTTP/3 that an origin offers is on trial until a connection has given a useful
// response. A request on such a connection is complete when its body is, and is
// sent over TCP as well if that takes long. A failure puts HTTP/3 in doubt: requests
// go over TCP then. If TCP gives a useful response, the alternative is broken
// (RFC 7838 section 2.4) and is left alone for a while, also by later runs.

// doubtLife bounds a doubt that TCP does not resolve because it brings nothing.
const doubtLife = 5 * time.Second

// longBody is how much of a body over HTTP/3 must have been read for it to count as
// a failure if the rest is not wanted, in bytes.
const longBody = 1 << 20

// trialBody is how much of a body is read before a response on trial is
// delivered, in bytes. One that is longer, with no length announced, may have no
// end: it shows nothing, and TCP is tried. If that brings nothing it is delivered.
const trialBody = 64 << 10

// faultyH3 is how many failed responses in a row put HTTP/3 in doubt that gave
// useful ones before.
const faultyH3 = 3

// An h3Health is what an origin knows about its HTTP/3. It is guarded by the
// origin's mutex.
type h3Health struct {
	doubt    error     // why HTTP/3 is in doubt; nil: it is not
	since    time.Time // when the doubt arose
	compared bool      // TCP gave no better responses
	failures int       // failed responses since the last useful one
	early    bool      // early data failed, and nothing worked without it yet
	sure     bool      // the handshake beside it did not fail
}

var (
	errH3Slow   = errors.New("HTTP/3 gave no response in time")
	errH3Status = errors.New("HTTP/3 gave no useful response")
	errH3Cut    = errors.New("the response over HTTP/3 was cut off")
	errH3Long   = errors.New("a long response over HTTP/3 was not read to its end")
	errH3Came   = errors.New("the response came over HTTP/3")
)

// doubtsH3Locked reports whether requests are to go over TCP.
func (o *origin) doubtsH3Locked() bool {
	if o.h3.doubt != nil && time.Since(o.h3.since) > doubtLife {
		o.h3.doubt = nil
	}
	return o.h3.doubt != nil
}

// shunsLocked reports whether c takes no request for now.
func (o *origin) shunsLocked(c *conn) bool {
	return c.protocol == protoHTTP3 && o.doubtsH3Locked()
}

// doubtH3Locked sends requests over TCP until it is known whether that is better.
func (o *origin) doubtH3Locked(why error) {
	if o.closed || !o.maySpeakH3() {
		return
	}
	if o.h3.doubt == nil {
		o.debug("HTTP/3 is in doubt", "error", why)
	}
	o.h3.doubt, o.h3.since = why, time.Now()
}

// breakH3Locked is for HTTP/3 that failed where TCP works.
func (o *origin) breakH3Locked() {
	why := o.h3.doubt
	o.h3 = h3Health{}
	if f := o.p.facts.Get(o.key.String()); !time.Now().Before(f.QUICBlocked) {
		o.blockH3Locked(why) // once, however many requests were on it
	}
	for i := len(o.conns) - 1; i >= 0; i-- {
		c := o.conns[i]
		switch {
		case c.protocol != protoHTTP3:
		case !c.proved || c.inflight == 0:
			o.remove(c, ClosedError) // its requests are sent again
		default:
			c.draining, c.by = true, ClosedError
		}
	}
}

// h3WorksLocked is for a useful response over HTTP/3 that was complete, as far as
// that is known.
func (o *origin) h3WorksLocked(c *conn) {
	c.proved = true
	o.h3.failures = 0
	if o.h3.doubt != nil {
		o.h3.doubt = nil
		o.dispatchLocked()
	}
	f := o.p.facts.Get(o.key.String())
	if f.QUICFailures > 0 && !time.Now().Before(f.QUICBlocked) {
		o.p.facts.Update(o.key.String(), (*Facts).unblockQUIC)
	}
}

// judgeH3Locked takes note of a response.
func (o *origin) judgeH3Locked(c *conn, resp *http.Response, early bool) {
	if !o.p.speaksH3() || !o.key.h3Reaches() {
		return
	}
	ok := worksFor(resp)
	o.judgeEarlyLocked(c, ok, early)
	switch {
	case !o.maySpeakH3():
	case c.protocol == protoHTTP3:
		if ok {
			o.h3.failures = 0
		} else if o.h3.failures++; o.h3.failures >= faultyH3 && !o.h3.compared {
			o.doubtH3Locked(errH3Status)
		}
	case !o.doubtsH3Locked():
	case ok:
		o.breakH3Locked()
	default:
		o.h3.doubt, o.h3.compared = nil, true
	}
}

// worksFor reports whether a response comes from a server that does its work:
// it is not 421, 429 or 5xx, nor a refusal of another kind than the JSON that
// programs are given, which proxies and firewalls send.
func worksFor(resp *http.Response) bool {
	switch s := resp.StatusCode; {
	case s == http.StatusMisdirectedRequest, s == http.StatusTooManyRequests, s >= 500:
		return false
	case s >= 400:
		kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		return strings.HasSuffix(kind, "json")
	}
	return true
}

// onTrial reports whether req on c may be sent over TCP, too.
func (o *origin) onTrial(c *conn, req *http.Request) bool {
	if c.protocol != protoHTTP3 || !o.maySpeakH3() || !idempotent(req) || req.Body != nil && req.Body != http.NoBody {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return !c.proved
}

// An h3Trial is a request on a connection that is on trial.
type h3Trial struct {
	o      *origin
	c      *conn
	req    *http.Request
	use    use
	sent   time.Time
	came   time.Time // when the response began
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when resp and err are known
	resp   *http.Response
	err    error
	long   bool // only a part of the body is known
	newest int64

	mu    sync.Mutex
	free  bool                    // the request holds no place on c any more
	left  bool                    // the response is not wanted
	other context.CancelCauseFunc // ends the request over TCP
}

// startTrial sends req on c.
func (o *origin) startTrial(c *conn, req *http.Request, u use, sent time.Time, newest int64) *h3Trial {
	t := &h3Trial{o: o, c: c, use: u, sent: sent, newest: newest, done: make(chan struct{})}
	var ctx context.Context
	ctx, t.cancel = context.WithCancelCause(req.Context())
	t.req = req.WithContext(ctx)
	go t.run()
	return t
}

func (t *h3Trial) run() {
	t.resp, t.err = t.o.send(t.c, t.req)
	t.came = time.Now()
	if t.err == nil {
		t.long, t.err = readAhead(t.resp)
	}
	t.o.mu.Lock()
	works := t.works()
	if works {
		t.o.h3WorksLocked(t.c)
	}
	t.o.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.done) // under the lock: who delivers the response sets left, too
	switch {
	case t.left:
		t.dropLocked()
	case works && t.other != nil:
		t.other(errH3Came)
	}
}

// A grace is how long a request waits for its response before it is sent over TCP
// as well.
func (o *origin) grace() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if d := o.p.cfg.HeadStart; d > 0 {
		return d
	}
	return min(max(headStart, 3*o.rtt), maxHeadStart)
}

// wait returns when the response is complete, or false if the request is to be sent
// over TCP as well.
func (t *h3Trial) wait() bool {
	grace := t.o.grace()
	timer, due := time.NewTimer(grace), time.Now().Add(grace)
	defer timer.Stop()
	for waited := false; ; {
		select {
		case <-t.done:
			return true
		case <-timer.C:
		}
		late := time.Since(due) > quietTime/10
		timer.Reset(grace)
		due = time.Now().Add(grace)
		if late {
			continue // this process got no time, and the response may be unread
		}
		if h, ok := carrierH3(t.c); ok && !h.proven() {
			continue // the handshake has a clock of its own
		}
		o := t.o
		o.mu.Lock()
		first := !o.doubtsH3Locked() && !t.c.draining
		if first {
			o.doubtH3Locked(errH3Slow)
		}
		o.mu.Unlock()
		if first || waited || t.c.cc.Err() != nil {
			return false
		}
		waited = true // another request finds it out
	}
}

// failure is the error of a trial that is over and brought nothing useful; nil if it
// brought something.
func (t *h3Trial) failure() error {
	switch {
	case t.err != nil:
		return t.err
	case t.works(), t.resp.StatusCode == http.StatusTooManyRequests:
		return nil
	}
	t.o.mu.Lock()
	defer t.o.mu.Unlock()
	if t.o.h3.compared {
		return nil
	}
	if t.long {
		return &h3Error{reason: RetryHTTP3, err: errH3Long}
	}
	return &h3Error{reason: RetryHTTP3, err: errH3Status}
}

// works reports whether the response that came, if any, is useful.
func (t *h3Trial) works() bool { return t.err == nil && !t.long && worksFor(t.resp) }

// beside returns the context for the request over TCP, which ends if a useful
// response comes over HTTP/3 first.
func (t *h3Trial) beside(ctx context.Context) context.Context {
	if t == nil {
		return ctx
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.other == nil {
		ctx, t.other = context.WithCancelCause(ctx)
		select {
		case <-t.done:
			if t.works() {
				t.other(errH3Came)
			}
		default:
		}
	}
	return ctx
}

// instead waits for the response over HTTP/3 if TCP brought none. It reports
// whether there is one.
func (t *h3Trial) instead() bool {
	if t == nil {
		return false
	}
	<-t.done // the request's context bounds it
	return t.err == nil
}

// leave is for a request that has another response, or none.
func (t *h3Trial) leave() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left {
		return
	}
	t.left = true
	t.cancel(context.Canceled)
	select {
	case <-t.done:
		t.dropLocked()
	default:
	}
}

// dropLocked frees the place of the request.
func (t *h3Trial) dropLocked() {
	if t.resp != nil {
		t.resp.Body.Close()
	}
	if !t.free {
		t.free = true
		t.o.release(t.c)
	}
}

// failedTrial is for a trial that is over, while its response may still do if TCP
// brings none. Its place is freed.
func (t *h3Trial) failed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free = true
}

// deliverTrial delivers the response over HTTP/3.
func (o *origin) deliverTrial(t *h3Trial, d delivery) *http.Response {
	t.mu.Lock()
	t.left = true
	if t.free {
		o.mu.Lock()
		t.c.inflight++
		o.mu.Unlock()
	}
	t.mu.Unlock()
	d.sent, d.came, d.first = t.sent, t.came, t.use.first
	return o.deliver(t.c, t.req, t.resp, d)
}

// readAhead reads a body, or the first part of a long one, and reports whether the
// rest is of unknown length.
func readAhead(resp *http.Response) (long bool, err error) {
	var buf bytes.Buffer
	_, err = io.CopyN(&buf, resp.Body, trialBody)
	if err != nil && err != io.EOF {
		resp.Body.Close()
		return false, &h3Error{reason: RetryHTTP3, err: errors.Join(errH3Cut, err)}
	}
	b := &aheadBody{ReadCloser: resp.Body, ahead: &buf, whole: err == io.EOF}
	if e, ok := resp.Body.(earlyBody); ok {
		b.early = e
	}
	resp.Body = b
	return err == nil && resp.ContentLength < 0, nil
}

type earlyBody interface{ earlyData() (sent bool, again int) }

// An aheadBody is a body whose beginning was read.
type aheadBody struct {
	io.ReadCloser
	ahead *bytes.Buffer
	whole bool // nothing follows
	early earlyBody
}

func (b *aheadBody) Read(p []byte) (int, error) {
	switch {
	case b.ahead.Len() > 0:
		return b.ahead.Read(p)
	case b.whole:
		return 0, io.EOF
	}
	return b.ReadCloser.Read(p)
}

func (b *aheadBody) earlyData() (sent bool, again int) {
	if b.early == nil {
		return false, 0
	}
	return b.early.earlyData()
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
	if h, ok := c.cc.(*h3Conn); ok && h.early && !c.proved {
		o.failedEarlyLocked(h.proven())
	}
	if !o.maySpeakH3() {
		if late && c.served == 0 {
			c.draining, c.broken = true, true // the next attempt has another one
		}
		return
	}
	switch {
	case o.doubtsH3Locked(), !c.proved, late, f.reason == noRetry, f.reason == RetryHTTP3:
		if !o.doubtsH3Locked() && !o.goneH3Locked(c) {
			o.doubtH3Locked(err)
		}
		f.overTCP = true
	}
}

// goneH3Locked reports whether c is one that was closed because HTTP/3 is broken.
func (o *origin) goneH3Locked(c *conn) bool {
	f := o.p.facts.Get(o.key.String())
	return c.draining && time.Now().Before(f.QUICBlocked)
}

// Early data is an optimisation of its own: where it failed, and requests without
// it succeed, it is not used for a while.

// failedEarlyLocked notes a failure on a connection with early data, whose
// handshake is done or not.
func (o *origin) failedEarlyLocked(done bool) {
	o.lateOnly.Store(true)
	o.h3.early, o.h3.sure = true, o.h3.sure || done
}

// judgeEarlyLocked takes note of a response. Early says that its request went out
// as early data.
func (o *origin) judgeEarlyLocked(c *conn, ok, early bool) {
	switch {
	case !ok:
	case early:
		if f := o.p.facts.Get(o.key.String()); f.EarlyFailures > 0 {
			o.p.facts.Update(o.key.String(), (*Facts).unblockEarly)
		}
	case o.h3.early:
		if o.h3.sure || c.protocol == protoHTTP3 {
			o.p.facts.Update(o.key.String(), func(f *Facts) { f.blockEarly(time.Now()) })
		}
		o.h3.early, o.h3.sure = false, false
	}
}

func (o *origin) tooEarly() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failedEarlyLocked(true)
}

// brokeH3 is for a body over HTTP/3 that failed.
func (o *origin) brokeH3(c *conn, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c.proved {
		o.doubtH3Locked(err)
	}
}

// speaksH3 reports whether HTTP/3 is spoken at all.
func (p *Pool) speaksH3() bool { return p.h3 != nil }
