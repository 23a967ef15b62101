package client_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
)

// OnAttempt is called for each request with the context of the caller, and Waited includes the
// pauses that the server requested.
func TestOnAttempt(t *testing.T) {
	type key struct{}
	bubble(t, "attempts", func(t *testing.T) {
		var mu sync.Mutex
		var got []client.Attempt
		s, a := newPair(t, rdaptest.Config{Network: new(rdaptest.Network)}, client.Config{
			Cache: client.CacheAll,
			OnAttempt: func(ctx context.Context, one client.Attempt) {
				if ctx.Value(key{}) != "caller" {
					t.Error("the context is not the caller's")
				}
				mu.Lock()
				defer mu.Unlock()
				got = append(got, one)
			},
		})
		ctx := context.WithValue(t.Context(), key{}, "caller")
		s.On("*", cacheControl(maxAge))
		s.On("/domain/busy.example", cacheControl(maxAge), rdaptest.First(1, rdaptest.Status(429), rdaptest.RetryAfter("7")))
		r, err := a.Lookup(ctx, mustParse(t, "", "busy.example"))
		if err != nil || r.Attempts != 2 || r.Waited < 7*time.Second || r.Waited > 8*time.Second || r.Elapsed > time.Second {
			t.Errorf("%s after %d attempts, waited %v, elapsed %v", describe(r), r.Attempts, r.Waited, r.Elapsed)
		}
		if len(got) != 2 {
			t.Fatalf("%d calls: %+v", len(got), got)
		}
		one, two := got[0], got[1]
		if one.Number != 1 || one.Status != 429 || one.Code != client.CodeRateLimited || one.Waited != 0 || one.Query.Name != "busy.example" ||
			one.Server != s.URL() || one.URL != s.URL()+"domain/busy.example" || one.Trace.ConnID == 0 {
			t.Errorf("%+v", one)
		}
		if two.Number != 2 || two.Status != 200 || two.Code != "" || two.Waited < 7*time.Second || two.Waited > r.Waited || !two.Trace.Reused {
			t.Errorf("%+v", two)
		}
		got = nil
		for range a.Batch(ctx, lines("busy.example", "alpha.example")).All() {
		}
		slices.SortFunc(got, func(a, b client.Attempt) int { return len(a.URL) - len(b.URL) })
		if len(got) != 2 || !got[0].Cached || got[0].Number != 0 || got[1].Cached || got[1].Number != 1 {
			t.Errorf("in a batch: %+v", got)
		}
	})
}

// In a batch, Waited is the time in the queue.
func TestBatchWaited(t *testing.T) {
	bubble(t, "one at a time", func(t *testing.T) {
		s, a := newPair(t, rdaptest.Config{Network: new(rdaptest.Network)}, client.Config{PerHost: 1})
		s.On("*", rdaptest.Latency(time.Second))
		var waited []time.Duration
		for r := range a.Batch(t.Context(), lines(names(4)...)).All() {
			if r.Err() != nil {
				t.Error(describe(r))
			}
			waited = append(waited, r.Waited)
		}
		for i, w := range waited {
			if least := time.Duration(i) * time.Second; w < least || w > least+time.Second/2 {
				t.Errorf("result %d waited %v", i, w)
			}
		}
	})
}

func TestShutdown(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{}, client.Config{Jobs: 2})
	release := make(chan struct{})
	s.On("*", rdaptest.Until(release))
	results := make(chan *client.Result, 1)
	go func() {
		r, _ := a.Lookup(t.Context(), mustParse(t, "", "alpha.example"))
		results <- r
	}()
	batch := a.Batch(t.Context(), lines(names(500)...))
	verdicts := make(chan map[client.Verdict]int, 1)
	go func() {
		n := make(map[client.Verdict]int)
		for r := range batch.All() {
			if n[r.Verdict]++; r.Verdict != client.VerdictRegistered && (!errors.Is(r.Err(), client.CodeNotSent) || !errors.Is(r.Err(), client.ErrClosed)) {
				t.Error(describe(r))
			}
		}
		verdicts <- n
	}()
	if err := s.AwaitRequests(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- a.Shutdown(t.Context()) }()
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for { // until Shutdown has begun
		r, err := a.Lookup(done, mustParse(t, "", "late.example"))
		if errors.Is(err, client.ErrClosed) {
			if !errors.Is(err, client.CodeNotSent) || r.Sent() {
				t.Error(describe(r))
			}
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("Shutdown returns %v while lookups are in progress", err)
		default:
		}
	}
	close(release)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if r := <-results; r.Err() != nil {
		t.Error(describe(r))
	}
	n := <-verdicts
	if n[client.VerdictRegistered] != 2 || n[client.VerdictRegistered]+n[client.VerdictFailed] != int(batch.Progress().Read) {
		t.Errorf("%v", n)
	}
	if err := batch.Err(); !errors.Is(err, client.ErrClosed) {
		t.Error(err)
	}
}

// Shutdown cuts off the rest when its context ends.
func TestShutdownCutsOff(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{}, client.Config{MaxWait: time.Hour})
	s.On("*", rdaptest.Status(429), rdaptest.RetryAfter("600"))
	results := make(chan *client.Result, 1)
	go func() {
		r, _ := a.Lookup(t.Context(), mustParse(t, "", "alpha.example"))
		results <- r
	}()
	if err := s.AwaitRequests(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown returns %v", err)
	}
	closed(t, <-results)
	if err := a.Shutdown(t.Context()); err != nil {
		t.Errorf("a second Shutdown returns %v", err)
	}
}

func TestZeroClient(t *testing.T) {
	for _, c := range []*client.Client{new(client.Client)} {
		q := mustParse(t, "", "alpha.example")
		r, err := c.Lookup(t.Context(), q)
		if !errors.Is(err, client.CodeNotSent) || r.Verdict != client.VerdictFailed || err.Error() != "client: zero Client: make it with New" {
			t.Errorf("Lookup: %v", err)
		}
		for _, err := range c.Search(t.Context(), q) {
			if err == nil {
				t.Error("Search has no error")
			}
		}
		b := c.Batch(t.Context(), lines("alpha.example"))
		for range b.All() {
			t.Error("Batch has a result")
		}
		b.Drain()
		if b.Err() == nil || b.Progress().Read != 0 {
			t.Errorf("Batch: %v", b.Err())
		}
		if _, err := c.Plan(t.Context(), lines("alpha.example")); err == nil {
			t.Error("Plan has no error")
		}
		if _, ok := c.Stats(); ok || c.Servers() != nil || c.Unmatched() != nil {
			t.Error("a zero Client has statistics or servers")
		}
		if c.Close() == nil || c.Shutdown(t.Context()) == nil {
			t.Error("Close or Shutdown has no error")
		}
	}
}

func TestConfigError(t *testing.T) {
	for field, cfg := range map[string]client.Config{
		"Cache":       {Cache: "sometimes"},
		"Languages":   {Languages: []string{"not a tag"}},
		"Search":      {Search: client.SearchConfig{SearchOptions: client.SearchOptions{Sort: "a b"}}},
		"Credentials": {Credentials: map[string]*client.Credential{"https://rdap.example": {Scheme: client.AuthHeader, Name: "a b"}}},
	} {
		_, err := client.New(cfg)
		if e, ok := errors.AsType[*client.ConfigError](err); !ok || e.Field != field || e.Err == nil {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestStats(t *testing.T) {
	_, a := newPair(t, rdaptest.Config{}, client.Config{})
	a.lookup(t, mustParse(t, "", "alpha.example"))
	if stats, ok := a.Stats(); !ok || stats.Connections != 1 || stats.Requests != a.pool.Stats().Requests {
		t.Errorf("%+v, %v", stats, ok)
	}
}
