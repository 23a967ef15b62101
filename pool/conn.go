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

// A clientConn is a connection of any protocol. Its methods neither block nor take
// a lock that a call into net/http holds, but for RoundTrip and Close: these are
// called without a lock.
type clientConn interface {
	RoundTrip(*http.Request) (*http.Response, error)
	Available() int // requests at a time that it takes; 0 when it is closed or closing
	Err() error     // not nil once it takes no more requests
	Close() error
	// OnChange arranges for f to be called when more requests may be sent or
	// the connection has ended (gone); f takes no lock. Nil ends that.
	OnChange(f func(gone bool))
}

// A conn is one connection of an origin. Fields without comment never change;
// the others are guarded by the origin's mutex.
type conn struct {
	id       int64
	cc       clientConn
	setup    setup
	protocol string
	loopback bool

	inflight  int         // requests that hold a place on it
	served    int         // responses that began on it
	granted   int         // requests that ever got a place on it
	limit     streamLimit // what refusals showed
	paused    bool        // takes no request for a moment, after a refusal
	lastPick  int64       // the last pick that considered it
	broken    bool        // it failed with an error of its own
	refused   bool        // the peer closed it with requests unprocessed
	closedBy  ClosedBy    // who draining is owed to; empty: the server
	abandoned bool        // it was given up, which is counted
	confirmed bool        // of HTTP/3: it gave a useful response
	draining  bool        // takes no more requests: GOAWAY, Connection: close
	openedAt  time.Time   // never changes
	idleAt    time.Time   // since when it carries nothing
	idleTimer *time.Timer // closes it when it has been idle for long
	removed   bool        // it is not among the origin's any more

	seq         *sequence     // never changes; nil: not over HTTP/1.1, or never reused
	o           *origin       // never changes
	idleElement *list.Element // of the room, guarded by its mutex; nil: not idle
	evicted     bool          // guarded by the room's mutex
	retired     bool          // it drains because it is faulty, and does not count as load
	plain       bool          // see WithPlain
	health      health

	successes int // convincing responses on it
}

// setup is what it took to make a connection.
type setup struct {
	dns, tcp, tls   time.Duration
	version         uint16
	resumed         bool
	alpn            string
	offer           *sessionOffer // of a handshake that failed
	raw             *countingConn
	secure          *tls.Conn // nil without TLS
	remote          string
	proxied         bool       // remote is a proxy
	address         int        // which of the addresses that were tried it was
	addr            netip.Addr // the same; invalid where something else resolved the name
	addrs           int        // addresses that the host has
	synData         bool       // the SYN carried data (TCP Fast Open)
	synDataAccepted bool       // and the peer took it
}

func (s setup) total() time.Duration { return s.dns + s.tcp + s.tls }

// roundTrips is how many round trips a connection like this takes with a full
// handshake: one for TCP or the tunnel of a proxy, one for TLS 1.3 or QUIC, two for
// older TLS.
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

// betterThan is the order in which places are given out: the least loaded
// shared connection, otherwise the idle one that was used last.
func (c *conn) betterThan(other *conn) bool {
	if c.inflight != other.inflight {
		return c.inflight < other.inflight
	}
	return c.idleAt.After(other.idleAt)
}

// reserve takes a place on c for one request. perConn is the number of
// requests after which the server is known to close; 0 means no such limit.
// It notices a connection that can't be used any more.
func (c *conn) reserve(perConn int) bool {
	if perConn > 0 && c.granted >= perConn {
		c.draining = true
		return false
	}
	if c.cc.Err() != nil {
		c.draining = true
		return false
	}
	if c.inflight >= c.freeCapacity() {
		return false
	}
	c.inflight++
	c.granted++
	return true
}

// endedBy says who ended c, which is dead.
func (c *conn) endedBy() ClosedBy {
	switch {
	case c.closedBy != "":
		return c.closedBy
	case c.broken:
		return ClosedError
	}
	return ClosedServer
}

// peerAlert returns what the peer said when it ended the connection, if err does
// not tell. One that wants a client certificate says so after a handshake of TLS
// 1.3, when net/http is about to use the connection and reports no more than that
// it can't. The TLS connection repeats what it was told.
func (c *conn) peerAlert(err error) error {
	if c.setup.secure == nil || !strings.Contains(err.Error(), "client conn could not be established") {
		return err
	}
	_ = c.setup.secure.SetReadDeadline(time.Unix(1, 0)) // nothing is waited for
	_, cause := c.setup.secure.Read(make([]byte, 1))
	if op, ok := errors.AsType[*net.OpError](cause); ok && op.Op == "remote error" {
		return op
	}
	return err
}

// dead reports whether c carries nothing and never will.
func (c *conn) dead() bool {
	return c.inflight == 0 && (c.draining || c.cc.Err() != nil)
}

// bytes are those received and sent on the wire.
func (c *conn) bytes() (in, out int64) {
	if h, ok := c.cc.(h3ClientConn); ok {
		return h.bytes()
	}
	return c.setup.raw.in.Load(), c.setup.raw.out.Load()
}

// onClosed has f called once the connection is closed.
func (c *conn) onClosed(f func()) {
	if h, ok := c.cc.(*h3Conn); ok {
		context.AfterFunc(h.quic.Context(), f)
		return
	}
	c.setup.raw.onClosed(f)
}
