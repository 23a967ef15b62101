package pool

import (
	"context"
	"net"
	"time"
)

// A Trace tells how one request was carried. Ask for it with [WithTrace].
// Durations of steps that a request did not pay for (because its connection
// was there already) are zero.
type Trace struct {
	ConnID          int64         // number of the connection in its Pool, from 1
	FailedConn      int64         // number of the connection on which the request failed; 0 if it got a response, or no connection
	Reused          bool          // an earlier request paid for the connection
	Protocol        string        // ALPN name: "http/1.1", "h2" or "h3"
	TLS             uint16        // TLS version (tls.VersionTLS13); 0 without TLS
	Resumed         bool          // the connection's handshake resumed a session
	EarlyData       bool          // the request went out as early data (0-RTT) and was taken
	FastOpen        bool          // the connection's first data went with its SYN, and was taken
	RemoteAddr      string        // address and port of the peer, which may be a proxy
	Retries         int           // unseen retries that this request needed
	RetriesSameConn int           // of these, retries on the connection that had refused the request
	Wait            time.Duration // in the queue for a connection, set-up included
	DNS             time.Duration // name resolution; zero if the answer was known
	TCP             time.Duration // TCP connection set-up (none for HTTP/3), and that of the tunnel through a proxy
	Handshake       time.Duration // TLS handshake, or QUIC's, which early data doesn't wait for
	FirstByte       time.Duration // from sending the request to the response's header
	Total           time.Duration // from RoundTrip's start to the end of the body (so far, to the header)
	BytesIn         int64         // bytes of the body as received, before decompression
}

type traceKey struct{}

// WithTrace returns a context under which [Pool.RoundTrip] fills in t: all but
// Total and BytesIn when it returns, those when the body has been read or
// closed. One Trace serves one request at a time.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

func traceFrom(ctx context.Context) *Trace {
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}

// A udpPeer stands for a QUIC connection where a hook wants a [net.Conn], which
// hooks must neither read, write nor close.
type udpPeer struct {
	net.Conn
	remote net.Addr
}

func (p udpPeer) LocalAddr() net.Addr  { return new(net.UDPAddr) }
func (p udpPeer) RemoteAddr() net.Addr { return p.remote }
