package pool

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// An h3Conn is a connection over HTTP/3.
//
// A connection that resumes a session is early: it carries requests before handshakeEnded is
// closed. Requests that may be sent as early data are sent, and the others wait. If the server
// rejects early data, those requests are sent again on the same connection.
type h3Conn struct {
	dialer *quicDialer
	key    originKey
	route  *h3Route
	full   bool       // the handshake resumes no session
	offer  *quicOffer // nil means sessions are not stored
	other  netip.Addr // another address of the host; invalid if there is no other
	quic   *quic.Conn
	http   atomic.Pointer[http3.ClientConn]
	limit  atomic.Int64 // concurrent requests that the peer allows
	begun  time.Time
	hooks  h3Hooks
	early  bool

	// handshakeEnded is closed when the handshake has ended. The following fields are written
	// before.
	handshakeEnded chan struct{}
	setup          setup
	handshakeErr   error
	accepted       bool // the server accepted early data

	mu          sync.Mutex
	attempts    int          // number of requests sent as early data; guarded by mu
	earlyClosed bool         // no more early data may be sent; guarded by mu
	opening     atomic.Int64 // number of early requests that are opening a stream
	dialWon     atomic.Bool  // the dial has chosen this connection

	done     atomic.Bool  // the handshake is complete
	answered atomic.Bool  // the connection delivered a response
	leaving  atomic.Bool  // the connection is about to be closed
	goAway   atomic.Bool  // the server sent GOAWAY
	futile   atomic.Bool  // h3Watchdog.check closed the connection
	active   atomic.Int64 // number of requests without a response
	unopened atomic.Int64 // number of requests without a stream
	onChange atomic.Pointer[func(gone bool)]

	writing atomic.Pointer[dataFrames] // frames of the request whose header is being written
	streams sync.Map                   // maps quic.StreamID to *dataFrames
}

const (
	h3NoError       = quic.ApplicationErrorCode(http3.ErrCodeNoError)
	h3InternalError = quic.ApplicationErrorCode(http3.ErrCodeInternalError)
)

// maxEarly limits concurrent requests on a connection until its handshake is done.
// Later the limit is depthForH3, unless HTTP/3 is the only protocol.
const maxEarly = 16

func (h *h3Conn) Available() int {
	switch {
	case h.Err() != nil:
		return 0
	case !h.done.Load():
		return min(h.streamLimit(), maxEarly)
	case !h.route.onlyH3:
		return min(h.streamLimit(), depthForH3)
	}
	return h.streamLimit()
}

func (h *h3Conn) Err() error {
	if h.goAway.Load() {
		return errGoneAway
	}
	if ctx := h.quic.Context(); ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

func (h *h3Conn) Close() error {
	h.awaitTicket(context.Background())
	return h.quic.CloseWithError(h3NoError, "")
}

func (h *h3Conn) OnChange(f func(gone bool)) {
	if f == nil {
		h.onChange.Store(nil)
		return
	}
	h.onChange.Store(&f)
}

func (h *h3Conn) changed(gone bool) {
	if f := h.onChange.Load(); f != nil {
		(*f)(gone)
	}
}

// ended reports the end of the connection to its origin.
func (h *h3Conn) ended() { h.changed(true) }

func (h *h3Conn) handshakeDone() bool { return h.done.Load() }

func (h *h3Conn) streamLimit() int { return int(min(max(h.limit.Load(), 1), 1<<20)) }

func (h *h3Conn) bytes() (in, out int64) {
	s := h.quic.ConnectionStats()
	return int64(s.BytesReceived), int64(s.BytesSent)
}

func (h *h3Conn) setHooks(hooks h3Hooks) {
	h.hooks = hooks
	if h.early {
		h.dialer.work.Go(h.awaitHandshake)
	}
}

// awaitHandshake waits for the end of the handshake of an early connection.
func (h *h3Conn) awaitHandshake() {
	p := handshakeResult{}
	select {
	case <-h.quic.HandshakeComplete():
		h.mu.Lock()
		h.earlyClosed = true
		attempts := h.attempts
		h.mu.Unlock()
		if h.accepted = h.quic.ConnectionState().Used0RTT; !h.accepted {
			p.err = h.continueWithoutEarly(attempts)
		}
		h.finishSetup()
		p.setup, p.earlySent, p.earlyAccepted = h.setup, attempts > 0, h.accepted
	case <-h.quic.Context().Done():
		p.err = context.Cause(h.quic.Context())
	}
	if p.err != nil {
		h.handshakeErr = h.lost(p.err)
	} else {
		h.done.Store(true)
	}
	h.hooks.handshakeEnded(p)
	close(h.handshakeEnded)
	h.changed(false)
}

// continueWithoutEarly makes the connection usable after its early data was rejected.
//
// quic-go numbers the streams of the lost requests anew, but resets streams by the old numbers
// when it cleans up those requests. Therefore continueWithoutEarly assigns the old numbers to
// unused streams.
func (h *h3Conn) continueWithoutEarly(attempts int) error {
	if _, err := h.quic.NextConnection(h.quic.Context()); err != nil {
		return err
	}
	for range attempts {
		if _, err := h.quic.OpenStream(); err != nil {
			break // the server allows no more streams
		}
	}
	h.http.Store(h.dialer.http.NewClientConn(h.quic))
	return nil
}

// takeEarly reports whether req may go out as early data, and counts it.
func (h *h3Conn) takeEarly(req *http.Request) bool {
	if h.isHandshakeEnded() || !h.hooks.allowEarly(req) {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.earlyClosed || int64(h.attempts) >= h.limit.Load() {
		return false
	}
	h.attempts++
	h.opening.Add(1)
	return true
}

// lost returns the error of the requests on a connection whose handshake failed. No request was
// answered, so all may be retried.
func (h *h3Conn) lost(cause error) error {
	err := &Error{Step: StepHandshake, Origin: h.key.String(), Err: cause}
	again := &h3Error{reason: RetryEarlyData, unsent: true, err: err}
	app, closed := errors.AsType[*quic.ApplicationError](cause)
	switch {
	case closed && !app.Remote: // the Pool closed the connection
	case err.Timeout() && h.other.IsValid():
		// No other address was tried, because the connection was used before its handshake
		// ended.
		h.dialer.dialer.resolver.prefer(h.route.host, h.route.port, h.other)
	case err.Timeout():
		if h.route.onlyH3 {
			again.reason = noRetry
		}
	default:
		// The session may be the cause of the failure.
		if s := h.dialer.dialer.tls.forOrigin(h.key).quicSessions(); s != nil {
			s.Put("", nil)
		}
	}
	return again
}

func (h *h3Conn) finishSetup() {
	state := h.quic.ConnectionState().TLS
	h.setup.tls = time.Since(h.begun)
	h.setup.version, h.setup.resumed = state.Version, state.DidResume
}

// isHandshakeEnded reports whether the handshake has ended.
func (h *h3Conn) isHandshakeEnded() bool {
	select {
	case <-h.handshakeEnded:
		return true
	default:
		return false
	}
}

// waitHandshake waits for the end of the handshake.
func (h *h3Conn) waitHandshake(ctx context.Context) error {
	select {
	case <-h.handshakeEnded:
		return h.handshakeErr
	default:
	}
	select {
	case <-h.handshakeEnded:
		return h.handshakeErr
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (h *h3Conn) RoundTrip(req *http.Request) (*http.Response, error) {
	if !h.takeEarly(req) {
		if err := h.waitHandshake(req.Context()); err != nil {
			return nil, err
		}
		resp, w, err := h.send(req, false)
		return h.finish(req, resp, err, &h3Body{frames: w.frames})
	}
	resp, w, err := h.send(req, true)
	if outcome := h.waitHandshake(req.Context()); outcome != nil {
		if resp != nil {
			resp.Body.Close()
		}
		return nil, outcome
	}
	b := &h3Body{early: w.early.Load() && h.accepted, frames: w.frames}
	switch {
	case err != nil && errors.Is(err, quic.Err0RTTRejected):
	case err == nil && resp.StatusCode == http.StatusTooEarly:
		resp.Body.Close()
		h.hooks.tooEarly()
	default:
		return h.finish(req, resp, err, b)
	}
	h.hooks.retried(RetryEarlyData)
	resp, w, err = h.send(req, false)
	return h.finish(req, resp, err, &h3Body{retries: 1, frames: w.frames})
}

// finish turns the outcome of a request into the Pool's response or error.
func (h *h3Conn) finish(req *http.Request, resp *http.Response, err error, b *h3Body) (*http.Response, error) {
	switch {
	case err != nil:
		if req.Context().Err() == nil {
			err = h.classify(err)
		}
		return nil, err
	case resp.StatusCode == http.StatusMisdirectedRequest && !h.route.onlyH3:
		resp.Body.Close()
		h.hooks.misdirected()
		return nil, &h3Error{reason: RetryRefused, err: errMisdirected}
	}
	h.answered.Store(true)
	resp.Request = req
	b.ReadCloser, b.ctx, b.bodyFailed = resp.Body, req.Context(), h.hooks.bodyFailed
	resp.Body = b
	return resp, nil
}

// send sends req on a new stream.
func (h *h3Conn) send(req *http.Request, early bool) (resp *http.Response, w *h3Watchdog, err error) {
	w = &h3Watchdog{conn: h, earlyAttempt: early, idle: h.active.Add(1) == 1 && !early && !h.dialer.cfg.noReuse(), frames: &dataFrames{conn: h}}
	h.unopened.Add(1)
	defer w.stop()
	r := req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		WroteHeaders:     w.streamOpened,
		WroteHeaderField: func(string, []string) { h.writing.Store(w.frames) },
	}))
	if r.Body == http.NoBody {
		r.Body = nil
	}
	if early {
		r.Method = http3.MethodGet0RTT
		if req.Method == http.MethodHead {
			r.Method = http3.MethodHead0RTT
		}
	}
	w.start()
	resp, err = h.http.Load().RoundTrip(r)
	if err != nil {
		w.frames.forget()
	}
	return resp, w, err
}

// An h3Body is the body of a response, with the state of its request that the Pool
// needs.
type h3Body struct {
	io.ReadCloser
	early   bool // the request was sent as early data
	retries int  // retries on the same connection

	ctx        context.Context
	bodyFailed func(err error) // called when the body is cut off
	frames     *dataFrames
	read       atomic.Int64
	ended      atomic.Bool
	closed     atomic.Bool
}

func (b *h3Body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read.Add(int64(n))
	if err == nil {
		return n, nil
	}
	b.ended.Store(true)
	if err == io.EOF && b.read.Load() < b.frames.announced() {
		err = io.ErrUnexpectedEOF
	}
	b.frames.forget()
	if err != io.EOF && !b.closed.Load() &&
		(b.ctx.Err() == nil || errors.Is(context.Cause(b.ctx), context.DeadlineExceeded)) {
		b.bodyFailed(err)
	}
	return n, err
}

func (b *h3Body) Close() error {
	if !b.closed.Swap(true) && !b.ended.Load() && b.read.Load() > longBody {
		b.bodyFailed(errH3Long)
	}
	b.frames.forget()
	return b.ReadCloser.Close()
}

func (b *h3Body) earlyData() (sent bool, again int) { return b.early, b.retries }

var (
	errGoneAway    = errors.New("the server has closed the connection")
	errMisdirected = errors.New("the alternative service does not serve the origin")
)

// classify turns an error of HTTP/3 into an h3Error. quic-go exports no errors for GOAWAY and
// for invalid headers, so classify compares texts. A test against a real server detects changed
// texts.
func (h *h3Conn) classify(err error) error {
	e := &h3Error{reason: RetryClosed, futile: h.futile.Load(), err: err}
	text := err.Error()
	var from *http3.Error
	switch {
	case strings.Contains(text, "connection in graceful shutdown"):
		h.goAway.Store(true)
		e.reason, e.unsent = RetryGoAway, true
	case errors.As(err, &from) && from.Remote && from.ErrorCode == http3.ErrCodeRequestRejected:
		e.reason = RetryRefused
	case strings.Contains(text, "http3: conn unusable"):
		e.unsent = true
	case strings.Contains(text, "http3: invalid response"), strings.Contains(text, "frame too large"),
		strings.Contains(text, "too many 1xx"):
		e.reason = noRetry
	}
	return e
}
