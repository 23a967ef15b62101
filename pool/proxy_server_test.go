package pool_test

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
)

// join copies between two connections until both have ended.
func join(a, b net.Conn) {
	var wg sync.WaitGroup
	pass := func(to, from net.Conn) {
		io.Copy(to, from)
		to.Close()
		from.Close()
	}
	wg.Go(func() { pass(a, b) })
	wg.Go(func() { pass(b, a) })
	wg.Wait()
}

// An httpProxy opens tunnels and forwards requests in absolute form.
type httpProxy struct {
	*httptest.Server
	tunnels, forwarded atomic.Int64
	conns              atomic.Int64
	status             int               // status of all responses, if set
	login              string            // required Proxy-Authorization, if set
	hosts              map[string]string // addresses of names, as the proxy resolves them

	mu      sync.Mutex
	targets []string // targets of tunnels and requests
}

func newHTTPProxy(t *testing.T, ca *rdaptest.CA) *httpProxy {
	t.Helper()
	p := &httpProxy{hosts: make(map[string]string)}
	p.Server = httptest.NewUnstartedServer(p)
	p.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			p.conns.Add(1)
		}
	}
	if ca == nil {
		p.Start()
	} else {
		cert, err := ca.Certificate("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		p.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
		p.StartTLS()
	}
	t.Cleanup(p.Close)
	return p
}

// use is a Config.Proxy that returns the proxy.
func (p *httpProxy) use(*http.Request) (*url.URL, error) { return url.Parse(p.URL) }

// as returns a Config.Proxy with credentials.
func (p *httpProxy) as(user *url.Userinfo) func(*http.Request) (*url.URL, error) {
	return func(*http.Request) (*url.URL, error) {
		u, err := url.Parse(p.URL)
		u.User = user
		return u, err
	}
}

func (p *httpProxy) target(t string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.targets = append(p.targets, t)
}

func (p *httpProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case p.status != 0:
		w.WriteHeader(p.status)
	case p.login != "" && r.Header.Get("Proxy-Authorization") != p.login:
		w.Header().Set("Proxy-Authenticate", "Basic")
		w.WriteHeader(http.StatusProxyAuthRequired)
	case r.Method == http.MethodConnect:
		p.tunnel(w, r)
	case r.URL.IsAbs():
		p.forwarded.Add(1)
		p.target(r.URL.String())
		(&httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}}).ServeHTTP(w, r)
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
}

func (p *httpProxy) tunnel(w http.ResponseWriter, r *http.Request) {
	p.target(r.Host)
	address := r.Host
	if a := p.hosts[address]; a != "" {
		address = a
	}
	out, err := net.Dial("tcp", address)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	in, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		out.Close()
		return
	}
	p.tunnels.Add(1)
	io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n")
	join(in, out)
}

// A socksProxy is a SOCKS5 server (RFC 1928) that supports only CONNECT.
type socksProxy struct {
	addr    string
	login   string            // login "user:password" (RFC 1929), if set
	reply   byte              // failure code of all responses, if set
	hosts   map[string]string // addresses by name
	tunnels atomic.Int64

	mu      sync.Mutex
	targets []string
}

func newSOCKSProxy(t *testing.T) *socksProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &socksProxy{addr: l.Addr().String(), hosts: make(map[string]string)}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer nc.Close()
				p.serve(nc)
			}()
		}
	}()
	return p
}

func (p *socksProxy) url(scheme string, user *url.Userinfo) func(*http.Request) (*url.URL, error) {
	return func(*http.Request) (*url.URL, error) {
		return &url.URL{Scheme: scheme, Host: p.addr, User: user}, nil
	}
}

func (p *socksProxy) serve(nc net.Conn) error {
	read := func(n byte) []byte {
		b := make([]byte, n)
		if _, err := io.ReadFull(nc, b); err != nil {
			nc.Close()
		}
		return b
	}
	methods := read(read(2)[1])
	method := byte(0)
	if p.login != "" {
		method = 2
	}
	if !contains(methods, method) {
		nc.Write([]byte{5, 0xff})
		return errors.New("no method in common")
	}
	nc.Write([]byte{5, method})
	if method == 2 {
		user := read(read(2)[1])
		password := read(read(1)[0])
		if string(user)+":"+string(password) != p.login {
			nc.Write([]byte{1, 1})
			return errors.New("wrong password")
		}
		nc.Write([]byte{1, 0})
	}
	var host string
	switch read(4)[3] {
	case 1:
		host = net.IP(read(4)).String()
	case 3:
		host = string(read(read(1)[0]))
	case 4:
		host = net.IP(read(16)).String()
	}
	address := net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(read(2)))))
	p.mu.Lock()
	p.targets = append(p.targets, address)
	p.mu.Unlock()
	reply := []byte{5, p.reply, 0, 1, 0, 0, 0, 0, 0, 0}
	if p.reply != 0 {
		nc.Write(reply)
		return errors.New("refused")
	}
	if a := p.hosts[address]; a != "" {
		address = a
	}
	out, err := net.Dial("tcp", address)
	if err != nil {
		reply[1] = 5
		nc.Write(reply)
		return err
	}
	p.tunnels.Add(1)
	nc.Write(reply)
	join(nc, out)
	return nil
}

func contains(b []byte, c byte) bool {
	for _, x := range b {
		if x == c {
			return true
		}
	}
	return false
}
