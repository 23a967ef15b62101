package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
)

func TestLookupFound(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{Log: true}, client.Config{})
	for _, tt := range []struct {
		typ     client.Type
		text    string
		verdict client.Verdict
		uri     string
	}{
		{client.TypeDomain, "bücher.example", client.VerdictRegistered, "/domain/xn--bcher-kva.example"},
		{client.TypeDomain, "2.0.192.in-addr.arpa", client.VerdictRegistered, "/domain/2.0.192.in-addr.arpa"},
		{client.TypeIP, "192.0.2.1", client.VerdictFound, "/ip/192.0.2.1"},
		{client.TypeIP, "2001:db8::/32", client.VerdictFound, "/ip/2001:db8::/32"},
		{client.TypeAutnum, "AS64496", client.VerdictFound, "/autnum/64496"},
		{client.TypeEntity, "ODD HANDLE/1?", client.VerdictFound, "/entity/ODD%20HANDLE%2F1%3F"},
		{client.TypeNameserver, "ns1.alpha.example", client.VerdictFound, "/nameserver/ns1.alpha.example"},
	} {
		r := a.lookup(t, mustParse(t, tt.typ, tt.text))
		if r.Verdict != tt.verdict || r.Status != 200 || len(r.Raw) == 0 || r.Attempts != 1 {
			t.Errorf("%s: %s", tt.text, describe(r))
		}
		if len(r.Warnings) > 0 {
			t.Errorf("%s: warnings %q", tt.text, r.Warnings)
		}
		log := s.Log()
		last := log[len(log)-1]
		if last.URI != tt.uri {
			t.Errorf("%s: asked for %q, want %q", tt.text, last.URI, tt.uri)
		}
		if got := last.Header["Accept"]; len(got) != 1 || got[0] != "application/rdap+json, application/json;q=0.9" {
			t.Errorf("Accept: %q", got)
		}
		if got := last.Header["User-Agent"]; len(got) != 1 || got[0] != client.DefaultUserAgent {
			t.Errorf("User-Agent: %q", got)
		}
		if r.Server != s.URL() || r.Source != bootstrap.SourceOverride || r.Entry != "test" ||
			r.URL != strings.TrimSuffix(s.URL(), "/")+tt.uri || r.FinalURL != r.URL {
			t.Errorf("%s: server %q, source %q, entry %q, URL %q, final %q", tt.text, r.Server, r.Source, r.Entry, r.URL, r.FinalURL)
		}
		if r.Conn.ConnID != 1 || r.Conn.Protocol != "h2" || r.Conn.Total == 0 || r.Conn.BytesIn != int64(len(r.Raw)) {
			t.Errorf("%s: connection %+v", tt.text, r.Conn)
		}
	}
	if n := s.Counts().Connections; n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestLookupServer(t *testing.T) {
	asked := atomic.Int32{}
	resolver := resolverFunc(func(bootstrap.Question) (bootstrap.Answer, error) {
		asked.Add(1)
		return bootstrap.Answer{}, bootstrap.ErrNoService
	})
	s, a := newPair(t, rdaptest.Config{}, client.Config{Resolver: resolver})
	for _, server := range []string{s.URL(), strings.TrimSuffix(s.URL(), "/"), s.Addr(), "HTTPS://" + s.Addr()} {
		q := mustParse(t, client.TypeHelp, "")
		q.Server = server
		r := a.lookup(t, q)
		if r.Verdict != client.VerdictFound || r.Source != bootstrap.SourceServer || r.Server != s.URL() {
			t.Errorf("%s: %s, source %q, server %q", server, describe(r), r.Source, r.Server)
		}
	}
	for server, verdict := range map[string]client.Verdict{
		"ftp://" + s.Addr() + "/":  client.VerdictInvalid,
		"https://":                 client.VerdictInvalid,
		"https://a b/":             client.VerdictInvalid,
		"http://" + s.Addr() + "/": client.VerdictNoService,
	} {
		q := mustParse(t, "", "alpha.example")
		q.Server = server
		if r := a.lookup(t, q); r.Verdict != verdict || r.Attempts != 0 {
			t.Errorf("%s: %s after %d attempts", server, describe(r), r.Attempts)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the resolver was asked %d times for queries with a server", n)
	}
	if r := a.lookup(t, mustParse(t, client.TypeHelp, "")); r.Verdict != client.VerdictInvalid {
		t.Errorf("help without a server: %s", describe(r))
	}
	if r := a.lookup(t, client.Query{}); r.Verdict != client.VerdictInvalid {
		t.Errorf("zero query: %s", describe(r))
	}
}

func TestLookupNoService(t *testing.T) {
	for _, tt := range []struct {
		err     error
		verdict client.Verdict
		code    client.Code
		is      error
	}{
		{fmt.Errorf("nothing: %w", bootstrap.ErrNoService), client.VerdictNoService, client.CodeNoService, bootstrap.ErrNoService},
		{nil, client.VerdictNoService, client.CodeNoService, bootstrap.ErrNoService},
		{bootstrap.ErrHTTPOnly, client.VerdictNoService, client.CodeHTTPOnly, bootstrap.ErrHTTPOnly},
		{errors.New("disk on fire"), client.VerdictFailed, client.CodeBootstrap, nil},
	} {
		a := newAsker(t, newCA(t), client.Config{Resolver: resolverFunc(func(bootstrap.Question) (bootstrap.Answer, error) {
			return bootstrap.Answer{}, tt.err
		})})
		r, err := a.Lookup(t.Context(), mustParse(t, "", "alpha.zz"))
		checkResult(t, r)
		var e *client.Error
		if r.Verdict != tt.verdict || !errors.As(err, &e) || e.Code != tt.code || tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%v: %s, error %v", tt.err, describe(r), err)
		}
		if r.Attempts != 0 {
			t.Errorf("%v: %d attempts", tt.err, r.Attempts)
		}
		if tt.code == client.CodeNoService && !strings.Contains(client.ErrorOf(r).Message, ".zz") {
			t.Errorf("message %q does not name the top-level domain", client.ErrorOf(r).Message)
		}
	}
}

// No registry is responsible for a private address, and the error does not suggest that
// IANA's files are out of date.
func TestLookupSpecialAddress(t *testing.T) {
	res, err := bootstrap.New(bootstrap.Config{Offline: true})
	if err != nil {
		t.Fatal(err)
	}
	a := newAsker(t, newCA(t), client.Config{Resolver: res})
	for text, special := range map[string]bool{"10.1.2.0/24": true, "::1": true, "224.0.0.1": true, "4000::1": false} {
		r, err := a.Lookup(t.Context(), mustParse(t, "", text))
		if !errors.Is(err, bootstrap.ErrNoService) || r.Verdict != client.VerdictNoService {
			t.Fatalf("%s: %s, error %v", text, describe(r), err)
		}
		want := "no RDAP service known for " + text + ", a private, loopback or special-purpose address"
		if told := err.Error() == want; told != special {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestLookupHTTPOnly(t *testing.T) {
	asked := false
	plain := newPlain(t, func(w http.ResponseWriter, _ *http.Request) {
		asked = true
		w.Header().Set("Content-Type", "application/rdap+json")
		fmt.Fprint(w, `{"objectClassName":"domain","ldhName":"alpha.example"}`)
	})
	ca := newCA(t)
	q := mustParse(t, "", "alpha.example")
	from := func(source bootstrap.Source) resolverFunc {
		return func(bootstrap.Question) (bootstrap.Answer, error) {
			return bootstrap.Answer{URLs: []string{plain}, Source: source}, nil
		}
	}
	r := newAsker(t, ca, client.Config{Resolver: from(bootstrap.SourceIANA)}).lookup(t, q)
	if r.Verdict != client.VerdictNoService || client.ErrorOf(r).Code != client.CodeHTTPOnly || asked {
		t.Errorf("%s, asked %v", describe(r), asked)
	}
	// Servers from overrides are accepted, whatever bootstrap says, and so is a server in the
	// query.
	if r = newAsker(t, ca, client.Config{Resolver: from(bootstrap.SourceOverride)}).lookup(t, q); client.ErrorOf(r) == nil || client.ErrorOf(r).Code != client.CodeHTTPOnly || asked {
		t.Errorf("override: %s, asked %v", describe(r), asked)
	}
	r = newAsker(t, ca, client.Config{Resolver: from(bootstrap.SourceIANA), AllowHTTP: true}).lookup(t, q)
	if r.Verdict != client.VerdictRegistered || !asked {
		t.Errorf("allowed: %s, asked %v", describe(r), asked)
	}
}

// newPlain starts a server without TLS and returns its base URL.
func newPlain(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return "http://" + l.Addr().String() + "/"
}

// refused is a base URL whose port has no listener. The port is assigned, but not used in
// practice.
const refused = "https://127.0.0.1:1/"

func TestLookupNextServer(t *testing.T) {
	t.Parallel() // the test mostly waits
	ca := newCA(t)
	good := rdaptest.Start(t, rdaptest.Config{CA: ca})
	other := rdaptest.Start(t, rdaptest.Config{CA: ca})
	q := mustParse(t, "", "alpha.example")

	dead := refused
	r := newAsker(t, ca, client.Config{Resolver: urls{dead, good.URL()}}).lookup(t, q)
	if r.Verdict != client.VerdictRegistered || r.Server != good.URL() || r.Attempts != 2 {
		t.Errorf("refused, then good: %s at %s after %d attempts", describe(r), r.Server, r.Attempts)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Message, dead[len("https://"):len(dead)-1]) {
		t.Errorf("warnings %q do not name the dead server", r.Warnings)
	}

	good.On("/domain/free.example", rdaptest.Status(404))
	r = newAsker(t, ca, client.Config{Resolver: urls{good.URL(), other.URL()}}).lookup(t, mustParse(t, "", "free.example"))
	if r.Verdict != client.VerdictNotFound || r.Attempts != 1 || other.Counts().Connections != 0 {
		t.Errorf("404, then another: %s after %d attempts", describe(r), r.Attempts)
	}

	good.On("/domain/busy.example", rdaptest.Status(500))
	r = newAsker(t, ca, client.Config{Resolver: urls{good.URL(), other.URL()}}).lookup(t, mustParse(t, "", "busy.example"))
	if r.Verdict != client.VerdictFailed || client.ErrorOf(r).Code != client.CodeServerError || r.Attempts != 3 || other.Counts().Connections != 0 {
		t.Errorf("500, then another: %s after %d attempts", describe(r), r.Attempts)
	}

	r = newAsker(t, ca, client.Config{Resolver: urls{dead}}).lookup(t, q)
	if r.Verdict != client.VerdictFailed || client.ErrorOf(r).Code != client.CodeRefused || !strings.Contains(client.ErrorOf(r).Message, "127.0.0.1:") {
		t.Errorf("one dead server: %s", describe(r))
	}
}

func TestLookupShare(t *testing.T) {
	t.Parallel() // the test mostly waits
	ca := newCA(t)
	good := rdaptest.Start(t, rdaptest.Config{CA: ca})
	silent := rdaptest.Start(t, rdaptest.Config{CA: ca, Conn: rdaptest.ConnRules{SilentTLS: true}})
	a := newAsker(t, ca, client.Config{Resolver: urls{silent.URL(), good.URL()}})
	// The first server may use only half of the caller's time.
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
	defer cancel()
	r, err := a.Lookup(ctx, mustParse(t, "", "alpha.example"))
	if err != nil || r.Verdict != client.VerdictRegistered {
		t.Errorf("%s, error %v", describe(r), err)
	}
}

// An empty Query, which is not from Parse, is not sent.
func TestLookupNothing(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{}, client.Config{})
	for _, q := range []client.Query{
		{},
		{Type: client.TypeDomain},
		{Type: client.TypeNameserver, Text: "ns1.alpha.example"},
		{Type: client.TypeEntity},
		{Type: client.TypeIP},
		{Type: client.TypeDomains},
		{Type: client.TypeIPs, Search: &client.Search{Relation: client.RelationUp}},
		{Type: client.TypeDomains, Search: &client.Search{Relation: client.RelationUp}},
	} {
		q.Server = s.URL()
		if r := a.lookup(t, q); r.Verdict != client.VerdictInvalid || q.Path() != "" {
			t.Errorf("%+v: %s, path %q", q, describe(r), q.Path())
		}
	}
	if n := s.Counts().Requests; n != 0 {
		t.Errorf("%d requests", n)
	}
}
