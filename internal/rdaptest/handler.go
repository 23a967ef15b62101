package rdaptest

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const rdapType = "application/rdap+json"

// counted wraps a handler with counts and ConnRules.
func (s *Server) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := connOf(r)
		if !s.enter() {
			panic(http.ErrAbortHandler)
		}
		defer s.work.Done()
		if s.config.Log {
			s.tally.keep(LogEntry{
				Conn: c.number, Protocol: r.Proto, Method: r.Method,
				URI: r.RequestURI, Host: r.Host, Header: r.Header.Clone(),
			})
		}
		prior := s.tally.begin(c.tally)
		defer s.tally.end(c.tally)
		if n := c.rules.HangUpAfter; n > 0 && prior >= int64(n) {
			c.kill()
			panic(http.ErrAbortHandler)
		}
		if n := c.rules.AnnounceAfter; n > 0 && prior+1 >= int64(n) || c.announce.Load() {
			w.Header().Set("Connection", "close")
		}
		s.writeAltSvc(w.Header())
		if r.TLS == nil {
			r.TLS = c.state
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), priorKey{}, prior)))
	})
}

type priorKey struct{}

// enter counts a running handler, unless the server is closing.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.work.Add(1)
	return true
}

// serveRDAP responds according to the source and [Server.On].
func (s *Server) serveRDAP(w http.ResponseWriter, r *http.Request) {
	prior, _ := r.Context().Value(priorKey{}).(int64)
	p := &plan{path: r.URL.Path, query: r.URL.RawQuery, conn: connOf(r), prior: prior, latency: s.config.Latency, gzip: s.config.Gzip, cut: -1}
	s.rules.apply(p)
	if !s.pause(r.Context(), p) {
		panic(http.ErrAbortHandler)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead && p.status == 0 {
		p.status = http.StatusMethodNotAllowed
	}
	s.compose(p, r.Host)
	s.deliver(w, r, p)
}

// pause applies delays and hang-ups, and reports whether to respond.
func (s *Server) pause(ctx context.Context, p *plan) bool {
	if p.latency > 0 && !s.sleep(ctx, p.latency) {
		return false
	}
	if p.until != nil {
		select {
		case <-p.until:
		case <-ctx.Done():
			return false
		case <-s.done:
			return false
		}
	}
	switch {
	case p.hang:
		select {
		case <-ctx.Done():
		case <-s.done:
		}
		return false
	case p.junk != "":
		io.WriteString(p.conn.Conn, p.junk)
		p.conn.kill()
		return false
	case p.reset:
		p.conn.reset()
		return false
	case p.hangUp:
		p.conn.kill()
		return false
	}
	return !p.resetStream
}

func (s *Server) sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	case <-s.done:
		return false
	}
}

// compose determines status, content type and body.
func (s *Server) compose(p *plan, host string) {
	if p.bodySet && p.status != 0 {
		return
	}
	if p.status >= 300 {
		p.contentType, p.body = rdapType, errorBody(p.status, "requested by the test")
		return
	}
	base, class, key := endpoint(p.path)
	q := Question{Base: "https://" + host + base, Class: class, Key: key, Query: p.query}
	a, ok := s.config.Searches.Answer(q)
	if !ok {
		a = s.source.Answer(q)
	}
	if p.status == 0 {
		p.status = a.Status
		if p.bodySet {
			p.status = http.StatusOK
		}
	}
	if !p.bodySet {
		p.contentType, p.body = rdapType, a.Body
	}
}

// deliver writes the response according to the plan.
func (s *Server) deliver(w http.ResponseWriter, r *http.Request, p *plan) {
	h := w.Header()
	if p.contentType != "" {
		h["Content-Type"] = []string{p.contentType}
	} else {
		h["Content-Type"] = nil // keeps net/http from guessing
	}
	h["Access-Control-Allow-Origin"] = []string{"*"} // required by RFC 7480 section 5.6
	for name, values := range p.header {
		h[name] = values
	}
	if p.announce {
		h.Set("Connection", "close")
	}
	var out io.Writer = w
	compress := p.gzip && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && len(p.body) > 0
	switch {
	case compress:
		h.Set("Content-Encoding", "gzip")
		z, _ := s.zippers.Get().(*gzip.Writer)
		if z == nil {
			z, _ = gzip.NewWriterLevel(w, gzip.BestSpeed) // the level is valid
		}
		z.Reset(w)
		defer s.zippers.Put(z)
		defer z.Close()
		out = z
	case p.endless || p.chunk > 0:
	case p.size > 0:
		h["Content-Length"] = []string{strconv.FormatInt(max(p.size, int64(len(padHead)+len(padTail))), 10)}
	default:
		h["Content-Length"] = []string{strconv.Itoa(len(p.body))}
	}
	w.WriteHeader(p.status)
	if r.Method == http.MethodHead {
		return
	}
	switch {
	case p.cut >= 0:
		out.Write(p.body[:min(p.cut, len(p.body))])
		http.NewResponseController(w).Flush()
		if p.conn.frames == nil {
			p.conn.kill()
		}
		panic(http.ErrAbortHandler)
	case p.chunk > 0:
		s.drip(w, r, p)
	case p.endless:
		pad(out, -1)
	case p.size > 0:
		pad(out, p.size)
	default:
		out.Write(p.body)
	}
}

func (s *Server) drip(w http.ResponseWriter, r *http.Request, p *plan) {
	flush := http.NewResponseController(w)
	for rest := p.body; len(rest) > 0; {
		if p.every > 0 && !s.sleep(r.Context(), p.every) {
			panic(http.ErrAbortHandler)
		}
		n := min(p.chunk, len(rest))
		if _, err := w.Write(rest[:n]); err != nil {
			return
		}
		if flush.Flush() != nil {
			return
		}
		rest = rest[n:]
	}
}

const (
	padHead = `{"objectClassName":"domain","ldhName":"padded.example","remarks":[{"description":["`
	padTail = `"]}]}`
)

// pad writes a domain object of n bytes, or an endless one if n is negative.
func pad(w io.Writer, n int64) {
	if _, err := io.WriteString(w, padHead); err != nil {
		return
	}
	block := strings.Repeat("padding ", 4<<10)
	for rest := n - int64(len(padHead)+len(padTail)); rest > 0 || n < 0; rest -= int64(len(block)) {
		if n >= 0 && rest < int64(len(block)) {
			block = block[:rest]
		}
		if _, err := io.WriteString(w, block); err != nil {
			return
		}
		if len(block) == 0 {
			break
		}
	}
	io.WriteString(w, padTail)
}
