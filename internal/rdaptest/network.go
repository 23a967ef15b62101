package rdaptest

import (
	"context"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A Network connects clients and servers in memory; see [Config.Network]. Goroutines that wait
// for it are durably blocked, so that a test in a bubble of testing/synctest runs on the
// bubble's clock. The load of the machine then makes no timer expire early. The zero value is
// ready to use.
type Network struct {
	mu        sync.Mutex
	ports     uint16                             // number of ports used so far
	listeners map[netip.AddrPort]*memoryListener // guarded by mu
}

// backlog is the number of connections that may wait for Accept at a listener.
const backlog = 1024

// Listen returns a listener on an IP address and port. An empty address means 127.0.0.1, and
// port 0 means an unused port.
func (n *Network) Listen(address string) (net.Listener, error) {
	at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0)
	if address != "" {
		var err error
		if at, err = netip.ParseAddrPort(address); err != nil {
			return nil, &net.OpError{Op: "listen", Net: "tcp", Err: err}
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if at.Port() == 0 {
		n.ports++
		at = netip.AddrPortFrom(at.Addr(), n.ports)
	}
	if n.listeners[at] != nil {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Err: syscall.EADDRINUSE}
	}
	l := &memoryListener{network: n, addr: at, queue: make(chan net.Conn, backlog), closed: make(chan struct{})}
	if n.listeners == nil {
		n.listeners = make(map[netip.AddrPort]*memoryListener)
	}
	n.listeners[l.addr] = l
	return l, nil
}

// Dial connects to a listener of n. It has the type of pool.Config.Dial.
func (n *Network) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	refused := &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	n.mu.Lock()
	l := n.listeners[at]
	n.ports++
	from := netip.AddrPortFrom(at.Addr(), n.ports)
	n.mu.Unlock()
	if l == nil {
		return nil, refused
	}
	ours, theirs := memoryConns(net.TCPAddrFromAddrPort(from), net.TCPAddrFromAddrPort(at))
	select {
	case l.queue <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, refused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type memoryListener struct {
	network *Network
	addr    netip.AddrPort
	queue   chan net.Conn
	once    sync.Once
	closed  chan struct{}
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.queue:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	l.once.Do(func() {
		l.network.mu.Lock()
		delete(l.network.listeners, l.addr)
		l.network.mu.Unlock()
		close(l.closed)
		for {
			select {
			case c := <-l.queue:
				c.Close()
			default:
				return
			}
		}
	})
	return nil
}

func (l *memoryListener) Addr() net.Addr { return net.TCPAddrFromAddrPort(l.addr) }

// memoryBuffer is the number of bytes that each direction of a connection can hold.
const memoryBuffer = 256 << 10

// A memoryConn is one end of a connection in memory.
type memoryConn struct {
	in, out       *stream
	local, remote net.Addr
	reset         atomic.Bool // Close resets the connection; see SetLinger
}

func memoryConns(a, b net.Addr) (net.Conn, net.Conn) {
	x, y := newStream(), newStream()
	return &memoryConn{in: x, out: y, local: a, remote: b}, &memoryConn{in: y, out: x, local: b, remote: a}
}

func (c *memoryConn) Read(p []byte) (int, error)  { return c.in.read(p) }
func (c *memoryConn) Write(p []byte) (int, error) { return c.out.write(p) }
func (c *memoryConn) LocalAddr() net.Addr         { return c.local }
func (c *memoryConn) RemoteAddr() net.Addr        { return c.remote }

// SetLinger works as for a net.TCPConn: if sec is 0, Close resets the connection.
func (c *memoryConn) SetLinger(sec int) error {
	c.reset.Store(sec == 0)
	return nil
}

// CloseWrite ends the stream that the other end reads.
func (c *memoryConn) CloseWrite() error {
	c.out.end(io.EOF)
	return nil
}

func (c *memoryConn) Close() error {
	last := error(io.EOF)
	if c.reset.Load() {
		last = syscall.ECONNRESET
	}
	c.out.end(last)
	c.in.abandon()
	return nil
}

func (c *memoryConn) SetReadDeadline(t time.Time) error {
	c.in.reads.set(c.in, t)
	return nil
}

func (c *memoryConn) SetWriteDeadline(t time.Time) error {
	c.out.writes.set(c.out, t)
	return nil
}

func (c *memoryConn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

// A stream is one direction of a connection.
type stream struct {
	mu            sync.Mutex
	changed       sync.Cond
	data          []byte
	last          error // error after data; nil means that more data may come
	abandoned     bool  // the reader is closed
	reads, writes streamDeadline
}

type streamDeadline struct {
	timer *time.Timer
	past  bool
}

func newStream() *stream {
	s := new(stream)
	s.changed.L = &s.mu
	return s
}

func (d *streamDeadline) set(s *stream, t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
	}
	d.timer, d.past = nil, false
	if t.IsZero() {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(time.Until(t), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if d.timer == timer {
			d.past = true
			s.changed.Broadcast()
		}
	})
	d.timer = timer
	if time.Until(t) <= 0 {
		d.past = true
		s.changed.Broadcast()
	}
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.abandoned:
			return 0, net.ErrClosed
		case s.reads.past:
			return 0, os.ErrDeadlineExceeded
		case len(s.data) > 0:
			n := copy(p, s.data)
			s.data = s.data[n:]
			s.changed.Broadcast()
			return n, nil
		case s.last != nil:
			return 0, s.last
		case len(p) == 0:
			return 0, nil
		}
		s.changed.Wait()
	}
}

func (s *stream) write(p []byte) (written int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		room := memoryBuffer - len(s.data)
		switch {
		case s.last != nil:
			return written, net.ErrClosed
		case s.abandoned:
			return written, syscall.EPIPE
		case s.writes.past:
			return written, os.ErrDeadlineExceeded
		case len(p) == 0:
			return written, nil
		case room > 0:
			n := min(room, len(p))
			s.data = append(s.data, p[:n]...)
			p, written = p[n:], written+n
			s.changed.Broadcast()
		default:
			s.changed.Wait()
		}
	}
}

// end makes reads return last after the data, or immediately if last is not io.EOF.
func (s *stream) end(last error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last = last
		if last != io.EOF {
			s.data = nil
		}
	}
	s.changed.Broadcast()
}

// abandon ends reads and writes because the reader is closed.
func (s *stream) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.abandoned, s.data = true, nil
	for _, d := range []*streamDeadline{&s.reads, &s.writes} {
		if d.timer != nil {
			d.timer.Stop()
		}
	}
	s.changed.Broadcast()
}
