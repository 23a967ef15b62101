package pool

import (
	"crypto/tls"
	"sync"
)

// tlsConfigs holds the TLS configuration of each origin: one for its trust
// settings and client identity, made once. A configuration that is made again
// for each connection loses what crypto/tls keeps in it.
type tlsConfigs struct {
	base     *tls.Config
	sessions SessionStore // nil: no resumption

	mu      sync.Mutex
	configs map[originKey]*tls.Config
}

func newTLSConfigs(c Config, alpn []string, sessions SessionStore) *tlsConfigs {
	t := &tlsConfigs{base: &tls.Config{}, sessions: sessions, configs: make(map[originKey]*tls.Config)}
	if c.TLS != nil {
		t.base = c.TLS.Clone()
	}
	t.base.NextProtos = alpn
	t.base.ClientSessionCache = nil
	return t
}

// of returns the configuration for an origin's connections. Nobody may change
// it.
func (t *tlsConfigs) of(key originKey) *tls.Config {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.configs[key]
	if c == nil {
		c = t.base.Clone()
		if c.ServerName == "" {
			c.ServerName = key.host
		}
		if t.sessions != nil {
			c.ClientSessionCache = keyedSessions{t.sessions, SessionKey{Host: key.host, Port: key.port}}
		}
		t.configs[key] = c
	}
	return c
}
