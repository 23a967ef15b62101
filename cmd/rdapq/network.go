package main

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/pool"
)

// networkOptions are the flags about how servers are reached.
type networkOptions struct {
	http          string
	noReuse       bool
	fresh         bool
	minHandshakes bool
	noSessions    bool
	noEarlyData   bool
	fastOpen      bool
	tlsMin        string
	tlsMax        string
	ipv4, ipv6    bool
	bind          string
	resolve       []string
	proxy         string
	allowPrivate  bool
	connectTime   time.Duration // 0: client.Config's default
	maxConnAge    time.Duration // 0: none
}

var (
	httpModes   = []string{"auto", "1.1", "2", "3"}
	tlsNames    = []string{"1.0", "1.1", "1.2", "1.3"}
	tlsVersions = map[string]uint16{"1.0": tls.VersionTLS10, "1.1": tls.VersionTLS11, "1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}
)

func (o *networkOptions) register(f *pflag.FlagSet) {
	f.StringVar(&o.http, "http", "auto", "HTTP `VERSION` to speak: "+strings.Join(httpModes, ", "))
	f.BoolVar(&o.noReuse, "no-reuse", false, "open a new connection for each request and close it, without resuming TLS sessions, to measure what reuse saves")
	f.BoolVar(&o.fresh, "fresh-connections", false, "the same, but resume sessions, so that the effect of each can be told apart")
	f.BoolVar(&o.minHandshakes, "min-handshakes", false, "one HTTP/2 or HTTP/3 connection to each server, however deep the queue")
	f.BoolVar(&o.noSessions, "no-session-store", false, "don't keep TLS sessions between runs; kept ones save a round trip and let a server recognise a client that comes back")
	f.BoolVar(&o.noEarlyData, "no-early-data", false, "don't send requests in the first flight of HTTP/3 (0-RTT)")
	f.BoolVar(&o.fastOpen, "fast-open", false, "use TCP Fast Open (Linux): the TLS handshake begins in the SYN. Offers the key exchanges X25519 and P-256 only, since the ClientHello must fit into the SYN, so nothing post-quantum")
	f.StringVar(&o.tlsMin, "tls-min", "1.2", "oldest TLS `VERSION`: "+strings.Join(tlsNames, ", ")+"; certificates are verified with all of them")
	f.StringVar(&o.tlsMax, "tls-max", "1.3", "newest TLS `VERSION`")
	f.BoolVarP(&o.ipv4, "ipv4", "4", false, "IPv4 only")
	f.BoolVarP(&o.ipv6, "ipv6", "6", false, "IPv6 only")
	f.StringVar(&o.bind, "bind", "", "source `ADDRESS` of connections")
	f.StringArrayVar(&o.resolve, "resolve", nil, "addresses to use in place of name resolution: `HOST:PORT:ADDRESS[,ADDRESS...]`; can be repeated")
	f.BoolVar(&o.allowPrivate, "allow-private", false, "go to private and local addresses when IANA's files or a server point there, for laboratories; servers that you name are asked wherever they are")
	f.DurationVar(&o.connectTime, "connect-timeout", 0, "Limit name resolution, TCP and TLS set-up of a connection to `TIME` (default 10s, or --timeout if that is less)")
	f.DurationVar(&o.maxConnAge, "max-conn-age", 0, "Send no new request on a connection older than `TIME` (default no limit)")
	f.StringVar(&o.proxy, "proxy", "", "`URL` of a proxy: http, https, socks5 or socks5h; without it HTTPS_PROXY, HTTP_PROXY and NO_PROXY count")
}

func (o *networkOptions) check(demo bool) error {
	switch {
	case !slices.Contains(httpModes, o.http):
		return usagef(about("http"), "one of "+strings.Join(httpModes, ", "), "--http does not take %q", o.http)
	case o.noReuse && o.fresh:
		return usagef(about("no-reuse", "fresh-connections"), "--no-reuse resumes nothing, --fresh-connections resumes sessions", "--no-reuse and --fresh-connections exclude each other")
	case o.ipv4 && o.ipv6:
		return usagef(about("ipv4", "ipv6"), "leave both out to use both", "-4 and -6 exclude each other")
	case !slices.Contains(tlsNames, o.tlsMin):
		return usagef(about("tls-min"), "one of "+strings.Join(tlsNames, ", "), "--tls-min does not take %q", o.tlsMin)
	case !slices.Contains(tlsNames, o.tlsMax):
		return usagef(about("tls-max"), "one of "+strings.Join(tlsNames, ", "), "--tls-max does not take %q", o.tlsMax)
	case tlsVersions[o.tlsMin] > tlsVersions[o.tlsMax]:
		return usagef(about("tls-min", "tls-max"), "", "--tls-min %s is newer than --tls-max %s", o.tlsMin, o.tlsMax)
	case o.connectTime < 0:
		return usagef(about("connect-timeout"), "a time such as 10s", "--connect-timeout must not be negative")
	case o.maxConnAge < 0:
		return usagef(about("max-conn-age"), "a time such as 10m", "--max-conn-age must not be negative")
	case o.http == "3" && o.tlsMax != "1.3":
		return usagef(about("http", "tls-max"), "leave --tls-max out", "--http 3 needs TLS 1.3, and --tls-max is %s", o.tlsMax)
	case demo && o.http == "3":
		return usagef(about("http", "demo"), "rdapq bench --modes h3 has a demo registry that does", "--http 3 does not go with --demo, whose servers do not speak it")
	case demo && o.bind != "":
		return usagef(about("bind", "demo"), "leave it out to ask the demo registry", "--bind does not go with --demo, whose servers are in the same process")
	case o.fastOpen && runtime.GOOS != "linux":
		return usagef(about("fast-open"), "leave --fast-open out", "--fast-open works on Linux only")
	case o.fastOpen && demo:
		return usagef(about("fast-open", "demo"), "leave --fast-open out; it is measured on a real link", "--fast-open has no meaning with --demo: its servers are in the same process")
	}
	return nil
}

// apply puts the flags into the configuration of the pool.
func (o *networkOptions) apply(c *pool.Config) error {
	if only := map[string]string{"1.1": "http/1.1", "2": "h2", "3": "h3"}[o.http]; only != "" {
		c.Protocols = []string{only}
	}
	c.NoReuse, c.FreshConns = o.noReuse, o.fresh
	c.AllowPrivate = o.allowPrivate
	c.MaxConnAge = o.maxConnAge
	c.NoEarlyData, c.FastOpen = o.noEarlyData, o.fastOpen
	if o.minHandshakes {
		c.MaxHTTP2Conns = 1
	}
	c.TLS.MinVersion, c.TLS.MaxVersion = tlsVersions[o.tlsMin], tlsVersions[o.tlsMax]
	switch {
	case o.ipv4:
		c.Network = "tcp4"
	case o.ipv6:
		c.Network = "tcp6"
	}
	var err error
	if o.bind != "" {
		if c.LocalAddr, err = netip.ParseAddr(o.bind); err != nil {
			return usagef(about("bind"), "an address of this machine, such as 192.0.2.7", "--bind does not take %q", o.bind)
		}
	}
	if c.Resolve, err = parseResolve(o.resolve); err != nil {
		return err
	}
	if o.proxy != "" {
		c.Proxy, err = proxyFor(o.proxy)
	}
	return err
}

// explain says with an error that a flag may be why a server has no address.
func (o *networkOptions) explain(e *client.Error) *client.Error {
	flag, only := "", "IPv4"
	switch {
	case o.ipv4:
		flag = "-4"
	case o.ipv6:
		flag, only = "-6", "IPv6"
	case o.bind != "":
		flag = "--bind"
		if strings.Contains(o.bind, ":") {
			only = "IPv6"
		}
	}
	if e == nil || flag == "" {
		return e
	}
	if _, none := errors.AsType[*net.AddrError](e); !none && e.Code != client.CodeDNS {
		return e
	}
	c := *e
	c.Hint = flag + " lets only " + only + " addresses count, and the server may have none: leave it out to use what there is"
	return &c
}

// parseResolve reads HOST:PORT:ADDRESS[,ADDRESS...] as curl has it.
func parseResolve(list []string) (map[string][]netip.Addr, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := make(map[string][]netip.Addr)
	for _, text := range list {
		bad := usagef(about("resolve"), "such as rdap.example:443:192.0.2.1", "--resolve does not take %q", text)
		host, rest, _ := strings.Cut(text, ":")
		port, addresses, ok := strings.Cut(rest, ":")
		if !ok || host == "" || port == "" {
			return nil, bad
		}
		key := strings.ToLower(host) + ":" + port
		for a := range strings.SplitSeq(addresses, ",") {
			addr, err := netip.ParseAddr(strings.Trim(a, "[]"))
			if err != nil {
				return nil, bad
			}
			out[key] = append(out[key], addr)
		}
	}
	return out, nil
}

// proxyFor returns the proxy that --proxy names.
func proxyFor(text string) (func(*http.Request) (*url.URL, error), error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
		return nil, usagef(about("proxy"), "such as http://proxy.example:3128 or socks5h://127.0.0.1:1080", "--proxy does not take this URL")
	}
	return http.ProxyURL(u), nil
}
