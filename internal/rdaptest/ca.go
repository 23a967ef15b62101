package rdaptest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// A CA is a certificate authority in memory. Clients that use [CA.Pool] trust it. It is safe
// for concurrent use.
type CA struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewCA returns a new authority with a fresh P-256 key.
func NewCA() (*CA, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("authority key: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          serial(),
		Subject:               pkix.Name{CommonName: "rdaptest authority"},
		NotBefore:             now.Add(-48 * time.Hour),
		NotAfter:              now.Add(10 * 24 * time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("authority certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("authority certificate: %w", err)
	}
	return &CA{cert: cert, key: key}, nil
}

// Pool returns a pool with only the authority's certificate.
func (ca *CA) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	return pool
}

// PEM returns the authority's certificate in PEM format.
func (ca *CA) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.cert.Raw})
}

// Certificate issues a server certificate for names and addresses, valid now.
func (ca *CA) Certificate(names ...string) (tls.Certificate, error) {
	now := time.Now()
	return ca.issue(names, now.Add(-24*time.Hour), now.Add(9*24*time.Hour), x509.ExtKeyUsageServerAuth)
}

// ExpiredCertificate issues a server certificate that expired an hour ago.
func (ca *CA) ExpiredCertificate(names ...string) (tls.Certificate, error) {
	now := time.Now()
	return ca.issue(names, now.Add(-24*time.Hour), now.Add(-time.Hour), x509.ExtKeyUsageServerAuth)
}

// WrongHostCertificate issues a valid server certificate for a name that no test server
// has.
func (ca *CA) WrongHostCertificate() (tls.Certificate, error) {
	return ca.Certificate("elsewhere.example")
}

// ClientCertificate issues a client certificate for name.
func (ca *CA) ClientCertificate(name string) (tls.Certificate, error) {
	now := time.Now()
	return ca.issue([]string{name}, now.Add(-24*time.Hour), now.Add(9*24*time.Hour), x509.ExtKeyUsageClientAuth)
}

func (ca *CA) issue(names []string, from, to time.Time, usage x509.ExtKeyUsage) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certificate key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial(),
		NotBefore:    from,
		NotAfter:     to,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{usage},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	if len(names) > 0 {
		template.Subject = pkix.Name{CommonName: names[0]}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, key.Public(), ca.key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

func serial() *big.Int {
	b := make([]byte, 16)
	rand.Read(b) // Read is documented never to fail
	b[0] &= 0x7f
	return new(big.Int).SetBytes(b)
}
