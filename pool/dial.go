package pool

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"time"
)

// A dialer makes single connections. All of them come from one
// [http.Transport] that is used for nothing else.
type dialer struct {
	cfg       Config
	transport *http.Transport
	dial      func(ctx context.Context, network, address string) (net.Conn, error)
	tls       *tlsConfigs
}

func newDialer(c Config, sessions SessionStore) (*dialer, error) {
	d := &dialer{cfg: c, dial: c.Dial}
	var protocols http.Protocols
	names := c.Protocols
	if len(names) == 0 {
		names = []string{protoHTTP2, protoHTTP1}
	}
	for _, name := range names {
		switch name {
		case protoHTTP1:
			protocols.SetHTTP1(true)
		case protoHTTP2:
			protocols.SetHTTP2(true)
		default:
			return nil, fmt.Errorf("pool: unknown protocol %q", name)
		}
	}
	d.tls = newTLSConfigs(c, names, sessions)
	if d.dial == nil {
		d.dial = (&net.Dialer{Timeout: c.ConnectTimeout}).DialContext
	}
	d.transport = &http.Transport{
		DialContext:        d.dialPlain,
		DialTLSContext:     d.dialTLS,
		DisableKeepAlives:  c.single(),
		DisableCompression: true, // the Pool knows better when to ask for it
		Protocols:          &protocols,
		HTTP2: &http.HTTP2Config{
			// Every request has another path: indexing it costs more than it saves.
			MaxEncoderHeaderTableSize: 1,
			SendPingTimeout:           5 * time.Second,
			PingTimeout:               4 * time.Second,
		},
	}
	return d, nil
}

// dialing travels in the context through NewClientConn to the functions that
// make the connection, and brings back what they learned.
type dialing struct {
	key   originKey
	dial  *dial
	setup setup
	err   *Error
}

type dialingKey struct{}

// connect makes one connection to key.
func (p *Pool) connect(ctx context.Context, key originKey, d *dial) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.ConnectTimeout+p.cfg.HandshakeTimeout)
	defer cancel()
	g := &dialing{key: key, dial: d}
	cc, err := p.dialer.transport.NewClientConn(context.WithValue(ctx, dialingKey{}, g), key.scheme, key.address())
	if err != nil {
		if g.err != nil {
			return nil, g.err
		}
		return nil, &Error{Step: StepHandshake, Origin: key.String(), Err: err}
	}
	protocol := protoHTTP1
	if g.setup.alpn == protoHTTP2 {
		protocol = protoHTTP2
	}
	return newConn(p.lastConn.Add(1), tcpCarrier{cc}, g.setup, protocol), nil
}

func (d *dialer) dialPlain(ctx context.Context, network, address string) (net.Conn, error) {
	g := ctx.Value(dialingKey{}).(*dialing)
	fail := func(step Step, err error) (net.Conn, error) {
		g.err = &Error{Step: step, Origin: g.key.String(), Err: err}
		return nil, g.err
	}
	ctx, cancel := context.WithTimeout(ctx, d.cfg.ConnectTimeout)
	defer cancel()
	var resolving, resolved time.Time
	g.dial.at(StepConnect)
	start := time.Now()
	nc, err := d.dial(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { g.dial.at(StepResolve); resolving = time.Now() },
		DNSDone:  func(httptrace.DNSDoneInfo) { g.dial.at(StepConnect); resolved = time.Now() },
	}), network, address)
	if err != nil {
		if dns := (*net.DNSError)(nil); errors.As(err, &dns) {
			return fail(StepResolve, err)
		}
		return fail(g.dial.step.Load().(Step), err)
	}
	g.setup.dns = resolved.Sub(resolving)
	g.setup.tcp = time.Since(start) - g.setup.dns
	g.setup.raw = &countingConn{Conn: nc}
	if a := nc.RemoteAddr(); a != nil {
		g.setup.remote = a.String()
	}
	return g.setup.raw, nil
}

func (d *dialer) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	nc, err := d.dialPlain(ctx, network, address)
	if err != nil {
		return nil, err
	}
	g := ctx.Value(dialingKey{}).(*dialing)
	g.dial.at(StepHandshake)
	ctx, cancel := context.WithTimeout(ctx, d.cfg.HandshakeTimeout)
	defer cancel()
	gather := newWriteBehind(nc)
	tc := tls.Client(gather, d.tls.of(g.key))
	start := time.Now()
	if err := tc.HandshakeContext(ctx); err != nil {
		nc.Close()
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		g.err = &Error{Step: StepHandshake, Origin: g.key.String(), Err: err}
		return nil, g.err
	}
	g.setup.tls = time.Since(start)
	state := tc.ConnectionState()
	g.setup.version, g.setup.resumed, g.setup.alpn = state.Version, state.DidResume, state.NegotiatedProtocol
	if g.setup.alpn == protoHTTP2 && !d.cfg.WriteThrough {
		gather.behind()
	}
	return tc, nil
}
