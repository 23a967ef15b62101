package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
)

func TestLookupSilentServer(t *testing.T) {
	t.Parallel() // the test mostly waits
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
			t.Parallel()
			cfg := client.Config{
				Transport: transport, Resolver: urls{silent.URL(), good.URL()},
				Timeout: 2 * time.Second, ConnectTimeout: 1500 * time.Millisecond, MaxWait: 2 * time.Second,
			}
			r := newAsker(t, ca, cfg).lookup(t, q)
			if r.Verdict != client.VerdictRegistered || r.Attempts != 2 {
				t.Errorf("silent, then good: %s after %d attempts", describe(r), r.Attempts)
			}
			cfg.Resolver, cfg.Timeout = urls{silent.URL()}, 300*time.Millisecond
			r = newAsker(t, ca, cfg).lookup(t, q)
			if r.Verdict != client.VerdictFailed || client.ErrorOf(r).Code != client.CodeTimeout || !errors.Is(client.ErrorOf(r), context.DeadlineExceeded) {
				t.Errorf("silent: %s, cause %v", describe(r), client.ErrorOf(r).Err)
			}
			if !strings.Contains(client.ErrorOf(r).Message, "TLS handshake") || !strings.Contains(client.ErrorOf(r).Message, silent.Addr()) {
				t.Errorf("message %q lacks step or place", client.ErrorOf(r).Message)
			}
		})
	}
}

func TestLookupUnresolved(t *testing.T) {
	a := newAsker(t, newCA(t), client.Config{
		Resolver: urls{"https://rdap.invalid/"},
		Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			// Return the error of a DNS resolver without a query, because tests use only
			// loopback.
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "rdap.invalid", IsNotFound: true}}
		}},
	})
	r := a.lookup(t, mustParse(t, "", "alpha.example"))
	if r.Verdict != client.VerdictFailed || client.ErrorOf(r).Code != client.CodeDNS || !strings.Contains(client.ErrorOf(r).Message, "rdap.invalid") {
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
		{"unknown authority", rdaptest.Config{}, "untrusted authority"},
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
				if r.Verdict != client.VerdictFailed || client.ErrorOf(r).Code != client.CodeTLS || r.Attempts != 1 {
					t.Fatalf("%s after %d attempts, cause %v", describe(r), r.Attempts, client.ErrorOf(r).Err)
				}
				if !strings.Contains(client.ErrorOf(r).Message, tt.want) || !strings.Contains(client.ErrorOf(r).Message, s.Addr()) {
					t.Errorf("message %q, want %q and %s in it", client.ErrorOf(r).Message, tt.want, s.Addr())
				}
				if n := s.Counts().Connections; n != 1 {
					t.Errorf("%d connections for one failed handshake", n)
				}
			})
		}
	}
}

func TestLookupHandshakeHangUp(t *testing.T) {
	t.Parallel() // the test mostly waits
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
			_, _ = c.Read(make([]byte, 8<<10)) // read the ClientHello
			c.Close()
		}
	}()
	for _, transport := range []http.RoundTripper{nil, &http.Transport{}} {
		a := newAsker(t, newCA(t), client.Config{Resolver: urls{"https://" + l.Addr().String() + "/"}, Transport: transport})
		r := a.lookup(t, mustParse(t, "", "alpha.example"))
		if r.Verdict != client.VerdictFailed || client.ErrorOf(r).Code != client.CodeTLS || !strings.Contains(client.ErrorOf(r).Message, "during the handshake") {
			t.Errorf("%s, cause %v", describe(r), client.ErrorOf(r).Err)
		}
	}
}

func TestLookupNotTLS(t *testing.T) {
	plain := newPlain(t, func(http.ResponseWriter, *http.Request) {})
	r := newAsker(t, newCA(t), client.Config{Resolver: urls{"https" + strings.TrimPrefix(plain, "http")}}).
		lookup(t, mustParse(t, "", "alpha.example"))
	if r.Verdict != client.VerdictFailed || client.ErrorOf(r).Code != client.CodeTLS || !strings.Contains(client.ErrorOf(r).Message, "does not speak TLS") {
		t.Errorf("%s, cause %v", describe(r), client.ErrorOf(r).Err)
	}
}

func TestLookupBroken(t *testing.T) {
	t.Parallel() // the test mostly waits
	s, a := newPair(t, rdaptest.Config{Protocols: rdaptest.H1Only}, client.Config{})
	s.On("/domain/hangup.example", rdaptest.HangUp())
	s.On("/domain/reset.example", rdaptest.ResetConn())
	s.On("/domain/cut.example", rdaptest.Cut(10))
	for _, name := range []string{"hangup.example", "reset.example", "cut.example"} {
		r := a.lookup(t, mustParse(t, "", name))
		if r.Verdict != client.VerdictFailed || client.ErrorOf(r).Code != client.CodeTransport || !strings.Contains(client.ErrorOf(r).Message, s.Addr()) {
			t.Errorf("%s: %s", name, describe(r))
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
	if r.Verdict != client.VerdictFailed || client.ErrorOf(r).Code != client.CodeCanceled || !errors.Is(err, context.Canceled) {
		t.Errorf("%s, error %v", describe(r), err)
	}
	// If the context has ended, no request is sent.
	r, err = a.Lookup(ctx, mustParse(t, "", "alpha.example"))
	checkResult(t, r)
	if r.Attempts != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%s after %d attempts, error %v", describe(r), r.Attempts, err)
	}
	expired, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	r, err = a.Lookup(expired, mustParse(t, "", "hang.example"))
	if r.Verdict != client.VerdictFailed || client.ErrorOf(r).Code != client.CodeTimeout || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("deadline: %s, error %v", describe(r), err)
	}
}
