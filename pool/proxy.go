package pool

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	socks "golang.org/x/net/proxy"
)

// A proxy is the proxy of an origin's connections; the zero value means none.
type proxy struct {
	scheme, host, port string
	user, password     string
	login              bool // send user and password
}

// String omits the credentials.
func (x proxy) String() string { return x.scheme + "://" + net.JoinHostPort(x.host, x.port) }

// proxyFor returns the configured proxy for a request.
func proxyFor(c *Config, req *http.Request) (proxy, error) {
	if c.Proxy == nil {
		return proxy{}, nil
	}
	u, err := c.Proxy(req)
	switch {
	case err != nil:
		if strings.Contains(err.Error(), "@") { // the error may contain a password
			err = errors.New("invalid proxy URL")
		}
		return proxy{}, err
	case u == nil:
		return proxy{}, nil
	}
	x := proxy{scheme: strings.ToLower(u.Scheme), host: strings.ToLower(u.Hostname()), port: u.Port()}
	ports := map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}
	usual, ok := ports[x.scheme]
	switch {
	case !ok:
		return proxy{}, fmt.Errorf("unsupported proxy scheme %q", u.Scheme)
	case x.host == "":
		return proxy{}, errors.New("proxy URL without a host")
	case x.port == "":
		x.port = usual
	}
	if u.User != nil {
		x.login, x.user = true, u.User.Username()
		x.password, _ = u.User.Password()
	}
	return x, nil
}

func (x proxy) socks() bool { return x.scheme == "socks5" || x.scheme == "socks5h" }

// forwards reports whether requests are sent to the proxy in absolute form (RFC 9112
// section 3.2.2), instead of through a tunnel.
func (k originKey) forwards() bool {
	return k.proxy != proxy{} && k.scheme == "http" && !k.proxy.socks()
}

// firstHop returns the host and port to connect to.
func (k originKey) firstHop() (host, port string) {
	if k.proxy != (proxy{}) {
		return k.proxy.host, k.proxy.port
	}
	return k.host, k.port
}

// handshakesFirst reports whether a new TCP connection needs a TLS or SOCKS handshake
// before its first request.
func (k originKey) handshakesFirst() bool {
	return k.scheme == "https" || k.proxy.scheme == "https" || k.proxy.socks()
}

// forwardProxy is the Proxy of the [http.Transport], which writes requests in absolute form.
// The dialer makes tunnels.
func forwardProxy(req *http.Request) (*url.URL, error) {
	g := req.Context().Value(dialStateKey{}).(*dialState)
	if !g.key.forwards() {
		return nil, nil
	}
	x := g.key.proxy
	u := &url.URL{Scheme: x.scheme, Host: net.JoinHostPort(x.host, x.port)}
	if x.login {
		u.User = url.UserPassword(x.user, x.password)
	}
	return u, nil
}

// A ProxyError is the cause of an [Error] at [StepProxy].
type ProxyError struct {
	Proxy  string // address of the proxy without credentials, such as "http://proxy.example:3128"
	Status int    // HTTP status of a refused tunnel; 0 means no response
	Err    error  // another error; nil if Status is set
}

// Error returns the proxy and the problem, without credentials.
func (e *ProxyError) Error() string {
	switch {
	case e.Err != nil && e.Proxy == "":
		return e.Err.Error()
	case e.Err != nil:
		return e.Proxy + ": " + e.Err.Error()
	}
	return strings.TrimSpace(fmt.Sprintf("%s: refused the tunnel: %d %s", e.Proxy, e.Status, http.StatusText(e.Status)))
}

// Unwrap returns Err.
func (e *ProxyError) Unwrap() error { return e.Err }

// Timeout reports whether the proxy took too long.
func (e *ProxyError) Timeout() bool {
	t, ok := e.Err.(interface{ Timeout() bool })
	return ok && t.Timeout()
}

// connectViaProxy connects l to the origin through the proxy.
func (d *dialer) connectViaProxy(ctx context.Context, key originKey, l *rawConn) error {
	x := key.proxy
	start := time.Now()
	defer func() { l.setup.tcp += time.Since(start) }()
	if x.scheme == "https" {
		tc := tls.Client(l.Conn, d.proxyTLS(x))
		if err := tc.HandshakeContext(ctx); err != nil {
			return err
		}
		l.Conn = tc
	}
	switch {
	case key.forwards():
		return nil
	case x.socks():
		return socksTunnel(ctx, l.Conn, x, key.address())
	}
	return connectTunnel(ctx, l.Conn, x, key.address())
}

// proxyTLS returns the TLS configuration for a proxy, which has the trusted roots of origins
// but no client certificates.
func (d *dialer) proxyTLS(x proxy) *tls.Config {
	c := d.tls.base.Clone()
	c.ServerName, c.NextProtos = x.host, []string{protoHTTP1}
	c.Certificates, c.GetClientCertificate, c.ClientSessionCache = nil, nil, nil
	return c
}

// connectTunnel requests a tunnel with CONNECT (RFC 9110 section 9.3.6).
func connectTunnel(ctx context.Context, nc net.Conn, x proxy, target string) error {
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: target}, Host: target, Header: make(http.Header)}
	if x.login {
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(x.user+":"+x.password)))
	}
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	resp, err := func() (*http.Response, error) {
		if err := req.Write(nc); err != nil {
			return nil, err
		}
		in := bufio.NewReader(io.LimitReader(nc, 64<<10))
		resp, err := http.ReadResponse(in, req)
		if err == nil && resp.StatusCode/100 == 2 && in.Buffered() > 0 {
			err = errors.New("sent unexpected data into the tunnel")
		}
		return resp, err
	}()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	case resp.StatusCode/100 != 2:
		return &ProxyError{Proxy: x.String(), Status: resp.StatusCode}
	case !stop():
		return context.Cause(ctx)
	}
	return nil
}

// socksTunnel requests a tunnel with SOCKS5 (RFC 1928, RFC 1929). The proxy resolves
// names, as with net/http for both socks5 and socks5h.
func socksTunnel(ctx context.Context, nc net.Conn, x proxy, target string) error {
	var login *socks.Auth
	if x.login {
		login = &socks.Auth{User: x.user, Password: x.password}
	}
	s, err := socks.SOCKS5("tcp", net.JoinHostPort(x.host, x.port), login, openConn{nc})
	if err != nil {
		return err
	}
	_, err = s.(socks.ContextDialer).DialContext(ctx, "tcp", target)
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		err = op.Err // the caller adds the address, which op has too
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}

// An openConn is a proxy dialer that returns an existing connection.
type openConn struct{ nc net.Conn }

func (o openConn) Dial(string, string) (net.Conn, error) { return o.nc, nil }

func (o openConn) DialContext(context.Context, string, string) (net.Conn, error) { return o.nc, nil }
