package client

import (
	"cmp"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/rdapq/rdapq/pool"
)

// PoolConfig returns the configuration of the Pool that a Client makes for
// itself when Transport is nil: HTTP/1.1, HTTP/2 and HTTP/3, the timeouts and
// the proxy of c, TLS sessions and facts about servers in memory. A program
// that needs one more setting, such as a [pool.SessionFile], changes it there
// and passes the Pool it makes as Transport.
func (c Config) PoolConfig() pool.Config {
	d := c.withDefaults()
	proxy := c.Proxy
	if proxy == nil {
		proxy = environmentProxy()
	}
	return pool.Config{
		Protocols:        []string{"h3", "h2", "http/1.1"},
		ConnectTimeout:   d.ConnectTimeout,
		HandshakeTimeout: d.ConnectTimeout,
		Proxy:            proxy,
		Logger:           c.Logger,
	}
}

// environmentProxy returns what [http.ProxyFromEnvironment] does, but nil where
// the environment names no proxy: most lookups then skip the question.
func environmentProxy() func(*http.Request) (*url.URL, error) {
	env := httpproxy.FromEnvironment()
	if env.HTTPProxy == "" && env.HTTPSProxy == "" {
		return nil
	}
	choose := env.ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return choose(r.URL) }
}

// bootstrapClient returns the client that downloads IANA's registries over the
// Transport of c, so that the proxy, addresses, authorities and timeouts of
// lookups apply to the download too. A Pool connects to public addresses only
// for it: see [pool.WithGuard].
func (c Config) bootstrapClient() *http.Client {
	transport := c.Transport
	if p, ok := transport.(*pool.Pool); ok {
		transport = p.Guarded()
	}
	return &http.Client{Transport: transport, Timeout: max(cmp.Or(c.Timeout, DefaultTimeout), time.Duration(0))}
}
