// Package timing splits what a request took into the steps that it waited for.
package timing

import (
	"crypto/tls"
	"time"

	"github.com/rdapq/rdapq/pool"
)

// Steps are what a request waited for, one after another. They add up to the
// trace's Total. A request on a connection that was there has no DNS, TCP and
// TLS.
type Steps struct {
	Queue     time.Duration // for a place on a connection, be it made for others or full
	DNS       time.Duration // for the server's addresses
	TCP       time.Duration // for TCP's handshake, and a proxy's
	TLS       time.Duration // for TLS's, or QUIC's
	FirstByte time.Duration // from sending the request to the answer's header
	Transfer  time.Duration // for the rest of the answer
}

// Of returns the steps of a request that was answered.
func Of(t *pool.Trace) Steps {
	s := Steps{
		DNS: t.DNS, TCP: t.TCP, TLS: t.Handshake, FirstByte: t.FirstByte,
		Transfer: max(t.Total-t.Wait-t.FirstByte, 0),
	}
	if t.EarlyData {
		s.TLS = 0 // went on beside the request
	}
	s.Queue = max(t.Wait-s.DNS-s.TCP-s.TLS, 0)
	return s
}

// A Step is one of them by the name that people see.
type Step struct {
	Name string
	Took time.Duration
}

// Named returns all steps, in their order.
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

// Total is the time from the first step to the end of the last.
func (s Steps) Total() time.Duration {
	return s.Queue + s.DNS + s.Line()
}

// Line is the time that depends on how far away the server is: all but the
// queue and the name.
func (s Steps) Line() time.Duration { return s.TCP + s.TLS + s.FirstByte + s.Transfer }

// RoundTrips is the number of round trips that a request takes, by the handshakes
// that it paid for: one for itself, one for TCP, one for TLS 1.3 or a session
// resumed, two for TLS 1.2 (RFC 8446 section 2, RFC 5246 section 7.3). Fast Open
// saves that of TCP, early data that of QUIC (RFC 7413, RFC 9001). One more for
// each unseen repetition.
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
