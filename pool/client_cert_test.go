package pool_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"software.sslmate.com/src/go-pkcs12"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

func clientCert(t testing.TB, name string) *tls.Certificate {
	t.Helper()
	ca, err := rdaptest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ca.ClientCertificate(name)
	if err != nil {
		t.Fatal(err)
	}
	return &cert
}

func certPEM(cert *tls.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]})
}

func keyPEM(t testing.TB, cert *tls.Certificate) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func TestLoadClientCertificate(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, parts ...[]byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, bytes.Join(parts, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ca, err := rdaptest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	alice, bob := clientCert(t, "alice"), clientCert(t, "bob")
	authority, _ := pem.Decode(ca.PEM())
	issuer, err := x509.ParseCertificate(authority.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	p12 := func(e *pkcs12.Encoder, leaf *tls.Certificate, first *x509.Certificate, rest ...*x509.Certificate) []byte {
		data, err := e.Encode(leaf.PrivateKey, first, rest, "geheim")
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	trust, err := pkcs12.Modern.EncodeTrustStore([]*x509.Certificate{issuer}, "geheim")
	if err != nil {
		t.Fatal(err)
	}
	locked := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("x")})
	lockedOld := pem.EncodeToMemory(&pem.Block{
		Type: "EC PRIVATE KEY", Bytes: []byte("x"),
		Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-128-CBC,00"},
	})
	crt := file("alice.crt", certPEM(alice))

	for _, test := range []struct {
		name                string
		path, key, password string
		certs               int   // expected number of certificates
		err                 error // expected error; its text has the path
	}{
		{"one PEM file", file("one.pem", certPEM(alice), keyPEM(t, alice)), "", "", 1, nil},
		{"key first, words between", file("mixed.pem", keyPEM(t, alice), []byte("\nBag Attributes\n"), certPEM(alice), ca.PEM()), "", "", 2, nil},
		{"two PEM files", crt, file("alice.key", keyPEM(t, alice)), "ignored", 1, nil},
		{"PKCS#12", file("alice.p12", p12(pkcs12.Modern, alice, alice.Leaf)), "", "geheim", 1, nil},
		{"PKCS#12 with a chain", file("chain.p12", p12(pkcs12.Modern, alice, alice.Leaf, issuer)), "", "geheim", 2, nil},
		{"PKCS#12, authority first", file("turned.p12", p12(pkcs12.Modern, alice, issuer, alice.Leaf)), "", "geheim", 2, nil},
		{"old PKCS#12", file("old.pfx", p12(pkcs12.Legacy, alice, alice.Leaf)), "", "geheim", 1, nil},

		{"wrong password", file("wrong.p12", p12(pkcs12.Modern, alice, alice.Leaf)), "", "offen", 0, pool.ErrPassword},
		{"no password", file("none.p12", p12(pkcs12.Modern, alice, alice.Leaf)), "", "", 0, pool.ErrPassword},
		{"wrong password, old", file("wrong-old.p12", p12(pkcs12.Legacy, alice, alice.Leaf)), "", "offen", 0, pool.ErrPassword},
		{"PKCS#12 without key", file("trust.p12", trust), "", "geheim", 0, pool.ErrKeyMissing},
		{"PKCS#12 of another key", file("foreign.p12", p12(pkcs12.Modern, alice, bob.Leaf)), "", "geheim", 0, pool.ErrKeyForeign},
		{"no key", file("nokey.pem", certPEM(alice)), "", "", 0, pool.ErrKeyMissing},
		{"no certificate", file("nocert.pem", keyPEM(t, alice)), "", "", 0, pool.ErrNoCert},
		{"another's key", file("mine.crt", certPEM(alice)), file("bob.key", keyPEM(t, bob)), "", 0, pool.ErrKeyForeign},
		{"encrypted key", file("locked.pem", certPEM(alice), locked), "", "geheim", 0, pool.ErrKeyEncrypted},
		{"encrypted key, old form", file("locked-old.pem", certPEM(alice), lockedOld), "", "geheim", 0, pool.ErrKeyEncrypted},
		{"no file", filepath.Join(dir, "missing"), "", "", 0, fs.ErrNotExist},
		{"no key file", file("half.crt", certPEM(alice)), filepath.Join(dir, "missing.key"), "", 0, fs.ErrNotExist},
		{"junk", file("junk.bin", []byte("junk")), "", "", 0, errAny},
		{"PKCS#12 and a key", file("both.p12", p12(pkcs12.Modern, alice, alice.Leaf)), crt, "geheim", 0, errAny},
		{"too large", file("large.pem", make([]byte, 2<<20)), "", "", 0, errAny},
		{"a directory", dir, "", "", 0, errAny},
	} {
		t.Run(test.name, func(t *testing.T) {
			cert, err := pool.LoadClientCertificate(test.path, test.key, test.password)
			if test.err != nil {
				if err == nil || test.err != errAny && !errors.Is(err, test.err) {
					t.Fatalf("got %v, want %v", err, test.err)
				}
				if text := err.Error(); !strings.Contains(text, test.path) && (test.key == "" || !strings.Contains(text, test.key)) {
					t.Errorf("%q doesn't name the file", text)
				}
				if test.password != "" && strings.Contains(err.Error(), test.password) {
					t.Errorf("%q shows the password", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(cert.Certificate) != test.certs || !bytes.Equal(cert.Certificate[0], alice.Certificate[0]) {
				t.Errorf("got %d certificates, want %d, the client's first", len(cert.Certificate), test.certs)
			}
			if cert.Leaf == nil || cert.Leaf.Subject.CommonName != "alice" {
				t.Errorf("leaf: %v", cert.Leaf)
			}
		})
	}
}

var errAny = errors.New("any")

// Each origin has its own certificate, and the function is called once per origin.
func TestClientCertificateOfEachOrigin(t *testing.T) {
	versions(t, func(t *testing.T, version uint16) {
		var mu sync.Mutex
		seen := make(map[string]string) // client name by server
		server := func(name string) *rdaptest.Server {
			return rdaptest.Start(t, rdaptest.Config{MaxTLS: version, TLS: func(c *tls.Config) {
				c.ClientAuth = tls.RequireAnyClientCert
				// These CAs issued none of the clients' certificates.
				c.ClientCAs = x509.NewCertPool()
				c.ClientCAs.AddCert(clientCert(t, "nobody").Leaf)
				c.VerifyConnection = func(cs tls.ConnectionState) error {
					mu.Lock()
					defer mu.Unlock()
					seen[name] = cs.PeerCertificates[0].Subject.CommonName
					return nil
				}
			}})
		}
		one, two := server("one"), server("two")
		certs := map[string]*tls.Certificate{
			strings.TrimSuffix(one.URL(), "/"): clientCert(t, "alice"),
			strings.TrimSuffix(two.URL(), "/"): clientCert(t, "bob"),
		}
		asked := make(map[string]int)
		p, err := pool.New(pool.Config{
			TLS: &tls.Config{InsecureSkipVerify: true}, FreshConns: true,
			ClientCertificate: func(origin string) (*tls.Certificate, string) {
				mu.Lock()
				defer mu.Unlock()
				asked[origin]++
				return certs[origin], ""
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		getAll(t, p, one, 12, 4)
		getAll(t, p, two, 12, 4)
		mu.Lock()
		defer mu.Unlock()
		if seen["one"] != "alice" || seen["two"] != "bob" {
			t.Errorf("the servers saw %v", seen)
		}
		for origin := range certs {
			if asked[origin] != 1 {
				t.Errorf("%d calls for the certificate of %s", asked[origin], origin)
			}
		}
		if len(asked) != 2 {
			t.Errorf("certificates of %v", asked)
		}
	})
}

func TestMissingClientCertificateIsTLSError(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{MaxTLS: tls.VersionTLS12, TLS: func(c *tls.Config) {
		c.ClientAuth = tls.RequireAnyClientCert
	}})
	p := newPool(t, s, pool.Config{})
	_, err := get(t.Context(), p, domain(s, 1))
	if e, ok := errors.AsType[*pool.Error](err); !ok || e.Step != pool.StepHandshake {
		t.Errorf("got %v", err)
	}
}

// A server that requires a certificate sends an alert, with TLS 1.3 after the handshake. The
// error is the alert, or the broken connection if the alert was lost.
func TestMissingClientCertificate(t *testing.T) {
	t.Parallel() // the test mostly waits
	s := rdaptest.Start(t, rdaptest.Config{TLS: func(c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert }})
	told := 0
	for range 50 {
		p := newPool(t, s, pool.Config{})
		_, err := get(t.Context(), p, domain(s, 1))
		if err == nil || strings.Contains(err.Error(), "could not be established") {
			t.Fatal(err)
		}
		if strings.Contains(err.Error(), "remote error: tls") {
			told++
		}
	}
	if told == 0 {
		t.Error("no error mentions the missing certificate")
	}
}
