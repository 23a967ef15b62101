package pool

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"
)

// headerTimeoutError is the error of a request whose response did not begin within
// [Config.ResponseHeaderTimeout]. Like that of net/http, it is a
// [context.DeadlineExceeded].
type headerTimeoutError struct{}

func (headerTimeoutError) Error() string   { return "pool: timeout awaiting response header" }
func (headerTimeoutError) Timeout() bool   { return true }
func (headerTimeoutError) Temporary() bool { return true }

// Is reports whether target is [context.DeadlineExceeded].
func (headerTimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// A headerTimer cancels a request whose response does not begin in time.
type headerTimer struct {
	limit  time.Duration
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer // nil until the request is written
	begun bool        // the response has begun, or the request has failed
}

// wrote starts the timer. It is called again if a request is sent again on the same
// connection.
func (h *headerTimer) wrote(httptrace.WroteRequestInfo) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.begun:
	case h.timer != nil:
		h.timer.Reset(h.limit)
	default:
		h.timer = time.AfterFunc(h.limit, func() { h.cancel(headerTimeoutError{}) })
	}
}

func (h *headerTimer) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.begun = true
	if h.timer != nil {
		h.timer.Stop()
	}
}

// roundTripWithin is like roundTrip, but limits the wait for the response after the
// request is written.
func (c *conn) roundTripWithin(req *http.Request, limit time.Duration) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	h := &headerTimer{limit: limit, cancel: cancel}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: h.wrote})
	resp, err := c.roundTrip(req.WithContext(ctx))
	h.stop()
	if err != nil {
		if req.Context().Err() == nil && context.Cause(ctx) == error(headerTimeoutError{}) {
			err = headerTimeoutError{}
		}
		cancel(nil)
		return nil, err
	}
	resp.Request = req
	if resp.Body == http.NoBody {
		cancel(nil)
		return resp, nil
	}
	resp.Body = timedBody{resp.Body, cancel}
	return resp, nil
}

// A timedBody frees the context of roundTripWithin when it is closed.
type timedBody struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

func (b timedBody) Close() error {
	defer b.cancel(nil)
	return b.ReadCloser.Close()
}

// Write is for a response with status 101.
func (b timedBody) Write(p []byte) (int, error) {
	if w, ok := b.ReadCloser.(io.Writer); ok {
		return w.Write(p)
	}
	return 0, http.ErrNotSupported
}

func (b timedBody) earlyData() (sent bool, again int) {
	if e, ok := b.ReadCloser.(earlyBody); ok {
		return e.earlyData()
	}
	return false, 0
}
