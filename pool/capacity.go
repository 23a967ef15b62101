package pool

import (
	"net/url"
	"time"
)

// assumedStreams is the stream limit assumed for a connection that has not announced a limit.
// net/http assumes the same, and RFC 9113 section 6.5.2 recommends no less.
const assumedStreams = 100

// demandLifetime is how long the demand stated in a call of [Pool.Capacity] counts.
const demandLifetime = time.Second

// Capacity returns how many concurrent requests to origin ("https://rdap.example:8443") the
// Pool can carry once the connections that demand justifies are open. Demand is the number of
// requests that the caller has in flight there or could send now. For a second, the demand
// counts as the depth of the queue, so the next request opens as many connections as the demand
// justifies. The result is at least 1 and at most max(demand, 1).
//
// A scheduler that starts no more requests than the capacity keeps them out of the Pool's
// queue, except while the first connection is made. Capacity assumes HTTP/2 for an origin
// without a connection, unless the [OriginStore] knows its protocol. A user-supplied store is
// read in the background, so the first call for an origin may not use its data.
//
// Capacity sends nothing, and takes no lock that is held during a request.
func (p *Pool) Capacity(origin string, demand int) int {
	demand = max(demand, 1)
	if p.cfg.noReuse() || p.ctx == nil {
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
	// Each proxy, and guarded requests, have separate connections to an origin.
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

// A connPlan decides how many connections a load justifies.
type connPlan struct {
	proto            string // empty means unknown
	streams          int    // stream limit of a connection; 0 means unknown
	maxConns         int
	observedMax      int // maximum number of connections that the server accepted; 0 means unknown
	observedMaxUntil int64
}

func (p *Pool) coldPlan() connPlan {
	return connPlan{maxConns: min(p.cfg.MaxConnsPerHost, p.cfg.MaxHTTP2Conns)}
}

// storedPlan returns the plan for an origin without connections, from stored information.
func (p *Pool) storedPlan(name string) connPlan {
	if f, ok := p.store.(*originStoreFront); ok {
		f.loadLater(name) // the caller may hold a lock
	}
	f := p.store.info(name).sanitized(time.Now())
	if p.dialer.speaksOnlyHTTP1() {
		f.Protocol = protoHTTP1
	}
	if !p.dialer.offers(f.Protocol) {
		return p.coldPlan()
	}
	return p.planFor(f.Protocol, f.Streams)
}

// planFor returns the plan for a protocol and a stream limit.
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

// limit returns the maximum number of connections.
func (g connPlan) limit() int {
	if g.observedMax > 0 && time.Now().UnixNano() < g.observedMaxUntil {
		return min(g.maxConns, g.observedMax)
	}
	return g.maxConns
}

// wants returns the number of connections that depth requests justify.
func (g connPlan) wants(depth int) int {
	if g.proto == protoHTTP1 {
		return min(depth, g.limit())
	}
	// A cold origin is dialed once, to learn its protocol. A deep queue justifies
	// several connections with any protocol.
	want := 1
	switch {
	case depth > depthForEight:
		want = 8
	case depth > depthForFour:
		want = 4
	}
	// A low stream limit justifies as many connections as the requests need.
	if g.proto == protoHTTP2 && g.streams > 0 {
		want = max(want, (depth+g.streams-1)/g.streams)
	}
	return min(want, g.limit())
}

// capacity returns how many of demand requests the connections carry.
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
