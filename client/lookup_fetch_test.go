package client_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
)

func TestLookupForeignTransport(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{})
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.Pool()}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	a := newAsker(t, s.CA(), client.Config{Transport: transport, Resolver: urls{s.URL()}})
	for i := range 2 {
		r := a.lookup(t, mustParse(t, "", "alpha.example"))
		if r.Verdict != client.VerdictRegistered || r.Conn.Protocol != "h2" || r.Conn.TLS != tls.VersionTLS13 ||
			r.Conn.RemoteAddr != s.Addr() || r.Conn.Reused != (i == 1) {
			t.Errorf("%s, connection %+v", describe(r), r.Conn)
		}
	}
}

func TestLookupTooLarge(t *testing.T) {
	const limit = 100_000
	for _, protocols := range []rdaptest.Protocols{rdaptest.H1Only, rdaptest.H2Only} {
		s, a := newPair(t, rdaptest.Config{Protocols: protocols}, client.Config{MaxBody: limit})
		s.On("/domain/exact.example", rdaptest.Size(limit))
		s.On("/domain/announced.example", rdaptest.Size(limit+1))
		s.On("/domain/huge.example", rdaptest.Size(5<<30))
		s.On("/domain/endless.example", rdaptest.Endless())
		s.On("/domain/endless404.example", rdaptest.Endless(), rdaptest.Status(404))
		if r := a.lookup(t, mustParse(t, "", "exact.example")); r.Verdict != client.VerdictRegistered || len(r.Raw) != limit {
			t.Errorf("exact: %s, %d bytes", describe(r), len(r.Raw))
		}
		for _, name := range []string{"announced.example", "huge.example", "endless.example"} {
			r := a.lookup(t, mustParse(t, "", name))
			if r.Verdict != client.VerdictFailed || client.ErrorOf(r).Code != client.CodeTooLarge || r.Status != 200 || r.Raw != nil {
				t.Errorf("%s: %s, %d bytes", name, describe(r), len(r.Raw))
			}
			if client.ErrorOf(r) != nil && client.ErrorOf(r).Status != 200 {
				t.Errorf("%s: error has status %d", name, client.ErrorOf(r).Status)
			}
		}
		// The status of an error response suffices without a body.
		r := a.lookup(t, mustParse(t, "", "endless404.example"))
		if r.Verdict != client.VerdictNotFound || len(r.Warnings) == 0 || len(r.Raw) > limit {
			t.Errorf("endless 404: %s, %d bytes", describe(r), len(r.Raw))
		}
		if r := a.lookup(t, mustParse(t, "", "alpha.example")); r.Verdict != client.VerdictRegistered {
			t.Errorf("the next lookup: %s", describe(r))
		}
	}
}

func TestLookupGzip(t *testing.T) {
	zip := func(body string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write([]byte(body))
		z.Close()
		return b.String()
	}
	object := `{"objectClassName":"domain","ldhName":"alpha.example"}`
	s, a := newPair(t, rdaptest.Config{}, client.Config{MaxBody: 100_000})
	encoded := rdaptest.Header("Content-Encoding", "gzip")
	// The client did not request compression, which costs more than it saves on loopback.
	s.On("/domain/alpha.example", rdaptest.JSON(zip(object)), encoded)
	s.On("/domain/bomb.example", rdaptest.JSON(zip(strings.Repeat(" ", 5<<20)+object)), encoded)
	s.On("/domain/broken.example", rdaptest.JSON("no gzip"), encoded)
	if r := a.lookup(t, mustParse(t, "", "alpha.example")); r.Verdict != client.VerdictRegistered || string(r.Raw) != object {
		t.Errorf("%s, body %q", describe(r), r.Raw)
	}
	if r := a.lookup(t, mustParse(t, "", "bomb.example")); r.Verdict != client.VerdictFailed || client.ErrorOf(r).Code != client.CodeTooLarge {
		t.Errorf("bomb: %s", describe(r))
	}
	if r := a.lookup(t, mustParse(t, "", "broken.example")); r.Verdict != client.VerdictFailed {
		t.Errorf("broken: %s", describe(r))
	}
}

func TestLookupDrip(t *testing.T) {
	t.Parallel() // the test mostly waits
	s, a := newPair(t, rdaptest.Config{}, client.Config{Timeout: 2 * time.Second, Attempts: 1})
	s.On("/domain/drip.example", rdaptest.Drip(1, 50*time.Millisecond))
	s.On("/domain/hang.example", rdaptest.Hang())
	for name, doing := range map[string]string{"drip.example": "reading the response", "hang.example": "waiting for the response"} {
		r := a.lookup(t, mustParse(t, "", name))
		if r.Verdict != client.VerdictFailed || client.ErrorOf(r).Code != client.CodeTimeout || !strings.Contains(client.ErrorOf(r).Message, doing) {
			t.Errorf("%s: %s", name, describe(r))
		}
		if client.ErrorOf(r) != nil && !errors.Is(client.ErrorOf(r), context.DeadlineExceeded) {
			t.Errorf("%s: cause %v", name, client.ErrorOf(r).Err)
		}
	}
}

func TestLookupKeepsConnection(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{Protocols: rdaptest.H1Only}, client.Config{})
	s.On("/domain/object.example", rdaptest.JSON(`{"objectClassName":"domain","ldhName":"object.example"}`+"\n\n"))
	s.On("/domain/none.example", rdaptest.Status(404))
	s.On("/domain/page.example", rdaptest.Status(404), rdaptest.Body("text/html", "<html>"+strings.Repeat("x", 3<<10)))
	s.On("/domain/moved.example", rdaptest.Status(301), rdaptest.Header("Location", "/domain/object.example"), rdaptest.Body("text/html", strings.Repeat("x", 2<<10)))
	s.On("/domain/bad.example", rdaptest.JSON(`{"objectClassName":"dom`))
	// Avoid two consecutive 404s before an object, which would cost another connection.
	names := []string{"none.example", "object.example", "page.example", "moved.example", "bad.example"}
	for i := range 200 {
		a.lookup(t, mustParse(t, "", names[i%len(names)]))
	}
	if c := s.Counts(); c.Connections != 1 || c.Requests != 240 {
		t.Errorf("%d connections for %d requests, want 1 for 240", c.Connections, c.Requests)
	}
}

func TestLookupHidesKeys(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{Log: true}, client.Config{})
	s.On("*", rdaptest.Status(403))
	q := mustParse(t, "", "alpha.example")
	q.Server = "https://user:word@" + s.Addr() + "/?apikey=abc123&lang=en"
	r := a.lookup(t, q)
	if uri := s.Log()[0].URI; uri != "/domain/alpha.example?apikey=abc123&lang=en" {
		t.Errorf("asked for %q", uri)
	}
	all := strings.Join([]string{r.Server, r.URL, r.FinalURL, client.ErrorOf(r).Message, client.ErrorOf(r).URL, client.ErrorOf(r).Server}, " ")
	if strings.Contains(all, "abc123") || strings.Contains(all, "word@") {
		t.Errorf("keys show in %q", all)
	}
	if !strings.Contains(r.URL, "lang=en") {
		t.Errorf("URL %q lacks what is no key", r.URL)
	}
}
