package rdaptest

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// delayBuffer limits the bytes in flight in one direction of a delayed connection. It
// exceeds the bandwidth-delay product of a fast link.
const delayBuffer = 8 << 20

// A delayConn is a connection with a delay of half a round trip per direction. It has no
// bandwidth limit and preserves the order of bytes.
type delayConn struct {
	inner  net.Conn
	half   time.Duration
	out    *delayLine // carries bytes from Write to inner
	in     *delayLine // carries bytes from inner to Read
	closed chan struct{}
	once   sync.Once

	readMu, writeMu             sync.Mutex // permit one Read and one Write at a time
	readDeadline, writeDeadline deadline
}

// Delay returns a connection that behaves like c over a link with a round trip of rtt. The
// returned connection owns c, and its Close closes c after all written data is sent.
func Delay(c net.Conn, rtt time.Duration) net.Conn {
	return newDelay(c, rtt, 0)
}

// delayAccepted delays a connection on the server's side. TCP set-up has already ended, so
// delayAccepted also delays the first incoming bytes by the round trip of the set-up.
func delayAccepted(c net.Conn, rtt time.Duration) net.Conn {
	return newDelay(c, rtt, rtt)
}

func newDelay(c net.Conn, rtt, setUp time.Duration) *delayConn {
	d := &delayConn{
		inner:  c,
		half:   rtt / 2,
		out:    newDelayLine(),
		in:     newDelayLine(),
		closed: make(chan struct{}),
	}
	d.readDeadline.init()
	d.writeDeadline.init()
	open := time.Now().Add(setUp)
	go d.send()
	go d.receive(open)
	return d
}

// send carries bytes from Write to the inner connection.
func (d *delayConn) send() {
	buf := make([]byte, 64<<10)
	for {
		n, err := d.out.read(buf, nil, nil)
		if n > 0 {
			if _, werr := d.inner.Write(buf[:n]); werr != nil {
				d.out.stop(werr)
				err = werr
			}
		}
		if err != nil {
			<-d.closed
			d.inner.Close()
			return
		}
	}
}

// receive carries bytes from the inner connection to Read.
func (d *delayConn) receive(open time.Time) {
	buf := make([]byte, 64<<10)
	for {
		n, err := d.inner.Read(buf)
		due := time.Now()
		if due.Before(open) {
			due = open
		}
		due = due.Add(d.half)
		if n > 0 {
			if _, werr := d.in.write(buf[:n], due, nil, d.closed); werr != nil {
				return
			}
		}
		if err != nil {
			d.in.finish(err, due)
			return
		}
	}
}

func (d *delayConn) Read(p []byte) (int, error) {
	d.readMu.Lock()
	defer d.readMu.Unlock()
	n, err := d.in.read(p, d.readDeadline.passed(), d.closed)
	return n, d.wrap("read", err)
}

func (d *delayConn) Write(p []byte) (int, error) {
	d.writeMu.Lock()
	defer d.writeMu.Unlock()
	n, err := d.out.write(p, time.Now().Add(d.half), d.writeDeadline.passed(), d.closed)
	return n, d.wrap("write", err)
}

// wrap makes errors of a delayConn look like those of a TCP connection.
func (d *delayConn) wrap(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if _, ok := err.(*net.OpError); ok {
		return err
	}
	return &net.OpError{Op: op, Net: "tcp", Source: d.LocalAddr(), Addr: d.RemoteAddr(), Err: err}
}

// Close returns immediately. As with the kernel, written data is still sent after its delay,
// but not for long if the peer does not read.
func (d *delayConn) Close() error {
	err := net.ErrClosed
	d.once.Do(func() {
		err = nil
		now := time.Now()
		d.inner.SetReadDeadline(now)
		d.inner.SetWriteDeadline(now.Add(d.half + time.Second))
		d.out.finish(io.EOF, now.Add(d.half))
		close(d.closed)
	})
	return d.wrap("close", err)
}

func (d *delayConn) LocalAddr() net.Addr  { return d.inner.LocalAddr() }
func (d *delayConn) RemoteAddr() net.Addr { return d.inner.RemoteAddr() }

func (d *delayConn) SetDeadline(t time.Time) error {
	d.readDeadline.set(t)
	d.writeDeadline.set(t)
	return nil
}

func (d *delayConn) SetReadDeadline(t time.Time) error {
	d.readDeadline.set(t)
	return nil
}

func (d *delayConn) SetWriteDeadline(t time.Time) error {
	d.writeDeadline.set(t)
	return nil
}

// A delayLine is a bounded queue of bytes that become readable after a delay. It has one reader
// and one writer at a time.
type delayLine struct {
	mu     sync.Mutex
	chunks []delayChunk // guarded by mu
	size   int          // guarded by mu
	err    error        // guarded by mu; error to return after the chunks
	errDue time.Time    // guarded by mu

	filled, drained chan struct{} // signal channels with a buffer of one
	timer           *time.Timer   // timer of the reader
}

type delayChunk struct {
	due  time.Time
	data []byte
}

func newDelayLine() *delayLine {
	l := &delayLine{filled: make(chan struct{}, 1), drained: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	l.timer.Stop()
	return l
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// read waits for bytes whose delay has passed, and returns as many as fit into p.
func (l *delayLine) read(p []byte, expired, closed <-chan struct{}) (int, error) {
	for {
		select {
		case <-closed:
			return 0, net.ErrClosed
		default:
		}
		select {
		case <-expired:
			return 0, os.ErrDeadlineExceeded
		default:
		}
		if len(p) == 0 {
			return 0, nil
		}
		n, due, err := l.take(p)
		if n > 0 || err != nil {
			return n, err
		}
		var clock <-chan time.Time
		if !due.IsZero() {
			l.timer.Reset(time.Until(due))
			clock = l.timer.C
		}
		select {
		case <-clock:
		case <-l.filled:
		case <-expired:
		case <-closed:
		}
		l.timer.Stop()
	}
}

// take moves bytes whose delay has passed into p. If there are no such bytes, due is the end of
// the next delay, or zero if the queue is empty.
func (l *delayLine) take(p []byte) (n int, due time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for len(l.chunks) > 0 && n < len(p) {
		c := &l.chunks[0]
		if c.due.After(now) {
			due = c.due
			break
		}
		m := copy(p[n:], c.data)
		n += m
		c.data = c.data[m:]
		if len(c.data) == 0 {
			l.chunks[0] = delayChunk{}
			l.chunks = l.chunks[1:]
		}
	}
	if n > 0 {
		l.size -= n
		signal(l.drained)
		return n, time.Time{}, nil
	}
	if len(l.chunks) == 0 && l.err != nil {
		if !l.errDue.After(now) {
			return 0, time.Time{}, l.err
		}
		due = l.errDue
	}
	return 0, due, nil
}

// write queues a copy of p, and waits while the queue is full.
func (l *delayLine) write(p []byte, due time.Time, expired, closed <-chan struct{}) (n int, err error) {
	for {
		select {
		case <-closed:
			return n, net.ErrClosed
		default:
		}
		select {
		case <-expired:
			return n, os.ErrDeadlineExceeded
		default:
		}
		l.mu.Lock()
		if l.err != nil {
			err = l.err
			l.mu.Unlock()
			return n, err
		}
		if room := min(delayBuffer-l.size, len(p)); room > 0 {
			l.chunks = append(l.chunks, delayChunk{due, append([]byte(nil), p[:room]...)})
			l.size += room
			n += room
			p = p[room:]
			signal(l.filled)
		}
		l.mu.Unlock()
		if len(p) == 0 {
			return n, nil
		}
		select {
		case <-l.drained:
		case <-expired:
		case <-closed:
		}
	}
}

// finish ends the queue. After the queued bytes, reads return err from the time due on.
func (l *delayLine) finish(err error, due time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err, l.errDue = err, due
	}
	signal(l.filled)
}

// stop is like finish, but discards the queue.
func (l *delayLine) stop(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err, l.errDue = err, time.Time{}
	l.chunks, l.size = nil, 0
	signal(l.filled)
	signal(l.drained)
}

// A deadline is a channel that closes at a settable time.
type deadline struct {
	mu    sync.Mutex
	timer *time.Timer   // guarded by mu
	done  chan struct{} // guarded by mu; closed when the deadline passes
}

func (d *deadline) init() { d.done = make(chan struct{}) }

// passed returns a channel that closes when the deadline set last passes.
func (d *deadline) passed() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.done
}

func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil && !d.timer.Stop() {
		<-d.done // the timer's function runs or has run, and closes the channel
	}
	d.timer = nil
	over := false
	select {
	case <-d.done:
		over = true
	default:
	}
	if t.IsZero() {
		if over {
			d.done = make(chan struct{})
		}
		return
	}
	wait := time.Until(t)
	if wait <= 0 {
		if !over {
			close(d.done)
		}
		return
	}
	if over {
		d.done = make(chan struct{})
	}
	done := d.done
	d.timer = time.AfterFunc(wait, func() { close(done) })
}
