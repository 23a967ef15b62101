package pool

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// faultyAfter is how many failed responses in a row make a connection faulty.
const faultyAfter = 3

// health is what the responses on a connection say about it.
type health struct {
	useful      bool   // one was
	failures    int    // in a row
	url         string // of the first of them
	severalURLs bool   // they are from different URLs
	disputed    bool   // requests that failed on it succeeded on another one since
}

// useful reports whether a server that responds with status does its work.
func useful(status int) bool {
	return status != http.StatusMisdirectedRequest && status != http.StatusTooManyRequests && status < 500
}

// recordStatusLocked takes note of a response on c to a request with the route r.
func (o *origin) recordStatusLocked(c *conn, req *http.Request, r constraints, status int) {
	if successful(status) {
		o.recordSuccessLocked(c, r)
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
		o.recordFailureLocked(c, req.URL.RequestURI())
	}
}

// recordFailureLocked counts a failure on c of a request for url.
func (o *origin) recordFailureLocked(c *conn, url string) {
	h := &c.health
	switch h.failures++; {
	case h.failures == 1:
		h.url = url
	case h.url != url:
		h.severalURLs = true
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
	if h.failures < faultyAfter || !h.severalURLs || !h.disputed || c.draining {
		return
	}
	c.draining, c.retired, c.closedBy = true, true, ClosedFaulty
	o.logDebug("connection gets no more requests", "connection", c.id, "failures", h.failures)
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
			o.undoSuccessLocked(&c.successes, c.setup.resumed, c.setup.synData)
			o.recordFailureLocked(o.conns[i], strconv.Itoa(o.suspicions))
		} else if i = slices.IndexFunc(o.closedConns, func(p closedConn) bool { return p.id == id }); i >= 0 {
			p := &o.closedConns[i]
			o.undoSuccessLocked(&p.successes, p.resumed, p.synData)
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
		o.p.dialer.resolver.restore(o.key.host, o.key.port, c.setup.addr)
	}
}

func (o *origin) addressFails(c *conn) {
	if c.setup.addr.IsValid() && !c.setup.proxied && c.setup.addrs > 1 {
		o.p.dialer.resolver.demote(o.key.host, o.key.port, c.setup.addr)
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

// maxClosedConns is how many connections that have ended an origin remembers the address
// of.
const maxClosedConns = 32

// countClosed is what is remembered of a connection that has ended.
type closedConn struct {
	id        int64
	addr      netip.Addr
	addrs     int // that the host had
	resumed   bool
	synData   bool // see setup
	successes int  // see conn
	h3        bool
}

// completeLocked completes what a request needs.
func (o *origin) completeLocked(n requirement) requirement {
	if len(n.avoid) == 0 {
		return n
	}
	hostAddrs := 0
	for _, id := range n.avoid {
		p, ok := o.findConnLocked(id)
		n.onlyTCP = n.onlyTCP || p.h3 && !o.p.onlyH3
		n.noShortcuts = n.noShortcuts || ok && p.successes == 0 && (p.resumed || p.synData)
		if !ok || !p.addr.IsValid() {
			continue
		}
		hostAddrs = max(hostAddrs, p.addrs)
		n.addrs = slices.DeleteFunc(n.addrs, func(a netip.Addr) bool { return a == p.addr })
		n.addrs = append(n.addrs, p.addr)
	}
	// Of a host whose addresses have all failed, the one that failed last is avoided.
	if spare := hostAddrs - 1; len(n.addrs) > spare {
		n.addrs = n.addrs[len(n.addrs)-max(spare, 0):]
	}
	return n
}

// findConnLocked finds a connection of o, or one that has ended lately.
func (o *origin) findConnLocked(id int64) (closedConn, bool) {
	for _, c := range o.conns {
		if c.id == id {
			return c.summary(), true
		}
	}
	if i := slices.IndexFunc(o.closedConns, func(p closedConn) bool { return p.id == id }); i >= 0 {
		return o.closedConns[i], true
	}
	return closedConn{}, false
}

func (c *conn) summary() closedConn {
	return closedConn{
		id: c.id, addr: c.setup.addr, addrs: c.setup.addrs, h3: c.protocol == protoHTTP3,
		resumed: c.setup.resumed, synData: c.setup.synData, successes: c.successes,
	}
}

func (o *origin) rememberClosedLocked(c *conn) {
	if len(o.closedConns) == maxClosedConns {
		o.closedConns = slices.Delete(o.closedConns, 0, 1)
	}
	o.closedConns = append(o.closedConns, c.summary())
}

// A resumed session and TCP Fast Open save round trips. A server can fail on
// connections made with them alone: a cluster that shares ticket keys with a broken
// node, for example. Such a connection is doubtful until it has given a convincing
// response. A request that failed on a doubtful connection is repeated on one made
// without. If that works, the origin's connections are made without for a while,
// also by later runs. A server on which one such connection worked is not blamed:
// there the failure is one of those that happen at random.

// successful reports whether a response with status shows that the connection
// works. Refusals do not: they may come from something before the server.
func successful(status int) bool { return status < 400 || status == http.StatusNotFound }

// doubtful reports whether what c was made with may be why requests fail on it.
func (c *conn) doubtful() bool {
	return c.successes == 0 && (c.setup.resumed || c.setup.synData)
}

// recordSuccessLocked takes note of a convincing response on c to a request with the
// route r.
func (o *origin) recordSuccessLocked(c *conn, r constraints) {
	c.successes++
	if c.setup.resumed {
		o.resumedSuccesses++
	}
	if c.setup.synData {
		o.fastOpenSuccesses++
	}
	session, fast := false, false
	for _, id := range r.avoid {
		p, ok := o.findConnLocked(id)
		if !ok || id == c.id || p.successes > 0 || p.h3 != (c.protocol == protoHTTP3) {
			continue
		}
		session = session || p.resumed && !c.setup.resumed && o.resumedSuccesses == 0
		fast = fast || p.synData && !c.setup.synData && o.fastOpenSuccesses == 0
	}
	if !session && !fast && !c.setup.resumed && !c.setup.synDataAccepted {
		return
	}
	now := time.Now()
	f := o.p.store.Get(o.key.String())
	if session && !now.Before(f.ResumeBlocked) {
		o.blockResumeLocked()
	}
	if fast && !now.Before(f.FastOpenBlocked) {
		o.logDebug("TCP Fast Open is left alone for a while")
		o.p.store.Update(o.key.String(), func(f *OriginInfo) { f.blockFastOpen(time.Now()) })
	}
	if session || fast {
		o.retireDoubtfulLocked()
	}
	resumes := f.ResumeFailures > 0 && c.setup.resumed && !now.Before(f.ResumeBlocked)
	opens := f.FastOpenFailures > 0 && c.setup.synDataAccepted && !now.Before(f.FastOpenBlocked)
	if resumes || opens {
		o.p.store.Update(o.key.String(), func(f *OriginInfo) {
			if resumes {
				f.unblockResume()
			}
			if opens {
				f.unblockFastOpen()
			}
		})
	}
}

// undoSuccessLocked takes back what one response counted that was of no use after
// all, on a connection that resumed a session or was opened with data.
func (o *origin) undoSuccessLocked(convinced *int, resumed, synData bool) {
	if *convinced == 0 {
		return
	}
	*convinced--
	if resumed {
		o.resumedSuccesses--
	}
	if synData {
		o.fastOpenSuccesses--
	}
}

// blockResumeLocked is for sessions with which requests failed, and did not without.
func (o *origin) blockResumeLocked() {
	o.logDebug("sessions are not resumed for a while")
	o.p.store.Update(o.key.String(), func(f *OriginInfo) { f.blockResume(time.Now()) })
	if o.closed {
		return
	}
	// The store may be the user's, so it is called without a lock.
	o.p.work.Go(func() { o.p.dialer.tls.forOrigin(o.key).dropSessions() })
}

// retireDoubtfulLocked takes the doubtful connections out of use.
func (o *origin) retireDoubtfulLocked() {
	for i := len(o.conns) - 1; i >= 0; i-- {
		c := o.conns[i]
		if c.draining || !c.doubtful() {
			continue
		}
		c.draining, c.retired, c.closedBy = true, true, ClosedFaulty
		if c.inflight == 0 {
			o.remove(c, ClosedFaulty)
		}
	}
}

// applyBlocks has d leave out what did not work for the origin lately.
func (o *origin) applyBlocks(d *dial) {
	now, f := time.Now(), o.p.store.Get(o.key.String())
	d.fullHandshake = d.fullHandshake || now.Before(f.ResumeBlocked)
	d.noFastOpen = d.noFastOpen || now.Before(f.FastOpenBlocked)
}

// SuspectSession reports that the response on connection id ([Trace].ConnID) was a
// refusal that seems not to be from the server itself. It returns true if a repeated
// request may fare better without TLS session resumption and TCP Fast Open: the
// connection was made with one of these, and has given no successful response and
// no 404. Repeat the request with [AvoidConn], which uses a connection made without.
func (p *Pool) SuspectSession(id int64) bool {
	for _, o := range p.all() {
		o.mu.Lock()
		known, ok := o.findConnLocked(id)
		o.mu.Unlock()
		if ok {
			return known.successes == 0 && (known.resumed || known.synData)
		}
	}
	return false
}
