package client_test

import (
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
)

// NoCache sends a request although the response is cached, and stores the new response.
func TestNoCache(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{}, client.Config{Cache: client.CacheAll})
	s.On("*", rdaptest.Header("Cache-Control", "max-age=3600"))
	q := mustParse(t, "", "alpha.example")
	for i, tt := range []struct {
		options []client.Option
		cached  bool
		want    int64 // requests so far
	}{
		{nil, false, 1},
		{nil, true, 1},
		{[]client.Option{client.NoCache()}, false, 2},
		{nil, true, 2},
		{[]client.Option{client.Header("X-Portfolio", "1")}, false, 3},
		{nil, true, 3},
	} {
		r, err := a.Lookup(t.Context(), q, tt.options...)
		if err != nil || r.Cached != tt.cached || s.Counts().Requests != tt.want || r.Sent() == tt.cached {
			t.Errorf("lookup %d: %s, cached %v, sent %v, %d requests", i, describe(r), r.Cached, r.Sent(), s.Counts().Requests)
		}
	}
}

func TestMaxWaitOption(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{}, client.Config{MaxWait: time.Hour})
	s.On("*", rdaptest.Status(429), rdaptest.RetryAfter("60"))
	q := mustParse(t, "", "alpha.example")
	for i, want := range []int{1, 1, 0} { // the third is not sent: two refusals in a row pause the server
		r, err := a.Lookup(t.Context(), q, client.MaxWait(time.Second))
		if !errors.Is(err, client.CodeRateLimited) || r.Attempts != want {
			t.Errorf("lookup %d: %s after %d attempts", i, describe(r), r.Attempts)
		}
	}
	for r := range a.Batch(t.Context(), lines("beta.example"), client.MaxWait(0), client.Jobs(1)).All() {
		if !errors.Is(r.Err(), client.CodeRateLimited) || r.Sent() {
			t.Errorf("batch: %s", describe(r))
		}
	}
	for _, err := range a.Search(t.Context(), q, client.MaxWait(time.Second)) {
		if !errors.Is(err, client.CodeRateLimited) {
			t.Errorf("search: %v", err)
		}
	}
}

// A field of Header is sent to the server of the query, not to the target of a redirect or a
// link.
func TestHeaderOption(t *testing.T) {
	ca := newCA(t)
	registry := rdaptest.Start(t, rdaptest.Config{CA: ca, Log: true})
	other := rdaptest.Start(t, rdaptest.Config{CA: ca, Log: true})
	registry.On("/domain/moved.example", rdaptest.Redirect(302, other.URL()+"domain/moved.example"))
	registry.On("/domain/near.example", rdaptest.Redirect(302, registry.URL()+"x/domain/near.example"))
	registry.On("/domain/linked.example", rdaptest.JSON(domainWith("linked.example", "related|"+rdapJSON+"|"+other.URL()+"domain/linked.example")))
	a := newAsker(t, ca, client.Config{Resolver: urls{registry.URL()}, Referral: client.ReferralRegistrar})
	options := []client.Option{client.Header("x-request-id", "42"), client.Header("User-Agent", "portfolio/1")}
	for _, name := range []string{"moved.example", "near.example", "linked.example"} {
		if r, err := a.Lookup(t.Context(), mustParse(t, "", name), options...); err != nil {
			t.Error(describe(r))
		}
	}
	for r := range a.Batch(t.Context(), lines("alpha.example"), options[0]).All() {
		if r.Err() != nil {
			t.Error(describe(r))
		}
	}
	if n := registry.Counts().Requests; n != 5 {
		t.Errorf("%d requests at the registry", n)
	}
	for _, req := range registry.Log() {
		if http.Header(req.Header).Get("X-Request-Id") != "42" {
			t.Errorf("%s: header %v", req.URI, req.Header)
		}
	}
	if n := other.Counts().Requests; n != 2 {
		t.Errorf("%d requests at the other server", n)
	}
	for _, req := range other.Log() {
		if h := http.Header(req.Header); h.Get("X-Request-Id") != "" || h.Get("User-Agent") == "portfolio/1" {
			t.Errorf("%s: header %v", req.URI, req.Header)
		}
	}
}

// Lookups with other options do not share the response of a lookup in flight.
func TestOptionsNotShared(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{}, client.Config{})
	release := make(chan struct{})
	s.On("*", rdaptest.Until(release))
	q := mustParse(t, "", "alpha.example")
	sets := [][]client.Option{
		nil,
		{client.NoCache()},
		{client.MaxWait(time.Minute)},
		{client.Header("A", "1")},
		{client.Header("A", "2")},
		{client.Header("A", "1"), client.NoCache()},
	}
	var wg sync.WaitGroup
	for _, options := range sets {
		wg.Go(func() {
			if r, err := a.Lookup(t.Context(), q, slices.Clone(options)...); err != nil || r.Shared {
				t.Errorf("%s, shared %v", describe(r), r.Shared)
			}
		})
	}
	if err := s.AwaitRequests(t.Context(), len(sets)); err != nil {
		t.Error(err)
	}
	close(release)
	wg.Wait()
}
