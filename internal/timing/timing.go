// Package timing splits the duration of a request into steps, and counts its round trips,
// from the pool's trace. It does not deal with their display.
package timing

import (
	"crypto/tls"
	"time"

	"github.com/rdapq/rdapq/pool"
)

// Steps holds the durations of the consecutive steps of a request. Their sum is the trace's
// Total. A request on an existing connection has no DNS, TCP and TLS.
type Steps struct {
	Queue     time.Duration // wait for a free connection or stream
	DNS       time.Duration // name resolution
	TCP       time.Duration // TCP handshake, including a proxy's
	TLS       time.Duration // TLS or QUIC handshake
	FirstByte time.Duration // time from sending the request to the response header
	Transfer  time.Duration // rest of the response
}

// Of returns the steps of a request that got a response.
func Of(t *pool.Trace) Steps {
	s := Steps{
		DNS: t.DNS, TCP: t.TCP, TLS: t.Handshake, FirstByte: t.FirstByte,
		Transfer: max(t.Total-t.Wait-t.FirstByte, 0),
	}
	if t.EarlyData {
		s.TLS = 0 // the handshake was concurrent with the request
	}
	s.Queue = max(t.Wait-s.DNS-s.TCP-s.TLS, 0)
	return s
}

// A Step is one of Steps with its display name.
type Step struct {
	Name string
	Took time.Duration
}

// Named returns all steps in order.
func (s Steps) Named() [6]Step {
	return [...]Step{
		{"queue", s.Queue},
		{"DNS", s.DNS},
		{"TCP", s.TCP},
		{"TLS", s.TLS},
		{"first byte", s.FirstByte},
		{"transfer", s.Transfer},
	}
}

// Total returns the time from the first step to the end of the last step.
func (s Steps) Total() time.Duration {
	return s.Queue + s.DNS + s.Network()
}

// Network returns the time that depends on the distance of the server, which is all steps
// except the queue and DNS.
func (s Steps) Network() time.Duration { return s.TCP + s.TLS + s.FirstByte + s.Transfer }

// RoundTrips returns the number of round trips of a request (RFC 8446 section 2, RFC 5246
// section 7.3, RFC 7413, RFC 9001). The request takes one, TCP one, TLS 1.3 or a resumed
// session one, TLS 1.2 two, and each transparent retry one. Fast Open saves the round trip of
// TCP, and early data saves that of QUIC.
func RoundTrips(t *pool.Trace) int {
	n := 1 + t.Retries
	if t.Reused {
		return n
	}
	if t.Protocol != "h3" && !t.FastOpen {
		n++
	}
	switch {
	case t.TLS == 0, t.EarlyData:
	case t.TLS >= tls.VersionTLS13, t.Resumed:
		n++
	default:
		n += 2
	}
	return n
}
