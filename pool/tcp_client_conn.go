package pool

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// A tcpClientConn is a connection over HTTP/1.1 or HTTP/2.
//
// Over HTTP/2 each request runs in its own goroutine, so that its caller can give up. A server
// can make net/http wait for a lock forever, whatever the context. For the same reason the
// state of the connection is read from the observedConn and not from the [http.ClientConn].
type tcpClientConn struct {
	cc  *http.ClientConn
	raw *observedConn

	onAbandon atomic.Pointer[func()] // called when the connection is abandoned

	lost     chan struct{} // closed when requests in flight must give up
	stuck    atomic.Bool   // a call into net/http does not return
	checking atomic.Bool   // checkReturns is running

	mu     sync.Mutex
	parked []chan asyncTask // idle goroutines, most recently used first
	closed bool
}

// An asyncTask is the work of a goroutine for one request.
type asyncTask struct {
	a   *asyncRequest
	req *http.Request
}

// maxParked limits the idle goroutines of a connection. They are reused for their
// stacks, which take longer to grow than the request takes.
const maxParked = 64

func newTCPClientConn(cc *http.ClientConn, t *observedConn) *tcpClientConn {
	c := &tcpClientConn{cc: cc, raw: t, lost: make(chan struct{})}
	poke := func() { go c.wakeWaiters() }
	t.onLimitRaised.Store(&poke)
	return c
}

// wakeWaiters wakes requests that wait in net/http for a stream. net/http wakes them
// when a stream ends, but not when the limit rises. A request that is already
// canceled has the same effect.
func (t *tcpClientConn) wakeWaiters() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://poke.invalid/", nil)
	if err != nil {
		return
	}
	if resp, err := t.cc.RoundTrip(req); err == nil {
		resp.Body.Close()
	}
}

var (
	errConnClosed = errors.New("pool: the connection was closed")
	errWindow     = errors.New("pool: the server increased a flow-control window beyond its maximum (RFC 9113 section 6.9.1)")
)

// Available returns the number of concurrent requests that the connection accepts.
func (t *tcpClientConn) Available() int {
	switch {
	case t.Err() != nil, t.checking.Load():
		return 0
	case !t.raw.h2:
		return 1
	}
	n, _ := t.raw.limit()
	return n
}

func (t *tcpClientConn) Err() error {
	switch {
	case t.raw.ended.Load():
		return net.ErrClosed
	case t.raw.goAway.Load():
		return errGoneAway
	}
	return nil
}

func (t *tcpClientConn) OnChange(f func(gone bool)) {
	if f == nil {
		t.raw.onChange.Store(nil)
		return
	}
	t.raw.onChange.Store(&f)
	if t.Err() != nil {
		f(true) // the connection ended before OnChange was called
	}
}

// Close closes the connection and ends its requests.
func (t *tcpClientConn) Close() error {
	if s := t.raw.seq.Load(); s != nil {
		s.final.Store(true)
	}
	t.abandonRequests()
	if t.abandoned() {
		return t.raw.Close()
	}
	force := time.AfterFunc(closeTimeout, func() { t.raw.Close() })
	defer force.Stop()
	return t.cc.Close()
}

// abandonRequests ends the wait of all requests.
func (t *tcpClientConn) abandonRequests() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	t.closed = true
	close(t.lost)
	for _, next := range t.parked {
		close(next)
	}
	t.parked = nil
}

// run runs e in a parked or new goroutine.
func (t *tcpClientConn) run(e asyncTask) {
	t.mu.Lock()
	n := len(t.parked)
	if n == 0 {
		t.mu.Unlock()
		go t.work(e)
		return
	}
	next := t.parked[n-1]
	t.parked = t.parked[:n-1]
	t.mu.Unlock()
	next <- e
}

func (t *tcpClientConn) work(e asyncTask) {
	next := make(chan asyncTask, 1)
	for ok := true; ok; {
		e.a.run(e.req)
		e = asyncTask{}
		t.mu.Lock()
		park := !t.closed && len(t.parked) < maxParked
		if park {
			t.parked = append(t.parked, next)
		}
		t.mu.Unlock()
		if !park {
			return
		}
		e, ok = <-next
	}
}

// abandoned reports whether the connection was abandoned because calls into net/http do not
// return, or would not have returned.
func (t *tcpClientConn) abandoned() bool { return t.stuck.Load() || t.raw.overflow.Load() }

// Limits of the wait for the return of a call into net/http.
const (
	returnCheckAfter = 100 * time.Millisecond
	lockTimeout      = time.Second
)

// checkReturns checks that a call into net/http returns soon. Until it does, the connection
// gets no requests unless its lock is known to be free. If the lock is not free, the connection
// is abandoned.
func (t *tcpClientConn) checkReturns(returned func() bool) {
	time.AfterFunc(returnCheckAfter, func() {
		if returned() || t.stuck.Load() || !t.checking.CompareAndSwap(false, true) {
			return
		}
		free := make(chan struct{})
		go func() {
			t.cc.Available()
			close(free)
		}()
		// Check twice, because the timer may have expired while the process was
		// suspended.
		for range 2 {
			select {
			case <-free:
				t.checking.Store(false)
				t.raw.notify(false)
				return
			case <-time.After(lockTimeout / 2):
			}
		}
		t.stuck.Store(true)
		t.abandonRequests()
		t.raw.Close()
		if f := t.onAbandon.Load(); f != nil {
			(*f)()
		}
	})
}

func (t *tcpClientConn) RoundTrip(req *http.Request) (*http.Response, error) {
	sent, closeBody := closing(req)
	if !t.raw.h2 {
		if sent != req {
			// net/http waits for a Read of the body, which may block.
			defer context.AfterFunc(req.Context(), closeBody)()
		}
		resp, err := t.cc.RoundTrip(sent)
		if err != nil {
			closeBody()
			return nil, err
		}
		resp.TLS, resp.Request = t.raw.state, req
		return resp, nil
	}
	if err := checkHTTP2(req.Header); err != nil {
		closeBody()
		return nil, err
	}
	if sent != req {
		t.raw.uploads.Store(true)
	}
	a := &asyncRequest{conn: t, ctx: req.Context(), begun: make(chan struct{})}
	t.run(asyncTask{a, sent})
	select {
	case <-a.begun:
	case <-a.ctx.Done():
	case <-t.lost:
	}
	select {
	case <-a.begun:
		if a.err != nil {
			closeBody()
			return nil, a.err
		}
		a.resp.Request = req
		return a.resp, nil
	default:
	}
	a.Close()
	if sent != req {
		go closeBody() // closeBody may block while net/http reads the body
	}
	if a.ctx.Err() != nil {
		return nil, a.ctx.Err()
	}
	return nil, errConnClosed
}

// An asyncRequest is a request in its own goroutine, and the body of its response. The
// goroutine reads the body ahead of the caller.
type asyncRequest struct {
	conn  *tcpClientConn
	ctx   context.Context
	begun chan struct{} // closed when resp or err is set
	resp  *http.Response
	err   error

	// own is the caller's response. net/http sets the trailer of its response while the
	// goroutine reads ahead, so the caller gets it with the end of the body.
	own  http.Response
	from *http.Response

	mu     sync.Mutex
	rc     io.ReadCloser         // net/http's body; nil before the response
	wake   chan struct{}         // closed to wake a Read; nil if no Read waits
	resume chan struct{}         // closed to let run read on; nil if run does not wait
	first  *[firstReadAhead]byte // initial value of buf
	buf    []byte
	r, w   int   // bounds of the unread part of buf
	end    error // final error of rc
	done   bool  // run has returned
	closed bool
}

// Sizes of the read-ahead buffer.
const (
	firstReadAhead = 8 << 10
	maxReadAhead   = 64 << 10
)

var readAheadBuffers = sync.Pool{New: func() any { return new([firstReadAhead]byte) }}

func (a *asyncRequest) run(req *http.Request) {
	resp, err := a.conn.cc.RoundTrip(req)
	a.resp, a.err = resp, err
	if err != nil || resp.Body == http.NoBody {
		a.mu.Lock()
		a.done = true
		a.mu.Unlock()
		close(a.begun)
		return
	}
	rc := resp.Body
	a.own, a.from = *resp, resp
	a.own.Body, a.own.Trailer = a, maps.Clone(resp.Trailer)
	a.resp = &a.own
	a.mu.Lock()
	a.rc = rc
	a.first = readAheadBuffers.Get().(*[firstReadAhead]byte)
	a.buf = a.first[:]
	closed := a.closed
	a.mu.Unlock()
	close(a.begun)
	if closed {
		rc.Close()
	}
	a.readAhead(rc)
}

func (a *asyncRequest) readAhead(rc io.Reader) {
	a.mu.Lock()
	for !a.closed {
		if a.w == len(a.buf) {
			switch {
			case a.r == a.w:
				a.r, a.w = 0, 0
			case len(a.buf) < maxReadAhead:
				more := make([]byte, min(2*len(a.buf), maxReadAhead))
				a.w = copy(more, a.buf[a.r:a.w])
				a.r, a.buf = 0, more
			default:
				room := make(chan struct{})
				a.resume = room
				a.mu.Unlock()
				<-room
				a.mu.Lock()
				continue
			}
		}
		free := a.buf[a.w:]
		a.mu.Unlock()
		n, err := rc.Read(free) // only run writes to buf; Read uses the part before free
		a.mu.Lock()
		a.w += n
		var wake chan struct{}
		if n > 0 || err != nil {
			wake, a.wake = a.wake, nil
		}
		if err != nil {
			a.end = err
			a.finishLocked()
		}
		// The Read that was woken runs immediately, and takes the lock.
		a.mu.Unlock()
		if wake != nil {
			close(wake)
		}
		if err != nil {
			return
		}
		a.mu.Lock()
	}
	a.finishLocked()
	a.mu.Unlock()
}

// finishLocked marks the body as complete for run.
func (a *asyncRequest) finishLocked() {
	a.done = true
	if a.closed {
		a.recycleLocked()
	}
}

// recycleLocked returns the buffer to the pool. It must not be called before run has returned.
func (a *asyncRequest) recycleLocked() {
	if a.first != nil {
		readAheadBuffers.Put(a.first)
		a.first, a.buf = nil, nil
		a.r, a.w = 0, 0
	}
}

func (a *asyncRequest) Read(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for {
		switch {
		case a.closed:
			return 0, http.ErrBodyReadAfterClose
		case a.r < a.w:
			n := copy(p, a.buf[a.r:a.w])
			a.r += n
			if a.r < a.w {
				return n, nil
			}
			if a.end != nil {
				a.recycleLocked()
			}
			a.resumeReading()
			a.setTrailerLocked()
			return n, a.end
		case a.end != nil:
			a.setTrailerLocked()
			return 0, a.end
		case len(p) == 0:
			return 0, nil
		}
		if a.wake == nil {
			a.wake = make(chan struct{})
		}
		wake := a.wake
		a.mu.Unlock()
		var err error
		select {
		case <-wake:
		case <-a.ctx.Done():
			err = a.ctx.Err()
			a.conn.checkReturns(a.returned)
		case <-a.conn.lost:
			err = errConnClosed
		}
		a.mu.Lock()
		if err != nil {
			return 0, err
		}
	}
}

// setTrailerLocked sets the caller's trailer at the end of the body.
func (a *asyncRequest) setTrailerLocked() {
	if a.end != io.EOF || len(a.from.Trailer) == 0 {
		return
	}
	if a.own.Trailer == nil {
		a.own.Trailer = make(http.Header, len(a.from.Trailer))
	}
	maps.Copy(a.own.Trailer, a.from.Trailer)
}

// resumeReading lets run read on if it waits. The caller holds the lock.
func (a *asyncRequest) resumeReading() {
	if a.resume != nil {
		close(a.resume)
		a.resume = nil
	}
}

func (a *asyncRequest) returned() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.done
}

// Close ends the request and does not wait.
func (a *asyncRequest) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil
	}
	a.closed = true
	a.resumeReading()
	if a.wake != nil {
		close(a.wake)
		a.wake = nil
	}
	if a.done {
		a.recycleLocked()
	} else {
		if a.rc != nil {
			go a.rc.Close()
		}
		a.conn.checkReturns(a.returned)
	}
	return nil
}
