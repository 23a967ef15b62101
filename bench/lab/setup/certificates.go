package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// An issuer signs certificates.
type issuer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// issue completes the template and signs it. The certificate is self-signed if by is nil. For a
// realistic size, it has the URLs of public certificates.
func issue(t *x509.Certificate, by *issuer) (*issuer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if t.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, err
	}
	t.Subject.Organization = []string{"rdapq lab"}
	t.NotBefore, t.NotAfter = time.Now().Add(-24*time.Hour), time.Now().AddDate(1, 0, 0)
	t.KeyUsage |= x509.KeyUsageDigitalSignature
	t.BasicConstraintsValid = true
	t.OCSPServer = []string{"http://ocsp.lab.example"}
	t.IssuingCertificateURL = []string{"http://issuer.lab.example/ca.der"}
	if by == nil {
		by = &issuer{t, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, by.cert, &key.PublicKey, by.key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &issuer{cert, key}, err
}

// writeCertificates writes a chain of three certificates. The root is the client's ca.pem, and
// the server sends the other two.
func writeCertificates(dir, name string) error {
	ca := func(cn string) *x509.Certificate {
		return &x509.Certificate{
			Subject: pkix.Name{CommonName: cn}, IsCA: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		}
	}
	root, err := issue(ca("Lab Root"), nil)
	if err != nil {
		return err
	}
	intermediate, err := issue(ca("Lab Intermediate"), root)
	if err != nil {
		return err
	}
	leaf, err := issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{name, "*." + name, "localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}, intermediate)
	if err != nil {
		return err
	}
	key, err := x509.MarshalPKCS8PrivateKey(leaf.key)
	if err != nil {
		return err
	}
	encode := func(kind string, der []byte) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	}
	for file, content := range map[string][]byte{
		"ca.pem":     encode("CERTIFICATE", root.cert.Raw),
		"server.pem": append(encode("CERTIFICATE", leaf.cert.Raw), encode("CERTIFICATE", intermediate.cert.Raw)...),
		"server.key": encode("PRIVATE KEY", key),
	} {
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
