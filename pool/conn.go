package pool

import (
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// A clientConn is a connection of any protocol. RoundTrip and Close are called
// without a lock. The other methods do not block, and take no lock that net/http
// holds during a call.
type clientConn interface {
	RoundTrip(*http.Request) (*http.Response, error)
	// Available returns how many requests may be in flight; 0 if the connection is closed or
	// closing
	Available() int
	Err() error // Err is not nil once the connection accepts no more requests
	Close() error
	// OnChange sets the function that is called when more requests may be sent, or when the
	// connection has ended (gone). The function takes no lock. Nil removes it.
	OnChange(f func(gone bool))
}

// A conn is one connection of an origin. Fields before inflight never change; the origin's
// mutex guards the others, unless noted.
type conn struct {
	id       int64
	cc       clientConn
	setup    setup
	protocol string
	loopback bool
	noGzip   bool // see [Config.DisableCompression]

	inflight  int         // requests that hold a slot
	served    int         // responses that began
	granted   int         // requests that have ever got a slot
	limit     streamLimit // limit learned from refusals
	paused    bool        // the connection accepts no request for a moment, after a refusal
	lastPick  int64       // number of the last call of pickLocked that tried the connection
	broken    bool        // the connection itself failed
	refused   bool        // the peer closed the connection with requests unprocessed
	closedBy  ClosedBy    // reason why the connection is draining; empty if the server is the cause
	abandoned bool        // the connection was abandoned and counted
	confirmed bool        // the connection gave a useful response over HTTP/3
	draining  bool        // the connection accepts no more requests, after GOAWAY or Connection: close
	openedAt  time.Time   // never changes
	idleAt    time.Time   // when the connection became idle
	idleTimer *time.Timer // closes the connection after IdleTimeout
	removed   bool        // the connection is no longer in origin.conns

	seq         *sequence     // never changes; nil except over HTTP/1.1 with reuse
	origin      *origin       // never changes
	idleElement *list.Element // element of connLimiter.idle, guarded by the limiter's mutex; nil means not idle
	evicted     bool          // guarded by the mutex of the connLimiter
	retired     bool          // the connection drains because it is faulty, and does not count as load
	plain       bool          // the connection meets the requirements of WithPlain
	health      health

	successes int // successful responses
}

// setup describes how a connection was made.
type setup struct {
	dns, tcp, tls   time.Duration
	version         uint16
	resumed         bool
	alpn            string
	offer           *sessionOffer // session offered in a handshake that failed
	raw             *countingConn
	secure          *tls.Conn // nil without TLS
	remote          string
	proxied         bool       // remote is the address of a proxy
	index           int        // index of addr among the addresses that were tried
	addr            netip.Addr // address connected to; invalid if something else resolved the name
	addrs           int        // number of addresses of the host
	synData         bool       // the SYN carried data (TCP Fast Open)
	synDataAccepted bool       // the peer accepted the data in the SYN
}

func (s setup) total() time.Duration { return s.dns + s.tcp + s.tls }

// roundTrips returns how many round trips the set-up takes with a full handshake. TCP, the
// tunnel of a proxy, and TLS 1.3 or QUIC take one each, and older TLS takes two.
func (s setup) roundTrips() int64 {
	n := int64(0)
	if s.raw != nil {
		n++
	}
	if s.proxied {
		n++
	}
	switch {
	case s.version == 0:
	case s.version < tls.VersionTLS13:
		n += 2
	default:
		n++
	}
	return n
}

func newConn(id int64, cc clientConn, s setup, protocol string) *conn {
	c := &conn{id: id, cc: cc, setup: s, protocol: protocol, openedAt: time.Now()}
	if host, _, err := net.SplitHostPort(s.remote); err == nil {
		ip := net.ParseIP(host)
		c.loopback = ip != nil && ip.IsLoopback() && !s.proxied
	}
	return c
}

func (c *conn) shared() bool { return c.protocol != protoHTTP1 }

// betterThan orders connections for new requests: the least loaded shared
// connection, otherwise the most recently used one.
func (c *conn) betterThan(other *conn) bool {
	if c.inflight != other.inflight {
		return c.inflight < other.inflight
	}
	return c.idleAt.After(other.idleAt)
}

// reserve takes a slot on c for one request, and reports whether there was one. perConn is the
// number of requests after which the server closes a connection; 0 means no limit. If c is no
// longer usable, reserve marks it as draining.
func (c *conn) reserve(perConn int) bool {
	if perConn > 0 && c.granted >= perConn {
		c.draining = true
		return false
	}
	if c.cc.Err() != nil {
		c.draining = true
		return false
	}
	if c.inflight >= c.capacity() {
		return false
	}
	c.inflight++
	c.granted++
	return true
}

// endedBy reports who closed the dead connection c.
func (c *conn) endedBy() ClosedBy {
	switch {
	case c.closedBy != "":
		return c.closedBy
	case c.broken:
		return ClosedError
	}
	return ClosedServer
}

// peerAlert returns the TLS alert with which the peer ended the connection, or err. A server
// that requires a client certificate sends the alert after a TLS 1.3 handshake. net/http
// reports only an unusable connection, but the TLS connection repeats the alert.
func (c *conn) peerAlert(err error) error {
	// Over HTTP/3, setup may change when the handshake ends.
	if c.protocol == protoHTTP3 || c.setup.secure == nil || !strings.Contains(err.Error(), "client conn could not be established") {
		return err
	}
	_ = c.setup.secure.SetReadDeadline(time.Unix(1, 0)) // make Read return immediately
	_, cause := c.setup.secure.Read(make([]byte, 1))
	if op, ok := errors.AsType[*net.OpError](cause); ok && op.Op == "remote error" {
		return op
	}
	return err
}

// dead reports whether c carries no request and will carry none.
func (c *conn) dead() bool {
	return c.inflight == 0 && (c.draining || c.cc.Err() != nil)
}

// bytes returns the bytes received and sent on the wire.
func (c *conn) bytes() (in, out int64) {
	if h, ok := c.cc.(h3ClientConn); ok {
		return h.bytes()
	}
	return c.setup.raw.in.Load(), c.setup.raw.out.Load()
}

// onClosed arranges for f to be called once the connection is closed.
func (c *conn) onClosed(f func()) {
	if h, ok := c.cc.(*h3Conn); ok {
		context.AfterFunc(h.quic.Context(), f)
		return
	}
	c.setup.raw.onClosed(f)
}
