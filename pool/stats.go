package pool

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"
)

// Stats holds counts since the Pool was created, and the current numbers Open, InFlight and
// Waiting. The zero value counts nothing.
type Stats struct {
	Requests    int64 // requests answered; transparent retries are not counted
	Failed      int64 // requests that ended in an error
	Connections int64 // connections opened
	Dials       int64 // connections started: opened, failed, canceled, or still being made
	DialsFailed int64 // connections that could not be opened
	Open        int64 // connections open now
	// requests sent whose response body has not been read to the end or closed
	InFlight        int64
	Waiting         int64              // requests that wait for a connection or a stream now
	Handshakes      Handshakes         // TLS handshakes
	FastOpen        FastOpen           // connections with TCP Fast Open
	Retries         map[Reason]int64   // transparent retries, by reason
	RetriesSameConn int64              // part of Retries on the connection that had refused the request
	Closed          map[ClosedBy]int64 // connections closed, by reason
	Abandoned       int64              // HTTP/2 connections abandoned because calls into net/http did not return, or would not have
	BytesIn         int64              // bytes received on the wire, TLS included
	BytesOut        int64              // bytes sent on the wire, TLS included
	Setup           time.Duration      // total time spent on opening connections
	Saved           time.Duration      // additional time that one connection per request would have taken, by a model; 0 if Unknown is not empty

	RoundTripsAvoided int64        // round trips that the avoided connections would have taken, without name resolution
	Unknown           SavedUnknown // reason why Saved is unknown; empty if Saved is known

	// Origins has the same counts per origin, sorted by name; nil in the stats of an origin. If
	// there are thousands of origins, the origins not used recently are only in the sums.
	Origins []OriginStats
}

// Handshakes counts TLS handshakes by kind.
type Handshakes struct {
	Full    int64 // handshakes without a session
	Resumed int64 // handshakes that resumed a session (RFC 8446 section 2.2)
	Avoided int64 // requests on a connection that another request had opened

	// Handshakes during which requests were sent as early data (0-RTT).
	EarlyData     int64 // the server accepted the early data
	EarlyRejected int64 // the server rejected the early data, and the requests were sent again
}

// FastOpen counts connections whose SYN carried data (see [Config.FastOpen]).
type FastOpen struct {
	Sent     int64 // connections whose SYN carried data
	Accepted int64 // connections whose peer accepted the data, which saved a round trip
}

// OriginStats holds the [Stats] of one origin.
type OriginStats struct {
	Origin   string // origin, such as "https://rdap.example:8443"
	Protocol string // protocol of the last connection, see [Trace]
	Stats
}

// originStats holds the counts of an origin, and is guarded by the origin's mutex.
type originStats struct {
	Stats            // Closed is nil in these Stats: see closedBy
	alive    []*conn // slices, because a map takes 250 bytes for one entry
	closedBy []closerCount
}

type closerCount struct {
	by ClosedBy
	n  int64
}

func (s *originStats) opened(c *conn) {
	s.alive = append(s.alive, c)
	s.Connections++
	s.Setup += c.setup.total()
	if c.setup.synData {
		s.FastOpen.Sent++
	}
	if c.setup.synDataAccepted {
		s.FastOpen.Accepted++
	}
	switch {
	case c.setup.version == 0:
	case c.setup.resumed:
		s.Handshakes.Resumed++
	default:
		s.Handshakes.Full++
	}
}

func (s *originStats) closed(c *conn, by ClosedBy) bool {
	i := slices.Index(s.alive, c)
	if i < 0 {
		return false
	}
	if s.alive = slices.Delete(s.alive, i, i+1); len(s.alive) == 0 {
		s.alive = nil
	}
	s.countClosed(by, 1)
	in, out := c.bytes()
	s.BytesIn += in
	s.BytesOut += out
	return true
}

func (s *originStats) countClosed(by ClosedBy, n int64) {
	i := slices.IndexFunc(s.closedBy, func(k closerCount) bool { return k.by == by })
	if i < 0 {
		i = len(s.closedBy)
		s.closedBy = append(s.closedBy, closerCount{by: by})
	}
	s.closedBy[i].n += n
}

// merge adds the counts of an origin without open connections.
func (s *originStats) merge(o *originStats) {
	s.add(o.Stats)
	for _, k := range o.closedBy {
		s.countClosed(k.by, k.n)
	}
}

func (s *originStats) answered(c *conn, first bool) {
	s.Requests++
	if !first {
		s.Handshakes.Avoided++
		s.RoundTripsAvoided += c.setup.roundTrips()
	}
}

// snapshot returns the counts, including those of open connections.
func (s *originStats) snapshot() Stats {
	out := s.Stats
	out.Open = int64(len(s.alive))
	out.Retries = maps.Clone(s.Retries)
	if len(s.closedBy) > 0 {
		out.Closed = make(map[ClosedBy]int64, len(s.closedBy))
		for _, k := range s.closedBy {
			out.Closed[k.by] = k.n
		}
	}
	for _, c := range s.alive {
		received, sent := c.bytes()
		out.BytesIn += received
		out.BytesOut += sent
	}
	return out
}

func addCounts[K comparable](sum, more map[K]int64) map[K]int64 {
	if sum == nil && len(more) > 0 {
		sum = make(map[K]int64, len(more))
	}
	for k, n := range more {
		sum[k] += n
	}
	return sum
}

func (s *Stats) add(o Stats) {
	s.Requests += o.Requests
	s.Failed += o.Failed
	s.Connections += o.Connections
	s.Dials += o.Dials
	s.DialsFailed += o.DialsFailed
	s.Open += o.Open
	s.InFlight += o.InFlight
	s.Waiting += o.Waiting
	s.Handshakes.Full += o.Handshakes.Full
	s.Handshakes.Resumed += o.Handshakes.Resumed
	s.Handshakes.EarlyData += o.Handshakes.EarlyData
	s.Handshakes.EarlyRejected += o.Handshakes.EarlyRejected
	s.Handshakes.Avoided += o.Handshakes.Avoided
	s.FastOpen.Sent += o.FastOpen.Sent
	s.FastOpen.Accepted += o.FastOpen.Accepted
	s.Retries = addCounts(s.Retries, o.Retries)
	s.Closed = addCounts(s.Closed, o.Closed)
	s.Abandoned += o.Abandoned
	s.RetriesSameConn += o.RetriesSameConn
	s.BytesIn += o.BytesIn
	s.BytesOut += o.BytesOut
	s.Setup += o.Setup
	s.RoundTripsAvoided += o.RoundTripsAvoided
	s.Saved = max(s.Saved, o.Saved)
	if o.Unknown != "" {
		s.Saved, s.Unknown = 0, o.Unknown
	}
}

// Stats returns the counts of the Pool and of each origin.
func (p *Pool) Stats() Stats {
	var all Stats
	at := make(map[string]int) // index in Origins by name
	p.mu.Lock()
	all.add(p.forgotten)
	for name, past := range p.summaries {
		one := OriginStats{Origin: name, Protocol: past.protocol, Stats: past.stats.snapshot()}
		at[name] = len(all.Origins)
		all.Origins = append(all.Origins, one)
		all.add(one.Stats)
	}
	// hold the lock until all origins are read, because a sweep moves counts
	origins := slices.Collect(maps.Values(p.origins))
	p.mu.Unlock()
	var saved savedSum
	if all.Handshakes.Avoided > 0 {
		saved.unknown = SavedForgotten
	}
	for _, o := range origins {
		o.mu.Lock()
		one := OriginStats{Origin: o.key.String(), Protocol: o.proto, Stats: o.stats.snapshot()}
		one.Waiting = o.waitingLocked()
		o.mu.Unlock()
		m := o.model(&one)
		one.Saved, one.Unknown = m.saved, m.unknown
		saved.add(&m)
		all.add(one.Stats)
		// Each proxy, and guarded requests, have separate connections to an origin.
		if i, ok := at[one.Origin]; ok {
			all.Origins[i].add(one.Stats)
			all.Origins[i].Protocol = cmp.Or(one.Protocol, all.Origins[i].Protocol)
			continue
		}
		at[one.Origin] = len(all.Origins)
		all.Origins = append(all.Origins, one)
	}
	whole := p.savedModel.model(math.MaxInt)
	all.Saved, all.Unknown = saved.of(&whole)
	slices.SortFunc(all.Origins, func(a, b OriginStats) int { return cmp.Compare(a.Origin, b.Origin) })
	return all
}

// RetriesTotal returns the number of transparent retries for all reasons.
func (s Stats) RetriesTotal() int64 {
	var n int64
	for _, k := range s.Retries {
		n += k
	}
	return n
}
