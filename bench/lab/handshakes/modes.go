package main

import (
	"fmt"
	"maps"
	"slices"
)

// A mode is a configuration of connections.
type mode struct {
	name  string
	title string

	rdapq     []string // flags of rdapq
	reference []string // flags of the lab's client; empty means not supported
	other     func(b *bench, s size) (command, bool)

	server server
	tls12  bool // use the port with TLS 1.2 only
	plain  bool // use http, without TLS
	primed bool // run after another run that left a session and a cookie

	// trips returns the minimum number of sequential round trips if flow-control windows cause
	// no delay.
	trips func(s size) int
}

// A server is a server program.
type server int

const (
	nginx server = iota // serves HTTP/1.1 and HTTP/2
	quic                // serves HTTP/3
)

// usualModes lists the default modes.
var usualModes = []string{"tls12", "tls13", "resumed", "fastopen", "h1", "h2", "h2-again", "h3", "h3-0rtt", "curl", "openrdap"}

// each, once and first return functions that compute the round trips of lookups.
func each(trips int) func(size) int { return func(s size) int { return trips * s.rounds() } }

func once(before int) func(size) int { return func(s size) int { return before + s.rounds() } }

func first(trips, then int) func(size) int {
	return func(s size) int { return trips + then*(s.rounds()-1) }
}

var modes = map[string]mode{
	"tls12": {
		title: "a connection per lookup, TLS 1.2",
		rdapq: []string{"--no-reuse"}, reference: []string{"-no-reuse"}, tls12: true, trips: each(4),
	},
	"tls13": {
		title: "a connection per lookup, TLS 1.3",
		rdapq: []string{"--no-reuse"}, reference: []string{"-no-reuse"}, trips: each(3),
	},
	"resumed": {
		title: "a connection per lookup, sessions resumed",
		rdapq: []string{"--fresh-connections"}, reference: []string{"-no-reuse", "-resume"}, trips: each(3),
	},
	"fastopen": {
		title: "the same with TCP Fast Open",
		rdapq: []string{"--fresh-connections", "--fast-open"}, reference: []string{"-no-reuse", "-resume", "-fast-open"},
		trips: first(3, 2),
	},
	"plain": {
		title: "HTTP without TLS",
		rdapq: []string{"--allow-http"}, reference: []string{"-http", "1.1"}, plain: true, trips: once(1),
	},
	"plain-fastopen": {
		title: "HTTP without TLS, Fast Open after an earlier run",
		rdapq: []string{"--allow-http", "--fast-open"}, reference: []string{"-http", "1.1", "-fast-open", "-prime"},
		plain: true, primed: true, trips: once(0),
	},
	"tls12-fastopen": {
		title: "TLS 1.2, Fast Open after an earlier run, no session",
		rdapq: []string{"--fast-open", "--no-session-store"}, reference: []string{"-fast-open", "-prime"},
		tls12: true, primed: true, trips: once(2),
	},
	"tls13-fastopen": {
		title: "TLS 1.3, Fast Open after an earlier run, no session",
		rdapq: []string{"--fast-open", "--no-session-store"}, reference: []string{"-fast-open", "-prime"},
		primed: true, trips: once(1),
	},
	"h1": {
		title: "HTTP/1.1 reused",
		rdapq: []string{"--http", "1.1"}, reference: []string{"-http", "1.1"}, trips: once(2),
	},
	"h2": {
		title: "HTTP/2 reused",
		rdapq: []string{"--http", "2"}, reference: []string{"-http", "2"}, trips: once(2),
	},
	"h2-one": {
		title: "HTTP/2 reused, one connection",
		rdapq: []string{"--http", "2", "--min-handshakes"}, reference: []string{"-http", "2", "-conns", "1"}, trips: once(2),
	},
	"h2-again": {
		title: "HTTP/2 reused, Fast Open, after an earlier run",
		rdapq: []string{"--http", "2", "--fast-open"}, reference: []string{"-http", "2", "-resume", "-fast-open", "-prime"},
		primed: true, trips: once(1),
	},
	"h3": {
		title: "HTTP/3 reused",
		rdapq: []string{"--http", "3"}, reference: []string{"-http", "3"}, server: quic, trips: once(1),
	},
	"h3-one": {
		title: "HTTP/3 reused, one connection",
		rdapq: []string{"--http", "3", "--min-handshakes"}, reference: []string{"-http", "3"}, server: quic, trips: once(1),
	},
	"h3-0rtt": {
		title: "HTTP/3 reused, 0-RTT after an earlier run",
		rdapq: []string{"--http", "3"}, reference: []string{"-http", "3", "-resume", "-0rtt", "-prime"},
		server: quic, primed: true, trips: once(0),
	},
	"curl": {
		title: "curl --parallel, HTTP/2",
		other: (*bench).curl, trips: once(2),
	},
	"openrdap": {
		title: "openrdap command, one lookup after another",
		other: (*bench).openrdap, trips: func(s size) int { return 3 * s.n },
	},
}

func listModes() string {
	var list string
	for _, name := range slices.Sorted(maps.Keys(modes)) {
		list += fmt.Sprintf("\n%-14s %s", name, modes[name].title)
	}
	return list
}
