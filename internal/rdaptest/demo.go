package rdaptest

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// A Demo is a set of invented RDAP servers with bootstrap registries. All its traffic
// stays on the machine. It is safe for concurrent use.
type Demo struct {
	rtt     time.Duration
	ca      *CA
	servers []demoServer
	hosts   map[string]*Server // servers by host name
	files   map[string][]byte

	h3Files map[string][]byte // bootstrap files for HTTP/3; nil before OfferH3
}

type demoServer struct {
	name   string // first host name of the server
	server *Server
	h3     *H3 // HTTP/3 side of the server; nil before OfferH3
}

// A demoSite describes one server of a [Demo].
type demoSite struct {
	hosts   []string // host names, of which the first is the server's name
	tlds    []string // top-level domains in its registry entry
	paths   []string // base paths, one for each of tlds or a single path for all
	prefix  []string // address blocks in its registry entry
	autnums [2]uint32
	tag     string // suffix of the server's entity handles
	config  Config
	data    *catalogue
}

// demoSites describes the servers. Their host names end in .example and are reachable
// only by [Demo.DialContext].
func demoSites() []demoSite {
	registrarHosts := make([]string, len(registrars))
	registrarNames := make(map[string]bool)
	exampleNames := map[string]bool{"holders.example": true, "numbers.example": true}
	for i, r := range registrars {
		registrarHosts[i] = "rdap." + r.slug + ".example"
		exampleNames[r.slug+".example"] = true
		exampleNames[r.slug+"-dns.example"] = true
	}
	names := make(map[string]map[string]bool)
	for _, tld := range demoTLDs {
		names[tld] = make(map[string]bool)
		for _, name := range demoNames(tld) {
			names[tld][name] = true
		}
	}
	comNet := maps.Clone(names["com"])
	maps.Copy(comNet, names["net"])
	maps.Copy(registrarNames, comNet)
	maps.Copy(registrarNames, names["org"])
	return []demoSite{
		{
			hosts: []string{"rdap.re.example"}, tlds: []string{"re"},
			data: &catalogue{shape: Thick, domains: names["re"]},
		},
		{
			hosts: []string{"rdap.fr.example"}, tlds: []string{"fr"},
			data: &catalogue{shape: Thick, domains: names["fr"]},
		},
		{
			hosts: []string{"rdap.com.example"}, tlds: []string{"com", "net"}, paths: []string{"com/v1/", "net/v1/"},
			config: Config{MaxStreams: 100},
			data:   &catalogue{shape: Thin, domains: comNet, referring: true},
		},
		{
			hosts: []string{"rdap.org.example"}, tlds: []string{"org"}, paths: []string{"rdap/"},
			config: Config{Gzip: true},
			data:   &catalogue{shape: Thin, domains: names["org"], referring: true},
		},
		{
			hosts: []string{"rdap.eu.example"}, tlds: []string{"eu"},
			config: Config{Protocols: H1Only},
			data:   &catalogue{shape: Thick, domains: names["eu"]},
		},
		{
			hosts: []string{"rdap.dev.example"}, tlds: []string{"dev"},
			data: &catalogue{shape: Minimal, domains: names["dev"]},
		},
		{
			hosts: []string{"rdap.nic.example"}, tlds: []string{"example"},
			data: &catalogue{shape: Minimal, domains: exampleNames},
		},
		{
			hosts: registrarHosts,
			data:  &catalogue{shape: Thick, domains: registrarNames},
		},
		{
			hosts: []string{"rdap.north.example"}, paths: []string{"rdap/"},
			prefix: []string{"192.0.2.0/24", "198.18.0.0/16", "2001:db8::/33"}, autnums: [2]uint32{64496, 64511}, tag: "INVN",
			data: &catalogue{
				networks: []netip.Prefix{
					netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.18.0.0/17"), netip.MustParsePrefix("2001:db8::/34"),
				},
				autnums: [][2]uint32{{64496, 64505}},
				tag:     "-INVN",
			},
		},
		{
			hosts:  []string{"rdap.south.example"},
			prefix: []string{"198.51.100.0/24", "203.0.113.0/24", "2001:db8:8000::/33"}, autnums: [2]uint32{65536, 65551}, tag: "INVS",
			data: &catalogue{
				networks: []netip.Prefix{
					netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/25"), netip.MustParsePrefix("2001:db8:8000::/34"),
				},
				autnums: [][2]uint32{{65536, 65545}},
				tag:     "-INVS",
			},
		},
	}
}

// NewDemo starts the servers. Connections by [Demo.DialContext] have a round-trip time of rtt;
// 0 means as fast as loopback. The caller closes the Demo.
func NewDemo(rtt time.Duration) (*Demo, error) {
	if loopbackDown() {
		return nil, errors.New("the loopback interface is down; ip link set lo up brings it up")
	}
	ca, err := NewCA()
	if err != nil {
		return nil, err
	}
	d := &Demo{rtt: rtt, ca: ca, hosts: make(map[string]*Server)}
	sites := demoSites()
	for _, site := range sites {
		config := site.config
		config.CA, config.Names, config.Source, config.Searches = ca, site.hosts, site.data, site.data.searches()
		s, err := New(config)
		if err != nil {
			d.Close()
			return nil, fmt.Errorf("server %s: %w", site.hosts[0], err)
		}
		d.servers = append(d.servers, demoServer{name: site.hosts[0], server: s})
		for _, host := range site.hosts {
			d.hosts[host] = s
		}
	}
	d.files = demoRegistries(sites, func(host string) string { return host })
	return d, nil
}

// loopbackDown reports whether the loopback interface is down, as in a new network namespace.
// Servers in such a namespace start but are unreachable.
func loopbackDown() bool {
	interfaces, err := net.Interfaces()
	if err != nil {
		return false
	}
	i := slices.IndexFunc(interfaces, func(i net.Interface) bool { return i.Flags&net.FlagLoopback != 0 })
	return i >= 0 && interfaces[i].Flags&net.FlagUp == 0
}

// demoRegistries returns the bootstrap entries; authority maps the first host name of a
// server to the host in its URL.
func demoRegistries(sites []demoSite, authority func(host string) string) map[string][]byte {
	services := map[string][]Service{"dns": nil, "ipv4": nil, "ipv6": nil, "asn": nil, "object-tags": nil}
	for _, site := range sites {
		add := func(kind, entry, path string) {
			services[kind] = append(services[kind], Service{[]string{entry}, []string{"https://" + authority(site.hosts[0]) + "/" + path}})
		}
		path := ""
		if len(site.paths) > 0 {
			path = site.paths[0]
		}
		for i, tld := range site.tlds {
			if i < len(site.paths) {
				path = site.paths[i]
			}
			add("dns", tld, path)
		}
		for _, p := range site.prefix {
			kind := "ipv4"
			if netip.MustParsePrefix(p).Addr().Is6() {
				kind = "ipv6"
			}
			add(kind, p, path)
		}
		if site.autnums[1] > 0 {
			add("asn", fmt.Sprintf("%d-%d", site.autnums[0], site.autnums[1]), path)
		}
		if site.tag != "" {
			add("object-tags", site.tag, path)
		}
	}
	files := make(map[string][]byte)
	for kind, lines := range services {
		files[kind] = Registry(kind, lines)
	}
	return files
}

// Registries returns the bootstrap files in IANA's format, by their names: "dns",
// "ipv4", "ipv6", "asn" and "object-tags".
func (d *Demo) Registries() map[string][]byte { return maps.Clone(d.files) }

// CAPool returns the certificate pool that a client needs.
func (d *Demo) CAPool() *x509.CertPool { return d.ca.Pool() }

// CA returns the authority that issued the servers' certificates.
func (d *Demo) CA() *CA { return d.ca }

// Server returns the server with that host name, or nil if there is none.
func (d *Demo) Server(host string) *Server { return d.hosts[host] }

// Hosts returns the first host name of each server.
func (d *Demo) Hosts() []string {
	names := make([]string, len(d.servers))
	for i, s := range d.servers {
		names[i] = s.name
	}
	return names
}

// Counts returns the total counts of all servers, and the counts of each server by its first
// host name.
func (d *Demo) Counts() (total Counts, servers map[string]Counts) {
	servers = make(map[string]Counts)
	for _, s := range d.servers {
		n := s.server.Counts()
		servers[s.name] = n
		total = total.Add(n)
	}
	return total, servers
}

// DialContext connects to a server by its host name and port 443, independent of its real port.
// It delays the connection and its set-up by the round-trip time. Other names do not resolve,
// and DialContext never dials other addresses.
func (d *Demo) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	s, ok := d.hosts[host]
	if !ok {
		return nil, &net.OpError{Op: "dial", Net: network, Err: &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}}
	}
	if port != strconv.Itoa(443) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "tcp", s.Addr())
	if err != nil || d.rtt <= 0 {
		return c, err
	}
	t := time.NewTimer(d.rtt)
	defer t.Stop()
	select {
	case <-t.C:
		return Delay(c, d.rtt), nil
	case <-ctx.Done():
		c.Close()
		err := context.Cause(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			err = errDialTimeout{}
		}
		return nil, &net.OpError{Op: "dial", Net: network, Addr: c.RemoteAddr(), Err: err}
	}
}

// errDialTimeout is the error of package net for a dial timeout.
type errDialTimeout struct{}

func (errDialTimeout) Error() string        { return "i/o timeout" }
func (errDialTimeout) Timeout() bool        { return true }
func (errDialTimeout) Temporary() bool      { return true }
func (errDialTimeout) Is(target error) bool { return target == context.DeadlineExceeded }

// Close stops all servers.
func (d *Demo) Close() {
	for _, s := range d.servers {
		if s.h3 != nil {
			s.h3.closeAfterClients()
		}
		s.server.Close()
	}
}
