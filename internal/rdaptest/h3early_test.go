package rdaptest

import (
	"crypto/tls"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// The handshake waits for a request. The settings alone do not end the wait.
func TestH3AwaitsEarlyRequests(t *testing.T) {
	s, h := StartH3(t, Config{}, H3Config{AwaitEarly: true})
	cache := ticketCache{tls.NewLRUClientSessionCache(1), make(chan struct{}, 8)}
	config := &tls.Config{RootCAs: s.Pool(), ClientSessionCache: cache, NextProtos: []string{http3.NextProtoH3}}
	for i := range 3 {
		c, err := quic.DialAddrEarly(t.Context(), s.Addr(), config, nil)
		if err != nil {
			t.Fatal(err)
		}
		client := new(http3.Transport).NewClientConn(c) // sends the client's settings
		if i > 0 {
			select {
			case <-c.HandshakeComplete():
				t.Error("the handshake did not wait")
			case <-time.After(50 * time.Millisecond):
			}
		}
		req, err := http.NewRequestWithContext(t.Context(), http3.MethodGet0RTT, s.URL()+"domain/a.example", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Error(err)
		}
		<-cache.came
		if err := c.CloseWithError(0x100, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.AwaitOpen(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if c := h.Counts(); c.EarlyAccepted != 2 || c.FullHandshakes != 1 || c.Requests != 3 {
		t.Errorf("counts: %+v", c)
	}
}
