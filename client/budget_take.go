package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/limit"
	"github.com/rdapq/rdapq/rdap"
)

// await waits until the next request of t may be made, and takes it from the
// budget of its host. It is false if that cannot be; the result is complete then.
// Only a single lookup waits here: those of a batch are parked by its queue.
func (c *Client) await(ctx context.Context, t *task) bool {
	if !t.at.IsZero() && !c.sleep(ctx, nil, time.Until(t.at)) {
		c.stop(ctx, t, "waiting to ask again at "+visible(t.result.Server))
		return false
	}
	u, err := t.target()
	if err != nil {
		return true // step reports what is wrong with it
	}
	t.host = c.hosts.at(u)
	since := t.limited
	if since.IsZero() {
		since = time.Now()
	}
	w := newWaiter()
	var released <-chan struct{} // nil: t is not in line
	defer t.host.leave(w)
	for {
		now := time.Now()
		p := pass{single: true, waiter: w, maxWait: c.maxWait(t) - now.Sub(since)}
		k := t.host.take(now, p)
		if deadline, ok := ctx.Deadline(); ok && k.grant == later && k.at.After(deadline) {
			k.grant = givenUpLimit
		}
		switch {
		case k.grant == granted:
			t.taken, t.ticket, t.beside = true, k, 0
			return true
		case k.grant != later:
			c.refuse(t, limitError(t.host, now, k.at))
			return false
		case released == nil:
			released = t.host.whenReleased(w) // and try again, because a request may have ended in between
		case !c.sleep(ctx, released, k.wait(now, p.maxWait)):
			c.stop(ctx, t, "waiting for "+visible(t.host.name))
			return false
		}
	}
}

// sleep waits until freed, or for d if it is positive, and is false if ctx ends
// before, or the Client is closed.
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

// target is the URL of the next request.
func (t *task) target() (*url.URL, error) {
	if t.redirect != nil {
		return t.redirect.to, nil
	}
	return url.Parse(t.servers.URLs[t.server])
}

// refuse ends a task whose next request is not made. If a server has refused it
// before, that is what came of it, and only the time to come back is newer.
func (c *Client) refuse(t *task, e *Error) {
	r := t.result
	if r.Server == "" {
		r.Server = weburl.Redact(t.servers.URLs[t.server])
	}
	e.Server = r.Server
	if r.Err != nil && r.Attempts > 0 {
		if e.Code == CodeRateLimited && t.walled && r.Err.Code == CodeForbidden {
			r.blocked()
		}
		if e.RetryAfter > r.Err.RetryAfter {
			r.Err.RetryAfter = e.RetryAfter
		}
		return
	}
	t.redirect = nil
	r.fail(e)
}

// enter is on the way of every request, redirects included: it takes the request
// to u from the budget of its host, unless the task comes with a grant. It is
// false if the request has to wait: t.redirect and t.host say for what then, and step
// goes on from there.
func (a *attempt) enter(u *url.URL, way *redirectChain) bool {
	t := a.task
	h := a.c.hosts.at(u)
	if t.taken && t.host != h {
		t.giveBack()
	}
	if !t.taken {
		k := h.take(time.Now(), pass{single: true, maxWait: a.c.maxWait(t)})
		t.host = h
		if k.grant != granted {
			t.redirect = &pendingRedirect{to: u, chain: way}
			return false
		}
		t.ticket, t.beside = k, 0
	}
	t.taken = false
	a.at, a.sent = h, time.Now()
	return true
}

// observeRedirect reports a redirect to its host.
func (a *attempt) observeRedirect(r *Result) {
	if a.at == nil {
		return // nobody was asked
	}
	a.observe(sample{effect: redirected, latency: latency(r), waited: r.Conn.Wait})
}

// report tells the host asked last what came of it, unless it knows already.
func (a *attempt) report(r *Result) {
	if a.at == nil {
		return
	}
	s := sample{effect: answered, failed: r.failure() != nil, latency: latency(r), status: r.Status, waited: r.Conn.Wait}
	switch {
	case !s.failed:
		s.stated = a.stated(r)
	case a.outer.Err() != nil || r.Err.Code == CodeNotPublic || r.Err.Code == CodeCanceled:
		// Nobody was asked. Who is led to a server that others may ask must not
		// make it pass for dead.
		s.effect = withdrawn
	case r.Verdict == RateLimited:
		s.effect, s.retryAfter, s.stated = throttled, r.Err.RetryAfter, statedLimit(r)
	case r.Status == 0, r.brokeOff():
		s.effect = unreachable
	case isOutageStatus(r.Status):
		s.effect = overloaded
	case r.Status/100 == 5 || r.Status == http.StatusMisdirectedRequest:
		s.effect = useless
	case a.task.suspectSession:
		s.effect = useless
	case r.walled():
		s.effect = walled
	}
	s.cause, s.failedAt = r.Err, a.task.failedAt
	a.task.walled = s.effect == walled
	if a.observe(s) {
		r.blocked()
	}
}

// brokeOff reports whether the body of a success broke off or did not end in time.
// That shows no more of the server's health than silence does.
func (r *Result) brokeOff() bool {
	return r.Status/100 == 2 && r.Err != nil && (r.Err.Code == CodeTimeout || r.Err.Code == CodeTransport)
}

// walled reports whether a refusal comes from something before the RDAP server,
// as web application firewalls do: 403 with a page that is not RDAP.
func (r *Result) walled() bool {
	if r.Status != http.StatusForbidden || r.Err == nil || r.Err.Code != CodeForbidden {
		return false
	}
	kind := r.Header.Get("Content-Type")
	return rdap.ReadErrorBody(r.Raw).Foreign || mediaType(kind) == "text/html"
}

// blocked makes a refusal that is not RDAP one for too many requests.
func (r *Result) blocked() {
	r.Err.Code, r.Err.Hint = CodeRateLimited, "the server may limit requests: send fewer, or try again later"
	r.Verdict = RateLimited
}

// observe tells the host what came of a request, and its first reason to hold
// lines back to the caller.
func (a *attempt) observe(s sample) (tooMany bool) {
	h := a.at
	s.ticket, s.now, s.beside = a.task.ticket, time.Now(), a.task.beside
	tooMany = h.observe(s)
	a.at, a.task.ticket = nil, ticket{}
	a.c.announce(h)
	return tooMany
}

// stated is a limit that a server speaks of in its first answer.
func (a *attempt) stated(r *Result) limit.Rate {
	if !a.at.firstAnswer() {
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

// latency is the time to an answer; 0 where it has the set-up of a connection in
// it, which tells nothing about the server's load.
func latency(r *Result) time.Duration {
	if !r.Conn.Reused {
		return 0
	}
	return r.Conn.Wait + r.Conn.FirstByte
}

// gate returns the configuration of the hosts.
func (cfg Config) gate() gateConfig {
	g := gateConfig{
		start: DefaultPerHost, max: min(maxPerHost, max(cfg.Jobs, DefaultPerHost)),
		groups: cfg.Groups, rates: cfg.Rates, store: cfg.Budgets,
	}
	if cfg.PerHost > 0 {
		g.start, g.max = cfg.PerHost, cfg.PerHost
	}
	return g
}

// maxPerHost bounds the requests in flight at one server if Config.PerHost is 0.
const maxPerHost = 64

// flushLimits stores what was learned of limits.
func (c *Client) flushLimits() error {
	if err := c.hosts.flush(); err != nil {
		return errors.Join(errors.New("the budgets are not kept"), err)
	}
	return nil
}

// Unmatched returns those keys of Config.Rates and Config.Groups, in the spelling
// of hosts and sorted, that hold for no server which lookups, a Batch or a Plan of c
// had to do with so far: mistyped ones are among them. A key of Groups holds for its
// host, one of Rates for its host or its group.
func (c *Client) Unmatched() []string { return c.hosts.unmatchedKeys() }

// limitError returns the error of a request to h that would have to wait until at.
func limitError(h *host, now, at time.Time) *Error {
	s := h.status(now)
	why := " asked to be left alone"
	if s.until.IsZero() && !s.rate.IsZero() {
		why = " is asked at most " + s.rate.String()
	}
	return &Error{
		Code: CodeRateLimited, RetryAfter: at.Sub(now),
		Message: "not asked: " + visible(h.name) + why + ", and the next request may be made " + back(now, at),
		Hint:    "come back " + back(now, at) + ", or allow a longer wait", HintCode: HintMaxWait,
	}
}

// back formats the time at for people.
func back(now, at time.Time) string {
	return "in " + shortSpan(at.Sub(now).Round(time.Second)) + " (" + at.UTC().Format("2006-01-02 15:04:05 MST") + ")"
}

// deadError returns the error of an input that is not sent because h is dead.
func deadError(h *host) *Error {
	s := h.status(time.Now())
	e := &Error{
		Code: CodeTransport, Server: h.name, Hint: "try again when the server is back",
		Message: "not sent: " + visible(h.name) + " failed " + strconv.Itoa(s.failures) + " times in a row",
	}
	if s.blocked {
		e.Code, e.Hint = CodeRateLimited, "try again later: the server may block this address"
		e.Message = "not sent: " + visible(h.name) + " refused " + strconv.Itoa(s.walls) + " requests in a row without RDAP"
	}
	if cause, _ := s.cause.(*Error); cause != nil {
		e.Err = cause.Err
		if !s.blocked {
			e.Code = cause.Code
		}
		e.Message += ", the last with: " + cause.Message
	}
	return e
}
