package pool_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"path/filepath"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// otherRoots returns a pool with the server's CA and another CA.
func otherRoots(t *testing.T, s *rdaptest.Server) *x509.CertPool {
	t.Helper()
	other, err := rdaptest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	roots := s.Pool()
	roots.AppendCertsFromPEM(other.PEM())
	return roots
}

// With each of two configurations the first handshake is full. Neither configuration uses a
// session of the other.
func TestSessionsDoNotCross(t *testing.T) {
	alice, bob := clientCert(t, "alice"), clientCert(t, "bob")
	as := func(c *tls.Certificate) func(string) (*tls.Certificate, string) {
		return func(string) (*tls.Certificate, string) { return c, "" }
	}
	for _, test := range []struct {
		name string
		a, b func(*testing.T, *rdaptest.Server) pool.Config
	}{
		{
			"Authorities",
			func(t *testing.T, s *rdaptest.Server) pool.Config {
				return pool.Config{TLS: &tls.Config{RootCAs: s.Pool()}, Trust: "one"}
			},
			func(t *testing.T, s *rdaptest.Server) pool.Config {
				return pool.Config{TLS: &tls.Config{RootCAs: otherRoots(t, s)}, Trust: "two"}
			},
		},
		{
			"Insecure",
			func(t *testing.T, s *rdaptest.Server) pool.Config {
				return pool.Config{TLS: &tls.Config{RootCAs: s.Pool()}, Trust: "one"}
			},
			func(*testing.T, *rdaptest.Server) pool.Config {
				return pool.Config{TLS: &tls.Config{InsecureSkipVerify: true}}
			},
		},
		{
			"InsecureOfTheSameName",
			func(t *testing.T, s *rdaptest.Server) pool.Config {
				return pool.Config{TLS: &tls.Config{RootCAs: s.Pool()}, Trust: "one"}
			},
			func(*testing.T, *rdaptest.Server) pool.Config {
				return pool.Config{TLS: &tls.Config{InsecureSkipVerify: true}, Trust: "one"}
			},
		},
		{
			"NamedLikeADefault",
			func(t *testing.T, s *rdaptest.Server) pool.Config {
				return pool.Config{TLS: &tls.Config{RootCAs: s.Pool()}, Trust: "insecure"}
			},
			func(*testing.T, *rdaptest.Server) pool.Config {
				return pool.Config{TLS: &tls.Config{InsecureSkipVerify: true}}
			},
		},
		{
			"ClientCertificateOrNone",
			func(*testing.T, *rdaptest.Server) pool.Config { return pool.Config{} },
			func(*testing.T, *rdaptest.Server) pool.Config { return pool.Config{ClientCertificate: as(alice)} },
		},
		{
			"ClientCertificates",
			func(*testing.T, *rdaptest.Server) pool.Config { return pool.Config{ClientCertificate: as(alice)} },
			func(*testing.T, *rdaptest.Server) pool.Config { return pool.Config{ClientCertificate: as(bob)} },
		},
		{
			"ClientCertificatesInTLS",
			func(t *testing.T, s *rdaptest.Server) pool.Config {
				return pool.Config{TLS: &tls.Config{RootCAs: s.Pool(), Certificates: []tls.Certificate{*alice}}, Trust: "one"}
			},
			func(t *testing.T, s *rdaptest.Server) pool.Config {
				return pool.Config{TLS: &tls.Config{RootCAs: s.Pool(), Certificates: []tls.Certificate{*bob}}, Trust: "one"}
			},
		},
		{
			"ServerName",
			func(t *testing.T, s *rdaptest.Server) pool.Config {
				return pool.Config{TLS: &tls.Config{RootCAs: s.Pool(), ServerName: "localhost"}, Trust: "one"}
			},
			func(t *testing.T, s *rdaptest.Server) pool.Config {
				return pool.Config{TLS: &tls.Config{RootCAs: s.Pool()}, Trust: "one"}
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			versions(t, func(t *testing.T, version uint16) {
				s := rdaptest.Start(t, rdaptest.Config{
					MaxTLS: version,
					TLS:    func(c *tls.Config) { c.ClientAuth = tls.RequestClientCert },
				})
				saw := handshakes(t, s)
				file := filepath.Join(t.TempDir(), "sessions")
				a, b := test.a(t, s), test.b(t, s)
				for _, r := range []struct {
					what          string
					c             pool.Config
					full, resumed int64
				}{
					{"first run with a", a, 1, 0},
					{"first run with b", b, 1, 0},
					{"second run with a", a, 0, 1},
					{"second run with b", b, 0, 1},
				} {
					if err := run(t, s, file, r.c); err != nil {
						t.Fatal(r.what, err)
					}
					saw(r.what, r.full, r.resumed)
				}
			})
		})
	}
}

// Without a name for its trust, a Pool does not share its sessions.
func TestUnnamedTrustIsNotShared(t *testing.T) {
	for name, config := range map[string]func(*rdaptest.Server) *tls.Config{
		"RootCAs": func(s *rdaptest.Server) *tls.Config { return &tls.Config{RootCAs: s.Pool()} },
		"VerifyPeerCertificate": func(*rdaptest.Server) *tls.Config {
			return &tls.Config{
				InsecureSkipVerify:    true,
				VerifyPeerCertificate: func([][]byte, [][]*x509.Certificate) error { return nil },
			}
		},
		"GetClientCertificate": func(*rdaptest.Server) *tls.Config {
			return &tls.Config{
				InsecureSkipVerify: true,
				GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
					return new(tls.Certificate), nil
				},
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := rdaptest.Start(t, rdaptest.Config{})
			saw := handshakes(t, s)
			file := filepath.Join(t.TempDir(), "sessions")
			for _, what := range []string{"first run", "second run"} {
				if err := run(t, s, file, pool.Config{TLS: config(s)}); err != nil {
					t.Fatal(err)
				}
				saw(what, 1, 0)
			}
			f, err := pool.OpenSessionFile(file, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			p, err := pool.New(pool.Config{TLS: config(s), Sessions: f, FreshConns: true})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			getAll(t, p, s, 3, 1)
			saw("one pool", 1, 2)
		})
	}
}

// Servers that share ticket keys, as behind a load balancer, would resume each
// other's sessions.
func TestSessionsDoNotCrossPorts(t *testing.T) {
	versions(t, func(t *testing.T, version uint16) {
		ca, err := rdaptest.NewCA()
		if err != nil {
			t.Fatal(err)
		}
		sameKeys := rdaptest.Config{CA: ca, MaxTLS: version, TLS: func(c *tls.Config) {
			c.SetSessionTicketKeys([][32]byte{{1, 2, 3}})
		}}
		s, other := rdaptest.Start(t, sameKeys), rdaptest.Start(t, sameKeys)
		file := filepath.Join(t.TempDir(), "sessions")
		sawS, sawOther := handshakes(t, s), handshakes(t, other)
		for _, r := range []struct {
			what          string
			server        *rdaptest.Server
			saw           func(string, int64, int64)
			full, resumed int64
		}{
			{"one server", s, sawS, 1, 0},
			{"another port", other, sawOther, 1, 0},
			{"one server again", s, sawS, 0, 1},
			{"the other again", other, sawOther, 0, 1},
		} {
			if err := run(t, r.server, file, pool.Config{}); err != nil {
				t.Fatal(err)
			}
			r.saw(r.what, r.full, r.resumed)
		}
	})
}

// A rekeyed is a store that returns sessions under other keys.
type rekeyed struct {
	pool.SessionStore
	rekey func(pool.SessionKey) pool.SessionKey
}

func (r rekeyed) Take(ctx context.Context, k pool.SessionKey) ([]byte, error) {
	session, err := r.SessionStore.Take(ctx, r.rekey(k))
	return pool.RekeySession(session, k), err
}

func (r rekeyed) Put(ctx context.Context, k pool.SessionKey, session []byte) error {
	k = r.rekey(k)
	if session != nil {
		session = pool.RekeySession(session, k)
	}
	return r.SessionStore.Put(ctx, k, session)
}

func TestSessionsDoNotCrossToQUIC(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{})
	saw := handshakes(t, s)
	f, err := pool.OpenSessionFile(filepath.Join(t.TempDir(), "sessions"), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	// Store all sessions of the first Pool as QUIC sessions.
	quic := rekeyed{f, func(k pool.SessionKey) pool.SessionKey { k.QUIC = true; return k }}
	for _, r := range []struct {
		what          string
		store         pool.SessionStore
		full, resumed int64
	}{
		{"as QUIC", quic, 1, 0},
		{"TCP", f, 1, 0},
		{"as QUIC again", quic, 0, 1},
		{"TCP again", f, 0, 1},
	} {
		if err := run(t, s, "", pool.Config{Sessions: r.store}); err != nil {
			t.Fatal(err)
		}
		saw(r.what, r.full, r.resumed)
	}
}

// Even under a wrong key a session does not bypass the verification of the
// certificate.
func TestResumedSessionsAreVerified(t *testing.T) {
	other, err := rdaptest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	for name, first := range map[string]func(*rdaptest.Server) *tls.Config{
		"OtherAuthority": func(s *rdaptest.Server) *tls.Config { return &tls.Config{RootCAs: s.Pool()} },
		"Insecure":       func(*rdaptest.Server) *tls.Config { return &tls.Config{InsecureSkipVerify: true} },
	} {
		t.Run(name, func(t *testing.T) {
			versions(t, func(t *testing.T, version uint16) {
				s := rdaptest.Start(t, rdaptest.Config{MaxTLS: version})
				saw := handshakes(t, s)
				f, err := pool.OpenSessionFile(filepath.Join(t.TempDir(), "sessions"), 0, nil)
				if err != nil {
					t.Fatal(err)
				}
				same := rekeyed{f, func(k pool.SessionKey) pool.SessionKey { k.Trust = ""; return k }}
				for _, what := range []string{"first", "second"} {
					if err := run(t, s, "", pool.Config{Sessions: same, TLS: first(s), Trust: "x"}); err != nil {
						t.Fatal(what, err)
					}
				}
				saw("before", 1, 1)
				err = run(t, s, "", pool.Config{Sessions: same, TLS: &tls.Config{RootCAs: other.Pool()}, Trust: "x"})
				if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok {
					t.Errorf("got %v, want a certificate error", err)
				}
				if err := s.AwaitOpen(t.Context(), 0); err != nil {
					t.Fatal(err)
				}
				if c := s.Counts(); c.Resumed != 1 || c.Requests != 2 || c.Connections != 3 {
					t.Errorf("server saw %d sessions resumed, %d requests and %d connections, want 1, 2 and 3", c.Resumed, c.Requests, c.Connections)
				}
			})
		})
	}
}
