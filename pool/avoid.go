package pool

import (
	"context"
	"net/netip"
	"slices"
	"time"
)

type routeKey struct{}

// A route is what a request needs of its connection.
type route struct {
	avoid []int64 // connections that it does not use
	plain bool
}

// AvoidConn returns a context for a request that is repeated because the one on
// connection id ([Trace].ConnID or [Trace].FailedConn) failed: it goes over another
// connection, to another address of the host if there is one. Calls add up.
//
// For such requests the Pool opens at most one connection per origin beyond those
// that the queue is worth, and no other one within a second. Where no other
// connection can be had, the request uses what there is. When a request that avoids
// a connection gets a useful response, that is any status except 421, 429 and 5xx,
// the fault is the avoided connection's: after three failed responses in a row, from
// at least two different URLs, it gets no new request ([ClosedFaulty]).
func AvoidConn(ctx context.Context, id int64) context.Context {
	r := routeOf(ctx)
	if id == 0 || slices.Contains(r.avoid, id) {
		return ctx
	}
	r.avoid = append(slices.Clone(r.avoid), id)
	return context.WithValue(ctx, routeKey{}, r)
}

// WithPlain returns a context for the last attempt at a request that failed: it
// goes over a connection that was made without anything that could be the reason,
// by TCP, with a full TLS handshake, without Fast Open and without early data. Other
// requests may have used the connection after it was made for that.
func WithPlain(ctx context.Context) context.Context {
	r := routeOf(ctx)
	r.plain = true
	return context.WithValue(ctx, routeKey{}, r)
}

// Plain reports whether ctx is from [WithPlain].
func Plain(ctx context.Context) bool { return routeOf(ctx).plain }

func routeOf(ctx context.Context) route {
	r, _ := ctx.Value(routeKey{}).(route)
	return r
}

// A need is what a waiter needs of its connection.
type need struct {
	newerThan int64 // only connections with a greater number will do
	route
	addrs []netip.Addr // of the connections that it avoids, where the host has another one
	tcp   bool         // a connection that it avoids is over HTTP/3
	full  bool         // a connection that it avoids is doubtful
}

// special reports whether n is satisfied by a connection opened for it alone.
func (n *need) special() bool { return n.plain || len(n.avoid) > 0 }

// takes reports whether c will do.
func (n *need) takes(c *conn) bool {
	return c.id > n.newerThan && (!n.special() ||
		(!n.plain || c.plain) && !slices.Contains(n.avoid, c.id) &&
			!slices.Contains(n.addrs, c.setup.addr) && (!n.tcp || c.protocol != protoHTTP3) &&
			(!n.full || !c.doubtful()))
}

// maxPast is how many connections that have ended an origin remembers the address
// of.
const maxPast = 32

// pastConn is what is remembered of a connection that has ended.
type pastConn struct {
	id        int64
	addr      netip.Addr
	addrs     int // that the host had
	resumed   bool
	synData   bool // see setup
	convinced int  // see conn
	h3        bool
}

// needLocked completes what a request needs.
func (o *origin) needLocked(n need) need {
	if len(n.avoid) == 0 {
		return n
	}
	most := 0
	for _, id := range n.avoid {
		p, ok := o.knownLocked(id)
		n.tcp = n.tcp || p.h3 && !o.p.onlyH3
		n.full = n.full || ok && p.convinced == 0 && (p.resumed || p.synData)
		if !ok || !p.addr.IsValid() {
			continue
		}
		most = max(most, p.addrs)
		n.addrs = slices.DeleteFunc(n.addrs, func(a netip.Addr) bool { return a == p.addr })
		n.addrs = append(n.addrs, p.addr)
	}
	// Of a host whose addresses have all failed, the one that failed last is avoided.
	if spare := most - 1; len(n.addrs) > spare {
		n.addrs = n.addrs[len(n.addrs)-max(spare, 0):]
	}
	return n
}

// knownLocked finds a connection of o, or one that has ended lately.
func (o *origin) knownLocked(id int64) (pastConn, bool) {
	for _, c := range o.conns {
		if c.id == id {
			return c.past(), true
		}
	}
	if i := slices.IndexFunc(o.past, func(p pastConn) bool { return p.id == id }); i >= 0 {
		return o.past[i], true
	}
	return pastConn{}, false
}

func (c *conn) past() pastConn {
	return pastConn{
		id: c.id, addr: c.setup.addr, addrs: c.setup.addrs, h3: c.protocol == protoHTTP3,
		resumed: c.setup.resumed, synData: c.setup.synData, convinced: c.convinced,
	}
}

func (o *origin) rememberPastLocked(c *conn) {
	if len(o.past) == maxPast {
		o.past = slices.Delete(o.past, 0, 1)
	}
	o.past = append(o.past, c.past())
}

// extraPause is the least time between two connections that are opened for
// requests that avoid others.
const extraPause = time.Second

// growExtraLocked opens a connection for the first waiter that none will do for, if
// that is permitted now. Otherwise such waiters get what there is.
func (o *origin) growExtraLocked() {
	for _, w := range o.queue {
		if !w.special() || o.servesLocked(&w.need) {
			continue
		}
		if o.dialsForLocked(&w.need) {
			continue
		}
		last := &o.extraAt
		if w.plain {
			last = &o.plainAt
		}
		if !last.IsZero() && time.Since(*last) < extraPause && len(o.conns) > 0 {
			o.relaxLocked(w)
			continue
		}
		*last = time.Now()
		d := &dial{h3: o.onlyRoute(), extra: true, plain: w.plain, full: w.full || w.plain, slow: w.full || w.plain, avoid: w.addrs}
		for _, id := range w.avoid {
			if p, ok := o.knownLocked(id); ok && p.resumed {
				d.full = true
			}
		}
		o.beginLocked(d)
	}
}

// servesLocked reports whether a connection that is there will do.
func (o *origin) servesLocked(n *need) bool {
	return slices.ContainsFunc(o.conns, func(c *conn) bool {
		return !c.draining && !o.shunsLocked(c) && (o.perConn == 0 || c.granted < o.perConn) && n.takes(c)
	})
}

// dialsForLocked reports whether a connection that will do is being made.
func (o *origin) dialsForLocked(n *need) bool {
	return slices.ContainsFunc(o.dials, func(d *dial) bool {
		switch {
		case d.h3 != nil && !o.p.onlyH3:
			return false
		case n.plain && !d.plain, n.full && !d.full:
			return false
		}
		return d.extra || len(n.addrs) == 0 // others may go to an address that is avoided
	})
}

// relaxLocked makes w content with what there is: with any other connection, or
// with any at all.
func (o *origin) relaxLocked(w *waiter) {
	w.plain, w.tcp, w.full, w.addrs = false, false, false, nil
	if !o.servesLocked(&w.need) {
		w.avoid = nil
	}
	o.relaxed = true
}

// relaxAllLocked is for the failure of a connection that was made for a waiter.
func (o *origin) relaxAllLocked() {
	for _, w := range o.queue {
		if w.special() && !o.servesLocked(&w.need) && !o.dialsForLocked(&w.need) {
			o.relaxLocked(w)
		}
	}
}
