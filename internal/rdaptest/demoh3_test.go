package rdaptest

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"testing"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

func TestDemoH3(t *testing.T) {
	d, err := NewDemo(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	if err := d.OfferH3(); err != nil {
		t.Fatal(err)
	}
	addresses := d.H3Addresses()
	if len(addresses) != len(d.Hosts()) {
		t.Fatal(addresses)
	}
	transport := &http3.Transport{
		TLSClientConfig: &tls.Config{RootCAs: d.CAPool()},
		Dial: func(ctx context.Context, addr string, c *tls.Config, q *quic.Config) (*quic.Conn, error) {
			_, port, _ := net.SplitHostPort(addr)
			return quic.DialAddr(ctx, net.JoinHostPort(addresses[addr][0].String(), port), c, q)
		},
	}
	t.Cleanup(func() { transport.Close() })
	base := ""
	for at := range addresses {
		if host, _, _ := net.SplitHostPort(at); host == "rdap.re.example" {
			base = "https://" + at + "/"
		}
	}
	resp, body := get(t, &http.Client{Transport: transport}, base+"domain/courbu.re")
	if resp.StatusCode != 200 || resp.Proto != "HTTP/3.0" {
		t.Errorf("%s %d %s", resp.Proto, resp.StatusCode, body)
	}
	if n := d.H3Counts(); n.Connections != 1 || n.Requests != 1 {
		t.Errorf("%+v", n)
	}
	if _, servers := d.Counts(); servers["rdap.re.example"].Connections != 0 {
		t.Error("TCP was dialed")
	}
}

func TestDemoQueries(t *testing.T) {
	all := DemoQueries(1000)
	if len(all) != 163 || all[0] != "courbu.re" || len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
		t.Errorf("%d: %v", len(all), all)
	}
	if two := DemoQueries(2); len(two) != 2 {
		t.Error(two)
	}
}
