package main

import (
	"crypto/x509"
	"encoding/pem"
	"os"

	"github.com/rogpeppe/go-internal/testscript"
	"software.sslmate.com/src/go-pkcs12"
)

// cmdIdentity writes a client certificate: NAME.pem with certificate and key, NAME.crt
// and NAME.key with one each, and NAME.p12 with the password "secret".
func cmdIdentity(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: identity NAME")
	}
	cert, err := worldOf(ts).ca.ClientCertificate(args[0])
	ts.Check(err)
	leaf, err := x509.ParseCertificate(cert.Certificate[0])
	ts.Check(err)
	der, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	ts.Check(err)
	p12, err := pkcs12.Modern.Encode(cert.PrivateKey, leaf, nil, "secret")
	ts.Check(err)
	crt := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw})
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	for suffix, content := range map[string][]byte{".crt": crt, ".key": key, ".pem": append(append([]byte{}, crt...), key...), ".p12": p12} {
		ts.Check(os.WriteFile(ts.MkAbs(args[0]+suffix), content, 0o600))
	}
}
