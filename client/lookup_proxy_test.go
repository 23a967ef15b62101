package client_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// Errors name the proxy if it is the cause.
func TestLookupProxy(t *testing.T) {
	t.Parallel() // the test mostly waits
	s := rdaptest.Start(t, rdaptest.Config{})
	refusing := func(status int) string {
		p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "\x1b[2Jnot you", status)
		}))
		t.Cleanup(p.Close)
		return p.URL
	}
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	junk, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { junk.Close() })
	go func() {
		for {
			nc, err := junk.Accept()
			if err != nil {
				return
			}
			_, _ = nc.Write([]byte("SSH-2.0-\x1b[2J\r\n")) // the client may have closed the connection
			nc.Close()
		}
	}()
	for _, tt := range []struct {
		name, proxy   string
		message, hint string
		attempts      int
	}{
		{"no entry", refusing(403), "refused to connect to " + s.Addr() + ": 403 Forbidden", "NO_PROXY", 1},
		{"no login", refusing(407), "requires authentication (407)", "user:password@", 1},
		{"no way there", refusing(502), "refused to connect to " + s.Addr() + ": 502 Bad Gateway", "NO_PROXY", 2},
		{"nobody", strings.TrimSuffix(refused, "/"), "refused the connection", "is running", 2},
		{"no name", "http://nobody.invalid:3128", "cannot resolve the host of the proxy http://nobody.invalid:3128", "check the URL of the proxy", 1},
		{"no TLS", "https://" + plain.Listener.Addr().String(), "no TLS connection to the proxy ", "", 1},
		{"no proxy", "http://" + junk.Addr().String(), "did not connect to " + s.Addr(), "NO_PROXY", 1},
		{"no SOCKS", "socks5://" + junk.Addr().String(), "did not connect to " + s.Addr(), "NO_PROXY", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u, err := url.Parse(tt.proxy)
			if err != nil {
				t.Fatal(err)
			}
			u.User = url.UserPassword("me", "hidden")
			p, err := pool.New(pool.Config{Proxy: http.ProxyURL(u)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { p.Close() })
			a := newAsker(t, s.CA(), client.Config{Transport: p, Resolver: urls{s.URL()}, Attempts: 2})
			r := a.lookup(t, mustParse(t, "", "alpha.example"))
			if r.Verdict != client.VerdictFailed || client.ErrorOf(r).Code != client.CodeProxy || r.Attempts > tt.attempts ||
				!strings.Contains(client.ErrorOf(r).Message, tt.message) || !strings.Contains(client.ErrorOf(r).Hint, tt.hint) {
				t.Errorf("%s after %d attempts, hint %q", describe(r), r.Attempts, client.ErrorOf(r).Hint)
			}
			if text := client.ErrorOf(r).Message + client.ErrorOf(r).Hint; strings.Contains(text, "hidden") || strings.ContainsAny(text, "\x1b\r\n") {
				t.Errorf("message %q", text)
			}
		})
	}
	if n := s.Counts().Connections; n != 0 {
		t.Errorf("%d connections past the proxy", n)
	}
}

// The error of a lookup names a proxy that hangs.
func TestLookupProxyHangs(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0") // the test never accepts a connection
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	p, err := pool.New(pool.Config{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: l.Addr().String()})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	a := newAsker(t, newCA(t), client.Config{Transport: p, Resolver: urls{refused}, Timeout: time.Second, Attempts: 1})
	r := a.lookup(t, mustParse(t, "", "alpha.example"))
	if client.ErrorOf(r).Code != client.CodeTimeout || !strings.Contains(client.ErrorOf(r).Message, "connecting through the proxy") {
		t.Error(describe(r))
	}
}
