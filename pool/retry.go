package pool

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

// A Reason is the reason for a transparent retry.
type Reason string

const (
	// RetryClosed means that a reused connection ended before the response began.
	RetryClosed Reason = "closed"
	// RetryGoAway means that the server closed the connection (GOAWAY) and did not process the
	// request, or did not report whether it did.
	RetryGoAway Reason = "goaway"
	// RetryRefused means that the server refused the stream before processing it.
	RetryRefused Reason = "refused_stream"
	// RetrySession means that the handshake failed while resuming a session. The Pool makes
	// another connection without the session before it sends the request.
	RetrySession Reason = "session"
	// RetryHTTP11 means that the server requires HTTP/1.1 (RFC 9113 section 7). Later requests
	// use HTTP/1.1 too.
	RetryHTTP11 Reason = "http_1_1_required"
	// RetryEarlyData means that the server rejected early data (0-RTT), or that the connection
	// failed before the server accepted it.
	RetryEarlyData Reason = "early_data"

	// RetryHTTP3 means that HTTP/3 failed or was slow, and the request is sent over TCP.
	RetryHTTP3 Reason = "http3"

	noRetry Reason = ""
)

// notProcessed reports whether the server stated that it did not process the
// request.
func (r Reason) notProcessed(err error) bool {
	return r == RetryGoAway && !leftOpen(err) || r == RetryRefused || r == RetryEarlyData
}

// leftOpen reports whether err is from a connection closed after a GOAWAY that did not state
// which requests were processed. A server that restarts may send such a GOAWAY on several
// connections in a row.
func leftOpen(err error) bool {
	text := err.Error()
	return strings.Contains(text, "server sent GOAWAY and closed the connection") && strings.Contains(text, "ErrCode=NO_ERROR")
}

// maxUnprogressed limits the retries of a request that is refused on connections without
// a response, or whose outcome is unknown after GOAWAY.
const maxUnprogressed = 10

// maxRefused limits the retries of a request that is refused while other requests get
// responses. A pause precedes each retry, see [origin.pauseLocked].
const maxRefused = 20

// The following rules are for a single request. The function decide in client/retry.go
// determines whether a failed lookup gets another attempt.

// Limits of the retries of a request whose connection ended before the response. The server may
// have read the request, so the limits are low, but higher if the connections answered other
// requests.
const (
	maxClosedFresh = 1 // limit for a new connection
	// limit for a reused connection: one retry for a stale connection, one for a server that
	// closes the next connection immediately
	maxClosedReused = 2
	maxClosedBusy   = 6 // limit for a connection that answered other requests
)

// maxFutile limits the retries of a request over HTTP/3 whose connection was closed as useless.
// Each such retry takes a second, and the caller has its own retries.
const maxFutile = 1

// maxOverTCP limits the retries over TCP after HTTP/3 failed.
const maxOverTCP = 2

// A failure describes a failed attempt, for the decision to retry.
type failure struct {
	reason       Reason
	unprocessed  bool  // the server stated that it did not process the request
	unsent       bool  // no part of the request was sent
	progressed   bool  // the connection had answered other requests
	abandoned    bool  // see [Stats].Abandoned
	retryOverTCP bool  // HTTP/3 failed; TCP may work
	doubtful     bool  // see [conn.doubtful]
	futile       bool  // the Pool closed the connection as useless, see [h3Watchdog.check]
	newest       int64 // number of the newest connection when the request was sent
}

// A retrier counts the retries of one request.
type retrier struct {
	retries      int
	unprogressed int
	closed       int   // retries after RetryClosed
	overTCP      int   // retries after HTTP/3 failed
	refused      int   // retries after RetryRefused
	abandoned    int   // retries after abandoned connections
	futile       int   // retries after useless connections
	newerThan    int64 // the next connection must have a greater number
}

// allowed reports whether req may be retried after f, and counts the retry.
func (r *retrier) allowed(req *http.Request, reused bool, f failure) bool {
	if f.retryOverTCP && r.overTCP < maxOverTCP && repeatable(req) && req.Context().Err() == nil && (f.unsent || f.unprocessed || idempotent(req)) {
		r.overTCP++
		r.retries++
		return true
	}
	if f.reason == noRetry || !repeatable(req) || req.Context().Err() != nil {
		return false
	}
	if !f.unsent && !f.unprocessed && !idempotent(req) {
		return false
	}
	switch {
	case f.abandoned:
		if r.abandoned++; r.abandoned > maxAbandoned {
			return false
		}
		r.newerThan = f.newest
	case f.reason == RetryHTTP11:
		if r.unprogressed++; r.unprogressed > maxUnprogressed {
			return false
		}
		r.newerThan = f.newest
	case f.reason == RetryRefused && r.refused >= maxRefused:
		return false
	case f.unprocessed, f.reason == RetryGoAway:
		if f.reason == RetryRefused {
			r.refused++
		}
		if !f.unprocessed {
			r.newerThan = f.newest
		}
		if !f.progressed || !f.unprocessed {
			if r.unprogressed++; r.unprogressed > maxUnprogressed {
				return false
			}
		}
	case f.futile && r.futile >= maxFutile,
		f.progressed && r.closed >= maxClosedBusy,
		!f.progressed && reused && r.closed >= maxClosedReused,
		!f.progressed && !reused && r.closed >= maxClosedFresh:
		return false
	default:
		if f.futile {
			r.futile++
		}
		r.closed++
		r.newerThan = f.newest
	}
	r.retries++
	return true
}

// idempotent reports whether the server may process req twice (RFC 9110 section
// 9.2.2).
func idempotent(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return req.Header["Idempotency-Key"] != nil
}

// repeatable reports whether req can be sent twice.
func repeatable(req *http.Request) bool {
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
}

// rewind returns req with a body that starts again.
func rewind(req *http.Request) (*http.Request, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return req, nil
	}
	body, err := req.GetBody()
	if err != nil {
		return req, err
	}
	again := *req
	again.Body = body
	return &again, nil
}

// reasonOf classifies the error of an attempt without a response. net/http exports no errors
// for GOAWAY, so reasonOf compares texts. A test against a real server detects changed texts.
func reasonOf(ctx context.Context, err error) Reason {
	if ctx.Err() != nil {
		return noRetry
	}
	if _, ok := errors.AsType[requestError](err); ok {
		return noRetry
	}
	if err == error(headerTimeoutError{}) {
		return noRetry // another wait would exceed the limit
	}
	if e, ok := errors.AsType[*h3Error](err); ok {
		return e.reason
	}
	var stream streamError
	if errors.As(err, &stream) && stream.Code == refusedStream {
		return RetryRefused
	}
	text := err.Error()
	switch {
	case strings.Contains(text, "graceful shutdown GOAWAY"), strings.Contains(text, "client conn not usable"), leftOpen(err):
		return RetryGoAway
	case strings.Contains(text, "server response headers exceeded"):
		return noRetry
	}
	return RetryClosed
}

// streamError has the shape of golang.org/x/net/http2.StreamError, which
// net/http's own HTTP/2 errors convert to.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e streamError) Error() string { return "stream error" }

const refusedStream = 0x7 // REFUSED_STREAM of RFC 9113 section 7
