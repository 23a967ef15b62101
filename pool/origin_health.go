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

// faultyAfter is the number of failed responses in a row after which a connection
// may be faulty.
const faultyAfter = 3

// health summarises the responses on a connection.
type health struct {
	useful      bool   // one response was useful
	failures    int    // number of failed responses in a row
	url         string // URL of the first failure
	severalURLs bool   // the failures were for different URLs
	disputed    bool   // a request that failed on this connection succeeded on another
}

// useful reports whether a status is from a working server.
func useful(status int) bool {
	return status != http.StatusMisdirectedRequest && status != http.StatusTooManyRequests && status < 500
}

// recordStatusLocked records a response on c to a request with the constraints r.
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
	case status != http.StatusTooManyRequests: // 429 concerns the number of requests, not the connection
		o.recordFailureLocked(c, req.URL.RequestURI())
	}
}

// recordFailureLocked records a failure on c of a request for url.
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

// retireLocked drains a faulty connection. Requests in flight on c do not count as load.
func (o *origin) retireLocked(c *conn) {
	h := &c.health
	if h.failures < faultyAfter || !h.severalURLs || !h.disputed || c.draining {
		return
	}
	c.draining, c.retired, c.closedBy = true, true, ClosedFaulty
	o.logDebug("faulty connection retired", "connection", c.id, "failures", h.failures)
	if c.inflight == 0 {
		o.remove(c, ClosedFaulty)
	}
}

// Suspect reports that the response on connection id ([Trace].ConnID) was useless although its
// status does not show the failure. The response counts as failed; see [AvoidConn].
func (p *Pool) Suspect(id int64) {
	for _, o := range p.all() {
		o.mu.Lock()
		i := slices.IndexFunc(o.conns, func(c *conn) bool { return c.id == id })
		if i >= 0 {
			o.suspicions++ // each call concerns another response
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

// addressWorks and addressFails record whether an address of the host works. They ignore the
// addresses of proxies.
func (o *origin) addressWorks(c *conn) {
	if c.setup.addr.IsValid() && !c.setup.proxied && c.setup.addrs > 1 {
		o.pool.dialer.resolver.restore(o.key.host, o.key.port, c.setup.addr)
	}
}

func (o *origin) addressFails(c *conn) {
	if c.setup.addr.IsValid() && !c.setup.proxied && c.setup.addrs > 1 {
		o.pool.dialer.resolver.demote(o.key.host, o.key.port, c.setup.addr)
	}
}

// blamesConn reports whether an attempt without a response is the fault of the connection,
// which ended or gave no response before the caller's deadline.
func blamesConn(ctx context.Context, why Reason) bool {
	if ctx.Err() != nil {
		return errors.Is(context.Cause(ctx), context.DeadlineExceeded)
	}
	return why == RetryClosed
}

// maxClosedConns is the number of closed connections that an origin remembers.
const maxClosedConns = 32

// A closedConn holds the remembered properties of a closed connection.
type closedConn struct {
	id        int64
	addr      netip.Addr
	addrs     int // number of addresses of the host
	resumed   bool
	synData   bool // see setup.synData
	successes int  // see conn.successes
	h3        bool
}

// completeLocked completes a requirement with the known properties of the avoided
// connections.
func (o *origin) completeLocked(n requirement) requirement {
	if len(n.avoid) == 0 {
		return n
	}
	hostAddrs := 0
	for _, id := range n.avoid {
		p, ok := o.findConnLocked(id)
		n.onlyTCP = n.onlyTCP || p.h3 && !o.pool.onlyH3
		n.noShortcuts = n.noShortcuts || ok && p.successes == 0 && (p.resumed || p.synData)
		if !ok || !p.addr.IsValid() {
			continue
		}
		hostAddrs = max(hostAddrs, p.addrs)
		n.addrs = slices.DeleteFunc(n.addrs, func(a netip.Addr) bool { return a == p.addr })
		n.addrs = append(n.addrs, p.addr)
	}
	// If all addresses have failed, only the last address is avoided.
	if spare := hostAddrs - 1; len(n.addrs) > spare {
		n.addrs = n.addrs[len(n.addrs)-max(spare, 0):]
	}
	return n
}

// findConnLocked returns a connection of o, or a recently closed one.
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

// A resumed session and TCP Fast Open save round trips. A server may fail only on connections
// made with them, for example a cluster in which one node has a wrong ticket key. Such a
// connection is doubtful until it has given a successful response. A request that failed on a
// doubtful connection is retried on a connection made without resumption and Fast Open. If the
// retry works, the origin's connections are made without them for a while, also in later runs.
// If a doubtful connection worked, the failures count as random, and nothing is disabled.

// successful reports whether a status shows that the connection works. A refusal does not show
// that, because it may come from a proxy or firewall.
func successful(status int) bool { return status < 400 || status == http.StatusNotFound }

// doubtful reports whether resumption or Fast Open may be why requests fail on c.
func (c *conn) doubtful() bool {
	return c.successes == 0 && (c.setup.resumed || c.setup.synData)
}

// recordSuccessLocked records a successful response on c to a request with the
// constraints r.
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
	f := o.pool.store.info(o.key.String())
	if session && !now.Before(f.ResumeBlocked) {
		o.blockResumeLocked()
	}
	if fast && !now.Before(f.FastOpenBlocked) {
		o.logDebug("TCP Fast Open disabled for a while")
		o.pool.store.update(o.key.String(), func(f *originInfo) { f.blockFastOpen(time.Now()) })
	}
	if session || fast {
		o.retireDoubtfulLocked()
	}
	resumes := f.ResumeFailures > 0 && c.setup.resumed && !now.Before(f.ResumeBlocked)
	opens := f.FastOpenFailures > 0 && c.setup.synDataAccepted && !now.Before(f.FastOpenBlocked)
	if resumes || opens {
		o.pool.store.update(o.key.String(), func(f *originInfo) {
			if resumes {
				f.unblockResume()
			}
			if opens {
				f.unblockFastOpen()
			}
		})
	}
}

// undoSuccessLocked subtracts one success on a connection with resumption or Fast Open, because
// the response was useless.
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

// blockResumeLocked disables resumption for a while.
func (o *origin) blockResumeLocked() {
	o.logDebug("session resumption disabled for a while")
	o.pool.store.update(o.key.String(), func(f *originInfo) { f.blockResume(time.Now()) })
	if o.closed {
		return
	}
	// dropSessions calls the user's store, so it runs without a lock.
	o.pool.work.Go(func() { o.pool.dialer.tls.forOrigin(o.key).dropSessions() })
}

// retireDoubtfulLocked drains the doubtful connections.
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

// applyBlocks disables for d the features that failed for the origin recently.
func (o *origin) applyBlocks(d *dial) {
	now, f := time.Now(), o.pool.store.info(o.key.String())
	d.fullHandshake = d.fullHandshake || now.Before(f.ResumeBlocked)
	d.noFastOpen = d.noFastOpen || now.Before(f.FastOpenBlocked)
}

// SuspectSession reports that the response on connection id ([Trace].ConnID) was a refusal that
// is probably not from the server itself. It returns true if a retry without TLS session
// resumption and TCP Fast Open may work. For that, the connection must have used one of the two
// and given no successful response and no 404. Retry with [AvoidConn], which uses a connection
// without both.
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
