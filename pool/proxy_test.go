package pool_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

func TestOneTunnelPerBatch(t *testing.T) {
	s, port := startNamed(t, rdaptest.Config{})
	far := net.JoinHostPort(named, port)
	for _, kind := range []string{"http", "https", "socks5", "socks5h"} {
		t.Run(kind, func(t *testing.T) {
			before := s.Counts()
			var tunnels *atomic.Int64
			var targets *[]string
			c := pool.Config{TLS: &tls.Config{RootCAs: s.Pool()}}
			if strings.HasPrefix(kind, "socks") {
				x := newSOCKSProxy(t)
				x.hosts[far] = s.Addr()
				tunnels, targets, c.Proxy = &x.tunnels, &x.targets, x.url(kind, nil)
			} else {
				var ca *rdaptest.CA
				if kind == "https" {
					var err error
					if ca, err = rdaptest.NewCA(); err != nil {
						t.Fatal(err)
					}
					c.TLS.RootCAs = c.TLS.RootCAs.Clone()
					c.TLS.RootCAs.AppendCertsFromPEM(ca.PEM())
				}
				x := newHTTPProxy(t, ca)
				x.hosts[far] = s.Addr()
				tunnels, targets, c.Proxy = &x.tunnels, &x.targets, x.use
			}
			p, err := pool.New(c)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			for i := range 50 {
				a, err := get(t.Context(), p, namedURL(port, i))
				if err != nil {
					t.Fatal(err)
				}
				if a.trace.Protocol != "h2" || a.trace.DNS != 0 || (a.trace.TCP > 0) != (i == 0) {
					t.Errorf("lookup %d: %+v", i, a.trace)
				}
			}
			after := s.Counts()
			if n := tunnels.Load(); n != 1 || after.Handshakes()-before.Handshakes() != 1 {
				t.Errorf("%d tunnels, %d handshakes for 50 lookups, want 1 and 1", n, after.Handshakes()-before.Handshakes())
			}
			// The proxy resolves the name.
			if !slices.Equal(*targets, []string{far}) {
				t.Errorf("tunnels to %v, want one to %s", *targets, far)
			}
		})
	}
}

func TestTunnelsOverHTTP1(t *testing.T) {
	t.Parallel() // the test mostly waits
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H1Only})
	x := newHTTPProxy(t, nil)
	p := newPool(t, s, pool.Config{Proxy: x.use, MaxConnsPerHost: 3})
	getAll(t, p, s, 100, 16)
	if n := x.tunnels.Load(); n > 3 || n != s.Counts().Connections {
		t.Errorf("%d tunnels and %d connections, want at most 3", n, s.Counts().Connections)
	}
}

func TestTunnelsPerOriginAndProxy(t *testing.T) {
	ca, err := rdaptest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	s1 := rdaptest.Start(t, rdaptest.Config{CA: ca})
	s2 := rdaptest.Start(t, rdaptest.Config{CA: ca})
	x, y := newHTTPProxy(t, nil), newHTTPProxy(t, nil)
	p := newPool(t, s1, pool.Config{Proxy: func(r *http.Request) (*url.URL, error) {
		switch r.Header.Get("By-Way-Of") {
		case "x":
			return x.use(r)
		case "y":
			return y.use(r)
		}
		return nil, nil
	}})
	ask := func(s *rdaptest.Server, by string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, domain(s, 1), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("By-Way-Of", by)
		resp, err := p.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	for range 3 {
		ask(s1, "x")
		ask(s2, "x")
	}
	if n := x.tunnels.Load(); n != 2 {
		t.Errorf("%d tunnels to two origins, want 2", n)
	}
	for range 3 {
		ask(s1, "y")
		ask(s1, "")
	}
	if x.tunnels.Load() != 2 || y.tunnels.Load() != 1 || s1.Counts().Connections != 3 {
		t.Errorf("%d and %d tunnels, %d connections to the first origin; want 2, 1 and 3",
			x.tunnels.Load(), y.tunnels.Load(), s1.Counts().Connections)
	}
}

func TestRefusedTunnel(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{})
	for _, status := range []int{http.StatusProxyAuthRequired, http.StatusForbidden, http.StatusBadGateway} {
		x := newHTTPProxy(t, nil)
		x.status = status
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		p := newPool(t, s, pool.Config{Proxy: x.as(url.UserPassword("me", "s3cret")), Logger: logger})
		_, err := get(t.Context(), p, domain(s, 1))
		p.Close()
		if e, ok := errors.AsType[*pool.Error](err); !ok || e.Step != pool.StepProxy {
			t.Fatalf("%d: got %v", status, err)
		}
		e, ok := errors.AsType[*pool.ProxyError](err)
		if !ok || e.Status != status || e.Proxy != x.URL {
			t.Errorf("%d: cause %#v", status, e)
		}
		for _, want := range []string{x.URL, fmt.Sprint(status), http.StatusText(status)} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q doesn't say %q", err, want)
			}
		}
		if strings.Contains(err.Error()+log.String(), "s3cret") {
			t.Errorf("the password shows: %v, log %s", err, &log)
		}
		if log.Len() == 0 {
			t.Error("nothing was logged")
		}
		if n := x.conns.Load(); n != 1 {
			t.Errorf("%d: %d connections to the proxy, want 1", status, n)
		}
	}
}

func TestUnreachableProxy(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	silent := l // its kernel accepts connections, but nothing responds
	defer silent.Close()
	for _, c := range []struct {
		name, proxy string
		timeout     time.Duration // timeout of the request; 0 means none
	}{
		{"silent", "http://" + address, 100 * time.Millisecond},
		{"silent SOCKS", "socks5://" + address, 100 * time.Millisecond},
		{"silent HTTPS", "https://" + address, 100 * time.Millisecond},
		{"refusing", "http://127.0.0.1:" + unusedPort, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			u, err := url.Parse(c.proxy)
			if err != nil {
				t.Fatal(err)
			}
			p, err := pool.New(pool.Config{Proxy: http.ProxyURL(u), ConnectTimeout: c.timeout})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			_, err = get(t.Context(), p, "https://rdap.example/")
			e, ok := errors.AsType[*pool.Error](err)
			if !ok || e.Step != pool.StepProxy || e.Timeout() != (c.timeout > 0) || !strings.Contains(err.Error(), c.proxy) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestCancelDuringProxyConnect(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p, err := pool.New(pool.Config{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: l.Addr().String()})})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer cancel() // cancel once the proxy has the request
		if nc, err := l.Accept(); err != nil {
			t.Error(err)
		} else {
			t.Cleanup(func() { nc.Close() })
		}
	}()
	_, err = get(ctx, p, "https://rdap.example/")
	if e, ok := errors.AsType[*pool.Error](err); !ok || e.Step != pool.StepProxy || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestProxyCredentials(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{})
	x := newHTTPProxy(t, nil)
	x.login = "Basic " + base64.StdEncoding.EncodeToString([]byte("me:p:w"))
	p := newPool(t, s, pool.Config{Proxy: x.as(url.UserPassword("me", "p:w"))})
	getAll(t, p, s, 10, 1)

	y := newSOCKSProxy(t)
	y.login = "me:pw"
	p = newPool(t, s, pool.Config{Proxy: y.url("socks5", url.UserPassword("me", "pw"))})
	getAll(t, p, s, 10, 1)

	for _, user := range []*url.Userinfo{nil, url.UserPassword("me", "wr0ng")} {
		p = newPool(t, s, pool.Config{Proxy: y.url("socks5", user)})
		_, err := get(t.Context(), p, domain(s, 1))
		if e, ok := errors.AsType[*pool.Error](err); !ok || e.Step != pool.StepProxy || strings.Contains(err.Error(), "wr0ng") {
			t.Errorf("got %v", err)
		}
	}
	if x.tunnels.Load() != 1 || y.tunnels.Load() != 1 {
		t.Errorf("%d and %d tunnels, want 1 and 1", x.tunnels.Load(), y.tunnels.Load())
	}
}

func TestSOCKSFailure(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{})
	x := newSOCKSProxy(t)
	x.reply = 4 // reply code for "host unreachable"
	p := newPool(t, s, pool.Config{Proxy: x.url("socks5h", nil)})
	_, err := get(t.Context(), p, domain(s, 1))
	if e, ok := errors.AsType[*pool.Error](err); !ok || e.Step != pool.StepProxy || !strings.Contains(err.Error(), "host unreachable") {
		t.Errorf("got %v", err)
	}
}

// Plain HTTP goes through an HTTP proxy in absolute form, and through SOCKS in a
// tunnel.
func TestPlainHTTPThroughProxy(t *testing.T) {
	var credentials atomic.Int64
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Proxy-Authorization") != "" {
			credentials.Add(1)
		}
		fmt.Fprint(w, r.URL.Path)
	}))
	defer origin.Close()
	ca, err := rdaptest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"http", "https"} {
		t.Run(kind, func(t *testing.T) {
			x := newHTTPProxy(t, map[string]*rdaptest.CA{"https": ca}[kind])
			x.login = "Basic " + base64.StdEncoding.EncodeToString([]byte("me:pw"))
			p, err := pool.New(pool.Config{Proxy: x.as(url.UserPassword("me", "pw")), TLS: &tls.Config{RootCAs: ca.Pool()}})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			for i := range 5 {
				a, err := get(t.Context(), p, fmt.Sprintf("%s/%d", origin.URL, i))
				if err != nil || a.status != 200 || a.body != fmt.Sprintf("/%d", i) {
					t.Fatalf("%d %q, %v", a.status, a.body, err)
				}
				if a.trace.TLS != 0 || a.trace.Protocol != "http/1.1" {
					t.Errorf("trace: %+v", a.trace)
				}
			}
			if x.forwarded.Load() != 5 || x.conns.Load() != 1 || x.tunnels.Load() != 0 {
				t.Errorf("%d requests forwarded over %d connections, %d tunnels, want 5, 1, 0",
					x.forwarded.Load(), x.conns.Load(), x.tunnels.Load())
			}
		})
	}
	t.Run("socks5", func(t *testing.T) {
		x := newSOCKSProxy(t)
		p, err := pool.New(pool.Config{Proxy: x.url("socks5", nil)})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		for range 5 {
			if a, err := get(t.Context(), p, origin.URL+"/x"); err != nil || a.body != "/x" {
				t.Fatalf("%q, %v", a.body, err)
			}
		}
		if n := x.tunnels.Load(); n != 1 {
			t.Errorf("%d tunnels, want 1", n)
		}
	})
	if n := credentials.Load(); n != 0 {
		t.Errorf("the proxy's credentials reached the origin %d times", n)
	}
}

func TestBadProxy(t *testing.T) {
	const port = "x y"
	for _, choose := range []func(*http.Request) (*url.URL, error){
		func(*http.Request) (*url.URL, error) { return url.Parse("ftp://me:s3cret@proxy.example") },
		func(*http.Request) (*url.URL, error) { return &url.URL{Scheme: "http"}, nil },
		func(*http.Request) (*url.URL, error) {
			return url.Parse(fmt.Sprintf("http://me:s3cret@proxy.example:%s", port))
		},
	} {
		p, err := pool.New(pool.Config{Proxy: choose})
		if err != nil {
			t.Fatal(err)
		}
		_, err = get(t.Context(), p, "https://rdap.example/")
		if e, ok := errors.AsType[*pool.Error](err); !ok || e.Step != pool.StepProxy || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("got %v", err)
		}
		p.Close()
	}
}

// A proxy gets no client certificate, even if it requests one.
func TestProxyGetsNoClientCertificate(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{})
	ca, err := rdaptest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ca.ClientCertificate("me")
	if err != nil {
		t.Fatal(err)
	}
	var shown atomic.Int64
	x := newHTTPProxy(t, ca)
	x.TLS.ClientAuth = tls.RequestClientCert
	x.TLS.VerifyConnection = func(cs tls.ConnectionState) error {
		shown.Add(int64(len(cs.PeerCertificates)))
		return nil
	}
	roots := s.Pool().Clone()
	roots.AppendCertsFromPEM(ca.PEM())
	p, err := pool.New(pool.Config{Proxy: x.use, TLS: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{cert}}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := get(t.Context(), p, domain(s, 1)); err != nil {
		t.Fatal(err)
	}
	if x.tunnels.Load() != 1 || shown.Load() != 0 {
		t.Errorf("%d tunnels, %d certificates shown, want 1 and none", x.tunnels.Load(), shown.Load())
	}
}
