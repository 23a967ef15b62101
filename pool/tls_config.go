package pool

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"slices"
	"sync"
)

// tlsConfigs holds the TLS state of each origin: client identity, sessions, and resumption
// failures. Configurations are made per handshake: with thousands of origins, stored ones would
// waste half a kilobyte each.
type tlsConfigs struct {
	base        *tls.Config
	trust       string
	identity    string       // identity of the certificates in base; empty if none
	sessions    sessionStore // nil means no resumption
	certificate func(origin string) (*tls.Certificate, string)
	warm        sync.Once // loads the system's root certificates

	mu      sync.Mutex
	origins map[tlsKey]*tlsOrigin
}

// A tlsKey identifies origins with the same TLS state: a proxy or the guard does not
// change the server.
type tlsKey struct{ host, port string }

func newTLSConfigs(c Config, alpn []string, sessions sessionStore) *tlsConfigs {
	t := &tlsConfigs{
		base: &tls.Config{}, sessions: sessions, certificate: c.ClientCertificate,
		origins: make(map[tlsKey]*tlsOrigin),
	}
	t.trust, _ = c.trustName()
	if c.TLS != nil {
		t.base = c.TLS.Clone()
	}
	t.base.NextProtos = slices.DeleteFunc(slices.Clone(alpn), func(name string) bool { return name == protoHTTP3 })
	t.base.ClientSessionCache = nil
	if c.FastOpen && t.base.CurvePreferences == nil {
		t.base.CurvePreferences = []tls.CurveID{tls.X25519, tls.CurveP256}
	}
	for i := range t.base.Certificates {
		t.identity += identityOf(&t.base.Certificates[i])
	}
	return t
}

// trustName returns a name for the trusted certificates. If ok is false, no such name exists,
// and sessions must stay in the Pool.
func (c *Config) trustName() (name string, ok bool) {
	tc := c.TLS
	if tc == nil {
		tc = &tls.Config{}
	}
	switch {
	case c.Trust != "":
		name, ok = "named "+c.Trust, true
	case tc.VerifyPeerCertificate != nil, tc.GetClientCertificate != nil:
		// crypto/tls does not call VerifyPeerCertificate when it resumes a session, and
		// GetClientCertificate chooses an unknown identity.
		name = "private"
	case tc.InsecureSkipVerify:
		name, ok = "insecure", true
	case tc.RootCAs == nil:
		name, ok = "system", true
	default:
		name = "private"
	}
	if tc.InsecureSkipVerify && name != "insecure" {
		name = "insecure, " + name
	}
	if tc.ServerName != "" {
		name += " as " + tc.ServerName
	}
	return name, ok
}

// A tlsOrigin is the TLS state of one origin.
type tlsOrigin struct {
	make       sync.Once
	configs    *tlsConfigs
	host       string
	cert       *tls.Certificate // from Config.ClientCertificate; nil means none
	sessions   *keyedSessions   // sessions over TCP; nil means not stored
	resumption resumptionFailures
}

// forOrigin returns the TLS state of an origin.
func (t *tlsConfigs) forOrigin(key originKey) *tlsOrigin {
	t.warm.Do(t.loadRoots)
	t.mu.Lock()
	o := t.origins[tlsKey{key.host, key.port}]
	if o == nil {
		o = &tlsOrigin{configs: t, host: key.host}
		t.origins[tlsKey{key.host, key.port}] = o
	}
	t.mu.Unlock()
	o.make.Do(func() { o.init(key) }) // call without mu, because init calls a user function
	return o
}

// forget drops the TLS state of an origin. A later request makes it again.
func (t *tlsConfigs) forget(key originKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.origins, tlsKey{key.host, key.port})
}

func (o *tlsOrigin) init(key originKey) {
	t := o.configs
	identity := t.identity
	if t.certificate != nil {
		if cert, name := t.certificate(key.String()); cert != nil && len(cert.Certificate) > 0 {
			if name == "" {
				name = identityOf(cert)
			}
			o.cert, identity = cert, name
		}
	}
	if t.sessions != nil {
		o.sessions = &keyedSessions{store: t.sessions, key: SessionKey{Host: key.host, Port: key.port, Trust: t.trust, Identity: identity}}
	}
}

// tcp returns a new configuration for TCP, without sessions: see clientTLS.config.
func (o *tlsOrigin) tcp() *tls.Config {
	c := o.configs.base.Clone()
	if c.ServerName == "" {
		c.ServerName = o.host
	}
	if cert := o.cert; cert != nil {
		// Do not set Certificates: crypto/tls sends one of those only if the server's list of
		// authorities has its issuer.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return cert, nil
		}
	}
	return c
}

// quic returns a new configuration for HTTP/3.
func (o *tlsOrigin) quic() *tls.Config {
	c := o.tcp()
	c.NextProtos = []string{protoHTTP3}
	if s := o.quicSessions(); s != nil {
		c.ClientSessionCache = s
	}
	return c
}

// quicSessions returns the sessions over QUIC, or nil.
func (o *tlsOrigin) quicSessions() *keyedSessions {
	if o.sessions == nil {
		return nil
	}
	s := *o.sessions
	s.key.QUIC = true
	return &s
}

// dropSessions removes the sessions over TCP and QUIC, because the server failed on
// one.
func (o *tlsOrigin) dropSessions() {
	if o.sessions != nil {
		o.sessions.Put("", nil)
		o.quicSessions().Put("", nil)
	}
}

// A clientTLS is the TLS side of one dial.
type clientTLS struct {
	origin *tlsOrigin
	full   bool // offer no session
}

func (o *tlsOrigin) resuming() *clientTLS { return &clientTLS{origin: o} }
func (o *tlsOrigin) full() *clientTLS     { return &clientTLS{origin: o, full: true} }

// config returns the configuration of one handshake. A dial may do several handshakes, one per
// address, and each takes another session when it begins. sessionTaker describes spare. offer
// is nil if sessions are not stored.
func (c *clientTLS) config(spare int) (config *tls.Config, offer *sessionOffer) {
	config = c.origin.tcp()
	if c.origin.sessions == nil {
		return config, nil
	}
	offer = &sessionOffer{keyedSessions: c.origin.sessions, full: c.full, reserve: spare}
	config.ClientSessionCache = offer
	return config, offer
}

// loadRoots loads the system's root certificates during the first dial, which takes 8 to 24 ms
// once in a process. Otherwise crypto/tls loads them during the handshake. The first lookup
// over a round trip of 90 ms took 274 ms with loadRoots, 285 ms without (medians of 7).
func (t *tlsConfigs) loadRoots() {
	if t.base.RootCAs == nil && !t.base.InsecureSkipVerify {
		go x509.SystemCertPool() // crypto/x509 caches the result; the handshake returns the error again
	}
}

// identityOf returns the hash of a client certificate.
func identityOf(cert *tls.Certificate) string {
	if len(cert.Certificate) == 0 {
		return ""
	}
	sum := sha256.Sum256(cert.Certificate[0])
	return hex.EncodeToString(sum[:])
}
