package rdaptest

import (
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Behaviour changes how a request is answered. Make them with the functions
// of this package, and put them into force with [Server.On].
type Behaviour func(*plan)

// plan is how one request will be answered.
type plan struct {
	path  string
	query string // of the URL, as it came
	conn  *conn
	prior int64 // requests that came before on the connection

	latency time.Duration
	until   <-chan struct{}

	status      int // 0: the source's
	body        []byte
	bodySet     bool // body stands, even when empty
	contentType string
	header      http.Header

	announce    bool // Connection: close
	hangUp      bool // close instead of answering
	reset       bool // with RST
	resetStream bool
	hang        bool // never answer
	junk        string

	gzip    bool
	size    int64 // length that the body is padded to
	endless bool
	cut     int // bytes of body after which the connection breaks; -1: none
	chunk   int // bytes at a time
	every   time.Duration
}

// Latency makes the answer wait for d.
func Latency(d time.Duration) Behaviour { return func(p *plan) { p.latency = d } }

// Until makes the answer wait until ch is closed.
func Until(ch <-chan struct{}) Behaviour { return func(p *plan) { p.until = ch } }

// Status answers with a status code. Above 299 the body is an RDAP error,
// unless another behaviour says something else.
func Status(code int) Behaviour { return func(p *plan) { p.status = code } }

// Body answers with a body of any content type; an empty type leaves the
// header out.
func Body(contentType, body string) Behaviour {
	return func(p *plan) { p.contentType, p.body, p.bodySet = contentType, []byte(body), true }
}

// JSON answers with a body that claims to be RDAP.
func JSON(body string) Behaviour { return Body(rdapType, body) }

// NoBody answers with an empty body.
func NoBody() Behaviour {
	return func(p *plan) { p.contentType, p.body, p.bodySet = "", nil, true }
}

// ContentType answers with the usual body under another type.
func ContentType(t string) Behaviour { return Header("Content-Type", t) }

// Header sets a header field of the answer.
func Header(name, value string) Behaviour {
	return func(p *plan) {
		if p.header == nil {
			p.header = make(http.Header)
		}
		p.header.Set(name, value)
	}
}

// RetryAfter sets the Retry-After field: seconds, a date, or junk.
func RetryAfter(value string) Behaviour { return Header("Retry-After", value) }

// Redirect answers with a 3xx code, a Location, and no body.
func Redirect(code int, location string) Behaviour {
	return func(p *plan) {
		Status(code)(p)
		NoBody()(p)
		Header("Location", location)(p)
	}
}

// Close says Connection: close with the answer. Over HTTP/2 that is a
// graceful GOAWAY.
func Close() Behaviour { return func(p *plan) { p.announce = true } }

// HangUp closes the connection instead of answering.
func HangUp() Behaviour { return func(p *plan) { p.hangUp = true } }

// ResetConn is HangUp with a TCP reset.
func ResetConn() Behaviour { return func(p *plan) { p.hangUp, p.reset = true, true } }

// ResetStream ends the request with RST_STREAM (INTERNAL_ERROR) instead of
// answering; over HTTP/1.1 it closes the connection.
func ResetStream() Behaviour { return func(p *plan) { p.resetStream = true } }

// Hang never answers; it ends when the client or the server goes away.
func Hang() Behaviour { return func(p *plan) { p.hang = true } }

// Junk sends text in place of an answer, as it is, and closes the connection.
// It is for HTTP/1.1: half a status line, or something that is no HTTP.
func Junk(text string) Behaviour { return func(p *plan) { p.junk = text } }

// Gzip compresses the answer if the client accepts that.
func Gzip() Behaviour { return func(p *plan) { p.gzip = true } }

// Size answers with a domain object padded to n bytes before compression.
func Size(n int64) Behaviour { return func(p *plan) { p.size = n } }

// Endless answers with a domain object that never ends.
func Endless() Behaviour { return func(p *plan) { p.endless = true } }

// Cut announces the whole body, sends n bytes of it, and breaks: over HTTP/1.1
// the connection, over HTTP/2 the stream.
func Cut(n int) Behaviour { return func(p *plan) { p.cut = n } }

// Drip sends the body chunk bytes at a time, with a pause before each.
func Drip(chunk int, every time.Duration) Behaviour {
	return func(p *plan) { p.chunk, p.every = chunk, every }
}

// First applies behaviours to the first n requests it sees, all connections
// taken together.
func First(n int, behaviours ...Behaviour) Behaviour {
	var seen atomic.Int64
	return func(p *plan) {
		if seen.Add(1) <= int64(n) {
			p.apply(behaviours)
		}
	}
}

// Every applies behaviours to each n-th request it sees.
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

// OnConn applies behaviours to requests on the connection with that number,
// counted from 1.
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

// ruleBook holds what [Server.On] was told.
type ruleBook struct {
	mu    sync.Mutex                // serialises writers
	rules atomic.Pointer[ruleTable] // nil: none; never changed once stored
}

type ruleTable struct {
	exact    map[string][]Behaviour
	prefixes []prefixRule
}

type prefixRule struct {
	prefix     string
	behaviours []Behaviour
}

// On puts behaviours into force for requests whose path, without escapes, is
// pattern, or begins with it if the pattern ends in "*". More than one may
// match: prefixes come first, in the order of the calls, then the exact path,
// and what comes later wins. A second call with the same pattern replaces the
// first; without behaviours it ends them.
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

// Clear ends everything that [Server.On] put into force.
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
