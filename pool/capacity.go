package pool

import (
	"net/url"
	"time"
)

// assumedStreams is the stream limit assumed for a connection that has not
// announced one: what net/http assumes (RFC 9113 section 6.5.2 recommends no less).
const assumedStreams = 100

// demandLifetime is how long a demand counts after the call of [Pool.Capacity] that
// stated it.
const demandLifetime = time.Second

// Capacity returns how many requests to origin ("https://rdap.example:8443") the
// Pool carries at a time, once the connections that demand justifies are open.
// Demand is the number of requests that the caller has in flight there or could
// send now. For a second it counts as the depth of the queue, so that the next
// request opens as many connections as the demand is worth. The result is at
// least 1 and at most max(demand, 1).
//
// A scheduler that starts no more requests than that keeps them out of the Pool's
// queue, except for those that wait for the first connection: unless the
// [OriginStore] knows the protocol of an origin without a connection, Capacity
// assumes HTTP/2.
//
// Capacity sends nothing, and takes no lock that is held during a request.
func (p *Pool) Capacity(origin string, demand int) int {
	demand = max(demand, 1)
	if p.cfg.noReuse() {
		return demand
	}
	p.mu.Lock()
	same, ok := p.servers[origin]
	p.mu.Unlock()
	name := origin
	if !ok {
		if u, err := url.Parse(origin); err == nil {
			name = originKeyOf(u).String()
			p.mu.Lock()
			same = p.servers[name]
			p.mu.Unlock()
		}
	}
	if len(same) == 0 {
		return p.storedPlan(name).capacity(demand)
	}
	// With a proxy, or behind the guard, an origin has connections apart.
	known, cold := 0, 0
	for _, o := range same {
		o.demand.Store(int64(demand))
		o.demandAt.Store(time.Now().UnixNano())
		switch g := o.plan.Load(); g.proto {
		case "":
			cold = max(cold, g.capacity(demand))
		default:
			known += g.capacity(demand)
		}
	}
	if known == 0 {
		known = cold
	}
	return min(max(known, 1), demand)
}

// connPlan is what decides how many connections a load is worth.
type connPlan struct {
	proto            string // empty: not known yet
	streams          int    // stream limit of a connection; 0: not known
	maxConns         int
	observedMax      int // connections that the server was seen to take at most; 0: not known
	observedMaxUntil int64
}

func (p *Pool) coldPlan() connPlan {
	return connPlan{maxConns: min(p.cfg.MaxConnsPerHost, p.cfg.MaxHTTP2Conns)}
}

// storedPlan is the growth of an origin without connections, by what is known
// from earlier ones.
func (p *Pool) storedPlan(name string) connPlan {
	if f, ok := p.store.(*originStoreFront); ok {
		f.loadLater(name) // the caller may hold a lock
	}
	f := p.store.Get(name).sanitized(time.Now())
	if p.dialer.speaksOnlyHTTP1() {
		f.Protocol = protoHTTP1
	}
	if !p.dialer.offers(f.Protocol) {
		return p.coldPlan()
	}
	return p.planFor(f.Protocol, f.Streams)
}

// planFor is the growth of an origin of that protocol and stream limit.
func (p *Pool) planFor(proto string, streams int) connPlan {
	g := p.coldPlan()
	g.proto, g.streams = proto, streams
	switch proto {
	case protoHTTP1:
		g.maxConns = p.cfg.MaxConnsPerHost
	case protoHTTP2, protoHTTP3:
		g.maxConns = p.cfg.MaxHTTP2Conns
	}
	return g
}

// limit is the number of connections that the origin may have.
func (g connPlan) limit() int {
	if g.observedMax > 0 && time.Now().UnixNano() < g.observedMaxUntil {
		return min(g.maxConns, g.observedMax)
	}
	return g.maxConns
}

// wants is the number of connections that a load of so many requests is worth.
func (g connPlan) wants(depth int) int {
	if g.proto == protoHTTP1 {
		return min(depth, g.limit())
	}
	// A cold origin is dialed once, to learn what the server speaks; where the
	// queue is deep, as many connections pay whatever that is.
	want := 1
	switch {
	case depth > depthForEight:
		want = 8
	case depth > depthForFour:
		want = 4
	}
	// A server that takes few requests at a time on a connection gets as many
	// connections as they need.
	if g.proto == protoHTTP2 && g.streams > 0 {
		want = max(want, (depth+g.streams-1)/g.streams)
	}
	return min(want, g.limit())
}

// capacity is how many of so many requests those connections take.
func (g connPlan) capacity(demand int) int {
	conns := max(g.wants(demand), 1)
	if g.proto == protoHTTP1 {
		return min(demand, conns)
	}
	streams := assumedStreams
	if g.streams > 0 {
		streams = g.streams
	}
	if streams >= (demand+conns-1)/conns {
		return demand
	}
	return conns * streams
}
