package pool

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// Defaults of a [Config].
const (
	DefaultMaxConnsPerHost  = 4
	DefaultMaxHTTP2Conns    = 8
	DefaultConnectTimeout   = 10 * time.Second
	DefaultHandshakeTimeout = 10 * time.Second
	DefaultIdleTimeout      = 90 * time.Second
	DefaultMaxSessions      = 1024
)

// A Config says how a [Pool] behaves. The zero value is ready to use.
type Config struct {
	// TLS is the configuration of all TLS connections; ServerName, NextProtos
	// and ClientSessionCache are set by the Pool. Nil means Go's defaults.
	TLS *tls.Config

	// Protocols are the ALPN names to offer: "http/1.1", "h2" and "h3". Empty
	// means the first two. With "h3" beside others an origin is asked over
	// HTTP/3 once its Alt-Svc field has offered that (RFC 7838), and where it
	// wins; "h3" alone speaks nothing else.
	Protocols []string

	// MaxConnsPerHost bounds the HTTP/1.1 connections to one origin.
	// 0 means DefaultMaxConnsPerHost.
	MaxConnsPerHost int

	// MaxHTTP2Conns bounds the HTTP/2 connections to one origin.
	// 0 means DefaultMaxHTTP2Conns, 1 means that all requests share one.
	MaxHTTP2Conns int

	// NoReuse sends each request on exactly one new connection without
	// session resumption and closes it afterwards. Such connections are as
	// many as the requests at once.
	NoReuse bool

	// FreshConns is NoReuse with session resumption and early data allowed, so
	// that the effect of each can be told apart.
	FreshConns bool

	// ConnectTimeout bounds name resolution and TCP set-up, HandshakeTimeout
	// the TLS handshake. 0 means the defaults.
	ConnectTimeout   time.Duration
	HandshakeTimeout time.Duration

	// IdleTimeout closes a connection that carried nothing for so long.
	// 0 means DefaultIdleTimeout.
	IdleTimeout time.Duration

	// Sessions keeps TLS sessions for resumption. Nil means a store in memory
	// that holds MaxSessions.
	Sessions SessionStore

	// MaxSessions bounds the sessions kept in memory, one for each origin.
	// 0 means DefaultMaxSessions, negative means that none is resumed.
	MaxSessions int

	// NoEarlyData keeps requests out of HTTP/3's first flight (0-RTT). Without
	// it a GET or HEAD without credentials goes out as early data where a
	// session of the origin permits that.
	NoEarlyData bool

	// FastOpen asks for TCP Fast Open (RFC 7413, Linux only) and offers the key
	// exchanges X25519 and P-256 alone, so that the ClientHello fits into the
	// SYN. Where the kernel or the path refuses, connections are made as usual.
	FastOpen bool

	// Network restricts the addresses dialed: "tcp4", "tcp6", or empty for both.
	Network string

	// LocalAddr is the source address of connections; the zero value leaves
	// the choice to the system.
	LocalAddr netip.Addr

	// Resolve gives the addresses of a host and port ("rdap.example:443"),
	// lower case, in place of name resolution.
	Resolve map[string][]netip.Addr

	// Proxy returns the proxy for a request, as [http.ProxyFromEnvironment]
	// does: http, https, socks5 or socks5h. Nil means none. Through a proxy
	// there is no HTTP/3.
	Proxy func(*http.Request) (*url.URL, error)

	// ClientCertificate returns the client certificate for an origin
	// ("https://rdap.example", the port only if it isn't the usual one) and a
	// name of that identity; nil for none. It is called once for each origin.
	ClientCertificate func(origin string) (cert *tls.Certificate, identity string)

	// OnEvent is called for each [Event], from the goroutine it happens in. It
	// must return quickly and must not use the Pool.
	OnEvent func(Event)

	// WriteThrough sends what HTTP/2 writes piece by piece, as net/http does
	// it. Without it what several requests write at the same time goes out
	// together, which takes a third off the CPU of a busy connection.
	WriteThrough bool

	// Dial makes TCP connections in place of a [net.Dialer].
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Logger tells about connections and retries at debug level. Nil is silent.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	orDefault := func(v *time.Duration, d time.Duration) {
		if *v <= 0 {
			*v = d
		}
	}
	if c.MaxConnsPerHost <= 0 {
		c.MaxConnsPerHost = DefaultMaxConnsPerHost
	}
	if c.MaxHTTP2Conns <= 0 {
		c.MaxHTTP2Conns = DefaultMaxHTTP2Conns
	}
	if c.MaxSessions == 0 {
		c.MaxSessions = DefaultMaxSessions
	}
	orDefault(&c.ConnectTimeout, DefaultConnectTimeout)
	orDefault(&c.HandshakeTimeout, DefaultHandshakeTimeout)
	orDefault(&c.IdleTimeout, DefaultIdleTimeout)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// single reports whether each request has a connection of its own.
func (c *Config) single() bool { return c.NoReuse || c.FreshConns }
