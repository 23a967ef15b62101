package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/internal/gate"
	"github.com/rdapq/rdapq/internal/weburl"
)

// A task is a lookup on its way to its result. It is made of single requests, so
// that it can wait between them without holding anything up.
type task struct {
	result   *Result
	servers  bootstrap.Answer
	server   int              // index of the server to ask
	redirect *pendingRedirect // a redirect that is still to be followed; nil: ask the server
	search   *search          // of searches; nil before the first request
	walk     *linkWalk        // of what the lookup's answer links to; nil before
	batch    bool
	memory   *bodies // that account for the answer

	host           *gate.Host    // at which the next request goes
	taken          bool          // host has granted it
	decision       gate.Decision // with which it did
	clock          *clock        // of the attempt under way; nil: no bound
	avoid          []int64       // connections that failed; see blame
	faults         int           // attempts that failed for what may be the connection's fault
	suspectSession bool          // the last response may be due to a resumed session
	sessionRetried bool          // that was so of one response, for which there was a repetition
	beside         int           // lookups of its batch at host, itself included

	walled         bool      // the last response was a refusal that is not RDAP
	outageFailures int       // requests that failed in an outage, and do not count as attempts
	failedAt       time.Time // when a request failed last as it does in an outage

	at       time.Time // not before: back-off
	limited  time.Time // when a server first said that it is too much
	reserved int64     // octets of its body that are accounted for

	yields      yielder // of a batch; nil: nobody else could start meanwhile
	desyncs     int     // requests sent again because of what the connection brought
	otherObject string  // what the response to the last of them was about, if something else

	responseStarted atomic.Bool            // the response has begun: no other query may share it
	hooks           *httptrace.ClientTrace // see watchFirstByte; nil before the first request
}

// A hop is a redirect that is to be followed when its host allows it.
type pendingRedirect struct {
	to    *url.URL
	chain *redirectChain
}

// Back-off between requests for one query.
const (
	retryBase = 500 * time.Millisecond
	retryMax  = 30 * time.Second
)

// newTask makes the task of asking servers for r.Query.
func (c *Client) newTask(r *Result, servers bootstrap.Answer) *task {
	r.Source, r.Entry = servers.Source, servers.Entry
	return &task{result: r, servers: servers, memory: c.memory}
}

// run takes a task to its end, and what its answer links to.
func (c *Client) run(ctx context.Context, t *task) {
	defer t.memory.release(t)
	for more := true; more; more = c.follow(ctx, t) {
		c.complete(ctx, t)
	}
	t.result.Time = time.Now()
}

// complete makes the requests of a task until its result is complete.
func (c *Client) complete(ctx context.Context, t *task) {
	for c.await(ctx, t) && c.step(ctx, t) {
		t.memory.rest(t)
		t.restart()
	}
	t.finishSearch()
}

// request makes one request, with the redirects that it leads to, and reports
// whether it has to be made again: at t.host, not before t.at. If not, the result
// says what came of it.
func (c *Client) doRequest(ctx context.Context, t *task) (more bool) {
	r := t.result
	start := time.Now()
	defer func() {
		r.Time = time.Now()
		r.Elapsed += r.Time.Sub(start)
	}()
	base := t.servers.URLs[t.server]
	r.Server = weburl.Redact(base)
	if ctx.Err() != nil || c.isClosed() {
		t.giveBack()
		c.stop(ctx, t, "waiting for "+visible(r.Server))
		return false
	}
	u := (*url.URL)(nil)
	if t.redirect == nil {
		var e *Error
		if u, e = c.begin(t, base); e != nil {
			t.giveBack()
			r.fail(e)
			return c.decideRetry(ctx, t, true)
		}
	}
	a, cancel := c.newAttempt(ctx, t, c.alternatives(t))
	defer cancel()
	defer func() {
		if a.at != nil { // the transport panicked
			a.observe(gate.Outcome{Kind: gate.Canceled})
		}
	}()
	warnings := len(r.Warnings)
	got, e := a.fetch(r, u)
	if t.redirect != nil {
		return true
	}
	unreachable := false
	if e != nil {
		e.Server, e.URL, e.Status = r.Server, r.URL, r.Status
		r.fail(e)
		unreachable = r.Status == 0
	} else {
		r.judge(got, c.speakers.has(base))
		if saysRDAP(got, r.parsed) && (r.Verdict.Answered() || got.status/100 != 2) {
			c.speakers.add(base)
		}
	}
	c.blame(ctx, t)
	a.report(r)
	if e == nil && c.checkDesync(ctx, a, got.status) {
		t.resend(warnings)
		return true
	}
	if more = c.decideRetry(ctx, t, unreachable); more && !unreachable {
		r.Warnings = r.Warnings[:warnings] // they are about what is asked again
	}
	return more
}

// begin clears what came of an earlier request and returns the URL to ask.
func (c *Client) begin(t *task, base string) (*url.URL, *Error) {
	r := t.result
	r.Attempts++
	if r.Query.Note != "" && r.Attempts == 1 {
		r.warn(WarnQuery, r.Query.Note)
	}
	target := t.requestURL(base)
	r.URL = weburl.Redact(target)
	r.FinalURL = r.URL
	r.Status, r.Header, r.Raw, r.Err, r.Other, r.namesObject, r.otherHandle = 0, nil, nil, nil, "", false, ""
	t.memory.release(t)
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return nil, &Error{Code: CodeTransport, Message: "the server's URL cannot be used: " + quote(weburl.Redact(target)), Server: r.Server, Err: err}
	}
	return u, nil
}

// giveBack returns what the host granted and is not used.
func (t *task) giveBack() {
	if t.taken {
		t.host.Refund(t.decision)
		t.taken, t.decision = false, gate.Decision{}
	}
}

// alternatives is how many more servers there are to ask after this one.
func (c *Client) alternatives(t *task) int {
	return max(min(len(t.servers.URLs)-1-t.server, c.cfg.Attempts-t.result.Attempts), 0)
}

// next decides what to do after a request: to ask another server if this one
// cannot be reached, to ask again later if the failure may pass, or nothing.
func (c *Client) decideRetry(ctx context.Context, t *task, unreachable bool) (more bool) {
	r := t.result
	if r.Err == nil || r.Verdict.Answered() || ctx.Err() != nil {
		return false
	}
	left := r.Attempts-t.outageFailures < c.cfg.Attempts
	if unreachable && left && t.server+1 < len(t.servers.URLs) {
		t.server++
		t.at = time.Time{}
		r.warn(WarnOtherServer, "asked another server: "+r.Err.Message)
		return true
	}
	now := time.Now()
	switch {
	case t.walk != nil:
		if !t.mayRetryLink(c.cfg.Attempts) {
			return false
		}
	case r.Verdict == RateLimited:
		return r.Attempts < c.maxThrottledAttempts(t) && c.mayWait(ctx, t, now)
	case t.suspectSession && left:
		t.at = time.Time{}
		return true
	case !transient(r) && !(t.walled && t.batch):
		return false
	case c.waitsForRestart(t, now):
		t.outageFailures++
	case !left:
		return false
	}
	t.failedAt = now
	if unreachable {
		t.server = (t.server + 1) % len(t.servers.URLs)
	}
	t.at = now.Add(jitter(retryBase, retryMax, r.Attempts))
	deadline, ok := ctx.Deadline()
	return !ok || t.at.Before(deadline)
}

// maxSpared bounds the requests for one query of a batch that fail while its
// server is away.
const maxOutageFailures = 200

// waitsForRestart reports whether a query of a batch is repeated beyond its
// number, because its only server is away: the query has nothing to do with it.
func (c *Client) waitsForRestart(t *task, now time.Time) bool {
	if !t.batch || c.cfg.Attempts == 1 || t.outageFailures >= maxOutageFailures || len(t.servers.URLs) > 1 || t.host == nil {
		return false
	}
	return t.host.Recovering(now, c.maxWait(t), t.failedAt)
}

// patience is how often a query may be sent that is refused as one too many. In
// a batch that is how server and queue find out how much is not too much, and no
// fault of the query.
func (c *Client) maxThrottledAttempts(t *task) int {
	if t.batch && c.cfg.Attempts > 1 {
		return 10 * c.cfg.Attempts
	}
	return c.cfg.Attempts
}

// Back-off of a query that was refused as one too many by a server that does not
// say when to come back. The host pauses beside that if it has to.
const (
	throttledBase = 250 * time.Millisecond
	throttledMax  = 2 * time.Second
)

// mayWait decides whether a query that was refused as one too many is sent again,
// and sets when: as the server says, even if the refusal means nothing to others.
func (c *Client) mayWait(ctx context.Context, t *task, now time.Time) bool {
	t.at = now.Add(t.result.Err.RetryAfter)
	if t.result.Err.RetryAfter <= 0 {
		t.at = now.Add(jitter(throttledBase, throttledMax, t.result.Attempts))
	}
	if t.limited.IsZero() {
		t.limited = now
	}
	wait := t.result.Err.RetryAfter
	if c.maxWait(t) == 0 {
		return false
	}
	if deadline, ok := ctx.Deadline(); ok && wait > deadline.Sub(now) {
		return false
	}
	return wait <= c.maxWait(t)-now.Sub(t.limited)
}

// maxWait bounds how long t waits for a server that limits requests.
func (c *Client) maxWait(t *task) time.Duration {
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

// transient reports whether a failure may pass by itself, by what it is: of the
// connection, of time, a response that broke off, or a server or gateway that
// failed (RFC 9110 section 15.6): over another connection it may not.
func transient(r *Result) bool {
	switch r.Err.Code {
	case CodeTransport, CodeRefused, CodeTimeout:
		// With a status that is no success its body does not matter.
		return r.Status == 0 || r.Status/100 == 2
	case CodeDNS:
		dns, ok := errors.AsType[*net.DNSError](r.Err.Err)
		return !ok || !dns.IsNotFound
	case CodeProxy:
		return proxyMayRecover(r.Err.Err)
	case CodeTLS:
		return !isPermanentTLS(r.Err.Err)
	case CodeServerError:
		return true
	}
	return false
}

func isOutageStatus(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

// settled reports whether a handshake failed by what the two sides are, and
// would again.
func isPermanentTLS(err error) bool {
	if _, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		return true
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return true
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	_, ok := tlsText(err)
	return ok
}

// stop makes the result that of a caller who gave up, or who closed the Client.
func (c *Client) stop(ctx context.Context, t *task, doing string) {
	e := new(Error)
	if ctx.Err() != nil {
		stopped(ctx, e, doing)
	} else {
		e = closedWhile(doing, nil)
	}
	e.Server = t.result.Server
	t.result.fail(e)
}

// closedWhile is the error of what Close put an end to.
func closedWhile(doing string, cause error) *Error {
	return &Error{Code: CodeCanceled, Message: "the client was closed while " + doing, Err: errors.Join(ErrClosed, cause)}
}

// jitter returns an exponential back-off with full jitter: a random time up to base,
// doubled with each repetition. Lookups that failed together are not sent again at
// the same time.
func jitter(base, limit time.Duration, repetition int) time.Duration {
	for ; repetition > 1 && base < limit; repetition-- {
		base *= 2
	}
	return rand.N(min(base, limit)) + time.Millisecond
}
