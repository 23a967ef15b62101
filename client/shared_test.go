package client_test

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// A name repeated in one Batch gets the server's current response, not an earlier one.
func TestBatchNeverStale(t *testing.T) {
	for _, protocols := range []rdaptest.Protocols{rdaptest.H1Only, rdaptest.H2Only} {
		s, a := newPair(t, rdaptest.Config{Log: true, Protocols: protocols}, client.Config{})
		results := make(chan *client.Result)
		done := make(chan struct{})
		want := []client.Verdict{client.VerdictRegistered, client.VerdictRegistered, client.VerdictNotFound, client.VerdictNotFound}
		inputs := func(yield func(client.Input, error) bool) {
			defer close(done)
			for i, verdict := range want {
				if i == 2 {
					s.On("/domain/same.example", rdaptest.Status(404))
				}
				if !yield(client.Input{Line: int64(i + 1), Text: "same.example"}, nil) {
					return
				}
				if r := <-results; r.Verdict != verdict || r.Shared || r.SharedLine != 0 {
					t.Errorf("line %d is %s (shared: %t), want %s", r.Line, r.Verdict, r.Shared, verdict)
				}
			}
		}
		for r := range a.Batch(t.Context(), inputs).All() {
			results <- r
		}
		<-done
		if n := len(asked(s)); n != len(want) {
			t.Errorf("%d requests for %d lines", n, len(want))
		}
	}
}

// A stagedServer sends responses in two stages, and waits for the test before each.
type stagedServer struct {
	*httptest.Server
	begin, end chan struct{} // a value lets one response begin, or end
	requests   atomic.Int64
	arrived    chan struct{} // receives a value for each request
	begun      chan struct{} // receives a value when the client has the header of a response
}

// noteHeaders is a transport that signals when a response has begun.
type noteHeaders struct {
	http.RoundTripper
	begun chan struct{}
}

func (n noteHeaders) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := n.RoundTripper.RoundTrip(req)
	n.begun <- struct{}{}
	return resp, err
}

func newStagedServer(t *testing.T, http2 bool) (*stagedServer, *client.Client) {
	t.Helper()
	s := &stagedServer{begin: make(chan struct{}), end: make(chan struct{}), arrived: make(chan struct{}, 1000), begun: make(chan struct{}, 1000)}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		s.arrived <- struct{}{}
		name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
		wait := func(c chan struct{}) {
			select {
			case <-c:
			case <-r.Context().Done():
			}
		}
		wait(s.begin)
		w.Header().Set("Content-Type", "application/rdap+json")
		_, _ = io.WriteString(w, `{"objectClassName":"domain",`)
		_ = http.NewResponseController(w).Flush()
		wait(s.end)
		_, _ = io.WriteString(w, `"ldhName":"`+name+`"}`)
	}))
	s.EnableHTTP2 = http2
	s.StartTLS()
	t.Cleanup(s.Close)
	p, err := pool.New(pool.Config{TLS: &tls.Config{RootCAs: s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}, AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	c, err := client.New(client.Config{Transport: noteHeaders{p, s.begun}, Resolver: urls{s.URL + "/"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return s, c
}

// A line joins an identical line until the response to the other has begun, and the result
// names the other line. Later lines send a request of their own.
func TestBatchJoinsUntilFirstByte(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		s, c := newStagedServer(t, http2)
		inputs := func(yield func(client.Input, error) bool) {
			for line := range int64(4) {
				if line == 2 {
					s.begin <- struct{}{} // both lines are in the batch by now
					<-s.begun
				}
				if !yield(client.Input{Line: line + 1, Text: "same.example"}, nil) {
					return
				}
			}
			close(s.begin)
			close(s.end)
		}
		for r := range c.Batch(t.Context(), inputs).All() {
			want := map[int64]int64{2: 1, 4: 3}[r.Line]
			if r.Verdict != client.VerdictRegistered || r.SharedLine != want || r.Shared != (want != 0) {
				t.Errorf("HTTP/2 %t: line %d is %s and shares line %d (%t), want %d", http2, r.Line, r.Verdict, r.SharedLine, r.Shared, want)
			}
		}
		if n := s.requests.Load(); n != 2 {
			t.Errorf("HTTP/2 %t: %d requests, want 2", http2, n)
		}
	}
}

// A start is closed when a given number of lookups wait for a response or for another lookup.
type start struct {
	all  chan struct{}
	left atomic.Int64
}

func newStart(lookups int64) *start {
	s := &start{all: make(chan struct{})}
	s.left.Store(lookups)
	return s
}

// context returns a context for one lookup, which counts when it first waits.
func (s *start) context(ctx context.Context) context.Context {
	return &waitingContext{Context: ctx, note: sync.OnceFunc(func() {
		if s.left.Add(-1) == 0 {
			close(s.all)
		}
	})}
}

type waitingContext struct {
	context.Context
	note func()
}

func (c *waitingContext) Done() <-chan struct{} {
	c.note()
	return c.Context.Done()
}

// Concurrent identical lookups send one request, and each caller has its own Result.
func TestLookupsJoined(t *testing.T) {
	const callers = 200
	s, c := newStagedServer(t, true)
	q := mustParse(t, client.TypeDomain, "same.example")
	entered := newStart(callers)
	results := make([]*client.Result, callers)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			ctx := entered.context(t.Context())
			r, err := c.Lookup(ctx, q)
			if results[i] = r; err != nil {
				t.Error(err)
			}
		})
	}
	<-entered.all
	close(s.begin)
	close(s.end)
	wg.Wait()
	shared := 0
	for _, r := range results {
		if r.Shared {
			shared++
			if r.SharedLine != 0 {
				t.Errorf("line %d outside a batch", r.SharedLine)
			}
		}
		r.Header.Set("Content-Type", "changed") // the race detector reports a shared header
	}
	if n := s.requests.Load(); n != 1 || shared != callers-1 {
		t.Errorf("%d requests, %d lookups share a response", n, shared)
	}
}

// A lookup whose context ends does not end the lookups that joined it.
func TestLookupOutlivesOther(t *testing.T) {
	s, c := newStagedServer(t, true)
	q := mustParse(t, client.TypeDomain, "same.example")
	leader, giveUp := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if r, err := c.Lookup(leader, q); err == nil || client.ErrorOf(r).Code != client.CodeCanceled {
			t.Errorf("%s", describe(r))
		}
	})
	<-s.arrived
	entered := newStart(2)
	for range 2 {
		wg.Go(func() {
			if r, err := c.Lookup(entered.context(t.Context()), q); err != nil {
				t.Errorf("%s", describe(r))
			}
		})
	}
	<-entered.all
	giveUp()
	close(s.begin)
	close(s.end)
	wg.Wait()
	if n := s.requests.Load(); n != 2 {
		t.Errorf("%d requests, want one of each caller that led", n)
	}
}
