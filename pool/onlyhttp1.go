package pool

import "errors"

// An origin is used over HTTP/1.1 alone, for as long as the Pool lives, after
// so many connections were given up (see [Stats].Abandoned), or when the server
// requires it (HTTP_1_1_REQUIRED, RFC 9113 section 7).
const maxAbandoned = 3

const codeHTTP11Required = 0xd

var errOnlyHTTP1 = errors.New("this server can be used over HTTP/1.1 only, which Protocols does not name")

// A distrust is what is remembered of an origin that was swept.
type distrust struct {
	abandoned int
	onlyHTTP1 bool
}

// maxDistrusted bounds the origins of which that is remembered.
const maxDistrusted = 4096

// distrustLocked keeps what o has shown. The Pool is locked, o is not used.
func (p *Pool) distrustLocked(o *origin) {
	d := distrust{o.abandoned, o.onlyHTTP1.Load()}
	if d == (distrust{}) || len(p.distrusted) >= maxDistrusted {
		return
	}
	if p.distrusted == nil {
		p.distrusted = make(map[originKey]distrust)
	}
	p.distrusted[o.key] = d
}

// trustLocked starts an origin with what an earlier one has shown. The Pool is
// locked.
func (p *Pool) trustLocked(o *origin) {
	d, ok := p.distrusted[o.key]
	if !ok {
		return
	}
	delete(p.distrusted, o.key)
	o.abandoned = d.abandoned
	if d.onlyHTTP1 {
		o.requireHTTP1Locked()
	}
}

// requireHTTP1Locked leaves HTTP/2 alone from now on.
func (o *origin) requireHTTP1Locked() {
	if o.onlyHTTP1.Swap(true) {
		return
	}
	if o.proto == protoHTTP2 && o.p.dialer.offers(protoHTTP1) {
		o.proto = protoHTTP1
	}
	for _, c := range o.conns {
		if c.protocol == protoHTTP2 {
			c.draining, c.by = true, ClosedPool
		}
	}
	o.publishLocked()
}

// countAbandonedLocked notes once that c was given up.
func (o *origin) countAbandonedLocked(c *conn) {
	t, ok := c.cc.(*tcpCarrier)
	if !ok || c.abandoned || !t.gaveUp() {
		return
	}
	c.abandoned, c.draining, c.broken = true, true, true
	o.stats.Abandoned++
	if o.abandoned++; o.abandoned >= maxAbandoned {
		o.requireHTTP1Locked()
	}
}

// abandoned is called when c was given up.
func (o *origin) abandonedConn(c *conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.countAbandonedLocked(c)
	if o.closed {
		return
	}
	if c.dead() {
		o.remove(c, c.endedBy())
	}
	o.dispatchLocked()
}

// requiresHTTP1 reports whether the server said on c, or about a request that
// failed with err, that it wants HTTP/1.1.
func (c *conn) requiresHTTP1(err error) bool {
	var stream streamError
	if errors.As(err, &stream) && stream.Code == codeHTTP11Required {
		return true
	}
	t, ok := c.cc.(*tcpCarrier)
	return ok && t.tap.away.Load() && t.tap.awayCode.Load() == codeHTTP11Required
}
