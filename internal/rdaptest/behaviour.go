package rdaptest

import (
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Behaviour changes the response to a request. Create a Behaviour with the functions of this
// package, and apply it with [Server.On].
type Behaviour func(*plan)

// plan describes the response to a request.
type plan struct {
	path  string
	query string // raw query of the URL
	conn  *conn
	prior int64 // number of earlier requests on the connection

	latency time.Duration
	until   <-chan struct{}

	status      int // status code; 0 means the code from the source
	body        []byte
	bodySet     bool // body is set, but may be empty
	contentType string
	header      http.Header

	announce    bool // send Connection: close
	hangUp      bool // close the connection instead of responding
	reset       bool // close with RST instead of responding
	resetStream bool
	hang        bool // never respond
	junk        string

	gzip    bool
	size    int64 // length to which to pad the body
	endless bool
	cut     int // number of bytes of the body after which the connection breaks; -1 means never
	chunk   int // number of bytes to write at a time
	every   time.Duration
}

// Latency delays the response by d.
func Latency(d time.Duration) Behaviour { return func(p *plan) { p.latency = d } }

// Until delays the response until ch is closed.
func Until(ch <-chan struct{}) Behaviour { return func(p *plan) { p.until = ch } }

// Status responds with a status code. Above 299 the body is an RDAP error, unless
// another behaviour sets it.
func Status(code int) Behaviour { return func(p *plan) { p.status = code } }

// Body responds with a body of any content type. An empty type omits the field.
func Body(contentType, body string) Behaviour {
	return func(p *plan) { p.contentType, p.body, p.bodySet = contentType, []byte(body), true }
}

// JSON responds with a body of type application/rdap+json.
func JSON(body string) Behaviour { return Body(rdapType, body) }

// NoBody responds with an empty body.
func NoBody() Behaviour {
	return func(p *plan) { p.contentType, p.body, p.bodySet = "", nil, true }
}

// ContentType responds with the default body and another content type.
func ContentType(t string) Behaviour { return Header("Content-Type", t) }

// Header sets a header field of the response.
func Header(name, value string) Behaviour {
	return func(p *plan) {
		if p.header == nil {
			p.header = make(http.Header)
		}
		p.header.Set(name, value)
	}
}

// RetryAfter sets the Retry-After field to seconds, a date, or junk.
func RetryAfter(value string) Behaviour { return Header("Retry-After", value) }

// Redirect responds with a 3xx code, a Location, and no body.
func Redirect(code int, location string) Behaviour {
	return func(p *plan) {
		Status(code)(p)
		NoBody()(p)
		Header("Location", location)(p)
	}
}

// Close sends Connection: close with the response. Over HTTP/2 it sends a graceful GOAWAY.
func Close() Behaviour { return func(p *plan) { p.announce = true } }

// HangUp closes the connection instead of responding.
func HangUp() Behaviour { return func(p *plan) { p.hangUp = true } }

// ResetConn is like HangUp, with a TCP reset.
func ResetConn() Behaviour { return func(p *plan) { p.hangUp, p.reset = true, true } }

// ResetStream ends the request with RST_STREAM (INTERNAL_ERROR) instead of responding. Over
// HTTP/1.1 it closes the connection.
func ResetStream() Behaviour { return func(p *plan) { p.resetStream = true } }

// Hang never responds. The request ends when the client or the server closes the connection.
func Hang() Behaviour { return func(p *plan) { p.hang = true } }

// Junk sends text unchanged in place of a response and closes the connection. Use it over
// HTTP/1.1, for example with half a status line or another protocol.
func Junk(text string) Behaviour { return func(p *plan) { p.junk = text } }

// Gzip compresses the response if the client accepts it.
func Gzip() Behaviour { return func(p *plan) { p.gzip = true } }

// Size responds with a domain object padded to n bytes before compression.
func Size(n int64) Behaviour { return func(p *plan) { p.size = n } }

// Endless responds with a domain object that never ends.
func Endless() Behaviour { return func(p *plan) { p.endless = true } }

// Cut announces the whole body, sends n bytes of it, and breaks the connection
// (HTTP/1.1) or the stream (HTTP/2).
func Cut(n int) Behaviour { return func(p *plan) { p.cut = n } }

// Drip sends the body chunk bytes at a time, with a pause before each chunk.
func Drip(chunk int, every time.Duration) Behaviour {
	return func(p *plan) { p.chunk, p.every = chunk, every }
}

// First applies behaviours to its first n requests on all connections.
func First(n int, behaviours ...Behaviour) Behaviour {
	var seen atomic.Int64
	return func(p *plan) {
		if seen.Add(1) <= int64(n) {
			p.apply(behaviours)
		}
	}
}

// After applies behaviours to all requests but the first n.
func After(n int, behaviours ...Behaviour) Behaviour {
	var seen atomic.Int64
	return func(p *plan) {
		if seen.Add(1) > int64(n) {
			p.apply(behaviours)
		}
	}
}

// Quota responds normally to n requests in each interval. To further requests it responds with
// 429 and the time until the next interval in Retry-After. An interval starts with its first
// request. If n is 0 or less, Quota refuses all requests.
func Quota(n int, per time.Duration) Behaviour {
	var mu sync.Mutex
	var end time.Time
	var used int
	return func(p *plan) {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		if !now.Before(end) || n <= 0 {
			end, used = now.Add(per), 0
		}
		if used++; used > n {
			wait := (end.Sub(now) + time.Second - 1) / time.Second // rounds up to whole seconds
			Status(http.StatusTooManyRequests)(p)
			RetryAfter(strconv.FormatInt(int64(wait), 10))(p)
		}
	}
}

// Every applies behaviours to every n-th request.
func Every(n int, behaviours ...Behaviour) Behaviour {
	var seen atomic.Int64
	return func(p *plan) {
		if seen.Add(1)%int64(n) == 0 {
			p.apply(behaviours)
		}
	}
}

// Reused applies behaviours to requests that are not the first of their
// connection.
func Reused(behaviours ...Behaviour) Behaviour {
	return func(p *plan) {
		if p.prior > 0 {
			p.apply(behaviours)
		}
	}
}

// Resumed applies behaviours on connections that resumed a TLS session.
func Resumed(behaviours ...Behaviour) Behaviour {
	return func(p *plan) {
		if p.conn != nil && p.conn.state.DidResume {
			p.apply(behaviours)
		}
	}
}

// OnConn applies behaviours to requests on the n-th connection, counted from 1.
func OnConn(number int64, behaviours ...Behaviour) Behaviour {
	return func(p *plan) {
		if p.conn != nil && p.conn.number == number {
			p.apply(behaviours)
		}
	}
}

func (p *plan) apply(behaviours []Behaviour) {
	for _, b := range behaviours {
		b(p)
	}
}

// A ruleBook holds the rules of [Server.On].
type ruleBook struct {
	mu    sync.Mutex                // serialises writers
	rules atomic.Pointer[ruleTable] // current rules; nil means none; a stored table never changes
}

type ruleTable struct {
	exact    map[string][]Behaviour
	prefixes []prefixRule
}

type prefixRule struct {
	prefix     string
	behaviours []Behaviour
}

// On applies behaviours to requests whose unescaped path equals pattern. If the pattern ends in
// "*", On applies them to the paths that begin with the text before the "*". If several
// patterns match, prefixes apply first, in the order of the calls, then the exact path. Later
// behaviours override earlier behaviours. A second call with the same pattern replaces the
// behaviours; without behaviours, it removes the pattern.
func (s *Server) On(pattern string, behaviours ...Behaviour) {
	if !strings.HasPrefix(pattern, "/") && pattern != "*" {
		pattern = "/" + pattern
	}
	s.rules.mu.Lock()
	defer s.rules.mu.Unlock()
	next := &ruleTable{exact: make(map[string][]Behaviour)}
	if old := s.rules.rules.Load(); old != nil {
		maps.Copy(next.exact, old.exact)
		for _, r := range old.prefixes {
			if r.prefix+"*" != pattern {
				next.prefixes = append(next.prefixes, r)
			}
		}
	}
	prefix, wild := strings.CutSuffix(pattern, "*")
	switch {
	case wild && len(behaviours) > 0:
		next.prefixes = append(next.prefixes, prefixRule{prefix, behaviours})
	case !wild && len(behaviours) > 0:
		next.exact[pattern] = behaviours
	case !wild:
		delete(next.exact, pattern)
	}
	s.rules.rules.Store(next)
}

// Clear removes all rules of [Server.On].
func (s *Server) Clear() {
	s.rules.mu.Lock()
	defer s.rules.mu.Unlock()
	s.rules.rules.Store(nil)
}

func (b *ruleBook) apply(p *plan) {
	t := b.rules.Load()
	if t == nil {
		return
	}
	for _, r := range t.prefixes {
		if strings.HasPrefix(p.path, r.prefix) {
			p.apply(r.behaviours)
		}
	}
	p.apply(t.exact[p.path])
}
