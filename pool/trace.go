package pool

import (
	"context"
	"net"
	"time"
)

// A Trace describes how one request was sent; see [WithTrace]. Times of steps are
// zero if the request reused a connection.
type Trace struct {
	ConnID int64 // number of the connection in its Pool, from 1
	// number of the connection on which the request failed; 0 if the request got a response, or
	// no connection
	FailedConn      int64
	Reused          bool          // an earlier request opened the connection
	Protocol        string        // ALPN name: "http/1.1", "h2" or "h3"
	TLS             uint16        // TLS version (tls.VersionTLS13); 0 without TLS
	Resumed         bool          // the handshake resumed a session
	EarlyData       bool          // the request was sent as early data (0-RTT), and the server accepted it
	FastOpen        bool          // the SYN carried data, and the peer accepted it
	RemoteAddr      string        // address and port of the peer, which may be a proxy
	Retries         int           // transparent retries of this request
	RetriesSameConn int           // part of Retries on the connection that had refused the request
	Wait            time.Duration // wait for a connection, including the time of its set-up
	DNS             time.Duration // time of name resolution; zero if the result was cached
	// time of the TCP connection (none for HTTP/3), and the tunnel through a proxy
	TCP time.Duration
	// time of the TLS or QUIC handshake; early data does not wait for the handshake
	Handshake time.Duration
	FirstByte time.Duration // time from sending the request to the response header
	// time from the start of RoundTrip to the end of the body; until then, to the header
	Total   time.Duration
	BytesIn int64 // bytes of the body as received, before decompression
}

type traceKey struct{}

// WithTrace returns a context under which [Pool.RoundTrip] fills in t. Total and BytesIn are
// set when the body has been read or closed, the rest before RoundTrip returns. A Trace serves
// one request at a time.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

func traceFrom(ctx context.Context) *Trace {
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}

// A udpPeer represents a QUIC connection in a hook that takes a [net.Conn]. Hooks
// must not read, write or close it.
type udpPeer struct {
	net.Conn
	remote net.Addr
}

func (p udpPeer) LocalAddr() net.Addr  { return new(net.UDPAddr) }
func (p udpPeer) RemoteAddr() net.Addr { return p.remote }
