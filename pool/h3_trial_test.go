package pool_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// hostileH3 starts the hostile server with the given name.
func hostileH3(t *testing.T, name string) *rdaptest.Server {
	t.Helper()
	all := rdaptest.HostileQUIC()
	i := slices.IndexFunc(all, func(h rdaptest.HostileH3) bool { return h.Name == name })
	if i < 0 {
		t.Fatal("no server ", name)
	}
	return rdaptest.StartHostileH3(t, rdaptest.Config{}, all[i])
}

// The response over HTTP/3 is used if TCP gives no response, however long HTTP/3 takes.
func TestSlowH3WithoutTCP(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
	m := memory{t.TempDir()}
	m.prime(t, s, h)
	p, end := m.run(t, s, pool.Config{Protocols: autoH3, HeadStart: shortHeadStart, NoEarlyData: true})
	defer end()
	s.SetConnRules(rdaptest.ConnRules{Refuse: true})
	hold := make(chan struct{})
	s.On("*", rdaptest.Until(hold))
	time.AfterFunc(10*shortHeadStart, func() { close(hold) })
	a, err := get(t.Context(), p, domain(s, 1))
	if err != nil || a.status != http.StatusOK || a.trace.Protocol != "h3" {
		t.Errorf("status %d over %q, %v", a.status, a.trace.Protocol, err)
	}
	if f := m.now(p, s); f.QUICFailures != 0 {
		t.Errorf("HTTP/3 is marked as broken: %+v", f)
	}
}

// HTTP/3 that fails again is blocked for longer, although its handshakes succeed. A useful
// response resets the time.
func TestBrokenH3BackoffDoubles(t *testing.T) {
	past := func(p *pool.Pool, origins *pool.OriginFile, s *rdaptest.Server) {
		origins.Update("https://"+s.Addr(), func(f *pool.OriginInfo) { f.QUICBlocked, f.QUICFailures = time.Now().Add(-time.Second), 3 })
	}
	for name, want := range map[string]int{"is silent after its settings": 4, "works": 0} {
		t.Run(name, func(t *testing.T) {
			var s *rdaptest.Server
			if want > 0 {
				s = hostileH3(t, name)
			} else {
				good, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
				h.Announce(time.Hour)
				s = good
			}
			origins, err := pool.OpenOriginFile(t.TempDir() + "/hosts.json")
			if err != nil {
				t.Fatal(err)
			}
			for i := range 2 {
				p := newPool(t, s, pool.Config{Protocols: autoH3, Origins: origins})
				if _, err := lookupIn(t.Context(), 10*time.Second, p, domain(s, i)); err != nil {
					t.Fatal(err)
				}
				p.Close()
				if i == 0 {
					past(p, origins, s)
				}
			}
			if f := origins.Info("https://" + s.Addr()); f.QUICFailures != want || want > 0 && !f.QUICBlocked.After(time.Now().Add(39*time.Minute)) {
				t.Errorf("%d failures, want %d; blocked until %v", f.QUICFailures, want, f.QUICBlocked)
			}
		})
	}
}

// If the server is down, its TCP refusal is the error, not the silence of UDP.
func TestServerRefusesTCPAndH3(t *testing.T) {
	t.Parallel() // the test mostly waits
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
	m := memory{t.TempDir()}
	m.prime(t, s, h)
	h.Close()
	s.Close()
	for name, noEarly := range map[string]bool{"early data": false, "no early data": true} {
		t.Run(name, func(t *testing.T) {
			p, end := m.run(t, s, pool.Config{Protocols: autoH3, HeadStart: shortHeadStart, NoEarlyData: noEarly})
			defer end()
			ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
			defer cancel()
			if _, err := get(ctx, p, domain(s, 1)); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("got %v, want a refused connection", err)
			}
			if f := m.now(p, s); f.QUICFailures != 0 {
				t.Errorf("HTTP/3 is marked as broken: %+v", f)
			}
		})
	}
}

// A body that ends within a DATA frame is not complete.
func TestTruncatedFrameOverH3(t *testing.T) {
	s := hostileH3(t, "cuts a body frame")
	p := newPool(t, s, pool.Config{Protocols: onlyH3})
	_, err := get(t.Context(), p, domain(s, 1))
	if cut, ok := errors.AsType[bodyError](err); !ok || !errors.Is(cut.error, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
}

// An alternative that responds with 421 is not used again, even in later runs, however often
// the server advertises it.
func TestMisdirectedAlternativeIsForgotten(t *testing.T) {
	s := hostileH3(t, "is misdirected")
	m := memory{t.TempDir()}
	for i, want := range []int64{1, 2, 1} { // the alternative is learned, then tried, then not used
		p, end := m.run(t, s, pool.Config{Protocols: autoH3, HeadStart: longHeadStart})
		if a, err := get(t.Context(), p, domain(s, i)); err != nil || a.status != http.StatusOK {
			t.Errorf("run %d: status %d, %v", i, a.status, err)
		}
		if st := p.Stats(); st.Connections != want {
			t.Errorf("run %d made %d connections, want %d", i, st.Connections, want)
		}
		end()
	}
}

// An alternative at another host that fails is tried once per advertisement. Without
// verification of certificates it is not tried at all.
func TestAlternativeAtOtherHostIsTriedOnce(t *testing.T) {
	s, _ := rdaptest.StartH3(t, rdaptest.Config{Names: []string{named}}, rdaptest.H3Config{})
	// this server has a certificate of another authority
	other, there := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
	_, port, _ := net.SplitHostPort(s.Addr())
	_, otherPort, _ := net.SplitHostPort(other.Addr())
	loopback := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	for _, insecure := range []bool{true, false} {
		p, err := pool.New(pool.Config{
			TLS:       &tls.Config{RootCAs: s.Pool(), InsecureSkipVerify: insecure},
			Protocols: autoH3, HeadStart: longHeadStart,
			Resolve: map[string][]netip.Addr{
				net.JoinHostPort(named, port):              loopback,
				net.JoinHostPort("alt.example", otherPort): loopback,
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		s.SetAltSvc(`h3="alt.example:` + otherPort + `"`)
		for range 2 {
			a, err := get(t.Context(), p, namedURL(port, 1))
			if err != nil || a.trace.Protocol != "h2" {
				t.Errorf("over %q, %v", a.trace.Protocol, err)
			}
			p.CloseIdleConnections()
		}
		f := p.InfoOf("https://" + net.JoinHostPort(named, port))
		if insecure {
			if there.Heard() != 0 {
				t.Error("another host was tried that need not prove anything")
			}
		} else if there.Heard() == 0 || f.H3 != "" || f.QUICFailures != 1 {
			t.Errorf("after %d packets: %+v", there.Heard(), f)
		}
	}
}

// Later runs send no early data to a server that failed only with early data.
func TestRejectedEarlyDataIsNotRepeated(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{RTT: rtt, AwaitEarly: true})
	m := memory{t.TempDir()}
	m.prime(t, s, h)
	h.AnswerTooEarly(true)
	for i := range 2 {
		p, end := m.run(t, s, pool.Config{Protocols: autoH3, HeadStart: longHeadStart})
		a, err := get(t.Context(), p, domain(s, 1))
		if err != nil || a.status != http.StatusOK || a.trace.Protocol != "h3" {
			t.Errorf("run %d: status %d over %q, %v", i, a.status, a.trace.Protocol, err)
		}
		if st := p.Stats().Handshakes; st.EarlyData != int64(1-i) {
			t.Errorf("run %d: %d handshakes with early data", i, st.EarlyData)
		}
		end()
		if err := h.AwaitOpen(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	if f := m.info(t, s); f.EarlyFailures != 1 || !f.EarlyBlocked.After(time.Now()) {
		t.Errorf("learned %+v", f)
	}
}

// An endless body does not count as a success of HTTP/3. TCP provides the response, and later
// runs do not use HTTP/3.
func TestEndlessBodyOnTrial(t *testing.T) {
	t.Parallel()
	s := hostileH3(t, "sends a body without end")
	m := memory{t.TempDir()}
	for i, want := range []int64{1, 2, 1} { // the alternative is learned, then tried, then not used
		p, end := m.run(t, s, pool.Config{Protocols: autoH3, HeadStart: longHeadStart})
		var trace pool.Trace
		req, err := http.NewRequestWithContext(pool.WithTrace(t.Context(), &trace), http.MethodGet, domain(s, i), nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := p.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || trace.Protocol != "h2" {
			t.Errorf("run %d: status %d over %q", i, resp.StatusCode, trace.Protocol)
		}
		if st := p.Stats(); st.Connections != want {
			t.Errorf("run %d made %d connections, want %d", i, st.Connections, want)
		}
		end()
	}
}
