package pool_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// A twoAddresses is a host with two addresses and a server at each. A nil server refuses
// connections.
type twoAddresses struct {
	servers [2]*rdaptest.Server

	mu    sync.Mutex
	dials [2]int
}

const twoHost = "rdap.example"

var twoAddrs = []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")}

func (a *twoAddresses) dial(ctx context.Context, network, address string) (net.Conn, error) {
	at := 0
	if netip.MustParseAddrPort(address).Addr() == twoAddrs[1] {
		at = 1
	}
	a.mu.Lock()
	a.dials[at]++
	a.mu.Unlock()
	if a.servers[at] == nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	return new(net.Dialer).DialContext(ctx, network, a.servers[at].Addr())
}

func (a *twoAddresses) pool(t *testing.T, ca *rdaptest.CA) *pool.Pool {
	t.Helper()
	p, err := pool.New(pool.Config{
		TLS:  &tls.Config{RootCAs: ca.Pool()},
		Dial: a.dial, Resolve: map[string][]netip.Addr{twoHost + ":443": twoAddrs},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// An address that fails in the handshake fails no request, and is tried last the next time.
func TestHandshakeRace(t *testing.T) {
	for name, rules := range map[string]rdaptest.ConnRules{"silent": {SilentTLS: true}, "closes": {Refuse: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // the test waits for a silent server
			ca, err := rdaptest.NewCA()
			if err != nil {
				t.Fatal(err)
			}
			config := rdaptest.Config{CA: ca, Names: []string{twoHost}}
			good := rdaptest.Start(t, config)
			config.Conn = rules
			a := twoAddresses{servers: [2]*rdaptest.Server{rdaptest.Start(t, config), good}}
			p := a.pool(t, ca)
			for range 3 {
				if _, err := get(t.Context(), p, "https://"+twoHost+"/"); err != nil {
					t.Fatal(err)
				}
				p.CloseIdleConnections()
			}
			if a.dials != [2]int{1, 3} {
				t.Errorf("%d dials", a.dials)
			}
		})
	}
}

// A wrong certificate is the error only if every address has a wrong certificate.
func TestWrongCertificateOfOneAddress(t *testing.T) {
	ca, err := rdaptest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	wrong := func() *rdaptest.Server { return rdaptest.Start(t, rdaptest.Config{Names: []string{twoHost}}) }
	right := rdaptest.Start(t, rdaptest.Config{CA: ca, Names: []string{twoHost}})
	for _, c := range []struct {
		name        string
		servers     [2]*rdaptest.Server
		ok, blaming bool // whether to expect a response, and an error about a certificate
	}{
		{"one is right", [2]*rdaptest.Server{wrong(), right}, true, false},
		{"both wrong", [2]*rdaptest.Server{wrong(), wrong()}, false, true},
		{"the other refuses", [2]*rdaptest.Server{wrong(), nil}, false, false},
		{"the first refuses", [2]*rdaptest.Server{nil, wrong()}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := twoAddresses{servers: c.servers}
			_, err := get(t.Context(), a.pool(t, ca), "https://"+twoHost+"/")
			_, blaming := errors.AsType[*tls.CertificateVerificationError](err)
			if (err == nil) != c.ok || blaming != c.blaming {
				t.Errorf("%v", err)
			}
		})
	}
}

// A retry goes to the other address, and the address without a useful response is
// tried last.
func TestAvoidedAddress(t *testing.T) {
	ca, err := rdaptest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	config := rdaptest.Config{CA: ca, Names: []string{twoHost}}
	bad, good := rdaptest.Start(t, config), rdaptest.Start(t, config)
	bad.On("*", rdaptest.Status(503))
	a := twoAddresses{servers: [2]*rdaptest.Server{bad, good}}
	p := a.pool(t, ca)
	url := "https://" + twoHost + "/domain/alpha.example"
	first := fetch(t.Context(), t, p, url)
	second := fetch(pool.AvoidConn(t.Context(), first.trace.ConnID), t, p, url)
	if first.status != 503 || second.status != 200 {
		t.Errorf("status %d, then %d", first.status, second.status)
	}
	p.CloseIdleConnections()
	if third := fetch(t.Context(), t, p, url); third.status != 200 {
		t.Errorf("status %d on a new connection", third.status)
	}
}
