package client_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/limit"
)

// If the first server of a service is dead, its queries go to the second server without first
// trying the dead server for each query.
func TestBatchNextServer(t *testing.T) {
	t.Parallel() // the test mostly waits
	ca := newCA(t)
	good := rdaptest.Start(t, rdaptest.Config{CA: ca})
	a := newAsker(t, ca, client.Config{Resolver: urls{refused, good.URL()}})
	var texts []string
	for i := range 200 {
		texts = append(texts, fmt.Sprintf("n%d.example", i))
	}
	count, tried := 0, 0
	for r := range a.Batch(t.Context(), lines(texts...)).All() {
		count++
		if r.Verdict != client.VerdictRegistered || r.Server != good.URL() || len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0].Message, "tried another server: ") {
			t.Errorf("%s at %s", describe(r), r.Server)
		}
		tried += r.Attempts - 1
	}
	if count != 200 || tried > 2*client.DefaultPerHost+1 {
		t.Errorf("%d results, the dead server was tried %d times", count, tried)
	}
}

// Many concurrent lookups share one rate, and all succeed.
func TestLookupsShareRate(t *testing.T) {
	ca := newCA(t)
	s := rdaptest.Start(t, rdaptest.Config{CA: ca, Log: true})
	per := 200 * time.Millisecond
	a := newAsker(t, ca, client.Config{Resolver: urls{s.URL()}, Rates: map[string]limit.Rate{s.Addr(): {N: 10, Per: per}}})
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if r, err := a.Lookup(t.Context(), mustParse(t, "", fmt.Sprintf("n%d.example", i))); err != nil {
				t.Errorf("%s", describe(r))
			}
		})
	}
	wg.Wait()
	log := s.Log()
	if len(log) != 50 {
		t.Fatalf("%d requests", len(log))
	}
	for i := 10; i < len(log); i++ {
		if d := log[i].Time.Sub(log[i-10].Time); d < per {
			t.Errorf("11 requests in %v", d)
		}
	}
}

// Two hosts of a group share one limit.
func TestBatchGroup(t *testing.T) {
	ca := newCA(t)
	one := rdaptest.Start(t, rdaptest.Config{CA: ca})
	two := rdaptest.Start(t, rdaptest.Config{CA: ca})
	a := newAsker(t, ca, client.Config{
		Resolver: byTLD{"one": one.URL(), "two": two.URL()},
		Groups:   map[string]string{one.Addr(): "both", two.Addr(): "both"},
		Rates:    map[string]limit.Rate{"both": {N: 10, Per: time.Hour}},
	})
	var texts []string
	for i := range 10 {
		texts = append(texts, fmt.Sprintf("n%d.one", i), fmt.Sprintf("n%d.two", i))
	}
	got := map[client.Verdict]int{}
	for r := range a.Batch(t.Context(), lines(texts...)).All() {
		got[r.Verdict]++
	}
	if got[client.VerdictRegistered] != 10 || got[client.VerdictRateLimited] != 10 {
		t.Errorf("%v", got)
	}
	if n := one.Counts().Requests + two.Counts().Requests; n != 10 {
		t.Errorf("%d requests", n)
	}
	if s := a.Servers(); len(s) != 1 || s[0].Server != "both" || s[0].Rate.N != 10 {
		t.Errorf("%+v", s)
	}
}
