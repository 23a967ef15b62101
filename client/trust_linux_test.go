package client_test

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/namespace"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// insideAddresses has an address of each kind that must not be reachable through referrals. The
// namespace has all these addresses, so that only the guard prevents a connection.
var insideAddresses = map[string]string{
	"loopback": "127.0.0.1", "other loopback": "127.8.9.1", "unspecified": "0.0.0.0", "this network": "0.1.2.3",
	"RFC 1918 ten": "10.0.0.5", "RFC 1918 172": "172.17.0.2", "RFC 1918 192": "192.168.1.1",
	"metadata": "169.254.169.254", "link-local": "169.254.7.7", "carrier": "100.64.0.1", "carrier's metadata": "100.100.100.200",
	"benchmarks": "198.18.0.1", "protocols": "192.0.0.8", "multicast": "224.0.0.251", "broadcast": "255.255.255.255",
	"IPv6 loopback": "::1", "IPv6 unspecified": "::", "IPv6 link-local": "fe80::1", "IPv6 multicast": "ff02::1",
	"ULA": "fc00::1", "ULA metadata": "fd00:ec2::254", "site-local": "fec0::1", "documentation": "2001:db8::1",
	"mapped loopback": "::ffff:127.0.0.1", "mapped RFC 1918": "::ffff:10.0.0.5", "mapped metadata": "::ffff:169.254.169.254",
	"NAT64 loopback": "64:ff9b::7f00:1", "NAT64 metadata": "64:ff9b::a9fe:a9fe", "local NAT64": "64:ff9b:1::1",
	"6to4 loopback": "2002:7f00:1::1", "6to4 RFC 1918": "2002:a00:5::1", "Teredo": "2001::1",
}

// beyond lists the kinds of addresses that cannot be assigned, or not connected to even without
// the guard. For these kinds the test checks only the refusal.
var beyond = map[string]bool{"this network": true, "multicast": true, "broadcast": true, "IPv6 link-local": true, "IPv6 multicast": true}

const publicAddr = "11.22.33.44"

// A front is a server at a public address that refers to another address.
type front struct {
	*rdaptest.Server
	base string
}

// waysIn lists the ways in which a lookup of alpha.example can be referred to base. Each
// function returns the configuration of a client and the part of the result that concerns base.
var waysIn = map[string]func(f front, base string) (client.Config, func(*client.Result) *client.Result){
	"registry entry": func(_ front, base string) (client.Config, func(*client.Result) *client.Result) {
		return client.Config{Resolver: listedAs(bootstrap.SourceIANA, base)}, itself
	},
	"snapshot entry": func(_ front, base string) (client.Config, func(*client.Result) *client.Result) {
		return client.Config{Resolver: listedAs(bootstrap.SourceSnapshot, base)}, itself
	},
	"redirect": func(f front, base string) (client.Config, func(*client.Result) *client.Result) {
		f.On("/domain/alpha.example", rdaptest.Redirect(302, base+"domain/alpha.example"))
		return client.Config{Resolver: listedAs(bootstrap.SourceIANA, f.base)}, itself
	},
	"redirect of a named server": func(f front, base string) (client.Config, func(*client.Result) *client.Result) {
		f.On("/domain/alpha.example", rdaptest.Redirect(307, base+"domain/alpha.example"))
		return client.Config{Resolver: listedAs(bootstrap.SourceOverride, f.base)}, itself
	},
	"related link": func(f front, base string) (client.Config, func(*client.Result) *client.Result) {
		f.On("/domain/alpha.example", rdaptest.JSON(domainWith("alpha.example", "related|"+rdapJSON+"|"+base)))
		return client.Config{Resolver: listedAs(bootstrap.SourceIANA, f.base), Referral: client.ReferralRegistrar}, registrarOf
	},
	"redirect of a related link": func(f front, base string) (client.Config, func(*client.Result) *client.Result) {
		f.On("/domain/alpha.example", rdaptest.JSON(domainWith("alpha.example", "related|"+rdapJSON+"|"+f.base+"rr/")))
		f.On("/rr/domain/alpha.example", rdaptest.Redirect(302, base+"domain/alpha.example"))
		return client.Config{Resolver: listedAs(bootstrap.SourceIANA, f.base), Referral: client.ReferralRegistrar}, registrarOf
	},
	"relation": func(f front, base string) (client.Config, func(*client.Result) *client.Result) {
		f.On("/domain/alpha.example", rdaptest.JSON(domainWith("alpha.example", "rdap-up|"+rdapJSON+"|"+base+"domain/example")))
		return client.Config{Resolver: listedAs(bootstrap.SourceIANA, f.base), Related: []client.Relation{client.RelationUp}},
			func(r *client.Result) *client.Result {
				if len(r.Related) != 1 {
					return nil
				}
				return r.Related[0]
			}
	},
}

func itself(r *client.Result) *client.Result      { return r }
func registrarOf(r *client.Result) *client.Result { return r.Registrar }

// For each way in and each kind of address, no connection is made. The test uses literal
// addresses and names, by https and http. It also checks that a connection would be made
// without the guard.
func TestGuardEveryWayIn(t *testing.T) {
	if !namespace.Enter(t) {
		return
	}
	namespace.Own(t, publicAddr)
	names := make(map[string]netip.Addr)
	for kind, a := range insideAddresses {
		addr := netip.MustParseAddr(a)
		names[strings.ToLower(strings.NewReplacer(" ", "-", "'", "").Replace(kind))+".inside.example"] = addr
		if u := addr.Unmap(); !u.IsLoopback() && !u.IsUnspecified() && !beyond[kind] && u == addr {
			namespace.Own(t, a)
		}
	}
	names[registryName] = netip.MustParseAddr(publicAddr)
	namespace.Answer(t, func(name string) []netip.Addr {
		if a, ok := names[name]; ok {
			return []netip.Addr{a}
		}
		return nil
	})
	victim := listenEverywhere(t)
	ca := newCA(t)
	s := rdaptest.Start(t, rdaptest.Config{CA: ca, Addr: publicAddr + ":0", Names: []string{registryName}})
	f := front{s, "https://" + hostPort(registryName, s) + "/"}

	for kind, a := range insideAddresses {
		name := strings.ToLower(strings.NewReplacer(" ", "-", "'", "").Replace(kind)) + ".inside.example"
		for _, host := range []string{a, name} {
			for _, scheme := range []string{"https", "http"} {
				base := scheme + "://" + net.JoinHostPort(host, victim.port) + "/"
				reached := false
				for way, lead := range waysIn {
					r := askGuarded(t, ca, f, lead, base, false)
					if r == nil || r.Verdict != client.VerdictFailed || client.ErrorOf(r).Code != client.CodeNotPublic {
						t.Errorf("%s by %s: %+v", base, way, r)
					}
					if n := victim.accepted.Swap(0); n != 0 {
						t.Errorf("%s by %s: %d connections", base, way, n)
					}
					if way == "redirect" && !beyond[kind] {
						askGuarded(t, ca, f, lead, base, true)
						reached = victim.accepted.Swap(0) > 0
					}
				}
				if !reached && !beyond[kind] {
					t.Errorf("%s (%s) can't be reached without the guard either, so that this test shows nothing", base, kind)
				}
			}
		}
	}
}

// TestGuardOddAddresses uses spellings of addresses that only some resolvers accept.
func TestGuardOddAddresses(t *testing.T) {
	if !namespace.Enter(t) {
		return
	}
	namespace.Own(t, publicAddr)
	namespace.Answer(t, func(name string) []netip.Addr {
		if name == registryName {
			return []netip.Addr{netip.MustParseAddr(publicAddr)}
		}
		return nil
	})
	victim := listenEverywhere(t)
	ca := newCA(t)
	s := rdaptest.Start(t, rdaptest.Config{CA: ca, Addr: publicAddr + ":0", Names: []string{registryName}})
	f := front{s, "https://" + hostPort(registryName, s) + "/"}
	for _, host := range []string{"2130706433", "0x7f000001", "127.1", "0177.0.0.1", "127.0.0.1.", "localhost", "localhost.", "LOCALHOST", "[::1]", "[::ffff:7f00:1]", "[fe80::1%25lo]", "[::1%25lo]"} {
		for way, lead := range waysIn {
			if r := askGuarded(t, ca, f, lead, "http://"+host+":"+victim.port+"/", false); r != nil && r.Verdict != client.VerdictFailed {
				t.Errorf("%s by %s: %s", host, way, describe(r))
			}
		}
	}
	if n := victim.accepted.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
}

// askGuarded looks up alpha.example and returns the part of the result that concerns
// base.
func askGuarded(t *testing.T, ca *rdaptest.CA, f front, lead func(front, string) (client.Config, func(*client.Result) *client.Result), base string, private bool) *client.Result {
	t.Helper()
	f.Clear()
	cfg, part := lead(f, base)
	p, err := pool.New(pool.Config{TLS: &tls.Config{RootCAs: ca.Pool()}, AllowPrivate: private})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	cfg.Transport, cfg.AllowHTTP, cfg.Attempts = p, true, 1
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, _ := c.Lookup(t.Context(), mustParse(t, "", "alpha.example")) // the error is in the result
	return part(r)
}

// A victim accepts connections at every address and closes them.
type victim struct {
	port     string
	accepted atomic.Int64
}

func listenEverywhere(t *testing.T) *victim {
	t.Helper()
	l, err := net.Listen("tcp", "[::]:0")
	if err != nil {
		t.Skip("no IPv6 here:", err)
	}
	v := new(victim)
	_, v.port, _ = net.SplitHostPort(l.Addr().String())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			v.accepted.Add(1)
			nc.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return v
}

// The client connects only to the checked address. This holds even if a name resolves to a
// public address first and to an internal one later, or the reverse.
func TestGuardAgainstRebinding(t *testing.T) {
	if !namespace.Enter(t) {
		return
	}
	const inside = "10.0.0.5"
	namespace.Own(t, publicAddr, inside)
	ca := newCA(t)
	outside := rdaptest.Start(t, rdaptest.Config{CA: ca, Addr: publicAddr + ":0", Names: []string{"rebound.example"}})
	_, port, _ := net.SplitHostPort(outside.Addr())
	victim := rdaptest.Start(t, rdaptest.Config{CA: ca, Addr: inside + ":" + port, Names: []string{"rebound.example"}})
	var mu sync.Mutex
	turn := 0
	namespace.Answer(t, func(name string) []netip.Addr {
		if name != "rebound.example" {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		turn++ // one turn each for IPv4 and IPv6
		if turn%4 < 2 {
			return []netip.Addr{netip.MustParseAddr(publicAddr)}
		}
		return []netip.Addr{netip.MustParseAddr(inside)}
	})
	base := fmt.Sprintf("https://rebound.example:%s/", port)
	verdicts := make(map[client.Verdict]int)
	for i := range 40 {
		// Use a new client each time, so that no name is cached.
		a := newGuardedAsker(t, ca, client.Config{Resolver: listedAs(bootstrap.SourceIANA, base), Attempts: 1}, nil)
		r, _ := a.Lookup(t.Context(), mustParse(t, "", fmt.Sprintf("name%d.example", i)))
		if client.ErrorOf(r) != nil && client.ErrorOf(r).Code != client.CodeNotPublic {
			t.Fatal(describe(r))
		}
		verdicts[r.Verdict]++
	}
	if n := victim.Counts().Connections; n != 0 {
		t.Errorf("%d connections inside", n)
	}
	if verdicts[client.VerdictRegistered] == 0 || verdicts[client.VerdictFailed] == 0 || int64(verdicts[client.VerdictRegistered]) != outside.Counts().Requests {
		t.Errorf("%v, and the server outside saw %d requests: the name did not change in time", verdicts, outside.Counts().Requests)
	}
}
