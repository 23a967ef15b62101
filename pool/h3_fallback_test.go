package pool_test

import (
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// info returns the stored information about s.
func (m memory) info(t *testing.T, s *rdaptest.Server) pool.OriginInfo {
	t.Helper()
	f, err := pool.OpenOriginFile(filepath.Join(m.dir, "hosts.json"))
	if err != nil {
		t.Fatal(err)
	}
	return f.Info("https://" + s.Addr())
}

func TestH3IsNotUsedUnlessOffered(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
	p := newPool(t, s, pool.Config{Protocols: autoH3})
	getAll(t, p, s, 10, 1)
	p.CloseIdleConnections()
	getAll(t, p, s, 10, 1)
	if h.Heard() != 0 {
		t.Error("QUIC was tried")
	}
}

func TestAltSvcIsLearned(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
	h.Announce(time.Hour)
	p := newPool(t, s, pool.Config{Protocols: autoH3, HeadStart: longHeadStart})
	getAll(t, p, s, 10, 1)
	// The Pool uses an open connection as long as it lasts.
	if c := s.Counts(); c.Connections != 1 || c.Requests != 10 || h.Heard() != 0 {
		t.Errorf("%d connections, %d requests over TCP", c.Connections, c.Requests)
	}
	p.CloseIdleConnections()
	getAll(t, p, s, 10, 10)
	if c := h.Counts(); c.Connections != 1 || c.Requests != 10 {
		t.Errorf("%d connections, %d requests over QUIC", c.Connections, c.Requests)
	}
	if s.Counts().Connections != 1 {
		t.Error("TCP was dialed beside HTTP/3")
	}
}

func TestAltSvcIsForgotten(t *testing.T) {
	for name, field := range map[string]string{"clear": "clear", "another protocol": `h2="alt.example:443"`} {
		t.Run(name, func(t *testing.T) {
			s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
			h.Announce(time.Hour)
			p := newPool(t, s, pool.Config{Protocols: autoH3, HeadStart: longHeadStart})
			getAll(t, p, s, 1, 1)
			s.SetAltSvc(field)
			getAll(t, p, s, 1, 1)
			p.CloseIdleConnections()
			getAll(t, p, s, 1, 1)
			if h.Heard() != 0 {
				t.Error("QUIC was tried")
			}
		})
	}
}

func TestAltSvcExpires(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
	m := memory{t.TempDir()}
	h.Announce(time.Second)
	p, end := m.run(t, s, pool.Config{Protocols: autoH3})
	getAll(t, p, s, 1, 1)
	end()
	f := m.info(t, s)
	if left := time.Until(f.H3Until); f.H3 == "" || left > time.Second {
		t.Fatalf("learned %+v", f)
	}
	time.Sleep(time.Until(f.H3Until))
	p, end = m.run(t, s, pool.Config{Protocols: autoH3})
	getAll(t, p, s, 1, 1)
	end()
	if h.Heard() != 0 {
		t.Error("QUIC was tried")
	}
}

// A network that drops UDP costs one head start. Afterwards HTTP/3 is not used.
func TestBlockedQUIC(t *testing.T) {
	for name, primed := range map[string]bool{"with a session": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
			m := memory{t.TempDir()}
			if primed {
				m.prime(t, s, h)
			} else {
				h.Announce(time.Hour)
				p, end := m.run(t, s, pool.Config{Protocols: autoH3})
				getAll(t, p, s, 1, 1)
				end()
			}
			h.Block(true)
			before := h.Heard()
			p, end := m.run(t, s, pool.Config{Protocols: autoH3, HeadStart: shortHeadStart})
			getAll(t, p, s, 8, 8)
			if h.Heard() == before {
				t.Error("QUIC was not tried")
			}
			if f := m.now(p, s); f.QUICFailures != 1 || !f.QUICBlocked.After(time.Now().Add(4*time.Minute)) {
				t.Errorf("QUIC is not marked: %+v", f)
			}
			st := p.Stats()
			if st.Failed != 0 || st.Requests != 8 || st.Connections != 1 || st.Handshakes.EarlyData != 0 {
				t.Errorf("stats: %+v", st)
			}
			end()

			p, end = m.run(t, s, pool.Config{Protocols: autoH3, HeadStart: shortHeadStart})
			getAll(t, p, s, 8, 8)
			p.CloseIdleConnections()
			getAll(t, p, s, 8, 8)
			end()
			if f := m.info(t, s); f.QUICFailures != 1 || p.Stats().DialsFailed != 0 {
				t.Errorf("QUIC was tried again: %+v", f)
			}
		})
	}
}

// Requests that must not be early wait for HTTP/3, and then for TCP.
func TestBlockedQUICWithCredentials(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
	m := memory{t.TempDir()}
	m.prime(t, s, h)
	h.Block(true)
	p, end := m.run(t, s, pool.Config{Protocols: autoH3, HeadStart: shortHeadStart})
	defer end()
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		req, err := http.NewRequestWithContext(t.Context(), method, domain(s, 1), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth("me", "secret")
		resp, err := p.RoundTrip(req)
		if err != nil {
			t.Fatal(method, err)
		}
		resp.Body.Close()
	}
}

// TCP is refused, so HTTP/3 is used although its head start is over. Packets of QUIC arrive once
// TCP has failed.
func TestTCPFailsDuringH3(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
	m := memory{t.TempDir()}
	m.prime(t, s, h)
	s.SetConnRules(rdaptest.ConnRules{Refuse: true})
	h.Block(true)
	p, end := m.run(t, s, pool.Config{Protocols: autoH3, HeadStart: shortHeadStart, OnEvent: func(e pool.Event) {
		if e.Kind == pool.DialFailed {
			h.Block(false)
		}
	}})
	defer end()
	p.SetTCPFailedGrace(longHeadStart)
	getAll(t, p, s, 4, 4)
}

func TestTCPAndH3Fail(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
	m := memory{t.TempDir()}
	m.prime(t, s, h)
	s.SetConnRules(rdaptest.ConnRules{Refuse: true})
	h.Block(true)
	p, end := m.run(t, s, pool.Config{Protocols: autoH3, HeadStart: shortHeadStart, HandshakeTimeout: 200 * time.Millisecond})
	defer end()
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			_, err := get(t.Context(), p, domain(s, i))
			if _, ok := errors.AsType[*pool.Error](err); !ok {
				t.Errorf("got %v", err)
			}
		})
	}
	wg.Wait()
}

func TestProxyDisablesH3(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{Names: []string{named}}, rdaptest.H3Config{})
	h.Announce(time.Hour)
	_, port, _ := net.SplitHostPort(s.Addr())
	x := newHTTPProxy(t, nil)
	x.hosts[net.JoinHostPort(named, port)] = s.Addr()
	for _, protocols := range [][]string{autoH3, onlyH3} {
		p := newPool(t, s, pool.Config{Protocols: protocols, Proxy: x.use})
		for i := range 3 {
			_, err := get(t.Context(), p, namedURL(port, i))
			if only := len(protocols) == 1; only != (err != nil) {
				t.Errorf("over %v: %v", protocols, err)
			}
			p.CloseIdleConnections()
		}
	}
	if h.Heard() != 0 {
		t.Error("QUIC was tried")
	}
}

func TestH3NeedsHTTPS(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	plain := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Alt-Svc", `h3=":443"`)
	})}
	go plain.Serve(l)
	defer plain.Close()
	for _, protocols := range [][]string{autoH3, onlyH3} {
		p, err := pool.New(pool.Config{Protocols: protocols})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			_, err = get(t.Context(), p, "http://"+l.Addr().String()+"/")
			if only := len(protocols) == 1; only != (err != nil) {
				t.Errorf("over %v: %v", protocols, err)
			}
			p.CloseIdleConnections()
		}
		p.Close()
	}
}

func TestH3AndDial(t *testing.T) {
	dial := new(net.Dialer).DialContext
	if _, err := pool.New(pool.Config{Protocols: onlyH3, Dial: dial}); err == nil {
		t.Error("HTTP/3 alone with Dial was accepted")
	}
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
	h.Announce(time.Hour)
	p := newPool(t, s, pool.Config{Protocols: autoH3, Dial: dial})
	for range 3 {
		getAll(t, p, s, 1, 1)
		p.CloseIdleConnections()
	}
	if h.Heard() != 0 {
		t.Error("QUIC was tried")
	}
}

// Several TCP connections serve a deep queue faster.
func TestDeepQueueStaysOnTCP(t *testing.T) {
	hold := make(chan struct{})
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
	h.Announce(time.Hour)
	p := newPool(t, s, pool.Config{Protocols: autoH3, HeadStart: longHeadStart})
	getAll(t, p, s, 1, 1)
	s.On("*", rdaptest.Until(hold))
	var wg sync.WaitGroup
	for i := range 300 {
		wg.Go(func() {
			if _, err := get(t.Context(), p, domain(s, i)); err != nil {
				t.Error(err)
			}
		})
	}
	if err := s.AwaitRequests(t.Context(), 301); err != nil {
		t.Fatal(err)
	}
	if err := s.AwaitConnections(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	close(hold)
	wg.Wait()
	if c, dials := s.Counts(), p.Stats().Dials; c.Connections != 4 || dials != 4 || h.Heard() != 0 {
		t.Errorf("%d connections over TCP after %d dials, want 4 and 4; %d packets over QUIC", c.Connections, dials, h.Heard())
	}
}

// A queue that becomes deep during the HTTP/3 dial does not wait for the end of the dial.
func TestDeepQueueAbandonsH3(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
	h.Announce(time.Hour)
	m := memory{t.TempDir()}
	p, end := m.run(t, s, pool.Config{Protocols: autoH3})
	getAll(t, p, s, 1, 1)
	end()
	h.Block(true)
	p, end = m.run(t, s, pool.Config{Protocols: autoH3, HeadStart: longHeadStart})
	getAll(t, p, s, 200, 200)
	if f := m.now(p, s); f.QUICFailures != 0 {
		t.Errorf("QUIC is blocked although its dial was only canceled: %+v", f)
	}
	end()
	if st := p.Stats(); st.Failed != 0 {
		t.Errorf("stats: %+v", st)
	}
}

func TestNoReuseIgnoresAltSvc(t *testing.T) {
	s, h := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
	m := memory{t.TempDir()}
	m.prime(t, s, h)
	before := h.Counts().Connections
	for _, c := range []pool.Config{{NoReuse: true}, {FreshConns: true}} {
		c.Protocols = autoH3
		p, end := m.run(t, s, c)
		getAll(t, p, s, 5, 1)
		end()
		if st := p.Stats(); st.Connections != 5 {
			t.Errorf("%d connections for 5 requests", st.Connections)
		}
	}
	if h.Counts().Connections != before {
		t.Error("QUIC was used")
	}
}

// now returns the information about s that p has.
func (m memory) now(p *pool.Pool, s *rdaptest.Server) pool.OriginInfo {
	return p.InfoOf("https://" + s.Addr())
}
