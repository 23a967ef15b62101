package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/rdapq/rdapq/internal/content"
	"github.com/rdapq/rdapq/internal/gate"
	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/limit"
	"github.com/rdapq/rdapq/rdap"
)

// await waits until the host of t allows its next request. It returns false if the
// host rejects it; the result is complete then. Only single lookups wait here: the
// queue of a batch parks its lookups.
func (c *Client) await(ctx context.Context, t *task) bool {
	began := time.Now()
	defer func() { t.addWait(time.Since(began)) }()
	if !t.at.IsZero() && !c.sleep(ctx, nil, time.Until(t.at)) {
		c.stop(ctx, t, "waiting to retry at "+visible(t.result.Server))
		return false
	}
	u, err := t.target()
	if err != nil {
		return true // step reports the error
	}
	t.host = c.hosts.At(u)
	since := t.limited
	if since.IsZero() {
		since = time.Now()
	}
	w := gate.NewWaiter()
	var released <-chan struct{} // nil until t waits in line
	defer t.host.Leave(w)
	for {
		now := time.Now()
		p := gate.Request{Single: true, Waiter: w, MaxWait: c.maxWait(t) - now.Sub(since)}
		k := t.host.Acquire(now, p)
		if deadline, ok := ctx.Deadline(); ok && k.Verdict == gate.Wait && k.At.After(deadline) {
			k.Verdict = gate.RejectLimit
		}
		switch {
		case k.Verdict == gate.Allow:
			t.taken, t.decision, t.beside = true, k, 0
			return true
		case k.Verdict != gate.Wait:
			c.refuse(t, limitError(t.host, now, k.At))
			return false
		case released == nil:
			released = t.host.WhenReleased(w) // retry: a request may have ended in the meantime
		case !c.sleep(ctx, released, k.Delay(now, p.MaxWait)):
			c.stop(ctx, t, "waiting for "+visible(t.host.Name()))
			return false
		}
	}
}

// sleep waits until freed has a value, or for d if that is positive. It returns false
// if ctx ends before or the Client is closed.
func (c *Client) sleep(ctx context.Context, freed <-chan struct{}, d time.Duration) bool {
	var timed <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		timed = timer.C
	} else if freed == nil {
		return ctx.Err() == nil
	}
	select {
	case <-freed:
	case <-timed:
	case <-ctx.Done():
		return false
	case <-c.closed:
		return false
	}
	return true
}

// addWait adds a wait before a request to the result.
func (t *task) addWait(d time.Duration) {
	t.result.Waited += d
	t.waited += d
}

// target returns the URL of the next request.
func (t *task) target() (*url.URL, error) {
	if t.redirect != nil {
		return t.redirect.to, nil
	}
	return url.Parse(t.servers.URLs[t.server])
}

// refuse ends a task whose next request is not sent. If a server has refused it
// before, the result keeps that error, with the later RetryAfter.
func (c *Client) refuse(t *task, e *Error) {
	r := t.result
	if r.Server == "" {
		r.Server = weburl.Redact(t.servers.URLs[t.server])
	}
	e.Server = r.Server
	if last := r.reason(); last != nil && r.Attempts > 0 {
		if e.Code == CodeRateLimited && t.walled && last.Code == CodeForbidden {
			r.blocked()
		}
		last.RetryAfter = max(last.RetryAfter, e.RetryAfter)
		return
	}
	t.redirect = nil
	r.fail(e)
}

// enter obtains the host's permission for each request to u, redirects included, unless the
// task already has permission. It returns false if the request must wait. Then t.redirect and
// t.host describe the request, and step resumes with it.
func (a *attempt) enter(u *url.URL, way *redirectChain) bool {
	t := a.task
	h := a.c.hosts.At(u)
	if t.taken && t.host != h {
		t.giveBack()
	}
	if !t.taken {
		k := h.Acquire(time.Now(), gate.Request{Single: true, MaxWait: a.c.maxWait(t)})
		t.host = h
		if k.Verdict != gate.Allow {
			t.redirect = &pendingRedirect{to: u, chain: way}
			return false
		}
		t.decision, t.beside = k, 0
	}
	t.taken = false
	a.at, a.sent = h, time.Now()
	return true
}

// observeRedirect reports a redirect to its host.
func (a *attempt) observeRedirect(r *Result) {
	if a.at == nil {
		return // no request was sent
	}
	a.observe(gate.Outcome{Kind: gate.Redirected, Latency: latency(r), ConnWait: r.Conn.Wait})
}

// report reports the outcome of the last request to its host, at most once. The
// documentation of package gate describes how a 429 becomes a stored limit.
func (a *attempt) report(r *Result) {
	if a.at == nil {
		return
	}
	s := gate.Outcome{Kind: gate.Answered, Failed: !r.Verdict.Answered(), Latency: latency(r), Status: r.Status, ConnWait: r.Conn.Wait}
	switch {
	case !s.Failed:
		s.Stated = a.stated(r)
	case a.outer.Err() != nil || r.reason().Code == CodeNotPublic || r.reason().Code == CodeCredential || r.reason().Code == CodeCanceled:
		// No request was sent. A host that rejects a redirect must not look dead to other
		// lookups.
		s.Kind = gate.Canceled
	case r.Verdict == VerdictRateLimited:
		s.Kind, s.RetryAfter, s.Stated = gate.Throttled, r.reason().RetryAfter, statedLimit(r)
	case r.Status == 0, r.brokeOff():
		s.Kind = gate.Unreachable
	case isOutageStatus(r.Status):
		s.Kind = gate.Overloaded
	case r.Status/100 == 5 || r.Status == http.StatusMisdirectedRequest:
		s.Kind = gate.Useless
	case a.task.suspectSession:
		s.Kind = gate.Useless
	case r.walled():
		s.Kind = gate.Walled
	}
	s.Cause, s.FailedAt = r.reason(), a.task.failedAt
	a.task.walled = s.Kind == gate.Walled
	if a.observe(s) {
		r.blocked()
	}
}

// brokeOff reports whether the body of a success was incomplete or did not end in time. Such a
// response says no more about the server's health than no response.
func (r *Result) brokeOff() bool {
	e := r.Failure
	return r.Status/100 == 2 && e != nil && (e.Code == CodeTimeout || e.Code == CodeTransport)
}

// walled reports whether a refusal probably comes from a web application firewall:
// 403 with a page that is not RDAP.
func (r *Result) walled() bool {
	if r.Status != http.StatusForbidden || r.Refusal == nil || r.Refusal.Code != CodeForbidden {
		return false
	}
	kind := r.Header.Get("Content-Type")
	return rdap.ReadErrorBody(r.Raw).Foreign || content.MediaType(kind) == "text/html"
}

// blocked reclassifies a non-RDAP refusal as rate limited.
func (r *Result) blocked() {
	e := r.reason()
	e.Code, e.Hint = CodeRateLimited, "the server may limit requests: send fewer, or try again later"
	r.Verdict = VerdictRateLimited
}

// observe reports an outcome to the host, and new holds to Config.OnHold.
func (a *attempt) observe(s gate.Outcome) (tooMany bool) {
	h := a.at
	s.Decision, s.Now, s.InFlight = a.task.decision, time.Now(), a.task.beside
	tooMany = h.Observe(s)
	a.at, a.task.decision = nil, gate.Decision{}
	a.c.announce(h)
	return tooMany
}

// stated returns the limit that the first response of a host states.
func (a *attempt) stated(r *Result) limit.Rate {
	if !a.at.FirstResponse() {
		return limit.Rate{}
	}
	return statedLimit(r)
}

// statedLimit returns the limit that the error body or the notices of a response
// state.
func statedLimit(r *Result) limit.Rate {
	b := rdap.ReadErrorBody(r.Raw)
	return limit.Stated(slices.Concat([]string{b.Title}, b.Description, b.Notices)...)
}

// latency returns the time to a response; 0 if it includes the set-up of a
// connection, which does not show the load of the server.
func latency(r *Result) time.Duration {
	if !r.Conn.Reused {
		return 0
	}
	return r.Conn.Wait + r.Conn.FirstByte
}

// gate returns the configuration of the hosts.
func (cfg Config) gate() gate.Config {
	g := gate.Config{
		Start: DefaultPerHost, Max: min(maxPerHost, max(cfg.Jobs, DefaultPerHost)),
		Groups: cfg.Groups, Rates: cfg.Rates, Store: cfg.Budgets,
		Warn: func(err error) { cfg.Logger.Warn("rate limits are not shared or saved", "error", err) },
	}
	if cfg.PerHost > 0 {
		g.Start, g.Max = cfg.PerHost, cfg.PerHost
	}
	return g
}

// maxPerHost bounds the requests in flight at one server if Config.PerHost is 0.
const maxPerHost = 64

// flushLimits stores the learned limits.
func (c *Client) flushLimits() error {
	if err := c.hosts.Flush(); err != nil {
		return errors.Join(errors.New("cannot save rate limits"), err)
	}
	return nil
}

// Unmatched returns the keys of Config.Rates and Config.Groups that applied to no server so
// far, such as mistyped keys. The servers are those of lookups, Batches and Plans of c. The
// keys are in lower case and sorted. A key of Groups applies to a host, a key of Rates to a
// host or a group.
func (c *Client) Unmatched() []string {
	if c.hosts == nil {
		return nil
	}
	return c.hosts.Unmatched()
}

// limitError returns the error of a request to h that would have to wait until at.
func limitError(h *gate.Host, now, at time.Time) *Error {
	s := h.Status(now)
	why := " are paused"
	if s.Until.IsZero() && !s.Rate.IsZero() {
		why = " are limited to " + strconv.Itoa(s.Rate.N) + " per " + shortSpan(s.Rate.Per)
	}
	return &Error{
		Code: CodeRateLimited, RetryAfter: at.Sub(now),
		Message: "not sent: requests to " + visible(h.Name()) + why + "; the next one may be sent " + back(now, at),
		Hint:    "try again " + back(now, at) + ", or allow a longer wait", HintCode: HintMaxWait,
	}
}

// back formats at as a delay and a date, for messages.
func back(now, at time.Time) string {
	return "in " + shortSpan(at.Sub(now).Round(time.Second)) + " (" + at.UTC().Format("2006-01-02 15:04:05 MST") + ")"
}

// deadError returns the error of an input that is not sent because h is dead.
func deadError(h *gate.Host) *Error {
	s := h.Status(time.Now())
	e := &Error{
		Code: CodeTransport, Server: h.Name(), Hint: "try again when the server is up",
		Message: "not sent: " + visible(h.Name()) + " failed " + strconv.Itoa(s.Failures) + " times in a row",
	}
	if s.Blocked {
		e.Code, e.Hint = CodeRateLimited, "try again later: the server may block this address"
		e.Message = "not sent: " + visible(h.Name()) + " refused " + strconv.Itoa(s.Walls) + " requests in a row with non-RDAP responses"
	}
	if cause, _ := s.Cause.(*Error); cause != nil {
		e.Err = cause.Err
		if !s.Blocked {
			e.Code = cause.Code
		}
		e.Message += "; last error: " + cause.Message
	}
	return e
}
