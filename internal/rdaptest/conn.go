package rdaptest

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// ConnRules describes faults of connections, independent of requests. The zero value has no
// faults. Responses count per connection.
type ConnRules struct {
	First int // number of connections to which the rules apply; 0 means all

	Refuse    bool // close the connection as soon as it is accepted
	SilentTLS bool // accept, and never respond to the handshake

	// send Connection: close (HTTP/2: GOAWAY) with the n-th response; 0 means never
	AnnounceAfter int
	CloseAfter    int           // close without notice after the n-th response; 0 means never
	CloseDelay    time.Duration // delay of CloseAfter
	IdleClose     time.Duration // close without notice after this time since the last response; 0 means never
	HangUpAfter   int           // respond to n requests, and close at the next request; 0 means never
	// stop reading and sending after the n-th response, but stay open; 0 means never
	BlackHoleAfter int

	// Raw, when set, serves the connection if HTTP/2 was negotiated.
	Raw *RawH2
}

// A wire is the TCP connection below TLS. It counts bytes.
type wire struct {
	net.Conn
	tally *tally
}

func (w wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.tally.bytesIn.Add(int64(n))
	return n, err
}

func (w wire) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	w.tally.bytesOut.Add(int64(n))
	return n, err
}

// A conn is a connection above TLS, as used by the HTTP server. It deliberately has no
// ConnectionState method, so that net/http treats it as a plain connection and detects the
// protocol from the first bytes. Therefore conn sees every frame.
type conn struct {
	net.Conn // the *tls.Conn

	server *Server
	wire   net.Conn // connection below TLS
	number int64
	tally  *connTally
	state  *tls.ConnectionState // TLS state, set once, before HTTP
	rules  ConnRules
	frames *frameCounter // set for HTTP/2, where writes are sequential

	answered atomic.Int64
	dark     atomic.Bool // the connection is a black hole
	deaf     atomic.Bool // input is discarded
	announce atomic.Bool // the next response announces the close
	gone     chan struct{}
	once     sync.Once

	mu   sync.Mutex
	idle *time.Timer // guarded by mu
}

// kill closes the connection immediately, without a TLS close_notify.
func (c *conn) kill() {
	c.wire.Close()
	c.ended()
}

// linger sends close_notify and reads until the client has closed. Closing a connection with
// unread data would reset the connection and discard data in flight.
func (c *conn) linger() {
	const patience = 5 * time.Second
	if t, ok := c.Conn.(*tls.Conn); ok {
		_ = t.CloseWrite() // the connection may be closed already
	}
	if t, ok := c.wire.(wire).Conn.(interface{ CloseWrite() error }); ok {
		_ = t.CloseWrite()
	}
	_ = c.wire.SetReadDeadline(time.Now().Add(patience))
	_, _ = io.Copy(io.Discard, c.wire)
}

// reset is like kill, with a TCP RST if the system can send one.
func (c *conn) reset() {
	if t, ok := c.wire.(wire).Conn.(interface{ SetLinger(sec int) error }); ok {
		_ = t.SetLinger(0) // without SO_LINGER, Close sends a FIN
	}
	c.kill()
}

func (c *conn) ended() {
	c.once.Do(func() {
		close(c.gone)
		c.server.forget(c)
	})
}

func (c *conn) Close() error {
	err := c.Conn.Close()
	c.ended()
	return err
}

func (c *conn) Read(p []byte) (int, error) {
	if c.deaf.Load() {
		<-c.gone
		return 0, net.ErrClosed
	}
	n, err := c.Conn.Read(p)
	if c.deaf.Load() { // deaf may have changed while waiting
		<-c.gone
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	if c.dark.Load() {
		return len(p), nil
	}
	if c.frames == nil {
		return c.Conn.Write(p)
	}
	// Nothing may follow a response that the rules make the last one.
	if c.rules.CloseAfter > 0 || c.rules.BlackHoleAfter > 0 {
		return c.writeStepwise(p)
	}
	n, err := c.Conn.Write(p)
	for at := 0; at < n; {
		at += c.pass(p[at:n])
	}
	return n, err
}

// writeStepwise writes p one response at a time.
func (c *conn) writeStepwise(p []byte) (int, error) {
	for at := 0; at < len(p); {
		if c.dark.Load() {
			return len(p), nil
		}
		frames := *c.frames
		step, ended, _ := frames.next(p[at:])
		if ended && c.isLast(c.answered.Load()+1) {
			c.deaf.Store(true) // set deaf before the client can see the response and send more
		}
		n, err := c.Conn.Write(p[at : at+step])
		if err != nil {
			return at + n, err
		}
		at += c.pass(p[at : at+step])
	}
	return len(p), nil
}

// pass scans p up to the first frame of interest and returns the length of that part.
func (c *conn) pass(p []byte) int {
	n, ended, away := c.frames.next(p)
	if away {
		c.server.tally.goAways.Add(1)
	}
	if ended {
		c.answer()
	}
	return n
}

// answer counts a sent response and applies the rules.
func (c *conn) answer() {
	switch n := c.answered.Add(1); n {
	case int64(c.rules.CloseAfter):
		if c.rules.CloseDelay <= 0 {
			c.kill()
			return
		}
		time.AfterFunc(c.rules.CloseDelay, c.kill)
	case int64(c.rules.BlackHoleAfter):
		c.deaf.Store(true)
		c.dark.Store(true)
	}
}

// isLast reports whether response n is the last on the connection.
func (c *conn) isLast(n int64) bool {
	return n == int64(c.rules.CloseAfter) && c.rules.CloseDelay <= 0 || n == int64(c.rules.BlackHoleAfter)
}

// setIdle starts or stops the clock of IdleClose.
func (c *conn) setIdle(idle bool) {
	if c.rules.IdleClose <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle != nil {
		c.idle.Stop()
		c.idle = nil
	}
	if idle {
		c.idle = time.AfterFunc(c.rules.IdleClose, c.kill)
	}
}

// A frameCounter finds the frames in the bytes that an HTTP/2 server sends.
type frameCounter struct {
	head [9]byte
	have int // number of bytes of the frame header read
	skip int // number of remaining bytes of payload
}

// next consumes bytes of p, up to the end of the first frame that ends a response or is a
// GOAWAY. It returns the number of consumed bytes.
func (f *frameCounter) next(p []byte) (n int, ended, away bool) {
	const (
		data, headers, goAway = 0, 1, 7
		endStream             = 1
	)
	for n < len(p) {
		if f.have < len(f.head) {
			m := copy(f.head[f.have:], p[n:])
			f.have += m
			n += m
			if f.have < len(f.head) {
				break
			}
			f.skip = int(binary.BigEndian.Uint32(f.head[:4]) >> 8)
		}
		m := min(f.skip, len(p)-n)
		f.skip -= m
		n += m
		if f.skip > 0 {
			break
		}
		f.have = 0
		ended = (f.head[3] == data || f.head[3] == headers) && f.head[4]&endStream != 0
		away = f.head[3] == goAway
		if ended || away {
			break
		}
	}
	return n, ended, away
}
