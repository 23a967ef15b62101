package client_test

import (
	"context"
	"crypto/tls"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/internal/testrun"
)

// A metered transport wraps another transport, as programs do to count traffic.
type metered struct{ http.RoundTripper }

// A mute transport calls no hooks before the response.
type mute struct{ http.RoundTripper }

func (m mute) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(context.Background()) // mute removes the hooks
	context.AfterFunc(req.Context(), cancel)
	return m.RoundTripper.RoundTrip(req.WithContext(ctx))
}

// With a transport that does not report connections, an attempt may take its full time
// limit even if there is another server.
func TestLookupMuteTransport(t *testing.T) {
	t.Parallel() // the test mostly waits
	s, plain := newPair(t, rdaptest.Config{}, client.Config{})
	c := newAsker(t, s.CA(), client.Config{
		Transport: mute{plain.pool}, ConnectTimeout: 50 * time.Millisecond, Timeout: time.Minute,
		Resolver: urls{s.URL(), s.URL() + "second/"},
	})
	s.On("/domain/slow.example", rdaptest.Latency(300*time.Millisecond))
	if r := c.lookup(t, mustParse(t, "", "slow.example")); r.Attempts != 1 || r.Verdict != client.VerdictRegistered {
		t.Errorf("%s after %d attempts", describe(r), r.Attempts)
	}
}

// A pool inside another transport reports the same details as a pool alone, including the
// step of a failure.
func TestLookupWrappedPool(t *testing.T) {
	t.Parallel() // the test mostly waits
	s, plain := newPair(t, rdaptest.Config{}, client.Config{})
	plain.lookup(t, mustParse(t, "", "first.example")) // opens a connection
	c := newAsker(t, s.CA(), client.Config{
		Transport: metered{plain.pool}, ConnectTimeout: time.Second,
		Resolver: urls{s.URL(), s.URL() + "second/"},
	})
	r := c.lookup(t, mustParse(t, "", "alpha.example"))
	if r.Verdict != client.VerdictRegistered || r.Conn.ConnID != 1 || !r.Conn.Reused || r.Conn.TLS == 0 || r.Conn.FirstByte == 0 {
		t.Errorf("%s, %+v", describe(r), r.Conn)
	}
	// ConnectTimeout does not apply to a request that waits for its response on an open
	// connection.
	s.On("/domain/slow.example", rdaptest.Latency(1500*time.Millisecond))
	if r := c.lookup(t, mustParse(t, "", "slow.example")); r.Attempts != 1 || r.Server != s.URL() {
		t.Errorf("%s after %d attempts, at %s", describe(r), r.Attempts, r.Server)
	}
	c = newAsker(t, s.CA(), client.Config{
		Transport: metered{plain.pool}, Timeout: time.Second, Attempts: 1, Resolver: urls{s.URL()},
	})
	s.On("/domain/silent.example", rdaptest.Hang())
	if r := c.lookup(t, mustParse(t, "", "silent.example")); client.ErrorOf(r) == nil || !strings.Contains(client.ErrorOf(r).Message, "waiting for the response") {
		t.Errorf("%s", describe(r))
	}
}

// The wait for a connection of another transport does not count against Timeout. The test uses
// the clock of a bubble, because a loaded machine would delay responses beyond the timeout.
func TestForeignTransportWait(t *testing.T) {
	t.Parallel()
	testrun.Bubble(t, testForeignTransportWait)
}

func testForeignTransportWait(t *testing.T) {
	network := new(rdaptest.Network)
	s := rdaptest.Start(t, rdaptest.Config{Network: network, Protocols: rdaptest.H1Only, Latency: 400 * time.Millisecond})
	foreign := &http.Transport{DialContext: network.Dial, TLSClientConfig: &tls.Config{RootCAs: s.Pool()}, MaxConnsPerHost: 1}
	defer foreign.CloseIdleConnections()
	a := newAsker(t, s.CA(), client.Config{
		Transport: foreign, Timeout: 700 * time.Millisecond, ConnectTimeout: 10 * time.Second, Resolver: urls{s.URL()},
	})
	for r := range a.Batch(t.Context(), lines(names(4)...)).All() {
		if r.Verdict != client.VerdictRegistered || r.Attempts != 1 {
			t.Errorf("%s after %d attempts", describe(r), r.Attempts)
		}
	}
}

// ConnectTimeout applies to the connections of other transports.
func TestForeignTransportConnectTimeout(t *testing.T) {
	t.Parallel()
	testrun.Bubble(t, testForeignTransportConnectTimeout)
}

func testForeignTransportConnectTimeout(t *testing.T) {
	network := new(rdaptest.Network)
	s := rdaptest.Start(t, rdaptest.Config{Network: network, Conn: rdaptest.ConnRules{SilentTLS: true}})
	foreign := &http.Transport{DialContext: network.Dial, TLSClientConfig: &tls.Config{RootCAs: s.Pool()}}
	a := newAsker(t, s.CA(), client.Config{
		Transport: foreign, Timeout: time.Hour, ConnectTimeout: 50 * time.Millisecond, Attempts: 1, Resolver: urls{s.URL()},
	})
	if r := a.lookup(t, mustParse(t, "", "alpha.example")); client.ErrorOf(r) == nil || client.ErrorOf(r).Code != client.CodeTimeout || !strings.Contains(client.ErrorOf(r).Message, "handshake") {
		t.Errorf("%s", describe(r))
	}
}
