package pool

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

// A Reason says why a request was sent again.
type Reason string

const (
	// RetryClosed: a kept connection ended before the response began.
	RetryClosed Reason = "closed"
	// RetryGoAway: the server closed the connection (GOAWAY) and had not
	// processed the request, or did not say whether it had.
	RetryGoAway Reason = "goaway"
	// RetryRefused: the server refused the stream before processing it.
	RetryRefused Reason = "refused_stream"
	// RetrySession: the handshake failed because of the session that it was to
	// resume. The connection is made again without, before the request goes out.
	RetrySession Reason = "session"
	// RetryHTTP11: the server requires HTTP/1.1 (RFC 9113 section 7), over which the
	// request and those after it are sent.
	RetryHTTP11 Reason = "http_1_1_required"
	// RetryEarlyData: the server did not take early data (0-RTT), or nothing
	// came back from it that would tell.
	RetryEarlyData Reason = "early_data"

	// RetryHTTP3: HTTP/3 failed, or took long, and the request goes out over TCP.
	RetryHTTP3 Reason = "http3"

	noRetry Reason = ""
)

// notProcessed reports whether the server said that it did nothing about the
// request that failed with err.
func (r Reason) notProcessed(err error) bool {
	return r == RetryGoAway && !leftOpen(err) || r == RetryRefused || r == RetryEarlyData
}

// leftOpen reports whether err is from a connection that the server closed
// after it had said so, without a word about which requests it had processed.
// A server that restarts may do so to several connections in a row.
func leftOpen(err error) bool {
	text := err.Error()
	return strings.Contains(text, "server sent GOAWAY and closed the connection") && strings.Contains(text, "ErrCode=NO_ERROR")
}

// maxUnprogressed bounds the repetitions of a request that a server refuses on
// connections on which it has answered nothing, or leaves open on those that it
// closes.
const maxUnprogressed = 10

// maxRefused bounds the repetitions of a request that a server refuses while it
// answers others. There is a pause before each on a connection, see
// [origin.holdLocked].
const maxRefused = 20

// Bounds of the repetitions of a request whose connection ended before the
// response began. Nobody knows whether the server had read it, so there are
// few; more while the connections answer others before they end.
const (
	maxClosedFresh  = 1 // on a connection made for it
	maxClosedReused = 2 // on one kept from before: once for that, once for a server so quick to close that it did it again
	maxClosedBusy   = 6 // on one that answered others
)

// maxFutile bounds the repetitions of a request over HTTP/3 whose connection was
// closed because nothing was heard on it, or because the server granted no stream. Each
// takes a second, and the caller's own attempts come on top.
const maxFutile = 1

// maxOverTCP bounds the repetitions of a request over TCP after HTTP/3 failed.
const maxOverTCP = 2

// A failure is what a failed attempt tells about repeating it.
type failure struct {
	reason       Reason
	unprocessed  bool  // the server said that it did nothing about it
	unsent       bool  // it did not go out
	progressed   bool  // the connection had answered others
	abandoned    bool  // the connection was given up, see [Stats].Abandoned
	retryOverTCP bool  // HTTP/3 failed where TCP may work
	doubtful     bool  // the connection was made with what may be the reason
	futile       bool  // the Pool closed the connection after a second without any use of it
	newest       int64 // number of the newest connection when it was sent: those made since are fresh
}

// A retrier keeps count for one request.
type retrier struct {
	retries      int
	unprogressed int
	closed       int   // repetitions after RetryClosed
	overTCP      int   // repetitions after HTTP/3
	refused      int   // repetitions after RetryRefused
	abandoned    int   // repetitions after connections that were given up
	futile       int   // repetitions after connections that were of no use for a second
	newerThan    int64 // the next connection must be newer
}

// allowed reports whether req may be sent again after f, and counts it.
func (r *retrier) allowed(req *http.Request, kept bool, f failure) bool {
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
		!f.progressed && kept && r.closed >= maxClosedReused,
		!f.progressed && !kept && r.closed >= maxClosedFresh:
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

// idempotent reports whether it does no harm if the server processes req twice
// (RFC 9110 section 9.2.2).
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

// rewind returns req with its body at the start.
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

// reasonOf classifies the error of an attempt whose response had not begun.
// net/http's own errors for GOAWAY are not exported, so their text decides; a
// test against a real server notices if it changes.
func reasonOf(ctx context.Context, err error) Reason {
	if ctx.Err() != nil {
		return noRetry
	}
	if _, ok := errors.AsType[requestError](err); ok {
		return noRetry
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

const refusedStream = 0x7 // RFC 9113 section 7
