package pool

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Over HTTP/1.1 the order alone says which response belongs to which request. A
// server or a proxy on the way that sends one response too many shifts all that
// follow: each request gets the response to another one. The Pool cannot see that
// in a response, and whoever understands responses cannot see the connection, so
// both work together by a [Check].

// desyncFor is how long an origin gets one request per connection after a
// connection was found suspect.
const desyncFor = 10 * time.Minute

// minSilence is the least time for which a connection must stay silent before a
// doubtful response is believed; the most is two round trips.
const minSilence = 20 * time.Millisecond

// ErrDesync says that a response may belong to another request: its HTTP/1.1
// connection brought more responses than requests, or the response to another
// request.
var ErrDesync = errors.New("pool: the connection's responses do not belong to its requests")

// A Check finds out whether the response to one request belongs to it. The zero
// value is ready to use; see [WithCheck]. Its methods may be called once RoundTrip
// has returned a response.
type Check struct {
	s      *sequence // nil: the response belongs to the request
	n      int64     // number of the request on its connection, from 1
	reused bool
	news   bool
}

type checkKey struct{}

// WithCheck returns a context with which RoundTrip fills in c.
func WithCheck(ctx context.Context, c *Check) context.Context {
	return context.WithValue(ctx, checkKey{}, c)
}

// Doubtful reports whether the response came over an HTTP/1.1 connection that had
// carried another request before.
func (c *Check) Doubtful() bool { return c.s != nil && c.reused }

// News reports whether a connection to the origin has been found suspect since
// the last request. It is true for one request each time, so that somebody
// mentions it even if no response had to be doubted.
func (c *Check) News() bool { return c.news }

// Match says that the response is about what the request asked for. So were the
// earlier ones on its connection.
func (c *Check) Match() {
	if c.s != nil {
		c.s.matched(c.n)
	}
}

// Mismatch says that the response is about something else. A connection that had
// carried another request before is not used any more, and for ten minutes its
// origin gets one request per connection.
func (c *Check) Mismatch() {
	if c.Doubtful() {
		c.s.suspect()
	}
}

// Agree says that a fresh connection brought the same response as the one that
// was found to be a mismatch: this is how the server answers, and connections to
// it are reused again.
func (c *Check) Agree() {
	if c.s != nil {
		c.s.o.agreed()
	}
}

// Settle waits until a doubtful response that says nothing about its request, such
// as a 404 without a body, may be believed: until a later response on the
// connection matches its own request, or until the connection has been silent for
// two round trips, 20 ms at least, and longer than any response on it took. It
// returns [ErrDesync] if the response may
// belong to another request, or the cause why ctx is done.
func (c *Check) Settle(ctx context.Context) error {
	if !c.Doubtful() {
		return nil
	}
	return c.s.settle(ctx, c.n)
}

// A sequence is the order of requests and responses on one HTTP/1.1 connection.
type sequence struct {
	o       *origin
	c       *conn
	silence time.Duration

	awaiting atomic.Bool  // a response, or its end, is still to come
	last     atomic.Int64 // when a byte came, in Unix nanoseconds
	begun    atomic.Int64 // when the request under way was sent; 0: its response has begun
	wrote    atomic.Int64 // when the last call of Write returned, in Unix nanoseconds; 0: it has not
	slowest  atomic.Int64 // the longest time to a first byte
	final    atomic.Bool  // the end of the connection is announced, or is our doing

	mu      sync.Mutex
	broken  bool
	lost    bool // it was closed before it could be silent
	read    bool // lost is due to something that net/http read
	pending []pendingCheck
}

type pendingCheck struct {
	n    int64
	done chan error // gets one value
}

func newSequence(o *origin, c *conn) *sequence {
	return &sequence{o: o, c: c, silence: max(minSilence, 2*c.setup.tcp)}
}

// errUnasked is the error of a request whose connection has brought something
// that no request asked for, or has ended.
var errUnreadData = errors.New("pool: the connection has unread data")

// begin is called before a request is sent. It reports whether the connection may
// carry it.
func (s *sequence) begin(req *http.Request, n int64) bool {
	if n > 1 && !s.quiet(req.Context()) {
		return false
	}
	s.begun.Store(time.Now().UnixNano())
	s.awaiting.Store(true)
	if k, _ := req.Context().Value(checkKey{}).(*Check); k != nil {
		*k = Check{s: s, n: n, reused: n > 1, news: s.o.desyncNews.Swap(false)}
	}
	return true
}

// quiet reports whether nothing has come that no request asked for.
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
	// Over TLS this may be a ticket, or the end of the connection. Its reader is
	// about to tell.
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

// came is called with each read, before net/http sees what was read. It reports
// whether net/http may see it: what no request asked for it would log.
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

// writerWait is how long net/http waits, after a response, for its goroutine that
// wrote the request to get on. Then it closes the connection.
const writerWait = 50 * time.Millisecond

// wroteLate reports whether net/http may have closed the connection for that
// reason, which happens on a busy machine.
func (s *sequence) wroteLate() bool {
	wrote, last := s.wrote.Load(), s.last.Load()
	return (wrote == 0 || wrote > last) && time.Since(time.Unix(0, last)) >= writerWait*9/10 // the clock may be set
}

// closed is called when net/http closes the connection although the server did
// not. While no request is under way it does so because it read something, or
// because the request was written late. Otherwise nobody will learn whether more
// would have come.
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
			p.done <- ErrDesync
		}
		s.pending = nil
	}
}

// ended is called when a response has been read to its end (whole), or given up.
func (s *sequence) ended(whole bool) {
	s.awaiting.Store(false)
	s.mu.Lock()
	early := s.lost && s.read
	s.mu.Unlock()
	if whole && early {
		s.suspect() // net/http had read on, and closed the connection for it
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
		go s.o.desynced(s.c) // not under the locks of net/http
	}
}

func (s *sequence) matched(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		return
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

func (s *sequence) settle(ctx context.Context, n int64) error {
	p := pendingCheck{n, make(chan error, 1)}
	s.mu.Lock()
	if s.broken || s.lost {
		s.mu.Unlock()
		return ErrDesync
	}
	s.pending = append(s.pending, p)
	s.mu.Unlock()
	start := time.Now()
	// A slow server would send the true response later than that.
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

// forget removes p. It returns err unless p has been decided meanwhile.
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

// desynced closes c, which is suspect.
func (o *origin) desynced(c *conn) {
	now := time.Now()
	if o.desyncUntil.Swap(now.Add(desyncFor).UnixNano()) < now.UnixNano() {
		o.desyncNews.Store(true)
	}
	o.pool.cfg.Logger.Debug("HTTP/1.1 responses do not belong to their requests", "origin", o.key.String(), "conn", c.id)
	o.mu.Lock()
	defer o.mu.Unlock()
	if c.removed {
		return
	}
	c.draining = true
	if c.inflight == 0 {
		o.remove(c, ClosedError)
		if !o.closed {
			o.dispatchLocked()
		}
	}
}

func (o *origin) agreed() {
	o.desyncUntil.Store(0)
	o.desyncNews.Store(false)
}

// perConnNow is how many requests a connection takes now; 0: no limit.
func (o *origin) perConnNow() int {
	if til := o.desyncUntil.Load(); til != 0 && o.proto == protoHTTP1 && time.Now().UnixNano() < til {
		return 1
	}
	return o.perConn
}
