package timing

import (
	"crypto/tls"
	"testing"
	"time"

	"github.com/rdapq/rdapq/pool"
)

const ms = time.Millisecond

func TestStepsAddUp(t *testing.T) {
	for name, tt := range map[string]struct {
		trace pool.Trace
		want  Steps
	}{
		"new": {
			pool.Trace{Wait: 205 * ms, DNS: 5 * ms, TCP: 90 * ms, Handshake: 91 * ms, FirstByte: 92 * ms, Total: 300 * ms},
			Steps{Queue: 19 * ms, DNS: 5 * ms, TCP: 90 * ms, TLS: 91 * ms, FirstByte: 92 * ms, Transfer: 3 * ms},
		},
		"kept": {
			pool.Trace{Reused: true, FirstByte: 90 * ms, Total: 91 * ms},
			Steps{FirstByte: 90 * ms, Transfer: ms},
		},
		"early data does not wait for its handshake": {
			pool.Trace{EarlyData: true, Handshake: 95 * ms, Wait: ms, FirstByte: 90 * ms, Total: 92 * ms},
			Steps{Queue: ms, FirstByte: 90 * ms, Transfer: ms},
		},
		"no body yet": {
			pool.Trace{Wait: 10 * ms, FirstByte: 5 * ms, Total: 14 * ms},
			Steps{Queue: 10 * ms, FirstByte: 5 * ms},
		},
	} {
		if got := Of(&tt.trace); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
	s := Steps{1, 2, 4, 8, 16, 32}
	if s.Total() != 63 || s.Network() != 60 {
		t.Errorf("total %d, line %d", s.Total(), s.Network())
	}
}

func TestRoundTrips(t *testing.T) {
	for name, tt := range map[string]struct {
		trace pool.Trace
		want  int
	}{
		"kept":                 {pool.Trace{Reused: true, Protocol: "h2", TLS: tls.VersionTLS13}, 1},
		"TLS 1.3":              {pool.Trace{Protocol: "h2", TLS: tls.VersionTLS13}, 3},
		"TLS 1.3, resumed":     {pool.Trace{Protocol: "h2", TLS: tls.VersionTLS13, Resumed: true}, 3},
		"TLS 1.2":              {pool.Trace{Protocol: "http/1.1", TLS: tls.VersionTLS12}, 4},
		"TLS 1.2, resumed":     {pool.Trace{Protocol: "h2", TLS: tls.VersionTLS12, Resumed: true}, 3},
		"Fast Open":            {pool.Trace{Protocol: "h2", TLS: tls.VersionTLS13, FastOpen: true}, 2},
		"Fast Open, TLS 1.2":   {pool.Trace{Protocol: "h2", TLS: tls.VersionTLS12, FastOpen: true}, 3},
		"HTTP/3":               {pool.Trace{Protocol: "h3", TLS: tls.VersionTLS13}, 2},
		"HTTP/3, 0-RTT":        {pool.Trace{Protocol: "h3", TLS: tls.VersionTLS13, Resumed: true, EarlyData: true}, 1},
		"HTTP/3, 0-RTT denied": {pool.Trace{Protocol: "h3", TLS: tls.VersionTLS13, Retries: 1}, 3},
		"no TLS":               {pool.Trace{Protocol: "http/1.1"}, 2},
	} {
		if got := RoundTrips(&tt.trace); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}
