package pool

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/rdapq/rdapq/internal/publicaddr"
)

// A quicDialer makes the QUIC connections of a Pool.
type quicDialer struct {
	cfg          Config
	dialer       *dialer
	number       func() int64     // returns the number of the next connection
	http         *http3.Transport // turns QUIC connections into HTTP/3 connections
	quic         *quic.Config
	shortTimeout *quic.Config   // for early connections to a host with other addresses
	work         sync.WaitGroup // counts goroutines, one per connection

	mu      sync.Mutex
	sockets map[bool]*quic.Transport // sockets by family; true means IPv4
	conns   map[*h3Conn]struct{}
	closed  bool
}

// Limits of address validation tokens (RFC 9000 section 8.1.3): the number of servers, and of
// tokens per server.
const (
	tokenServers = 256
	tokensEach   = 4
)

// Receive windows of a stream and of a connection, in bytes. The connection window fits as many
// streams as usually share a connection, so that an unread response does not block the others.
const (
	streamWindow = 128 << 10
	connWindow   = 64 * streamWindow
)

func newH3Dialer(c Config, d *dialer, number func() int64) (h3Dialer, error) {
	n := &quicDialer{
		cfg: c, dialer: d, number: number,
		// the Pool decides when to request gzip
		http:    &http3.Transport{DisableCompression: true, MaxResponseHeaderBytes: maxHeader},
		sockets: make(map[bool]*quic.Transport),
		conns:   make(map[*h3Conn]struct{}),
		quic: &quic.Config{
			Versions:             []quic.Version{quic.Version1},
			HandshakeIdleTimeout: min(c.ConnectTimeout, c.HandshakeTimeout),
			// quic-go pings after a third of DeadAfter; the reply may take the rest.
			MaxIdleTimeout:     c.DeadAfter * 2 / 3,
			KeepAlivePeriod:    c.DeadAfter / 3,
			MaxIncomingStreams: -1, // HTTP/3 servers open no bidirectional streams
			// Limits that apply if a reader is slower than the server.
			InitialStreamReceiveWindow: streamWindow, MaxStreamReceiveWindow: streamWindow,
			InitialConnectionReceiveWindow: connWindow, MaxConnectionReceiveWindow: connWindow,
			Tracer: traceConn,
		},
	}
	if !c.NoReuse {
		n.quic.TokenStore = quic.NewLRUTokenStore(tokenServers, tokensEach)
	}
	n.shortTimeout = n.quic.Clone()
	n.shortTimeout.HandshakeIdleTimeout /= 5
	return n, nil
}

// connect makes a connection. If there is early data to offer, it returns before the
// handshake is done.
func (n *quicDialer) connect(ctx context.Context, key originKey, d *dial) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.ConnectTimeout)
	defer cancel()
	fail := func(step Step, err error) (*conn, error) {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, &Error{Step: step, Origin: key.String(), Err: err}
	}
	route := d.h3
	d.setStep(StepResolve)
	addrs, dns, err := n.dialer.resolver.addresses(ctx, route.host, route.port)
	if err != nil {
		return fail(StepResolve, err)
	}
	if _, given := n.dialer.resolver.fixedAddrs(route.host, route.port); !given {
		if addrs, err = key.publicOnly(addrs); err != nil {
			return fail(StepConnect, err)
		}
	}
	if !route.allowPrivate {
		all := addrs
		if addrs = slices.DeleteFunc(slices.Clone(all), func(a netip.Addr) bool { return !publicaddr.Is(a) }); len(addrs) == 0 {
			return fail(StepConnect, &AddressError{Host: route.host, Addr: all[0]})
		}
	}
	if route.otherHost {
		addrs = addrs[:1] // allow a single attempt
	}
	n.awaitTickets(ctx, key)
	d.setStep(StepHandshake)
	if d.sent != nil {
		d.sent()
	}
	h := &h3Conn{dialer: n, key: key, route: route, full: d.fullHandshake, begun: time.Now(), handshakeEnded: make(chan struct{})}
	if len(addrs) > 1 {
		h.other = addrs[1]
	}
	h.limit.Store(int64(defaultStreams))
	if h.quic, err = n.dialAddresses(context.WithValue(ctx, qlogKey{}, h), h, route, addrs); err != nil {
		return fail(StepHandshake, err)
	}
	h.setup = setup{dns: dns, alpn: protoHTTP3, raw: new(countingConn), remote: h.quic.RemoteAddr().String()}
	select {
	case <-h.quic.HandshakeComplete():
		h.finishSetup()
		h.done.Store(true)
		close(h.handshakeEnded)
	default:
		h.early = true
	}
	if !n.track(h) {
		h.Close()
		return fail(StepHandshake, ErrClosed)
	}
	if ap, err := netip.ParseAddrPort(h.setup.remote); err == nil && len(addrs) > 1 && !h.early {
		n.dialer.resolver.prefer(route.host, route.port, ap.Addr())
	}
	return newConn(n.number(), h, h.setup, protoHTTP3), nil
}

// dialAddresses tries the addresses one by one, the next one after each delay or
// failure.
func (n *quicDialer) dialAddresses(ctx context.Context, h *h3Conn, route *h3Route, addrs []netip.Addr) (*quic.Conn, error) {
	port, err := net.LookupPort("udp", route.port)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		conn  *quic.Conn
		offer *quicOffer
		err   error
	}
	results := make(chan result, len(addrs))
	started, pending := 0, 0
	delay := delayFor(n.cfg.ConnectTimeout, len(addrs))
	next := time.NewTimer(delay)
	defer next.Stop()
	start := func() {
		if started == len(addrs) {
			return
		}
		to := netip.AddrPortFrom(addrs[started], uint16(port))
		started++
		pending++
		next.Reset(delay)
		go func() {
			c, offer, err := n.dial(ctx, h, to)
			results <- result{c, offer, err}
		}()
	}
	var failed addressErrors
	start()
	for pending > 0 {
		select {
		case r := <-results:
			pending--
			if r.err != nil {
				if !slices.ContainsFunc(failed, func(e error) bool { return e.Error() == r.err.Error() }) {
					failed = append(failed, r.err)
				}
				start()
				continue
			}
			h.dialWon.Store(true)
			h.offer = r.offer
			cancel()
			go func() {
				for range pending {
					if late := <-results; late.conn != nil {
						late.conn.CloseWithError(h3NoError, "")
					}
				}
			}()
			return r.conn, nil
		case <-next.C:
			start()
		}
	}
	if len(failed) == 1 {
		return nil, failed[0]
	}
	return nil, failed
}

func (n *quicDialer) dial(ctx context.Context, h *h3Conn, to netip.AddrPort) (*quic.Conn, *quicOffer, error) {
	t, err := n.socket(to.Addr().Is4())
	if err != nil {
		return nil, nil, err
	}
	config, offer := offerSessions(n.dialer.tls.forOrigin(h.key).quic(), h.full)
	quicConfig := n.quic
	if h.full || !h.route.early || offer == nil || len(config.Certificates) > 0 || config.GetClientCertificate != nil {
		c, err := t.Dial(ctx, net.UDPAddrFromAddrPort(to), config, quicConfig)
		return c, offer, err
	}
	if h.other.IsValid() {
		quicConfig = n.shortTimeout
	}
	c, err := t.DialEarly(ctx, net.UDPAddrFromAddrPort(to), config, quicConfig)
	return c, offer, err
}

// socket returns the socket of an address family and opens it on first use.
func (n *quicDialer) socket(v4 bool) (*quic.Transport, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, ErrClosed
	}
	if t := n.sockets[v4]; t != nil {
		return t, nil
	}
	network, local := "udp6", &net.UDPAddr{}
	if v4 {
		network = "udp4"
	}
	if a := n.cfg.LocalAddr.Unmap(); a.IsValid() {
		local = net.UDPAddrFromAddrPort(netip.AddrPortFrom(a, 0))
	}
	u, err := net.ListenUDP(network, local)
	if err != nil {
		return nil, err
	}
	t := &quic.Transport{Conn: &udpSocket{UDPConn: u}}
	n.sockets[v4] = t
	return t, nil
}

// track watches h until it ends. It returns false if the Pool is closed.
func (n *quicDialer) track(h *h3Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return false
	}
	n.conns[h] = struct{}{}
	h.http.Store(n.http.NewClientConn(h.quic))
	n.work.Go(func() {
		<-h.quic.Context().Done()
		h.ended()
		n.mu.Lock()
		delete(n.conns, h)
		n.mu.Unlock()
	})
	return true
}

func (n *quicDialer) close() {
	n.mu.Lock()
	n.closed = true
	var closing sync.WaitGroup
	for h := range n.conns {
		closing.Go(func() { h.Close() })
	}
	n.mu.Unlock()
	closing.Wait()
	n.work.Wait()
	for _, t := range n.sockets {
		t.Close() // closes the connections of the socket as well
		t.Conn.Close()
	}
}

// A udpSocket keeps quic-go from printing a warning if the system limits buffers. It hides the
// buffers' size until quic-go has tried to enlarge them.
type udpSocket struct {
	*net.UDPConn
	enlarged bool
}

func (s *udpSocket) SyscallConn() (syscall.RawConn, error) {
	if !s.enlarged {
		return nil, errNotYet
	}
	return s.UDPConn.SyscallConn()
}

var errNotYet = errors.New("not yet")

func (s *udpSocket) SetReadBuffer(bytes int) error {
	_ = s.UDPConn.SetReadBuffer(bytes) // ignore the error: smaller buffers work as well
	return nil
}

func (s *udpSocket) SetWriteBuffer(bytes int) error {
	_ = s.UDPConn.SetWriteBuffer(bytes)
	s.enlarged = true
	return nil
}
