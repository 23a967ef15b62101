package pool

import (
	"context"
	"net/netip"
	"slices"
)

type constraintsKey struct{}

// A constraints is what a request needs of its connection.
type constraints struct {
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
	r := constraintsOf(ctx)
	if id == 0 || slices.Contains(r.avoid, id) {
		return ctx
	}
	r.avoid = append(slices.Clone(r.avoid), id)
	return context.WithValue(ctx, constraintsKey{}, r)
}

// WithPlain returns a context for the last attempt at a request that failed: it
// goes over a connection that was made without anything that could be the reason,
// by TCP, with a full TLS handshake, without Fast Open and without early data. Other
// requests may have used the connection after it was made for that.
func WithPlain(ctx context.Context) context.Context {
	r := constraintsOf(ctx)
	r.plain = true
	return context.WithValue(ctx, constraintsKey{}, r)
}

// Plain reports whether ctx is from [WithPlain].
func Plain(ctx context.Context) bool { return constraintsOf(ctx).plain }

func constraintsOf(ctx context.Context) constraints {
	r, _ := ctx.Value(constraintsKey{}).(constraints)
	return r
}

// A requirement is what a waiter needs of its connection.
type requirement struct {
	newerThan int64 // only connections with a greater number will do
	constraints
	addrs       []netip.Addr // of the connections that it avoids, where the host has another one
	onlyTCP     bool         // a connection that it avoids is over HTTP/3
	noShortcuts bool         // a connection that it avoids is doubtful
}

// constrained reports whether n is satisfied by a connection opened for it alone.
func (n *requirement) constrained() bool { return n.plain || len(n.avoid) > 0 }

// accepts reports whether c will do.
func (n *requirement) accepts(c *conn) bool {
	return c.id > n.newerThan && (!n.constrained() ||
		(!n.plain || c.plain) && !slices.Contains(n.avoid, c.id) &&
			!slices.Contains(n.addrs, c.setup.addr) && (!n.onlyTCP || c.protocol != protoHTTP3) &&
			(!n.noShortcuts || !c.doubtful()))
}
