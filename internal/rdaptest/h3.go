package rdaptest

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// H3Config configures an [H3]. The zero value accepts early data.
type H3Config struct {
	// number of concurrent requests per connection; 0 means 100; negative means none
	MaxStreams  int64
	IdleTimeout time.Duration // announced idle timeout; 0 means 30 s
	NoEarlyData bool          // sessions permit no early data
	Validate    bool          // the server validates the address of clients without a token (Retry)
	// reports whether to respond to request n of a connection with H3_REQUEST_REJECTED; nil
	// means never
	Reject func(n int64) bool
	Addr   string        // address to listen on; empty means the server's address
	RTT    time.Duration // emulated round-trip time; 0 means the server's round-trip time

	// AwaitEarly delays the handshake of a client that offers early data until the early data
	// includes a request, for at most 10 s. Then timing does not determine whether a request is
	// early.
	AwaitEarly bool
}

// An H3 is the HTTP/3 side of a [Server]. It has the same source, behaviours and certificate,
// on the same port over UDP, but separate counts. [ConnRules] and faults of TCP connections do
// not apply. Start it with [StartH3].
type H3 struct {
	config H3Config
	server *Server
	udp    *udpFilter
	tls    *tls.Config
	keys   atomic.Pointer[tls.Config] // keys of session tickets
	tally  tally
	work   sync.WaitGroup

	accepted, rejected atomic.Int64 // numbers of handshakes with early data
	refuseEarly        atomic.Bool
	tooEarly           atomic.Bool

	mu        sync.Mutex
	transport *quic.Transport
	listener  h3Listener
	http      *http3.Server
}

// H3Counts holds the counts of an [H3].
type H3Counts struct {
	Counts              // counts of QUIC connections; bytes are UDP payload
	EarlyAccepted int64 // number of connections with accepted early data
	EarlyRejected int64 // number of handshakes with rejected early data
}

// StartH3 starts a server with HTTP/3 that stops when the test ends.
func StartH3(t TB, config Config, h3 H3Config) (*Server, *H3) {
	t.Helper()
	s, h, err := NewH3(config, h3)
	if err != nil {
		t.Fatal("rdaptest: ", err)
	}
	t.Cleanup(s.Close)
	t.Cleanup(h.Close)
	return s, h
}

// NewH3 starts a server with HTTP/3. The caller closes both servers, HTTP/3 first.
func NewH3(config Config, h3 H3Config) (*Server, *H3, error) {
	for attempt := 0; ; attempt++ {
		s, err := New(config)
		if err != nil {
			return nil, nil, err
		}
		h, err := s.startH3(h3)
		if err == nil {
			return s, h, nil
		}
		s.Close()
		if attempt == 20 { // sometimes a port is free for TCP but in use for UDP
			return nil, nil, err
		}
	}
}

func (s *Server) startH3(config H3Config) (*H3, error) {
	addr, rtt := cmp.Or(config.Addr, s.Addr()), cmp.Or(config.RTT, s.config.RTT)
	u, err := net.ListenPacket("udp", addr)
	if err != nil {
		return nil, err
	}
	h := &H3{config: config, server: s}
	h.udp = newUDPFilter(u, &h.tally, rtt)
	if config.AwaitEarly {
		h.udp.early = newEarlyWatch()
	}
	h.DropTickets()
	h.tls = &tls.Config{
		Certificates: s.tls.Certificates,
		ClientAuth:   s.tls.ClientAuth,
		ClientCAs:    s.tls.ClientCAs,
		MinVersion:   tls.VersionTLS13,
		NextProtos:   []string{http3.NextProtoH3},
		WrapSession: func(cs tls.ConnectionState, ss *tls.SessionState) ([]byte, error) {
			return h.keys.Load().EncryptTicket(cs, ss)
		},
		UnwrapSession: func(ticket []byte, cs tls.ConnectionState) (*tls.SessionState, error) {
			ss, err := h.keys.Load().DecryptTicket(ticket, cs)
			if ss != nil && h.refuseEarly.Load() {
				ss.EarlyData = false
			}
			return ss, err
		},
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			const earlyData = 42
			if p, ok := hello.Context().Value(h3PeerKey{}).(*h3Peer); ok && slices.Contains(hello.Extensions, earlyData) {
				p.offered.Store(true)
				if h.udp.early != nil {
					h.udp.early.await(hello.Context(), p.from)
				}
			}
			return nil, nil
		},
	}
	if s.config.SingleUseTickets {
		h.tls.UnwrapSession = h.tally.once(h.tls.UnwrapSession)
	}
	if err := h.listen(); err != nil {
		h.udp.Close()
		return nil, err
	}
	return h, nil
}

func (h *H3) listen() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.transport = &quic.Transport{
		Conn: h.udp,
		ConnContext: func(ctx context.Context, client *quic.ClientInfo) (context.Context, error) {
			p := h.newPeer()
			p.from = client.RemoteAddr
			return context.WithValue(context.WithValue(ctx, h3PeerKey{}, p), connKey{}, p.conn), nil
		},
		VerifySourceAddress: func(net.Addr) bool { return h.config.Validate },
	}
	l, err := h.transport.ListenEarly(h.tls, &quic.Config{
		MaxIncomingStreams: h.config.MaxStreams,
		MaxIdleTimeout:     h.config.IdleTimeout,
		Allow0RTT:          !h.config.NoEarlyData,
	})
	if err != nil {
		return err
	}
	h.listener = h3Listener{l, h}
	h.serveLocked()
	return nil
}

func (h *H3) serveLocked() {
	handler := h.server.config.Handler
	if handler == nil {
		handler = http.HandlerFunc(h.server.serveRDAP)
	}
	h.http = &http3.Server{Handler: h.counted(handler)}
	srv, l := h.http, h.listener
	h.work.Go(func() { srv.ServeListener(l) })
}

// An h3Listener counts connections.
type h3Listener struct {
	*quic.EarlyListener
	h *H3
}

func (l h3Listener) Accept(ctx context.Context) (*quic.Conn, error) {
	c, err := l.EarlyListener.Accept(ctx)
	if err == nil {
		l.h.greet(c)
	}
	return c, err
}

type h3PeerKey struct{}

// An h3Peer is a connection to an H3.
type h3Peer struct {
	quic    *quic.Conn
	from    net.Addr
	conn    *conn // connection as behaviours see it
	tally   *connTally
	offered atomic.Bool   // the client offered early data
	early   sync.Once     // guards the count of the accepted early data
	noted   chan struct{} // closed when the end of the handshake has been counted
}

func (h *H3) newPeer() *h3Peer {
	p := &h3Peer{noted: make(chan struct{})}
	p.conn = &conn{
		server: h.server, wire: wire{h3Wire{peer: p}, &h.tally},
		tally:  new(connTally),
		frames: new(frameCounter), // faults apply per stream
		gone:   make(chan struct{}),
	}
	p.conn.tally.closed.Store(true) // do not count the connection among those of TCP
	return p
}

// h3Wire implements closing a connection.
type h3Wire struct {
	net.Conn
	peer *h3Peer
}

func (w h3Wire) Close() error {
	return w.peer.quic.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeInternalError), "")
}

func (h *H3) greet(c *quic.Conn) {
	p := c.Context().Value(h3PeerKey{}).(*h3Peer)
	p.quic = c
	p.conn.number, p.tally = h.tally.accept()
	protocol := http3.NextProtoH3
	p.tally.protocol.Store(&protocol)
	h.work.Go(func() {
		select {
		case <-c.HandshakeComplete():
		case <-c.Context().Done():
		}
		select {
		case <-c.HandshakeComplete(): // the handshake has completed, even if the connection has ended since
			state := c.ConnectionState()
			if state.TLS.DidResume {
				h.tally.resumed.Add(1)
				p.tally.resumed.Store(true)
			} else {
				h.tally.full.Add(1)
			}
			if !h.tookEarly(p) && p.offered.Load() {
				h.rejected.Add(1)
			}
		default:
			h.tally.failed.Add(1)
		}
		close(p.noted)
		<-c.Context().Done()
		h.tally.close(p.tally)
	})
}

// tookEarly reports whether the connection's early data was accepted. It counts accepted early
// data once: with a request, or otherwise at the end of the handshake.
func (h *H3) tookEarly(p *h3Peer) bool {
	if !p.quic.ConnectionState().Used0RTT {
		return false
	}
	p.early.Do(func() { h.accepted.Add(1) })
	return true
}

// counted wraps a handler with the counts.
func (h *H3) counted(next http.Handler) http.Handler {
	s := h.server
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := r.Context().Value(h3PeerKey{}).(*h3Peer)
		if !s.enter() {
			panic(http.ErrAbortHandler)
		}
		defer s.work.Done()
		select {
		case <-p.quic.HandshakeComplete():
			<-p.noted // count the handshake before the response, unless both are early
		default:
		}
		if s.config.Log {
			s.tally.keep(LogEntry{
				Conn: p.conn.number, Protocol: r.Proto, Method: r.Method,
				URI: r.RequestURI, Host: r.Host, Header: r.Header.Clone(),
			})
		}
		early := h.tookEarly(p)
		prior := h.tally.begin(p.tally)
		defer h.tally.end(p.tally)
		switch {
		case h.config.Reject != nil && h.config.Reject(prior+1):
			if str, err := w.(http3.HTTPStreamer).HTTPStream(); err == nil {
				str.CancelRead(quic.StreamErrorCode(http3.ErrCodeRequestRejected))
				str.CancelWrite(quic.StreamErrorCode(http3.ErrCodeRequestRejected))
			}
			return
		case h.tooEarly.Load() && prior == 0 && early:
			w.WriteHeader(http.StatusTooEarly)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), priorKey{}, prior)))
	})
}

// Counts returns the current counts.
func (h *H3) Counts() H3Counts {
	return H3Counts{h.tally.counts(true), h.accepted.Load(), h.rejected.Load()}
}

// AwaitOpen waits until at most n connections are open. It returns an error when ctx is
// done.
func (h *H3) AwaitOpen(ctx context.Context, n int) error { return h.tally.awaitOpen(ctx, int64(n)) }

// AwaitRequests waits until at least n requests have reached a handler. It returns an
// error when ctx is done.
func (h *H3) AwaitRequests(ctx context.Context, n int) error {
	return h.tally.awaitRequests(ctx, int64(n))
}

// Announce makes responses over TCP advertise HTTP/3 with this max-age; 0 ends the
// advertisement.
func (h *H3) Announce(life time.Duration) {
	if life <= 0 {
		h.server.SetAltSvc("")
		return
	}
	h.server.SetAltSvc(fmt.Sprintf(`h3=":%d"; ma=%d`, h.udp.LocalAddr().(*net.UDPAddr).Port, int(life.Seconds())))
}

// Block drops all UDP packets in both directions, as a firewall would.
func (h *H3) Block(block bool) { h.udp.blocked.Store(block) }

// Heard returns the number of packets that reached the server's port, dropped or not.
func (h *H3) Heard() int64 { return h.udp.heard.Load() }

// RefuseEarlyData makes the server resume sessions but reject early data.
func (h *H3) RefuseEarlyData(refuse bool) { h.refuseEarly.Store(refuse) }

// AnswerTooEarly responds with 425 (RFC 8470) to the first request on each connection with
// early data.
func (h *H3) AnswerTooEarly(answer bool) { h.tooEarly.Store(answer) }

// DropTickets replaces the session ticket keys, so that earlier sessions cannot be resumed and
// their early data is rejected.
func (h *H3) DropTickets() {
	var key [32]byte
	rand.Read(key[:]) // Read is documented never to fail
	keys := new(tls.Config)
	keys.SetSessionTicketKeys([][32]byte{key})
	h.keys.Store(keys)
}

// Forget drops all connections silently, as a restart would, so that packets of these
// connections get no response.
func (h *H3) Forget() error {
	h.mu.Lock()
	t, srv := h.transport, h.http
	h.mu.Unlock()
	t.Close()
	srv.Close()
	return h.listen()
}

// GoAway closes all connections gracefully: it sends GOAWAY and closes each connection after
// its responses. The server still serves new connections.
func (h *H3) GoAway() {
	h.mu.Lock()
	old := h.http
	h.serveLocked()
	h.mu.Unlock()
	h.tally.goAways.Add(1)
	h.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		old.Shutdown(ctx)
	})
}

// Close ends HTTP/3 and returns when its goroutines have ended.
func (h *H3) Close() {
	h.mu.Lock()
	t, srv := h.transport, h.http
	h.mu.Unlock()
	srv.Close()
	t.Close()
	h.udp.Close()
	h.work.Wait()
}
