package client_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
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
		{client.TypeDomain, "bücher.example", client.Registered, "/domain/xn--bcher-kva.example"},
		{client.TypeDomain, "2.0.192.in-addr.arpa", client.Registered, "/domain/2.0.192.in-addr.arpa"},
		{client.TypeIP, "192.0.2.1", client.Found, "/ip/192.0.2.1"},
		{client.TypeIP, "2001:db8::/32", client.Found, "/ip/2001:db8::/32"},
		{client.TypeAutnum, "AS64496", client.Found, "/autnum/64496"},
		{client.TypeEntity, "ODD HANDLE/1?", client.Found, "/entity/ODD%20HANDLE%2F1%3F"},
		{client.TypeNameserver, "ns1.alpha.example", client.Found, "/nameserver/ns1.alpha.example"},
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

func TestLookupForeignTransport(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{})
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.Pool()}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	a := newAsker(t, s.CA(), client.Config{Transport: transport, Resolver: urls{s.URL()}})
	for i := range 2 {
		r := a.lookup(t, mustParse(t, "", "alpha.example"))
		if r.Verdict != client.Registered || r.Conn.Protocol != "h2" || r.Conn.TLS != tls.VersionTLS13 ||
			r.Conn.RemoteAddr != s.Addr() || r.Conn.Reused != (i == 1) {
			t.Errorf("%s, connection %+v", describe(r), r.Conn)
		}
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
		if r.Verdict != client.Found || r.Source != bootstrap.SourceServer || r.Server != s.URL() {
			t.Errorf("%s: %s, source %q, server %q", server, describe(r), r.Source, r.Server)
		}
	}
	for server, verdict := range map[string]client.Verdict{
		"ftp://" + s.Addr() + "/":  client.Invalid,
		"https://":                 client.Invalid,
		"https://a b/":             client.Invalid,
		"http://" + s.Addr() + "/": client.NoService,
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
	if r := a.lookup(t, mustParse(t, client.TypeHelp, "")); r.Verdict != client.Invalid {
		t.Errorf("help without a server: %s", describe(r))
	}
	if r := a.lookup(t, client.Query{}); r.Verdict != client.Invalid {
		t.Errorf("zero query: %s", describe(r))
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
	all := strings.Join([]string{r.Server, r.URL, r.FinalURL, r.Err.Message, r.Err.URL, r.Err.Server}, " ")
	if strings.Contains(all, "abc123") || strings.Contains(all, "word@") {
		t.Errorf("keys show in %q", all)
	}
	if !strings.Contains(r.URL, "lang=en") {
		t.Errorf("URL %q lacks what is no key", r.URL)
	}
}

func TestLookupNoService(t *testing.T) {
	for _, tt := range []struct {
		err     error
		verdict client.Verdict
		code    string
		is      error
	}{
		{fmt.Errorf("nothing: %w", bootstrap.ErrNoService), client.NoService, client.CodeNoService, bootstrap.ErrNoService},
		{nil, client.NoService, client.CodeNoService, bootstrap.ErrNoService},
		{bootstrap.ErrHTTPOnly, client.NoService, client.CodeHTTPOnly, bootstrap.ErrHTTPOnly},
		{errors.New("disk on fire"), client.Failed, client.CodeBootstrap, nil},
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
		if tt.code == client.CodeNoService && !strings.Contains(r.Err.Message, ".zz") {
			t.Errorf("message %q does not name the top-level domain", r.Err.Message)
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
	r := newAsker(t, ca, client.Config{Resolver: urls{plain}}).lookup(t, q)
	if r.Verdict != client.NoService || r.Err.Code != client.CodeHTTPOnly || asked {
		t.Errorf("%s, asked %v", describe(r), asked)
	}
	r = newAsker(t, ca, client.Config{Resolver: urls{plain}, AllowHTTP: true}).lookup(t, q)
	if r.Verdict != client.Registered || !asked {
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

// refused returns the base URL of a port that nobody listens on.
func refused(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "https://" + l.Addr().String() + "/"
}

func TestLookupNextServer(t *testing.T) {
	ca := newCA(t)
	good := rdaptest.Start(t, rdaptest.Config{CA: ca})
	other := rdaptest.Start(t, rdaptest.Config{CA: ca})
	q := mustParse(t, "", "alpha.example")

	dead := refused(t)
	r := newAsker(t, ca, client.Config{Resolver: urls{dead, good.URL()}}).lookup(t, q)
	if r.Verdict != client.Registered || r.Server != good.URL() || r.Attempts != 2 {
		t.Errorf("refused, then good: %s at %s after %d attempts", describe(r), r.Server, r.Attempts)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], dead[len("https://"):len(dead)-1]) {
		t.Errorf("warnings %q do not name the dead server", r.Warnings)
	}

	good.On("/domain/free.example", rdaptest.Status(404))
	r = newAsker(t, ca, client.Config{Resolver: urls{good.URL(), other.URL()}}).lookup(t, mustParse(t, "", "free.example"))
	if r.Verdict != client.NotFound || r.Attempts != 1 || other.Counts().Connections != 0 {
		t.Errorf("404, then another: %s after %d attempts", describe(r), r.Attempts)
	}

	good.On("/domain/busy.example", rdaptest.Status(500))
	r = newAsker(t, ca, client.Config{Resolver: urls{good.URL(), other.URL()}}).lookup(t, mustParse(t, "", "busy.example"))
	if r.Verdict != client.Failed || r.Err.Code != client.CodeServerError || r.Attempts != 1 {
		t.Errorf("500, then another: %s after %d attempts", describe(r), r.Attempts)
	}

	r = newAsker(t, ca, client.Config{Resolver: urls{dead}}).lookup(t, q)
	if r.Verdict != client.Failed || r.Err.Code != client.CodeRefused || !strings.Contains(r.Err.Message, "127.0.0.1:") {
		t.Errorf("one dead server: %s", describe(r))
	}
}

func TestLookupSilentServer(t *testing.T) {
	ca := newCA(t)
	good := rdaptest.Start(t, rdaptest.Config{CA: ca})
	silent := rdaptest.Start(t, rdaptest.Config{CA: ca, Conn: rdaptest.ConnRules{SilentTLS: true}})
	q := mustParse(t, "", "alpha.example")
	for name, transport := range map[string]http.RoundTripper{
		"pool": nil,
		"foreign": &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: ca.Pool()}, DisableKeepAlives: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := client.Config{
				Transport: transport, Resolver: urls{silent.URL(), good.URL()},
				Timeout: 300 * time.Millisecond, ConnectTimeout: 100 * time.Millisecond,
			}
			r := newAsker(t, ca, cfg).lookup(t, q)
			if r.Verdict != client.Registered || r.Attempts != 2 {
				t.Errorf("silent, then good: %s after %d attempts", describe(r), r.Attempts)
			}
			cfg.Resolver = urls{silent.URL()}
			r = newAsker(t, ca, cfg).lookup(t, q)
			if r.Verdict != client.Failed || r.Err.Code != client.CodeTimeout || !errors.Is(r.Err, context.DeadlineExceeded) {
				t.Errorf("silent: %s, cause %v", describe(r), r.Err.Err)
			}
			if !strings.Contains(r.Err.Message, "TLS handshake") || !strings.Contains(r.Err.Message, silent.Addr()) {
				t.Errorf("message %q lacks step or place", r.Err.Message)
			}
		})
	}
}

func TestLookupShare(t *testing.T) {
	ca := newCA(t)
	good := rdaptest.Start(t, rdaptest.Config{CA: ca})
	silent := rdaptest.Start(t, rdaptest.Config{CA: ca, Conn: rdaptest.ConnRules{SilentTLS: true}})
	a := newAsker(t, ca, client.Config{Resolver: urls{silent.URL(), good.URL()}})
	// The first server may use half of the caller's time only.
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	r, err := a.Lookup(ctx, mustParse(t, "", "alpha.example"))
	if err != nil || r.Verdict != client.Registered {
		t.Errorf("%s, error %v", describe(r), err)
	}
}

func TestLookupUnresolved(t *testing.T) {
	a := newAsker(t, newCA(t), client.Config{
		Resolver: urls{"https://rdap.invalid/"},
		Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			// What a resolver says, without asking one: tests stay on loopback.
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "rdap.invalid", IsNotFound: true}}
		}},
	})
	r := a.lookup(t, mustParse(t, "", "alpha.example"))
	if r.Verdict != client.Failed || r.Err.Code != client.CodeDNS || !strings.Contains(r.Err.Message, "rdap.invalid") {
		t.Errorf("%s", describe(r))
	}
}

func TestLookupTLS(t *testing.T) {
	ca := newCA(t)
	expired, err := ca.ExpiredCertificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := ca.WrongHostCertificate()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		server rdaptest.Config
		want   string
	}{
		{"expired", rdaptest.Config{CA: ca, Certificate: &expired}, "expired on"},
		{"wrong host", rdaptest.Config{CA: ca, Certificate: &wrong}, "another host"},
		{"unknown authority", rdaptest.Config{}, "not trusted"},
		{"old version", rdaptest.Config{CA: ca, MinTLS: tls.VersionTLS10, MaxTLS: tls.VersionTLS11}, "handshake failed"},
		{"old cipher", rdaptest.Config{CA: ca, MaxTLS: tls.VersionTLS12, TLS: func(c *tls.Config) {
			c.CipherSuites = []uint16{tls.TLS_RSA_WITH_3DES_EDE_CBC_SHA}
		}}, "handshake failed"},
	} {
		for _, transport := range []http.RoundTripper{nil, &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool()}}} {
			t.Run(fmt.Sprintf("%s/%T", tt.name, transport), func(t *testing.T) {
				s := rdaptest.Start(t, tt.server)
				a := newAsker(t, ca, client.Config{Resolver: urls{s.URL()}, Transport: transport})
				r := a.lookup(t, mustParse(t, "", "alpha.example"))
				if r.Verdict != client.Failed || r.Err.Code != client.CodeTLS || r.Attempts != 1 {
					t.Fatalf("%s after %d attempts, cause %v", describe(r), r.Attempts, r.Err.Err)
				}
				if !strings.Contains(r.Err.Message, tt.want) || !strings.Contains(r.Err.Message, s.Addr()) {
					t.Errorf("message %q, want %q and %s in it", r.Err.Message, tt.want, s.Addr())
				}
				if n := s.Counts().Connections; n != 1 {
					t.Errorf("%d connections for one failed handshake", n)
				}
			})
		}
	}
}

func TestLookupHandshakeHangUp(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 8<<10)) // the ClientHello
			c.Close()
		}
	}()
	for _, transport := range []http.RoundTripper{nil, &http.Transport{}} {
		a := newAsker(t, newCA(t), client.Config{Resolver: urls{"https://" + l.Addr().String() + "/"}, Transport: transport})
		r := a.lookup(t, mustParse(t, "", "alpha.example"))
		if r.Verdict != client.Failed || r.Err.Code != client.CodeTLS || !strings.Contains(r.Err.Message, "in the handshake") {
			t.Errorf("%s, cause %v", describe(r), r.Err.Err)
		}
	}
}

func TestLookupNotTLS(t *testing.T) {
	plain := newPlain(t, func(http.ResponseWriter, *http.Request) {})
	r := newAsker(t, newCA(t), client.Config{Resolver: urls{"https" + strings.TrimPrefix(plain, "http")}}).
		lookup(t, mustParse(t, "", "alpha.example"))
	if r.Verdict != client.Failed || r.Err.Code != client.CodeTLS || !strings.Contains(r.Err.Message, "does not speak TLS") {
		t.Errorf("%s, cause %v", describe(r), r.Err.Err)
	}
}

func TestLookupBroken(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{Protocols: rdaptest.H1Only}, client.Config{})
	s.On("/domain/hangup.example", rdaptest.HangUp())
	s.On("/domain/reset.example", rdaptest.ResetConn())
	s.On("/domain/cut.example", rdaptest.Cut(10))
	for _, name := range []string{"hangup.example", "reset.example", "cut.example"} {
		r := a.lookup(t, mustParse(t, "", name))
		if r.Verdict != client.Failed || r.Err.Code != client.CodeTransport || !strings.Contains(r.Err.Message, s.Addr()) {
			t.Errorf("%s: %s", name, describe(r))
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
		if r := a.lookup(t, mustParse(t, "", "exact.example")); r.Verdict != client.Registered || len(r.Raw) != limit {
			t.Errorf("exact: %s, %d octets", describe(r), len(r.Raw))
		}
		for _, name := range []string{"announced.example", "huge.example", "endless.example"} {
			r := a.lookup(t, mustParse(t, "", name))
			if r.Verdict != client.Failed || r.Err.Code != client.CodeTooLarge || r.Status != 200 || r.Raw != nil {
				t.Errorf("%s: %s, %d octets", name, describe(r), len(r.Raw))
			}
			if r.Err != nil && r.Err.Status != 200 {
				t.Errorf("%s: error has status %d", name, r.Err.Status)
			}
		}
		// The status of a refusal needs no body.
		r := a.lookup(t, mustParse(t, "", "endless404.example"))
		if r.Verdict != client.NotFound || len(r.Warnings) == 0 || len(r.Raw) > limit {
			t.Errorf("endless 404: %s, %d octets", describe(r), len(r.Raw))
		}
		if r := a.lookup(t, mustParse(t, "", "alpha.example")); r.Verdict != client.Registered {
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
	// The client did not ask for it: on loopback compression does not pay.
	s.On("/domain/alpha.example", rdaptest.JSON(zip(object)), encoded)
	s.On("/domain/bomb.example", rdaptest.JSON(zip(strings.Repeat(" ", 50<<20)+object)), encoded)
	s.On("/domain/broken.example", rdaptest.JSON("no gzip"), encoded)
	if r := a.lookup(t, mustParse(t, "", "alpha.example")); r.Verdict != client.Registered || string(r.Raw) != object {
		t.Errorf("%s, body %q", describe(r), r.Raw)
	}
	if r := a.lookup(t, mustParse(t, "", "bomb.example")); r.Verdict != client.Failed || r.Err.Code != client.CodeTooLarge {
		t.Errorf("bomb: %s", describe(r))
	}
	if r := a.lookup(t, mustParse(t, "", "broken.example")); r.Verdict != client.Failed {
		t.Errorf("broken: %s", describe(r))
	}
}

func TestLookupDrip(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{}, client.Config{Timeout: 300 * time.Millisecond})
	s.On("/domain/drip.example", rdaptest.Drip(1, 50*time.Millisecond))
	s.On("/domain/hang.example", rdaptest.Hang())
	for name, doing := range map[string]string{"drip.example": "reading the answer", "hang.example": "waiting for the answer"} {
		r := a.lookup(t, mustParse(t, "", name))
		if r.Verdict != client.Failed || r.Err.Code != client.CodeTimeout || !strings.Contains(r.Err.Message, doing) {
			t.Errorf("%s: %s", name, describe(r))
		}
		if r.Err != nil && !errors.Is(r.Err, context.DeadlineExceeded) {
			t.Errorf("%s: cause %v", name, r.Err.Err)
		}
	}
}

func TestLookupCanceled(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{}, client.Config{})
	s.On("/domain/hang.example", rdaptest.Hang())
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_ = s.AwaitRequests(ctx, 1)
		cancel()
	}()
	r, err := a.Lookup(ctx, mustParse(t, "", "hang.example"))
	checkResult(t, r)
	if r.Verdict != client.Failed || r.Err.Code != client.CodeCanceled || !errors.Is(err, context.Canceled) {
		t.Errorf("%s, error %v", describe(r), err)
	}
	// A context that is over already costs no request.
	r, err = a.Lookup(ctx, mustParse(t, "", "alpha.example"))
	checkResult(t, r)
	if r.Attempts != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%s after %d attempts, error %v", describe(r), r.Attempts, err)
	}
	expired, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	r, err = a.Lookup(expired, mustParse(t, "", "hang.example"))
	if r.Verdict != client.Failed || r.Err.Code != client.CodeTimeout || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("deadline: %s, error %v", describe(r), err)
	}
}

func TestLookupKeepsConnection(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{Protocols: rdaptest.H1Only}, client.Config{})
	s.On("/domain/object.example", rdaptest.JSON(`{"objectClassName":"domain","ldhName":"object.example"}`+"\n\n"))
	s.On("/domain/none.example", rdaptest.Status(404))
	s.On("/domain/page.example", rdaptest.Status(404), rdaptest.Body("text/html", "<html>"+strings.Repeat("x", 3<<10)))
	s.On("/domain/moved.example", rdaptest.Status(301), rdaptest.Header("Location", "/domain/object.example"), rdaptest.Body("text/html", strings.Repeat("x", 2<<10)))
	s.On("/domain/bad.example", rdaptest.JSON(`{"objectClassName":"dom`))
	names := []string{"object.example", "none.example", "page.example", "moved.example", "bad.example"}
	for i := range 200 {
		a.lookup(t, mustParse(t, "", names[i%len(names)]))
	}
	if c := s.Counts(); c.Connections != 1 || c.Requests != 240 {
		t.Errorf("%d connections for %d requests, want 1 for 240", c.Connections, c.Requests)
	}
}
