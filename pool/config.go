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
	DefaultDeadAfter        = 9 * time.Second
	DefaultMaxSessions      = 1024
)

// A Config says how a [Pool] behaves. The zero value is ready to use.
type Config struct {
	// TLS is the configuration of all TLS connections; ServerName, NextProtos
	// and ClientSessionCache are set by the Pool. Nil means Go's defaults.
	TLS *tls.Config

	// Trust names what TLS trusts: for RootCAs from a file, a hash of that file.
	// Sessions are resumed only under the same name, and under settings that
	// have none they stay in this Pool, whatever Sessions is. Empty is a name of
	// its own for the system's authorities and for InsecureSkipVerify, but none
	// where TLS has RootCAs, VerifyPeerCertificate or GetClientCertificate.
	Trust string

	// Protocols are the ALPN names to offer: "http/1.1", "h2" and "h3". Empty
	// means the first two.
	//
	// With "h3" beside others a new connection is made over HTTP/3 if the
	// origin's Alt-Svc field has offered that (RFC 7838), the queue is shallow,
	// and HTTP/3 did not fail lately; TCP is used beside it, see HeadStart.
	// A request that fails over HTTP/3 is sent over TCP. If TCP gives a useful
	// response (any status except 421, 429 and 5xx), HTTP/3 is not used for 5
	// minutes, doubling to 24 hours with each failure in a row; see Facts. An
	// alternative at another host must prove that it may speak for the origin, and
	// ports other than 443 and those above 1023 are ignored.
	// HTTP/3 is never used through a proxy, nor with Dial, NoReuse or FreshConns.
	// "h3" alone speaks nothing else: http origins, and those behind a proxy,
	// are an error then, and Dial excludes it.
	Protocols []string

	// MaxConnsPerHost bounds the HTTP/1.1 connections to one origin.
	// 0 means DefaultMaxConnsPerHost.
	MaxConnsPerHost int

	// MaxHTTP2Conns bounds the HTTP/2 connections to one origin.
	// 0 means DefaultMaxHTTP2Conns, 1 means that all requests share one.
	MaxHTTP2Conns int

	// MaxConns bounds the connections to all origins, dials included. When it is
	// reached, the connection that has been idle for longest is closed, or a new
	// connection waits. At most a quarter of them is idle. 0 means three quarters of the descriptors that the process
	// may have (RLIMIT_NOFILE, 8,192 at most). It is at least 16.
	MaxConns int

	// NoReuse sends each request on exactly one new connection without
	// session resumption and closes it afterwards. Such connections are as
	// many as the requests at once.
	NoReuse bool

	// FreshConns is NoReuse with session resumption and early data allowed, so
	// that the effect of each can be told apart.
	FreshConns bool

	// ConnectTimeout bounds the set-up of a connection: name resolution, TCP, the
	// proxy and TLS. HandshakeTimeout bounds the TLS handshake alone. 0 means the
	// defaults.
	ConnectTimeout   time.Duration
	HandshakeTimeout time.Duration

	// MaxConnAge is the age from which a connection gets no new request; it is
	// closed when those in flight have ended. 0 means no limit.
	MaxConnAge time.Duration

	// IdleTimeout closes a connection that carried nothing for so long.
	// 0 means DefaultIdleTimeout.
	IdleTimeout time.Duration

	// DeadAfter is the time in which a connection to a peer that has gone without
	// a word is noticed, and closed: over HTTP/2 by pings, over HTTP/1.1 by the
	// system, which counts in seconds. A server that is only slow to answer has
	// not gone. 0 means DefaultDeadAfter.
	DeadAfter time.Duration

	// Sessions keeps TLS sessions for resumption, for example a [SessionFile].
	// Nil means a store in memory that holds MaxSessions. The Pool does not
	// close it. See Trust for when it is left unused.
	Sessions SessionStore

	// MaxSessions bounds the sessions kept in memory, one for each origin.
	// 0 means DefaultMaxSessions, negative means that none is resumed.
	MaxSessions int

	// NoEarlyData keeps requests out of HTTP/3's first flight (0-RTT). Without
	// it a GET or HEAD without credentials goes out as early data where a
	// session of the origin permits that: no client certificate, and no field
	// like Authorization, Cookie or an API key.
	NoEarlyData bool

	// HeadStart is how long HTTP/3 is waited for, once its first packet is out,
	// before TCP is dialed beside it; whichever is there first is used. A request on
	// a connection over HTTP/3 that gave no useful response yet is sent over TCP as
	// well after that time. 0 means 300 ms, or one and a half round trips (three for
	// a response) if that is more and known, and 1 s at most.
	HeadStart time.Duration

	// Origins keeps what was learned about origins, for example a [OriginFile]. Nil
	// means a store in memory. The Pool does not close it.
	Origins OriginStore

	// FastOpen asks for TCP Fast Open (RFC 7413) and offers the key exchanges
	// X25519 and P-256 alone, unless TLS names others, so that the ClientHello
	// fits into the SYN. A server's cookie is earned by the first connection;
	// where the kernel or the path refuses, connections are made as usual. Linux
	// only, and not with Dial: otherwise New fails.
	FastOpen bool

	// Network restricts the addresses dialed: "tcp4", "tcp6", or empty for both.
	Network string

	// LocalAddr is the source address of connections; only addresses of its
	// family are dialed. The zero value leaves the choice to the system. It
	// can't be had with Dial or with a Network of the other family.
	LocalAddr netip.Addr

	// Resolve gives the addresses of a host and port ("rdap.example:443"),
	// lower case, in place of name resolution.
	Resolve map[string][]netip.Addr

	// AllowPrivate turns the guard of [WithGuard] off, for laboratories.
	AllowPrivate bool

	// Proxy returns the proxy for a request, as [http.ProxyFromEnvironment]
	// does: http, https, socks5 or socks5h, with credentials if the proxy asks
	// for them. Nil, and a nil URL, mean none. Connections are kept for each
	// origin and proxy. Names are resolved by the proxy; Network, LocalAddr,
	// Resolve and Dial are about reaching it. There is no HTTP/3 through it.
	Proxy func(*http.Request) (*url.URL, error)

	// ClientCertificate returns the client certificate for an origin
	// ("https://rdap.example", the port only if it isn't the usual one), and a
	// name of that identity or "" for the hash of the certificate; nil for none.
	// It is called once for each origin. See [LoadClientCertificate].
	ClientCertificate func(origin string) (cert *tls.Certificate, identity string)

	// OnEvent is called for each [Event], in order and one at a time, from a
	// goroutine that no request waits for. While a call does not return, up to 1,024
	// events and log records wait for it; more are dropped. Pool.Close waits for the
	// calls, for less than a second.
	OnEvent func(Event)

	// WriteThrough sends what HTTP/2 writes piece by piece, as net/http does
	// it. Without it what several requests write at the same time goes out
	// together, which takes a third off the CPU of a busy connection.
	WriteThrough bool

	// Dial makes TCP connections in place of a [net.Dialer]. It gets the name of
	// the host, and looks it up itself, unless Resolve has addresses for it,
	// which are then dialed in turn as they are without Dial (RFC 8305).
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Logger logs connections and retries at debug level, as OnEvent is called. Nil
	// is silent.
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
	if c.MaxConns <= 0 {
		c.MaxConns = defaultMaxConns()
	}
	c.MaxConns = max(c.MaxConns, minConns)
	if c.MaxSessions == 0 {
		c.MaxSessions = DefaultMaxSessions
	}
	orDefault(&c.ConnectTimeout, DefaultConnectTimeout)
	orDefault(&c.HandshakeTimeout, DefaultHandshakeTimeout)
	orDefault(&c.IdleTimeout, DefaultIdleTimeout)
	orDefault(&c.DeadAfter, DefaultDeadAfter)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// noReuse reports whether each request has a connection of its own.
func (c *Config) noReuse() bool { return c.NoReuse || c.FreshConns }
