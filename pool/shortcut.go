package pool

import (
	"net/http"
	"time"
)

// A resumed session and TCP Fast Open save round trips. A server can fail on
// connections made with them alone: a cluster that shares ticket keys with a broken
// node, for example. Such a connection is doubtful until it has given a convincing
// response. A request that failed on a doubtful connection is repeated on one made
// without. If that works, the origin's connections are made without for a while,
// also by later runs. A server on which one such connection worked is not blamed:
// there the failure is one of those that happen at random.

// convincing reports whether a response with status shows that the connection
// works. Refusals do not: they may come from something before the server.
func convincing(status int) bool { return status < 400 || status == http.StatusNotFound }

// doubtful reports whether what c was made with may be why requests fail on it.
func (c *conn) doubtful() bool {
	return c.convinced == 0 && (c.setup.resumed || c.setup.synData)
}

// convincedLocked takes note of a convincing response on c to a request with the
// route r.
func (o *origin) convincedLocked(c *conn, r route) {
	c.convinced++
	if c.setup.resumed {
		o.resumes++
	}
	if c.setup.synData {
		o.opensFast++
	}
	session, fast := false, false
	for _, id := range r.avoid {
		p, ok := o.knownLocked(id)
		if !ok || id == c.id || p.convinced > 0 || p.h3 != (c.protocol == protoHTTP3) {
			continue
		}
		session = session || p.resumed && !c.setup.resumed && o.resumes == 0
		fast = fast || p.synData && !c.setup.synData && o.opensFast == 0
	}
	if !session && !fast && !c.setup.resumed && !c.setup.synDataTaken {
		return
	}
	now := time.Now()
	f := o.p.facts.Get(o.key.String())
	if session && !now.Before(f.ResumeBlocked) {
		o.blockResumeLocked()
	}
	if fast && !now.Before(f.FastOpenBlocked) {
		o.debug("TCP Fast Open is left alone for a while")
		o.p.facts.Update(o.key.String(), func(f *Facts) { f.blockFastOpen(time.Now()) })
	}
	if session || fast {
		o.retireDoubtfulLocked()
	}
	resumes := f.ResumeFailures > 0 && c.setup.resumed && !now.Before(f.ResumeBlocked)
	opens := f.FastOpenFailures > 0 && c.setup.synDataTaken && !now.Before(f.FastOpenBlocked)
	if resumes || opens {
		o.p.facts.Update(o.key.String(), func(f *Facts) {
			if resumes {
				f.unblockResume()
			}
			if opens {
				f.unblockFastOpen()
			}
		})
	}
}

// unconvincedLocked takes back what one response counted that was of no use after
// all, on a connection that resumed a session or was opened with data.
func (o *origin) unconvincedLocked(convinced *int, resumed, synData bool) {
	if *convinced == 0 {
		return
	}
	*convinced--
	if resumed {
		o.resumes--
	}
	if synData {
		o.opensFast--
	}
}

// blockResumeLocked is for sessions with which requests failed, and did not without.
func (o *origin) blockResumeLocked() {
	o.debug("sessions are not resumed for a while")
	o.p.facts.Update(o.key.String(), func(f *Facts) { f.blockResume(time.Now()) })
	if o.closed {
		return
	}
	// The store may be the user's, so it is called without a lock.
	o.p.work.Go(func() { o.p.dialer.tls.of(o.key).dropSessions() })
}

// retireDoubtfulLocked takes the doubtful connections out of use.
func (o *origin) retireDoubtfulLocked() {
	for i := len(o.conns) - 1; i >= 0; i-- {
		c := o.conns[i]
		if c.draining || !c.doubtful() {
			continue
		}
		c.draining, c.retired, c.by = true, true, ClosedFaulty
		if c.inflight == 0 {
			o.remove(c, ClosedFaulty)
		}
	}
}

// simplify has d leave out what did not work for the origin lately.
func (o *origin) simplify(d *dial) {
	now, f := time.Now(), o.p.facts.Get(o.key.String())
	d.full = d.full || now.Before(f.ResumeBlocked)
	d.slow = d.slow || now.Before(f.FastOpenBlocked)
}

// SuspectSession reports that the response on connection id ([Trace].ConnID) was a
// refusal that seems not to be from the server itself. It returns true if a repeated
// request may fare better without TLS session resumption and TCP Fast Open: the
// connection was made with one of these, and has given no successful response and
// no 404. Repeat the request with [AvoidConn], which uses a connection made without.
func (p *Pool) SuspectSession(id int64) bool {
	for _, o := range p.all() {
		o.mu.Lock()
		known, ok := o.knownLocked(id)
		o.mu.Unlock()
		if ok {
			return known.convinced == 0 && (known.resumed || known.synData)
		}
	}
	return false
}
