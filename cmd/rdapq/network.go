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

// networkOptions holds the flags for connections to servers.
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
	connectTime   time.Duration // 0 means client.Config's default
	maxConnAge    time.Duration // 0 means no limit
}

var (
	httpModes   = []string{"auto", "1.1", "2", "3"}
	tlsNames    = []string{"1.0", "1.1", "1.2", "1.3"}
	tlsVersions = map[string]uint16{"1.0": tls.VersionTLS10, "1.1": tls.VersionTLS11, "1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}
)

func (o *networkOptions) register(f *pflag.FlagSet) {
	f.StringVar(&o.http, "http", "auto", "use this HTTP `VERSION`: "+strings.Join(httpModes, ", "))
	f.BoolVar(&o.noReuse, "no-reuse", false, "open a new connection for each request, without TLS session resumption (to measure what reuse saves)")
	f.BoolVar(&o.fresh, "fresh-connections", false, "like --no-reuse, but with TLS session resumption")
	f.BoolVar(&o.minHandshakes, "min-handshakes", false, "use a single HTTP/2 or HTTP/3 connection per server, whatever the queue length")
	f.BoolVar(&o.noSessions, "no-session-store", false, "don't store TLS sessions between runs (resumption saves a round trip but identifies you as a returning client)")
	f.BoolVar(&o.noEarlyData, "no-early-data", false, "don't send requests in the first flight of HTTP/3 (0-RTT)")
	f.BoolVar(&o.fastOpen, "fast-open", false, "use TCP Fast Open (Linux): the TLS handshake begins in the SYN; the ClientHello must fit into the SYN, which excludes post-quantum key exchange")
	f.StringVar(&o.tlsMin, "tls-min", "1.2", "set the minimum TLS `VERSION`: "+strings.Join(tlsNames, ", "))
	f.StringVar(&o.tlsMax, "tls-max", "1.3", "set the maximum TLS `VERSION`")
	f.BoolVarP(&o.ipv4, "ipv4", "4", false, "use IPv4 only")
	f.BoolVarP(&o.ipv6, "ipv6", "6", false, "use IPv6 only")
	f.StringVar(&o.bind, "bind", "", "connect from this source `ADDRESS`")
	f.StringArrayVar(&o.resolve, "resolve", nil, "use these addresses instead of resolving the host name: `HOST:PORT:ADDRESS[,ADDRESS...]` (repeatable)")
	f.BoolVar(&o.allowPrivate, "allow-private", false, "allow private and loopback addresses from bootstrap files, redirects and links (for test labs); servers you specify are always allowed")
	f.DurationVar(&o.connectTime, "connect-timeout", 0, "limit the set-up of a connection (DNS, TCP and TLS) to `TIME` (default 10s, or --timeout, if less)")
	f.DurationVar(&o.maxConnAge, "max-conn-age", 0, "send no new request on a connection older than `TIME` (default no limit)")
	f.StringVar(&o.proxy, "proxy", "", "use the proxy at `URL`: http, https, socks5 or socks5h (default from HTTPS_PROXY, HTTP_PROXY and NO_PROXY)")
}

func (o *networkOptions) check(demo bool) error {
	switch {
	case !slices.Contains(httpModes, o.http):
		return usagef(about("http"), "use one of "+strings.Join(httpModes, ", "), "invalid value %q for --http", o.http)
	case o.noReuse && o.fresh:
		return usagef(about("no-reuse", "fresh-connections"), "use --fresh-connections to resume TLS sessions, or --no-reuse for full handshakes", "--no-reuse and --fresh-connections cannot be used together")
	case o.ipv4 && o.ipv6:
		return usagef(about("ipv4", "ipv6"), "drop both to use IPv4 and IPv6", "-4 and -6 cannot be used together")
	case !slices.Contains(tlsNames, o.tlsMin):
		return usagef(about("tls-min"), "use one of "+strings.Join(tlsNames, ", "), "invalid value %q for --tls-min", o.tlsMin)
	case !slices.Contains(tlsNames, o.tlsMax):
		return usagef(about("tls-max"), "use one of "+strings.Join(tlsNames, ", "), "invalid value %q for --tls-max", o.tlsMax)
	case tlsVersions[o.tlsMin] > tlsVersions[o.tlsMax]:
		return usagef(about("tls-min", "tls-max"), "", "--tls-min %s is newer than --tls-max %s", o.tlsMin, o.tlsMax)
	case o.connectTime < 0:
		return usagef(about("connect-timeout"), "use a time such as 10s", "--connect-timeout must not be negative")
	case o.maxConnAge < 0:
		return usagef(about("max-conn-age"), "use a time such as 10m", "--max-conn-age must not be negative")
	case o.http == "3" && o.tlsMax != "1.3":
		return usagef(about("http", "tls-max"), "drop --tls-max", "--http 3 needs TLS 1.3, and --tls-max is %s", o.tlsMax)
	case demo && o.http == "3":
		return usagef(about("http", "demo"), "use 'rdapq bench --modes h3': its demo servers support HTTP/3", "--http 3 and --demo cannot be used together: the demo servers don't support HTTP/3")
	case demo && o.bind != "":
		return usagef(about("bind", "demo"), "drop --bind", "--bind and --demo cannot be used together: the demo servers are in the same process")
	case o.fastOpen && runtime.GOOS != "linux":
		return usagef(about("fast-open"), "drop --fast-open", "--fast-open works on Linux only")
	case o.fastOpen && demo:
		return usagef(about("fast-open", "demo"), "drop --fast-open, or measure it on a real network path", "--fast-open and --demo cannot be used together: the demo servers are in the same process")
	}
	return nil
}

// apply sets the fields of c that these flags control.
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
			return usagef(about("bind"), "use an address of this machine, such as 192.0.2.7", "invalid value %q for --bind", o.bind)
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

// withAddressHint adds a hint to e if a flag may have excluded all addresses of a server.
func (o *networkOptions) withAddressHint(e *client.Error) *client.Error {
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
	c.Hint = flag + " allows only " + only + " addresses, and the server may have none; drop " + flag + " to use any address"
	return &c
}

// parseResolve parses HOST:PORT:ADDRESS[,ADDRESS...], the syntax of curl.
func parseResolve(list []string) (map[string][]netip.Addr, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := make(map[string][]netip.Addr)
	for _, text := range list {
		bad := usagef(about("resolve"), "use HOST:PORT:ADDRESS, such as rdap.example:443:192.0.2.1", "invalid value %q for --resolve", text)
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

// proxyFor returns the proxy function for the value of --proxy.
func proxyFor(text string) (func(*http.Request) (*url.URL, error), error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
		return nil, usagef(about("proxy"), "use a URL such as http://proxy.example:3128 or socks5h://127.0.0.1:1080", "invalid URL for --proxy")
	}
	return http.ProxyURL(u), nil
}
