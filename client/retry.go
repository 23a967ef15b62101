package client

import (
	"context"
	"math"
	"math/rand/v2"
	"net/http"
	"time"
)

// Back-off after a failure.
const (
	retryBase = 500 * time.Millisecond
	retryMax  = 30 * time.Second
)

// Back-off after a refusal by a rate limit, if the server sent no Retry-After. The host's own
// pause comes on top.
const (
	throttledBase = 250 * time.Millisecond
	throttledMax  = 2 * time.Second
)

// maxOutageFailures limits the requests for one query of a batch that fail while its
// server is down.
const maxOutageFailures = 200

// maxLinkAttempts limits the requests for one link. The lookup already has its response,
// and an overloaded registrar must not get more load.
const maxLinkAttempts = 2

// An outcome describes a failed request for the decision about a retry. The zero value is a
// failure that a retry cannot change.
type outcome struct {
	final       bool          // the query was answered, or the caller gave up
	unreachable bool          // the server sent no response
	throttled   bool          // the server refused the request because of a rate limit
	retryAfter  time.Duration // delay that the response requests; 0 if none
	session     bool          // a resumed TLS session may be the cause
	transient   bool          // a later request may succeed; see transient
	connection  bool          // the error is CodeTransport
	outage      bool          // the server is down, and was down before this query failed
}

// A retryBudget holds the attempts and waits of a query so far, and their limits.
type retryBudget struct {
	attempts       int  // requests sent
	outageFailures int  // attempts that failed in an outage, and do not count
	maxAttempts    int  // Config.Attempts
	untried        int  // number of servers of the service after this one
	servers        int  // number of servers of the service
	link           bool // the request is for a link of a record
	batch          bool

	waited   time.Duration // time since the first refusal by a rate limit
	maxWait  time.Duration // limit of waited; 0 means no wait
	deadline time.Duration // time until the caller's deadline; math.MaxInt64 without one

	backOff          time.Duration // delay after a failure, with jitter
	throttledBackOff time.Duration // delay after a refusal without Retry-After, with jitter
}

// An action describes what to do after a request.
type action struct {
	retry  retryKind
	wait   time.Duration // time to wait before the request
	rotate bool          // send the request to the next server of the service, or to the first again
	outage bool          // the failed request does not count as an attempt
}

// A retryKind is the reason why a request is sent again.
type retryKind string

const (
	giveUp retryKind = "" // the result is final, and no further request is sent
	// the request is sent to the next server of the service immediately
	retryElsewhere retryKind = "other server"
	retryThrottled retryKind = "throttled" // the request is sent when the server permits
	// the request is sent immediately over a connection without a resumed session
	retrySession retryKind = "session"
	retryFailed  retryKind = "failed" // the request is sent after a back-off
)

// decide returns what to do after a request with the given outcome. The task may send the
// request to another server if this one is unreachable, or wait as long as a rate-limited
// server demands. It may also back off after a failure that may pass, or give up.
//
// Requests are also sent again without decide. checkDesync repeats a request if the response
// belongs to another request. A batch sends a request again if the query's server turns out to
// be down before the request is sent. The pool sends a request again if a connection ended
// before the server processed it; these retries do not count as attempts.
func decide(o outcome, b retryBudget) action {
	left := b.attempts-b.outageFailures < b.maxAttempts
	a := action{retry: retryFailed, wait: b.backOff, rotate: o.unreachable}
	switch {
	case o.final:
		return action{}
	case o.unreachable && left && b.untried > 0:
		return action{retry: retryElsewhere, rotate: true}
	case b.link:
		if !o.connection || b.attempts >= min(b.maxAttempts, maxLinkAttempts) {
			return action{}
		}
	case o.throttled:
		return decideThrottled(o, b)
	case o.session && left:
		return action{retry: retrySession}
	case !o.transient:
		return action{}
	case o.outage && b.batch && b.maxAttempts > 1 && b.servers == 1 && b.outageFailures < maxOutageFailures:
		a.outage, a.wait = true, 0 // the failure of the only server has nothing to do with the query; the host has its own pauses
	case !left:
		return action{}
	}
	if a.wait >= b.deadline {
		return action{}
	}
	return a
}

// decideThrottled implements decide for refusals by a rate limit. In a batch, the client learns
// the server's limit from such refusals. A refusal says nothing about the query, so more
// refusals are allowed than other failures.
func decideThrottled(o outcome, b retryBudget) action {
	limit := b.maxAttempts
	if b.batch && limit > 1 {
		limit *= 10
	}
	a := action{retry: retryThrottled, wait: o.retryAfter}
	if o.retryAfter <= 0 {
		a.wait = b.throttledBackOff
	}
	if b.attempts >= limit || b.maxWait == 0 || o.retryAfter > b.deadline || b.waited+o.retryAfter > b.maxWait {
		return action{}
	}
	return a
}

// decideRetry decides whether t sends its request again, and prepares t for that.
func (c *Client) decideRetry(ctx context.Context, t *task, unreachable bool) (more bool) {
	r, now := t.result, time.Now()
	if r.reason() == nil {
		return false
	}
	a := decide(c.outcome(ctx, t, unreachable, now), c.retryBudget(ctx, t, now))
	switch a.retry {
	case giveUp:
		return false
	case retryElsewhere:
		r.warn(WarnOtherServer, "tried another server: "+r.reason().Message)
	case retryThrottled:
		if t.limited.IsZero() {
			t.limited = now
		}
	case retryFailed:
		t.failedAt = now
		if a.outage {
			t.outageFailures++
		}
	}
	t.at = time.Time{}
	if a.wait > 0 {
		t.at = now.Add(a.wait)
	}
	if a.rotate {
		t.server = (t.server + 1) % len(t.servers.URLs)
	}
	return true
}

// outcome describes the failed request of t for decide.
func (c *Client) outcome(ctx context.Context, t *task, unreachable bool, now time.Time) outcome {
	r := t.result
	o := outcome{
		final:       r.Verdict.Answered() || ctx.Err() != nil,
		unreachable: unreachable,
		throttled:   r.Verdict == VerdictRateLimited,
		retryAfter:  r.reason().RetryAfter,
		session:     t.suspectSession,
		transient:   r.reason().transient() || t.walled && t.batch,
		connection:  r.reason().Code == CodeTransport,
	}
	if t.batch && t.host != nil && o.transient {
		o.outage = t.host.Recovering(now, c.maxWait(t), t.failedAt)
	}
	return o
}

// retryBudget returns the attempts and waits of t so far, and their limits.
func (c *Client) retryBudget(ctx context.Context, t *task, now time.Time) retryBudget {
	b := retryBudget{
		attempts:       t.result.Attempts,
		outageFailures: t.outageFailures,
		maxAttempts:    c.cfg.Attempts,
		untried:        len(t.servers.URLs) - 1 - t.server,
		servers:        len(t.servers.URLs),
		link:           t.walk != nil,
		batch:          t.batch,

		maxWait:  c.maxWait(t),
		deadline: math.MaxInt64,

		backOff:          jitter(retryBase, retryMax, t.result.Attempts-t.outageFailures),
		throttledBackOff: jitter(throttledBase, throttledMax, t.result.Attempts),
	}
	if !t.limited.IsZero() {
		b.waited = now.Sub(t.limited)
	}
	if deadline, ok := ctx.Deadline(); ok {
		b.deadline = deadline.Sub(now)
	}
	return b
}

// maxWait returns how long t may wait for a rate-limited server. 0 means no wait.
func (c *Client) maxWait(t *task) time.Duration {
	if o := t.options; o != nil && o.hasMaxWait {
		return o.maxWait
	}
	return c.cfg.maxWait(t.batch)
}

func (c Config) maxWait(batch bool) time.Duration {
	switch {
	case c.MaxWait > 0:
		return c.MaxWait
	case c.MaxWait < 0:
		return 0
	case batch:
		return DefaultBatchMaxWait
	default:
		return DefaultMaxWait
	}
}

// isOutageStatus reports whether a status means that the server itself is unavailable.
func isOutageStatus(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

// jitter returns an exponential back-off with full jitter: a random time up to base, doubled
// with each repetition. It keeps lookups that failed together from being sent again together.
func jitter(base, limit time.Duration, repetition int) time.Duration {
	for ; repetition > 1 && base < limit; repetition-- {
		base *= 2
	}
	return rand.N(min(base, limit)) + time.Millisecond
}
