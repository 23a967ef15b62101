package pool

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Over HTTP/1.1, only the order determines which response belongs to which request. If a server
// or proxy sends one response too many, each later request gets a wrong response. The Pool does
// not interpret responses, and its caller does not see connections. A [Check] lets both detect
// the mismatch together.

// desyncFor is how long an origin gets one request per connection after a connection
// was found suspect.
const desyncFor = 10 * time.Minute

// minSilence is the minimum time for which a connection must be silent before a
// doubtful response is accepted.
const minSilence = 20 * time.Millisecond

// maxUnproved limits the responses per origin that are verified by another request while
// no response has shown that responses match their requests.
const maxUnproved = 16

// ErrDesync means that a response may belong to another request: its HTTP/1.1
// connection delivered more responses than requests, or the response to another
// request.
var ErrDesync = errors.New("pool: the connection's responses do not match its requests")

// A Check determines whether a response belongs to its request. The zero value is
// ready to use; see [WithCheck]. Its methods may be called once RoundTrip has
// returned a response.
type Check struct {
	s      *sequence // order of the responses on the connection; nil means the response belongs to the request
	n      int64     // number of the request on its connection, from 1
	reused bool
	repeat bool // the previous request on the connection was the same
	news   bool
}

type checkKey struct{}

// WithCheck returns a context under which RoundTrip fills in c.
func WithCheck(ctx context.Context, c *Check) context.Context {
	return context.WithValue(ctx, checkKey{}, c)
}

// Doubtful reports whether the response came over an HTTP/1.1 connection that had
// carried another request before.
func (c *Check) Doubtful() bool { return c.s != nil && c.reused }

// News reports whether a connection to the origin has been found suspect since the last request
// that got a response. It returns true for one request each time, so that the finding can be
// reported even if no response was doubtful.
func (c *Check) News() bool { return c.news }

// returnNews leaves the news to another request, because the current request has no response.
func (c *Check) returnNews() {
	if c.news {
		c.news = false
		c.s.o.desyncNews.Store(true)
	}
}

// Match states that the response is about the object of its request. This confirms the earlier
// responses on its connection, unless the previous request was the same.
func (c *Check) Match() {
	if c.s != nil {
		c.s.matched(c.n, c.repeat)
	}
}

// Mismatch states that the response is about another object. If the connection had carried
// another request before, the Pool no longer uses that connection. The origin then gets one
// request per connection for ten minutes.
func (c *Check) Mismatch() {
	if c.Doubtful() {
		c.s.suspect()
	}
}

// Agree states that a new connection delivered the same response as the mismatch. The server
// thus responds in that way over any connection, and the Pool reuses its connections again.
func (c *Check) Agree() {
	if c.s != nil {
		c.s.o.agreed()
	}
}

// Settle states that the response does not identify its request, such as a 404 without a body.
// Settle waits until a later response on the connection matches its own request, or the
// connection has been silent long enough. The silence must last two round trips, 20 ms, and one
// and a half times the slowest response. Settle returns [ErrDesync] if the response may belong
// to another request, or the cause if ctx is done. If Settle returns nil, call Unproved.
func (c *Check) Settle(ctx context.Context) error {
	if c.s == nil {
		return nil
	}
	c.s.unmatched(c.n)
	if !c.reused {
		return nil
	}
	return c.s.settle(ctx, c.n)
}

// Unproved reports whether a response that Settle accepted may still belong to another request
// and should be checked by repeating its request with [WithFreshConn]. The timing of a server
// that is one response behind looks normal. Only a response that matches its request proves
// that the connection is in step.
//
// Unproved returns true if the previous response on the connection did not match its request
// either. It returns false for an origin that has sent a matching response after an unmatched
// response on the same connection. For other origins, it returns false after 16 unproved
// responses. It also returns true if net/http closed the connection too soon.
//
// Call Mismatch if the repeated request gets a different response.
func (c *Check) Unproved() bool { return c.Doubtful() && c.s.unproved(c.n, c.repeat) }

// A sequence is the order of requests and responses on one HTTP/1.1 connection.
type sequence struct {
	o       *origin
	c       *conn
	silence time.Duration

	awaiting atomic.Bool  // a response is expected, or the rest of a response
	last     atomic.Int64 // when data last arrived, in Unix nanoseconds
	// when the current request was sent, in Unix nanoseconds; 0 once the response has begun
	begun   atomic.Int64
	wrote   atomic.Int64 // when the last Write returned, in Unix nanoseconds; 0 while a Write runs
	slowest atomic.Int64 // longest time to a first byte
	final   atomic.Bool  // the peer announced the end of the connection, or the Pool closes it

	mu      sync.Mutex
	broken  bool
	lost    bool // the connection was closed before it had been silent long enough
	read    bool // the connection was lost because net/http read something
	pending []pendingCheck

	lastMatch int64 // number of the last request whose response matched
	// number of the last request with a matching response that differs from the previous
	// request
	lastProof   int64
	lastNoMatch int64 // number of the last request whose response matches any request

	path, query string // path and query of the last request; used by begin alone
}

type pendingCheck struct {
	n    int64
	done chan error // receives one value
}

func newSequence(o *origin, c *conn) *sequence {
	return &sequence{o: o, c: c, silence: max(minSilence, 2*c.setup.tcp)}
}

// errUnreadData is the error of a request whose connection has unexpected data, or
// has ended.
var errUnreadData = errors.New("pool: the connection has unread data")

// begin prepares for request n, which has not been sent. It reports whether the connection may
// carry req.
func (s *sequence) begin(req *http.Request, n int64) bool {
	if n > 1 && !s.quiet(req.Context()) {
		return false
	}
	u := req.URL
	s.begun.Store(time.Now().UnixNano())
	s.awaiting.Store(true)
	if k, _ := req.Context().Value(checkKey{}).(*Check); k != nil {
		*k = Check{s: s, n: n, reused: n > 1, repeat: n > 1 && s.path == u.Path && s.query == u.RawQuery, news: s.o.desyncNews.Swap(false)}
	}
	s.path, s.query = u.Path, u.RawQuery
	return true
}

// quiet reports whether the connection has no unexpected data.
func (s *sequence) quiet(ctx context.Context) bool {
	s.mu.Lock()
	broken := s.broken
	s.mu.Unlock()
	if broken {
		return false
	}
	t := s.c.cc.(*tcpClientConn).raw
	if !unread(s.c.setup.raw.Conn) {
		return true
	}
	// Over TLS, the data may be a ticket or a close alert. The reader of the connection
	// decides.
	next := t.nextRead()
	if !unread(s.c.setup.raw.Conn) {
		return !t.ended.Load()
	}
	timer := time.NewTimer(minSilence)
	defer timer.Stop()
	select {
	case <-next:
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// came records the end of a read, before net/http sees the data. It returns false for
// unexpected data, which net/http would log.
func (s *sequence) came() bool {
	now := time.Now().UnixNano()
	s.last.Store(now)
	if begun := s.begun.Swap(0); begun != 0 && now-begun > s.slowest.Load() {
		s.slowest.Store(now - begun)
	}
	if s.awaiting.Load() {
		return true
	}
	s.suspect()
	return false
}

// writerWait is how long net/http waits, after a response, for the goroutine that writes the
// request, before closing the connection.
const writerWait = 50 * time.Millisecond

// wroteLate reports whether net/http may have closed the connection because the
// write took too long, which happens on a busy machine.
func (s *sequence) wroteLate() bool {
	wrote, last := s.wrote.Load(), s.last.Load()
	// a margin, because the clock may be set
	return (wrote == 0 || wrote > last) && time.Since(time.Unix(0, last)) >= writerWait*9/10
}

// closed records that net/http closes the connection although the server did not. If no request
// is in flight and the write was not late, net/http must have read unexpected data. In other
// cases the server is not suspected, because further data remains unknown.
func (s *sequence) closed() {
	late := s.wroteLate()
	switch {
	case s.final.Load():
	case !late && !s.awaiting.Load():
		s.suspect()
	default:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lost, s.read = true, !late
		for _, p := range s.pending {
			p.done <- nil
		}
		s.pending = nil
	}
}

// ended records that a response was read completely (whole) or abandoned.
func (s *sequence) ended(whole bool) {
	s.awaiting.Store(false)
	s.mu.Lock()
	early := s.lost && s.read
	s.mu.Unlock()
	if whole && early {
		s.suspect() // net/http had read more, and closed the connection
	}
}

func (s *sequence) suspect() {
	s.mu.Lock()
	was := s.broken
	s.broken = true
	pending := s.pending
	s.pending = nil
	s.mu.Unlock()
	for _, p := range pending {
		p.done <- ErrDesync
	}
	if !was {
		go s.o.desynced(s.c) // desynced must not run under a lock of net/http
	}
}

func (s *sequence) matched(n int64, repeat bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		return
	}
	s.lastMatch = max(s.lastMatch, n)
	if repeat {
		return // the response to the previous request would match as well
	}
	s.lastProof = max(s.lastProof, n)
	if s.lastNoMatch > 0 && s.lastNoMatch < n {
		s.o.inStep.Store(true)
	}
	kept := s.pending[:0]
	for _, p := range s.pending {
		if p.n < n {
			p.done <- nil
		} else {
			kept = append(kept, p)
		}
	}
	s.pending = kept
}

// unmatched records a response that would match any request.
func (s *sequence) unmatched(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastNoMatch = max(s.lastNoMatch, n)
}

// unproved implements [Check.Unproved] for the response to request n.
func (s *sequence) unproved(n int64, repeat bool) bool {
	s.mu.Lock()
	match, proof, ended := s.lastMatch, s.lastProof, s.broken || s.lost
	s.mu.Unlock()
	switch {
	case proof > n:
		return false
	case ended:
		return true
	case match == n-1, repeat, s.o.inStep.Load(), s.o.unproved.Add(1) > maxUnproved:
		return false
	default:
		return true
	}
}

func (s *sequence) settle(ctx context.Context, n int64) error {
	p := pendingCheck{n, make(chan error, 1)}
	s.mu.Lock()
	if s.broken || s.lost {
		defer s.mu.Unlock()
		if s.broken {
			return ErrDesync
		}
		return nil
	}
	s.pending = append(s.pending, p)
	s.mu.Unlock()
	start := time.Now()
	// A slow server may take longer than silence for the right response.
	silence := max(s.silence, time.Duration(s.slowest.Load())*3/2)
	for {
		quiet := min(time.Since(start), time.Since(time.Unix(0, s.last.Load())))
		if quiet >= silence {
			return s.forget(p, nil)
		}
		timer := time.NewTimer(silence - quiet)
		select {
		case err := <-p.done:
			timer.Stop()
			return err
		case <-ctx.Done():
			timer.Stop()
			return s.forget(p, context.Cause(ctx))
		case <-timer.C:
		}
	}
}

// forget removes p. It returns err, unless p has been decided meanwhile.
func (s *sequence) forget(p pendingCheck, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, x := range s.pending {
		if x.done == p.done {
			s.pending = append(s.pending[:i], s.pending[i+1:]...)
			return err
		}
	}
	return <-p.done
}

// desynced closes the suspect connection c.
func (o *origin) desynced(c *conn) {
	now := time.Now()
	o.inStep.Store(false)
	if was := o.desyncUntil.Swap(now.Add(desyncFor).UnixNano()); was < now.UnixNano() {
		o.desyncNews.Store(true)
		if was != 0 {
			o.unproved.Store(0) // verification starts again after the ten minutes
		}
	}
	o.pool.cfg.Logger.Debug("HTTP/1.1 responses do not match their requests", "origin", o.key.String(), "conn", c.id)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.leaveLocked(c, ClosedError)
	if !o.closed {
		o.dispatchLocked()
	}
}

// leaveLocked takes c out of use. Another connection may replace c before the last request on c
// has ended.
func (o *origin) leaveLocked(c *conn, by ClosedBy) {
	if c.removed {
		return
	}
	c.draining, c.retired, c.closedBy = true, true, by
	if c.inflight == 0 {
		o.remove(c, by)
	}
}

func (o *origin) agreed() {
	o.desyncUntil.Store(0)
	o.desyncNews.Store(false)
}

// perConnNow returns how many requests a connection may carry; 0 means no limit.
func (o *origin) perConnNow() int {
	if til := o.desyncUntil.Load(); til != 0 && o.proto == protoHTTP1 && time.Now().UnixNano() < til {
		return 1
	}
	return o.perConn
}
