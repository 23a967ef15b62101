package pool_test

import (
	"crypto/tls"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// versions runs a test over TLS 1.2 and 1.3.
func versions(t *testing.T, f func(t *testing.T, version uint16)) {
	t.Run("TLS12", func(t *testing.T) { f(t, tls.VersionTLS12) })
	t.Run("TLS13", func(t *testing.T) { f(t, tls.VersionTLS13) })
}

// run runs a program that sends one query to s with its own Pool. file stores its
// sessions; empty means none.
func run(t *testing.T, s *rdaptest.Server, file string, c pool.Config) error {
	t.Helper()
	if file != "" {
		f, err := pool.OpenSessionFile(file, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}()
		c.Sessions = f
	}
	if c.TLS == nil {
		c.TLS, c.Trust = &tls.Config{RootCAs: s.Pool()}, "the server's"
	}
	p, err := pool.New(c)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	a, err := get(t.Context(), p, domain(s, 1))
	if err == nil && a.status != 200 {
		t.Errorf("status %d", a.status)
	}
	return err
}

// handshakes returns a function that counts the server's handshakes since its previous call.
func handshakes(t *testing.T, s *rdaptest.Server) func(what string, full, resumed int64) {
	var last rdaptest.Counts
	return func(what string, full, resumed int64) {
		t.Helper()
		c := s.Totals()
		f, r := c.FullHandshakes-last.FullHandshakes, c.Resumed-last.Resumed
		if last = c; f != full || r != resumed {
			t.Errorf("%s: server saw %d full handshakes and %d resumed, want %d and %d", what, f, r, full, resumed)
		}
	}
}

func TestSecondRunResumes(t *testing.T) {
	versions(t, func(t *testing.T, version uint16) {
		both(t, func(t *testing.T, protocols rdaptest.Protocols) {
			s := rdaptest.Start(t, rdaptest.Config{Protocols: protocols, MaxTLS: version})
			saw := handshakes(t, s)
			file := filepath.Join(t.TempDir(), "state", "sessions")
			for _, r := range []struct {
				what, file    string
				full, resumed int64
			}{
				{"first run", file, 1, 0},
				{"second run", file, 0, 1},
				{"third run", file, 0, 1},
				{"run without a store", "", 1, 0},
			} {
				if err := run(t, s, r.file, pool.Config{}); err != nil {
					t.Fatal(err)
				}
				saw(r.what, r.full, r.resumed)
			}
			s.DropTickets()
			for _, r := range []struct {
				what          string
				full, resumed int64
			}{{"new ticket keys", 1, 0}, {"after that", 0, 1}} {
				if err := run(t, s, file, pool.Config{}); err != nil {
					t.Fatal(err)
				}
				saw(r.what, r.full, r.resumed)
			}
		})
	})
}

func TestFreshConnsAndNoReuse(t *testing.T) {
	versions(t, func(t *testing.T, version uint16) {
		both(t, func(t *testing.T, protocols rdaptest.Protocols) {
			for _, test := range []struct {
				name          string
				c             pool.Config
				full, resumed int64
			}{
				{"FreshConns", pool.Config{FreshConns: true}, 1, 19},
				{"FreshConnsWithoutSessions", pool.Config{FreshConns: true, MaxSessions: -1}, 20, 0},
				{"NoReuse", pool.Config{NoReuse: true}, 20, 0},
			} {
				t.Run(test.name, func(t *testing.T) {
					s := rdaptest.Start(t, rdaptest.Config{Protocols: protocols, MaxTLS: version})
					p := newPool(t, s, test.c)
					getAll(t, p, s, 20, 1)
					c := s.Counts()
					if c.Connections != 20 || c.FullHandshakes != test.full || c.Resumed != test.resumed || c.Requests != 20 {
						t.Errorf("server saw %d connections, %d full handshakes, %d resumed, %d requests, want 20, %d, %d, 20",
							c.Connections, c.FullHandshakes, c.Resumed, c.Requests, test.full, test.resumed)
					}
					if h := p.Stats().Handshakes; h.Full != test.full || h.Resumed != test.resumed || h.Avoided != 0 {
						t.Errorf("stats: %+v", h)
					}
				})
			}
		})
	})
}

// NoReuse does not use the store in the Config.
func TestNoReuseUsesNoSession(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{})
	saw := handshakes(t, s)
	file := filepath.Join(t.TempDir(), "sessions")
	if err := run(t, s, file, pool.Config{}); err != nil {
		t.Fatal(err)
	}
	saw("first run", 1, 0)
	if err := run(t, s, file, pool.Config{NoReuse: true}); err != nil {
		t.Fatal(err)
	}
	saw("NoReuse", 1, 0)
}

// A second run of a program resumes the sessions of the first run.
func ExampleSessionFile() {
	server := exampleServer()
	defer server.Close()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	for range 2 {
		sessions, err := pool.OpenSessionFile(filepath.Join(dir, "sessions"), 0, nil)
		if err != nil {
			log.Fatal(err)
		}
		p, err := pool.New(pool.Config{
			TLS:      &tls.Config{RootCAs: server.Pool()},
			Trust:    "the example's authority",
			Sessions: sessions,
		})
		if err != nil {
			log.Fatal(err)
		}
		resp, err := (&http.Client{Transport: p}).Get(server.URL() + "domain/courbu.example")
		if err != nil {
			log.Fatal(err)
		}
		resp.Body.Close()
		h := p.Stats().Handshakes
		fmt.Println(h.Full, "full,", h.Resumed, "resumed")

		p.Close()
		// close it after the Pool, which stores sessions until it is closed
		if err := sessions.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// 1 full, 0 resumed
	// 0 full, 1 resumed
}

// A server that accepts each ticket once gets each ticket once, from concurrent
// connections and from later runs.
func TestTicketsAreUsedOnce(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H1Only, SingleUseTickets: true})
	hold := make(chan struct{})
	saw := handshakes(t, s)
	file := filepath.Join(t.TempDir(), "sessions")
	for n, want := range []struct{ full, resumed int64 }{{4, 0}, {0, 4}, {0, 4}} {
		sessions, err := pool.OpenSessionFile(file, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := pool.New(pool.Config{TLS: &tls.Config{RootCAs: s.Pool()}, Trust: "the server's", Sessions: sessions})
		if err != nil {
			t.Fatal(err)
		}
		s.On("*", rdaptest.Until(hold))
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				if _, err := get(t.Context(), p, domain(s, i)); err != nil {
					t.Error(err)
				}
			})
		}
		if err := s.AwaitRequests(t.Context(), 4*(n+1)); err != nil {
			t.Fatal(err)
		}
		close(hold)
		wg.Wait()
		hold = make(chan struct{})
		p.Close()
		if err := sessions.Close(); err != nil {
			t.Fatal(err)
		}
		saw(fmt.Sprintf("run %d", n+1), want.full, want.resumed)
	}
	if c := s.Counts(); c.TicketsReused != 0 {
		t.Errorf("the server got %d tickets twice", c.TicketsReused)
	}
}
