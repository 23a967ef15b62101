package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// A crowdServer counts its concurrent requests.
type crowdServer struct {
	*httptest.Server
	now, most, requests atomic.Int64
	held                chan struct{} // if not nil, requests wait until it is closed
	arrived             chan struct{} // receives a value for each request
}

func newCrowdServer(t *testing.T, held chan struct{}, cfg client.Config) (*crowdServer, *client.Client) {
	t.Helper()
	s := &crowdServer{held: held, arrived: make(chan struct{}, 10_000)}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := s.now.Add(1)
		defer s.now.Add(-1)
		for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
		}
		s.requests.Add(1)
		s.arrived <- struct{}{}
		if s.held != nil {
			select {
			case <-s.held:
			case <-r.Context().Done():
			}
		} else {
			time.Sleep(time.Millisecond) // wait, so that further requests may arrive meanwhile
		}
		w.Header().Set("Content-Type", "application/rdap+json")
		if r.URL.Path == "/domains" {
			_, _ = io.WriteString(w, `{"domainSearchResults":[]}`)
			return
		}
		name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
		fmt.Fprintf(w, `{"objectClassName":"domain","ldhName":%q}`, name)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	p, err := pool.New(pool.Config{TLS: &tls.Config{RootCAs: s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}, AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	cfg.Transport, cfg.Resolver = p, urls{s.URL + "/"}
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return s, c
}

// A host never has more requests of one Client at a time than the host's limit, however the
// requests were started.
func TestPerHostHoldsForAll(t *testing.T) {
	const limit, callers = 5, 200
	s, c := newCrowdServer(t, nil, client.Config{PerHost: limit})
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			q := mustParse(t, client.TypeDomain, fmt.Sprintf("name%d.example", i))
			if r, err := c.Lookup(t.Context(), q); err != nil || r.Shared {
				t.Errorf("%s", describe(r))
			}
		})
	}
	for i := range 20 {
		wg.Go(func() {
			for _, err := range c.Search(t.Context(), mustParse(t, client.TypeDomains, fmt.Sprintf("nam%d*.example", i))) {
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for b := range 2 {
		wg.Go(func() {
			texts := make([]string, callers)
			for i := range texts {
				texts[i] = fmt.Sprintf("line%d.batch%d.example", i, b)
			}
			for r := range c.Batch(t.Context(), lines(texts...)).All() {
				if r.Verdict != client.VerdictRegistered {
					t.Errorf("%s", describe(r))
				}
			}
		})
	}
	wg.Wait()
	if most, n := s.most.Load(), s.requests.Load(); most != limit || n != 3*callers+20 {
		t.Errorf("%d requests, %d at a time, want %d at a time", n, most, limit)
	}
}

// A lookup that ends while it waits for its host frees its place, and the lookups behind it
// proceed in order.
func TestLookupGivesUpItsPlace(t *testing.T) {
	held := make(chan struct{})
	s, c := newCrowdServer(t, held, client.Config{PerHost: 1})
	lookup := func(ctx context.Context, name string) error {
		_, err := c.Lookup(ctx, mustParse(t, client.TypeDomain, name))
		return err
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := lookup(t.Context(), "first.example"); err != nil {
			t.Error(err)
		}
	})
	<-s.arrived
	const quitters = 50
	ctx, quit := context.WithCancel(t.Context())
	waiting := newStart(quitters)
	for i := range quitters {
		wg.Go(func() {
			if err := lookup(waiting.context(ctx), fmt.Sprintf("quits%d.example", i)); err == nil {
				t.Error("a lookup that was canceled has a response")
			}
		})
	}
	<-waiting.all
	staying := newStart(1)
	wg.Go(func() {
		if err := lookup(staying.context(t.Context()), "stays.example"); err != nil {
			t.Error(err)
		}
	})
	<-staying.all
	quit()
	close(held)
	wg.Wait()
	if n := s.requests.Load(); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

// When every response is a refusal, 200 callers send at most 10 requests: the others end
// without a request, because they would wait longer than MaxWait.
func TestRefusedCallers(t *testing.T) {
	bubble(t, "429", func(t *testing.T) {
		s, a := newPair(t, rdaptest.Config{Network: new(rdaptest.Network)}, client.Config{MaxWait: time.Second})
		s.On("*", rdaptest.Status(429), rdaptest.RetryAfter("60"), rdaptest.Latency(50*time.Millisecond))
		const callers = 200
		results := make([]*client.Result, callers)
		var wg sync.WaitGroup
		for i := range results {
			wg.Go(func() {
				results[i], _ = a.Lookup(t.Context(), mustParse(t, client.TypeDomain, fmt.Sprintf("name%d.example", i)))
			})
		}
		wg.Wait()
		sent := int64(0)
		for _, r := range results {
			checkResult(t, r)
			e := client.ErrorOf(r)
			if r.Verdict != client.VerdictRateLimited || !errors.Is(r.Err(), client.CodeRateLimited) || !e.Retryable() || e.RetryAfter < 58*time.Second {
				t.Errorf("%s, retry after %v", describe(r), e.RetryAfter)
			}
			if r.Sent() {
				sent += int64(r.Attempts)
			} else if r.Refusal != nil {
				t.Errorf("a refusal without a request: %s", describe(r))
			}
		}
		if n := s.Counts().Requests; n > 10 || n != sent {
			t.Errorf("%d requests, %d according to the results", n, sent)
		}
	})
}
