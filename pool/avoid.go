package pool

import (
	"context"
	"net/netip"
	"slices"
)

type constraintsKey struct{}

// constraints holds the caller's requirements on a request's connection.
type constraints struct {
	avoid []int64 // numbers of connections not to use
	plain bool
	fresh bool
	gone  int64 // connection that the fresh connection replaces; 0 means none
}

// AvoidConn returns a context for a retry of a request that failed on connection id
// ([Trace].ConnID or [Trace].FailedConn). The retry goes over another connection, to another
// address of the host if there is one. The effects of several calls accumulate.
//
// For such requests the Pool opens at most one extra connection per origin and second. If there
// is no other connection, the request uses an existing one. If a retry gets a useful response
// (any status except 421, 429 and 5xx), the avoided connection counts as the cause. After three
// failed responses in a row, to at least two URLs, the connection gets no new request
// ([ClosedFaulty]).
func AvoidConn(ctx context.Context, id int64) context.Context {
	r := constraintsOf(ctx)
	if id == 0 || slices.Contains(r.avoid, id) {
		return ctx
	}
	r.avoid = append(slices.Clone(r.avoid), id)
	return context.WithValue(ctx, constraintsKey{}, r)
}

// WithPlain returns a context for the last attempt at a request that failed. The attempt goes
// over a connection without any feature that may be the cause. It uses TCP and a full TLS
// handshake, without Fast Open and without early data. Other requests may have used that
// connection.
func WithPlain(ctx context.Context) context.Context {
	r := constraintsOf(ctx)
	r.plain = true
	return context.WithValue(ctx, constraintsKey{}, r)
}

// WithFreshConn returns a context for a request that is the first one on its connection. The
// Pool opens a connection if all existing ones have carried requests. If it cannot, the request
// uses an existing connection. The new connection replaces connection id ([Trace].ConnID),
// because some servers accept only one; 0 replaces none.
func WithFreshConn(ctx context.Context, id int64) context.Context {
	r := constraintsOf(ctx)
	r.fresh, r.gone = true, id
	return context.WithValue(ctx, constraintsKey{}, r)
}

// Plain reports whether ctx was made by [WithPlain].
func Plain(ctx context.Context) bool { return constraintsOf(ctx).plain }

func constraintsOf(ctx context.Context) constraints {
	r, _ := ctx.Value(constraintsKey{}).(constraints)
	return r
}

// A requirement holds the constraints of a waiter on its connection.
type requirement struct {
	newerThan int64 // only connections with a greater number are accepted
	constraints
	addrs       []netip.Addr // addresses of the avoided connections, if the host has another address
	onlyTCP     bool         // an avoided connection is over HTTP/3
	noShortcuts bool         // an avoided connection is doubtful, see conn.doubtful
}

// constrained reports whether n needs a connection opened for it.
func (n *requirement) constrained() bool { return n.plain || len(n.avoid) > 0 }

// accepts reports whether c satisfies n.
func (n *requirement) accepts(c *conn) bool {
	return c.id > n.newerThan && (!n.fresh || c.granted == 0) && (!n.constrained() ||
		(!n.plain || c.plain) && !slices.Contains(n.avoid, c.id) &&
			!slices.Contains(n.addrs, c.setup.addr) && (!n.onlyTCP || c.protocol != protoHTTP3) &&
			(!n.noShortcuts || !c.doubtful()))
}
