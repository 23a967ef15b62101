package pool

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"slices"
	"time"
)

// maxHeader limits the size of a response header, in bytes.
const maxHeader = 256 << 10

// A dialer makes single connections. Dedicated [http.Transport]s speak HTTP/1.1 and HTTP/2 on
// them.
type dialer struct {
	cfg          Config
	http1        *http.Transport
	http2        *http.Transport
	shortLived   *http.Transport // http2 for connections that are likely to be closed soon
	singleUse    *http.Transport // http2 for connections that are likely to carry one request
	network      string          // "tcp", "tcp4" or "tcp6"
	plain, fast  *net.Dialer     // fast enables TCP Fast Open
	resolver     *resolver
	trustWindows bool // for tests
	tls          *tlsConfigs
}

func newDialer(c Config, sessions sessionStore) (*dialer, error) {
	d := &dialer{cfg: c, network: "tcp", resolver: newResolver(c)}
	if err := d.configure(); err != nil {
		return nil, err
	}
	names := c.Protocols
	if len(names) == 0 {
		names = []string{protoHTTP2, protoHTTP1}
	}
	for _, name := range names {
		switch name {
		case protoHTTP1, protoHTTP2:
		case protoHTTP3: // QUIC has its own dialer
		default:
			return nil, configError("Protocols", "unknown protocol %q", name)
		}
	}
	d.tls = newTLSConfigs(c, names, sessions)
	d.http1, d.http2, d.shortLived, d.singleUse = d.transport(), d.transport(), d.transport(), d.transport()
	d.http1.Protocols.SetHTTP1(true)
	// The transport does no TLS: the connections it gets have negotiated HTTP/2.
	d.http2.Protocols.SetUnencryptedHTTP2(true)
	// net/http keeps a closed HTTP/2 connection in memory (about 40 kB) until the timer of its
	// next ping has run out. It also keeps the connection for five seconds or IdleConnTimeout
	// after the last response. While connections are often evicted, new connections have no
	// pings and end after a second.
	d.shortLived.Protocols.SetUnencryptedHTTP2(true)
	d.shortLived.IdleConnTimeout = time.Second
	d.shortLived.HTTP2.SendPingTimeout = 0
	d.singleUse.Protocols.SetUnencryptedHTTP2(true)
	d.singleUse.IdleConnTimeout = 100 * time.Millisecond
	d.singleUse.HTTP2.SendPingTimeout = 0
	return d, nil
}

// transport returns a transport that speaks HTTP on existing connections.
func (d *dialer) transport() *http.Transport {
	made := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return ctx.Value(dialStateKey{}).(*dialState).conn, nil
	}
	return &http.Transport{
		DialContext:        made,
		DialTLSContext:     made,
		Proxy:              forwardProxy,
		DisableKeepAlives:  d.cfg.noReuse(),
		DisableCompression: true, // the Pool decides when to request gzip
		// Limit of the wait for a response with status 100, as in http.DefaultTransport.
		ExpectContinueTimeout: time.Second,
		Protocols:             new(http.Protocols),
		// RDAP servers need no more.
		MaxResponseHeaderBytes: maxHeader,
		HTTP2: &http.HTTP2Config{
			// Limit per stream. With net/http's 4 MB, eight endless bodies take 74 MiB.
			MaxReceiveBufferPerStream: 1 << 20,
			// A stream that has ended may still be counted for a moment.
			StrictMaxConcurrentRequests: true,
			// Every request has another path, so indexing costs more than it saves.
			MaxEncoderHeaderTableSize: 1,
			SendPingTimeout:           d.cfg.DeadAfter * 5 / 9,
			PingTimeout:               d.cfg.DeadAfter * 4 / 9,
		},
	}
}

// A dialState is passed in the context to the functions that make a connection, and
// returns their results.
type dialState struct {
	key   originKey
	dial  *dial
	tls   *clientTLS // nil means an http origin
	setup setup
	conn  *observedConn // passed to net/http
	err   *Error
}

// setStep records the current step, so that a request that gives up can report it.
func (g *dialState) setStep(s Step) {
	if g.key.proxy != (proxy{}) && s != StepHandshake {
		s = StepProxy
	}
	g.dial.setStep(s)
}

type dialStateKey struct{}

// makeConn makes one connection to key.
func (p *Pool) makeConn(ctx context.Context, key originKey, d *dial) (*conn, error) {
	switch {
	case d.h3 != nil:
		return p.h3.connect(ctx, key, d)
	case p.onlyH3:
		return nil, &Error{Step: StepConnect, Origin: key.String(), Err: errH3Unsupported}
	}
	if d.http1 && key.scheme == "https" && !p.dialer.offers(protoHTTP1) {
		return nil, &Error{Step: StepHandshake, Origin: key.String(), Err: errOnlyHTTP1}
	}
	ctx, cancel := context.WithTimeout(ctx, p.cfg.ConnectTimeout)
	defer cancel()
	g := &dialState{key: key, dial: d}
	ctx = context.WithValue(ctx, dialStateKey{}, g)
	open := p.dialer.dialPlain
	if key.scheme == "https" {
		open = p.dialer.dialTLS
	}
	nc, err := open(ctx, "", "")
	var cc *http.ClientConn
	if err == nil {
		g.conn = newObservedConn(nc, g.setup)
		g.conn.uploads.Store(p.dialer.trustWindows)
		speaks := p.dialer.http1
		if g.conn.h2 {
			switch speaks = p.dialer.http2; {
			case p.limiter.lowReuse():
				speaks = p.dialer.singleUse
			case p.limiter.evictingNow():
				speaks = p.dialer.shortLived
			}
		}
		cc, err = speaks.NewClientConn(ctx, key.scheme, key.address())
	}
	if err != nil {
		if g.conn != nil {
			g.conn.Close()
		}
		if g.err != nil {
			return nil, g.err
		}
		return nil, &Error{Step: StepHandshake, Origin: key.String(), Err: err}
	}
	protocol := protoHTTP1
	if g.conn.h2 {
		protocol = protoHTTP2
	}
	return newConn(p.lastConn.Add(1), newTCPClientConn(cc, g.conn), g.setup, protocol), nil
}

// dialPlain, dialTLS and dialOrigin connect to the origin in the dialState, through its proxy
// if necessary.
func (d *dialer) dialPlain(ctx context.Context, _, _ string) (net.Conn, error) {
	return d.dialOrigin(ctx, "", "", nil)
}

// dialOrigin connects and, to an https origin, performs the handshake that side
// describes.
func (d *dialer) dialOrigin(ctx context.Context, _, _ string, side *clientTLS) (net.Conn, error) {
	g := ctx.Value(dialStateKey{}).(*dialState)
	g.tls = side
	l, err := d.connect(ctx, g)
	if err != nil {
		g.setup = err.setup
		if g.setup.raw == nil {
			g.setup.raw = &countingConn{} // keeps the byte counts available to callers
		}
		cause := err.err
		if errors.Is(ctx.Err(), context.Canceled) {
			cause = context.Cause(ctx) // the end of ctx closed the connection
		}
		g.err = &Error{Step: err.step, Origin: g.key.String(), Err: cause}
		return nil, g.err
	}
	g.setup = l.setup
	return l.Conn, nil
}

// connect makes a connection, including proxy and TLS.
func (d *dialer) connect(ctx context.Context, g *dialState) (*rawConn, *stepError) {
	near, cancel := context.WithTimeout(ctx, d.cfg.ConnectTimeout)
	defer cancel()
	l, err := d.dialTCP(near, ctx, g)
	if err != nil {
		if x := g.key.proxy; x != (proxy{}) && err.step != StepHandshake {
			if _, ok := err.err.(*ProxyError); !ok {
				err.err = &ProxyError{Proxy: x.String(), Err: err.err}
			}
			err.step = StepProxy
		}
		return nil, err
	}
	return l, nil
}

// handshake completes l: the proxy's tunnel, then TLS. If it fails, it closes l.
func (d *dialer) handshake(near, far context.Context, g *dialState, l *rawConn) *stepError {
	fail := func(step Step, err error) *stepError {
		l.setup.raw.Close()
		return &stepError{step, err, l.setup}
	}
	if g.key.proxy != (proxy{}) {
		g.setStep(StepProxy)
		l.setup.proxied = true
		if err := d.connectViaProxy(near, g.key, l); err != nil {
			return fail(StepProxy, err)
		}
	}
	l.ready = true
	if g.key.scheme != "https" {
		return nil
	}
	g.setStep(StepHandshake)
	ctx, cancel := context.WithTimeout(far, d.cfg.HandshakeTimeout)
	defer cancel()
	gather := newWriteBehind(l.Conn)
	config, offer := g.tls.config(g.dial.siblings())
	if g.dial.http1 {
		config.NextProtos = []string{protoHTTP1}
	}
	tc := tls.Client(gather, config)
	start := time.Now()
	err := tc.HandshakeContext(ctx)
	l.setup.tls = time.Since(start)
	if err != nil {
		l.setup.offer = offer
		if offer != nil && l.setup.raw.out.Load() == 0 {
			offer.returnUnused() // the server has not seen the session
		}
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return fail(StepHandshake, err)
	}
	if offer != nil {
		offer.session = nil // the session is used up; the connection keeps its configuration
	}
	state := tc.ConnectionState()
	l.setup.version, l.setup.resumed, l.setup.alpn = state.Version, state.DidResume, state.NegotiatedProtocol
	if l.setup.alpn == protoHTTP2 && !d.cfg.WriteThrough {
		gather.start()
	}
	l.Conn, l.setup.secure = tc, tc
	return nil
}

// offers reports whether a protocol is offered over TCP.
func (d *dialer) offers(protocol string) bool {
	return slices.Contains(d.tls.base.NextProtos, protocol)
}

func (d *dialer) speaksOnlyHTTP1() bool {
	return slices.Equal(d.tls.base.NextProtos, []string{protoHTTP1})
}

// connect makes a connection within the limit MaxConns.
func (p *Pool) connect(ctx context.Context, key originKey, d *dial) (*conn, error) {
	for attempt := 0; ; attempt++ {
		c, err := p.connectLimited(ctx, key, d)
		if err == nil || attempt == maxDialRetries || !outOfDescriptors(err) {
			return c, err
		}
		p.cfg.Logger.Debug("out of descriptors", "origin", key.String())
		p.limiter.reduce()
		select {
		case <-time.After(10 * time.Millisecond << attempt):
		case <-ctx.Done():
			return nil, err
		}
	}
}

func (p *Pool) connectLimited(ctx context.Context, key originKey, d *dial) (*conn, error) {
	d.setStep(StepQueue)
	if err := p.limiter.acquire(ctx); err != nil {
		return nil, &Error{Step: StepQueue, Origin: key.String(), Err: err}
	}
	d.setStep(StepConnect)
	c, err := p.makeConnBounded(ctx, key, d)
	if err != nil {
		p.limiter.release(dialWeight)
		return nil, err
	}
	c.noGzip = p.cfg.DisableCompression
	if c.origin = d.origin; c.protocol == protoHTTP1 && !p.cfg.noReuse() {
		c.seq = newSequence(c.origin, c)
		c.cc.(*tcpClientConn).raw.seq.Store(c.seq)
	}
	p.limiter.release(dialWeight - 1)
	c.onClosed(func() { p.limiter.closed(c) })
	return c, nil
}

// abandonAfter is how long a function may run after its context ended: of this package, of a
// dependency, or of Config.
const abandonAfter = 500 * time.Millisecond

// makeConnBounded is like makeConn, but returns when the context or its time limit has
// ended.
func (p *Pool) makeConnBounded(ctx context.Context, key originKey, d *dial) (*conn, error) {
	type result struct {
		c   *conn
		err error
	}
	ctx, cancel := context.WithTimeout(ctx, p.cfg.ConnectTimeout)
	defer cancel()
	done := make(chan result, 1)
	go func() {
		c, err := p.makeConn(ctx, key, d)
		done <- result{c, err}
	}()
	select {
	case r := <-done:
		return r.c, r.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(abandonAfter)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.c, r.err
	case <-timer.C:
	}
	go func() {
		if r := <-done; r.c != nil {
			r.c.cc.Close()
		}
	}()
	step, ok := d.step.Load().(Step)
	if !ok {
		step = StepConnect
	}
	return nil, &Error{Step: step, Origin: key.String(), Err: context.Cause(ctx)}
}
