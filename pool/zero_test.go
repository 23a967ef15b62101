package pool_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/pool"
)

// A Pool that was not made with New returns an error and closes the body of the request.
func TestZeroPool(t *testing.T) {
	var p pool.Pool
	body := &countedBody{Reader: strings.NewReader("x")}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://rdap.example/", body)
	if err != nil {
		t.Fatal(err)
	}
	for _, rt := range []http.RoundTripper{&p, p.Guarded()} {
		if resp, err := rt.RoundTrip(req); err == nil || !strings.Contains(err.Error(), "use New") {
			resp.Body.Close()
			t.Errorf("got %v", err)
		}
	}
	if n := body.closed.Load(); n != 2 {
		t.Errorf("the body was closed %d times in 2 requests", n)
	}
	if n := p.Capacity("https://rdap.example", 7); n != 7 {
		t.Errorf("Capacity is %d", n)
	}
	p.CloseIdleConnections()
	p.Suspect(1)
	p.SuspectSession(1)
	if st := p.Stats(); st.Requests != 0 || st.Origins != nil {
		t.Errorf("%+v", st)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// The error of an invalid Config names the field.
func TestConfigError(t *testing.T) {
	dial := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("unused") }
	for field, configs := range map[string][]pool.Config{
		"Protocols": {{Protocols: []string{"spdy"}}, {Protocols: []string{"h3"}, Dial: dial}},
		"Network":   {{Network: "udp"}},
		"LocalAddr": {{LocalAddr: netip.MustParseAddr("::1"), Network: "tcp4"}, {LocalAddr: netip.MustParseAddr("::1"), Dial: dial}},
		"FastOpen":  {{FastOpen: true, Dial: dial}},
	} {
		for _, c := range configs {
			_, err := pool.New(c)
			if bad, ok := errors.AsType[*pool.ConfigError](err); !ok || bad.Field != field || bad.Err == nil {
				t.Errorf("%s: %v", field, err)
			}
		}
	}
}
