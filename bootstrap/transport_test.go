package bootstrap

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// counting starts a server and counts the connections to it.
func counting(t *testing.T, h http.Handler) (s *httptest.Server, accepted *atomic.Int64) {
	t.Helper()
	accepted = new(atomic.Int64)
	s = httptest.NewUnstartedServer(h)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			accepted.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s, accepted
}

// A redirect of a publisher must not point to a private address. The server that the user
// specified may have a private address.
func TestDownloadGuarded(t *testing.T) {
	inside, accepted := counting(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		// the client may have refused the redirect and closed the connection
		_, _ = w.Write([]byte(dns("", "zz")))
	}))
	port := inside.URL[strings.LastIndexByte(inside.URL, ':'):]
	for _, place := range []string{inside.URL, "http://localhost" + port, "http://0.0.0.0" + port, "http://[::ffff:127.0.0.1]" + port} {
		publisher, asked := counting(t, http.RedirectHandler(place+"/dns.json", http.StatusFound))
		r := newResolver(t, Config{BaseURL: publisher.URL + "/"})
		if got := resolve(r, domain("a.zz")); !strings.Contains(got, "not a public address") {
			t.Errorf("%s: %s", place, got)
		}
		if asked.Load() == 0 || accepted.Load() != 0 {
			t.Errorf("%s: %d connections to the publisher, %d to private addresses", place, asked.Load(), accepted.Load())
		}
	}
	publisher, _ := counting(t, http.RedirectHandler(inside.URL+"/dns.json", http.StatusFound))
	r := newResolver(t, Config{BaseURL: publisher.URL + "/", AllowPrivate: true})
	wantResolve(t, r, domain("a.zz"), "iana zz https://zz.invalid/")
	// A redirect within the origin that the user specified is allowed.
	round, _ := counting(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !strings.HasPrefix(req.URL.Path, "/files/") {
			http.Redirect(w, req, "/files"+req.URL.Path, http.StatusFound)
			return
		}
		_, _ = w.Write([]byte(dns("", "zz")))
	}))
	r = newResolver(t, Config{BaseURL: round.URL + "/"})
	wantResolve(t, r, domain("a.zz"), "iana zz https://zz.invalid/")
}

// Without a base URL from the user, IANA's name must not resolve to a private address. The
// user's proxy may have a private address, but must not connect to one.
func TestDownloadOfIANAGuarded(t *testing.T) {
	inside, accepted := counting(t, http.NotFoundHandler())
	client, closeIdle := ownClient("", false)
	defer closeIdle()
	if resp, err := client.Get(inside.URL); err == nil || !strings.Contains(err.Error(), "not a public address") {
		t.Errorf("%v, %v", resp, err)
	}
	c := client.Transport.(*transport)
	c.proxy = http.ProxyURL(mustURL(t, inside.URL))
	c.trusted.Proxy = c.proxy
	if resp, err := client.Get("http://10.0.0.5/"); err == nil || !strings.Contains(err.Error(), "not a public address") {
		t.Errorf("through a proxy: %v, %v", resp, err)
	}
	if n := accepted.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
	resp, err := client.Get("http://files.invalid/")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if n := accepted.Load(); n != 1 {
		t.Errorf("%d connections to the proxy", n)
	}
}

func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
