package main

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/rdapq/rdapq/pool"
)

// certPassword is the name of the environment variable with the password of PKCS#12 files.
const certPassword = "RDAPQ_CLIENT_CERT_PASSWORD"

// clientCertificates parses HOST=FILE[,KEYFILE] and returns a function from an origin
// to its certificate and the name of the identity.
func clientCertificates(list []string, passwordFile string) (func(origin string) (*tls.Certificate, string), error) {
	if len(list) == 0 {
		return nil, nil
	}
	password := os.Getenv(certPassword)
	if passwordFile != "" {
		b, err := os.ReadFile(passwordFile)
		if err != nil {
			return nil, usagef(about("client-cert-password-file"), "", "cannot read --client-cert-password-file: %w", err)
		}
		password = strings.TrimRight(string(b), "\r\n")
	}
	certs := make(map[string]*tls.Certificate)
	for _, text := range list {
		host, files, ok := strings.Cut(text, "=")
		if !ok || host == "" || files == "" {
			return nil, usagef(about("client-cert"), "use HOST=FILE, such as rdap.example=client.pem or rdap.example:8443=client.p12", "invalid value %q for --client-cert", text)
		}
		file, key, _ := strings.Cut(files, ",")
		cert, err := pool.LoadClientCertificate(file, key, password)
		if err != nil {
			return nil, usagef(about("client-cert"), "use PEM with its key, or PKCS#12 with its password in $"+certPassword+" or --client-cert-password-file", "--client-cert: %w", err)
		}
		certs[strings.ToLower(strings.TrimSuffix(host, ":443"))] = cert
	}
	return func(origin string) (*tls.Certificate, string) {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "https" {
			return nil, ""
		}
		return certs[u.Host], ""
	}, nil
}

// trust sets the accepted server certificates and the client certificates.
func (o *options) trust(c *pool.Config) error {
	c.TLS = &tls.Config{InsecureSkipVerify: o.insecure}
	if o.ca != "" {
		pem, err := os.ReadFile(o.ca)
		if err != nil {
			return usagef(about("ca"), "", "cannot read --ca: %w", err)
		}
		c.TLS.RootCAs = x509.NewCertPool()
		if !c.TLS.RootCAs.AppendCertsFromPEM(pem) {
			return usagef(about("ca"), "use a file with PEM certificates", "no certificate in --ca %s", o.ca)
		}
		c.Trust = fmt.Sprintf("ca %x", sha256.Sum256(pem))
		if o.insecure {
			c.Trust = "insecure " + c.Trust
		}
	}
	var err error
	c.ClientCertificate, err = clientCertificates(o.clientCerts, o.clientCertPassword)
	return err
}
