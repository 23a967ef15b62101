package pool

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"software.sslmate.com/src/go-pkcs12"
)

// Errors of [LoadClientCertificate] that the user can fix.
var (
	ErrPassword     = errors.New("wrong password")
	ErrKeyEncrypted = errors.New("the PEM key is encrypted; convert it to PKCS#12 or decrypt it")
	ErrKeyMissing   = errors.New("no private key found")
	ErrNoCert       = errors.New("no certificate found")
	ErrKeyForeign   = errors.New("the private key does not match the certificate")
)

// maxCertFile limits the size of certificate and key files, in bytes.
const maxCertFile = 1 << 20

// LoadClientCertificate reads a client certificate with its chain and key from PEM or PKCS#12
// files (.p12, .pfx). It detects the format by content.
//
// keyPath names the PEM file of the key; empty means the file of the certificate. password
// decrypts PKCS#12. PEM files need no password, because an encrypted PEM key is an error.
// LoadClientCertificate does not check the expiry of the certificate. Errors name the file and
// wrap one of the errors above.
func LoadClientCertificate(path, keyPath, password string) (*tls.Certificate, error) {
	data, err := readBounded(path)
	if err != nil {
		return nil, fmt.Errorf("client certificate: %w", err)
	}
	if !bytes.Contains(data, []byte("-----BEGIN ")) {
		if keyPath != "" {
			return nil, fmt.Errorf("client certificate %s: not PEM, so the key %s cannot be used with it", path, keyPath)
		}
		cert, err := parsePKCS12(data, password)
		if err != nil {
			return nil, fmt.Errorf("client certificate %s: %w", path, err)
		}
		return cert, nil
	}
	key, named := data, path
	if keyPath != "" {
		named = keyPath
		if key, err = readBounded(keyPath); err != nil {
			return nil, fmt.Errorf("client key: %w", err)
		}
	}
	chain := blocks(data, func(b *pem.Block) bool { return b.Type == "CERTIFICATE" })
	if chain == nil {
		return nil, fmt.Errorf("client certificate %s: %w", path, ErrNoCert)
	}
	keys := blocks(key, isKey)
	if keys == nil {
		return nil, fmt.Errorf("client key %s: %w", named, ErrKeyMissing)
	}
	if bytes.Contains(keys, []byte("ENCRYPTED")) {
		return nil, fmt.Errorf("client key %s: %w", named, ErrKeyEncrypted)
	}
	cert, err := tls.X509KeyPair(chain, keys)
	if err != nil {
		if strings.Contains(err.Error(), "does not match") {
			err = ErrKeyForeign
		}
		return nil, fmt.Errorf("client certificate %s: %w", path, err)
	}
	return &cert, nil
}

func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxCertFile+1))
	if err == nil && len(data) > maxCertFile {
		err = fmt.Errorf("%s: larger than %d bytes", path, maxCertFile)
	}
	return data, err
}

func isKey(b *pem.Block) bool {
	return b.Type == "PRIVATE KEY" || strings.HasSuffix(b.Type, " PRIVATE KEY")
}

// blocks returns the PEM blocks that want accepts, or nil.
func blocks(data []byte, want func(*pem.Block) bool) []byte {
	var out []byte
	for {
		var b *pem.Block
		if b, data = pem.Decode(data); b == nil {
			return out
		}
		if want(b) {
			out = append(out, pem.EncodeToMemory(b)...)
		}
	}
}

func parsePKCS12(data []byte, password string) (*tls.Certificate, error) {
	key, leaf, others, err := pkcs12.DecodeChain(data, password)
	switch {
	case errors.Is(err, pkcs12.ErrIncorrectPassword), errors.Is(err, pkcs12.ErrDecryption):
		return nil, ErrPassword
	case err != nil && strings.Contains(err.Error(), "private key missing"):
		return nil, ErrKeyMissing
	case err != nil && strings.Contains(err.Error(), "certificate missing"):
		return nil, ErrNoCert
	case err != nil:
		return nil, fmt.Errorf("neither PEM nor PKCS#12: %w", err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("private key of type %T cannot sign", key)
	}
	// Some programs put the CA certificates before the leaf.
	chain := append([]*x509.Certificate{leaf}, others...)
	i := slices.IndexFunc(chain, func(c *x509.Certificate) bool { return sameKey(c.PublicKey, signer.Public()) })
	if i < 0 {
		return nil, ErrKeyForeign
	}
	cert := &tls.Certificate{PrivateKey: key, Leaf: chain[i]}
	cert.Certificate = append(cert.Certificate, chain[i].Raw)
	for _, c := range slices.Delete(chain, i, i+1) {
		cert.Certificate = append(cert.Certificate, c.Raw)
	}
	return cert, nil
}

func sameKey(a, b crypto.PublicKey) bool {
	k, ok := a.(interface{ Equal(crypto.PublicKey) bool })
	return ok && k.Equal(b)
}
