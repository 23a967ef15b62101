package pool_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

func TestCapacity(t *testing.T) {
	t.Parallel() // the test mostly waits
	for _, c := range []struct {
		name         string
		server       rdaptest.Config
		config       pool.Config
		demand, want int
	}{
		{"HTTP/1.1", rdaptest.Config{Protocols: rdaptest.H1Only}, pool.Config{}, 24, 4},
		{"HTTP/1.1, less demand", rdaptest.Config{Protocols: rdaptest.H1Only}, pool.Config{}, 3, 3},
		{"HTTP/1.1, more connections", rdaptest.Config{Protocols: rdaptest.H1Only}, pool.Config{MaxConnsPerHost: 9}, 24, 9},
		{"HTTP/2", rdaptest.Config{Protocols: rdaptest.H2Only}, pool.Config{}, 60, 60},
		{"HTTP/2, deep", rdaptest.Config{Protocols: rdaptest.H2Only}, pool.Config{}, 5000, 2000},
		{"two streams", rdaptest.Config{Protocols: rdaptest.H2Only, MaxStreams: 2}, pool.Config{}, 60, 16},
		{"two streams, less demand", rdaptest.Config{Protocols: rdaptest.H2Only, MaxStreams: 2}, pool.Config{}, 3, 3},
		{"no reuse", rdaptest.Config{Protocols: rdaptest.H1Only}, pool.Config{NoReuse: true}, 500, 500},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := rdaptest.Start(t, c.server)
			p := newPool(t, s, c.config)
			origin := s.URL()[:len(s.URL())-1]
			if n := p.Capacity(origin, 24); n != 24 && !c.config.NoReuse {
				t.Errorf("%d before there is a connection", n)
			}
			for range 5 { // repeat until the stream limit is known
				if _, err := get(t.Context(), p, s.URL()); err != nil {
					t.Fatal(err)
				}
			}
			if n := p.Capacity(origin, c.demand); n != c.want {
				t.Errorf("%d, want %d", n, c.want)
			}
			if n := p.Capacity(s.URL(), 0); n != 1 { // use another spelling of the URL
				t.Errorf("%d without demand", n)
			}
		})
	}
}

// The first request opens the connections that a stated demand justifies. The stored
// limits of an origin apply to its first requests.
func TestCapacityFromStore(t *testing.T) {
	origins, err := pool.OpenOriginFile(filepath.Join(t.TempDir(), "hosts"))
	if err != nil {
		t.Fatal(err)
	}
	origins.Update("https://old.example", func(f *pool.OriginInfo) { f.Protocol = "http/1.1" })
	origins.Update("https://new.example", func(f *pool.OriginInfo) { f.Protocol, f.Streams = "h2", 2 })
	p, err := pool.New(pool.Config{Origins: origins})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for origin, want := range map[string]int{"https://old.example": 4, "https://new.example": 16, "https://other.example": 60} {
		if n := p.Capacity(origin, 60); n != want {
			t.Errorf("%s: %d, want %d", origin, n, want)
		}
	}
	only, err := pool.New(pool.Config{Origins: origins, Protocols: []string{"http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer only.Close()
	if n := only.Capacity("https://new.example", 60); n != 4 {
		t.Errorf("HTTP/1.1 alone: %d", n)
	}
}

func TestCapacityDemand(t *testing.T) {
	t.Parallel()
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H2Only})
	p := newPool(t, s, pool.Config{})
	if _, err := get(t.Context(), p, s.URL()); err != nil {
		t.Fatal(err)
	}
	p.CloseIdleConnections()
	p.Capacity(s.URL(), 100)
	if _, err := get(t.Context(), p, s.URL()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for p.Stats().Connections < 5 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	if n := p.Stats().Dials; n != 5 {
		t.Errorf("%d dials, want 1 and 4", n)
	}
}

// A connection of the maximum age gets no new request.
func TestMaxConnAge(t *testing.T) {
	t.Parallel() // the test mostly waits
	for name, protocols := range map[string]rdaptest.Protocols{"HTTP/1.1": rdaptest.H1Only, "HTTP/2": rdaptest.H2Only} {
		t.Run(name, func(t *testing.T) {
			s := rdaptest.Start(t, rdaptest.Config{Protocols: protocols})
			p := newPool(t, s, pool.Config{MaxConnAge: time.Nanosecond})
			for range 3 {
				if _, err := get(t.Context(), p, s.URL()); err != nil {
					t.Fatal(err)
				}
			}
			if st := p.Stats(); st.Connections != 3 || st.Closed[pool.ClosedAge] != 2 {
				t.Errorf("%d connections, closed: %v", st.Connections, st.Closed)
			}
		})
	}
}

// If a server allows no more streams, requests fail after the connect timeout. The next request
// gets a new connection.
func TestNoStreamAllowed(t *testing.T) {
	t.Parallel()
	inMemory(t, func(t *testing.T, network *rdaptest.Network) {
		const timeout = 200 * time.Millisecond
		s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H2Only, Network: network})
		s.SetConnRules(rdaptest.ConnRules{Raw: &rdaptest.RawH2{LowerOn: 1, LowerTo: 0}})
		p := newPool(t, s, pool.Config{Dial: network.Dial, ConnectTimeout: timeout})
		for i := range 3 {
			start := time.Now()
			_, err := get(t.Context(), p, domain(s, i))
			if i != 1 {
				if err != nil {
					t.Errorf("request %d: %v", i, err)
				}
				continue
			}
			e, ok := errors.AsType[*pool.Error](err)
			if !ok || e.Step != pool.StepQueue || !e.Timeout() || time.Since(start) != timeout {
				t.Errorf("request %d: %v after %v of fake time", i, err, time.Since(start))
			}
		}
		if n := p.Stats().Connections; n != 2 {
			t.Errorf("%d connections", n)
		}
	})
}
