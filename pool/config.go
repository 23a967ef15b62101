package pool

import (
	"context"
	"crypto/tls"
	"log/slog"
	"math"
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
	DefaultDrainTimeout     = 500 * time.Millisecond
	DefaultMaxSessions      = 1024
)

// A Config configures a [Pool]. The zero value is ready to use.
type Config struct {
	// TLS is the configuration of all TLS connections. The Pool sets ServerName,
	// NextProtos and ClientSessionCache itself. Nil means Go's defaults.
	TLS *tls.Config

	// Trust identifies what TLS trusts: for RootCAs from a file, use a hash of that file. TLS
	// sessions are resumed only between Pools with the same Trust. Empty stands for the
	// system's authorities, or for InsecureSkipVerify. If Trust is empty and TLS has RootCAs,
	// VerifyPeerCertificate or GetClientCertificate, the Pool keeps sessions in its memory and
	// never writes them to Sessions.
	Trust string

	// Protocols are the ALPN names to offer: "http/1.1", "h2" and "h3". Empty means the first
	// two.
	//
	// With "h3" and others, a new connection is made over HTTP/3 if the origin's Alt-Svc field
	// has offered it (RFC 7838), the queue is shallow, and HTTP/3 has not failed recently. TCP
	// is dialed after HeadStart. A request that fails over HTTP/3 is sent over TCP. If TCP
	// gives a useful response (any status except 421, 429 and 5xx), HTTP/3 is not used for 5
	// minutes, doubling to 24 hours with each failure in a row; see Origins. An alternative at
	// another host must have a certificate for the origin. The Pool ignores alternatives at
	// ports below 1024 other than 443. HTTP/3 is never used through a proxy, nor with Dial,
	// NoReuse or FreshConns.
	//
	// With "h3" alone, http origins and origins behind a proxy are an error, and Dial cannot be
	// set.
	Protocols []string

	// MaxConnsPerHost limits the HTTP/1.1 connections to one origin. 0 means
	// DefaultMaxConnsPerHost; a negative value means no limit but MaxConns.
	MaxConnsPerHost int

	// MaxHTTP2Conns limits the HTTP/2 connections to one origin. 0 means
	// DefaultMaxHTTP2Conns; with 1 all requests share one connection.
	MaxHTTP2Conns int

	// MaxConns limits the connections to all origins, dials included. At the limit, the
	// connection that has been idle longest is closed, or a new connection waits. At
	// most a quarter of the connections are idle. 0 means three quarters of the file
	// descriptors that the process may have (RLIMIT_NOFILE, 8,192 at most). The minimum
	// is 16.
	MaxConns int

	// NoReuse sends each request on a new connection, without session resumption, and closes
	// the connection afterwards. Each concurrent request has a connection.
	NoReuse bool

	// FreshConns is like NoReuse, but with session resumption and early data, to measure the
	// effect of these features.
	FreshConns bool

	// ConnectTimeout limits the set-up of a connection: name resolution, TCP, the proxy
	// and TLS. HandshakeTimeout limits the TLS handshake alone. 0 means the defaults.
	ConnectTimeout   time.Duration
	HandshakeTimeout time.Duration

	// ResponseHeaderTimeout limits the wait for the header of a response, from the time
	// when the request is written with its body. Its error has a Timeout method and
	// matches [context.DeadlineExceeded]; the request is not retried, except over TCP
	// after HTTP/3. 0 means no limit.
	ResponseHeaderTimeout time.Duration

	// DrainTimeout limits how long Close of a response body reads the rest of it, 64 kB at
	// most, so that an HTTP/1.1 connection can be reused. Close itself waits for 25 ms of
	// it. 0 means DefaultDrainTimeout; with a negative value the connection is closed.
	DrainTimeout time.Duration

	// DisableCompression keeps the Pool from requesting gzip. By default it does, except
	// from loopback addresses, unless the request has an Accept-Encoding or Range field,
	// and decodes the response (see [http.Response.Uncompressed]).
	DisableCompression bool

	// MaxConnAge is the age from which a connection gets no new request. It is closed
	// when the requests in flight have ended. 0 means no limit.
	MaxConnAge time.Duration

	// IdleTimeout is how long a connection may be idle before it is closed. 0 means
	// DefaultIdleTimeout.
	IdleTimeout time.Duration

	// DeadAfter is how long the Pool takes to detect, and close, a connection whose peer has
	// disappeared. The Pool uses pings over HTTP/2, and the operating system over HTTP/1.1, in
	// whole seconds. A server that is slow to respond has not disappeared. 0 means
	// DefaultDeadAfter.
	DeadAfter time.Duration

	// Sessions stores TLS sessions for resumption, for example a [SessionFile]. Nil means a
	// store in memory with MaxSessions. The Pool does not close the store, nor use it in the
	// cases described at Trust.
	Sessions SessionStore

	// MaxSessions limits the sessions in memory, one per origin. 0 means
	// DefaultMaxSessions; a negative value turns resumption off.
	MaxSessions int

	// NoEarlyData keeps requests out of HTTP/3's first flight (0-RTT). By default a GET or HEAD
	// without credentials goes out as early data if a session of the origin permits that.
	// Credentials are a client certificate, or a field such as Authorization, Cookie or an API
	// key.
	NoEarlyData bool

	// HeadStart is how long HTTP/3 may take, from its first packet, before TCP is dialed as
	// well; the first connection made is used. After the same time, a request on an HTTP/3
	// connection without a useful response so far is sent over TCP as well. The default 0 means
	// 300 ms, or one and a half round trips (three for a response) if that time is known and
	// longer, but at most 1 s.
	HeadStart time.Duration

	// Origins stores learned properties of origins; an [OriginFile] is one implementation. Nil
	// means a store in memory. The Pool does not close the store.
	Origins OriginStore

	// FastOpen enables TCP Fast Open (RFC 7413). It limits the key exchanges to X25519 and
	// P-256, unless TLS names others, so that the ClientHello fits into the SYN. The first
	// connection to a server gets the server's cookie. If the kernel or the network path does
	// not support Fast Open, connections are made as usual. New fails on systems other than
	// Linux, and with Dial.
	FastOpen bool

	// Network restricts the addresses dialed: "tcp4", "tcp6", or empty for both.
	Network string

	// LocalAddr is the source address of connections; only addresses of its family are dialed.
	// The zero value lets the system choose. LocalAddr cannot be combined with Dial, or with a
	// Network of the other family.
	LocalAddr netip.Addr

	// Resolve maps a host and port in lower case ("rdap.example:443") to addresses, and
	// overrides name resolution.
	Resolve map[string][]netip.Addr

	// AllowPrivate turns off the guard of [WithGuard], for test labs.
	AllowPrivate bool

	// Proxy returns the proxy for a request, as [http.ProxyFromEnvironment] does: http,
	// https, socks5 or socks5h, with credentials if the proxy needs them. Nil, or a nil
	// URL, means no proxy. Each pair of origin and proxy has its own connections. The
	// proxy resolves names; Network, LocalAddr, Resolve and Dial apply to the proxy
	// itself. HTTP/3 is not used through a proxy.
	Proxy func(*http.Request) (*url.URL, error)

	// ClientCertificate returns the client certificate for an origin ("https://rdap.example",
	// with the port only if it is not the default), or nil. identity names the certificate; if
	// empty, the Pool uses the certificate's hash. The function is called once per origin. See
	// [LoadClientCertificate].
	ClientCertificate func(origin string) (cert *tls.Certificate, identity string)

	// OnEvent is called for each [Event], in order and one at a time. The Pool calls it from a
	// goroutine that no request waits for, and without a lock, so OnEvent may call the Pool.
	// While a call blocks, up to 1,024 events and log records are queued; later ones are
	// dropped. Pool.Close waits for the calls, for less than a second.
	OnEvent func(Event)

	// WriteThrough turns off the write buffer of HTTP/2 connections. By default the
	// concurrent writes of several requests are sent together, which saves a third of the
	// CPU time of a busy connection.
	WriteThrough bool

	// Dial makes TCP connections in place of a [net.Dialer]. Dial gets a host name and has to
	// resolve it. If Resolve has addresses for the name, the Pool passes these one by one, as
	// without Dial (RFC 8305).
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Logger logs connections and retries at debug level. The calls follow the same rules as
	// those of OnEvent. Nil logs nothing.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	orDefault := func(v *time.Duration, d time.Duration) {
		if *v <= 0 {
			*v = d
		}
	}
	switch {
	case c.MaxConnsPerHost == 0:
		c.MaxConnsPerHost = DefaultMaxConnsPerHost
	case c.MaxConnsPerHost < 0:
		c.MaxConnsPerHost = math.MaxInt
	}
	if c.DrainTimeout == 0 {
		c.DrainTimeout = DefaultDrainTimeout
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

// noReuse reports whether each request has its own connection.
func (c *Config) noReuse() bool { return c.NoReuse || c.FreshConns }
