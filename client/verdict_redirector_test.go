package client_test

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// TestRedirector: who only sends clients on says nothing about a name by not
// knowing where to.
func TestRedirector(t *testing.T) {
	ca := newCA(t)
	registry := rdaptest.Start(t, rdaptest.Config{CA: ca})
	hub := rdaptest.Start(t, rdaptest.Config{CA: ca, Names: []string{"rdap.org"}})
	hub.On("/domain/free.example", rdaptest.Redirect(302, registry.URL()+"domain/free.example"))
	hub.On("/domain/alpha.zz", rdaptest.Status(404))
	p, err := pool.New(pool.Config{TLS: &tls.Config{RootCAs: ca.Pool()}, AllowPrivate: true, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr == "rdap.org:443" {
			addr = hub.Addr()
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	a := newAsker(t, ca, client.Config{Transport: p})
	ask := func(server, name string) *client.Result {
		q := mustParse(t, "", name)
		q.Server = server
		return a.lookup(t, q)
	}
	r := ask("https://rdap.org/", "alpha.zz")
	if r.Verdict != client.NoService || r.Err.Code != client.CodeNoService || r.Status != 404 || !strings.Contains(r.Err.Message, "no RDAP service known for .zz") || !strings.Contains(r.Err.Message, "https://rdap.org/") {
		t.Error(describe(r))
	}
	if r = ask("https://rdap.org/", "free.example"); r.Verdict != client.NotFound {
		t.Error("what a registry said behind a redirect:", describe(r))
	}

	// Another one that says so itself, and a registry that speaks of something else.
	registry.On("/domain/beta.zz", rdaptest.Status(404), rdaptest.JSON(`{"errorCode":404,"title":"No RDAP service is available for this resource"}`))
	registry.On("/domain/gamma.zz", rdaptest.Status(404), rdaptest.JSON(`{"errorCode":404,"title":"Not found","description":["see the terms of our RDAP service"]}`))
	if r = ask(registry.URL(), "beta.zz"); r.Verdict != client.NoService || r.Status != 404 {
		t.Error(describe(r))
	}
	if r = ask(registry.URL(), "gamma.zz"); r.Verdict != client.NotFound {
		t.Error(describe(r))
	}
}
