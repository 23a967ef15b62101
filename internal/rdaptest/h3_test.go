package rdaptest

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// h3Client returns a function that sends a request over a new HTTP/3 connection, and
// resumes sessions.
func h3Client(t *testing.T, s *Server) func(ctx context.Context, method, path string) (*http.Response, error) {
	t.Helper()
	config := &tls.Config{RootCAs: s.Pool(), ClientSessionCache: tls.NewLRUClientSessionCache(8)}
	return func(ctx context.Context, method, path string) (*http.Response, error) {
		tr := &http3.Transport{TLSClientConfig: config}
		defer tr.Close()
		req, err := http.NewRequestWithContext(ctx, method, s.URL()+path, nil)
		if err != nil {
			return nil, err
		}
		resp, err := tr.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		resp.Body = io.NopCloser(strings.NewReader(string(b)))
		return resp, err
	}
}

func TestH3Counts(t *testing.T) {
	s, h := StartH3(t, Config{RTT: 20 * time.Millisecond, Log: true}, H3Config{})
	ask := h3Client(t, s)
	for i, method := range []string{http.MethodGet, http.MethodGet, http3.MethodGet0RTT} {
		resp, err := ask(t.Context(), method, "domain/a.example")
		if err != nil || resp.StatusCode != 200 || resp.ProtoMajor != 3 {
			t.Fatal(i, resp, err)
		}
	}
	if err := h.AwaitOpen(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	c := h.Counts()
	if c.Connections != 3 || c.Requests != 3 || c.FullHandshakes != 1 || c.Resumed+c.FailedHandshakes != 2 || c.BytesIn == 0 || c.BytesOut == 0 {
		t.Errorf("counts: %+v", c)
	}
	if s.Counts().Connections != 0 || s.Counts().Requests != 0 {
		t.Errorf("counts of TCP: %+v", s.Counts())
	}
	if log := s.Log(); len(log) != 3 || log[0].Protocol != "HTTP/3.0" || log[2].Conn != 3 || log[2].Method != http.MethodGet {
		t.Errorf("log: %+v", log)
	}
}

// A ticketCache signals that a session has been stored.
type ticketCache struct {
	tls.ClientSessionCache
	came chan struct{}
}

func (c ticketCache) Put(key string, state *tls.ClientSessionState) {
	c.ClientSessionCache.Put(key, state)
	if state != nil {
		c.came <- struct{}{}
	}
}

func TestH3TicketsAndEarlyData(t *testing.T) {
	for name, test := range map[string]struct {
		prepare           func(h *H3)
		resumed, rejected int64
	}{
		"as usual":     {func(*H3) {}, 1, 0},
		"new keys":     {(*H3).DropTickets, 0, 1},
		"refused":      {func(h *H3) { h.RefuseEarlyData(true) }, 1, 1},
		"after Forget": {func(h *H3) { h.Forget() }, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, h := StartH3(t, Config{}, H3Config{})
			cache := ticketCache{tls.NewLRUClientSessionCache(1), make(chan struct{}, 8)}
			config := &tls.Config{RootCAs: s.Pool(), ClientSessionCache: cache, NextProtos: []string{http3.NextProtoH3}}
			for i := range 2 {
				if i == 1 {
					test.prepare(h)
				}
				c, err := quic.DialAddrEarly(t.Context(), s.Addr(), config, nil)
				if err != nil {
					t.Fatal(err)
				}
				<-cache.came // the ticket comes after the handshake
				// The server accepts connections asynchronously. A connection that is closed
				// before does not count.
				for h.Counts().Connections <= int64(i) && t.Context().Err() == nil {
					runtime.Gosched()
				}
				if err := c.CloseWithError(0x100, ""); err != nil {
					t.Fatal(err)
				}
			}
			if err := h.AwaitOpen(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			c := h.Counts()
			if c.Resumed != test.resumed || c.FullHandshakes != 2-test.resumed || c.EarlyRejected != test.rejected || c.EarlyAccepted != 1-test.rejected {
				t.Errorf("counts: %+v", c)
			}
		})
	}
}

func TestH3Faults(t *testing.T) {
	s, h := StartH3(t, Config{}, H3Config{Reject: func(n int64) bool { return n == 1 }})
	ask := h3Client(t, s)
	if _, err := ask(t.Context(), http.MethodGet, "domain/a.example"); err == nil || !strings.Contains(err.Error(), "REQUEST_REJECTED") {
		t.Errorf("rejected: %v", err)
	}
	h.Block(true)
	heard := h.Heard()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for h.Heard() == heard && ctx.Err() == nil {
			time.Sleep(time.Millisecond) // wait until a packet has arrived
		}
		time.Sleep(50 * time.Millisecond) // a response would arrive within this time
		cancel()
	}()
	if _, err := ask(ctx, http.MethodGet, "domain/a.example"); err == nil {
		t.Error("response despite Block")
	}
	cancel()
	h.Block(false)
}

func TestH3IsAnnounced(t *testing.T) {
	s, h := StartH3(t, Config{}, H3Config{})
	client := s.Client()
	defer client.CloseIdleConnections()
	get := func() string {
		resp, err := client.Get(s.URL() + "domain/a.example")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.Header.Get("Alt-Svc")
	}
	if got := get(); got != "" {
		t.Errorf("unexpectedly announced: %s", got)
	}
	_, port, _ := strings.Cut(s.Addr(), ":")
	h.Announce(time.Hour)
	if got, want := get(), `h3=":`+port+`"; ma=3600`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	h.Announce(0)
	if got := get(); got != "" {
		t.Errorf("still announced: %s", got)
	}
}
