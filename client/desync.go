package client

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/rdapq/rdapq/pool"
)

// desyncResentWarning is the warning of a result whose query was sent again because an
// HTTP/1.1 connection returned responses to other requests.
const desyncResentWarning = "desync: a reused HTTP/1.1 connection returned responses to other requests; the query was sent again over a new one"

// desyncFoundWarning is the warning of the first result after such a connection was found,
// if the response of that result is not in doubt.
const desyncFoundWarning = "desync: the server's HTTP/1.1 responses did not match their requests; for ten minutes each request uses a new connection"

// maxDesyncs limits how often a query is sent again because of mismatched responses.
const maxDesyncs = 5

// A yielder lets other lookups start at its host while it waits.
type yielder interface {
	stepAside()
	stepBack()
}

// checkDesync decides whether the response belongs to the request of a. If the response does
// not name its object and came over a reused HTTP/1.1 connection, checkDesync may wait. It
// waits for the next response on that connection, or until no response has arrived for a while.
// It reports whether the request has to be sent again. See [pool.Check].
func (c *Client) checkDesync(ctx context.Context, a *attempt, status int) (repeat bool) {
	t, r := a.task, a.task.result
	if a.cached || a.redirected || t.walk != nil {
		t.first = nil
		return false
	}
	second := t.compareRepeat()
	other := cmp.Or(r.Other, r.otherHandle)
	switch {
	case r.namesObject:
		a.check.Match()
		return false
	case other != "" && a.check.Doubtful():
		a.check.Mismatch()
		t.otherObject = other
	case other != "" && other == t.otherObject:
		// The server sends this response over any connection.
		a.check.Agree()
		r.Desync, t.desyncFound = false, false
		r.Warnings = slices.DeleteFunc(r.Warnings, func(w Warning) bool { return w.Code == WarnDesync })
		return false
	case status/100 == 4 || r.Verdict == VerdictNotFound:
		err := c.awaitDesync(ctx, a)
		switch {
		case err == nil:
			if !second && aboutQuery(r) && a.check.Unproved() {
				t.first = &unproved{check: a.check, verdict: r.Verdict, server: t.server, conn: r.Conn.ConnID}
				return true
			}
			return false
		case !errors.Is(err, pool.ErrDesync):
			a.whole = nil
			c.stop(ctx, t, "waiting for the end of the response of "+visible(r.Server))
			return false
		}
	default:
		return false
	}
	if t.desyncs++; t.desyncs > maxDesyncs {
		a.whole = nil
		r.fail(&Error{
			Code: CodeTransport, Server: r.Server, URL: r.URL, Status: r.Status, Err: pool.ErrDesync,
			Message: "the responses of " + visible(r.Server) + " do not match the requests sent on their connections",
			Hint:    "use HTTP/2 if the server supports it, or disable connection reuse",
		})
		return false
	}
	return true
}

// warnDesyncFound adds a warning to the first result after a connection was found out of step.
// A result that has its own warning of a desync needs no other.
func (t *task) warnDesyncFound() {
	if r := t.root; t.desyncFound && !r.Desync {
		r.Desync = true
		r.warn(WarnDesync, desyncFoundWarning)
	}
	t.desyncFound = false
}

// unproved is a response that may belong to another request; see [pool.Check].
type unproved struct {
	check   pool.Check
	verdict Verdict
	server  int   // index of the server
	conn    int64 // id of the connection
}

// aboutQuery reports whether a refusal is about the query, and not about who sent it,
// how, or how often.
func aboutQuery(r *Result) bool {
	switch r.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusGone, http.StatusUnprocessableEntity:
		return true
	}
	return r.Verdict == VerdictNotFound
}

// compareRepeat reports whether the response is to a request that was sent again because
// the first response was unproved. If the server now gives a different response, the
// first one belonged to another request.
func (t *task) compareRepeat() bool {
	first, r := t.first, t.result
	if first == nil {
		return false
	}
	if !r.Verdict.Answered() && !aboutQuery(r) {
		return true // a failure does not show whether the first response was right
	}
	t.first = nil
	if first.server != t.server {
		return false
	}
	if r.Verdict.Answered() && r.Verdict != first.verdict {
		first.check.Mismatch()
		r.Desync = true
		r.warn(WarnDesync, desyncResentWarning)
	}
	return true
}

func (c *Client) awaitDesync(ctx context.Context, a *attempt) error {
	if !a.check.Doubtful() {
		return a.check.Settle(ctx)
	}
	if y := a.task.yields; y != nil {
		y.stepAside()
		defer y.stepBack()
	}
	return a.check.Settle(ctx)
}

// resend prepares a task to send its request again over another connection.
func (t *task) resend(warnings int) {
	r := t.result
	r.Warnings = r.Warnings[:warnings]
	if t.desyncs > 0 && !r.Desync {
		r.Desync = true
		r.warn(WarnDesync, desyncResentWarning)
	}
	t.at = time.Time{}
}

// stepAside excludes the item from the count of lookups in flight, so that another lookup can
// start at the host over the item's connection.
func (it *item) stepAside() {
	q := it.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	it.hostQueue.inFlight--
	it.hostQueue.steppedAside++
	q.inFlight--
	q.makeReady(it.hostQueue)
}

// stepBack undoes stepAside, before the item goes back to the queue or is done.
func (it *item) stepBack() {
	q := it.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	it.hostQueue.inFlight++
	it.hostQueue.steppedAside--
	q.inFlight++
}
