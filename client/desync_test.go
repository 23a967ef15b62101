package client_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// A shiftedServer sends HTTP/1.1 responses that do not match their requests. Of the names
// d0.example, d1.example and so on, two of three exist.
type shiftedServer struct {
	listener net.Listener
	ca       *rdaptest.CA

	// number of responses after which the server sends an additional 404; 0 means never
	strayEvery int
	strayAfter time.Duration // delay of the additional 404 after the response
	behind     bool          // the server repeats its first response and stays one response behind
	twice      bool          // the server sends its first 404 twice and stays one response behind
	header     string        // header lines of each response

	conns, requests atomic.Int64
	mu              sync.Mutex
	open            map[net.Conn]bool
}

// onlyServer is a resolver that returns one server for every query.
type onlyServer string

func (s onlyServer) Resolve(context.Context, bootstrap.Question) (bootstrap.Answer, error) {
	return bootstrap.Answer{URLs: []string{string(s)}, Source: bootstrap.SourceServer}, nil
}

func known(name string) bool {
	switch {
	case strings.HasPrefix(name, "all"):
		return true
	case strings.HasPrefix(name, "none"):
		return false
	}
	n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(name, "d"), ".example"))
	return n%3 != 0
}

func (s *shiftedServer) start(t *testing.T) {
	t.Helper()
	var err error
	if s.ca, err = rdaptest.NewCA(); err != nil {
		t.Fatal(err)
	}
	cert, err := s.ca.Certificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	s.listener, err = tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	s.open = make(map[net.Conn]bool)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := s.listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.open[c] = true
			s.mu.Unlock()
			s.conns.Add(1)
			work.Go(func() {
				defer func() {
					c.Close()
					s.mu.Lock()
					delete(s.open, c)
					s.mu.Unlock()
				}()
				s.serve(c)
			})
		}
	})
	t.Cleanup(func() {
		s.listener.Close()
		s.mu.Lock()
		for c := range s.open {
			c.Close()
		}
		s.mu.Unlock()
		work.Wait()
	})
}

func (s *shiftedServer) response(name string) string {
	if !known(name) {
		const body = `{"errorCode":404}`
		return fmt.Sprintf("HTTP/1.1 404 Not Found\r\n%sContent-Type: application/rdap+json\r\nContent-Length: %d\r\n\r\n%s", s.header, len(body), body)
	}
	body := fmt.Sprintf(`{"objectClassName":"domain","ldhName":%q}`, name)
	return fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Type: application/rdap+json\r\nContent-Length: %d\r\n\r\n%s", s.header, len(body), body)
}

func (s *shiftedServer) serve(c net.Conn) {
	var writing sync.Mutex
	var strays sync.WaitGroup
	defer strays.Wait()
	in := bufio.NewReader(c)
	before, behind := "", s.behind
	for n := 1; ; n++ {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		total := s.requests.Add(1)
		name := strings.TrimPrefix(req.URL.Path, "/domain/")
		answer := name
		if behind && n > 1 {
			answer = before
		}
		behind = behind || s.twice && !known(name)
		before = name
		writing.Lock()
		_, err = c.Write([]byte(s.response(answer)))
		writing.Unlock()
		if err != nil {
			return
		}
		if s.strayEvery > 0 && total%int64(s.strayEvery) == 0 {
			strays.Go(func() {
				time.Sleep(s.strayAfter)
				writing.Lock()
				defer writing.Unlock()
				_, _ = c.Write([]byte("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"))
			})
		}
	}
}

// No result belongs to another query, and no stray 404 becomes not_found: each name has
// the correct verdict or failed. With RDAPQ_CROSSTALK the test looks up 1,000 names
// instead of 60.
func TestResponsesOutOfStep(t *testing.T) {
	t.Parallel() // the test mostly waits
	const linkTime = 50 * time.Millisecond
	names := int64(60)
	if os.Getenv("RDAPQ_CROSSTALK") != "" {
		names = 1000
	}
	for _, tt := range []struct {
		name       string
		names      string
		strayEvery int
		strayAfter time.Duration
		behind     bool
		twice      bool
		first      int64
		again      int64 // maximum number of requests sent again to a server without mismatches
	}{
		{name: "stray after each", names: "d", strayEvery: 1, strayAfter: 300 * time.Microsecond},
		{name: "stray after each at once", names: "d", strayEvery: 1},
		{name: "stray after each 20th", names: "d", strayEvery: 20, strayAfter: 300 * time.Microsecond},
		{name: "one behind", names: "all", behind: true},
		{name: "one behind from an unknown name on", names: "d", behind: true},
		{name: "one behind from a known name on", names: "d", behind: true, first: 1},
		{name: "a 404 sent twice", names: "d", twice: true, first: 1},
		{name: "in step", names: "d"},
		{name: "in step without known names", names: "none", again: 16},
	} {
		desync := tt.behind || tt.twice || tt.strayEvery > 0
		for _, jobs := range []int{1, 8, 64} {
			t.Run(fmt.Sprintf("%s/%d", tt.name, jobs), func(t *testing.T) {
				t.Parallel()
				s := &shiftedServer{strayEvery: tt.strayEvery, strayAfter: tt.strayAfter, behind: tt.behind, twice: tt.twice}
				s.start(t)
				p, err := pool.New(pool.Config{
					TLS: &tls.Config{RootCAs: s.ca.Pool()},
					// A server that gets no CPU time for 20 ms would count as silent.
					Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
						time.Sleep(linkTime)
						return new(net.Dialer).DialContext(ctx, network, address)
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				c, err := client.New(client.Config{
					Resolver: onlyServer("https://" + s.listener.Addr().String() + "/"), Transport: p, Jobs: jobs, PerHost: jobs,
				})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				inputs := func(yield func(client.Input, error) bool) {
					for i := tt.first; i < tt.first+names; i++ {
						if !yield(client.Input{Text: fmt.Sprintf("%s%d.example", tt.names, i)}, nil) {
							return
						}
					}
				}
				warned := 0
				judge := func(r *client.Result) {
					want := client.VerdictNotFound
					if known(r.Query.Name) {
						want = client.VerdictRegistered
					}
					if r.Verdict != want || r.Other != "" {
						t.Errorf("%s: %s, other %q, error %v", r.Query.Text, r.Verdict, r.Other, client.ErrorOf(r))
					}
					for _, w := range r.Warnings {
						if w.Code == client.WarnDesync {
							warned++
						}
					}
				}
				rows := int64(0)
				for r := range c.Batch(t.Context(), inputs).All() {
					rows++
					judge(r)
				}
				if rows != names {
					t.Errorf("%d rows, want %d", rows, names)
				}
				total := names
				// The batch may have found no mismatch. Each request may have had a connection
				// of its own, or the stray responses may have come after the last request
				// began. A connection that carries lookups one after another detects it.
				for ; desync && warned == 0 && total < 2*names; total++ {
					q, err := client.Parse(fmt.Sprintf("%s%d.example", tt.names, tt.first+total))
					if err != nil {
						t.Fatal(err)
					}
					r, _ := c.Lookup(t.Context(), q) // judge reads the verdict of r
					judge(r)
				}
				if (warned > 0) != desync {
					t.Errorf("%d results with a warning", warned)
				}
				t.Logf("%d requests for %d names over %d connections, %d results with a warning", s.requests.Load(), total, s.conns.Load(), warned)
				if n := s.requests.Load() - names; !desync && (s.conns.Load() > 4+tt.again || n > tt.again || jobs == 1 && n != tt.again) {
					t.Errorf("%d requests over %d connections for %d names, want %d more over %d", s.requests.Load(), s.conns.Load(), names, tt.again, 4+tt.again)
				}
			})
		}
	}
}

// A mismatched response is not cached for the URL of the request.
func TestCacheKeepsNoResponseOutOfStep(t *testing.T) {
	s := &shiftedServer{behind: true, header: "Cache-Control: max-age=60\r\n"}
	s.start(t)
	p, err := pool.New(pool.Config{TLS: &tls.Config{RootCAs: s.ca.Pool()}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c, err := client.New(client.Config{
		Resolver: onlyServer("https://" + s.listener.Addr().String() + "/"), Transport: p, Cache: client.CacheAll,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, name := range []string{"d0.example", "d3.example", "d1.example", "d2.example", "d0.example", "d1.example"} {
		q, err := client.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Lookup(t.Context(), q)
		want := client.VerdictNotFound
		if known(name) {
			want = client.VerdictRegistered
		}
		if r.Verdict != want || r.Other != "" {
			t.Errorf("%s: %s, other %q, error %v", name, r.Verdict, r.Other, err)
		}
	}
}
