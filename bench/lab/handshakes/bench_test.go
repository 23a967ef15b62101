package main

import (
	"slices"
	"testing"

	"github.com/rdapq/rdapq/bench/lab/internal/wire"
)

func TestMissing(t *testing.T) {
	const help = `Connections:
  -j, --jobs int               lookups at once, in all
                               (default 64)
      --http-proxy URL         HTTP 3
      --http VERSION           HTTP VERSION to speak:
                               auto, 1.1, 2 (default
                               "auto")
      --fresh-connections      not 3
      --no-reuse               open a new connection
`
	b := &bench{help: help}
	for _, test := range []struct {
		flags []string
		want  string
	}{
		{nil, ""},
		{[]string{"--no-reuse"}, ""},
		{[]string{"--http", "2"}, ""},
		{[]string{"--http", "1.1"}, ""},
		{[]string{"--http", "3"}, "--http 3"},
		{[]string{"--fresh"}, "--fresh"},
		{[]string{"--fresh-connections", "--fast-open"}, "--fast-open"},
	} {
		if got := b.missing(test.flags); got != test.want {
			t.Errorf("%q: %q, want %q", test.flags, got, test.want)
		}
	}
}

func TestCompare(t *testing.T) {
	said := func(lookups, connections, full, resumed, early int) *receipt {
		r := &receipt{Lookups: lookups, Connections: connections}
		r.Handshakes.Full, r.Handshakes.Resumed, r.Handshakes.EarlyData = full, resumed, early
		return r
	}
	for _, test := range []struct {
		name string
		said *receipt
		link wire.Counts
		want int
	}{
		{"TCP", said(3, 2, 1, 1, 0), wire.Counts{SYN: 2, Full: 1, Resumed: 1}, 0},
		{"QUIC", said(3, 2, 1, 1, 1), wire.Counts{QUICConns: 2, QUICFull: 1, QUICResumed: 1, QUIC0RTT: 1}, 0},
		{"both", said(3, 2, 2, 0, 0), wire.Counts{SYN: 1, Full: 1, QUICConns: 1, QUICFull: 1}, 0},
		{"one that was not told of", said(3, 1, 1, 0, 0), wire.Counts{SYN: 2, Full: 1}, 1},
		{"full for resumed", said(3, 1, 1, 0, 0), wire.Counts{SYN: 1, Resumed: 1}, 2},
		{"early data for none", said(3, 1, 0, 1, 1), wire.Counts{QUICConns: 1, QUICResumed: 1}, 1},
		{"a lookup too few", said(2, 1, 1, 0, 0), wire.Counts{SYN: 1, Full: 1}, 1},
	} {
		if got := compare(size{3, 1}, sample{said: test.said, link: test.link}); len(got) != test.want {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}

// TestModes checks that modes are complete, and checks their round trips.
func TestModes(t *testing.T) {
	for _, name := range usualModes {
		if _, ok := modes[name]; !ok {
			t.Errorf("no mode %q", name)
		}
	}
	for name, m := range modes {
		if m.title == "" || m.trips == nil || (len(m.rdapq) == 0) != (m.other != nil) {
			t.Errorf("mode %s: %+v", name, m)
		}
	}
	trips := func(s size) (n []int) {
		for _, name := range []string{"tls12", "tls13", "fastopen", "h2", "h2-again", "h3", "h3-0rtt"} {
			n = append(n, modes[name].trips(s))
		}
		return n
	}
	if got, want := trips(size{3, 1}), []int{12, 9, 7, 5, 4, 4, 3}; !slices.Equal(got, want) {
		t.Errorf("3 sequential lookups: %v, want %v", got, want)
	}
	if got, want := trips(size{3, 3}), []int{4, 3, 3, 3, 2, 2, 1}; !slices.Equal(got, want) {
		t.Errorf("3 concurrent lookups: %v, want %v", got, want)
	}
}
