package pool_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// earlyServer returns a server and a memory with all state that early data needs.
func earlyServer(t *testing.T, c rdaptest.H3Config) (*rdaptest.Server, *rdaptest.H3, memory) {
	t.Helper()
	s, h := rdaptest.StartH3(t, rdaptest.Config{RTT: rtt, Log: true}, c)
	m := memory{t.TempDir()}
	m.prime(t, s, h)
	return s, h, m
}

func TestEarlyDataInLaterRun(t *testing.T) {
	s, h, m := earlyServer(t, rdaptest.H3Config{AwaitEarly: true})
	before, tcp := h.Counts(), s.Counts()
	p, end := m.run(t, s, pool.Config{Protocols: autoH3, HeadStart: longHeadStart})
	a, err := get(t.Context(), p, domain(s, 2))
	if err != nil {
		t.Fatal(err)
	}
	if tr := a.trace; tr.Protocol != "h3" || !tr.EarlyData || !tr.Resumed || tr.Retries != 0 || tr.Handshake <= 0 {
		t.Errorf("trace: %+v", tr)
	}
	a, err = get(t.Context(), p, domain(s, 3))
	if err != nil {
		t.Fatal(err)
	}
	if tr := a.trace; tr.EarlyData || !tr.Reused || tr.Handshake != 0 {
		t.Errorf("trace of the second: %+v", tr)
	}
	if st := p.Stats(); st.Handshakes.EarlyData != 1 || st.Handshakes.Resumed != 1 || st.Handshakes.Full != 0 || st.Connections != 1 {
		t.Errorf("stats: %+v", st)
	}
	end()
	if err := h.AwaitOpen(t.Context(), 0); err != nil {
		t.Error(err)
	}
	c := h.Counts()
	if c.Connections-before.Connections != 1 || c.FullHandshakes != before.FullHandshakes || c.EarlyAccepted-before.EarlyAccepted != 1 {
		t.Errorf("server saw %+v after %+v", c, before)
	}
	if s.Counts().Connections != tcp.Connections {
		t.Error("TCP was dialed as well")
	}
}

// Many requests are sent as early data, and requests that must not be early wait.
func TestConcurrentEarlyData(t *testing.T) {
	s, h, m := earlyServer(t, rdaptest.H3Config{AwaitEarly: true})
	before := h.Counts()
	p, end := m.run(t, s, pool.Config{Protocols: autoH3, HeadStart: longHeadStart})
	getAll(t, p, s, 40, 40)
	end()
	if c := h.Counts(); c.Connections-before.Connections != 1 || c.Requests-before.Requests != 40 {
		t.Errorf("server saw %+v after %+v", c, before)
	}
}

// Rejected early data is sent again transparently.
func TestRejectedEarlyData(t *testing.T) {
	for name, reject := range map[string]func(h *rdaptest.H3){
		"new ticket keys": (*rdaptest.H3).DropTickets,
		"refused":         func(h *rdaptest.H3) { h.RefuseEarlyData(true) },
		"too early":       func(h *rdaptest.H3) { h.AnswerTooEarly(true) },
		"after a restart": func(h *rdaptest.H3) { h.DropTickets(); h.Forget() },
	} {
		for _, single := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				s, h, m := earlyServer(t, rdaptest.H3Config{AwaitEarly: true})
				before := h.Counts()
				reject(h)
				c := pool.Config{Protocols: autoH3, HeadStart: longHeadStart}
				if single {
					c = pool.Config{Protocols: onlyH3, FreshConns: true}
				}
				p, end := m.run(t, s, c)
				a, err := get(t.Context(), p, domain(s, 2))
				if err != nil {
					t.Fatal(err)
				}
				if tr := a.trace; a.status != 200 || tr.EarlyData || tr.Retries != 1 {
					t.Errorf("status %d, trace: %+v", a.status, tr)
				}
				st := p.Stats()
				if st.Retries[pool.RetryEarlyData] != 1 || st.Connections != 1 || st.Failed != 0 {
					t.Errorf("stats: %+v", st)
				}
				end()
				if err := h.AwaitOpen(t.Context(), 0); err != nil {
					t.Error(err)
				}
				n := h.Counts()
				if n.Connections-before.Connections != 1 {
					t.Errorf("%d connections, want 1", n.Connections-before.Connections)
				}
				rejected := n.EarlyRejected - before.EarlyRejected
				if want := name != "too early"; (rejected == 1) != want || (st.Handshakes.EarlyRejected == 1) != want {
					t.Errorf("rejected: server saw %d, the pool %d", rejected, st.Handshakes.EarlyRejected)
				}
			})
		}
	}
}

// A server that rejects early data gets none for a while.
func TestTooEarlyIsRemembered(t *testing.T) {
	s, h, m := earlyServer(t, rdaptest.H3Config{AwaitEarly: true})
	h.AnswerTooEarly(true)
	p, end := m.run(t, s, pool.Config{Protocols: onlyH3})
	defer end()
	for i := range 3 {
		if a, err := get(t.Context(), p, domain(s, i)); err != nil || a.status != 200 {
			t.Fatal(a.status, err)
		}
		p.CloseIdleConnections()
	}
	if n := p.Stats().Retries[pool.RetryEarlyData]; n != 1 {
		t.Errorf("%d requests were sent too early, want 1", n)
	}
}

func TestNoEarlyData(t *testing.T) {
	s, h, m := earlyServer(t, rdaptest.H3Config{})
	before := h.Counts()
	p, end := m.run(t, s, pool.Config{Protocols: onlyH3, NoEarlyData: true})
	a, err := get(t.Context(), p, domain(s, 2))
	if err != nil {
		t.Fatal(err)
	}
	if a.trace.EarlyData || !a.trace.Resumed {
		t.Errorf("trace: %+v", a.trace)
	}
	end()
	if err := h.AwaitOpen(t.Context(), 0); err != nil {
		t.Error(err)
	}
	if c := h.Counts(); c.EarlyAccepted != before.EarlyAccepted || c.EarlyRejected != before.EarlyRejected || c.Resumed-before.Resumed != 1 {
		t.Errorf("server saw %+v after %+v", c, before)
	}
}

func TestSessionsWithoutEarlyData(t *testing.T) {
	s, h, m := earlyServer(t, rdaptest.H3Config{NoEarlyData: true})
	p, end := m.run(t, s, pool.Config{Protocols: onlyH3})
	a, err := get(t.Context(), p, domain(s, 2))
	if err != nil {
		t.Fatal(err)
	}
	if a.trace.EarlyData || !a.trace.Resumed || a.trace.Retries != 0 {
		t.Errorf("trace: %+v", a.trace)
	}
	end()
	if err := h.AwaitOpen(t.Context(), 0); err != nil {
		t.Error(err)
	}
	if c := h.Counts(); c.EarlyAccepted != 0 || c.EarlyRejected != 0 {
		t.Errorf("server saw %+v", c)
	}
}

// Requests with credentials, and requests that change something, wait for the handshake.
func TestCredentialsAreNeverEarly(t *testing.T) {
	for name, prepare := range map[string]func(r *http.Request){
		"Authorization":       func(r *http.Request) { r.SetBasicAuth("me", "secret") },
		"Cookie":              func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "a", Value: "b"}) },
		"Proxy-Authorization": func(r *http.Request) { r.Header.Set("Proxy-Authorization", "Basic eDp5") },
		"API key":             func(r *http.Request) { r.Header.Set("X-Api-Key", "secret") },
		"user in the URL":     func(r *http.Request) { r.URL.User = url.User("me") },
		"POST":                func(r *http.Request) { r.Method = http.MethodPost },
	} {
		t.Run(name, func(t *testing.T) {
			s, h, m := earlyServer(t, rdaptest.H3Config{})
			h.AnswerTooEarly(true) // shows which requests were early
			p, end := m.run(t, s, pool.Config{Protocols: onlyH3})
			defer end()
			var tr pool.Trace
			req, err := http.NewRequestWithContext(pool.WithTrace(t.Context(), &tr), http.MethodGet, domain(s, 2), nil)
			if err != nil {
				t.Fatal(err)
			}
			prepare(req)
			resp, err := p.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if tr.EarlyData || tr.Retries != 0 || p.Stats().Handshakes.EarlyData != 0 {
				t.Errorf("went out as early data: %+v", tr)
			}
		})
	}
}

// A client certificate is a credential as well.
func TestCertificatesAreNeverEarly(t *testing.T) {
	ca, err := rdaptest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ca.ClientCertificate("registrar")
	if err != nil {
		t.Fatal(err)
	}
	s, h := rdaptest.StartH3(t, rdaptest.Config{RTT: rtt, CA: ca, TLS: func(c *tls.Config) {
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, ca.Pool()
	}}, rdaptest.H3Config{})
	p := newPool(t, s, pool.Config{
		Protocols: onlyH3, FreshConns: true,
		ClientCertificate: func(string) (*tls.Certificate, string) { return &cert, "registrar" },
	})
	getAll(t, p, s, 3, 1)
	if err := h.AwaitOpen(t.Context(), 0); err != nil {
		t.Error(err)
	}
	if c := h.Counts(); c.Resumed != 2 || c.EarlyAccepted != 0 || c.EarlyRejected != 0 {
		t.Errorf("server saw %+v", c)
	}
}

// A request that is canceled during early data ends immediately.
func TestCanceledEarlyRequest(t *testing.T) {
	s, h, m := earlyServer(t, rdaptest.H3Config{})
	h.Block(true)
	p, end := m.run(t, s, pool.Config{Protocols: onlyH3})
	defer end()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := get(ctx, p, domain(s, 1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// If HTTP/3 is the only protocol and is blocked, the error says so.
func TestEarlyDataToBlockedUDP(t *testing.T) {
	s, h, m := earlyServer(t, rdaptest.H3Config{})
	h.Block(true)
	p, end := m.run(t, s, pool.Config{Protocols: onlyH3, HandshakeTimeout: 100 * time.Millisecond})
	defer end()
	_, err := get(t.Context(), p, domain(s, 1))
	if e, ok := errors.AsType[*pool.Error](err); !ok || e.Step != pool.StepHandshake || !e.Timeout() {
		t.Errorf("got %v", err)
	}
	if st := p.Stats(); st.DialsFailed != 1 || st.Connections != 0 || st.Open != 0 {
		t.Errorf("stats: %+v", st)
	}
}
