package pool

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// HTTP/3 offered by an origin is on trial until a connection has given a useful response. A
// request on such a connection is complete when its body is complete, and is sent over TCP as
// well if the response takes long. After a failure HTTP/3 is in doubt, and requests go over
// TCP. If TCP gives a useful response, the alternative is broken (RFC 7838 section 2.4) and not
// used for a while, nor by later runs.

// longBody is the number of bytes of a body over HTTP/3 that must have been read for an early
// Close to count as a failure.
const longBody = 1 << 20

// trialBody is the number of bytes of a body that are read before a response on trial is
// delivered. A longer body without a length may be endless, so TCP is tried. If TCP gives no
// response, the long one is delivered.
const trialBody = 64 << 10

// An h3Trial is a request on a connection that is on trial.
type h3Trial struct {
	origin     *origin
	conn       *conn
	req        *http.Request
	use        connUse
	sent       time.Time
	responseAt time.Time // when the response began
	cancel     context.CancelCauseFunc
	done       chan struct{} // closed when resp and err are known
	resp       *http.Response
	err        error
	long       bool // only a part of the body was read
	newest     int64

	mu        sync.Mutex
	released  bool                    // the request holds no slot on c
	abandoned bool                    // the response is no longer needed
	cancelTCP context.CancelCauseFunc // ends the request over TCP
}

func (t *h3Trial) run() {
	t.resp, t.err = t.origin.send(t.conn, t.req)
	t.responseAt = time.Now()
	if t.err == nil {
		t.long, t.err = readAhead(t.resp)
	}
	t.origin.mu.Lock()
	works := t.useful()
	if works {
		t.origin.h3WorksLocked(t.conn)
	}
	t.origin.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.done) // hold the lock, because deliverTrial sets abandoned
	switch {
	case t.abandoned:
		t.dropLocked()
	case works && t.cancelTCP != nil:
		t.cancelTCP(errH3First)
	}
}

// waitResponse returns true when the response is complete, and false if the request
// should be sent over TCP as well.
func (t *h3Trial) waitResponse() bool {
	grace := t.origin.trialTimeout()
	timer, due := time.NewTimer(grace), time.Now().Add(grace)
	defer timer.Stop()
	for waited := false; ; {
		select {
		case <-t.done:
			return true
		case <-timer.C:
		}
		late := time.Since(due) > silenceTimeout/10
		timer.Reset(grace)
		due = time.Now().Add(grace)
		if late {
			continue // the process got no CPU time; an unread response may be waiting
		}
		if h, ok := asH3(t.conn); ok && !h.handshakeDone() {
			continue // the handshake has its own timeout
		}
		o := t.origin
		o.mu.Lock()
		first := !o.doubtsH3Locked() && !t.conn.draining
		if first {
			o.doubtH3Locked(errH3Slow)
		}
		o.mu.Unlock()
		if first || waited || t.conn.cc.Err() != nil {
			return false
		}
		waited = true // another request already tries TCP
	}
}

// failure returns the error of a trial that ended without a useful response, or nil after a
// useful response.
func (t *h3Trial) failure() error {
	switch {
	case t.err != nil:
		return t.err
	case t.useful(), t.resp.StatusCode == http.StatusTooManyRequests:
		return nil
	}
	t.origin.mu.Lock()
	defer t.origin.mu.Unlock()
	if t.origin.h3.tcpNoBetter {
		return nil
	}
	if t.long {
		return &h3Error{reason: RetryHTTP3, err: errH3Long}
	}
	return &h3Error{reason: RetryHTTP3, err: errH3Status}
}

// useful reports whether a useful response has come.
func (t *h3Trial) useful() bool { return t.err == nil && !t.long && usefulResponse(t.resp) }

// tcpContext returns the context of the request over TCP. It is canceled if HTTP/3
// gives a useful response first.
func (t *h3Trial) tcpContext(ctx context.Context) context.Context {
	if t == nil {
		return ctx
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancelTCP == nil {
		ctx, t.cancelTCP = context.WithCancelCause(ctx)
		select {
		case <-t.done:
			if t.useful() {
				t.cancelTCP(errH3First)
			}
		default:
		}
	}
	return ctx
}

// fallBack waits for the response over HTTP/3 after TCP gave none, and reports
// whether there is one.
func (t *h3Trial) fallBack() bool {
	if t == nil {
		return false
	}
	<-t.done // returns by the deadline of the request's context
	return t.err == nil
}

// abandon gives up the trial of a request that has another response, or has failed.
func (t *h3Trial) abandon() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.abandoned {
		return
	}
	t.abandoned = true
	t.cancel(context.Canceled)
	select {
	case <-t.done:
		t.dropLocked()
	default:
	}
}

// dropLocked frees the slot of the request.
func (t *h3Trial) dropLocked() {
	if t.resp != nil {
		t.resp.Body.Close()
	}
	if !t.released {
		t.released = true
		t.origin.release(t.conn)
	}
}

// releaseSlot records that the slot of a finished trial is free. The response may be delivered
// if TCP gives none.
func (t *h3Trial) releaseSlot() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.released = true
}

// readAhead reads a body up to trialBody. It reports whether more of unknown length
// follows.
func readAhead(resp *http.Response) (long bool, err error) {
	var buf bytes.Buffer
	_, err = io.CopyN(&buf, resp.Body, trialBody)
	if err != nil && err != io.EOF {
		resp.Body.Close()
		return false, &h3Error{reason: RetryHTTP3, err: errors.Join(errH3Truncated, err)}
	}
	b := &aheadBody{ReadCloser: resp.Body, ahead: &buf, whole: err == io.EOF}
	if e, ok := resp.Body.(earlyBody); ok {
		b.early = e
	}
	resp.Body = b
	return err == nil && resp.ContentLength < 0, nil
}

type earlyBody interface{ earlyData() (sent bool, again int) }

// An aheadBody is a body whose beginning has been read.
type aheadBody struct {
	io.ReadCloser
	ahead *bytes.Buffer
	whole bool // the rest of the body is empty
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
