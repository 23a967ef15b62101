package pool

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
)

// faultyAfter is how many failed responses in a row make a connection faulty.
const faultyAfter = 3

// health is what the responses on a connection say about it.
type health struct {
	useful   bool   // one was
	failures int    // in a row
	url      string // of the first of them
	several  bool   // they are from different URLs
	disputed bool   // requests that failed on it succeeded on another one since
}

// useful reports whether a server that responds with status does its work.
func useful(status int) bool {
	return status != http.StatusMisdirectedRequest && status != http.StatusTooManyRequests && status < 500
}

// judgeLocked takes note of a response on c to a request with the route r.
func (o *origin) judgeLocked(c *conn, req *http.Request, r route, status int) {
	if convincing(status) {
		o.convincedLocked(c, r)
	}
	switch {
	case useful(status):
		if !c.health.useful {
			o.addressWorks(c)
		}
		c.health = health{useful: true}
		for _, id := range r.avoid {
			if i := slices.IndexFunc(o.conns, func(c *conn) bool { return c.id == id }); i >= 0 && o.conns[i] != c {
				o.conns[i].health.disputed = true
				o.retireLocked(o.conns[i])
			}
		}
	case status != http.StatusTooManyRequests: // that is about the number of requests
		o.faultLocked(c, req.URL.RequestURI())
	}
}

// faultLocked counts a failure on c of a request for url.
func (o *origin) faultLocked(c *conn, url string) {
	h := &c.health
	switch h.failures++; {
	case h.failures == 1:
		h.url = url
	case h.url != url:
		h.several = true
	}
	if !h.useful {
		o.addressFails(c)
	}
	o.retireLocked(c)
}

// retireLocked takes a faulty connection out of use. Requests that are in flight on
// it go on, and do not count as load.
func (o *origin) retireLocked(c *conn) {
	h := &c.health
	if h.failures < faultyAfter || !h.several || !h.disputed || c.draining {
		return
	}
	c.draining, c.retired, c.by = true, true, ClosedFaulty
	o.debug("connection gets no more requests", "connection", c.id, "failures", h.failures)
	if c.inflight == 0 {
		o.remove(c, ClosedFaulty)
	}
}

// Suspect reports that a response on connection id ([Trace].ConnID) was of no use,
// where the Pool cannot see that by its status. It counts as a failed response; see
// [AvoidConn].
func (p *Pool) Suspect(id int64) {
	for _, o := range p.all() {
		o.mu.Lock()
		i := slices.IndexFunc(o.conns, func(c *conn) bool { return c.id == id })
		if i >= 0 {
			o.suspicions++ // each is about another response
			c := o.conns[i]
			o.unconvincedLocked(&c.convinced, c.setup.resumed, c.setup.synData)
			o.faultLocked(o.conns[i], strconv.Itoa(o.suspicions))
		} else if i = slices.IndexFunc(o.past, func(p pastConn) bool { return p.id == id }); i >= 0 {
			p := &o.past[i]
			o.unconvincedLocked(&p.convinced, p.resumed, p.synData)
		}
		o.mu.Unlock()
		if i >= 0 {
			return
		}
	}
}

// addressWorks and addressFails keep which addresses of the host are of use. What
// a proxy is at says nothing of the origin.
func (o *origin) addressWorks(c *conn) {
	if c.setup.addr.IsValid() && !c.setup.proxied && c.setup.addrs > 1 {
		o.p.dialer.names.restore(o.key.host, o.key.port, c.setup.addr)
	}
}

func (o *origin) addressFails(c *conn) {
	if c.setup.addr.IsValid() && !c.setup.proxied && c.setup.addrs > 1 {
		o.p.dialer.names.demote(o.key.host, o.key.port, c.setup.addr)
	}
}

// blamesConn reports whether an attempt without a response is a fault of the
// connection: it ended, or gave no response in the time that the caller allows.
func blamesConn(ctx context.Context, why Reason) bool {
	if ctx.Err() != nil {
		return errors.Is(context.Cause(ctx), context.DeadlineExceeded)
	}
	return why == RetryClosed
}
